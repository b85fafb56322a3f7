/* SPDX-License-Identifier: MIT
 *
 * The command `tile_random` of the tests' image:
 *
 *     tile_random SEED            prints the program of a seed, and its sizes as a comment
 *     tile_random SEED COUNT [N]  plans and runs COUNT programs from that seed on, and
 *                                 compares N elements of each result with the interpreter
 *
 * A program that the planner refuses is counted by what it says. Behind each result lie
 * bytes that must stay. Every 32nd program has rows that no tile holds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cli/op.h"
#include "kernels/tile/ref/ref.h"
#include "kernels/tile/text/text.h"
#include "kernels/tile/tile.h"
#include "tests/tile/random.h"

enum {
    ELEMENTS = 4096,
    ARENA_BYTES = 4 << 20,
    LOOKED_AT = 48,
    REASONS = 16,
    GUARD = 64,
    LONG = 32,
    FEW = 3,
    COST = 1 << 20 /* operations of the interpreter for a result, at most */
};

static struct sched_report report;

/* What so many programs came to. */
struct tally {
    unsigned run, refused, wrong, looked_at, of; /* elements that have a bound, of all */
    struct reason {
        char text[TILE_TEXT_BYTES];
        uint32_t seed;
        unsigned count;
    } reason[REASONS];
};

struct program {
    uint32_t seed;
    struct tile_arena arena;
    struct tile_kernel *k;
    struct tile_call call;
    char text[RANDOM_TEXT];
    uint32_t size[RANDOM_DIMS];
};

static uint64_t bytes_of(const struct program *p, const struct tile_tensor *t)
{
    return tile_count(p->k, tile_tensor_dims(t)) * type_bits(t->type) / 8;
}

/* --- one program --- */

/* Every so many programs have rows that no tile holds; of products of such the interpreter
 * would take too long. */
static bool is_long(const struct program *p)
{
    return p->seed % LONG == LONG - 1 && !(p->seed & RANDOM_PRODUCTS);
}

static bool read_program(struct program *p)
{
    static const char *const names[RANDOM_DIMS] = {"m", "n", "k"};
    struct tile_error error;
    unsigned n = random_program(p->seed, is_long(p) ? 8 * RANDOM_LONG : ELEMENTS, p->text,
                                p->size);

    p->arena.used = 0;
    p->k = tile_parse(&p->arena, p->text, strlen(p->text), NULL, &error);
    for (unsigned d = 0; d < n && p->k; d++) {
        if (tile_set_size(p->k, tile_find_dim(p->k, names[d]), p->size[d]) != 0) {
            return false;
        }
    }
    return p->k != NULL;
}

static void make_tensors(struct program *p)
{
    p->call = (struct tile_call){0};
    for (unsigned i = 0; i < p->k->n_params; i++) {
        const struct tile_tensor *t = &p->k->param[i];
        p->call.in[i] =
            data_make("tile_random", (enum type)t->type,
                      tile_count(p->k, tile_tensor_dims(t)), p->seed * 8 + i + 1);
    }
    for (unsigned i = 0; i < p->k->n_results; i++) {
        uint64_t bytes = bytes_of(p, &p->k->result[i].tensor) + GUARD;
        p->call.out[i] = data_alloc("tile_random", TYPE_U8, bytes);
        if (p->call.out[i]) {
            memset(p->call.out[i], 0xa5, bytes);
        }
    }
}

static void free_tensors(struct program *p)
{
    for (unsigned i = 0; i < p->k->n_params; i++) {
        free((void *)(uintptr_t)p->call.in[i]);
    }
    for (unsigned i = 0; i < p->k->n_results; i++) {
        free(p->call.out[i]);
    }
}

/* Elements of a result that are looked at: reductions of reductions take the interpreter
 * long. */
static uint64_t elements_of(const struct tile_ref *ref, unsigned i, uint64_t count,
                            unsigned most)
{
    double few = COST / tile_ref_cost(ref, i);

    count = count < most ? count : most;
    return (double)count < few ? count : (uint64_t)few;
}

/* Prints what is wrong with a result, up to the first such element. */
static bool result_is_wrong(struct program *p, struct tile_ref *ref, unsigned i,
                            unsigned most, struct tally *tally)
{
    const struct tile_tensor *t = &p->k->result[i].tensor;
    enum type type = (enum type)t->type;
    uint64_t count = tile_count(p->k, tile_tensor_dims(t));
    uint64_t looked_at = elements_of(ref, i, count, most);
    const uint8_t *data = p->call.out[i], *end = data + bytes_of(p, t);

    for (unsigned g = 0; g < GUARD; g++) {
        if (end[g] != 0xa5) {
            printf("%lu: %s: written beyond its end\n", (unsigned long)p->seed, t->name);
            return true;
        }
    }
    for (uint64_t s = 0; s < looked_at; s++) {
        uint64_t at =
            looked_at == count ? s : s * (count - 1) / (looked_at - (looked_at > 1));
        struct tile_number want = tile_ref_at(ref, i, at);
        double got = data_value(data_bits(data, type, at), type);
        tally->of++;
        tally->looked_at += !isinf(want.bound);
        if (!(got == want.value || (isnan(got) && isnan(want.value)) ||
              isinf(want.bound) || fabs(got - want.value) <= want.bound)) {
            printf("%lu: %s, element %llu: %.9g, want %.9g +- %.3g\n",
                   (unsigned long)p->seed, t->name, (unsigned long long)at, got,
                   want.value, want.bound);
            return true;
        }
    }
    return false;
}

static void note_refusal(struct tally *tally, const struct program *p, const char *text)
{
    unsigned i = 0;

    tally->refused++;
    while (i < REASONS - 1 && tally->reason[i].count != 0 &&
           strcmp(tally->reason[i].text, text) != 0) {
        i++;
    }
    if (tally->reason[i].count++ == 0) {
        tally->reason[i].seed = p->seed;
        snprintf(tally->reason[i].text, sizeof(tally->reason[i].text), "%s", text);
    }
}

static void check_program(struct program *p, unsigned most, struct tally *tally)
{
    struct tile_error error = {0};
    struct tile_plan *plan;
    struct tile_ref *ref;
    bool wrong = false;
    int err;

    if (!read_program(p)) {
        printf("%lu: is no program\n%s", (unsigned long)p->seed, p->text);
        tally->wrong++;
        return;
    }
    if (tile_plan(&plan, p->k, 0, &p->arena, &error) != 0) {
        note_refusal(tally, p, error.text);
        return;
    }
    make_tensors(p);
    ref = tile_ref_begin(p->k, p->call.in, &p->arena);
    err = ref ? tile_run(plan, &p->call, &report) : ERR_NOMEM;
    if (err) {
        printf("%lu: %s\n%s\n", (unsigned long)p->seed, err_text(err), report.text);
    }
    for (unsigned i = 0; i < p->k->n_results && !err && !wrong; i++) {
        wrong = result_is_wrong(p, ref, i, is_long(p) ? FEW : most, tally);
    }
    tally->wrong += wrong || err != 0;
    tally->run++;
    free_tensors(p);
}

/* --- the command --- */

static int print_program(struct program *p)
{
    unsigned n = random_program(p->seed, ELEMENTS, p->text, p->size);

    printf("%s#", p->text);
    for (unsigned d = 0; d < n; d++) {
        printf(" %lu", (unsigned long)p->size[d]);
    }
    printf("\n");
    return RUN_OK;
}

static int tile_random(int argc, char **argv)
{
    static struct program p;
    static struct tally tally;
    uint32_t words[3] = {0, 0, LOOKED_AT};

    if (argc < 2 || argc > 4) {
        fprintf(stderr, "tile_random: want SEED [COUNT [N]]\n");
        return RUN_INPUT;
    }
    for (int i = 1; i < argc; i++) {
        words[i - 1] = (uint32_t)strtoul(argv[i], NULL, 10);
    }
    p.seed = words[0];
    if (argc == 2) {
        return print_program(&p);
    }
    tally = (struct tally){0};
    p.arena = (struct tile_arena){malloc(ARENA_BYTES), ARENA_BYTES, 0};
    for (; p.seed < words[0] + words[1]; p.seed++) {
        check_program(&p, words[2], &tally);
    }
    free(p.arena.base);
    for (unsigned i = 0; i < REASONS && tally.reason[i].count != 0; i++) {
        printf("refused %u, as %lu: %s\n", tally.reason[i].count,
               (unsigned long)tally.reason[i].seed, tally.reason[i].text);
    }
    printf("programs: %u run, %u refused, %u wrong; %u of %u elements have a bound\n",
           tally.run, tally.refused, tally.wrong, tally.looked_at, tally.of);
    return tally.wrong ? RUN_CHECK : RUN_OK;
}

COMMAND(tile_random, "SEED [COUNT [N]]", "random tile programs, printed or checked",
        tile_random);
