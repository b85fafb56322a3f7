/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The arithmetic of the engines on threads of its own (threads=2 and more): the machine goes
 * on with its events and the hart with its instructions, while the Cubes multiply. What is
 * done there, and in which order, is the model's matter (machine/later.c): a row of jobs each
 * core. Threads that find no row help with the products of those that have one, and so does
 * the hart's while it has to wait.
 *
 * Invariant: while work is apart nobody but the model can reach a local memory. A region
 * lies over the windows of all of them: the first access of the hart's, or of whoever else,
 * waits for all that has been given, takes the region away, and everything is as it is with
 * one thread until many commands have gone by without one. So do a call to the host, which
 * may name a buffer there, a stop of the machine and its reset.
 */
#include "tools/emu/qemu/device/call.h"
#include "tools/emu/qemu/device/pool.h"

#define AFTER_LEAST 64 /* commands, of those that could be apart */
#define AFTER_MOST  (1u << 16)
#define USEFUL      4 /* threads, unless more are asked for: the hart's is what counts then */

static struct {
    struct pool *pool;
    unsigned threads;
    unsigned asked; /* for so many; 0: for what is idle */
    uint32_t after; /* so many commands work goes apart; 0: never */
    MemoryRegion over;
    const struct TCGCPUOps *qemu;
} apart;

/* --- how many --- */

/* What runs on the host at this moment is the fourth number of /proc/loadavg, this thread
 * among it; the averages in front of it still count the compiler that has just ended. */
unsigned npu_apart_idle(void)
{
    g_autofree char *load = NULL;
    int running, idle;
    cpu_set_t ours;

    if (sched_getaffinity(0, sizeof(ours), &ours) != 0 ||
        !g_file_get_contents("/proc/loadavg", &load, NULL, NULL) ||
        sscanf(load, "%*f %*f %*f %d/", &running) != 1) {
        return 1;
    }
    idle = CPU_COUNT(&ours) - running;
    return idle > 0 ? MIN(1 + idle, USEFUL) : 1;
}

/* Who has asked for threads is told how many there were, and who looks on. */
static void tell(void)
{
    unsigned n = npu_apart_threads();

    if (apart.asked > 1 || (n > 1 && isatty(STDERR_FILENO))) {
        fprintf(stderr, "npu.so: %u thread%s of the host\n", n, n > 1 ? "s" : "");
    }
}

/* --- for the model --- */

void *npu_apart_job(void *ctx, unsigned core)
{
    return pool_room(apart.pool, core);
}

uint64_t npu_apart_give(void *ctx, unsigned core)
{
    return pool_give(apart.pool, core);
}

void npu_apart_wait(void *ctx, unsigned core, uint64_t ticket)
{
    pool_wait(apart.pool, core, ticket);
}

/* --- for who measures --- */

unsigned npu_apart_threads(void)
{
    return apart.pool ? 1 + pool_threads(apart.pool) : 1;
}

uint64_t npu_apart_jobs(void)
{
    return apart.pool ? pool_jobs(apart.pool) : 0;
}

uint64_t npu_apart_helped(void)
{
    return apart.pool ? pool_helped(apart.pool) : 0;
}

/* --- to and fro --- */

/* The hart's thread comes here first, and has given up its rights by then (confine.c): the
 * thread that it makes has none either. */
void npu_apart(SalaiNPU *npu)
{
    if (apart.after == 0 || npu->model.apart || npu->model.could < apart.after) {
        return;
    }
    if (!apart.pool) {
        apart.pool = pool_open(npu->config.cores, apart.threads - 1,
                               apart.threads > sysconf(_SC_NPROCESSORS_ONLN));
    }
    if (!apart.pool) {
        apart.after = 0; /* this host gives no more threads */
        return;
    }
    memory_region_set_enabled(&apart.over, true);
    npu->model.apart = true;
}

void npu_together(SalaiNPU *npu)
{
    npu->model.could = 0;
    if (npu->model.apart) {
        for (unsigned c = 0; c < npu->config.cores; c++) {
            pool_wait(apart.pool, c, NPU_ALL);
        }
        npu->model.apart = false;
        memory_region_set_enabled(&apart.over, false);
    }
}

/* Who looks once may look again: the more often, the longer it takes to be apart. */
static void looked(SalaiNPU *npu)
{
    npu_together(npu);
    apart.after = MIN(apart.after * 2, AFTER_MOST);
}

static MemTxResult over_read(void *opaque, hwaddr addr, uint64_t *value, unsigned size,
                             MemTxAttrs attrs)
{
    MemTxResult result;
    uint8_t bytes[8];

    looked(opaque);
    result = address_space_read(&address_space_memory, NPU_CHIP_BASE + addr, attrs, bytes,
                                size);
    *value = ldn_le_p(bytes, size);
    return result;
}

static MemTxResult over_write(void *opaque, hwaddr addr, uint64_t value, unsigned size,
                              MemTxAttrs attrs)
{
    uint8_t bytes[8];

    looked(opaque);
    stn_le_p(bytes, size, value);
    return address_space_write(&address_space_memory, NPU_CHIP_BASE + addr, attrs, bytes,
                               size);
}

static const MemoryRegionOps over_ops = {
    .read_with_attrs = over_read,
    .write_with_attrs = over_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
    .impl = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
};

static SalaiNPU *of_calls;

static void do_interrupt(CPUState *cpu)
{
    if (cpu->exception_index == NPU_EXCP_SEMIHOST) {
        npu_together(of_calls);
    }
    apart.qemu->do_interrupt(cpu);
}

static void stopped(void *opaque, bool running, RunState state)
{
    SalaiNPU *npu = opaque;

    if (!running) {
        npu_together(npu);
        if (state == RUN_STATE_SAVE_VM || !npu->debug) {
            npu_settle(&npu->model);
        }
    }
}

void npu_apart_init(SalaiNPU *npu, unsigned threads, unsigned asked)
{
    static struct TCGCPUOps ops;
    uint64_t bytes = npu_mem_size(npu->config.profile, NPU_MEM_STAGE_MTE2);
    uint64_t all = bytes * NPU_SPARES * npu->config.cores;
    uint8_t *spare;

    qemu_add_vm_change_state_handler(stopped, npu);
    apart.asked = asked;
    atexit(tell);
    if (threads < 2) {
        return;
    }
    apart.threads = threads;
    spare = aligned_alloc(4096, all);     /* never freed */
    madvise(spare, all, MADV_NOHUGEPAGE); /* of each the beginning is used */
    for (unsigned c = 0; c < npu->config.cores; c++) {
        for (unsigned i = 0; i < NPU_SPARES; i++, spare += bytes) {
            npu->model.later[c].spare[i] = spare;
        }
    }
    memory_region_init_io(&apart.over, OBJECT(npu), &over_ops, npu, "npu.apart",
                          memory_region_size(&npu->window));
    memory_region_set_enabled(&apart.over, false);
    memory_region_add_subregion_overlap(&npu->window, 0, &apart.over, NPU_OVER_MEMORIES);
    of_calls = npu;
    apart.qemu = call_hook(&ops, do_interrupt);
    apart.after = AFTER_LEAST;
}
