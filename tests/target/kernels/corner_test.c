/* SPDX-License-Identifier: MIT
 *
 * Every operator on numbers in the corners of its types, against its reference: a case of
 * each, once for each row of the table below. Integers stay as they are made up, for they may
 * be indices; --data special is what gives them theirs. An operator that is linked in needs no
 * test of its own for any of this.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/cli/line.h"
#include "tests/target/kernels/sample.h"

enum { WORDS = 32, TEXT = 256 };

/* What is every `every`-th element, bits of F32 and F16; the others are as made up, or, with
 * `every` 1, there are none. Where there are two, they take turns. */
static const struct corner {
    const char *name;
    unsigned every, n;
    uint32_t f32[2];
    uint16_t f16[2];
} corners[] = {
    {"zeros", 1, 1, {0}, {0}},
    {"zeros_of_both_signs", 1, 2, {0, 0x80000000}, {0, 0x8000}},
    {"ones", 1, 1, {0x3f800000}, {0x3c00}},
    {"subnormals", 1, 2, {1, 0x807fffff}, {1, 0x83ff}},
    {"cancellation", 1, 2, {0x4b800001, 0xcb800000}, {0x5801, 0xd800}},
    {"largest", 5, 2, {0x7f7fffff, 0xff7fffff}, {0x7bff, 0xfbff}},
    {"infinity", 7, 1, {0x7f800000}, {0x7c00}},
    {"infinities", 7, 2, {0x7f800000, 0xff800000}, {0x7c00, 0xfc00}},
    {"nan", 11, 2, {0x7fc00000, 0xff923456}, {0x7e00, 0xfd23}},
};
enum { CORNERS = sizeof(corners) / sizeof(corners[0]) };

static struct line line;
static struct op_call call;

static bool begin(const struct opdesc *op, const char *words)
{
    static char text[TEXT], *word[WORDS];
    int n = 0;

    snprintf(text, sizeof(text), "%s %s", op->name, words);
    for (char *w = strtok(text, " "); w && n < WORDS - 1; w = strtok(NULL, " ")) {
        word[n++] = w;
    }
    word[n] = NULL;
    return line_parse(op, n, word, &line, &call) == 0 &&
           line_call(&line, &call) == RUN_OK;
}

/* Scales of channels that are above 1 stay as they are made up: some are refused. */
static void fill(const struct tensor *t, const char *name, const struct corner *c)
{
    if (strcmp(name, "scales") == 0 && (c->f32[0] & INT32_MAX) > 0x3f800000) {
        return;
    }
    for (uint64_t i = 0, k = 0; t->data && i < t->count; i += c->every, k++) {
        if (t->type == TYPE_F32) {
            ((uint32_t *)t->data)[i] = c->f32[k % c->n];
        } else if (t->type == TYPE_F16) {
            ((uint16_t *)t->data)[i] = c->f16[k % c->n];
        }
    }
}

/* Once more what is made of operands before a run. */
static bool prepare_again(void)
{
    bool made = call.work[0] != NULL;

    for (unsigned i = 0; i < OP_WORK; i++) {
        free(call.work[i]);
        call.work[i] = NULL;
    }
    return !made || call.op->prepare(&call) == 0;
}

static bool equals(const struct corner *c)
{
    static struct sched_report report;
    struct checked checked = {0};
    bool good;

    for (unsigned i = 0; i < line.io.n_in; i++) {
        fill(&call.in[i], line.io.operand[i].name, c);
    }
    good = prepare_again() && call.op->run(&call, &report) == 0;
    for (unsigned i = 0; good && i < line.io.n_out; i++) {
        good = check_result(call.op->name, &call, i, call.out[i].data, samples_of(&call),
                            &checked) == 0;
    }
    return good;
}

static bool check(const struct opdesc *op, const char *words, const struct corner *c)
{
    bool good = begin(op, words) && equals(c);

    line_free(&call);
    if (!good) {
        test_note("%s %s, %s", op->name, words, c->name);
    }
    return good;
}

/* The next operator, or the first one. */
static const struct opdesc *next(const struct opdesc *op)
{
    op = op ? op + 1 : __operators_start;
    while (op < __operators_end && (op->command || op->text_only ||
                                    (op->cube && !chip_has_type(PIPE_M, op->cube)))) {
        op++;
    }
    return op < __operators_end ? op : NULL;
}

static const struct opdesc *opened(const struct opdesc *entry)
{
    return entry->open ? op_open(entry) : entry;
}

/* Another corner for each operator, in a case in the middle of its list: tiles, and rests. */
TEST_SHAPES(operator, a_corner)
{
    unsigned turn = 0;

    for (const struct opdesc *e = next(NULL); e; e = next(e)) {
        const struct opdesc *op = opened(e);
        unsigned n = 0;
        while (op->cases[n]) {
            n++;
        }
        ok(check(op, op->cases[n / 2], &corners[turn++ % CORNERS]), "corner/%s",
           op->name);
    }
}

TEST_LONG(operator, all_corners)
{
    for (const struct opdesc *e = next(NULL); e; e = next(e)) {
        const struct opdesc *op = opened(e);
        bool good = true;
        for (unsigned i = 0; op->cases[i]; i++) {
            for (unsigned c = 0; c < CORNERS; c++) {
                good &= check(op, op->cases[i], &corners[c]);
            }
        }
        ok(good, "corners/%s", op->name);
    }
}
