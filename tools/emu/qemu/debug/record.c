/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What QEMU's record/replay leaves out: the calls to the host (semihosting), which it
 * makes again in a replay, and snapshots on the way.
 *
 * record=DIR writes every call's result to DIR/calls, and to DIR/inputs the name and
 * SHA-256 of every file that was read. replay=DIR answers the calls from there: no file
 * is read or written, only what went to the console is shown again, each line once. So
 * a replay may go back over calls whose handles are long closed.
 *
 * Invariant: a call is known by its nanosecond of virtual time, which no two share. Each has
 * a sum over itself, since QEMU waits for ever in a replay that has gone another way.
 */
#include "tools/emu/qemu/device/call.h"
#include "tools/emu/qemu/host/args.h"
#include "tools/emu/qemu/host/console.h"
#include "hal/contract/host.h"

#define SNAPSHOT_NS     (50 * 1000000ll) /* at least, of the host */
#define SNAPSHOT_BEHIND 4                /* instructions */

/* In the file each is followed by what it has written to guest memory, and zeros. */
typedef struct Call {
    int64_t when; /* ns */
    uint64_t op, result;
    uint64_t console; /* SYS_WRITE: file descriptor of this process, or 0 */
    uint64_t addr[2], len[2];
    uint64_t sum;
} Call;

static struct {
    QEMUTimer *host_timer, *guest_timer;
    int64_t last; /* when the last one was taken, ns of the guest */
    enum { SNAP_LATER, SNAP_WANTED, SNAP_NOW } state;
} snap;

static uint64_t padding(const Call *call)
{
    return -(call->len[0] + call->len[1]) % sizeof(uint64_t);
}

/* FNV-1a; `sum` is that of what comes before. */
static uint64_t sum_of(uint64_t sum, const void *data, uint64_t bytes)
{
    const uint8_t *at = data;

    for (uint64_t i = 0; i < bytes; i++) {
        sum = (sum ^ at[i]) * 0x100000001b3ull;
    }
    return sum;
}

static uint64_t sum_of_call(const Call *call)
{
    return sum_of(0xcbf29ce484222325ull, call, offsetof(Call, sum));
}

static struct {
    const struct TCGCPUOps *qemu;
    FILE *calls, *inputs; /* of a recording */
    char *data;           /* of a replay: the file, and its calls by time */
    GPtrArray *call;
    int64_t shown; /* time of the last line shown */
    bool ended;    /* a signal has ended the recording: */
    int64_t end;   /* where, ns */
    uint64_t end_icount;
    GHashTable *consoles; /* handle to file descriptor */
} rec;

/* --- recording --- */

static char *file_hash(const char *path)
{
    g_autoptr(GMappedFile) file = NULL;

    if (g_file_test(path, G_FILE_TEST_IS_REGULAR)) { /* nothing else is read */
        file = g_mapped_file_new(path, false, NULL);
    }
    return file ? g_compute_checksum_for_data(
                      G_CHECKSUM_SHA256, (const guchar *)g_mapped_file_get_contents(file),
                      g_mapped_file_get_length(file))
                : NULL;
}

/* Before the call, with mode r, rb, r+ or r+b. */
static void note_input(CPUState *cpu, uint64_t block)
{
    g_autofree char *name =
        call_text(cpu, call_word(cpu, block), call_word(cpu, block + 16));
    g_autofree char *path = realpath(name, NULL);
    g_autofree char *hash = path ? file_hash(path) : NULL;

    if (hash) {
        fprintf(rec.inputs, "%s %s\n", hash, path);
    }
}

/* Which console a handle is, or was when it was closed: 1, 2, or 0. */
static uint64_t console_of(CPUState *cpu, const Call *call, uint64_t block)
{
    gpointer handle = GSIZE_TO_POINTER(call_word(cpu, block));
    g_autofree char *name = NULL;

    switch (call->op) {
    case SYS_OPEN:
        name = call_text(cpu, call_word(cpu, block), call_word(cpu, block + 16));
        if (strcmp(name, ":tt") == 0 && call_word(cpu, block + 8) >= 4) {
            g_hash_table_insert(rec.consoles, GSIZE_TO_POINTER(call->result),
                                GSIZE_TO_POINTER(call_word(cpu, block + 8) < 8 ? 1 : 2));
        }
        return 0;
    case SYS_CLOSE:
        g_hash_table_remove(rec.consoles, handle);
        return 0;
    case SYS_WRITE:
        return GPOINTER_TO_SIZE(g_hash_table_lookup(rec.consoles, handle));
    default:
        return 0;
    }
}

/* What the call has written to guest memory; false if that is not known. */
static bool written(CPUState *cpu, Call *call, uint64_t block)
{
    switch (call->op) {
    case SYS_READ:
        call->addr[0] = call_word(cpu, block + 8);
        call->len[0] = call_word(cpu, block + 16);
        call->len[0] -= MIN(call->result, call->len[0]);
        return true;
    case SYS_GET_CMDLINE:
        call->addr[0] = block;
        call->len[0] = 16;
        call->addr[1] = call_word(cpu, block);
        call->len[1] = call->result == 0 ? call_word(cpu, block + 8) + 1 : 0;
        return true;
    default:
        return call->op != SYS_TMPNAM && call->op != SYS_HEAPINFO &&
               call->op != SYS_ELAPSED && call->op != SYS_WRITEC &&
               call->op != SYS_SYSTEM;
    }
}

static void record_call(CPUState *cpu)
{
    uint64_t *gpr = npu_gpr(cpu), block = gpr[A1];
    Call call = {.when = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL), .op = (uint32_t)gpr[A0]};
    g_autofree char *bytes = NULL;

    if (call.op == NPU_HOST_INPUT ||
        (call.op == SYS_OPEN && call_word(cpu, block + 8) < 4)) {
        note_input(cpu, block);
    }
    rec.qemu->do_interrupt(cpu);
    call.result = gpr[A0];
    if (!written(cpu, &call, block)) {
        npu_die("npu.so: record: host call 0x%" PRIx64 " cannot be recorded", call.op);
    }
    call.console = console_of(cpu, &call, block);
    bytes = g_malloc0(call.len[0] + call.len[1] + padding(&call));
    cpu_memory_rw_debug(cpu, call.addr[0], bytes, call.len[0], false);
    cpu_memory_rw_debug(cpu, call.addr[1], bytes + call.len[0], call.len[1], false);
    call.sum = sum_of(sum_of_call(&call), bytes, call.len[0] + call.len[1]);
    fwrite(&call, sizeof(call), 1, rec.calls);
    fwrite(bytes, 1, call.len[0] + call.len[1] + padding(&call), rec.calls);
}

static void record_end(int status, void *opaque)
{
    if (ferror(rec.calls) | fclose(rec.calls) | ferror(rec.inputs) | fclose(rec.inputs)) {
        error_report("npu.so: the recording could not be written completely");
        npu_exit_worse(status);
    }
}

/* --- replay --- */

static gint compare(gconstpointer a, gconstpointer b)
{
    const Call *x = *(Call *const *)a, *y = *(Call *const *)b;

    return x->when < y->when ? -1 : x->when > y->when;
}

static const Call *find_call(int64_t when, uint64_t op)
{
    Call key = {.when = when}, *k = &key;
    Call **found = rec.call->len ? bsearch(&k, rec.call->pdata, rec.call->len,
                                           sizeof(Call *), compare)
                                 : NULL;

    if (!found || (*found)->op != op) {
        npu_die("npu.so: replay: the run is not the recorded one (host call 0x%" PRIx64
                " at %" PRId64 " ns)",
                op, when);
    }
    return *found;
}

/* What the firmware prints is shown the first time only. */
static void show(CPUState *cpu, const Call *call, uint64_t block)
{
    uint64_t len = call_word(cpu, block + 16);
    g_autofree char *text = NULL;

    if (!call->console || call->when <= rec.shown) {
        return;
    }
    rec.shown = call->when;
    len -= MIN(call->result, len);
    text = args_memory(call_word(cpu, block + 8), len);
    if (!text || console_put((int)call->console, text, len) > 0) {
        error_report("npu.so: replay: %s", text ? strerror(errno) : "nothing to show");
    }
}

static void replay_call(CPUState *cpu)
{
    uint64_t *gpr = npu_gpr(cpu), op = (uint32_t)gpr[A0];
    const Call *call = find_call(qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL), op);
    const char *bytes = (const char *)(call + 1);

    show(cpu, call, gpr[A1]);
    for (unsigned i = 0; i < ARRAY_SIZE(call->len); i++) {
        cpu_memory_rw_debug(cpu, call->addr[i], (void *)bytes, call->len[i], true);
        bytes += call->len[i];
    }
    call_return(cpu, call->result);
}

static void go_on(void *opaque)
{
    if (runstate_check(RUN_STATE_SAVE_VM)) {
        vm_start();
    }
}

/* A signal of this process's own takes -no-shutdown back. Where QEMU passes the end on its
 * way backwards it stops by itself, and may be elsewhere by the time that it asks here and
 * would stop: it does so in a state that no debugger hears of, and goes on. */
bool npu_replay_stops(void)
{
    if (replay_mode != REPLAY_MODE_PLAY || shutdown_action != SHUTDOWN_ACTION_PAUSE) {
        return false;
    }
    if (replay_running_debug()) {
        vm_stop(RUN_STATE_SAVE_VM);
        aio_bh_schedule_oneshot(qemu_get_aio_context(), go_on, NULL);
        return true;
    }
    rec.ended = true;
    rec.end = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    rec.end_icount = npu_replay_icount();
    npu_show_hart();
    vm_stop(RUN_STATE_DEBUG);
    return true;
}

bool npu_replay_at_end(void)
{
    return rec.ended && rec.end == qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) &&
           rec.end_icount == npu_replay_icount() && !replay_has_event();
}

static void do_interrupt(CPUState *cpu)
{
    uint32_t op = npu_gpr(cpu)[A0];

    if (cpu->exception_index != NPU_EXCP_SEMIHOST || op == SYS_EXIT ||
        op == SYS_EXIT_EXTENDED) {
        rec.qemu->do_interrupt(cpu);
    } else if (rec.calls) {
        record_call(cpu);
    } else {
        replay_call(cpu);
    }
}

static void hook(void)
{
    static struct TCGCPUOps ops;

    rec.qemu = call_hook(&ops, do_interrupt);
}

static FILE *create(const char *dir, const char *name)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    FILE *file = fopen(path, "w");

    if (!file) {
        npu_die("npu.so: record=%s: %s: %s", dir, name, strerror(errno));
    }
    return file;
}

/* --- snapshots on the way --- */

/*
 * Often enough that a step back is short, seldom enough that a recording takes not much
 * more than twice the time of the run. The host's time decides: it is what going forward
 * from a snapshot costs.
 *
 * On its way back QEMU looks at what lies between two snapshots, but for the last
 * instruction and the sleep after it. So none is made where an engine did something
 * then: either they do nothing at all, or the hart is awake, some instructions behind an
 * access to the NPU.
 */
static void take_snapshot(void)
{
    static unsigned number;
    g_autofree char *name = g_strdup_printf("npu%u", number++);
    int64_t begin = qemu_clock_get_ns(QEMU_CLOCK_REALTIME), end;
    Error *err = NULL;

    snap.state = SNAP_LATER;
    if (!save_snapshot(name, true, NULL, false, NULL, &err)) {
        warn_report_err(err);
        /* If there was no place for it QEMU did not stop the machine, and so has not set the
         * hart going again, which behind_access() has stopped. None is tried again. */
        if (runstate_is_running()) {
            cpu_resume(first_cpu);
        }
        return;
    }
    snap.last = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    end = qemu_clock_get_ns(QEMU_CLOCK_REALTIME);
    timer_mod(snap.host_timer, end + MAX(SNAPSHOT_NS, end - begin));
}

/* In the main loop, as the monitor would. A hart that sleeps for ever needs one only. */
static void snapshot_due(void *opaque)
{
    SalaiNPU *npu = opaque;

    if (!runstate_is_running() || qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) == snap.last) {
        timer_mod(snap.host_timer, qemu_clock_get_ns(QEMU_CLOCK_REALTIME) + SNAPSHOT_NS);
    } else if (snap.state == SNAP_NOW || npu_next(&npu->model) == NPU_NEVER) {
        take_snapshot();
    } else {
        snap.state = SNAP_WANTED; /* npu_record_access() goes on */
    }
}

static bool engines_pause(const SalaiNPU *npu)
{
    return npu_next(&npu->model) > npu_now(npu) + SNAPSHOT_BEHIND;
}

void npu_record_access(SalaiNPU *npu)
{
    if (snap.state == SNAP_WANTED && engines_pause(npu)) {
        timer_mod(snap.guest_timer,
                  qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + SNAPSHOT_BEHIND);
    }
}

/* On the hart's thread: it stops here, and the main loop does the rest. */
static void behind_access(void *opaque)
{
    if (snap.state == SNAP_WANTED && !first_cpu->halted) {
        snap.state = SNAP_NOW;
        first_cpu->stop = true;
        if (current_cpu) {
            cpu_exit(current_cpu);
        }
        timer_mod(snap.host_timer, 0);
    }
}

static void snapshots_begin(SalaiNPU *npu)
{
    snap.host_timer = timer_new_ns(QEMU_CLOCK_REALTIME, snapshot_due, npu);
    snap.guest_timer = timer_new_full(NULL, QEMU_CLOCK_VIRTUAL, SCALE_NS,
                                      QEMU_TIMER_ATTR_EXTERNAL, behind_access, npu);
    timer_mod(snap.host_timer, qemu_clock_get_ns(QEMU_CLOCK_REALTIME) + SNAPSHOT_NS);
}

void npu_record(SalaiNPU *npu, const char *dir)
{
    rec.calls = create(dir, "calls");
    rec.inputs = create(dir, "inputs");
    rec.consoles = g_hash_table_new(NULL, NULL);
    on_exit(record_end, NULL);
    npu_rr_record(dir);
    hook();
    snapshots_begin(npu);
}

static void check_inputs(const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", 0);

    for (unsigned i = 0; lines[i]; i++) {
        char *path = strchr(lines[i], ' ');
        g_autofree char *hash = path ? file_hash(path + 1) : NULL;

        if (path && (!hash || strncmp(hash, lines[i], path - lines[i]) != 0)) {
            npu_die("replay: %s is not what it was when it was recorded",
                    console_shown(path + 1, strlen(path + 1)));
        }
    }
}

static char *contents(const char *dir, const char *name, gsize *bytes)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    char *text;

    if (!g_file_get_contents(path, &text, bytes, NULL)) {
        npu_die("replay: %s cannot be read", path);
    }
    return text;
}

void npu_replay(const char *dir)
{
    g_autofree char *inputs = contents(dir, "inputs", NULL);
    gsize bytes, at = 0;

    check_inputs(inputs);
    rec.data = contents(dir, "calls", &bytes);
    rec.call = g_ptr_array_new();
    while (at + sizeof(Call) <= bytes) {
        Call *call = (Call *)(rec.data + at);
        gsize left = bytes - at - sizeof(Call);

        if (call->len[0] > left || call->len[1] > left - call->len[0]) {
            break; /* the recording was cut off here */
        }
        if (call->sum != sum_of(sum_of_call(call), call + 1, call->len[0] + call->len[1])) {
            npu_die("npu.so: replay=%s: calls is damaged", dir);
        }
        g_ptr_array_add(rec.call, call);
        at += sizeof(Call) + call->len[0] + call->len[1] + padding(call);
    }
    rec.shown = -1;
    npu_rr_replay();
    hook();
}
