/* SPDX-License-Identifier: MIT
 *
 * The rules of vector_move.md, each with a command that breaks only it.
 */
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rules/rule.h"
#include "tests/test.h"

enum { UB = 196608, DST = 65536, SRC1 = 131072 };

/* Sources at 0 and SRC1, destinations at DST, two repeats without gaps. */
static union cmd good(const struct rule *rule)
{
    enum op op = rule->op;
    union cmd c = rig_command(op, op == OP_VTRANSPOSE ? TYPE_F16 : TYPE_F32);

    switch (op) {
    case OP_VCOPY:
        c.vec_copy = (struct cmd_vec_copy){c.head, DST, 0, 1, 1, 8, 8, 2};
        break;
    case OP_VDUP:
    case OP_VCI:
        c.vec_fill = (struct cmd_vec_fill){c.head, DST, 0, 1, 8, 2};
        break;
    case OP_VBRCB:
        c.vec_brcb = (struct cmd_vec_brcb){c.head, DST, 0, 1, 8, 2};
        break;
    case OP_VTRANSPOSE:
        c.vec_transpose = (struct cmd_vec_transpose){c.head, DST, 0};
        break;
    case OP_VTRANSDATA:
        c.vec_transdata = (struct cmd_vec_transdata){c.head, 16, 1, 2};
        break;
    case OP_VINTLV:
    case OP_VDINTLV:
        c.vec_intlv = (struct cmd_vec_intlv){c.head, DST, DST + 4096, 0, SRC1, 100};
        break;
    case OP_VREDUCEV2:
        c.vec_squeeze = (struct cmd_vec_squeeze){c.head, DST, 0, SRC1, 1, 8, 1, 2, 0};
        break;
    case OP_GET_COUNT:
        c = rig_command(op, TYPE_NONE);
        break;
    case OP_VGATHER:
    case OP_VSCATTER:
        c.vec_gather = (struct cmd_vec_gather){c.head, DST, 0, SRC1, 8, 2};
        break;
    case OP_VGATHERB:
        c.vec_gatherb = (struct cmd_vec_gatherb){c.head, DST, 0, SRC1, 1, 8, 2};
        break;
    case OP_VSORT32:
        c.vec_sort = (struct cmd_vec_sort){c.head, DST, 0, SRC1, 2};
        break;
    case OP_VMRGSORT:
        c.vec_merge =
            (struct cmd_vec_merge){c.head, DST, 0, 256, 512, 768, 32, 32, 32, 32, 15, 2};
        break;
    default:
        c.vec_reduce = (struct cmd_vec_reduce){c.head, DST, 0, 1, 1, 8, 2};
        break;
    }
    return c;
}

/* clang-format off */
static const struct rule rules[] = {
    {"reduce_type", OP_VCADD, WRONG(head, type, TYPE_S32, TYPE)},
    {"reduce_source_between_blocks", OP_VCADD, WRONG(vec_reduce, src, 4, ALIGN)},
    {"sum_between_elements", OP_VCADD, WRONG(vec_reduce, dst, DST + 2, ALIGN)},
    {"pair_of_value_and_index_unaligned", OP_VCMAX, WRONG(vec_reduce, dst, DST + 4, ALIGN)},
    {"block_sums_unaligned", OP_VCGADD, WRONG(vec_reduce, dst, DST + 16, ALIGN)},
    {"pair_sums_unaligned", OP_VCPADD, WRONG(vec_reduce, dst, DST + 8, ALIGN)},
    {"two_orders_at_once", OP_VCMIN, WRONG(head, flags, 3, FLAGS)},
    {"sum_has_no_order", OP_VCADD, WRONG(head, flags, 1, FLAGS)},
    {"reduce_source_beyond_ub", OP_VCADD, WRONG(vec_reduce, src, UB - 480, BOUNDS)},
    {"reduce_destination_beyond_ub", OP_VCADD, WRONG(vec_reduce, dst, UB - 4, BOUNDS)},
    {"results_on_one_another", OP_VCADD,
     TELLS(vec_reduce, dst_rep, 0, OVERLAP, vec_reduce, dst)},
    {"results_in_the_source", OP_VCADD, TELLS(vec_reduce, dst, 32, OVERLAP, vec_reduce, src)},
    {"copy_type", OP_VCOPY, WRONG(head, type, TYPE_S8, TYPE)},
    {"copy_unaligned", OP_VCOPY, WRONG(vec_copy, dst, DST + 4, ALIGN)},
    {"copy_from_between_blocks", OP_VCOPY, WRONG(vec_copy, src, 4, ALIGN)},
    {"copy_shifted", OP_VCOPY, TELLS(vec_copy, dst, 32, OVERLAP, vec_copy, src)},
    {"copy_onto_itself", OP_VCOPY, TELLS(vec_copy, dst_blk, 0, OVERLAP, vec_copy, dst)},
    {"copy_from_beyond_ub", OP_VCOPY, WRONG(vec_copy, src, UB - 480, BOUNDS)},
    {"copy_to_beyond_ub", OP_VCOPY, TELLS(vec_copy, dst_rep, 65535, BOUNDS, vec_copy, dst)},
    {"fill_unaligned", OP_VDUP, WRONG(vec_fill, dst, 2, ALIGN)},
    {"fill_onto_itself", OP_VDUP, TELLS(vec_fill, dst_rep, 7, OVERLAP, vec_fill, dst)},
    {"fill_beyond_ub", OP_VDUP, WRONG(vec_fill, dst, UB - 480, BOUNDS)},
    {"number_type", OP_VCI, WRONG(head, type, TYPE_BF16, TYPE)},
    {"number_beyond_ub", OP_VCI, WRONG(vec_fill, dst, UB - 480, BOUNDS)},
    {"broadcast_unaligned", OP_VBRCB, WRONG(vec_brcb, src, 4, ALIGN)},
    {"broadcast_into_its_source", OP_VBRCB, TELLS(vec_brcb, dst, 32, OVERLAP, vec_brcb, src)},
    {"broadcast_onto_itself", OP_VBRCB, TELLS(vec_brcb, dst_rep, 3, OVERLAP, vec_brcb, dst)},
    {"broadcast_from_beyond_ub", OP_VBRCB, WRONG(vec_brcb, src, UB - 32, BOUNDS)},
    {"broadcast_beyond_ub", OP_VBRCB, WRONG(vec_brcb, dst, UB - 480, BOUNDS)},
    {"transpose_type", OP_VTRANSPOSE, WRONG(head, type, TYPE_F32, TYPE)},
    {"transpose_unaligned", OP_VTRANSPOSE, WRONG(vec_transpose, dst, DST + 2, ALIGN)},
    {"transpose_shifted", OP_VTRANSPOSE,
     TELLS(vec_transpose, dst, 480, OVERLAP, vec_transpose, src)},
    {"transpose_from_beyond_ub", OP_VTRANSPOSE, WRONG(vec_transpose, src, UB - 480, BOUNDS)},
    {"transpose_beyond_ub", OP_VTRANSPOSE, WRONG(vec_transpose, dst, UB - 480, BOUNDS)},
    {"halves_of_wide_types", OP_VTRANSDATA, WRONG(head, flags, 1, FLAGS)},
    {"block_written_twice", OP_VTRANSDATA, WRONG(vec_transdata, dst_rep, 15, OVERLAP)},
    {"block_written_and_read", OP_VTRANSDATA, WRONG(vec_transdata, src_rep, DST / 32, OVERLAP)},
    {"block_beyond_ub", OP_VTRANSDATA, WRONG(vec_transdata, dst_rep, 6144 - 2048 - 15, BOUNDS)},
    {"block_far_beyond_ub", OP_VTRANSDATA, WRONG(vec_transdata, dst_rep, 30000, BOUNDS)},
    {"block_from_beyond_ub", OP_VTRANSDATA, WRONG(vec_transdata, src_rep, 6144 - 15, BOUNDS)},
    {"interleave_unaligned", OP_VINTLV, WRONG(vec_intlv, src1, 8, ALIGN)},
    {"interleave_into_one", OP_VINTLV, WRONG(vec_intlv, dst1, DST + 384, OVERLAP)},
    {"interleave_into_a_source", OP_VINTLV,
     TELLS(vec_intlv, dst1, 32, OVERLAP, vec_intlv, src0)},
    {"interleave_too_many", OP_VINTLV, WRONG(vec_intlv, count, 262145, RANGE)},
    {"interleave_from_beyond_ub", OP_VINTLV, WRONG(vec_intlv, src1, UB - 384, BOUNDS)},
    {"interleave_beyond_ub", OP_VINTLV, WRONG(vec_intlv, dst1, UB - 384, BOUNDS)},
    {"deinterleave_odd_count", OP_VDINTLV, WRONG(vec_intlv, count, 99, RANGE)},
    {"pattern_above_its_range", OP_VREDUCEV2, WRONG(vec_squeeze, pattern, 8, RANGE)},
    {"pattern_and_bits", OP_VREDUCEV2,
     TELLS(vec_squeeze, pattern, 1, RANGE, vec_squeeze, bits)},
    {"compaction_into_its_source", OP_VREDUCEV2,
     TELLS(vec_squeeze, dst, 32, OVERLAP, vec_squeeze, src)},
    {"compaction_into_its_bits", OP_VREDUCEV2,
     TELLS(vec_squeeze, dst, SRC1, OVERLAP, vec_squeeze, bits)},
    {"compaction_from_beyond_ub", OP_VREDUCEV2, WRONG(vec_squeeze, src, UB - 480, BOUNDS)},
    {"bits_beyond_ub", OP_VREDUCEV2, WRONG(vec_squeeze, bits, UB - 32, BOUNDS)},
    {"compaction_behind_ub", OP_VREDUCEV2, WRONG(vec_squeeze, dst, UB + 32, BOUNDS)},
    {"count_unaligned", OP_GET_COUNT, WRONG(get_count, dst, 8, ALIGN)},
    {"count_beyond_ub", OP_GET_COUNT, WRONG(get_count, dst, UB, BOUNDS)},
    {"gather_unaligned", OP_VGATHER, WRONG(vec_gather, offsets, SRC1 + 4, ALIGN)},
    {"gather_into_its_offsets", OP_VGATHER,
     TELLS(vec_gather, dst, SRC1 + 32, OVERLAP, vec_gather, offsets)},
    {"gather_onto_itself", OP_VGATHER, TELLS(vec_gather, dst_rep, 7, OVERLAP, vec_gather, dst)},
    {"gather_from_behind_ub", OP_VGATHER, WRONG(vec_gather, src, UB, BOUNDS)},
    {"offsets_beyond_ub", OP_VGATHER, WRONG(vec_gather, offsets, UB - 480, BOUNDS)},
    {"gather_to_beyond_ub", OP_VGATHER, WRONG(vec_gather, dst, UB - 480, BOUNDS)},
    {"blocks_into_their_offsets", OP_VGATHERB,
     TELLS(vec_gatherb, dst, SRC1 - 32, OVERLAP, vec_gatherb, offsets)},
    {"blocks_onto_themselves", OP_VGATHERB,
     TELLS(vec_gatherb, dst_blk, 0, OVERLAP, vec_gatherb, dst)},
    {"block_offsets_beyond_ub", OP_VGATHERB, WRONG(vec_gatherb, offsets, UB - 32, BOUNDS)},
    {"blocks_beyond_ub", OP_VGATHERB, WRONG(vec_gatherb, dst, UB - 480, BOUNDS)},
    {"scatter_to_behind_ub", OP_VSCATTER, WRONG(vec_scatter, dst, UB, BOUNDS)},
    {"scatter_from_beyond_ub", OP_VSCATTER, WRONG(vec_scatter, src, UB - 480, BOUNDS)},
    {"scatter_offsets_beyond_ub", OP_VSCATTER, WRONG(vec_scatter, offsets, UB - 480, BOUNDS)},
    {"sort_type", OP_VSORT32, WRONG(head, type, TYPE_S32, TYPE)},
    {"sort_into_its_values", OP_VSORT32, TELLS(vec_sort, dst, 224, OVERLAP, vec_sort, src)},
    {"sort_into_its_indices", OP_VSORT32, TELLS(vec_sort, dst, SRC1, OVERLAP, vec_sort, index)},
    {"sort_from_beyond_ub", OP_VSORT32, WRONG(vec_sort, src, UB - 224, BOUNDS)},
    {"indices_beyond_ub", OP_VSORT32, WRONG(vec_sort, index, UB - 224, BOUNDS)},
    {"sort_beyond_ub", OP_VSORT32, WRONG(vec_sort, dst, UB - 480, BOUNDS)},
    {"list_too_long", OP_VMRGSORT, WRONG(vec_merge, n2, 4096, RANGE)},
    {"list_between_pairs", OP_VMRGSORT, WRONG(vec_merge, src3, 772, ALIGN)},
    {"lists_with_a_gap", OP_VMRGSORT, WRONG(vec_merge, valid, 5, RANGE)},
    {"one_list", OP_VMRGSORT, WRONG(vec_merge, valid, 1, RANGE)},
    {"repeats_of_three_lists", OP_VMRGSORT,
     TELLS(vec_merge, valid, 7, RANGE, vec_merge, repeat)},
    {"repeats_of_unequal_lists", OP_VMRGSORT,
     TELLS(vec_merge, n3, 31, RANGE, vec_merge, repeat)},
    {"repeats_of_scattered_lists", OP_VMRGSORT,
     TELLS(vec_merge, src3, 1024, RANGE, vec_merge, repeat)},
    {"repeats_that_suspend", OP_VMRGSORT, TELLS(head, flags, 1, RANGE, vec_merge, repeat)},
    {"merge_into_a_list", OP_VMRGSORT, TELLS(vec_merge, dst, 1760, OVERLAP, vec_merge, src2)},
    {"merge_beyond_ub", OP_VMRGSORT, WRONG(vec_merge, dst, UB - 2016, BOUNDS)},
};
/* clang-format on */

static void set_va(bool dst, unsigned first)
{
    union cmd c = rig_command(OP_SET_VA, TYPE_NONE);

    c.head.flags = dst;
    for (unsigned i = 0; i < 16; i++) {
        element_put(c.bytes + sizeof(struct cmd_head), i, 16, first + i);
    }
    run(c);
}

static void set_both_va(void)
{
    set_va(true, DST / 32);
    set_va(false, 0);
}

TEST(vector_refusal, rules)
{
    check_rules("vector_refusal/", rules, LENGTH(rules), good, set_both_va);
}

static union cmd good_one(enum op op)
{
    return good(&(struct rule){.op = op});
}

/* What cannot be one wrong field of a command in the ordinary mode. */
TEST(vector_refusal, other_rules)
{
    union cmd m = rig_command(OP_SET_MASK, TYPE_NONE), c = good_one(OP_VDUP);

    c.head.type = TYPE_S16;
    c.vec_fill.value = 65536;
    ok(run(c) == NPU_ERR_RANGE, "vector_refusal/value_wider_than_its_type");
    fresh();
    m.head.flags = SET_MASK_COUNTER;
    m.set_mask.lo = 30000;
    c = good_one(OP_VSCATTER);
    c.vec_scatter.offsets = 0;
    c.vec_scatter.src_rep = 0;
    run(m);
    ok(run(c) == NPU_ERR_CAPACITY, "vector_refusal/scatter_of_too_many");
    fresh();
    m.set_mask.lo = 65536;
    c = good_one(OP_VREDUCEV2);
    c.vec_squeeze.src_blk = 0;
    run(m);
    ok(run(c) == NPU_ERR_BOUNDS, "vector_refusal/compaction_of_more_than_ub");
}
