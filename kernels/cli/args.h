/* SPDX-License-Identifier: MIT
 *
 * Options of an operator: a table of names and where their values go.
 */
#ifndef KERNELS_CLI_ARGS_H
#define KERNELS_CLI_ARGS_H

#include <stdint.h>
#include "hal/err.h"

enum option_kind {
    OPTION_NUMBER, /* uint32_t, decimal, from min to max */
    OPTION_TEXT,   /* const char * */
    OPTION_FLAG,   /* uint32_t, becomes 1; takes no value */
};

struct option {
    const char *name; /* "--m", "-o" */
    enum option_kind kind;
    void *to;
    uint32_t min, max;
};

/* Reads argv[1 ..]: options into their places, everything else into operands (at most
 * max_operands). Every operator also has --digest, see data_digest(). Returns the number
 * of operands, or ERR_ARG after one line on stderr. */
MUST_CHECK int args_parse(int argc, char **argv, const struct option *options,
                          unsigned n_options, const char **operands,
                          unsigned max_operands);

#endif
