/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The memory check and the sync check in QEMU: hands them the firmware's hints, the model's
 * events and the hart's loads and stores, and writes what they have found as JSON.
 */
#include "tools/emu/qemu/check/checks.h"

static struct {
    struct memory *memory; /* knows blocks even where its findings are not wanted */
    bool judged;           /* they are: accesses are judged */
    struct sync *sync;     /* NULL: not wanted */
} check;

void npu_memcheck_init(unsigned checks, const struct check_host *host,
                       const struct race_config *config)
{
    check.memory = memory_new(host, config);
    check.judged = checks & CHECK_MEMORY;
    check.sync = checks & CHECK_SYNC ? sync_new(host, config->cores) : NULL;
}

void npu_memcheck_hint(uint64_t cycle, const struct hint *hint)
{
    memory_hint(check.memory, cycle, hint);
    if (check.sync) {
        sync_hint(check.sync, hint);
    }
}

void npu_memcheck_event(const struct npu_event *e)
{
    if (check.judged) {
        memory_event(check.memory, e);
    }
    if (check.sync) {
        sync_event(check.sync, e);
    }
}

bool npu_memcheck_passes(uint64_t first, uint64_t bytes)
{
    return memory_passes(check.memory, first, bytes);
}

void npu_memcheck_hart(const struct race_hart_access *a)
{
    if (check.judged) {
        memory_hart(check.memory, a);
    }
}

struct memory *npu_memcheck_memory(void)
{
    return check.memory;
}

bool npu_memcheck_block(uint64_t addr, struct hint *hint)
{
    struct allocation a;

    if (!memory_holds(check.memory, 0, NPU_MEM_GM, addr, &a)) {
        return false;
    }
    *hint = (struct hint){.kind = a.kind,
                          .mem = NPU_MEM_GM,
                          .count = 1,
                          .addr = a.addr,
                          .bytes = a.bytes,
                          .name = a.name,
                          .site = a.site + CALL_BYTES};
    return true;
}

/* --- what was found --- */

const char *npu_checks_kind(unsigned kind)
{
    switch (kind) {
    case HINT_BLOCK:
        return "block";
    case HINT_QUEUE:
        return "queue";
    case HINT_BUFFER:
        return "buffer";
    default:
        return "";
    }
}

static void write_memory(FILE *to, const struct memory_finding *f)
{
    static const char *const classes[MEMORY_CLASSES] = {
        [MEMORY_BEYOND] = "out-of-bounds", [MEMORY_FREED] = "use-after-free",
        [MEMORY_NOWHERE] = "unallocated",  [MEMORY_TWICE] = "double-free",
        [MEMORY_NOT_ONE] = "bad-free",     [MEMORY_LEAK] = "leak",
        [MEMORY_SKEWED] = "misaligned",
    };
    struct record site = {
        .site.pc = f->of.site, .base = f->of.addr, .bytes = f->of.bytes};

    fprintf(to,
            "{\"class\":\"%s\",\"memory\":\"%s\",\"core\":%u,\"address\":%" PRIu64
            ",\"count\":%" PRIu64 ",\"kind\":\"%s\",\"freed\":%" PRIu64 ",\"name\":",
            classes[f->what], npu_checks_mem(f->mem), f->core, f->addr, f->count,
            npu_checks_kind(f->of.kind), f->of.freed);
    npu_checks_text(to, f->of.name);
    fprintf(to, ",\"scope\":");
    npu_checks_text(to, f->scope);
    npu_checks_record(to, "first", f->of.kind ? &site : &f->access, NULL);
    npu_checks_record(to, "second", &f->access, NULL);
    fprintf(to, "}");
}

static void write_sync(FILE *to, const struct sync_finding *f)
{
    static const char *const classes[SYNC_CLASSES] = {
        [SYNC_LEFT] = "leftover", [SYNC_STUCK] = "unserved", [SYNC_SETTING] = "left-set"};
    static const char *const settings[SETTINGS] = {[SETTING_MASK] = "mask",
                                                   [SETTING_ATOMIC] = "atomic mode",
                                                   [SETTING_SATURATE] = "saturation"};

    fprintf(to,
            "{\"class\":\"%s\",\"memory\":\"semaphore\",\"core\":%u,\"address\":0"
            ",\"count\":%" PRIu64 ",\"semaphore\":%u,\"value\":%u,\"want\":%u"
            ",\"posted\":%s,\"taken\":%s,\"setting\":\"%s\",\"scope\":",
            classes[f->what], f->core, f->count,
            f->sem + (f->core == NPU_CHIP ? SEM_CORE : 0), f->value, f->want,
            f->posted ? "true" : "false", f->taken ? "true" : "false",
            f->what == SYNC_SETTING ? settings[f->sem] : "");
    npu_checks_text(to, f->scope);
    npu_checks_record(to, "first", &f->post, NULL);
    npu_checks_record(to, "second", f->taken ? &f->take : &f->post, NULL);
    if (f->wanted.site.pc) {
        npu_checks_record(to, "wanted", &f->wanted, NULL);
    }
    if (f->queue.kind) {
        fprintf(to, ",\"role\":\"%s\",\"queue\":{\"site\":%" PRIu64 ",\"name\":",
                f->sem == f->queue.full_sem ? "FULL" : "FREE", f->queue.site);
        npu_checks_text(to, f->queue.name);
        fprintf(to, "}");
    }
    fprintf(to, "}");
}

bool npu_memcheck_write(FILE *to, bool first, uint32_t most)
{
    const struct memory_finding *memory = NULL;
    const struct sync_finding *sync = NULL;
    uint32_t n_memory = 0, n_sync = 0;
    uint64_t lost;

    if (check.judged) {
        memory = memory_findings(check.memory, &n_memory, &lost);
    }
    if (check.sync) {
        sync = sync_findings(check.sync, &n_sync, &lost);
    }
    for (uint32_t i = 0; i < MIN(n_memory + n_sync, most); i++) {
        fprintf(to, "%s\n", first && i == 0 ? "" : ",");
        if (i < n_memory) {
            write_memory(to, &memory[i]);
        } else {
            write_sync(to, &sync[i - n_memory]);
        }
    }
    return first && n_memory + n_sync == 0;
}

/* Findings, and how many more there is no room for. */
static uint32_t found(uint64_t *lost)
{
    uint32_t memory = 0, sync = 0;
    uint64_t memory_lost = 0, sync_lost = 0;

    if (check.judged) {
        memory_findings(check.memory, &memory, &memory_lost);
    }
    if (check.sync) {
        sync_findings(check.sync, &sync, &sync_lost);
    }
    *lost = memory_lost + sync_lost;
    return memory + sync;
}

uint32_t npu_memcheck_count(void)
{
    uint64_t lost;

    return found(&lost);
}

uint64_t npu_memcheck_lost(void)
{
    uint64_t lost;

    (void)found(&lost);
    return lost;
}

size_t npu_memcheck_bytes(void)
{
    return memory_bytes(check.memory) + (check.sync ? sync_bytes(check.sync) : 0);
}
