/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which part of a run is traced: cycles and numbers of commands as FROM..TO, cores as
 * 0+2+5..7, pipes as M+MTE1. What is not limited is traced whole.
 */
#include "tools/emu/qemu/trace/trace.h"

static struct {
    uint64_t first, last; /* cycles */
    uint64_t from, to;    /* numbers of commands */
    uint32_t cores, pipes;
} window = {0, UINT64_MAX, 0, UINT64_MAX, UINT32_MAX, UINT32_MAX};

/* "A..B" or "A"; A is at most B. */
static bool set_span(const char *text, uint64_t *from, uint64_t *to)
{
    g_auto(GStrv) words = g_strsplit(text, "..", 2);

    if (!words[0] || !g_ascii_isdigit(*words[0]) ||
        qemu_strtou64(words[0], NULL, 10, from)) {
        return false;
    }
    *to = *from;
    return (!words[1] ||
            (g_ascii_isdigit(*words[1]) && !qemu_strtou64(words[1], NULL, 10, to))) &&
           *from <= *to;
}

static bool add_cores(const char *word, uint32_t *set)
{
    uint64_t from, to;

    if (!set_span(word, &from, &to) || to >= NPU_MAX_CORES) {
        return false;
    }
    *set |= (uint32_t)MAKE_64BIT_MASK(from, to - from + 1);
    return true;
}

static bool add_pipe(const char *word, uint32_t *set)
{
    unsigned p = 1;

    while (p < NPU_PIPES && g_ascii_strcasecmp(word, pipe_name(p)) != 0) {
        p++;
    }
    *set |= 1u << p;
    return p < NPU_PIPES && *word != '?';
}

static bool set_list(const char *text, bool (*add)(const char *, uint32_t *),
                     uint32_t *set)
{
    g_auto(GStrv) words = g_strsplit(text, "+", 0);
    bool good = words[0] != NULL;

    *set = 0;
    for (unsigned i = 0; good && words[i]; i++) {
        good = add(words[i], set);
    }
    return good;
}

bool npu_window_set(const char *what, const char *text)
{
    if (strcmp(what, "cycles") == 0) {
        return set_span(text, &window.first, &window.last);
    }
    if (strcmp(what, "commands") == 0) {
        return set_span(text, &window.from, &window.to);
    }
    return strcmp(what, "cores") == 0 ? set_list(text, add_cores, &window.cores)
                                      : set_list(text, add_pipe, &window.pipes);
}

bool npu_window_cycles(uint64_t from, uint64_t to)
{
    return from <= window.last && to >= window.first;
}

bool npu_window_core(unsigned core)
{
    return core >= NPU_MAX_CORES || (window.cores >> core & 1);
}

bool npu_window_pipe(unsigned pipe)
{
    return pipe >= NPU_PIPES || (window.pipes >> pipe & 1);
}

bool npu_window_command(uint64_t number)
{
    return window.from <= number && number <= window.to;
}
