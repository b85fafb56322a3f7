/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Guest memory as the model uses it: DRAM and the local memories of the cores.
 *
 * Invariant: the model gets host addresses of RAM only, never of another device or of
 * a bounce buffer; after a write QEMU's dirty bits are set and translations of code
 * that lay there are gone. Both through address_space_unmap(), the one exported
 * function that does it whole: memory_region_set_dirty() would leave stale code.
 */
#include "tools/emu/qemu/device/device.h"

#define POISON     0xff
#define PAGE_BYTES 4096 /* TARGET_PAGE_SIZE, of which a bit says whether it is dirty */

/* Every page of bytes [off, off + len) of a RAM region is dirty for all that want to know:
 * then nothing of QEMU's has to change. Else it goes through all blocks of RAM to find the
 * one of a host address, and those are many where cores are. The big lock keeps the bits. */
static bool all_dirty(MemoryRegion *mr, uint64_t off, uint64_t len)
{
    uint8_t wanted = memory_region_get_dirty_log_mask(mr);
    uint64_t first = memory_region_get_ram_addr(mr) + off;
    uint64_t end = (first + len - 1) / PAGE_BYTES + 1;

    for (unsigned client = 0; client < DIRTY_MEMORY_NUM; client++) {
        unsigned long **blocks = ram_list.dirty_memory[client]->blocks;
        for (uint64_t at = first / PAGE_BYTES; wanted >> client & 1 && at < end; at++) {
            if (!test_bit(at % DIRTY_MEMORY_BLOCK_SIZE,
                          blocks[at / DIRTY_MEMORY_BLOCK_SIZE])) {
                return false;
            }
        }
    }
    return true;
}

/* Bytes [off, off + len), at p, of a RAM region have been written behind QEMU's back. */
static void written(MemoryRegion *mr, uint64_t off, void *p, uint64_t len)
{
    if (all_dirty(mr, off, len)) {
        return;
    }
    memory_region_ref(mr); /* which the unmap gives back */
    address_space_unmap(&address_space_memory, p, len, true, len);
}

static void *gm_map(void *ctx, uint64_t addr, uint64_t len, bool write)
{
    SalaiNPU *npu = ctx;
    uint64_t off = addr - npu->config.gm_base;

    if (off > npu->config.gm_size || len > npu->config.gm_size - off) {
        return NULL;
    }
    return npu->gm_host + off;
}

static void gm_unmap(void *ctx, void *p, uint64_t addr, uint64_t len, bool write)
{
    SalaiNPU *npu = ctx;

    if (write && len) {
        written(npu->gm, addr - npu->config.gm_base, p, len);
    }
}

static void mem_dirty(void *ctx, unsigned core, enum npu_mem mem, uint32_t off,
                      uint32_t len)
{
    SalaiNPU *npu = ctx;
    uint8_t *p = npu->model.mem[core][mem] + off;

    if (len && npu_mem_offset(mem)) {
        written(&npu->mem[core][mem], off, p, len);
    } else if (len) {
        written(&npu->stage, p - npu->stage_host, p, len);
    }
}

/* The PLIC has its own migration state: a line that npu_restored() drives again would
 * make an interrupt pending that the hart has already claimed. */
static void irq(void *ctx, unsigned core, bool level)
{
    SalaiNPU *npu = ctx;

    if (!npu->restoring) {
        qemu_set_irq(npu->irq[core], level);
    }
}

/* Buffers that are handed out hold noise on real hardware. Here they hold NaN, of integers
 * -1, an offset beyond every memory: what reads them unwritten shows in its results, in
 * every run. That it is every run and not only a checked one is what keeps bytes, cycles,
 * recordings and replays the same with and without a check, also of programs that are
 * wrong. */
static void poison(SalaiNPU *npu, uint64_t addr)
{
    uint64_t off = addr - npu->config.gm_base, bytes;
    struct hint h;

    if (off > npu->config.gm_size || sizeof(h) > npu->config.gm_size - off) {
        return;
    }
    memcpy(&h, npu->gm_host + off, sizeof(h));
    bytes = h.bytes * h.count;
    if ((h.kind == HINT_QUEUE || h.kind == HINT_BUFFER) && h.core < npu->config.cores &&
        h.mem < NPU_MEM_COUNT && npu_mem_offset(h.mem) &&
        h.addr <= npu_mem_size(npu->config.profile, h.mem) && h.bytes <= UINT32_MAX &&
        bytes <= npu_mem_size(npu->config.profile, h.mem) - h.addr) {
        if (npu->model.apart) {
            npu_apart_wait(npu, h.core, NPU_ALL);
        }
        memset(npu->model.mem[h.core][h.mem] + h.addr, POISON, bytes);
        mem_dirty(npu, h.core, h.mem, h.addr, bytes);
    }
}

/* Who hears of what happens. */
static void event(void *ctx, const struct npu_event *e)
{
    SalaiNPU *npu = ctx;

    if (e->what == NPU_HINTS) {
        poison(npu, e->name);
    }
    npu->told = true;
    npu_trace_event(npu, e);
    npu_tables_event(npu, e);
    npu_core_event(e);
    npu_racecheck_event(e);
    npu_results_event(npu, e);
    if (npu->debug) {
        npu_history_event(npu, e);
        npu_semlog_event(e);
        npu_debug_event(npu, e);
    }
    npu->told = false;
}

static void hart(void *ctx, uint64_t *pc, uint64_t *ra)
{
    if (current_cpu) {
        *pc = npu_hart_pc(current_cpu);
        *ra = npu_gpr(current_cpu)[1];
    }
}

static uint64_t hart_clock(void *ctx)
{
    return (uint64_t)qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

const struct npu_host npu_host_ops = {
    .gm_map = gm_map,
    .gm_unmap = gm_unmap,
    .mem_dirty = mem_dirty,
    .irq = irq,
    .event = event,
    .hart = hart,
    .clock = hart_clock,
    .job = npu_apart_job,
    .give = npu_apart_give,
    .wait = npu_apart_wait,
};

/* A RAM region that migrates; id: by which name a snapshot has it; at: memory for it, or
 * NULL. */
static uint8_t *init_ram(SalaiNPU *npu, MemoryRegion *mr, const char *name,
                         const char *id, uint64_t bytes, void *at)
{
    if (at) {
        memory_region_init_ram_ptr(mr, OBJECT(npu), name, bytes, at);
    } else {
        memory_region_init_ram_nomigrate(mr, OBJECT(npu), name, bytes, &error_fatal);
    }
    qemu_ram_set_idstr(mr->ram_block, id, NULL);
    qemu_ram_set_migratable(mr->ram_block);
    return memory_region_get_ram_ptr(mr);
}

static uint64_t whole_pages(uint64_t bytes)
{
    return QEMU_ALIGN_UP(bytes, qemu_real_host_page_size());
}

/* Room for all that cores have mapped, one behind the other and never freed. For 24 cores
 * that is 26 MiB, which the host's processor has too few small pages at hand for: a product
 * there takes 6 % longer with them. */
static uint8_t *local_room(const struct npu_config *config)
{
    uint64_t bytes = 0;
    uint8_t *room;

    for (int m = 0; m < NPU_MEM_COUNT; m++) {
        bytes += npu_mem_offset(m) ? whole_pages(npu_mem_size(config->profile, m)) : 0;
    }
    bytes *= config->cores;
    room = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) {
        npu_die("npu.so: no memory for %u cores", config->cores);
    }
    madvise(room, bytes, MADV_HUGEPAGE);
    return room;
}

/* Lends the model its memories: a region each, but one for all that are not mapped,
 * and one for the tags of L2, of which a snapshot has the pages that are not 0, since
 * QEMU's time to make n blocks grows with the cube of n (0.12 s for 400). */
void npu_memory_init(SalaiNPU *npu)
{
    enum npu_profile profile = npu->config.profile;
    uint64_t stage_bytes = 0;
    g_autofree char *id = npu_snapshot_config(npu);
    uint8_t *stage, *room = local_room(&npu->config);

    for (int m = 0; m < NPU_MEM_COUNT; m++) {
        stage_bytes += npu_mem_offset(m) ? 0 : npu_mem_size(profile, m);
    }
    stage = init_ram(npu, &npu->stage, "npu.stage", id, stage_bytes * npu->config.cores,
                     NULL);
    npu->stage_host = stage;
    npu->model.l2 = (uint32_t *)init_ram(npu, &npu->l2, "npu.l2", "npu.l2",
                                         npu_l2_bytes(profile), NULL);
    for (unsigned c = 0; c < npu->config.cores; c++) {
        for (int m = 0; m < NPU_MEM_COUNT; m++) {
            uint32_t bytes = npu_mem_size(profile, m);

            if (npu_mem_offset(m) && bytes == 0) {
                continue; /* this chip does not have it */
            } else if (npu_mem_offset(m)) {
                g_autofree char *name =
                    g_strdup_printf("npu.core%u.%s", c, npu_mem_name(m));
                npu->model.mem[c][m] =
                    init_ram(npu, &npu->mem[c][m], name, name, bytes, room);
                room += whole_pages(bytes);
            } else {
                npu->model.mem[c][m] = stage;
                stage += bytes;
            }
        }
    }
}
