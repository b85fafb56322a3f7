/* SPDX-License-Identifier: MIT
 *
 * SET_CTRL: results of M, V and FIX that end at the greatest number instead of infinity,
 * and at 0 instead of NaN.
 */
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"

enum {
    F32_MAX = 0x7f7fffff,
    F32_INF = 0x7f800000,
    F32_NAN = 0x7fc00000,
    F16_MAX = 0x7bff,
    F16_INF = 0x7c00,
    BF16_MAX = 0x7f7f,
    DST = 4096,
};

static void ctrl(enum pipe pipe, unsigned flags)
{
    union cmd c = rig_command(OP_SET_CTRL, TYPE_NONE);

    c.head.flags = (uint8_t)flags;
    rig_push(&rig, 0, pipe, &c);
    rig_drain(&rig);
}

static const struct {
    const char *name;
    enum op op;
    enum type type, to;
    uint32_t x, y, want, saturated;
} vector_cases[] = {
    /* clang-format off */
    {"sum", OP_VADD, TYPE_F32, TYPE_F32, F32_MAX, F32_MAX, F32_INF, F32_MAX},
    {"negative_sum", OP_VADD, TYPE_F32, TYPE_F32,
     0xff7fffff, 0xff7fffff, 0xff800000, 0xff7fffff},
    {"sum_that_fits", OP_VADD, TYPE_F32, TYPE_F32, F32_MAX, 0, F32_MAX, F32_MAX},
    {"infinity_minus_infinity", OP_VSUB, TYPE_F32, TYPE_F32, F32_INF, F32_INF, F32_NAN, 0},
    {"half_product", OP_VMUL, TYPE_F16, TYPE_F16, F16_MAX, 0xfbff, 0xfc00, 0xfbff},
    {"quotient_by_0", OP_VDIV, TYPE_F16, TYPE_F16, 0x3c00, 0, F16_INF, F16_MAX},
    {"maximum", OP_VMAX, TYPE_F32, TYPE_F32, F32_INF, 0, F32_INF, F32_MAX},
    {"wide_product", OP_VMLA, TYPE_F16, TYPE_F32, F16_INF, 0x3c00, F32_INF, F32_MAX},
    {"logarithm_of_0", OP_VLN, TYPE_F32, TYPE_F32, 0, 0, 0xff800000, 0xff7fffff},
    {"cast_to_half", OP_VCONV, TYPE_F32, TYPE_F16, 0x47800000, 0, F16_INF, F16_MAX},
    {"cast_to_bf16", OP_VCONV, TYPE_F32, TYPE_BF16, F32_MAX, 0, 0x7f80, BF16_MAX},
    {"cast_of_nan", OP_VCONV, TYPE_F32, TYPE_BF16, F32_NAN, 0, 0x7fc0, 0},
    {"cast_to_integer", OP_VCONV, TYPE_F32, TYPE_S32, F32_INF, 0, INT32_MAX, INT32_MAX},
    {"integer_sum", OP_VADD, TYPE_S32, TYPE_S32, F32_INF, 0, F32_INF, F32_INF},
    {"selection", OP_VSEL, TYPE_F32, TYPE_F32, F32_INF, F32_INF, F32_INF, F32_INF},
    {"copy", OP_VCOPY, TYPE_F32, TYPE_F32, F32_INF, 0, F32_INF, F32_INF},
    {"reduction", OP_VCADD, TYPE_F32, TYPE_F32, F32_INF, 0, F32_INF, F32_MAX},
    {"interpolation", OP_VBI, TYPE_F16, TYPE_F16, 0x7bff, 0x4000, F16_INF, F16_MAX},
    {"half_reduction", OP_VCGADD, TYPE_F16, TYPE_F16, F16_INF, 0, F16_INF, F16_MAX},
    /* clang-format on */
};

static union cmd element_command(enum op op, enum type type, enum type to)
{
    union cmd c = rig_command(op, type);

    switch (op) {
    case OP_VCONV:
        c.vec_conv = (struct cmd_vec_conv){c.head, DST, 0, 1, 1, 8, 8, 1, (uint8_t)to, 1};
        break;
    case OP_VCOPY:
        c.vec_copy = (struct cmd_vec_copy){c.head, DST, 0, 1, 1, 8, 8, 1};
        break;
    case OP_VCADD:
    case OP_VCGADD:
        c.vec_reduce = (struct cmd_vec_reduce){c.head, DST, 0, 8, 1, 8, 1};
        break;
    case OP_VBI: /* all offsets are 0 */
        c.vec_bi = (struct cmd_vec_bi){c.head, DST, 0, 2048, 1024, 128, 1, 1, 1};
        break;
    case OP_VLN:
        c.vec1 = (struct cmd_vec1){c.head, DST, 0, 1, 1, 8, 8, 1};
        break;
    case OP_VSEL:
        c.vec_sel = (struct cmd_vec_sel){c.head, DST, 0, 1024, 2048, 1, 1, 1, 8, 8, 8, 1};
        break;
    default:
        c.head.flags = op == OP_VMLA ? VMLA_WIDE : 0;
        c.vec2 = (struct cmd_vec2){c.head, DST, 0, 1024, 1, 1, 1, 8, 8, 8, 1};
        break;
    }
    return c;
}

/* x op y of one element, saturated or not. */
TEST(saturate, vector)
{
    for (unsigned i = 0; i < sizeof(vector_cases) / sizeof(vector_cases[0]); i++) {
        union cmd m = rig_command(OP_SET_MASK, TYPE_NONE),
                  c = element_command(vector_cases[i].op, vector_cases[i].type,
                                      vector_cases[i].to);
        uint32_t got[2];
        fresh();
        m.set_mask.lo = 1;
        run(m);
        for (unsigned s = 0; s < 2; s++) {
            uint8_t *ub = mem(NPU_MEM_UB);
            memset(ub + DST, 0, 256);
            memcpy(ub, &vector_cases[i].x, type_bits(vector_cases[i].type) / 8);
            memcpy(ub + 1024, &vector_cases[i].y, type_bits(vector_cases[i].type) / 8);
            ctrl(PIPE_V, s ? SET_CTRL_SATURATE : 0);
            run(c);
            got[s] = element_get(mem(NPU_MEM_UB) + DST, 0, type_bits(vector_cases[i].to));
        }
        if (!ok(got[0] == vector_cases[i].want && got[1] == vector_cases[i].saturated &&
                    !rig_error(&rig, 0, PIPE_V),
                "saturate/%s", vector_cases[i].name)) {
            test_note("%#x and %#x", got[0], got[1]);
        }
    }
}

/* c = a x b + c of 1 x 1 where c is `start`; and the elements beside and below it. */
TEST(saturate, cube)
{
    static const uint32_t starts[][2] = {{F32_INF, F32_MAX},
                                         {0xff800000, 0xff7fffff},
                                         {F32_NAN, 0},
                                         {0x3f800000, 0x3f800000}};
    bool good = true;

    for (unsigned i = 0; i < 4; i++) {
        union cmd c = rig_command(OP_MMAD, TYPE_F16);
        uint32_t pair[2] = {starts[i][0], F32_INF};
        c.mmad.m = c.mmad.n = c.mmad.k = 1;
        for (unsigned s = 0; s < 2; s++) {
            memcpy(mem(NPU_MEM_L0C), pair, 8);
            memcpy(mem(NPU_MEM_L0C) + 64, &pair[1], 4);
            ctrl(PIPE_M, s ? SET_CTRL_SATURATE : 0);
            run(c);
            good &= element_get(mem(NPU_MEM_L0C), 0, 32) == starts[i][s] &&
                    element_get(mem(NPU_MEM_L0C) + 4, 0, 32) == F32_INF &&
                    element_get(mem(NPU_MEM_L0C) + 64, 0, 32) == F32_INF;
        }
    }
    ok(good, "saturate/product_of_the_cube");
}

TEST(saturate, fixpipe)
{
    static const struct {
        const char *name;
        enum type from;
        enum quant quant;
        unsigned relu;
        uint32_t x, want, saturated;
    } t[] = {
        {"fixpipe_to_half", TYPE_F32, QUANT_F322F16, 0, F32_MAX, F16_INF, F16_MAX},
        {"fixpipe_to_bf16", TYPE_F32, QUANT_F322BF16, 0, F32_NAN, 0x7fc0, 0},
        {"fixpipe_as_it_is", TYPE_F32, QUANT_NONE, 0, F32_INF, F32_INF, F32_INF},
        {"fixpipe_with_relu", TYPE_F32, QUANT_NONE, FIX_RELU_PLAIN, F32_INF, F32_INF,
         F32_MAX},
        {"fixpipe_integer", TYPE_S32, QUANT_NONE, FIX_RELU_PLAIN, F32_INF, F32_INF,
         F32_INF},
    };

    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        union cmd c = rig_command(OP_FIX_L0C_UB, t[i].from);
        uint32_t got[2];
        fresh();
        memcpy(mem(NPU_MEM_L0C), &t[i].x, 4);
        c.fix_gm.m = c.fix_gm.n = c.fix_gm.nd_num = 1;
        c.fix_gm.quant = (uint8_t)t[i].quant;
        c.fix_gm.relu = (uint8_t)t[i].relu;
        for (unsigned s = 0; s < 2; s++) {
            ctrl(PIPE_FIX, s ? SET_CTRL_SATURATE : 0);
            run(c);
            got[s] =
                element_get(mem(NPU_MEM_UB), 0, 8u * (t[i].quant == QUANT_NONE ? 4 : 2));
        }
        ok(got[0] == t[i].want && got[1] == t[i].saturated, "saturate/%s", t[i].name);
    }
}

/* Other pipes take the command, and a reset takes it back. */
TEST(saturate, rest)
{
    union cmd c = rig_command(OP_FIX_L0C_UB, TYPE_F32);
    uint32_t inf = F32_INF;

    ctrl(PIPE_MTE2, SET_CTRL_SATURATE);
    ok(rig_error(&rig, 0, PIPE_MTE2) == 0 && rig.now == 1,
       "saturate/every_pipe_takes_it");
    ctrl(PIPE_MTE2, 2);
    ok(rig_error(&rig, 0, PIPE_MTE2) == NPU_ERR_FLAGS, "saturate/no_other_flag");
    memcpy(mem(NPU_MEM_L0C), &inf, 4);
    c.fix_gm.m = c.fix_gm.n = c.fix_gm.nd_num = 1;
    c.fix_gm.quant = QUANT_F322F16;
    ctrl(PIPE_FIX, SET_CTRL_SATURATE);
    rig_write(&rig, 0, rig_pipe(PIPE_FIX, PIPE_CTRL), PIPE_CTRL_RESET);
    run(c);
    ok(element_get(mem(NPU_MEM_UB), 0, 16) == F16_INF, "saturate/reset_takes_it_back");
}
