/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The tables of a profile: OpBasicInfo.csv and those of columns.def, a row for each launch
 * and core, and critical.csv, the critical path of each launch step by step. They appear
 * in their folder when the run is over.
 *
 * Invariant: as of the trace, nothing here is seen by the guest.
 */
#include "tools/emu/qemu/trace/lines.h"
#include "tools/emu/qemu/trace/texts.h"
#include "tools/emu/trace/path.h"
#include "tools/emu/trace/sums.h"
#include <math.h>

#define MEM_OF(name) NPU_MEM_##name
#define CSV          ".csv"

enum table {
#define TABLE(file) TABLE_##file,
#define COLUMN(file, name, value)
#include "tools/emu/qemu/trace/columns.def"
    TABLE_OpBasicInfo,
    TABLE_critical,
    TABLES
};

static const char *const names[TABLES] = {
#define TABLE(file) #file,
#define COLUMN(file, name, value)
#include "tools/emu/qemu/trace/columns.def"
    "OpBasicInfo",
    "critical",
};

/* The hart works as the scalar unit of a core; instructions: in a cycle. */
typedef struct Works {
    unsigned core;
    uint64_t from, to, instructions;
} Works;

static struct {
    SalaiNPU *npu;
    Out *out[TABLES];
    struct follow *follow;
    struct path *path;
    struct sums sums;
    GArray *works; /* since the last launch, of Works */
    uint64_t
        last;   /* cycle of the last event; as of the trace, what a debugger goes back */
    bool again; /* over is known */
    unsigned does_for; /* the core that the hart works for, or NPU_CHIP */
    unsigned launch;   /* number of the one that is told */
} tables;

/* --- values --- */

/* What a row is of. */
typedef struct Row {
    const struct core_sums *core;
    double span, scalar;
} Row;

static double khz(void)
{
    const struct npu_config *config = &tables.npu->config;

    return npu_profile_cost(config->profile, config->timing, COST_CLOCK_KHZ);
}

static double us(double cycles)
{
    return cycles * 1e3 / khz();
}

static double ratio(double part, double of)
{
    return of ? part / of : 0;
}

/* In percent, of both. */
static double share(double some, double others)
{
    return 100 * ratio(some, some + others);
}

/* GB/s; bytes in so many cycles. */
static double rate(double bytes, double cycles)
{
    return ratio(bytes, cycles) * khz() / 1e6;
}

static double kib(double bytes)
{
    return bytes / 1024;
}

static double sum(const Row *row, unsigned mem, bool writes)
{
    double bytes = 0;

    for (unsigned p = 0; p < NPU_PIPES; p++) {
        const struct pipe_sums *s = &row->core->pipe[p];
        bytes += writes ? s->written[mem] : s->read[mem];
    }
    return bytes;
}

static double between(const Row *row, unsigned from, unsigned to)
{
    double bytes = 0;

    for (unsigned p = 0; p < NPU_PIPES; p++) {
        bytes += row->core->pipe[p].path[from][to];
    }
    return bytes;
}

/* In percent of what the path could have moved meanwhile. */
static double used(const Row *row, double bytes, enum npu_cost cost)
{
    const struct npu_config *config = &tables.npu->config;

    return 100 * ratio(bytes, row->span * npu_profile_cost(config->profile,
                                                           config->timing, cost));
}

/* --- writing --- */

static void G_GNUC_PRINTF(2, 3) put(enum table table, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    out_text(tables.out[table], text);
}

static void put_value(enum table table, double value)
{
    if (isnan(value)) {
        put(table, ",NA");
    } else {
        put(table, ",%.10g", value);
    }
}

static void put_row(const Row *row)
{
#define P(name)          row->core->pipe[PIPE_##name]
#define span             row->span
#define scalar           row->scalar
#define all_read(mem)    sum(row, MEM_OF(mem), false)
#define all_written(mem) sum(row, MEM_OF(mem), true)
#define moved(from, to)  between(row, MEM_OF(from), MEM_OF(to))
#define usage(bytes, of) used(row, bytes, of)
#define TABLE(file)
#define COLUMN(file, name, value) put_value(TABLE_##file, (double)(value));
#include "tools/emu/qemu/trace/columns.def"
#undef P
#undef span
#undef scalar
#undef all_read
#undef all_written
#undef moved
#undef usage
}

static void put_heads(void)
{
    put(TABLE_OpBasicInfo, "launch,Op Name,Op Type,Task Duration(us),Block Dim,"
                           "Mix Block Dim,Device Id,Pid,Current Freq,Rated Freq\n");
    put(TABLE_critical, "launch,from,to,cycles,kind,core,pipe,cmd,what,line,via\n");
    for (unsigned t = 0; t < TABLE_OpBasicInfo; t++) {
        put(t, "launch,block_id,sub_block_id");
    }
#define TABLE(file)
#define COLUMN(file, name, value) put(TABLE_##file, ",%s", name);
#include "tools/emu/qemu/trace/columns.def"
    for (unsigned t = 0; t < TABLE_OpBasicInfo; t++) {
        put(t, "\n");
    }
}

/* A name without what would end its column. */
static const char *plain(const char *name)
{
    static char text[64];

    g_strlcpy(text, name, sizeof(text));
    return g_strdelimit(text, ",\"\r\n", ' ');
}

static void put_step(void *ctx, const struct step *s)
{
    static const char *const kinds[] = {
        [STEP_PRICE] = "price",   [STEP_HART] = "hart",       [STEP_WAKE] = "wake",
        [STEP_SCALAR] = "scalar", [STEP_COMMAND] = "command", [STEP_DELAY] = "delay"};
    static const char *const vias[] = {
        [VIA_RETURN] = "return", [VIA_PUSH] = "push", [VIA_ORDER] = "order",
        [VIA_UNITS] = "units",   [VIA_LINE] = "line", [VIA_HART] = "hart"};
    bool command = s->number != 0;

    put(TABLE_critical, "%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,", tables.launch,
        s->from, s->to, s->to - s->from, kinds[s->kind]);
    if (command) {
        put(TABLE_critical, "%u,%s,%" PRIu64 ",%s,%s,", s->core, pipe_name(s->pipe),
            s->number, cmd_find(s->opcode)->name, (const char *)s->line);
    } else {
        const char *name = follow_text(tables.follow, s->name);
        bool hart = s->kind == STEP_HART;

        put(TABLE_critical, ",,,%s,,", hart && !*name ? "launching" : plain(name));
    }
    if (s->via == VIA_SEM) {
        put(TABLE_critical, s->barrier ? "sem %u barrier %u\n" : "sem %u\n", s->sem,
            s->barrier - 1);
    } else {
        put(TABLE_critical, "%s\n", vias[s->via]);
    }
}

/* Cycles of a core's scalar unit within a span. */
static uint64_t scalar_of(unsigned core, uint64_t first, uint64_t last)
{
    uint64_t cycles = 0;

    for (unsigned i = 0; i < tables.works->len; i++) {
        const Works *w = &g_array_index(tables.works, Works, i);
        uint64_t from = MAX(w->from, first), to = MIN(w->to, last);

        cycles += w->core == core && to > from ? (to - from) * w->instructions : 0;
    }
    return cycles;
}

static void put_launch(const struct launched *l)
{
    uint64_t first, last;
    unsigned cores = 0;

    if (!sums_span(&tables.sums, &first, &last)) {
        first = last = 0;
    }
    for (unsigned c = 0; c < tables.npu->config.cores; c++) {
        const struct core_sums *core = &tables.sums.core[c];

        if (core->last) {
            for (unsigned t = 0; t < TABLE_OpBasicInfo; t++) {
                put(t, "%u,%u,mix", l->number, c);
            }
            put_row(&(Row){core, last - first, scalar_of(c, first, last)});
            for (unsigned t = 0; t < TABLE_OpBasicInfo; t++) {
                put(t, "\n");
            }
            cores++;
        }
    }
    put(TABLE_OpBasicInfo, "%u,%s%s,mix,%.3f,%u,%u,0,0,%.0f,%.0f\n", l->number,
        plain(follow_text(tables.follow, l->name)),
        tables.npu->config.changes ? " (what if)" : "", us(l->back - l->call), cores,
        cores, khz() / 1e3, khz() / 1e3);
    tables.launch = l->number;
    path_tell(tables.path, l, put_step, NULL);
    memset(&tables.sums, 0, sizeof(tables.sums));
    g_array_set_size(tables.works, 0);
}

/* --- hearing --- */

static void hart_did(uint64_t now)
{
    const struct hart_does *does = follow_does(tables.follow);
    bool sleeps = strcmp(follow_text(tables.follow, does->name), "idle") == 0;

    path_hart(tables.path, does, now, sleeps);
    if (tables.does_for != NPU_CHIP) {
        const struct npu *n = &tables.npu->model;
        Works works = {tables.does_for, does->since, now,
                       npu_clock(n, now + 1) - npu_clock(n, now)};

        g_array_append_val(tables.works, works);
    }
}

static void name_hart(const struct npu_event *e)
{
    hart_did(e->now);
    tables.does_for = e->core;
    follow_hart(tables.follow, e->now,
                follow_name(tables.follow, npu_text_of_guest(tables.npu, e->name)));
}

static void hear_hint(const struct npu_event *e)
{
    struct launched l;
    struct hint h;

    if (!npu_hint_of_guest(tables.npu, e->name, &h)) {
        return;
    }
    if (h.kind == HINT_BEGIN) {
        const char *name = npu_text_of_guest(tables.npu, h.name);
        follow_begins(tables.follow, follow_name(tables.follow, name));
        npu_text_launch(name);
    } else if (h.kind == HINT_END && follow_ends(tables.follow, &l)) {
        hart_did(e->now);
        follow_hart(tables.follow, e->now, follow_does(tables.follow)->name);
        put_launch(&l);
    }
}

void npu_tables_event(SalaiNPU *npu, const struct npu_event *e)
{
    if (!tables.npu) {
        return;
    }
    tables.again = e->now < tables.last || (tables.again && e->now == tables.last);
    if (tables.again) {
        return;
    }
    tables.last = e->now;
    follow_event(tables.follow, e);
    if (e->what == NPU_NAMES) {
        name_hart(e);
    } else if (e->what == NPU_HINTS) {
        hear_hint(e);
    } else if (e->what == NPU_ENDS) {
        const struct followed *c = follow_ended(tables.follow);

        sums_ended(&tables.sums, e, c);
        path_ended(tables.path, e, c, npu_text_line(e));
    }
}

/* --- the files --- */

static void at_exit(int status, void *opaque)
{
    bool keep = tables.last != 0, good = true;

    tables.npu = NULL;
    for (unsigned t = 0; t < TABLES; t++) {
        good = (!tables.out[t] || out_close(tables.out[t], keep)) && good;
    }
    if (!good) {
        npu_exit_worse(status);
    }
}

void npu_tables_open(SalaiNPU *npu, const char *folder)
{
    on_exit(at_exit, NULL);
    for (unsigned t = 0; t < TABLES; t++) {
        g_autofree char *path = g_strdup_printf("%s/%s" CSV, folder, names[t]);

        tables.out[t] = out_open(path, false);
        if (!tables.out[t]) {
            npu_die("npu.so: tables=%s: %s", path, strerror(errno));
        }
    }
    tables.follow = follow_new(npu->config.cores);
    tables.path = path_new();
    tables.works = g_array_new(false, false, sizeof(Works));
    tables.does_for = NPU_CHIP;
    tables.npu = npu;
    put_heads();
    npu_lines_open();
}
