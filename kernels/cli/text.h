/* SPDX-License-Identifier: MIT
 *
 * Real texts as matrices, for demonstrations. A text is cut into passages of so many
 * words. A passage becomes a row of TEXT_FEATURES numbers: how often each pair of
 * neighbouring words occurs in it (pairs are hashed to columns), scaled to length 1.
 */
#ifndef KERNELS_CLI_TEXT_H
#define KERNELS_CLI_TEXT_H

#include <stdint.h>
#include "kernels/cli/op.h"

enum { TEXT_FEATURES = 1024, TEXT_MAX = 8, TEXT_MAX_ROWS = 2048 };

struct text_rows {
    unsigned n_texts, n; /* texts, passages */
    unsigned words;      /* of a passage */
    const char *name[TEXT_MAX];
    unsigned first[TEXT_MAX + 1]; /* first passage of each text, and the end */
    uint16_t *rows;               /* fp16 (n, TEXT_FEATURES); free() it */
    uint16_t *columns;            /* the same transposed; free() it */
};

/* Reads n texts (0: some licences that every Debian has), passages of `words` words.
 * Returns RUN_OK, or RUN_INPUT after one line on stderr; what *t holds is to be freed in
 * both cases. */
enum run_status text_read(const char *who, const char *const *paths, unsigned n,
                          unsigned words, struct text_rows *t);

/* The same as operands of an operator: in[0] has the rows, in[1] the columns. 0, or an
 * error after one line on stderr. */
int text_operands(struct op_call *call, const char *const *paths, unsigned n,
                  unsigned words, struct text_rows *t);

#endif
