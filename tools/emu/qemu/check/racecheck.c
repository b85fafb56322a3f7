/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The checks in QEMU, the race check foremost: hands the model's events and the hart's
 * loads and stores to tools/emu/check, and leaves what it found as JSON for tools/findings,
 * which knows the firmware's source.
 *
 * Nothing of it is seen by the guest, and callbacks at memory accesses count no
 * instruction, so cycles, bytes and traces are those of a run without it. The hart's
 * accesses come without QEMU's big lock, but never while the main loop is in the model: it
 * advances the model only where the clock is, and the clock stands behind all that the
 * hart has executed. Left out: what semihosting and the calls of host.h read and write.
 */
#include "tools/emu/qemu/check/checks.h"
#include "tools/emu/check/race/found.h"
#include "tools/emu/check/race/stream.h"

#define TEXT_BYTES 64
#define SHOWN_MOST 100 /* findings of a kind, in the debugger */

/* Where in a run: so many events of a cycle, so many of the hart's accesses behind them. */
typedef struct Instant {
    uint64_t cycle, events, accesses;
} Instant;

static struct {
    SalaiNPU *npu;
    struct race *race;
    struct findings findings;
    FILE *file;
    const char *path;
    uint64_t now;     /* cycle of the last event: an access cannot read the clock */
    Instant at;       /* what is heard */
    Instant known;    /* what was heard at the most, while less is heard again */
    bool past;        /* that is so */
    bool leaves;      /* a snapshot is being loaded, which resets the machine first */
    GArray *found;    /* of Instant: when there was a finding more */
    GPtrArray *names; /* that hints have had */
    bool hart, memory, accesses; /* accesses: of the hart's are wanted */
} check;

static void *get(void *ctx, size_t bytes)
{
    return g_malloc0(bytes);
}

static void give_back(void *ctx, void *p, size_t bytes)
{
    g_free(p);
}

/* A string of the guest's, as far as it can stand in JSON as it is. */
static void copy_text(char text[TEXT_BYTES], uint64_t addr)
{
    const struct npu_config *config = &check.npu->config;
    uint64_t off = addr - config->gm_base;
    unsigned i = 0;

    for (; i < TEXT_BYTES - 1 && off + i < config->gm_size; i++) {
        text[i] = (char)check.npu->gm_host[off + i];
        if (!g_ascii_isprint(text[i]) || strchr("\"\\", text[i])) {
            break;
        }
    }
    text[i] = 0;
}

/* A number for a name as it is now, below all addresses of DRAM. */
static uint64_t keep_name(uint64_t addr)
{
    static uint64_t last, number; /* tasks come again and again */
    char text[TEXT_BYTES];
    guint i;

    if (addr == 0) {
        return 0;
    }
    copy_text(text, addr);
    if (addr == last && g_str_equal(text, check.names->pdata[number - 1])) {
        return number;
    }
    if (!g_ptr_array_find_with_equal_func(check.names, text, g_str_equal, &i)) {
        i = check.names->len;
        g_ptr_array_add(check.names, g_strdup(text));
    }
    last = addr;
    return number = i + 1;
}

static void hinted(uint64_t addr)
{
    const struct npu_config *config = &check.npu->config;
    struct hint hint;
    uint64_t off = addr - config->gm_base;

    if (off <= config->gm_size && sizeof(hint) <= config->gm_size - off) {
        memcpy(&hint, check.npu->gm_host + off, sizeof(hint));
        hint.name = keep_name(hint.name);
        hints_hear(&check.findings.hints, &hint);
        npu_initcheck_hint(&hint);
        npu_memcheck_hint(check.now, &hint);
    }
}

/* --- a replay that goes back --- */

void npu_racecheck_reset(void)
{
    if (runstate_is_running() || check.now == 0) {
        return; /* a reset as any */
    }
    if (!check.past) {
        check.known = check.at;
    }
    check.past = check.leaves = true;
}

void npu_racecheck_restored(void)
{
    check.leaves = false;
    check.at = (Instant){0};
}

static void tell(CPUState *cpu, run_on_cpu_data number)
{
    npu_debug_found(check.at.cycle, number.host_int);
}

/* At an access the machine cannot be stopped; it is as soon as the hart is between two
 * instructions. */
static void tell_debugger(unsigned number, bool access)
{
    if (access) {
        async_run_on_cpu(current_cpu, tell, RUN_ON_CPU_HOST_INT(number));
    } else {
        npu_debug_found(check.at.cycle, number);
    }
}

static bool before(const Instant *a, const Instant *b)
{
    return a->cycle != b->cycle     ? a->cycle < b->cycle
           : a->events != b->events ? a->events < b->events
                                    : a->accesses < b->accesses;
}

/* Whether what has come to check.at is of the past, which a replay goes through once more:
 * nothing is found again, but it stops where something was. */
static bool again(bool access)
{
    check.past = check.past && !before(&check.known, &check.at);
    for (unsigned i = 0; check.past && i < check.found->len; i++) {
        const Instant *found = &g_array_index(check.found, Instant, i);
        if (!before(found, &check.at) && !before(&check.at, found)) {
            tell_debugger(i + 1, access);
        }
    }
    return check.past;
}

static void look_for_new(bool access)
{
    uint32_t n = check.findings.n + npu_memcheck_count() + npu_initcheck_count();

    while (check.found->len < n) {
        g_array_append_val(check.found, check.at);
        tell_debugger(check.found->len, access);
    }
}

static void tell_checks(const struct npu_event *e)
{
    if (check.race) {
        tape_event(&check.findings.tape, check.race, e);
        race_event(check.race, e);
        npu_waitcheck_event(e);
    }
    npu_memcheck_event(e);
    npu_initcheck_event(e);
}

void npu_racecheck_event(const struct npu_event *e)
{
    struct npu_event named;

    if (!check.npu || (check.leaves && e->what == NPU_RESETS)) {
        return; /* nothing is checked, or nothing happens */
    }
    check.leaves = false;
    check.at.events = e->now == check.at.cycle ? check.at.events + 1 : 1;
    check.at.cycle = e->now;
    check.at.accesses = 0;
    if (again(false)) {
        return;
    }
    check.now = e->now;
    if (e->what == NPU_HINTS) {
        hinted(e->name);
    } else if (e->what == NPU_NAMES) { /* the string may be gone when it is reported */
        named = *e;
        named.name = keep_name(e->name);
        tell_checks(&named);
    } else {
        tell_checks(e);
    }
    look_for_new(false);
}

bool npu_racecheck_now(uint64_t *cycle)
{
    *cycle = check.now;
    return !check.past;
}

/* --- the hart --- */

/* The memory that has an address of a core's window, or NPU_MEM_COUNT. */
static unsigned window_mem(uint64_t *addr, unsigned *core)
{
    uint64_t off = *addr - NPU_CORE_BASE;
    enum npu_profile profile = check.npu->config.profile;

    *core = off / NPU_CORE_STRIDE;
    if (*addr < NPU_CORE_BASE || *core >= check.npu->config.cores) {
        return NPU_MEM_COUNT;
    }
    off %= NPU_CORE_STRIDE;
    for (int m = 0; m < NPU_MEM_COUNT; m++) {
        if (npu_mem_offset(m) && off - npu_mem_offset(m) < npu_mem_size(profile, m)) {
            *addr = off - npu_mem_offset(m);
            return m;
        }
    }
    return NPU_MEM_COUNT;
}

static void accessed(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t addr, void *pc)
{
    const struct npu_config *config = &check.npu->config;
    uint64_t first = addr, bytes = 1ull << qemu_plugin_mem_size_shift(info);
    bool race = check.hart && check.race && race_hart_matters(check.race), init;
    unsigned mem = NPU_MEM_GM, core = 0;
    struct race_hart_access access;

    check.at.accesses++;
    if (check.past && again(true)) {
        return;
    }
    if (addr - config->gm_base >= config->gm_size) {
        mem = window_mem(&first, &core);
        if (mem == NPU_MEM_COUNT) {
            return; /* a device's register */
        }
    }
    init = npu_initcheck_matters(mem, first, bytes);
    if (!race && !init &&
        (!check.memory || (mem == NPU_MEM_GM && npu_memcheck_passes(first, bytes)))) {
        return;
    }
    access = (struct race_hart_access){.site = {.pc = (uintptr_t)pc},
                                       .cycle = check.now,
                                       .core = core,
                                       .mem = mem,
                                       .first = first,
                                       .bytes = bytes};
    access.site.caller = npu_gpr(current_cpu)[1];
    access.write = qemu_plugin_mem_is_store(info);
    if (race) {
        race_hart(check.race, &access);
        npu_waitcheck_hart(&access);
    }
    if (init) {
        npu_initcheck_hart(&access);
    }
    if (check.memory) {
        npu_memcheck_hart(&access);
    }
    look_for_new(true);
}

/* The init check alone needs no more than what the hart stores. */
void npu_racecheck_translated(struct qemu_plugin_tb *tb)
{
    enum qemu_plugin_mem_rw which = check.hart ? QEMU_PLUGIN_MEM_RW : QEMU_PLUGIN_MEM_W;

    for (size_t i = 0; check.accesses && i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

        qemu_plugin_register_vcpu_mem_cb(insn, accessed, QEMU_PLUGIN_CB_NO_REGS, which,
                                         (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn));
    }
}

/* --- what is left --- */

void npu_checks_text(FILE *to, uint64_t name)
{
    char text[TEXT_BYTES] = "";

    if (name && name <= check.names->len) {
        pstrcpy(text, sizeof(text), check.names->pdata[name - 1]);
    } else if (name) {
        copy_text(text, name);
    }
    fprintf(to, "\"%s\"", text);
}

/* At most so many findings of each kind. */
static void write_all(uint32_t most)
{
    const struct findings *f = &check.findings;

    fprintf(check.file,
            "{\"cycle\":%" PRIu64 ",\"lost\":%" PRIu64
            ",\"memory\":%zu,\"touched\":%" PRIu64,
            check.now, f->lost + npu_memcheck_lost() + npu_initcheck_lost(),
            npu_memcheck_bytes() + npu_initcheck_bytes() +
                (check.race ? race_bytes(check.race) : 0),
            check.race ? race_touched(check.race) : 0);
    fprintf(check.file, ",\"findings\":[");
    npu_races_write(check.file, f, check.race, most);
    npu_initcheck_write(check.file, npu_memcheck_write(check.file, f->n == 0, most),
                        most);
    fprintf(check.file, "],\"mixed\":[");
    npu_races_mixed(check.file, f);
    fprintf(check.file, "]");
}

/* For the debugger: what has been found so far. */
static char *get_findings(Object *obj, Error **errp)
{
    FILE *file = check.file;
    char *text = NULL;
    size_t bytes;

    check.file = open_memstream(&text, &bytes);
    write_all(SHOWN_MOST);
    fprintf(check.file, "}");
    fclose(check.file);
    check.file = file;
    return text;
}

static void at_exit(int status, void *opaque)
{
    write_all(UINT32_MAX);
    npu_waitcheck_write(check.file);
    fprintf(check.file, "}\n");
    if (ferror(check.file) | fclose(check.file)) {
        error_report("npu.so: findings=%s: could not be written completely", check.path);
        npu_exit_worse(status);
    }
}

void npu_racecheck_init(SalaiNPU *npu, unsigned checks, const char *path)
{
    static const struct check_host host = {.alloc = get, .free = give_back};
    static const struct race_report report = {
        .found = findings_add, .mixed = findings_mixed, .ctx = &check.findings};
    struct race_config config = {.cores = npu->config.cores,
                                 .profile = npu->config.profile,
                                 .gm_base = npu->config.gm_base,
                                 .gm_bytes = npu->config.gm_size};

    check.npu = npu;
    check.hart = checks & CHECK_HART;
    check.memory = check.hart && checks & CHECK_MEMORY;
    check.accesses = checks & CHECKS_OF_HART;
    check.path = path;
    check.file = fopen(path, "w");
    if (!check.file) {
        npu_die("npu.so: findings=%s: %s", path, strerror(errno));
    }
    findings_open(&check.findings, &host);
    check.findings.block = npu_memcheck_block;
    check.names = g_ptr_array_new();
    check.found = g_array_new(false, false, sizeof(Instant));
    npu_waitcheck_init(checks, &host, &config);
    if (checks & CHECK_RACE) {
        check.race = race_new(&host, &config, &report);
    }
    npu_memcheck_init(checks, &host, &config);
    npu_initcheck_init(npu, checks, &host, &config, npu_memcheck_memory());
    object_property_add_str(OBJECT(npu), "findings", get_findings, NULL);
    on_exit(at_exit, NULL);
}
