/* SPDX-License-Identifier: MIT
 *
 * Writes the page. Commands go as columns, one array a property, each of the smallest type
 * that holds its largest number, in base64: a million of them are some 40 MB that a browser
 * turns into typed arrays at once. They stand pipe by pipe.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/profile/advice.h"
#include "tools/profile/page.h"
#include "tools/profile/words.h"

static void base64(FILE *out, const uint8_t *p, size_t bytes)
{
    static const char digit[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[4096 + 4];
    size_t at = 0;

    for (size_t i = 0; i < bytes; i += 3) {
        size_t n = bytes - i < 3 ? bytes - i : 3;
        uint32_t w = (uint32_t)p[i] << 16 | (uint32_t)(n > 1 ? p[i + 1] : 0) << 8 |
                     (uint32_t)(n > 2 ? p[i + 2] : 0);
        text[at++] = digit[w >> 18];
        text[at++] = digit[w >> 12 & 63];
        text[at++] = n > 1 ? digit[w >> 6 & 63] : '=';
        text[at++] = n > 2 ? digit[w & 63] : '=';
        if (at >= 4096) {
            fwrite(text, 1, at, out);
            at = 0;
        }
    }
    fwrite(text, 1, at, out);
}

/* Numbers as an array of the smallest type; `values` is changed. */
static void column(FILE *out, const char *name, uint64_t *values, uint32_t n)
{
    uint64_t most = 0;
    uint8_t *to = (uint8_t *)values;
    unsigned bytes;

    for (uint32_t i = 0; i < n; i++) {
        most = values[i] > most ? values[i] : most;
    }
    bytes = 1;
    while (bytes < 8 && most >> 8 * bytes) {
        bytes *= 2;
    }
    for (uint32_t i = 0; i < n; i++, to += bytes) {
        uint64_t value = values[i];
        double exact = (double)value;
        memcpy(to, bytes == 8 ? (void *)&exact : (void *)&value, bytes);
    }
    fprintf(out, "<script type=\"text/plain\" data-column=\"%s\" data-bytes=\"%u\">",
            name, bytes);
    base64(out, (uint8_t *)values, (size_t)n * bytes);
    fputs("</script>\n", out);
}

enum property {
    P_BEGIN,
    P_TOOK,
    P_WAITED,
    P_LOST,
    P_MISSED,
    P_BANKS,
    P_AGE,
    P_READ,
    P_WRITTEN,
    P_OPS,
    P_NAME,
    P_LINE,
    P_TASK,
    P_SHAPE,
    P_BY,
    P_SEM,
    PROPERTIES,
};

static uint64_t property(const struct trace *t, const uint32_t *place, uint32_t i,
                         enum property p)
{
    const struct command *c = &t->command[i];
    const struct edge *e = c->waits ? &t->edge[c->wait] : NULL;

    for (uint32_t k = 1; k < c->waits; k++) { /* who came last */
        const struct edge *x = &t->edge[c->wait + k];
        if (x->from != BY_HART &&
            (e->from == BY_HART || t->command[x->from].end > t->command[e->from].end)) {
            e = x;
        }
    }
    switch (p) {
    case P_BEGIN:
        return c->begin - t->begin;
    case P_TOOK:
        return c->end - c->begin;
    case P_WAITED:
        return c->waited;
    case P_LOST:
        return c->lost;
    case P_MISSED:
        return c->missed;
    case P_BANKS:
        return c->banks;
    case P_AGE:
        return c->issued <= c->begin ? c->begin - c->issued + 1 : 0;
    case P_READ:
        return c->read;
    case P_WRITTEN:
        return c->written;
    case P_OPS:
        return c->ops;
    case P_NAME:
        return c->name;
    case P_LINE:
        return c->line;
    case P_TASK:
        return c->task;
    case P_SHAPE:
        return c->shape;
    case P_BY:
        return !e ? 0 : e->from == BY_HART ? 1 : place[e->from] + 2;
    default:
        return e ? e->sem : 0;
    }
}

/* By command, its place on the page: commands stand there pipe by pipe. */
static uint32_t *places(const struct trace *t, const struct sums *s)
{
    uint32_t *place = malloc((t->commands + 1) * sizeof(*place));

    for (uint32_t k = 0; k < t->commands; k++) {
        place[s->lanes.order[k]] = k;
    }
    return place;
}

static void columns(FILE *out, const struct trace *t, const struct sums *s,
                    const uint32_t *place)
{
    static const char *const names[PROPERTIES] = {
        "begin",   "took", "waited", "lost", "missed", "banks", "age", "read",
        "written", "ops",  "name",   "line", "task",   "shape", "by",  "sem"};
    uint64_t *values = malloc((t->commands + 1) * sizeof(*values));

    for (enum property p = 0; p < PROPERTIES; p++) {
        for (uint32_t k = 0; k < t->commands; k++) {
            values[k] = property(t, place, s->lanes.order[k], p);
        }
        column(out, names[p], values, t->commands);
    }
    free(values);
}

/* What the hart did while the run went on. */
static void hart(FILE *out, const struct trace *t)
{
    static const char *const names[] = {"hart.begin", "hart.took", "hart.name"};
    uint64_t *values = malloc((t->harts + 1) * sizeof(*values));

    for (unsigned p = 0; p < 3; p++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < t->harts; i++) {
            const struct range *r = &t->hart[i];
            uint64_t begin = r->begin > t->begin ? r->begin : t->begin;
            uint64_t end = r->end < t->end ? r->end : t->end;
            if (end > begin) {
                values[n++] = p == 0 ? begin - t->begin : p == 1 ? end - begin : r->name;
            }
        }
        column(out, names[p], values, n);
    }
    free(values);
}

/* A string of JSON that may stand in a page; `raw`: its escapes are already made. */
static void string(FILE *out, const char *text, bool raw)
{
    putc('"', out);
    for (; *text; text++) {
        if (*text == '<' || (unsigned char)*text < ' ') {
            fprintf(out, "\\u%04x", (unsigned char)*text);
        } else if (!raw && (*text == '"' || *text == '\\')) {
            fprintf(out, "\\%c", *text);
        } else {
            putc(*text, out);
        }
    }
    putc('"', out);
}

static void lanes(FILE *out, const struct sums *s)
{
    fputs(",\n\"lanes\":[", out);
    for (uint32_t i = 0; i < s->lanes.n; i++) {
        const struct lane_sum *l = &s->lane[i];
        fprintf(out,
                "%s{\"core\":%u,\"pipe\":\"%s\",\"first\":%u,\"n\":%u,\"busy\":%ju,"
                "\"sem\":%ju,\"empty\":%ju,\"shared\":%ju,\"l2\":%ju,\"bank\":%ju,"
                "\"before\":%ju,\"after\":%ju,\"read\":%ju,\"written\":%ju,\"ops\":%ju}",
                i ? ",\n" : "", s->lanes.core[i], pipe_name(s->lanes.pipe[i]),
                s->lanes.first[i], s->lanes.first[i + 1] - s->lanes.first[i],
                (uintmax_t)l->busy, (uintmax_t)l->cause[CAUSE_SEM],
                (uintmax_t)l->cause[CAUSE_EMPTY], (uintmax_t)l->cause[CAUSE_SHARED],
                (uintmax_t)l->cause[CAUSE_L2], (uintmax_t)l->cause[CAUSE_BANK],
                (uintmax_t)l->before, (uintmax_t)l->after, (uintmax_t)l->read,
                (uintmax_t)l->written, (uintmax_t)l->ops);
    }
    putc(']', out);
}

static void tables(FILE *out, const struct sums *s)
{
    fputs(",\n\"stalls\":[", out);
    for (uint32_t i = 0; i < s->stalls; i++) {
        const struct stall *x = &s->stall[i];
        fprintf(out, "%s[%u,\"%s\",%u,%ju,\"%s\"]", i ? "," : "", x->lane,
                cause_name(x->cause), x->text, (uintmax_t)x->cycles,
                x->by ? pipe_name(x->by) : "");
    }
    fputs("],\n\"paths\":[", out);
    for (uint32_t i = 0; i < s->paths; i++) {
        const struct path *p = &s->path[i];
        fprintf(out, "%s[\"%s\",\"%s\",%ju,%ju,%ju]", i ? "," : "", word_memory(p->from),
                word_memory(p->to), (uintmax_t)p->commands, (uintmax_t)p->bytes,
                (uintmax_t)p->cycles);
    }
    fputs("],\n\"lines\":[", out);
    for (uint32_t i = 0; i < s->lines; i++) {
        const struct line *l = &s->line[i];
        fprintf(out, "%s[%u,\"%s\",%u,%ju,%ju,%ju,%ju,%ju,%ju]", i ? "," : "", l->line,
                pipe_name(l->pipe), l->name, (uintmax_t)l->commands, (uintmax_t)l->cycles,
                (uintmax_t)l->waited, (uintmax_t)l->lost, (uintmax_t)l->bytes,
                (uintmax_t)l->ops);
    }
    putc(']', out);
}

/* Counters as two columns each, named by their places in the list. */
static void counters(FILE *out, const struct trace *t)
{
    for (uint32_t i = 0; i < t->counters; i++) {
        const struct counter *c = &t->counter[i];
        uint64_t *values = malloc((c->n + 1) * sizeof(*values));
        char name[64];
        for (unsigned p = 0; p < 2; p++) {
            for (uint32_t k = 0; k < c->n; k++) {
                uint64_t at = c->sample[k].at > t->begin ? c->sample[k].at - t->begin : 0;
                values[k] = p ? c->sample[k].value : at;
            }
            snprintf(name, sizeof(name), "counter.%u.%s", i, p ? "value" : "at");
            column(out, name, values, c->n);
        }
        free(values);
    }
}

static void lists(FILE *out, const struct trace *t)
{
    fputs(",\n\"counters\":[", out);
    for (uint32_t i = 0; i < t->counters; i++) {
        fprintf(out, "%s[%u,%u]", i ? "," : "", t->counter[i].process,
                t->counter[i].name);
    }
    fputs("],\n\"allocations\":[", out);
    for (uint32_t i = 0; i < t->allocations; i++) {
        const struct allocation *a = &t->allocation[i];
        fprintf(out, "%s[%ju,%u,%u,%ju,%ju,%u,%u,%u]", i ? "," : "",
                (uintmax_t)(a->at > t->begin ? a->at - t->begin : 0), a->process, a->mem,
                (uintmax_t)a->addr, (uintmax_t)a->bytes, a->name, a->line, a->gives);
    }
    fputs("],\n\"launches\":[", out);
    for (uint32_t i = 0; i < t->launches; i++) {
        const struct range *l = &t->launch[i];
        uint64_t call = l->number ? l->call : l->begin,
                 back = l->number ? l->back : l->end;
        call = call > t->begin ? call : t->begin;
        back = back < t->end ? back : t->end;
        fprintf(out, "%s[%u,%ju,%ju,%ju,%u,%u]", i ? "," : "", l->name,
                (uintmax_t)(call - t->begin), (uintmax_t)(back > call ? back - call : 0),
                (uintmax_t)l->price, l->number, l->depth);
    }
    putc(']', out);
}

static void remedies(FILE *out, const struct advice *a)
{
    fputs(",\n\"bound\":", out);
    string(out, a->bound, false);
    fputs(",\"class\":", out);
    string(out, a->class, false);
    fputs(",\"reason\":", out);
    string(out, a->reason, true);
    fputs(",\n\"advice\":[", out);
    for (unsigned i = 0; i < a->n; i++) {
        const struct remedy *r = &a->remedy[i];
        fprintf(out, "%s{\"kind\":", i ? ",\n" : "");
        string(out, r->kind, false);
        fputs(",\"why\":", out);
        string(out, r->why, true);
        fputs(",\"help\":", out);
        string(out, r->help, true);
        fprintf(out, ",\"cycles\":%ju}", (uintmax_t)r->cycles);
    }
    putc(']', out);
}

/* The critical path, from the beginning on; `command`: place of the command + 1. */
static void path(FILE *out, const struct trace *t, const struct sums *s,
                 const uint32_t *place)
{
    static const char *const names[] = {"path.begin", "path.took", "path.what",
                                        "path.text",  "path.via",  "path.command"};
    uint64_t *values = malloc((t->steps + 1) * sizeof(*values));

    for (unsigned p = 0; p < sizeof(names) / sizeof(names[0]); p++) {
        for (uint32_t i = 0; i < t->steps; i++) {
            const struct step *x = &t->step[i];
            uint32_t c = x->what < STEP_HART
                             ? lane_number(&s->lanes, t, x->core, x->what, x->number)
                             : LANE_NONE;
            uint64_t of[] = {x->begin - t->begin,
                             x->end - x->begin,
                             x->what,
                             x->text,
                             x->via,
                             c == LANE_NONE ? 0 : place[c] + 1};
            values[i] = of[p];
        }
        column(out, names[p], values, t->steps);
    }
    free(values);
}

static uint32_t rate(const struct trace *t, enum npu_cost cost)
{
    return npu_profile_cost(t->profile, t->timing, cost);
}

/* The type, which is the first word of a shape, that a pipe has computed most with. */
static unsigned main_type(const struct trace *t, unsigned pipe)
{
    uint64_t ops[32] = {0};
    unsigned best = 0;

    for (uint32_t i = 0; i < t->commands; i++) {
        const char *shape = trace_text(t, t->command[i].shape);
        for (unsigned type = 0; type < 32 && t->command[i].pipe == pipe; type++) {
            const char *name = type_name(type);
            size_t n = strlen(name);
            if (*name != '?' && strncmp(shape, name, n) == 0 && strchr(" ", shape[n])) {
                ops[type] += t->command[i].ops;
                best = ops[type] > ops[best] ? type : best;
            }
        }
    }
    return best;
}

/* Multiply-adds of a cycle: a fractal, of fp32 half of one (hal/contract/cube.md). Elements:
 * of a repeat of one cycle. */
static void peaks(FILE *out, const struct trace *t)
{
    unsigned m = main_type(t, PIPE_M), v = main_type(t, PIPE_V);
    unsigned bits = type_bits(v) ? type_bits(v) : 16;

    fprintf(out, ",\"cube\":%u,\"vector\":%u,\"sizes\":{",
            256 * (type_c0(m) ? type_c0(m) : 16) / (m == TYPE_F32 ? 2 : 1),
            256 * 8 / bits);
    for (uint8_t mem = 0; mem < NPU_MEM_COUNT; mem++) {
        if (npu_mem_offset(mem)) {
            fprintf(out, "%s\"%s\":%u", mem ? "," : "", word_memory(mem),
                    rate(t, npu_mem_cost(mem)));
        }
    }
    putc('}', out);
}

static void chip(FILE *out, const struct trace *t)
{
    static const struct {
        const char *name;
        enum npu_cost cost;
    } rates[] = {
        {"kHz", COST_CLOCK_KHZ},
        {"L2 read", COST_L2_READ_RATE},
        {"L2", COST_L2_RATE},
        {"HBM", COST_HBM_RATE},
        {"GM to L1", COST_GM_L1_RATE},
        {"GM to UB", COST_GM_UB_RATE},
        {"UB to GM", COST_UB_GM_RATE},
        {"L1 to L0A", COST_L1_L0A_RATE},
        {"L1 to L0B", COST_L1_L0B_RATE},
        {"L0C to GM", COST_L0C_GM_RATE},
        {"L0C to UB", COST_L0C_UB_RATE},
        {"L0C to L1", COST_L0C_L1_RATE},
        {"L1 to GM", COST_L1_GM_RATE},
        {"L1 to FB", COST_L1_FB_RATE},
    };

    fprintf(out, ",\n\"chip\":{\"cores\":%u,\"profile\":", t->cores);
    string(out, npu_profile_name(t->profile), true);
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        fprintf(out, ",\"%s\":%u", rates[i].name, rate(t, rates[i].cost));
    }
    peaks(out, t);
    putc('}', out);
}

static void data(FILE *out, const char *title, const struct trace *t,
                 const struct sums *s, const struct advice *a)
{
    uint32_t *place = places(t, s);

    fputs("<script type=\"application/json\" id=\"data\">\n{\"title\":", out);
    string(out, title, false);
    fprintf(out, ",\"begin\":%ju,\"cycles\":%ju,\"commands\":%u", (uintmax_t)t->begin,
            (uintmax_t)(t->end - t->begin), t->commands);
    chip(out, t);
    fputs(",\n\"texts\":[", out);
    for (uint32_t i = 0; i < t->texts.n; i++) {
        fputs(i ? "," : "", out);
        string(out, trace_text(t, i), true);
    }
    putc(']', out);
    lanes(out, s);
    tables(out, s);
    lists(out, t);
    remedies(out, a);
    fputs(",\n\"pipes\":[", out);
    for (unsigned p = 0; p < NPU_PIPES; p++) {
        fprintf(out, "%s\"%s\"", p ? "," : "", pipe_name(p));
    }
    fputs("]}\n</script>\n", out);
    path(out, t, s, place);
    columns(out, t, s, place);
    free(place);
    hart(out, t);
    counters(out, t);
}

/* The file in `folder` that a line of the page names behind `key`, between two lines. */
static bool part(FILE *out, const char *folder, const char *line, const char *key,
                 const char *before, const char *after)
{
    const char *name = strstr(line, key);
    char path_name[4096], block[4096];
    FILE *in;
    size_t n;

    name += strlen(key);
    snprintf(path_name, sizeof(path_name), "%s/%.*s", folder, (int)strcspn(name, "\""),
             name);
    in = fopen(path_name, "r");
    if (!in) {
        fprintf(stderr, "report: %s: %s\n", path_name, strerror(errno));
        return false;
    }
    fputs(before, out);
    while ((n = fread(block, 1, sizeof(block), in)) != 0) {
        fwrite(block, 1, n, out);
    }
    fputs(after, out);
    fclose(in);
    return true;
}

bool page_write(FILE *out, const char *folder, const char *title, const struct trace *t,
                const struct sums *s, const struct advice *a)
{
    char name[4096], line[1024];
    bool good = true;
    FILE *in;

    snprintf(name, sizeof(name), "%s/page.html", folder);
    in = fopen(name, "r");
    if (!in) {
        fprintf(stderr, "report: %s: %s\n", name, strerror(errno));
        return false;
    }
    while (good && fgets(line, sizeof(line), in)) {
        if (strstr(line, "<link rel=\"stylesheet\" href=\"")) {
            good = part(out, folder, line, "href=\"", "<style>\n", "</style>\n");
        } else if (strstr(line, "<script src=\"")) {
            good = part(out, folder, line, "src=\"", "<script>\n", "</script>\n");
        } else if (strstr(line, "<!-- data -->")) {
            data(out, title, t, s, a);
        } else {
            fputs(line, out);
        }
    }
    fclose(in);
    return good;
}
