/* SPDX-License-Identifier: MIT
 *
 * An operator in one launch beside the same in several: both run, one table tells what
 * each launch did and what the machine would have allowed (kernels/cli/limit.h).
 */
#ifndef KERNELS_CLI_PIECES_H
#define KERNELS_CLI_PIECES_H

#include "kernels/cli/limit.h"
#include "sched/measure.h"

enum pieces_max { PIECES_MAX = 6 };

/* Of one launch; bytes are the sum of its cores. */
struct pieces_launch {
    const struct op_piece *piece;
    struct launch_report measured;
    uint64_t busy[NPU_PIPES];         /* of the core that is busiest */
    uint64_t gm_in, gm_out, beyond;   /* bytes; beyond: all but reading operands */
    struct work_limit limit;
};

struct pieces_table {
    unsigned n;
    struct pieces_launch launch[PIECES_MAX]; /* the first is the one launch */
};

/* *separate: *call with results of its own. RUN_OK, or RUN_INPUT after one line on
 * stderr; pieces_end() is to be called in both cases. */
enum run_status pieces_begin(const struct op_call *call, struct op_call *separate);
void pieces_end(struct op_call *separate);
/* Runs call->op->pieces: the first on *call, the others on *separate unless it is NULL.
 */
enum run_status pieces_run(struct pieces_table *t, const struct op_call *call,
                           const struct op_call *separate);
void pieces_print(const struct pieces_table *t);

#endif
