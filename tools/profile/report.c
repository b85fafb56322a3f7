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
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/emu/part.h"
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
    int end = 0, n = sscanf(text, "%u%n-%u%n", &w->first, &end, &w->last, &end);

    w->last = n == 1 ? w->first : w->last;
    return n >= 1 && text[end] == '\0' && w->first && w->first <= w->last;
}

static bool parse(struct options *o, int argc, char **argv)
{
    *o = (struct options){.page = "tools/profile/page"};
    for (int i = 1; i < argc; i++) {
        const char **to = strcmp(argv[i], "--page") == 0       ? &o->page
                          : strcmp(argv[i], "--title") == 0    ? &o->title
                          : strcmp(argv[i], "--path") == 0     ? &o->path
                          : strcmp(argv[i], "--launches") == 0 ? &o->launches
                          : strcmp(argv[i], "-o") == 0         ? &o->out
                                                               : NULL;
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

/* --- the page --- */

/* The file that is not whole, which a signal takes along. */
static struct {
    int dir;
    char name[NAME_MAX + 1];
} part;

static void on_signal(int number)
{
    unlinkat(part.dir, part.name, 0);
    signal(number, SIG_DFL);
    raise(number);
}

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

/* Begins the file beside `base`, old: what is there; its descriptor or -errno. */
static int begin_part(const char *base, const struct stat *old)
{
    char prefix[NAME_MAX + 1];
    sigset_t set, before;
    int fd;

    sigemptyset(&set);
    for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        sigaddset(&set, signals[i]);
    }
    part_prefix(prefix, base);
    part_remove_leftovers(part.dir, prefix);
    sigprocmask(SIG_BLOCK, &set, &before);
    fd = part_create(part.dir, prefix, old ? 0600 : 0666, part.name);
    for (unsigned i = 0; fd >= 0 && i < sizeof(signals) / sizeof(signals[0]); i++) {
        if (signal(signals[i], on_signal) == SIG_IGN) {
            signal(signals[i], SIG_IGN);
        }
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (fd >= 0 && old) {
        part_take_over(fd, old);
    }
    return fd;
}

static bool complain(const char *path, const char *why)
{
    fprintf(stderr, "report: %s: %s\n", path, why);
    return false;
}

static bool write_to(int fd, const struct options *opt, const struct trace *t,
                     const struct sums *s, const struct advice *a)
{
    FILE *out = fdopen(fd, "w");
    bool good =
        out && page_write(out, opt->page, opt->title ? opt->title : opt->trace, t, s, a);

    if (!out || ferror(out) | fclose(out)) {
        good = complain(opt->out, "could not be written completely");
    }
    return good;
}

/* A file appears under its name when it is whole; what is no file is written to as it is. */
static bool write_page(const struct options *opt, const struct trace *t,
                       const struct sums *s, const struct advice *a)
{
    char path[PATH_MAX], *base;
    struct stat is;
    bool old = stat(opt->out, &is) == 0, good;
    int fd;

    if (old && !S_ISREG(is.st_mode)) {
        fd = open(opt->out, O_WRONLY | O_CLOEXEC);
        return fd < 0 ? complain(opt->out, strerror(errno)) : write_to(fd, opt, t, s, a);
    }
    if (old && access(opt->out, W_OK) != 0) {
        return complain(opt->out, strerror(errno));
    }
    if (!old || !realpath(opt->out, path)) { /* else where links lead to */
        snprintf(path, sizeof(path), "%s%s", strchr(opt->out, '/') ? "" : "./", opt->out);
    }
    base = strrchr(path, '/') + 1;
    base[-1] = '\0';
    part.dir = open(*path ? path : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (part.dir < 0) {
        return complain(opt->out, strerror(errno));
    }
    fd = begin_part(base, old ? &is : NULL);
    if (fd < 0) {
        return complain(opt->out, strerror(-fd));
    }
    good = write_to(fd, opt, t, s, a);
    if (good && renameat(part.dir, part.name, part.dir, base) != 0) {
        good = complain(opt->out, strerror(errno));
    }
    if (!good) {
        unlinkat(part.dir, part.name, 0);
    }
    return good;
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
