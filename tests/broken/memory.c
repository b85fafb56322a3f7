/* SPDX-License-Identifier: MIT
 *
 * The operator `memory`: one mistake with memory, semaphores or settings a case, each beside
 * its twin without it (--sound). All compute z = x + x by way of UB; nothing but a checked
 * run tells them apart.
 */
#include <stdlib.h>
#include <string.h>

#include "hal/mte.h"
#include "hal/sem.h"
#include "hal/vector.h"
#include "kernels/cli/data.h"
#include "kernels/cli/op.h"
#include "kernels/cli/report.h"
#include "sched/launch.h"
#include "sched/tque.h"

/* The mistakes are what later compilers would warn of. */
#pragma GCC diagnostic ignored "-Wuse-after-free"
#pragma GCC diagnostic ignored "-Warray-bounds"
#pragma GCC diagnostic ignored "-Wfree-nonheap-object"

enum { TILE = 1024, MORE = 32 /* bytes too many */, TURN = 0 /* semaphore */ };

struct job {
    char *x, *z;
    const char *name;
    bool wrong, again; /* not the twin; the second launch */
};

/* Whether the case is this one, and wrong. */
static bool plant(const struct job *j, const char *name)
{
    return j->wrong && strcmp(j->name, name) == 0;
}

/* `more` bytes more than the tile where the case wants them. */
static uint32_t tile(const struct job *j, const char *name)
{
    return TILE + (plant(j, name) ? MORE : 0);
}

static void copy_in(const struct job *j, struct tque *in)
{
    uint32_t x = tque_alloc(in);
    const char *from = j->x;
    union cmd c;

    if (plant(j, "unallocated")) {
        from -= MORE; /* what the allocator keeps before a block */
    }
    if (plant(j, "freed")) {
        free(j->x);
    }
    mte_gm_to_ub(&c, x, from, strcmp(j->name, "buffer") ? tile(j, "source") : TILE);
    tque_enque(in, x, &c);
    task_issue(PIPE_MTE2, &c);
    if (strcmp(j->name, "buffer") == 0) {
        mte_gm_to_ub(&c, x, j->x + TILE, tile(j, "buffer"));
        task_issue(PIPE_MTE2, &c);
    }
}

static void compute(const struct job *j, struct tque *in, struct tque *out)
{
    uint32_t x = tque_deque(in), z = tque_alloc(out);
    union cmd c;

    if (!j->again || !plant(j, "mask")) {
        vector_count(&c, plant(j, "half") ? TILE / 8 : TILE / 4);
        task_issue(PIPE_V, &c);
    }
    vector_add(&c, TYPE_F32, plant(j, "local") ? z + TILE : z, x, x);
    tque_free(in, x, &c);
    tque_enque(out, z, &c);
    task_issue(PIPE_V, &c);
}

static void copy_out(const struct job *j, struct tque *out)
{
    uint32_t z = tque_deque(out);
    union cmd c;

    mte_ub_to_gm(&c, j->z, z, tile(j, "destination"));
    tque_free(out, z, &c);
    if (plant(j, "wait")) {
        cmd_wait(&c, TURN, 1);
    }
    task_issue(PIPE_MTE3, &c);
}

/* Mistakes of the hart's. */
static void by_hart(const struct job *j)
{
    volatile char *extra = malloc(TILE);
    uint32_t word = 0;

    if (plant(j, "leak-launch")) {
        return;
    }
    extra[plant(j, "store") ? TILE : 0] = 1;
    memcpy(&word, (const char *)extra, 1);
    if (plant(j, "skewed")) {
        const volatile uint32_t *odd = (const volatile void *)(extra + 1);

        __asm__("" : "+r"(odd)); /* else it is loaded in bytes */
        word += *odd;
    }
    free((void *)(uintptr_t)extra);
    if (plant(j, "load-freed")) {
        word += (uint32_t)extra[MORE];
    }
    task_tag(word); /* so that it is wanted */
}

static void kernel(void *arg)
{
    const struct job *j = arg;
    struct tpipe *pipe = tpipe_open();
    struct tque *in = tque_init(pipe, "in", VECIN, PIPE_MTE2, PIPE_V, 1, TILE);
    struct tque *out = tque_init(pipe, "out", VECOUT, PIPE_V, PIPE_MTE3, 1, TILE);

    copy_in(j, in);
    compute(j, in, out);
    copy_out(j, out);
    task_drain();
    by_hart(j);
    if (plant(j, "post")) {
        task_post(TURN, 1);
    }
}

static int run(int argc, char **argv)
{
    struct sched_report report;
    struct job j = {.name = argc > 1 ? argv[1] : "", .wrong = argc < 3};
    int err, status = RUN_OK;

    j.x = data_make("memory", TYPE_F32, TILE / 2, 1);
    j.z = j.x ? data_alloc("memory", TYPE_F32, TILE / 4) : NULL;
    if (j.z == NULL) {
        free(j.x);
        return RUN_INPUT;
    }
    if (strcmp(j.name, "source") == 0) {
        j.x += TILE; /* the last tile of it */
    }
    err = launch(&(struct launch){"memory", kernel, &j, .cores = 1}, &report);
    if (!err && strcmp(j.name, "mask") == 0) {
        j.again = true;
        err = launch(&(struct launch){"memory", kernel, &j, .cores = 1}, &report);
    }
    if (err) {
        status = report_error("memory", err, &report);
    }
    if (strcmp(j.name, "source") == 0) {
        j.x -= TILE;
    }
    if (!plant(&j, "freed")) {
        free(j.x);
    }
    if (plant(&j, "twice")) {
        free(j.x);
    }
    if (plant(&j, "no-block")) {
        free(j.z + MORE);
    } else if (!plant(&j, "leak")) {
        free(j.z);
    }
    return status;
}

COMMAND(memory, "CASE [--sound]", "z = x + x with a mistake that a checked run names",
        run);
