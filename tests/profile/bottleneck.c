/* SPDX-License-Identifier: MIT
 *
 * The command `bottleneck`: runs kernels with one bottleneck each, and each of them without it,
 * and tells which launches they were.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/cli/op.h"
#include "kernels/cli/report.h"
#include "tests/profile/bottleneck.h"

enum { TILE = 40 << 10, SMALL = 8 << 10, ROWS = 128, TIMES = 12 };

struct kernel {
    const char *name;
    void (*kernel)(void *arg);
    unsigned cores, launches; /* 0: one; of the mended one */
    struct stream bad, mended;
};

#define LARGE .tile = TILE, .bytes = 36 * TILE
static const struct kernel kernels[] = {
    {.name = "single buffer",
     .kernel = slow_stream,
     .bad = {LARGE, .buffers = 1},
     .mended = {LARGE, .buffers = 2}},
    {.name = "small tiles",
     .kernel = slow_stream,
     .bad = {.tile = SMALL, .buffers = 2, .bytes = 192 * SMALL},
     .mended = {.tile = 6 * SMALL, .buffers = 2, .bytes = 192 * SMALL}},
    {.name = "short rows",
     .kernel = slow_stream,
     .bad = {LARGE, .buffers = 2, .row_bytes = ROWS},
     .mended = {LARGE, .buffers = 2}},
    {.name = "bank conflicts",
     .kernel = slow_stream,
     .bad = {.tile = UB_BANK_SPAN / 2,
             .bytes = 1 << 20,
             .buffers = 2,
             .adds = 6,
             .clash = true},
     .mended = {.tile = UB_BANK_SPAN / 2, .bytes = 1 << 20, .buffers = 2, .adds = 6}},
    {.name = "hart", .kernel = slow_short},
    {.name = "uneven shares",
     .kernel = slow_stream,
     .cores = 4,
     .bad = {LARGE, .buffers = 2, .uneven = true},
     .mended = {LARGE, .buffers = 2}},
    {.name = "redundant wait",
     .kernel = slow_stream,
     .bad = {LARGE, .buffers = 2, .twice = true, .late = true},
     .mended = {LARGE, .buffers = 2, .twice = true}},
    {.name = "serialised atomics", .kernel = slow_atomics, .cores = 4},
    {.name = "launches",
     .kernel = slow_stream,
     .launches = TIMES,
     .bad = {.tile = TILE, .buffers = 2, .bytes = 2 * TILE},
     .mended = {.tile = TILE, .buffers = 2, .bytes = 2 * TILE}},
    {.name = "no reuse",
     .kernel = slow_stream,
     .bad = {.tile = 36 << 10,
             .buffers = 2,
             .bytes = 1 << 20,
             .constant = true,
             .again = true},
     .mended = {.tile = 36 << 10, .buffers = 2, .bytes = 1 << 20, .constant = true}},
    /* The same in other sizes, and on other numbers of cores. */
    {.name = "single buffer, 48 KiB",
     .kernel = slow_stream,
     .bad = {.tile = 6 * SMALL, .bytes = SLOW_BYTES, .buffers = 1},
     .mended = {.tile = 6 * SMALL, .bytes = SLOW_BYTES, .buffers = 2}},
    {.name = "small tiles, 16 KiB",
     .kernel = slow_stream,
     .bad = {.tile = 2 * SMALL, .buffers = 2, .bytes = SLOW_BYTES},
     .mended = {.tile = 6 * SMALL, .buffers = 2, .bytes = SLOW_BYTES}},
    {.name = "small tiles, 4 KiB",
     .kernel = slow_stream,
     .bad = {.tile = SMALL / 2, .buffers = 2, .bytes = SLOW_BYTES / 2},
     .mended = {.tile = 6 * SMALL, .buffers = 2, .bytes = SLOW_BYTES / 2}},
    {.name = "short rows, 64 bytes",
     .kernel = slow_stream,
     .bad = {LARGE, .buffers = 2, .row_bytes = ROWS / 2},
     .mended = {LARGE, .buffers = 2}},
    {.name = "short rows, 256 bytes on 4 cores",
     .kernel = slow_stream,
     .cores = 4,
     .bad = {LARGE, .buffers = 2, .row_bytes = 2 * ROWS},
     .mended = {LARGE, .buffers = 2}},
    {.name = "bank conflicts, on 2 cores",
     .kernel = slow_stream,
     .cores = 2,
     .bad = {.tile = UB_BANK_SPAN / 2,
             .bytes = 1 << 20,
             .buffers = 2,
             .adds = 10,
             .clash = true},
     .mended = {.tile = UB_BANK_SPAN / 2, .bytes = 1 << 20, .buffers = 2, .adds = 10}},
    {.name = "uneven shares, on 2 cores",
     .kernel = slow_stream,
     .cores = 2,
     .bad = {LARGE, .buffers = 2, .uneven = true},
     .mended = {LARGE, .buffers = 2}},
    {.name = "serialised atomics, on 2 cores", .kernel = slow_atomics, .cores = 2},
    {.name = "launches, on 4 cores",
     .kernel = slow_stream,
     .cores = 4,
     .launches = TIMES,
     .bad = {.tile = TILE, .buffers = 2, .bytes = 8 * TILE},
     .mended = {.tile = TILE, .buffers = 2, .bytes = 8 * TILE}},
};

/* Launches of a kernel; those of the mended one are steps of one. */
static int launch_kernel(const struct kernel *p, bool mended, unsigned *launches)
{
    struct stream stream = mended ? p->mended : p->bad;
    void *args[TIMES];
    struct steps steps = {args, TIMES, mended ? p->launches : 0};
    struct launch l = {.name = p->name,
                       .kernel = p->kernel,
                       .arg = p->kernel == slow_stream ? (void *)&stream : &mended,
                       .cores = p->cores ? p->cores : 1,
                       .steps = steps.n ? &steps : NULL};
    struct sched_report report;
    unsigned times = p->launches && !mended ? p->launches : 1;
    int err = 0;

    for (unsigned i = 0; i < TIMES; i++) {
        args[i] = l.arg;
    }
    chip_l2_empty();
    for (unsigned i = 0; i < times && !err; i++, ++*launches) {
        err = launch(&l, &report);
    }
    return err ? report_error(p->name, err, &report) : RUN_OK;
}

static int run(int argc, char **argv)
{
    unsigned launches = 0;
    int status = RUN_OK;

    slow_x = aligned_alloc(L2_LINE_BYTES, SLOW_X + SLOW_BYTES);
    slow_y = slow_x + SLOW_X;
    for (size_t i = 0; slow_x && i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        const struct kernel *p = &kernels[i];
        for (int mended = 0; mended < 2 && (argc < 2 || strcmp(argv[1], p->name) == 0);
             mended++) {
            unsigned first = launches + 1;
            status = status ? status : launch_kernel(p, mended, &launches);
            printf("%s %s: launches %u-%u\n", p->name, mended ? "mended" : "slow", first,
                   launches);
        }
    }
    free(slow_x);
    return status;
}

COMMAND(bottleneck, "[NAME]", "kernels with one bottleneck each, and without it", run);
