/* SPDX-License-Identifier: MIT
 *
 * How often a convolution reads what it is of, also as a cut says: weights that are too many for
 * L1 once, where L0C holds the sums of all pixels; those of one block of channels once, where they
 * nearly fill it.
 */
#include <stdlib.h>

#include "kernels/conv/conv.h"
#include "sched/measure.h"
#include "tests/target/test.h"

static struct sched_report report;

/* Bytes from GM of a 3 x 3 of as many channels out as in, on one core; 0: it failed. */
static uint64_t bytes_of(uint32_t side, uint32_t channels, const char *cut)
{
    struct conv p = {.n = 1,
                     .h = side,
                     .w = side,
                     .c = channels,
                     .o = channels,
                     .kh = 3,
                     .kw = 3,
                     .stride_h = 1,
                     .stride_w = 1,
                     .dilation_h = 1,
                     .dilation_w = 1,
                     .groups = 1,
                     .pad_top = 1,
                     .pad_left = 1,
                     .pad_bottom = 1,
                     .pad_right = 1,
                     .in = TYPE_F16,
                     .out = TYPE_F16,
                     .cores = 1,
                     .cut = cut};
    size_t x = (size_t)side * side * channels * 2;
    char *all = calloc(1, 2 * x + conv_packed_bytes(&p));
    struct launch_report r = {0};

    p.x = all;
    p.y = all + x;
    p.weight = all + 2 * x;
    measure_start();
    if (all && conv2d(&p, &report) == 0) {
        measure_read(&r);
    }
    free(all);
    return r.chip[PIPE_MTE2].bytes_read;
}

TEST(conv, weights_in_chunks_come_once)
{
    uint64_t bytes = bytes_of(14, 256, NULL);

    CHECK_EQ(bytes, 14 * 14 * 256 * 2 + 256 * 9 * 256 * 2);
}

/* Rows of x that two patches are under come twice. */
TEST(conv, weights_that_nearly_fill_l1_come_once)
{
    uint64_t bytes = bytes_of(28, 128, NULL), x = 28 * 28 * 128 * 2, row = 28 * 128 * 2;

    CHECK(bytes > x && bytes <= x + 6 * row + 128 * 9 * 128 * 2);
}

/* Two blocks of output channels of two patches of 15 rows: patches come for each block, or, where
 * those stay, weights for each patch. */
TEST(conv, a_cut_says_what_stays)
{
    uint64_t patches = 2 * 15 * 28 * 128 * 2, weights = 128 * 9 * 128 * 2;

    CHECK_EQ(bytes_of(28, 128, "n64r14"), 2 * patches + weights);
    CHECK_EQ(bytes_of(28, 128, "n64r14p"), patches + 2 * weights);
    CHECK_EQ(bytes_of(28, 128, "n64r14m65"), 0);
    CHECK_EQ(bytes_of(28, 128, "r29"), 0);
    CHECK_EQ(bytes_of(28, 128, "pr14"), 0);
}
