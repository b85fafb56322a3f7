/* SPDX-License-Identifier: MIT
 *
 * report [--page DIR] [--title TEXT] [--path CSV] [--launches A[-B]] TRACE [-o OUT.html]
 *
 * Where the cycles of a run went, or of launches A to B of it, which are numbered from 1:
 * reads a trace (TRACE= of tools/salai), prints what limits, what would help and how many
 * cycles that would save at most, and writes one page that opens offline. CSV: the
 * critical path that `make profile` leaves. DIR has the parts of the page
 * (tools/profile/page). Exit status 2: bad input, or OUT cannot be written; then there is
 * no OUT.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/output.h"
#include "tools/profile/advice.h"
#include "tools/profile/page.h"

enum { WIDTH = 96 };

struct options {
    const char *page, *title, *trace, *out, *launches, *path;
    struct window window;
};

static const char usage[] =
    "usage: report [--page DIR] [--title TEXT] [--path CSV] [--launches A[-B]] TRACE "
    "[-o OUT.html]\n";

/* "A" or "A-B". */
static bool parse_launches(struct window *w, const char *text)
{
    int end = 0, n = sscanf(text, "%9u%n-%9u%n", &w->first, &end, &w->last, &end);

    w->last = n == 1 ? w->first : w->last;
    return n >= 1 && text[end] == '\0' && w->first && w->first <= w->last;
}

/* Where the value of an option goes, or NULL. */
static const char **value_of(struct options *o, const char *option)
{
    const struct {
        const char *name, **to;
    } all[] = {{"--page", &o->page},
               {"--title", &o->title},
               {"--path", &o->path},
               {"--launches", &o->launches},
               {"-o", &o->out}};

    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (strcmp(option, all[i].name) == 0) {
            return all[i].to;
        }
    }
    return NULL;
}

static bool parse(struct options *o, int argc, char **argv)
{
    *o = (struct options){.page = "tools/profile/page"};
    for (int i = 1; i < argc; i++) {
        const char **to = value_of(o, argv[i]);
        if (to ? i + 1 == argc : argv[i][0] == '-' || o->trace) {
            return false;
        }
        *(to ? to : &o->trace) = to ? argv[++i] : argv[i];
    }
    return o->trace && (!o->launches || parse_launches(&o->window, o->launches));
}

/* A paragraph within WIDTH columns, all lines but the first indented. */
static void paragraph(const char *text)
{
    int column = 0;

    while (*text) {
        int n = (int)strcspn(text, " ");
        if (column && column + 1 + n > WIDTH) {
            column = printf("\n   %.*s", n, text) - 1;
        } else {
            column += printf("%s%.*s", column ? " " : "", n, text);
        }
        text += n;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void print(const struct trace *t, const struct advice *a)
{
    uint64_t all = t->end - t->begin;
    char text[3 * ADVICE_TEXT];

    printf("%ju cycles, %u commands\n", (uintmax_t)all, t->commands);
    snprintf(text, sizeof(text), "%s (%s): %s", a->bound, a->class, a->reason);
    paragraph(text);
    for (unsigned i = 0; i < a->n; i++) {
        const struct remedy *r = &a->remedy[i];
        snprintf(text, sizeof(text), "%u. %s, at most %ju cycles less, %.1f %%: %s. %s",
                 i + 1, r->kind, (uintmax_t)r->cycles,
                 100.0 * (double)r->cycles / (double)all, r->why, r->help);
        paragraph(text);
    }
}

static bool complain(const char *path, const char *why)
{
    fprintf(stderr, "report: %s: %s\n", path, why);
    return false;
}

static bool write_page(const struct options *opt, const struct trace *t,
                       const struct sums *s, const struct advice *a)
{
    FILE *out = output_begin(opt->out);

    if (!out) {
        return complain(opt->out, strerror(errno));
    }
    if (!page_write(out, opt->page, opt->title ? opt->title : opt->trace, t, s, a)) {
        output_drop(out);
        return false;
    }
    return output_end(out) || complain(opt->out, "could not be written completely");
}

int main(int argc, char **argv)
{
    static struct advice advice;
    struct options options;
    struct trace t;
    struct sums s;
    struct order o;
    char error[512];
    bool good = true;

    if (!parse(&options, argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    if (!trace_read(&t, options.trace, &options.window, error, sizeof(error)) ||
        (options.path && !trace_read_path(&t, options.path, error, sizeof(error)))) {
        fprintf(stderr, "report: %s\n", error);
        trace_free(&t);
        return 2;
    }
    sums_make(&s, &t);
    order_make(&o, &t);
    advice_make(&advice, &t, &s, &o);
    print(&t, &advice);
    if (options.out) {
        good = write_page(&options, &t, &s, &advice);
    }
    order_free(&o);
    sums_free(&s);
    trace_free(&t);
    return good ? 0 : 2;
}
