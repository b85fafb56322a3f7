/* SPDX-License-Identifier: MIT
 *
 * Many short commands of the Vector: the hart is what they wait for, unless they are
 * recorded.
 */
#include "hal/mte.h"
#include "hal/vector.h"
#include "sched/sequence.h"
#include "sched/tque.h"
#include "tests/profile/bottleneck.h"

enum { HELD = 128 << 10, SHORT = 256, COMMANDS = 2048, BODY = 16 };

static void shorts(bool recorded)
{
    static union cmd body[BODY];
    struct sequence s = {.name = "short", .pipe = PIPE_V, .cmds = body};
    union cmd cmd;

    for (unsigned i = 0; i < (recorded ? BODY : COMMANDS); i++) {
        uint32_t at = i % BODY * SHORT;
        vector_unary(&cmd, OP_VABS, TYPE_F32, at, at);
        if (recorded) {
            sequence_add(&s, BODY, &cmd);
        } else {
            task_issue(PIPE_V, &cmd);
        }
    }
    for (uint32_t i = 0; recorded && i < COMMANDS / BODY; i++) {
        sequence_push(&s, i);
    }
}

void slow_short(void *recorded)
{
    enum { FULL, DONE };
    struct tpipe *pipe = tpipe_open();
    union cmd cmd;

    tbuf_init(pipe, "x", VECCALC, HELD);
    mte_gm_to_ub(&cmd, 0, slow_x, BODY * SHORT);
    cmd_post(&cmd, FULL, 1);
    task_issue(PIPE_MTE2, &cmd);
    vector_count(&cmd, SHORT / sizeof(float));
    cmd_wait(&cmd, FULL, 1);
    task_issue(PIPE_V, &cmd);
    shorts(*(bool *)recorded);
    cmd_nop(&cmd);
    cmd_post(&cmd, DONE, 1);
    task_issue(PIPE_V, &cmd);
    mte_ub_to_gm(&cmd, slow_y, 0, BODY * SHORT);
    cmd_wait(&cmd, DONE, 1);
    task_issue(PIPE_MTE3, &cmd);
}
