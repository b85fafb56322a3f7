/* SPDX-License-Identifier: MIT
 *
 * The command line of an operator, and the call that it asks for: operands read or made
 * up, room for the results.
 */
#ifndef KERNELS_CLI_LINE_H
#define KERNELS_CLI_LINE_H

#include "kernels/cli/data.h"
#include "kernels/cli/io.h"

enum { LINE_WORDS = 8, LINE_OWN = 16 /* options of an operator, at most */ };

struct line {
    const struct opdesc *op;
    struct io io;
    const char *word[LINE_WORDS]; /* files or texts */
    unsigned n_words;
    const char *out_path[OP_OUT]; /* of -o; NULL: this result is not written */
    uint32_t size[IO_DIMS];       /* of made-up data; 0: not given */
    const char *made_up; /* an option that only made-up data has, as it was typed */
    /* Options that every operator has. */
    const char *out, *type, *shapes; /* from type to data: of made-up data */
    uint32_t data, cores, repeat;
    int32_t check; /* below 0: the operator's own */
    bool cold, digest, text, no_separate;
};

/* Those of every operator; they end with a name of NULL. */
extern const struct option line_options[];
/* Whether an operator has this one of them. */
bool line_has(const struct line *line, const struct option *o);
/* What --m and the like are called for made-up data: `of` (0 ..), or false at the end. */
bool line_size(const struct io *io, unsigned i, struct option *o);

/* Reads argv[1 ..] into *line and the operator's own options into call->args. ERR_ARG
 * after one line on stderr. */
MUST_CHECK int line_parse(const struct opdesc *op, int argc, char **argv,
                          struct line *line, struct op_call *call);
/* Operands and results of the call, and the operator's workspaces. RUN_OK, or RUN_INPUT
 * after one line on stderr; what *call holds is to be freed in both cases. */
enum run_status line_call(const struct line *line, struct op_call *call);
void line_free(struct op_call *call);

#endif
