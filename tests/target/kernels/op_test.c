/* SPDX-License-Identifier: MIT
 *
 * Every operator by its description: each of its cases against its reference, with
 * whatever lies around a result left as it was; operands at any address, any number of
 * cores, results in place of nothing else. That no semaphore is left behind, the runner
 * looks at after each test. An operator that is linked in needs no test of its own for
 * any of this.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/cli/line.h"
#include "tests/target/kernels/sample.h"

enum { GUARD = 64, PATTERN = 0xa5, WORDS = 32 };

/* A case being run. */
static struct run {
    char text[256]; /* its command line, cut into words */
    char *word[WORDS];
    int n;
    struct line line;
    struct op_call call;
    uint8_t *room[OP_OUT];   /* of results, with guards on both sides */
    uint8_t *before[OP_OUT]; /* what another launch has made of the same */
} r;

static uint64_t bytes_of(const struct tensor *t)
{
    return t->count * (type_bits(t->type) / 8);
}

/* Cuts `name line` into words. */
static void cut(const char *name, const char *line)
{
    snprintf(r.text, sizeof(r.text), "%s %s", name, line);
    r.n = 0;
    for (char *w = strtok(r.text, " "); w && r.n < WORDS - 1; w = strtok(NULL, " ")) {
        r.word[r.n++] = w;
    }
    r.word[r.n] = NULL;
}

static void begin(const struct opdesc *op, const char *line)
{
    cut(op->name, line);
    CHECK_OK(line_parse(op, r.n, r.word, &r.line, &r.call));
    CHECK_EQ(line_call(&r.line, &r.call), RUN_OK);
    for (unsigned i = 0; i < r.line.io.n_out; i++) {
        r.room[i] = malloc(bytes_of(&r.call.out[i]) + 2 * GUARD);
        r.before[i] = malloc(bytes_of(&r.call.out[i]));
        CHECK(r.room[i] != NULL && r.before[i] != NULL);
    }
}

static void end(void)
{
    for (unsigned i = 0; i < OP_OUT; i++) {
        free(r.room[i]);
        free(r.before[i]);
        r.room[i] = r.before[i] = NULL;
    }
    line_free(&r.call);
}

static void check_guards(unsigned i, unsigned shift)
{
    uint64_t bytes = bytes_of(&r.call.out[i]);

    for (uint64_t j = 0; j < 2 * GUARD; j++) {
        CHECK_EQ(r.room[i][j < GUARD - shift ? j : j + bytes], PATTERN);
    }
}

/* What results are held against. */
enum against { NOTHING, THE_DEFINITION, THOSE_BEFORE };

static void check_results(struct op_call *moved, unsigned shift, enum against against)
{
    struct checked checked = {0};

    for (unsigned i = 0; i < r.line.io.n_out; i++) {
        const void *data = moved->out[i].data;
        if (against == THE_DEFINITION) {
            CHECK_OK(check_result(r.line.op->name, &r.call, i, data, samples_of(&r.call),
                                  &checked));
        } else {
            CHECK(memcmp(r.before[i], data, bytes_of(&r.call.out[i])) == 0);
        }
        check_guards(i, shift);
    }
}

/* Runs one launch with operands (copies, if moved) `shift` bytes off a boundary. */
static void check_run(int (*run)(const struct op_call *call, struct sched_report *report),
                      unsigned shift, enum against against)
{
    static struct sched_report report;
    struct op_call moved = r.call;
    int err;

    for (unsigned i = 0; i < r.line.io.n_in && shift && r.call.in[i].data; i++) {
        uint64_t bytes = bytes_of(&r.call.in[i]);
        char *room = malloc(bytes + 2 * GUARD);
        CHECK(room != NULL);
        moved.in[i].data =
            memcpy(room + (i + 1) * shift % GUARD, r.call.in[i].data, bytes);
    }
    for (unsigned i = 0; i < r.line.io.n_out; i++) {
        memset(r.room[i], PATTERN, bytes_of(&r.call.out[i]) + 2 * GUARD);
        moved.out[i].data = r.room[i] + GUARD - shift;
    }
    err = run(&moved, &report);
    for (unsigned i = 0; i < r.line.io.n_in && shift && r.call.in[i].data; i++) {
        free((char *)moved.in[i].data - (i + 1) * shift % GUARD);
    }
    CHECK_OK(err);
    if (against != NOTHING) {
        check_results(&moved, shift, against);
    }
}

/* In one launch, and in pieces where there are some: the last of them has the result. */
static void check_all(unsigned shift, enum against against)
{
    const struct op_piece *p = r.line.op->pieces;

    check_run(r.line.op->run, shift, against);
    for (unsigned i = 0; i < r.line.io.n_out; i++) {
        memcpy(r.before[i], r.room[i] + GUARD - shift, bytes_of(&r.call.out[i]));
    }
    for (p += p != NULL; p && p->name && !test_failed(); p++) {
        check_run(p->run, shift, p[1].name == NULL ? THE_DEFINITION : NOTHING);
    }
}

/* The next operator that is a kernel in C; the entry of the next one that is a program. */
static const struct opdesc *next_of(const struct opdesc *op, bool program)
{
    op = op ? op + 1 : __operators_start;
    while (op < __operators_end &&
           (op->command || op->text_only || (op->open != NULL) != program ||
            (op->cube && !chip_has_type(PIPE_M, op->cube)))) {
        op++;
    }
    return op < __operators_end ? op : NULL;
}

static const struct opdesc *next(const struct opdesc *op)
{
    return next_of(op, false);
}

/* Says which case has failed. */
static void tell(const struct opdesc *op, const char *line, unsigned number)
{
    if (test_failed()) {
        printf("# %s %s, %u\n", op->name, line, number);
    }
}

/* Every second one: tests/qemu/golden.py has those between, and its runs compare, too. */
TEST_SHAPES(operator, cases_equal_the_definition)
{
    for (const struct opdesc *op = next(NULL); op && !test_failed(); op = next(op)) {
        for (const char *const *c = op->cases; *c && !test_failed(); c += c[1] ? 2 : 1) {
            begin(op, *c);
            if (!test_failed()) {
                check_all(0, THE_DEFINITION);
            }
            end();
            tell(op, *c, 0);
        }
    }
}

/* Of programs, which are planned for their sizes before they run: case 2, or all others but
 * case 1, which tests/qemu/golden.py has: it looks at the interpreter as well. */
static void check_programs(bool second)
{
    for (const struct opdesc *e = next_of(NULL, true); e && !test_failed();
         e = next_of(e, true)) {
        const struct opdesc *op = op_open(e);
        CHECK(op->cases[0] != NULL);
        for (unsigned i = 0; op->cases[i] && !test_failed(); i++) {
            if (i == 1 || (i == 2) != second) {
                continue;
            }
            begin(op, op->cases[i]);
            if (!test_failed()) {
                check_run(op->run, i % 2 ? 1 + i * 6 % 31 : 0, THE_DEFINITION);
            }
            end();
            tell(op, op->cases[i], 0);
        }
    }
}

TEST(operator, programs_equal_the_interpreter)
{
    check_programs(false);
}

TEST_SHAPES(operator, more_cases_of_programs_equal_the_interpreter)
{
    check_programs(true);
}

/* A case in the middle of the list: some tiles, and rests. */
static const char *middle(const struct opdesc *op)
{
    unsigned n = 0;

    while (op->cases[n]) {
        n++;
    }
    return op->cases[n / 2];
}

/* The same bytes from each of them. */
TEST_SHAPES(operator, operands_at_any_address)
{
    for (const struct opdesc *op = next(NULL); op && !test_failed(); op = next(op)) {
        begin(op, middle(op));
        for (unsigned shift = 1; shift < 32 && !test_failed(); shift += 6) {
            check_all(shift, shift == 1 ? THE_DEFINITION : THOSE_BEFORE);
            tell(op, middle(op), shift);
        }
        end();
    }
}

/* The same bytes on each number of them. Of a single one the tests above have it all. */
TEST(operator, any_number_of_cores)
{
    if (chip_cores() == 1) {
        test_skip("one core");
        return;
    }
    for (const struct opdesc *op = next(NULL); op && !test_failed(); op = next(op)) {
        begin(op, middle(op));
        for (unsigned cores = 1; cores <= chip_cores() && !test_failed(); cores++) {
            r.call.cores = cores <= 3 ? cores : chip_cores();
            check_all(0, cores == 1 ? THE_DEFINITION : THOSE_BEFORE);
            tell(op, middle(op), r.call.cores);
            cores = r.call.cores;
        }
        end();
    }
}

/* Results where an operand was, which the reference then has a copy of. */
TEST(operator, results_in_place)
{
    static struct sched_report report;

    for (const struct opdesc *op = next(NULL); op && !test_failed(); op = next(op)) {
        for (unsigned i = 0; op->in_place && i < OP_IN && !test_failed(); i++) {
            struct checked checked = {0};
            begin(op, middle(op));
            if (r.call.in[i].data) {
                struct op_call call = r.call;
                uint64_t bytes = bytes_of(&call.in[i]);
                call.in[i].data = call.out[0].data =
                    memcpy(r.room[0], r.call.in[i].data, bytes);
                CHECK_OK(op->run(&call, &report));
                CHECK_OK(check_result(op->name, &r.call, 0, r.room[0],
                                      samples_of(&r.call), &checked));
            }
            end();
        }
    }
}

/* --- what is refused; nothing is started --- */

static void check_refused(int err)
{
    static struct sched_report report;

    memset(r.room[0], PATTERN, GUARD);
    r.call.out[0].data = memcpy(r.call.out[0].data, r.room[0], 1);
    CHECK_EQ(r.line.op->run(&r.call, &report), err);
    CHECK_EQ(*(uint8_t *)r.call.out[0].data, PATTERN);
    CHECK_OK(sched_run(&report)); /* of no task */
}

/* Makes a dimension 0, or 1 again, wherever it stands; false: in nothing that is given. */
static bool set_dim(unsigned dim, uint64_t size)
{
    const struct io *io = &r.line.io;
    bool given = false;

    for (unsigned i = 0; i < io->n_in + io->n_out; i++) {
        struct tensor *t = i < io->n_in ? &r.call.in[i] : &r.call.out[i - io->n_in];
        for (unsigned d = 0; d < io->operand[i].n_dims; d++) {
            if (io->operand[i].dim[d] == dim) {
                t->shape[d] = t->count = size;
                given = given || t->data;
            }
        }
    }
    return given;
}

TEST(operator, refuses_sizes_of_0)
{
    for (const struct opdesc *op = next(NULL); op && !test_failed(); op = next(op)) {
        begin(op, op->cases[0]);
        for (unsigned dim = 0; dim < r.line.io.n_dims && !test_failed(); dim++) {
            if (set_dim(dim, 0)) {
                check_refused(ERR_ARG);
            }
            (void)set_dim(dim, 1);
            tell(op, r.line.io.dim[dim], 0);
        }
        end();
    }
}

static bool is_allowed(const struct io *io, unsigned type)
{
    for (unsigned row = 0; row < io->n_rows; row++) {
        if (io->type[row][0] == type && io->type[row][io->n_in] == type) {
            return true;
        }
    }
    return false;
}

/* Operands and results all of one; where the kernel is told of types at all. */
TEST(operator, refuses_other_types)
{
    for (const struct opdesc *op = next(NULL); op && !test_failed(); op = next(op)) {
        begin(op, op->cases[0]);
        for (unsigned type = 0; type <= TYPE_COUNT && !test_failed(); type++) {
            for (unsigned i = 0; i < OP_IN; i++) {
                r.call.in[i].type = (enum type)type;
            }
            r.call.out[0].type = (enum type)type;
            if (r.line.io.n_rows > 1 && !is_allowed(&r.line.io, type)) {
                check_refused(ERR_TYPE);
                tell(op, "type", type);
            }
        }
        end();
    }
}

TEST(operator, refuses_cores_that_are_not_there)
{
    for (const struct opdesc *op = next(NULL); op && !test_failed(); op = next(op)) {
        begin(op, op->cases[0]);
        r.call.cores = chip_cores() + 1;
        check_refused(ERR_CORES);
        end();
    }
}

/* --- descriptions --- */

static bool is_taken(const struct io *io, const struct option *o)
{
    struct option size;

    for (unsigned i = 0; line_size(io, i, &size); i++) {
        if (strcmp(size.name, o->name) == 0) {
            return true;
        }
    }
    return false;
}

TEST(operator, descriptions_can_be_read)
{
    unsigned n = 0;

    for (const struct opdesc *e = __operators_start; e < __operators_end; e++) {
        const struct opdesc *op = op_open(e);
        struct io io;
        if (op->command || op->text_only) {
            continue;
        }
        n++;
        CHECK(strcmp(op->name, e->name) == 0);
        CHECK(io_parse(op, &io));
        CHECK(op->summary && op->run && op->ref && op->cases && op->cases[0]);
        CHECK(op->pieces == NULL || op->pieces[0].run == op->run);
        for (const struct option *o = line_options; o->name; o++) {
            CHECK(!is_taken(&io, o));
        }
        for (const struct option *o = op->options; o && o->name; o++) {
            CHECK(!is_taken(&io, o) && o->offset < OP_ARGS_BYTES);
            for (const struct option *other = line_options; other->name; other++) {
                CHECK(strcmp(other->name, o->name) != 0);
            }
        }
    }
    CHECK(n >= 3);
}
