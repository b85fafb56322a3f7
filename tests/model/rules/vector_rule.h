/* SPDX-License-Identifier: MIT
 *
 * Rules of Vector commands as a table: each line is a good command with one thing wrong,
 * the code and the field that it must give; no byte of UB may change.
 */
#ifndef TESTS_MODEL_RULES_VECTOR_RULE_H
#define TESTS_MODEL_RULES_VECTOR_RULE_H

#include <stddef.h>
#include <string.h>

#include "tests/model/rig.h"
#include "tests/model/tap.h"

/* field = value breaks the rule `code`; the error tells that field, or another. */
#define WRONG(format, field, value, code) TELLS(format, field, value, code, format, field)
#define TELLS(format, field, value, code, told_format, told)                             \
    offsetof(struct cmd_##format, field), sizeof(((struct cmd_##format *)0)->field),     \
        value, NPU_ERR_##code, offsetof(struct cmd_##told_format, told)

struct rule {
    const char *name;
    enum op op;
    size_t offset, size;
    uint32_t value;
    unsigned code;
    size_t field;
};

/* good() makes a command that breaks no rule; prepare(), or NULL, what it needs. */
static inline void check_rule(const struct rule *rule, union cmd (*good)(enum op op),
                              void (*prepare)(struct rig *r))
{
    static uint8_t zeros[196608]; /* as large as UB of a2 */
    union cmd c = good(rule->op);
    struct rig r;
    uint64_t error;
    bool fine;

    rig_open(&r, 1, PROFILE_a2);
    if (prepare) {
        prepare(&r);
    }
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    fine = rig_error(&r, 0, PIPE_V) == 0;
    memset(r.npu.mem[0][NPU_MEM_UB], 0, sizeof(zeros));
    memcpy(c.bytes + rule->offset, &rule->value, rule->size);
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    error = rig_read(&r, 0, rig_pipe(PIPE_V, PIPE_ERROR));
    if (!ok(fine && field_get(PIPE_ERROR_CODE, error) == rule->code &&
                field_get(PIPE_ERROR_FIELD, error) == rule->field &&
                memcmp(r.npu.mem[0][NPU_MEM_UB], zeros, sizeof(zeros)) == 0,
            "vector_rule/%s", rule->name)) {
        tap_note("good %d, code %u, field %u", fine,
                 (unsigned)field_get(PIPE_ERROR_CODE, error),
                 (unsigned)field_get(PIPE_ERROR_FIELD, error));
    }
    rig_close(&r);
}

#endif
