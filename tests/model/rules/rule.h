/* SPDX-License-Identifier: MIT
 *
 * Rules of commands as a table: each row is a good command with one thing wrong, the code
 * that it must give and the field that it must tell. It has no effect.
 *
 *     {"unaligned_a", OP_MMAD, WRONG(mmad, a, 32, ALIGN)},
 */
#ifndef TESTS_MODEL_RULES_RULE_H
#define TESTS_MODEL_RULES_RULE_H

#include "tests/host/data.h"
#include "tests/model/rig.h"

/* which = value breaks the rule `code`; the error tells that field, or another. */
#define WRONG(format, which, value, code) TELLS(format, which, value, code, format, which)
#define TELLS(format, which, value, code, told_format, told)                             \
    MEMBER(format, which), value, NPU_ERR_##code,                                        \
        .field = offsetof(struct cmd_##told_format, told)
/* The byte at `at`, which no operand has. */
#define BEHIND(at) at, 1, 1, NPU_ERR_RESERVED, .field = at

struct rule {
    const char *name;
    enum op op;
    size_t offset, size;
    uint64_t value;
    unsigned code;
    size_t field;
    enum type type; /* for good(), as it likes */
    unsigned flags;
};

/* A verdict for each, named with the prefix: good() makes a command that breaks no rule; prepare(),
 * or NULL, what it needs on a fresh chip. */
void check_rules(const char *prefix, const struct rule *rules, size_t n,
                 union cmd (*good)(const struct rule *rule), void (*prepare)(void));

#endif
