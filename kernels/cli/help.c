/* SPDX-License-Identifier: MIT
 *
 * The command `help`: what operators there are and how each is used, for people, for the
 * page kernels/OPERATORS.md and, as JSON, for programs.
 */
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cli/line.h"

static const char *dashed(const struct option *o)
{
    static char name[32];

    snprintf(name, sizeof(name), "--%s", o->name);
    for (char *c = name; *c != '\0'; c++) {
        *c = *c == '_' ? '-' : *c;
    }
    return name;
}

static bool is_operator(const struct opdesc *op)
{
    return op->command == NULL;
}

/* --- for people --- */

/* How far results of a program may be off: what its NumPy text says of `bound` is added. */
static void print_bound(const struct opdesc *op)
{
    static const char is[] = "bound = ";

    printf("    bound   %u ulp", op->ulps);
    printf(op->ulps ? "" : ": rounded once");
    for (const char *at = op->numpy; (at = strstr(at, is)); at += strcspn(at, "\n")) {
        at += strlen(is);
        printf("\n          + %.*s", (int)strcspn(at, "\n"), at);
    }
    printf("\n");
}

static void print_usage(const struct opdesc *op, const struct io *io)
{
    struct option o;

    printf("  %s", op->name);
    if (!is_operator(op)) {
        printf("%s%s\n", op->usage[0] ? " " : "", op->usage);
        return;
    }
    for (unsigned i = 0; i < io->n_in && !op->text_only; i++) {
        printf(io->operand[i].optional ? " [%s.npy]" : " %s.npy", io->operand[i].name);
    }
    for (unsigned i = 0; i < io->n_out; i++) {
        const char *name = io->operand[io->n_in + i].name;
        printf(io->n_out > 1 ? " [-o %s=%s.npy]" : " [-o %s.npy]", name, name);
    }
    printf(op->text_only ? " [TEXT]..." : " |");
    for (unsigned i = 0; !op->text_only && line_size(io, i, &o); i++) {
        printf(" %s %c", dashed(&o), o.name[0] - 'a' + 'A');
    }
    printf(io->any ? " --shapes SHAPES" : "");
    printf(op->text && !op->text_only ? " | [--text TEXT...]\n" : "\n");
}

/* A number of any size: integers in full. */
static const char *number(double x, char *text, size_t size)
{
    if (x == (double)(int64_t)x) {
        snprintf(text, size, "%lld", (long long)x);
    } else {
        snprintf(text, size, "%.7g", x);
    }
    return text;
}

static void print_option(const struct option *o)
{
    char value[64] = "", text[2][24];
    bool ranged = o->kind == OPTION_NUMBER || o->kind == OPTION_FLOAT;

    if (ranged) {
        snprintf(value, sizeof(value), " %s..%s", number(o->min, text[0], 24),
                 number(o->max, text[1], 24));
    } else if (o->kind != OPTION_FLAG) {
        snprintf(value, sizeof(value), " %s",
                 o->kind == OPTION_CHOICE ? o->words : "NAME");
    }
    printf("    %s%-*s %s", dashed(o), 34 - (int)strlen(dashed(o)), value, o->help);
    if (ranged && o->first >= o->min) {
        printf(" (%s)", number(o->first, text[0], 24));
    }
    printf("\n");
}

static void print_one(const struct opdesc *entry, const struct opdesc *op)
{
    struct line line = {.op = op};

    if (!is_operator(op) || !io_parse(op, &line.io)) {
        print_usage(op, NULL);
        printf("        %s\n", op->summary);
        return;
    }
    print_usage(op, &line.io);
    printf("        %s\n    shapes  %s\n    types   %s\n", op->summary, op->io,
           op->types);
    if (entry->program) {
        print_bound(op);
    }
    for (const struct option *o = op->options; o && o->name; o++) {
        print_option(o);
    }
    for (const struct option *o = line_options; o->name; o++) {
        if (line_has(&line, o)) {
            print_option(o);
        }
    }
}

static void print_all(void)
{
    struct io io;

    for (const struct opdesc *e = __operators_start; e < __operators_end; e++) {
        const struct opdesc *op = op_open(e);
        if (op && (!is_operator(op) || io_parse(op, &io))) {
            print_usage(op, &io);
            printf("        %s\n", op->summary);
        }
    }
    printf("`help NAME` tells types and options.\n");
}

/* --- the table of kernels/OPERATORS.md --- */

static void print_markdown(void)
{
    printf("| operator | what | shapes | types | compared |\n|---|---|---|---|---|\n");
    for (const struct opdesc *e = __operators_start; e < __operators_end; e++) {
        const struct opdesc *op = op_open(e);
        if (!op || !is_operator(op)) {
            continue;
        }
        printf("| `%s` | %s | `%s` | %s | ", op->name, op->summary, op->io, op->types);
        if (op->tolerance > 0) {
            printf("%d ulp |\n", op->tolerance);
        } else {
            printf(op->tolerance == OP_EXACT ? "bit for bit |\n"
                                             : "bound per element |\n");
        }
    }
}

/* --- for programs --- */

static void print_text(const char *name, const char *text, const char *behind)
{
    printf("\"%s\": \"", name);
    for (; text && *text; text++) {
        if (*text == '\n') {
            fputs("\\n", stdout);
        } else {
            printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
        }
    }
    printf("\"%s", behind);
}

/* A number that JSON has: none is infinite or NaN. */
static double in_range(double x)
{
    return x > DBL_MAX ? DBL_MAX : x >= -DBL_MAX ? x : -DBL_MAX;
}

static void print_json_option(const struct option *o)
{
    static const char *const kinds[] = {"number", "float", "text", "choice", "flag"};

    printf("{");
    print_text("name", dashed(o), ", ");
    print_text("kind", kinds[o->kind], ", ");
    print_text("words", o->words, ", ");
    printf("\"default\": %.9g, \"min\": %.9g, \"max\": %.9g}", in_range(o->first),
           in_range(o->min), in_range(o->max));
}

static void print_json(void)
{
    const char *comma = "[";

    for (const struct opdesc *e = __operators_start; e < __operators_end; e++) {
        const struct opdesc *op = op_open(e);
        if (!op || !is_operator(op)) {
            continue;
        }
        printf("%s{", comma);
        print_text("name", op->name, ", ");
        print_text("summary", op->summary, ", ");
        print_text("io", op->io, ", ");
        print_text("types", op->types, ", ");
        print_text("numpy", op->numpy, ", ");
        printf("\"tolerance\": %d, \"ulps\": %u, \"program\": %s, \"texts\": %s, "
               "\"options\": [",
               op->tolerance, op->ulps, e->program ? "true" : "false",
               op->text_only ? "true" : "false");
        for (const struct option *o = op->options; o && o->name; o++) {
            printf(o == op->options ? "" : ", ");
            print_json_option(o);
        }
        printf("], \"cases\": [");
        for (const char *const *c = op->cases; c && *c; c++) {
            printf("%s\"%s\"", c == op->cases ? "" : ", ", *c);
        }
        printf("]}");
        comma = ",\n";
    }
    printf("]\n");
}

static int help(int argc, char **argv)
{
    const struct opdesc *entry = argc > 1 ? op_find(argv[1]) : NULL;
    const struct opdesc *one = entry ? op_open(entry) : NULL;

    if (argc > 2) {
        fprintf(stderr, "help: one NAME at most: %s\n", argv[2]);
        return RUN_INPUT;
    }
    if (argc > 1 && strcmp(argv[1], "--json") == 0) {
        print_json();
    } else if (argc > 1 && strcmp(argv[1], "--markdown") == 0) {
        print_markdown();
    } else if (one) {
        print_one(entry, one);
    } else if (argc > 1) {
        fprintf(stderr, "salai: no operator '%s'\n", argv[1]);
        return RUN_INPUT;
    } else {
        print_all();
    }
    return RUN_OK;
}

COMMAND(help, "[NAME]", "lists the operators, or tells how one is used", help);
