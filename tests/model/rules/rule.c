/* SPDX-License-Identifier: MIT
 *
 * Tables of broken rules; see rule.h.
 */
#include "tests/model/rules/rule.h"

#include <string.h>
#include "tests/test.h"

enum { NOISE = 0x5a, GM_BYTES = 65536 };

static bool is_noise(const uint8_t *at, size_t bytes)
{
    return at[0] == NOISE && memcmp(at, at + 1, bytes - 1) == 0;
}

static bool untouched(void)
{
    bool all = is_noise(rig.gm, GM_BYTES);

    for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
        uint32_t size = npu_mem_size(PROFILE_a2, (enum npu_mem)m);
        all = all && (size == 0 || is_noise(mem((enum npu_mem)m), size));
    }
    return all;
}

/* A number out of its range or between its multiples is told. */
static bool tells_value(const struct rule *rule, enum pipe pipe)
{
    return rule->field != rule->offset ||
           (rule->code != NPU_ERR_RANGE && rule->code != NPU_ERR_ALIGN) ||
           rig_read(&rig, 0, rig_pipe(pipe, PIPE_ERROR_VALUE)) == rule->value;
}

/* The good command runs on memories of 0, the broken one is pushed when they are not. */
static void check_rule(const char *prefix, const struct rule *rule, union cmd c,
                       void (*prepare)(void))
{
    bool fine, stopped;

    fresh();
    if (prepare != NULL) {
        prepare();
    }
    fine = run(c) == 0;
    memset(rig.gm, NOISE, GM_BYTES);
    for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
        memset(mem((enum npu_mem)m), NOISE, npu_mem_size(PROFILE_a2, (enum npu_mem)m));
    }
    memcpy(c.bytes + rule->offset, &rule->value, rule->size);
    stopped =
        refused(c, rule->code, (unsigned)rule->field) && tells_value(rule, pipe_of(&c));
    if (!ok(fine && stopped && untouched(), "%s%s", prefix, rule->name)) {
        uint64_t error = rig_read(&rig, 0, rig_pipe(pipe_of(&c), PIPE_ERROR));

        test_note("good %d, %s of byte %u, memories untouched %d", fine,
                  npu_error_name((unsigned)field_get(PIPE_ERROR_CODE, error)),
                  (unsigned)field_get(PIPE_ERROR_FIELD, error), untouched());
    }
}

void check_rules(const char *prefix, const struct rule *rules, size_t n,
                 union cmd (*good)(const struct rule *rule), void (*prepare)(void))
{
    for (size_t i = 0; i < n; i++) {
        check_rule(prefix, &rules[i], good(&rules[i]), prepare);
    }
}
