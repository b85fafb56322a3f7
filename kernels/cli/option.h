/* SPDX-License-Identifier: MIT
 *
 * Options of a command line: a table of what they are called and where their values go.
 */
#ifndef KERNELS_CLI_OPTION_H
#define KERNELS_CLI_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hal/err.h"

enum option_kind {
    OPTION_NUMBER, /* uint32_t or int32_t, decimal, from min to max */
    OPTION_FLOAT,  /* float, from min to max; infinity and NaN only if max is infinite */
    OPTION_TEXT,   /* const char * */
    OPTION_CHOICE, /* uint32_t: which of the words in `words`, "a|b|c" */
    OPTION_FLAG,   /* bool, becomes true; takes no value */
};

struct option {
    const char *name; /* without the dashes; `_` is written `-` */
    enum option_kind kind;
    size_t offset; /* of the value in the struct that it goes into */
    double first;  /* default; of a choice its index */
    double min, max;
    const char *words; /* of a choice; of a text its default or NULL */
    const char *help;
};

/* Options of an operator: the value goes into the member of its own struct that has the
 * option's name; one of another type does not compile. */
/* clang-format off */
#define OPTION_OF(of, member, kind, ctype, first, min, max, words, help)                 \
    {#member, OPTION_##kind,                                                             \
     _Generic(((of *)0)->member, ctype: offsetof(of, member)),                           \
     (double)(first), (double)(min), (double)(max), (words), (help)}
#define NUMBER(of, member, first, min, max, help)                                        \
    OPTION_OF(of, member, NUMBER, uint32_t, first, min, max, NULL, help)
#define SIGNED(of, member, first, min, max, help)                                        \
    OPTION_OF(of, member, NUMBER, int32_t, first, min, max, NULL, help)
#define FLOAT(of, member, first, min, max, help)                                         \
    OPTION_OF(of, member, FLOAT, float, first, min, max, NULL, help)
#define TEXT(of, member, first, help)                                                    \
    OPTION_OF(of, member, TEXT, const char *, 0, 0, 0, first, help)
#define CHOICE(of, member, words, help)                                                  \
    OPTION_OF(of, member, CHOICE, uint32_t, 0, 0, 0, words, help)
#define FLAG(of, member, help) OPTION_OF(of, member, FLAG, bool, 0, 0, 0, NULL, help)
/* clang-format on */

/* Whether a word of the command line, behind its dashes, is this option's name. */
bool option_is(const struct option *o, const char *word);
/* Stores the defaults of a table (it ends with a name of NULL) into the struct. */
void option_defaults(const struct option *options, void *base);
/* Stores a value; ERR_ARG after one line on stderr. who: whose line it is. */
MUST_CHECK int option_set(const char *who, const struct option *o, void *base,
                          const char *value);
/* Word i of "a|b|c" and its length, or NULL. */
const char *option_word(const char *words, unsigned i, int *len);

#endif
