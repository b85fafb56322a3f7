/* SPDX-License-Identifier: MIT
 *
 * Fits that pto-isa publishes for vector instructions of the 910B3, as slope * repeats +
 * fixed, at 64 repeats without gaps. Operands begin in one bank group, as buffers do that
 * are laid out one after the other: that is where the slope of 2 of two sources comes
 * from (vector.md, "Banks").
 */
#include <string.h>

#include "tests/model/calibrate/calibrate.h"

enum { REPEATS = 64, X = 0, Y = 65536, DST = 131072 };

static union cmd command(enum op op, enum type type)
{
    const struct cmd_info *info = cmd_find(op);
    union cmd c = rig_command(op, type);

    for (unsigned i = 0; i < info->n_args; i++) { /* by the names that formats share */
        const struct cmd_arg *arg = &info->args[i];
        size_t n = strlen(arg->name);
        uint64_t value = 0;
        if (strcmp(arg->name, "repeat") == 0) {
            value = REPEATS;
        } else if (strcmp(arg->name, "dst") == 0) {
            value = DST;
        } else if (strcmp(arg->name, "src1") == 0 || strcmp(arg->name, "sel") == 0) {
            value = Y;
        } else if (n > 4 && strcmp(arg->name + n - 4, "_blk") == 0) {
            value = 1;
        } else if (n > 4 && strcmp(arg->name + n - 4, "_rep") == 0) {
            value = 8;
        }
        memcpy(c.bytes + arg->offset, &value, arg->size);
    }
    return c;
}

static uint64_t element(struct rig *r, uint64_t op)
{
    union cmd c =
        command((enum op)op,
                cmd_find((unsigned)op)->types & 1u << TYPE_F32 ? TYPE_F32 : TYPE_S16);

    if (op == OP_VCONV) {
        c.vec_conv.to = TYPE_F16;
        c.vec_conv.dst_rep = 4;
    }
    if (op == OP_VCADD || op == OP_VCGADD || op == OP_VCGMAX) {
        c.vec_reduce.dst_rep = 1;
        c.head.type = op == OP_VCADD ? TYPE_F16 : TYPE_F32;
    }
    if (op == OP_VSEL) { /* its bits apart from the sources */
        c.vec_sel.sel = 100000;
        c.vec_sel.sel -= c.vec_sel.sel % 32;
    }
    if (op == OP_VREDUCEV2) {
        c.vec_squeeze.pattern = 1;
        c.vec_squeeze.bits_rep = 0;
    }
    rig_push(r, 0, PIPE_V, &c);
    rig_drain(r);
    return rig_error(r, 0, PIPE_V) ? 0 : r->now;
}

/* One repeat, or one list of four. */
static uint64_t once(struct rig *r, uint64_t op)
{
    union cmd c = command((enum op)op, TYPE_F32);

    if (op == OP_VBRCB || op == OP_VGATHER) {
        c.bytes[cmd_find((unsigned)op)->args[cmd_find((unsigned)op)->n_args - 1].offset] =
            1;
    }
    if (op == OP_VMRGSORT) { /* what VSORT32 leaves */
        c.vec_merge =
            (struct cmd_vec_merge){c.head, DST, 0, 256, 512, 768, 32, 32, 32, 32, 15, 1};
    }
    rig_push(r, 0, PIPE_V, &c);
    rig_drain(r);
    return rig_error(r, 0, PIPE_V) ? 0 : r->now;
}

/* clang-format off */
#define FIT(name, slope, fixed, accepted) \
    {#name, "PTO", TYPED_IN, PATH_V, (slope) * REPEATS + (fixed), accepted, element, OP_##name}

const struct row vector_rows[] = {
    FIT(VADD, 2.11, 24, 6),
    FIT(VSUB, 2.11, 24, 6),
    FIT(VMUL, 2.3, 25, 12),
    FIT(VMAX, 2, 23, 1),
    FIT(VMIN, 2, 23, 1),
    FIT(VMULS, 1, 26, 1),
    FIT(VMAXS, 1, 23, 1),
    FIT(VRELU, 1, 23, 1),
    FIT(VADDS, 1, 31, 1),
    FIT(VABS, 1, 29, 1),
    FIT(VEXP, 2, 31, 1),
    FIT(VLN, 2, 33, 1),
    FIT(VSQRT, 2, 39, 1),
    FIT(VRSQRT, 1.07, 24, 6),
    FIT(VDIV, 4.03, 31, 1),
    FIT(VLRELU, 1, 26, 1),
    FIT(VAND, 2, 20, 1),
    FIT(VOR, 2, 20, 1),
    FIT(VCADD, 7, 46, 1),
    FIT(VCGADD, 1, 38, 1),
    FIT(VCGMAX, 1, 31, 1),
    FIT(VSEL, 2, 27, 1),
    FIT(VCMP, 2, 36, 1),
    FIT(VCONV, 2, 32, 41),
    FIT(VCOPY, 1, 24, 1),
    FIT(VDUP, 1, 24, 1),
    FIT(VREDUCEV2, 14, 34, 1),
    {"VBRCB, 1 repeat", "PTO", TYPED_IN, PATH_V, 18, 6, once, OP_VBRCB},
    {"VGATHER, 1 repeat", "PTO", TYPED_IN, PATH_V, 26, 1, once, OP_VGATHER},
    {"VMRGSORT, 4 lists of 32", "PTO", TYPED_IN, PATH_V, 78 + 20, 15, once, OP_VMRGSORT},
};
/* clang-format on */
const unsigned n_vector_rows = sizeof(vector_rows) / sizeof(vector_rows[0]);
