/* SPDX-License-Identifier: MIT
 *
 * Command lines of operators; see line.h.
 */
#include "kernels/cli/line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/lib/near.h"

const struct option line_options[] = {
    TEXT(struct line, type, NULL, "type of the first operand, if made up"),
    TEXT(struct line, out, NULL, "type of the result, where there is a choice"),
    TEXT(struct line, shapes, NULL, "of made-up operands, as 3x1x5,5"),
    CHOICE(struct line, data, DATA_KINDS, "what made-up values are like"),
    NUMBER(struct line, cores, 0, 1, NPU_MAX_CORES, "cores to use; all of the chip"),
    SIGNED(struct line, check, -1, 0, INT32_MAX, "elements, or rows, to compare"),
    NUMBER(struct line, repeat, 1, 1, 1000, "launches, one after the other"),
    FLAG(struct line, cold, "with L2 empty before each launch"),
    FLAG(struct line, digest, "print a hash of each result"),
    FLAG(struct line, text, "operands from texts"),
    FLAG(struct line, no_separate, "only the one launch, not the separate ones"),
    {0},
};

/* Whether an option of struct line says what made-up data is like. */
static bool is_made_up(const struct option *o)
{
    size_t sizes = offsetof(struct line, size);

    return (o->offset >= sizes && o->offset < sizes + sizeof(((struct line *)0)->size)) ||
           (o->offset >= offsetof(struct line, type) &&
            o->offset <= offsetof(struct line, data));
}

bool line_has(const struct line *line, const struct option *o)
{
    const struct opdesc *op = line->op;

    switch (o->offset) {
    case offsetof(struct line, text):
        return op->text && !op->text_only;
    case offsetof(struct line, no_separate):
        return op->pieces != NULL;
    case offsetof(struct line, repeat):
        return op->pieces == NULL;
    case offsetof(struct line, check):
        return op->ref != NULL;
    case offsetof(struct line, out):
        return !op->text_only;
    default:
        return !is_made_up(o) || !op->text_only;
    }
}

bool line_size(const struct io *io, unsigned i, struct option *o)
{
    if (i >= io->n_known) {
        return false;
    }
    *o = (struct option){
        .name = io->dim[i],
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct line, size) + i * sizeof(uint32_t),
        .min = io_fixed(io, i) ? io_fixed(io, i) : 1,
        .max = io_fixed(io, i) ? io_fixed(io, i)
               : i == io->pack ? UINT32_MAX
                               : INT32_MAX,
        .help = "size of made-up data",
    };
    return true;
}

/* --- parsing --- */

static int refuse(const struct opdesc *op, const char *text, const char *word)
{
    fprintf(stderr, "%s: %s%s\n", op->name, text, word);
    return ERR_ARG;
}

/* The option of that name, and the struct that its value goes into. */
static bool find(struct line *line, struct op_call *call, const char *name,
                 struct option *found, void **base)
{
    *base = line;
    for (unsigned i = 0; !line->op->text_only && line_size(&line->io, i, found); i++) {
        if (option_is(found, name)) {
            return true;
        }
    }
    for (const struct option *o = line_options; o->name; o++) {
        if (option_is(o, name) && line_has(line, o)) {
            *found = *o;
            found->max =
                o->offset == offsetof(struct line, cores) ? chip_cores() : o->max;
            return true;
        }
    }
    *base = call->args;
    for (const struct option *o = line->op->options; o && o->name; o++) {
        if (option_is(o, name)) {
            *found = *o;
            return true;
        }
    }
    return false;
}

/* The result whose name is nearest to that of so many characters. */
static unsigned nearest_result(const struct io *io, const char *name, size_t len)
{
    unsigned best = 0;

    for (unsigned i = 1; i < io->n_out; i++) {
        if (near_distance(name, len, io->operand[io->n_in + i].name) <
            near_distance(name, len, io->operand[io->n_in + best].name)) {
            best = i;
        }
    }
    return best;
}

static const char *result_name(const struct line *line, unsigned i)
{
    return line->io.operand[line->io.n_in + i].name;
}

/* Behind -o: the path of the one result, whatever it looks like, or NAME=PATH of one of
 * several. */
static int take_output(struct line *line, const char *word)
{
    const char *who = line->op->name, *path = word;
    size_t len = strcspn(word, "=");
    unsigned i = 0;

    if (line->io.n_out > 1) {
        i = nearest_result(&line->io, word, len);
        if (word[len] == '\0') {
            fprintf(stderr, "%s: -o %s: which result? -o %s=%s\n", who, word,
                    result_name(line, i), word);
            return ERR_ARG;
        }
        if (near_distance(word, len, result_name(line, i)) != 0) {
            fprintf(stderr, "%s: -o %s: no result %.*s; the nearest is %s\n", who, word,
                    (int)len, word, result_name(line, i));
            return ERR_ARG;
        }
        path = word + len + 1;
    }
    if (line->out_path[i]) {
        fprintf(stderr, "%s: -o %s: %s goes to %s already\n", who, word,
                result_name(line, i), line->out_path[i]);
        return ERR_ARG;
    }
    line->out_path[i] = path;
    return 0;
}

/* One option; returns how many words it took, or ERR_ARG. */
static int parse_option(struct line *line, struct op_call *call, char **argv)
{
    struct option o = {.kind = OPTION_TEXT};
    bool is_out = strcmp(argv[0], "-o") == 0;
    void *base = line; /* where -o goes */

    if (!is_out && (argv[0][1] != '-' || !find(line, call, argv[0] + 2, &o, &base))) {
        fprintf(stderr, "%s: no option %s; 'help %s' lists them\n", line->op->name,
                argv[0], line->op->name);
        return ERR_ARG;
    }
    if (o.kind != OPTION_FLAG && argv[1] == NULL) {
        fprintf(stderr, "%s: option %s wants a value\n", line->op->name, argv[0]);
        return ERR_ARG;
    }
    if (is_out) {
        int err = take_output(line, argv[1]);
        return err ? err : 2;
    }
    if (base == line && is_made_up(&o)) {
        line->made_up = argv[0];
    }
    return option_set(line->op->name, &o, base, argv[1]) ? ERR_ARG
           : o.kind == OPTION_FLAG                       ? 1
                                                         : 2;
}

int line_parse(const struct opdesc *op, int argc, char **argv, struct line *line,
               struct op_call *call)
{
    *line = (struct line){.op = op};
    *call = (struct op_call){.op = op};
    if (!io_parse(op, &line->io)) {
        return refuse(op, "cannot be understood: ", op->io); /* a test looks at all */
    }
    option_defaults(line_options, line);
    option_defaults(op->options, call->args);
    for (int i = 1, taken; i < argc; i += taken) {
        taken = 1;
        if (argv[i][0] == '-' && argv[i][1] != '\0') {
            taken = parse_option(line, call, argv + i);
            if (taken < 0) {
                return taken;
            }
        } else if (line->n_words < (op->text ? LINE_WORDS : line->io.n_in)) {
            line->word[line->n_words++] = argv[i];
        } else {
            return refuse(op, "one file too many: ", argv[i]);
        }
    }
    call->cores = line->cores;
    call->cold = line->cold;
    return 0;
}

/* --- operands --- */

static const char *input_name(const struct line *line, unsigned i)
{
    return line->io.operand[i].name;
}

/* A file's type is none that operand i has in `rows`. */
static int refuse_type(const struct line *line, unsigned i, const char *type,
                       io_rows rows)
{
    fprintf(stderr, "%s: %s: %s is %s, want ", line->op->name, line->word[i],
            input_name(line, i), type);
    io_print_types(stderr, &line->io, rows, i, true);
    fprintf(stderr, i == 0 ? "\n" : " with %s\n", line->word[0]);
    return ERR_TYPE;
}

/* int64, where only int32 is taken: by value. */
static int narrow(const struct line *line, unsigned i, struct tensor *t, io_rows rows)
{
    uint64_t at = t->count;

    if (t->type == TYPE_S64 && io_rows_with(&line->io, rows, i, TYPE_S64) == 0 &&
        io_rows_with(&line->io, rows, i, TYPE_S32) != 0) {
        at = data_narrow(t->data, t->count);
        t->type = TYPE_S32;
    }
    if (at != t->count) {
        fprintf(stderr, "%s: %s: %lld at %llu is no int32\n", line->op->name, t->path,
                (long long)((int64_t *)t->data)[at], (unsigned long long)at);
        return ERR_TYPE;
    }
    return 0;
}

/* Operand i from its file: type and shape must fit those before it. */
static int read_file(const struct line *line, unsigned i, struct tensor *t, io_rows *rows,
                     struct io_sizes *sizes)
{
    char why[NPY_WHY_BYTES];
    io_rows before = *rows;
    struct npy npy;
    int err = npy_read(line->word[i], &npy, why);

    if (err) {
        return err == ERR_TYPE ? refuse_type(line, i, npy.other, before)
                               : refuse(line->op, why, "");
    }
    *t = (struct tensor){.type = npy.type == NPY_B1 ? TYPE_U8 : data_type(npy.type),
                         .boolean = npy.type == NPY_B1,
                         .ndim = npy.ndim,
                         .count = npy_count(&npy),
                         .data = npy.data,
                         .path = line->word[i]};
    memcpy(t->shape, npy.shape, sizeof(t->shape));
    err = narrow(line, i, t, before);
    if (err) {
        return err;
    }
    *rows = io_rows_with(&line->io, *rows, i, t->boolean ? (unsigned)IO_BOOL : t->type);
    if (*rows == 0) {
        return refuse_type(line, i, npy_type_name(npy.type), before);
    }
    data_used(input_name(line, i), t->data, t->type, t->count);
    return io_note(line->op->name, &line->io, sizes, i, t);
}

/* Rows of types in which operand i has the type that an option names. */
static int choose(const struct line *line, const char *option, const char *name,
                  unsigned i, io_rows *rows)
{
    io_rows chosen = name ? io_rows_with(&line->io, *rows, i, io_type(name)) : *rows;

    if (chosen == 0) {
        fprintf(stderr, "%s: --%s %s: %s is ", line->op->name, option, name,
                input_name(line, i));
        io_print_types(stderr, &line->io, *rows, i, false);
        fputc('\n', stderr);
        return ERR_TYPE;
    }
    *rows = chosen;
    return 0;
}

/* The first operand's type, and others' behind commas. */
static int choose_types(const struct line *line, io_rows *rows)
{
    const char *at = line->type;
    int err = 0;

    for (unsigned i = 0; at && !err; i++) {
        if (i == line->io.n_in) {
            return refuse(line->op, line->type, ": too many");
        }
        err = choose(line, "type", at, i, rows);
        at = strchr(at, ',');
        at = at ? at + 1 : NULL;
    }
    return err;
}

static unsigned least_operands(const struct io *io)
{
    unsigned n = io->n_in;

    while (n != 0 && io->operand[n - 1].optional) {
        n--;
    }
    return n;
}

/* Nothing that operands could come from. */
static int want_operands(const struct line *line)
{
    const struct io *io = &line->io;

    fprintf(stderr, "%s: want %u .npy files (", line->op->name, least_operands(io));
    for (unsigned i = 0; i < io->n_in; i++) {
        fprintf(stderr, "%s%s", i ? ", " : "", io->operand[i].name);
    }
    fprintf(stderr, ")%s, or%s", line->op->text ? ", or texts" : "",
            io->any ? " --shapes" : "");
    for (unsigned i = 0; i < io->n_known; i++) {
        fprintf(stderr, "%s --%s",
                i == 0                ? ""
                : i + 1 < io->n_known ? ","
                                      : " and",
                io->dim[i]);
    }
    fputc('\n', stderr);
    return ERR_ARG;
}

/* Sizes that were given, into *sizes; or what is wrong with them. */
static int made_up_sizes(const struct line *line, struct io_sizes *sizes)
{
    const struct io *io = &line->io;

    if (io->any) {
        return want_operands(line);
    }
    for (unsigned i = 0; i < io->n_known; i++) {
        sizes->size[i] = io_fixed(io, i) ? io_fixed(io, i) : line->size[i];
        if (sizes->size[i] == 0) {
            return want_operands(line);
        }
    }
    if (io->pack < io->n_known) {
        sizes->pack[0] = line->size[io->pack];
        sizes->pack_ndim = 1;
    }
    return 0;
}

static int from_files(const struct line *line, struct op_call *call, io_rows *rows,
                      struct io_sizes *sizes)
{
    if (line->n_words < least_operands(&line->io)) {
        return want_operands(line);
    }
    for (unsigned i = 0; i < line->n_words; i++) {
        int err = read_file(line, i, &call->in[i], rows, sizes);
        if (err) {
            return err;
        }
    }
    return 0;
}

static int give_types(const struct line *line, struct op_call *call, io_rows rows)
{
    const struct io *io = &line->io;
    unsigned row;

    if (choose(line, "out", line->out, io->n_in, &rows)) {
        return ERR_TYPE;
    }
    row = (unsigned)__builtin_ctz(rows);
    for (unsigned i = 0; i < io->n_in + io->n_out; i++) {
        struct tensor *t = i < io->n_in ? &call->in[i] : &call->out[i - io->n_in];
        t->boolean = io->type[row][i] == IO_BOOL;
        t->type = t->boolean ? TYPE_U8 : (enum type)io->type[row][i];
    }
    return 0;
}

static int make_operands(const struct line *line, struct op_call *call,
                         const struct io_sizes *sizes)
{
    for (unsigned i = 0; i < line->io.n_in; i++) {
        struct tensor *t = &call->in[i];
        int err = line->shapes ? 0 : io_shape(line->op->name, &line->io, sizes, i, t);
        err = err ? err : io_count(line->op->name, &line->io, i, t);
        if (err || (line->shapes && t->path == NULL)) {
            return err;
        }
        t->path = NULL;
        t->data = data_named(line->op->name, input_name(line, i), t->type, t->count);
        if (t->data == NULL) {
            return ERR_NOMEM;
        }
        data_fill((enum data_kind)line->data, t->data, t->type, t->count, i + 1);
        for (uint64_t j = 0; t->boolean && j < t->count; j++) {
            ((uint8_t *)t->data)[j] &= 1;
        }
    }
    return 0;
}

static int inputs(const struct line *line, struct op_call *call, struct io_sizes *sizes)
{
    io_rows rows = (io_rows)((UINT64_C(1) << line->io.n_rows) - 1);
    int err;

    if (line->made_up && (line->n_words || line->text)) {
        return refuse(line->op, line->made_up, " is for made-up data, not files");
    }
    if (line->op->text &&
        (line->text || line->op->text_only || !(line->made_up || line->n_words))) {
        err = give_types(line, call, rows);
        err = err ? err : line->op->text(call, line->word, line->n_words);
        for (unsigned i = 0; !err && i < line->io.n_in; i++) {
            const struct tensor *t = &call->in[i];
            err = io_note(line->op->name, &line->io, sizes, i, t);
            data_used(input_name(line, i), t->data, t->type, t->count);
        }
        return err;
    }
    if (line->n_words) {
        err = from_files(line, call, &rows, sizes);
        return err ? err : give_types(line, call, rows);
    }
    err = line->shapes
              ? io_take_shapes(line->op->name, &line->io, line->shapes, call->in, sizes)
              : made_up_sizes(line, sizes);
    err = err == ERR_FORMAT ? want_operands(line) : err;
    err = err ? err : choose_types(line, &rows);
    err = err ? err : give_types(line, call, rows);
    return err ? err : make_operands(line, call, sizes);
}

/* Result i: its shape by the rule and by what the operator adds to it, and room. */
static int make_result(const struct line *line, struct op_call *call,
                       const struct io_sizes *sizes, unsigned i)
{
    const struct opdesc *op = line->op;
    struct tensor *t = &call->out[i];
    int err = io_shape(op->name, &line->io, sizes, line->io.n_in + i, t);

    err = !err && op->shape ? op->shape(call, i, t) : err;
    err = err ? err : io_count(op->name, &line->io, line->io.n_in + i, t);
    if (err) {
        return err;
    }
    t->data = data_named(op->name, result_name(line, i), t->type, t->count);
    return t->data ? 0 : ERR_NOMEM;
}

enum run_status line_call(const struct line *line, struct op_call *call)
{
    struct io_sizes sizes = {0};
    int err = inputs(line, call, &sizes);

    for (unsigned i = 0; !err && i < line->io.n_out; i++) {
        err = make_result(line, call, &sizes, i);
    }
    if (!err && line->op->prepare) {
        err = line->op->prepare(call);
    }
    return err ? RUN_INPUT : RUN_OK;
}

void line_free(struct op_call *call)
{
    for (unsigned i = 0; i < OP_IN; i++) {
        free(call->in[i].data);
    }
    for (unsigned i = 0; i < OP_OUT; i++) {
        free(call->out[i].data);
    }
    for (unsigned i = 0; i < OP_WORK; i++) {
        free(call->work[i]);
    }
}
