/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The init check in QEMU: hands it the firmware's hints, the model's events, the hart's
 * loads and stores and what the host writes to files, and writes what it has found as JSON.
 */
#include "tools/emu/qemu/device/call.h"
#include "tools/emu/qemu/check/checks.h"

#define STACK_WORDS 128
#define CALLERS     8

/* Return addresses on the stack of the call that a finding is about. */
typedef struct Callers {
    uint32_t finding;
    uint64_t at[CALLERS];
} Callers;

static struct {
    SalaiNPU *npu;
    struct init *init; /* NULL: not wanted */
    bool loads;        /* the hart's are looked at */
    GArray *callers;   /* of Callers */
    const struct TCGCPUOps *qemu;
} check;

void npu_initcheck_init(SalaiNPU *npu, unsigned checks, const struct check_host *host,
                        const struct race_config *config, struct memory *memory)
{
    check.npu = npu;
    check.loads = checks & CHECK_HART;
    check.init = checks & CHECK_INIT ? init_new(host, config, memory) : NULL;
    check.callers = g_array_new(false, true, sizeof(Callers));
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
        init_event(check.init, e);
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

/* Whether a word is the address behind a call: jal or jalr that leave it in ra. */
static bool is_return(CPUState *cpu, uint64_t word)
{
    const struct npu_config *config = &check.npu->config;
    uint32_t insn = 0;

    if (word % 2 || word - config->gm_base - sizeof(insn) >= config->gm_size) {
        return false;
    }
    cpu_memory_rw_debug(cpu, word - sizeof(insn), &insn, sizeof(insn), false);
    insn = le32_to_cpu(insn);
    return (insn & 0xfff) == 0x0ef || (insn & 0xfff) == 0x0e7 ||
           (insn >> 16 & 0xf07f) == 0x9002;
}

/* The functions that have led to a call hold no pointer to their frames, but what looks
 * like their return addresses mostly is one. */
static void note_callers(CPUState *cpu, uint32_t finding)
{
    Callers callers = {.finding = finding};
    uint64_t sp = npu_gpr(cpu)[2];
    unsigned n = 0;

    for (unsigned i = 0; i < STACK_WORDS && n < CALLERS; i++) {
        uint64_t word = call_word(cpu, sp + i * sizeof(word));
        if (is_return(cpu, word)) {
            callers.at[n++] = word;
        }
    }
    g_array_append_val(check.callers, callers);
}

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
            uint32_t known = npu_initcheck_count();
            init_output(check.init, &a);
            if (npu_initcheck_count() > known) {
                note_callers(cpu, known);
            }
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

static void write_callers(FILE *to, uint32_t finding)
{
    for (unsigned i = 0; i < check.callers->len; i++) {
        const Callers *callers = &g_array_index(check.callers, Callers, i);
        for (unsigned k = 0; callers->finding == finding && k < CALLERS; k++) {
            fprintf(to, "%s%" PRIu64, k ? "," : "", callers->at[k]);
        }
    }
}

static void write_finding(FILE *to, const struct init_finding *f, uint32_t number)
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
    fprintf(to, "},\"callers\":[");
    write_callers(to, number);
    fprintf(to, "]");
    if (from->of.kind) {
        npu_checks_record(to, "handed", &handed, NULL);
    }
    npu_checks_record(to, "first", &from->access, NULL);
    npu_checks_record(to, "second", &f->access, NULL);
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
        write_finding(to, &f[i], i);
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
