/* SPDX-License-Identifier: MIT
 *
 * A b of which two of each four numbers are multiplied: how it is packed, what is refused. Its
 * products: matmul_random.c.
 */
#include <string.h>

#include "hal/chip.h"
#include "kernels/matmul/matmul.h"
#include "tests/target/test.h"

static int8_t a[16 * 64], b[32 * 64];

/* Indices by hal/contract/cube.md: the first among rows 0 to 2, the second among 1 to 3 less 1. */
TEST(mm_sparse, keeps_the_two_largest_of_four)
{
    static const struct {
        int8_t four[4], kept[4], numbers[2];
        uint8_t index;
    } rows[] = {
        {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0}, 0},
        {{1, -128, 127, 3}, {0, -128, 127, 0}, {-128, 127}, 1 | 1 << 2},
        {{5, 5, 5, 5}, {5, 5, 0, 0}, {5, 5}, 0},
        {{1, 0, 0, -2}, {1, 0, 0, -2}, {1, -2}, 2 << 2},
        {{0, 1, 9, 9}, {0, 0, 9, 9}, {9, 9}, 2 | 2 << 2},
    };
    uint8_t packed[512 + 16 * 8];
    int8_t four[4];

    CHECK_EQ(mm_sparse_bytes(1, 4), sizeof(packed));
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        memcpy(four, rows[i].four, sizeof(four));
        mm_sparse_pack(four, 1, 4, packed);
        CHECK_EQ(memcmp(four, rows[i].kept, sizeof(four)), 0);
        CHECK_EQ(memcmp(packed, rows[i].numbers, 2), 0);
        CHECK_EQ(packed[512], rows[i].index);
    }
}

static void check_refused(struct mm mm, int err, const char *text)
{
    char why[MM_TEXT];

    CHECK_EQ(mm_check(&mm, why), err);
    CHECK_STR(why, text);
}

TEST(mm_sparse, refuses_what_cannot_be)
{
    struct mm_tiling tiling = {.m = 16, .n = 32, .columns = 16, .k = 64};
    struct mm mm;

    mm_init(&mm, &(struct mm_shape){.m = 16, .n = 32, .k = 64}, &tiling);
    mm_set_a(&mm, a, TYPE_S8, MM_ND, false, 0);
    mm_set_sparse(&mm, b);
    if (!chip_has_sparse()) {
        check_refused(mm, ERR_TYPE, "this chip's Cube has no sparse b");
        test_skip("this chip's Cube has no sparse b");
        return;
    }
    check_refused(mm, ERR_ARG,
                  "a sparse b: one product, all columns of a tile at once, no slopes");
    mm_set_a(&mm, a, TYPE_F16, MM_ND, false, 0);
    check_refused(mm, ERR_TYPE, "F16 x S8 to S32: no such product");
}

TEST(mm_sparse, of_a_call_is_of_signed_bytes)
{
    static const struct {
        enum type a, b;
    } no[] = {{TYPE_U8, TYPE_S8}, {TYPE_S8, TYPE_U8}, {TYPE_F16, TYPE_F16}};
    static char work[4096], c[16 * 32 * 4];
    static struct sched_report report;

    for (unsigned i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
        struct matmul p = {.a = a,
                           .b = b,
                           .c = c,
                           .work = work,
                           .m = 16,
                           .n = 32,
                           .k = 64,
                           .in = no[i].a,
                           .in_b = no[i].b,
                           .out = no[i].a == TYPE_F16 ? TYPE_F32 : TYPE_S32,
                           .cores = 1,
                           .sparse = true};
        CHECK_EQ(matmul(&p, &report), ERR_TYPE);
    }
}
