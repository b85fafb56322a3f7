/* SPDX-License-Identifier: MIT
 *
 * What tile_cost() says of a command is what the counters measure, to the cycle.
 */
#include "hal/pmu.h"
#include "hal/vector_move.h"
#include "hal/vector_reduce.h"
#include "kernels/tile/cost/cost.h"
#include "tests/target/engine.h"

enum { COMMANDS = 400, SPREAD = 5 };

static uint8_t gm[8192] __attribute__((aligned(512)));
static uint32_t seed;

static uint32_t below(uint32_t n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

/* Blocks dense, near or far; the far ones still lie in UB. */
static struct vec_at at(void)
{
    static const uint16_t blks[] = {1, 1, 1, 2, 8, 16, 33, 130};
    static const uint16_t reps[] = {8, 8, 0, 1, 2, 4, 9, 16};

    return (struct vec_at){below(2000) * 32, blks[below(8)], reps[below(8)]};
}

static uint32_t repeats(void)
{
    return below(2) ? below(9) : below(200);
}

static void element(union cmd *cmd, enum type type)
{
    static const enum op one[] = {OP_VABS, OP_VEXP, OP_VREC, OP_VLN};
    static const enum op two[] = {OP_VADD, OP_VMUL, OP_VDIV, OP_VMAX, OP_VMLA, OP_VPRELU};
    static const enum op number[] = {OP_VADDS, OP_VMULS, OP_VAXPY};

    switch (below(4)) {
    case 0:
        vector_unary_strided(
            cmd, &(struct vec_unary){one[below(4)], type, at(), at(), repeats()});
        break;
    case 1:
        vector_scalar_strided(cmd, &(struct vec_scalar){.op = number[below(3)],
                                                        .type = type,
                                                        .dst = at(),
                                                        .x = at(),
                                                        .repeat = repeats()});
        break;
    default:
        vector_binary_strided(cmd, &(struct vec_binary){.op = two[below(6)],
                                                        .type = type,
                                                        .dst = at(),
                                                        .x = at(),
                                                        .y = at(),
                                                        .repeat = repeats()});
        break;
    }
}

static void other(union cmd *cmd, enum type type)
{
    static const enum op reduce[] = {OP_VCGADD, OP_VCGMAX, OP_VCADD, OP_VCMAX, OP_VCPADD};
    enum type to = type == TYPE_F32 ? TYPE_F16 : TYPE_F32;
    struct vec_at far = {65536 * 2, 1, 8};

    switch (below(6)) {
    case 0:
        vector_reduce_strided(cmd, &(struct vec_reduce){.op = reduce[below(5)],
                                                        .type = type,
                                                        .dst = far.addr,
                                                        .dst_rep = 1,
                                                        .x = at(),
                                                        .repeat = below(9)});
        break;
    case 1:
        vector_convert_strided(
            cmd, &(struct vec_convert){type, to, ROUND_RINT, at(), at(), repeats()});
        break;
    case 2:
        vector_compare_strided(cmd, &(struct vec_compare){.type = type,
                                                          .cond = CMP_LT,
                                                          .dst = below(99) * 32,
                                                          .x = at(),
                                                          .y = at(),
                                                          .repeat = repeats()});
        break;
    case 3:
        vector_select_strided(cmd, &(struct vec_select){.type = type,
                                                        .dst = at(),
                                                        .x = at(),
                                                        .y = at(),
                                                        .bits = below(99) * 32,
                                                        .repeat = repeats()});
        break;
    case 4:
        vector_broadcast(cmd, type, far.addr, below(99) * 32, below(100));
        break;
    default:
        vector_copy_strided(cmd, &(struct vec_copy){type, far, at(), below(9)});
        break;
    }
}

static void check_cost(struct tile_costs *costs, enum pipe pipe, const union cmd *cmd)
{
    uint64_t cycles = tile_cost(costs, cmd);

    pmu_start(core());
    run_on(pipe, cmd);
    CHECK_EQ(pmu_read(core(), pipe, PMU_BUSY), cycles);
}

TEST_CYCLES(tile_cost, commands_of_the_vector)
{
    struct tile_costs costs;
    union cmd cmd;

    seed = 1;
    tile_costs_init(&costs);
    for (unsigned i = 0; i < COMMANDS; i++) {
        enum type type = below(2) ? TYPE_F32 : TYPE_F16;
        if (i % SPREAD == 0 && below(2)) {
            vector_count(&cmd, below(5000));
        } else if (i % SPREAD == 0) {
            vector_mask(&cmd, seed, below(2) ? UINT64_MAX : 0);
        } else if (below(3)) {
            element(&cmd, type);
        } else {
            other(&cmd, type);
        }
        check_cost(&costs, PIPE_V, &cmd);
    }
}

TEST_CYCLES(tile_cost, copies_in_and_out)
{
    struct tile_costs costs;

    union cmd cmd;

    tile_costs_init(&costs);
    mte_gm_to_ub(&cmd, 0, gm, sizeof(gm)); /* so that L2 has it */
    run_on(PIPE_MTE2, &cmd);
    for (uint32_t bytes = 0; bytes < 1500; bytes += 61) {
        uint32_t lines = (bytes + L2_LINE_BYTES) / L2_LINE_BYTES * L2_LINE_BYTES;
        struct mte_rows rows = {.n_rows = bytes % 7,
                                .row_bytes = bytes,
                                .gm_pitch_bytes = bytes % 3 ? lines : bytes};
        mte_gm_to_ub_rows(&cmd, 0, gm, &rows);
        check_cost(&costs, PIPE_MTE2, &cmd);
        rows.n_rows = bytes % 5;
        mte_ub_to_gm_rows(&cmd, gm, 64, &rows);
        check_cost(&costs, PIPE_MTE3, &cmd);
    }
}
