/* SPDX-License-Identifier: MIT
 *
 * regdoc [--check] PAGE...    the tables of the contract in its pages
 *
 * Replaces what stands between `<!-- table: NAME -->` and `<!-- end -->` in each page by
 * the table of hal/contract/NAME.def. With --check it changes nothing and fails, naming
 * the page, when a table is out of date.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/contract/contract.h"

static FILE *out;

static void head(const char *const *titles)
{
    fprintf(out, "\n|");
    for (unsigned i = 0; titles[i]; i++) {
        fprintf(out, " %s |", titles[i]);
    }
    fprintf(out, "\n|");
    for (unsigned i = 0; titles[i]; i++) {
        fprintf(out, "---|");
    }
    fprintf(out, "\n");
}

/* Begins a new table when rows of another kind follow. */
static void kind(const char *name, const char *const *titles)
{
    static const char *last;

    if (name == NULL || last == NULL || strcmp(last, name) != 0) {
        last = name;
        if (name) {
            head(titles);
        }
    }
}

#define TITLES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void types_text(uint32_t types)
{
    const char *comma = "";

    for (unsigned t = 0; t < TYPE_COUNT; t++) {
        if (types & (1u << t)) {
            fprintf(out, "%s%s", comma, type_name(t));
            comma = ", ";
        }
    }
}

static void cost_row(const char *name, const uint32_t *values, const char *unit,
                     const char *source)
{
    fprintf(out, "| **%s** |", name);
    for (unsigned p = 0; p < PROFILE_COUNT; p++) {
        fprintf(out, " ");
        if (strcmp(unit, "types") == 0) {
            types_text(values[p]);
        } else {
            fprintf(out, "%" PRIu32, values[p]);
        }
        fprintf(out, " |");
    }
    fprintf(out, " %s | %s |\n", unit, source);
}

static void value_text(uint64_t value)
{
    if (value == UINT64_MAX || value == INT64_MAX || value == UINT32_MAX) {
        fprintf(out, "any");
    } else {
        fprintf(out, "%" PRIu64, value);
    }
}

static void range_text(uint64_t min, uint64_t max, unsigned multiple)
{
    if (max == UINT64_MAX || max == INT64_MAX || max == UINT32_MAX) {
        fprintf(out, "any");
    } else {
        value_text(min);
        fprintf(out, " to ");
        value_text(max);
    }
    if (multiple > 1) {
        fprintf(out, ", multiple of %u", multiple);
    }
}

#define PARAM(name, value, text)                                                         \
    kind("param", TITLES("parameter", "value", "meaning"));                              \
    fprintf(out, "| `%s` | %#llx | %s |\n", #name, (unsigned long long)(value), text);
#define REG(name, offset, access, reset, text)                                           \
    kind("reg", TITLES("register, field", "offset, bits", "access", "meaning"));         \
    fprintf(out, "| **%s** | 0x%04x | %s | %s |\n", #name, (unsigned)(offset), #access,  \
            text);
#define REGS(name, offset, count, access, reset, text)                                   \
    kind("reg", TITLES("register, field", "offset, bits", "access", "meaning"));         \
    fprintf(out, "| **%s**(i), i < %u | 0x%04x + 8 i | %s | %s |\n", #name,              \
            (unsigned)(count), (unsigned)(offset), #access, text);
#define FIELD(name, lsb, width, text)                                                    \
    kind("reg", TITLES("register, field", "offset, bits", "access", "meaning"));         \
    fprintf(out, "| %s | %u:%u | | %s |\n", #name, (unsigned)((lsb) + (width)-1),        \
            (unsigned)(lsb), text);
#define COUNTER(name, offset, text)                                                      \
    kind("counter", TITLES("counter of a pipe", "offset", "meaning"));                   \
    fprintf(out, "| **%s** | 0x%02x | %s |\n", #name, (unsigned)(offset), text);
#define EVENT(name, number, pipe, counter, text)                                         \
    kind("event", TITLES("event", "number", "counter", "meaning"));                      \
    fprintf(out, "| **%s** | %u | %s %s | %s |\n", #name, (unsigned)(number), #pipe,     \
            #counter, text);
#define PIPE(NAME, name, number, stage, text)                                            \
    kind("pipe", TITLES("pipe", "number", "engine"));                                    \
    fprintf(out, "| **%s** | %u | %s |\n", #NAME, (unsigned)(number), text);
#define MEM(NAME, name, offset, size, text)                                              \
    kind("mem", TITLES("memory", "offset in the core's window", "meaning"));             \
    fprintf(out, "| **%s** | 0x%06x | %s |\n", #NAME, (unsigned)(offset), text);
#define STAGE(NAME, name, size)
#define PROFILE(name, number, text)                                                      \
    kind("profile", TITLES("profile", "number", "chip"));                                \
    fprintf(out, "| **%s** | %u | %s |\n", #name, (unsigned)(number), text);
#define COST(name, a2, ascend910, ascend310, unit, source)                               \
    kind("cost", TITLES("entry", "a2", "ascend910", "ascend310", "unit", "source"));     \
    cost_row(#name, (const uint32_t[]){a2, ascend910, ascend310}, unit, source);
#define COST_V2(name, a2, ascend910, ascend310, v1, unit, source)                        \
    COST(name, a2, ascend910, ascend310, unit, source "; v1: " #v1)
#define TIMING(name, number, text)                                                       \
    kind("timing", TITLES("timing", "number", "prices"));                                \
    fprintf(out, "| **%s** | %u | %s |\n", #name, (unsigned)(number), text);
#define ERROR(name, code, text)                                                          \
    kind("error", TITLES("error", "code", "rule"));                                      \
    fprintf(out, "| **%s** | %u | %s |\n", #name, (unsigned)(code), text);
#define TYPE(name, code, bits, c0, text)                                                 \
    kind("type", TITLES("type", "code", "bits", "in 32 bytes", "meaning"));              \
    fprintf(out, "| **%s** | %u | %u | %u | %s |\n", #name, (unsigned)(code),            \
            (unsigned)(bits), (unsigned)(c0), text);
#define QUANT(name, code, from, to, scale, text)                                         \
    kind("quant", TITLES("quant", "code", "from", "to", "word", "meaning"));             \
    fprintf(out, "| **%s** | %u | ", #name, (unsigned)(code));                           \
    types_text(from);                                                                    \
    fprintf(out, " | %s | %s | %s |\n", TYPE_##to == TYPE_NONE ? "same" : #to,           \
            #scale[0] == 'N' ? "" : #scale, text);
#define T(name) (1u << TYPE_##name)
#define T_BYTES (T(F32) | T(F16) | T(BF16) | T(S32) | T(S16) | T(S8) | T(U8))
#define FORMAT(name)                                                                     \
    kind(NULL, NULL);                                                                    \
    fprintf(out, "\nOperands `%s`:\n", #name);
#define FORMAT_END(name)
#define ARG(format, ctype, field, min, max, multiple, text)                              \
    kind("arg", TITLES("byte", "size", "operand", "range", "meaning"));                  \
    fprintf(out, "| %u | %u | `%s` | ", (unsigned)offsetof(struct cmd_##format, field),  \
            (unsigned)sizeof(ctype), #field);                                            \
    range_text(min, max, multiple);                                                      \
    fprintf(out, " | %s |\n", text);
#define CMD(NAME, pipe, opcode, types, flags, format, text)                              \
    kind("cmd", TITLES("command", "opcode", "pipe", "operands", "types", "meaning"));    \
    fprintf(out, "| **%s** | 0x%02x | %s | `%s` | ", #NAME, (unsigned)(opcode),          \
            #pipe[0] == '0' ? "any" : #pipe, #format);                                   \
    types_text(types);                                                                   \
    fprintf(out, " | %s |\n", text);
#define VEC(NAME, opcode, types, flags, format, slope32, slope16, fixed, text)           \
    kind("vec", TITLES("command", "opcode", "operands", "types", "cycles", "meaning"));  \
    fprintf(out, "| **%s** | 0x%02x | `%s` | ", #NAME, (unsigned)(opcode), #format);     \
    types_text(types);                                                                   \
    if ((slope32) == (slope16)) {                                                        \
        fprintf(out, " | %u r + %u | %s |\n", (unsigned)(slope32), (unsigned)(fixed),    \
                text);                                                                   \
    } else {                                                                             \
        fprintf(out, " | %u r + %u, 16 bits %u r + %u | %s |\n", (unsigned)(slope32),    \
                (unsigned)(fixed), (unsigned)(slope16), (unsigned)(fixed), text);        \
    }
#define CMD_FLAG(NAME, flag, bit, text)                                                  \
    kind("flag", TITLES("flag of", "flag", "bit", "meaning"));                           \
    fprintf(out, "| %s | `%s` | %u | %s |\n", #NAME, #flag, (unsigned)(bit), text);

#define TABLES(X)                                                                        \
    X(mem)                                                                               \
    X(core)                                                                              \
    X(pipe)                                                                              \
    X(sem)                                                                               \
    X(pmu) X(chip) X(profile) X(error) X(type) X(cmd) X(mte) X(cube) X(vector)           \
        X(vector_reduce) X(vector_move) X(vector_gather) X(vector_sort) X(fixpipe)

static void table_mem(void)
{
#include "hal/contract/mem.def"
}
static void table_core(void)
{
#include "hal/contract/core.def"
}
static void table_pipe(void)
{
#include "hal/contract/pipe.def"
}
static void table_sem(void)
{
#include "hal/contract/sem.def"
}
static void table_pmu(void)
{
#include "hal/contract/pmu.def"
}
static void table_chip(void)
{
#include "hal/contract/chip.def"
}
static void table_profile(void)
{
#include "hal/contract/profile.def"
}
static void table_error(void)
{
#include "hal/contract/error.def"
}
static void table_type(void)
{
#include "hal/contract/type.def"
}
static void table_cmd(void)
{
#include "hal/contract/cmd.def"
}
static void table_mte(void)
{
#include "hal/contract/mte.def"
}
static void table_cube(void)
{
#include "hal/contract/cube.def"
}
static void table_vector(void)
{
#include "hal/contract/vector.def"
}
static void table_vector_reduce(void)
{
#include "hal/contract/vector_reduce.def"
}
static void table_vector_move(void)
{
#include "hal/contract/vector_move.def"
}
static void table_vector_gather(void)
{
#include "hal/contract/vector_gather.def"
}
static void table_vector_sort(void)
{
#include "hal/contract/vector_sort.def"
}
static void table_fixpipe(void)
{
#include "hal/contract/fixpipe.def"
}

static bool table(const char *name, size_t len)
{
    kind(NULL, NULL);
#define X(id)                                                                            \
    if (strlen(#id) == len && strncmp(name, #id, len) == 0) {                            \
        table_##id();                                                                    \
        return true;                                                                     \
    }
    TABLES(X)
    return false;
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;

    if (f == NULL || getdelim(&text, &size, 0, f) < 0) {
        fprintf(stderr, "regdoc: %s cannot be read\n", path);
        exit(1);
    }
    fclose(f);
    return text;
}

/* The page with its tables made anew. */
static char *renew(const char *path, const char *page)
{
    static const char begin[] = "<!-- table: ", end[] = "<!-- end -->";
    char *text;
    size_t size;
    const char *at, *name, *close;

    out = open_memstream(&text, &size);
    while ((at = strstr(page, begin)) != NULL) {
        name = at + strlen(begin);
        close = strstr(name, " -->");
        at = close ? strstr(close, end) : NULL;
        if (at == NULL) {
            fprintf(stderr, "regdoc: %s: a table without an end\n", path);
            exit(1);
        }
        fwrite(page, 1, (size_t)(close + 4 - page), out);
        fprintf(out, "\n");
        if (!table(name, (size_t)(close - name))) {
            fprintf(stderr, "regdoc: %s: no table %.20s\n", path, name);
            exit(1);
        }
        fprintf(out, "\n");
        page = at;
        fwrite(page, 1, strlen(end), out);
        page += strlen(end);
    }
    fputs(page, out);
    fclose(out);
    return text;
}

int main(int argc, char **argv)
{
    bool check = argc > 1 && strcmp(argv[1], "--check") == 0;
    int stale = 0;

    for (int i = check ? 2 : 1; i < argc; i++) {
        char *page = read_file(argv[i]), *text = renew(argv[i], page);
        if (strcmp(page, text) != 0 && check) {
            fprintf(stderr, "%s: a table is out of date: run make docs\n", argv[i]);
            stale = 1;
        } else if (strcmp(page, text) != 0) {
            FILE *f = fopen(argv[i], "w");
            if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0) {
                fprintf(stderr, "regdoc: %s cannot be written\n", argv[i]);
                return 1;
            }
        }
        free(page);
        free(text);
    }
    return stale;
}
