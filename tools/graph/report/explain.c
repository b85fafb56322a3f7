/* SPDX-License-Identifier: MIT
 *
 * What was decided, for people and for programs: steps, and each node that could have been part
 * of a step, taken or not. What steps have taken on the machine is put in behind a run.
 */
#include "tools/graph/report/explain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/graph/passes/pass.h"
#include "tools/output.h"

/* Stands where a run's cycles will. */
#define TEXT_MARK "measured -"
#define JSON_MARK "\"measured\": null"

typedef unsigned long long number;

/* --- text --- */

static void tell(const struct candidate *c, FILE *to)
{
    fprintf(to, "  %s %s %s: ", c->node, c->taken ? "joins" : "does not join", c->group);
    if (c->known) {
        fprintf(to, "%llu cycles and %llu bytes, apart %llu + %llu and %llu: ",
                (number)c->after.cycles, (number)c->after.bytes, (number)c->before.cycles,
                (number)c->alone.cycles, (number)(c->before.bytes + c->alone.bytes));
    }
    fprintf(to, "%s\n", c->why);
}

void explain_text(const struct emit *e, FILE *to)
{
    unsigned count = 0;
    number moved = 0, busy = 0;

    for (const struct step *s = e->steps; s; s = s->next) {
        moved += step_bytes(s);
        busy += s->busy;
    }
    pass_report(to);
    fprintf(to,
            "memory: %llu bytes, %llu of them at one time\nmoved: %llu bytes\n"
            "limits: %llu cycles\n\n",
            (number)e->arena, (number)e->live, moved, busy);
    for (const struct step *s = e->steps; s; s = s->next) {
        fprintf(to, "step %u, %llu cycles, " TEXT_MARK "%s%s%s: %s%s%s\n%s\n", ++count,
                (number)s->cycles, s->limit ? ", limit " : "", s->limit ? s->limit : "",
                s->tuned ? ", tuned" : "", s->nodes, s->op ? " by " : "",
                s->op ? s->op : "", s->text);
    }
    fprintf(to, "tried\n");
    for (const struct candidate *c = e->tried; c; c = c->next) {
        tell(c, to);
    }
}

/* --- JSON --- */

static void put_string(FILE *to, const char *s)
{
    fputc('"', to);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\') {
            fprintf(to, "\\%c", c);
        } else if (c < ' ' || c > '~') {
            fprintf(to, "\\u%04x", c);
        } else {
            fputc(c, to);
        }
    }
    fputc('"', to);
}

static void put_member(FILE *to, const char *name, const char *s)
{
    fprintf(to, "\"%s\": ", name);
    put_string(to, s);
}

static void put_price(FILE *to, const char *name, const struct price *p)
{
    fprintf(to, ", \"%s\": {\"cycles\": %llu, \"bytes\": %llu}", name, (number)p->cycles,
            (number)p->bytes);
}

/* The step that a group has become; 0: it has none of its own. */
static unsigned step_of(const struct emit *e, const struct group *group)
{
    unsigned count = 0;

    for (const struct step *s = e->steps; s; s = s->next) {
        count++;
        if (s->group == group) {
            return count;
        }
    }
    return 0;
}

void explain_json(const struct emit *e, FILE *to)
{
    unsigned count = 0;

    fprintf(to, "{\n  ");
    put_member(to, "model", e->g->path);
    fprintf(to, ",\n  \"passes\": {");
    for (const struct pass *p = passes; p->name; p++) {
        fprintf(to, "%s\"%s\": ", p == passes ? "" : ", ", p->name);
        fprintf(to, p->off ? "null" : "%u", p->count);
    }
    fprintf(to, "},\n  \"memory\": {\"arena\": %llu, \"live\": %llu},\n  \"steps\": [",
            (number)e->arena, (number)e->live);
    for (const struct step *s = e->steps; s; s = s->next) {
        fprintf(to, "%s\n    {\"step\": %u, ", count ? "," : "", count + 1);
        count++;
        put_member(to, "nodes", s->nodes);
        fprintf(to, ", ");
        put_member(to, "by", s->op ? s->op : "program");
        if (s->limit) {
            fprintf(to, ", ");
            put_member(to, "limit", s->limit);
        }
        fprintf(to, ", \"cycles\": %llu, " JSON_MARK ", \"bytes\": %llu}",
                (number)s->cycles, (number)step_bytes(s));
    }
    fprintf(to, "\n  ],\n  \"candidates\": [");
    for (const struct candidate *c = e->tried; c; c = c->next) {
        fprintf(to, "%s\n    {", c == e->tried ? "" : ",");
        put_member(to, "node", c->node);
        fprintf(to, ", ");
        put_member(to, "group", c->group);
        fprintf(to, ", \"taken\": %s, \"step\": %u, ", c->taken ? "true" : "false",
                step_of(e, c->into));
        put_member(to, "rule", c->known ? e->rule.name : "possible");
        fprintf(to, ", ");
        put_member(to, "why", c->why);
        if (c->known) {
            put_price(to, "before", &c->before);
            put_price(to, "alone", &c->alone);
            put_price(to, "after", &c->after);
        }
        fputc('}', to);
    }
    fprintf(to, "\n  ]\n}\n");
}

/* --- behind a run --- */

static char *whole(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL, part[4096];
    size_t bytes, n;
    FILE *to = open_memstream(&text, &bytes);

    while (f && to && (n = fread(part, 1, sizeof(part), f)) > 0) {
        fwrite(part, 1, n, to);
    }
    if (!f || !to || fclose(to) != 0) {
        fprintf(stderr, "graph: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    (void)fclose(f);
    return text;
}

/* The next line of `  NODES KIND 123 cycles`; false behind the last. */
static bool next_cycles(char **at, number *cycles)
{
    while (*at && **at) {
        char *line = *at, *end = strchr(line, '\n'), *word;
        *at = end ? end + 1 : NULL;
        if (end) {
            *end = '\0';
        }
        word = strstr(line, " cycles");
        while (word && strstr(word + 1, " cycles")) {
            word = strstr(word + 1, " cycles");
        }
        if (strncmp(line, "  ", 2) == 0 && word && word[7] == '\0') {
            while (word > line && word[-1] != ' ') {
                word--;
            }
            *cycles = strtoull(word, NULL, 10);
            return true;
        }
    }
    return false;
}

void explain_measured(const char *steps, const char *path)
{
    char *said = whole(steps), *text = whole(path), *from = text, *mark;
    bool json = strstr(text, JSON_MARK) != NULL;
    const char *what = json ? JSON_MARK : TEXT_MARK;
    FILE *to = output_begin(path);
    number cycles;

    while (to && (mark = strstr(from, what)) != NULL && next_cycles(&said, &cycles)) {
        fwrite(from, 1, (size_t)(mark - from), to);
        fprintf(to, json ? "\"measured\": %llu" : "measured %llu", cycles);
        from = mark + strlen(what);
    }
    if (!to || fputs(from, to) < 0 || !output_end(to)) {
        fprintf(stderr, "graph: %s: %s\n", path, strerror(errno));
        exit(2);
    }
}
