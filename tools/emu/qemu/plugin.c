/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The entry of npu.so: options, and the refusal of everything that would not be exact.
 *
 *   -plugin npu.so[,cores=1..32][,profile=NAME][,timing=v1|v2][,seed=N][,trace=FILE]
 *   [,trace-cycles=FROM..TO][,trace-commands=FROM..TO][,trace-cores=LIST]
 *   [,trace-pipes=LIST][,tables=DIR][,debug=on][,core=FILE][,record=DIR|,replay=DIR]
 *   [,confine=off|kernel|strict][,simd=plain|avx2|avx512|vnni][,fail=N][,fault=LIST]
 *   [,check=NAME[+NAME]...,findings=FILE][,delays=FILE]
 *   [,results=FILE[,bytes=CORE:PIPE:NUMBER]][,host=FILE][,set=LIST]
 *   [,threads=1..16|auto]
 *
 * Invariant: past npu_attach() the machine is the one that the design describes (virt,
 * riscv64, one hart, icount shift=0 sleep=off) in the QEMU that npu.so was built for.
 * Each refusal is one line and exit status 2. The device is made when the machine
 * is complete, which is before -loadvm, replay and the first reset.
 */
#include "tools/emu/qemu/device/device.h"
#include "tools/emu/model/arith/simd.h"
#include "version.h"

#define THREADS_MOST 16

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static struct {
    struct npu_config config;    /* but for guest memory */
    uint64_t fail;               /* the call to the host that fails, from 1 on; 0: none */
    const char *trace;           /* file, or NULL */
    const char *tables;          /* folder, or NULL */
    const char *record, *replay; /* directory, or NULL */
    const char *core;            /* file, or NULL */
    const char *findings;        /* file, or NULL */
    const char *faults;          /* see defect.c, or NULL */
    const char *at;              /* addresses of functions, see core.c */
    const char *changes;         /* see changes.c, or NULL */
    const char *delays;          /* see perturb.c, or NULL; so are the next two */
    const char *results, *bytes;
    const char *host; /* file, see phases.c, or NULL */
    qemu_plugin_id_t id;
    bool debug;
    unsigned threads; /* of the host, at most */
    unsigned asked;   /* so many are the user's wish; 0: as are idle */
    bool window;      /* not all of the run is traced */
    unsigned checks;  /* CHECK_* */
    enum { CONFINE_OFF, CONFINE_KERNEL, CONFINE_ON, CONFINE_STRICT } confine;
} options = {.config = {.cores = 1, .profile = PROFILE_a2, .timing = TIMING_v2},
             .confine = CONFINE_ON,
             .threads = 1};

/* Structures are laid out by headers; a build of QEMU with other switches would show
 * here and not as a crash. */
static void check_layout(void)
{
    static const struct {
        const char *type;
        size_t bytes;
    } types[] = {
        {TYPE_DEVICE, sizeof(DeviceState)},
        {TYPE_SYS_BUS_DEVICE, sizeof(SysBusDevice)},
        {TYPE_MEMORY_REGION, sizeof(MemoryRegion)},
        {TYPE_MACHINE, sizeof(MachineState)},
        {TYPE_CPU, sizeof(CPUState)},
    };

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        size_t bytes = npu_instance_size(types[i].type);

        if (bytes != types[i].bytes) {
            npu_die("npu.so: this QEMU's %s has %zu bytes, npu.so expects %zu: "
                    "it was built with other options, see tools/emu/qemu/headers",
                    types[i].type, bytes, types[i].bytes);
        }
    }
}

static void check_version(void)
{
    VersionInfo *v = qmp_query_version(&error_abort);
    g_autofree char *running = g_strdup_printf(
        "%" PRId64 ".%" PRId64 ".%" PRId64 "%s%s%s", v->qemu->major, v->qemu->minor,
        v->qemu->micro, *v->package ? " (" : "", v->package, *v->package ? ")" : "");

    if (strcmp(running, NPU_QEMU_VERSION) != 0) {
        npu_die("npu.so: built for QEMU %s, this is %s: run make again", NPU_QEMU_VERSION,
                running);
    }
    qapi_free_VersionInfo(v);
}

/* "a2, ascend910, ascend310"; never freed, QEMU ends with it. */
static char *profile_names(void)
{
    const char *names[PROFILE_COUNT + 1] = {NULL};

    for (int p = 0; p < PROFILE_COUNT; p++) {
        names[p] = npu_profile_name(p);
    }
    return g_strjoinv(", ", (char **)names);
}

static void set_cores(const char *value)
{
    int n;

    if (qemu_strtoi(value, NULL, 10, &n) || n < 1 || n > NPU_MAX_CORES) {
        npu_die("npu.so: cores=%s: 1..%d are allowed", value, NPU_MAX_CORES);
    }
    options.config.cores = n;
}

static void set_profile(const char *value)
{
    int n = npu_profile_find(value);

    if (n < 0) {
        npu_die("npu.so: profile=%s: %s are allowed", value, profile_names());
    }
    options.config.profile = n;
}

static void set_timing(const char *value)
{
    int n = npu_timing_find(value);

    if (n < 0) {
        npu_die("npu.so: timing=%s: v1 and v2 are allowed", value);
    }
    options.config.timing = n;
}

static void set_seed(const char *value)
{
    uint64_t seed;

    if (!g_ascii_isdigit(*value) || qemu_strtou64(value, NULL, 10, &seed) ||
        seed > UINT32_MAX) {
        npu_die("npu.so: seed=%s: 0..%u are allowed", value, UINT32_MAX);
    }
    options.config.seed = seed;
}

/* Which of `words` it is; a word that is none of them is refused. */
static int set_word(const char *name, const char *value, const char *const *words)
{
    for (int i = 0; words[i]; i++) {
        if (strcmp(value, words[i]) == 0) {
            return i;
        }
    }
    npu_die("npu.so: %s=%s: %s are allowed", name, value,
            g_strjoinv(", ", (char **)words));
}

static void set_fail(const char *value)
{
    if (!g_ascii_isdigit(*value) || qemu_strtou64(value, NULL, 10, &options.fail) ||
        options.fail == 0) {
        npu_die("npu.so: fail=%s: want the number of a host call, from 1 on", value);
    }
}

static void set_debug(const char *value)
{
    options.debug = set_word("debug", value, (const char *[]){"off", "on", NULL});
}

static void set_confine(const char *value)
{
    options.confine =
        set_word("confine", value, (const char *[]){"off", "kernel", "on", "strict", NULL});
}

/* The host's vector instructions change speed only. */
static void set_simd(const char *value)
{
    const char *names[SIMD_COUNT + 1] = {NULL};
    enum simd best = simd_level(), level;

    for (int i = 0; i < SIMD_COUNT; i++) {
        names[i] = simd_name(i);
    }
    level = set_word("simd", value, names);
    if (level > best) {
        npu_die("npu.so: simd=%s: this host has no more than %s", value, simd_name(best));
    }
    simd_limit(level);
}

static void set_window(const char *what, const char *value, const char *allowed)
{
    if (!npu_window_set(what, value)) {
        npu_die("npu.so: trace-%s=%s: want %s", what, value, allowed);
    }
    options.window = true;
}

static void set_trace_cycles(const char *value)
{
    set_window("cycles", value, "FROM..TO or one cycle");
}

static void set_trace_commands(const char *value)
{
    set_window("commands", value, "FROM..TO or one number");
}

static void set_trace_cores(const char *value)
{
    set_window("cores", value, "numbers and FROM..TO with + between");
}

static void set_trace_pipes(const char *value)
{
    set_window("pipes", value, "MTE1, MTE2, MTE3, M, V and FIX with + between");
}

/* Each check by its name; what the hart does is no check of its own, races if alone. */
static const struct {
    const char *name;
    unsigned checks;
} known_checks[] = {
    {"race", CHECK_RACE},
    {"hart", CHECK_HART},
    {"memory", CHECK_MEMORY},
    {"sync", CHECK_SYNC},
    {"init", CHECK_INIT},
    {"all", CHECK_ALL},
    {"redundant", CHECK_REDUNDANT | CHECK_RACE | CHECK_HART},
};

static void set_check(const char *value)
{
    g_auto(GStrv) names = g_strsplit(value, "+", 0);

    for (unsigned i = 0; names[i] || i == 0; i++) {
        size_t k = 0;

        while (k < ARRAY_SIZE(known_checks) &&
               g_strcmp0(names[i], known_checks[k].name) != 0) {
            k++;
        }
        if (k == ARRAY_SIZE(known_checks)) {
            npu_die("npu.so: check=%s: race, hart, memory, sync, init, redundant and "
                    "all are allowed",
                    names[i] ?: "");
        }
        options.checks |= known_checks[k].checks;
    }
    options.checks |= options.checks == CHECK_HART ? CHECK_RACE : 0;
}

static void set_threads(const char *value)
{
    int n;

    if (strcmp(value, "auto") == 0) {
        options.threads = npu_apart_idle();
        return;
    }
    if (qemu_strtoi(value, NULL, 10, &n) || n < 1 || n > THREADS_MOST) {
        npu_die("npu.so: threads=%s: 1..%d are allowed", value, THREADS_MOST);
    }
    options.threads = options.asked = n;
    if (n > sysconf(_SC_NPROCESSORS_ONLN)) {
        warn_report("npu.so: threads=%d: this host has %ld", n,
                    sysconf(_SC_NPROCESSORS_ONLN));
    }
}

/* An option has a function that sets it, or is a text to be kept. */
static const struct {
    const char *name;
    void (*set)(const char *value);
    const char **text;
} known[] = {
    {"cores", .set = set_cores},
    {"profile", .set = set_profile},
    {"seed", .set = set_seed},
    {"trace", .text = &options.trace},
    {"trace-cycles", .set = set_trace_cycles},
    {"trace-commands", .set = set_trace_commands},
    {"trace-cores", .set = set_trace_cores},
    {"trace-pipes", .set = set_trace_pipes},
    {"tables", .text = &options.tables},
    {"debug", .set = set_debug},
    {"confine", .set = set_confine},
    {"simd", .set = set_simd},
    {"fail", .set = set_fail},
    {"core", .text = &options.core},
    {"at", .text = &options.at},
    {"record", .text = &options.record},
    {"replay", .text = &options.replay},
    {"check", .set = set_check},
    {"findings", .text = &options.findings},
    {"fault", .text = &options.faults},
    {"set", .text = &options.changes},
    {"delays", .text = &options.delays},
    {"results", .text = &options.results},
    {"bytes", .text = &options.bytes},
    {"host", .text = &options.host},
    {"threads", .set = set_threads},
    {"timing", .set = set_timing},
};

static void set_option(const char *arg)
{
    static bool seen[ARRAY_SIZE(known)];
    g_auto(GStrv) words = g_strsplit(arg, "=", 2);
    const char *value = words[1] ?: "";
    GString *names;

    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        if (strcmp(words[0], known[i].name) != 0) {
            continue;
        }
        if (seen[i]) {
            npu_die("npu.so: %s= is given twice", known[i].name);
        }
        seen[i] = true;
        if (known[i].text && strcmp(value, "on") == 0) { /* what QEMU makes of no value */
            npu_die("npu.so: %s= wants a value", known[i].name);
        }
        if (known[i].set) {
            known[i].set(value);
        } else {
            *known[i].text = g_strdup(value);
        }
        return;
    }
    names = g_string_new(known[0].name);
    for (size_t i = 1; i < ARRAY_SIZE(known); i++) {
        g_string_append_printf(names, ", %s", known[i].name);
    }
    npu_die("npu.so: %s: no such option; %s are known", words[0], names->str);
}

/* One engine cycle is so many instructions only with exactly these settings. */
static void check_icount(void)
{
    QemuOpts *opts = qemu_opts_find(qemu_find_opts("icount"), NULL);
    const char *shift = opts ? qemu_opt_get(opts, "shift") : NULL;

    if (!shift || strcmp(shift, "0") != 0 || qemu_opt_get_bool(opts, "sleep", true)) {
        npu_die("npu.so: -icount shift=0,sleep=off is needed (rr=... may follow)");
    }
}

/* A run that a signal has ended is not a success: 130, as a shell would have it. */
static void shut_down(Notifier *notifier, void *data)
{
    if (*(ShutdownCause *)data == SHUTDOWN_CAUSE_HOST_SIGNAL && !npu_replay_stops()) {
        exit(130);
    }
}

/* QEMU has room for one such callback. */
static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    npu_core_translated(tb);
    npu_racecheck_translated(tb);
}

/* What tools/perturb asks for. */
static void open_perturbed(void)
{
    if (options.delays && options.config.seed == 0) {
        npu_die("npu.so: delays=: is for a seed, whose delays they are");
    }
    if (options.bytes && !options.results) {
        npu_die("npu.so: bytes=: is for results=");
    }
    if (options.delays) {
        options.config.only = npu_read_delays(options.delays);
    }
    if (options.results) {
        npu_results_open(options.results, options.bytes);
    }
}

/* What is known of the machine when it is complete. */
static void configure(uint64_t gm_size)
{
    options.config.gm_size = gm_size;
    if (options.faults) {
        npu_parse_faults(options.faults, &options.config);
    }
    if (options.changes) {
        npu_parse_changes(options.changes, &options.config);
        npu_mark_output(options.changes);
    }
    open_perturbed();
}

static void open_traces(SalaiNPU *npu)
{
    if (options.window && !options.trace) {
        npu_die("npu.so: trace-cycles= and its like: are for trace=");
    }
    if (options.trace && npu_trace_open(npu, options.trace)) {
        npu_die("npu.so: trace=%s: %s", options.trace, strerror(errno));
    }
    if (options.tables) {
        npu_tables_open(npu, options.tables);
    }
}

/* Whoever looks at memories or goes back in time has all work in one place. */
static unsigned threads(void)
{
    bool one = options.checks || options.debug || options.record || options.replay ||
               options.core || options.results || options.config.n_defects;

    return one ? 1 : options.threads;
}

static void attach(Notifier *notifier, void *data)
{
    MachineState *machine = current_machine;
    static Notifier shutdown = {.notify = shut_down};
    SalaiNPU *npu;

    if (!object_dynamic_cast(OBJECT(machine), MACHINE_TYPE_NAME("virt"))) {
        npu_die("npu.so: machine %s: -M virt is needed",
                MACHINE_GET_CLASS(machine)->name);
    }
    if (machine->smp.cpus != 1) {
        npu_die("npu.so: -smp %u: 1 is needed, one hart drives all cores",
                machine->smp.cpus);
    }
    check_icount();
    if (options.record && options.replay) {
        npu_die("npu.so: record= and replay=: one of them");
    }
    npu_check_machine(!options.debug); /* a debugger has all the time */
    qemu_register_shutdown_notifier(&shutdown);
    configure(machine->ram_size);
    npu = npu_create(&options.config, options.debug);
    open_traces(npu);
    if (!options.checks != !options.findings) {
        npu_die("npu.so: check= and findings=: both or none of them");
    }
    if (options.checks) {
        npu_racecheck_init(npu, options.checks, options.findings);
    }
    npu_phases_open(npu, options.host);
    npu_sleep_init(npu);
    npu_files_init();
    if (options.confine && !options.replay) { /* a replay reaches nothing anyway */
        npu_confine(options.confine >= CONFINE_ON, options.confine == CONFINE_STRICT);
    }
    if (options.fail) {
        npu_fail_call(options.fail);
    }
    if (options.core) {
        npu_core_init(npu, options.core, options.at ?: "");
    }
    if (options.core || options.checks & CHECKS_OF_HART) {
        qemu_plugin_register_vcpu_tb_trans_cb(options.id, translated);
    }
    if (options.record) {
        npu_record(npu, options.record);
    } else if (options.replay) {
        npu_replay(options.replay);
    }
    npu_initcheck_hook();
    if (!options.debug) {
        npu_progress_open(npu);
    }
    npu_apart_init(npu, threads(), options.asked); /* the first to hear of a call */
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info,
                                           int argc, char **argv)
{
    static Notifier notifier = {.notify = attach};

    check_version();
    check_layout();
    options.id = id;
    if (!info->system_emulation || strcmp(info->target_name, "riscv64") != 0) {
        npu_die("npu.so: qemu-system-%s: qemu-system-riscv64 is needed",
                info->target_name);
    }
    for (int i = 0; i < argc; i++) {
        set_option(argv[i]);
    }
    npu_check_early();
    npu_register_type();
    qemu_add_machine_init_done_notifier(&notifier);
    return 0;
}
