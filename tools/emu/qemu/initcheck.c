/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The init check in QEMU: hands it the firmware's hints, the model's events, the hart's
 * loads and stores and what the host writes to files, and writes what it has found as JSON.
 */
#include "tools/emu/qemu/call.h"
#include "tools/emu/qemu/checks.h"

static struct {
    SalaiNPU *npu;
    struct init *init; /* NULL: not wanted */
    bool loads;        /* the hart's are looked at */
    const struct TCGCPUOps *qemu;
} check;

void npu_initcheck_init(SalaiNPU *npu, unsigned checks, const struct check_host *host,
                        const struct race_config *config, struct memory *memory)
{
    check.npu = npu;
    check.loads = checks & CHECK_HART;
    check.init = checks & CHECK_INIT ? init_new(host, config, memory) : NULL;
}

void npu_initcheck_hint(const struct hint *hint)
{
    if (check.init) {
        init_hint(check.init, hint);
    }
}

void npu_initcheck_event(const struct npu_event *e)
{
    if (check.init) {
        init_event(check.init, &check.npu->model, e);
    }
}

bool npu_initcheck_matters(unsigned mem, uint64_t first, uint64_t bytes)
{
    return check.init && init_hart_matters(check.init, mem, first, bytes);
}

void npu_initcheck_hart(const struct race_hart_access *a)
{
    init_hart(check.init, a, check.loads);
}

/* --- what the host reads --- */

/* Before each call; one that is refused reads nothing, but wanted it. */
static void do_interrupt(CPUState *cpu)
{
    const uint64_t *gpr = npu_gpr(cpu);
    uint64_t block = gpr[A1];

    if (cpu->exception_index == NPU_EXCP_SEMIHOST && (uint32_t)gpr[A0] == SYS_WRITE) {
        struct race_hart_access a = {.site = {.pc = npu_hart_pc(cpu), .caller = gpr[1]},
                                     .mem = NPU_MEM_GM,
                                     .first = call_word(cpu, block + 8),
                                     .bytes = call_word(cpu, block + 16)};

        if (npu_racecheck_now(&a.cycle)) {
            init_output(check.init, &a);
        }
    }
    check.qemu->do_interrupt(cpu);
}

void npu_initcheck_hook(void)
{
    static struct TCGCPUOps ops;

    if (check.init) {
        check.qemu = call_hook(&ops, do_interrupt);
    }
}

/* --- what was found --- */

static void write_finding(FILE *to, const struct init_finding *f)
{
    static const char *const uses[INIT_USES] = {[INIT_STORED] = "store",
                                                [INIT_LOADED] = "load",
                                                [INIT_GUIDES] = "guide",
                                                [INIT_OUTPUT] = "output"};
    const struct init_source *from = &f->from;
    struct record handed = {
        .site.pc = from->of.site, .base = from->of.addr, .bytes = from->of.bytes};

    fprintf(to,
            "{\"class\":\"init\",\"memory\":\"%s\",\"core\":%u,\"address\":%" PRIu64
            ",\"count\":%" PRIu64 ",\"use\":\"%s\",\"undefined\":%" PRIu64
            ",\"source\":{\"memory\":\"%s\",\"core\":%u,\"address\":%" PRIu64
            ",\"kind\":\"%s\",\"name\":",
            npu_checks_mem(f->mem), f->core, f->addr, f->count, uses[f->use], f->bytes,
            npu_checks_mem(from->mem), from->core, from->addr,
            npu_checks_kind(from->of.kind));
    npu_checks_text(to, from->of.name);
    fprintf(to, "}");
    if (from->of.kind) {
        npu_checks_record("handed", &handed, NULL);
    }
    npu_checks_record("first", &from->access, NULL);
    npu_checks_record("second", &f->access, NULL);
    fprintf(to, "}");
}

void npu_initcheck_write(FILE *to, bool first, uint32_t most)
{
    const struct init_finding *f;
    uint32_t n = 0;
    uint64_t lost;

    f = check.init ? init_findings(check.init, &n, &lost) : NULL;
    for (uint32_t i = 0; i < MIN(n, most); i++) {
        fprintf(to, "%s\n", first && i == 0 ? "" : ",");
        write_finding(to, &f[i]);
    }
}

uint32_t npu_initcheck_count(void)
{
    uint64_t lost;
    uint32_t n = 0;

    if (check.init) {
        init_findings(check.init, &n, &lost);
    }
    return n;
}

uint64_t npu_initcheck_lost(void)
{
    uint64_t lost = 0;
    uint32_t n;

    if (check.init) {
        init_findings(check.init, &n, &lost);
    }
    return lost;
}

size_t npu_initcheck_bytes(void)
{
    return check.init ? init_bytes(check.init) : 0;
}
