/* SPDX-License-Identifier: MIT
 *
 * MTE1: 3-D loads, the img2col matrix of a map in L1 to L0A and L0B.
 * Source: hal/contract/mte.md, "Functional model"; costs from profile.def.
 */
#include "tools/emu/model/move.h"
#include "tools/emu/model/op_mte.h"

static bool load3d_transposed(const struct cmd_load3d *a)
{
    return a->head.flags & LOAD3D_L0A_TRANSPOSE;
}

/* Places of a window along one axis, 0 if it does not fit. */
static uint32_t places(uint32_t size, uint32_t pads, uint32_t filter, uint32_t dilation,
                       uint32_t stride)
{
    uint32_t window = dilation * (filter - 1) + 1;

    return size + pads < window ? 0 : (size + pads - window) / stride + 1;
}

static uint32_t places_h(const struct cmd_load3d *a)
{
    return places(a->map_h, (uint32_t)a->pad_top + a->pad_bottom, a->filter_h,
                  a->dilation_h, a->stride_h);
}

static uint32_t places_w(const struct cmd_load3d *a)
{
    return places(a->map_w, (uint32_t)a->pad_left + a->pad_right, a->filter_w,
                  a->dilation_w, a->stride_w);
}

/* The rules between operands; 0 or an error. */
static unsigned load3d_rules(const struct cmd_load3d *a, uint8_t *field)
{
    unsigned c0 = type_c0(a->head.type);
    uint64_t k = div_up(a->channels, c0) * c0 * a->filter_h * a->filter_w;

    if (places_h(a) == 0 || places_w(a) == 0) {
        *field = places_h(a) == 0 ? offsetof(struct cmd_load3d, filter_h)
                                  : offsetof(struct cmd_load3d, filter_w);
        return NPU_ERR_RANGE;
    }
    if (a->k_start % c0 || a->k_len % c0) {
        *field = a->k_start % c0 ? offsetof(struct cmd_load3d, k_start)
                                 : offsetof(struct cmd_load3d, k_len);
        return NPU_ERR_ALIGN;
    }
    if (a->m_start >= (uint64_t)places_h(a) * places_w(a)) {
        *field = offsetof(struct cmd_load3d, m_start);
        return NPU_ERR_RANGE;
    }
    if (a->k_start + (uint64_t)a->k_len > k) {
        *field = offsetof(struct cmd_load3d, k_len);
        return NPU_ERR_RANGE;
    }
    return 0;
}

/* The command without what it reads. */
static struct move_map load3d_map(const struct cmd_load3d *a)
{
    uint64_t left = (uint64_t)places_h(a) * places_w(a) - a->m_start;

    return (struct move_map){
        .map_h = a->map_h,
        .map_w = a->map_w,
        .out_w = places_w(a),
        .filter_h = a->filter_h,
        .filter_w = a->filter_w,
        .stride_h = a->stride_h,
        .stride_w = a->stride_w,
        .dilation_h = a->dilation_h,
        .dilation_w = a->dilation_w,
        .pad_top = a->pad_top,
        .pad_left = a->pad_left,
        .m_start = a->m_start,
        .rows = a->m_len,
        .real_rows = (uint32_t)(left < a->m_len ? left : a->m_len),
        .first_block = a->k_start / type_c0(a->head.type),
        .blocks = a->k_len / type_c0(a->head.type),
    };
}

/* Whole map rows, from the first to the last that a window of the command touches, of
 * every plane that its columns come from. */
static struct access load3d_source(const struct cmd_load3d *a, struct move_map *g)
{
    uint32_t place = g->filter_h * g->filter_w, pitch = 32 * g->map_w;
    uint32_t last_m = g->m_start + g->real_rows - 1;
    int64_t top = (int64_t)(g->m_start / g->out_w) * g->stride_h - g->pad_top;
    int64_t bottom = (int64_t)(last_m / g->out_w) * g->stride_h - g->pad_top +
                     (g->filter_h - 1) * g->dilation_h;
    uint32_t last_c1 = (g->first_block + g->blocks - 1) / place;

    top = top < 0 ? 0 : top;
    bottom = bottom < g->map_h ? bottom : g->map_h - 1;
    g->src_c1 = g->first_block / place;
    g->src_h = top <= bottom ? (uint32_t)top : 0;
    return (struct access){.mem = NPU_MEM_L1,
                           .field = offsetof(struct cmd_load3d, src),
                           .row_bytes = pitch,
                           .n = {top <= bottom ? (uint32_t)(bottom - top + 1) : 0,
                                 last_c1 - g->src_c1 + 1, 1},
                           .base = a->src +
                                   ((uint64_t)g->src_c1 * g->map_h + g->src_h) * pitch,
                           .stride = {pitch, (uint64_t)g->map_h * pitch, 0}};
}

static unsigned load3d_plan(const struct op_ctx *c, const struct cmd_load3d *a,
                            bool to_l0b, struct plan *plan, uint8_t *field)
{
    unsigned code = load3d_rules(a, field);
    unsigned c0 = type_c0(a->head.type);
    bool straight = to_l0b == load3d_transposed(a);
    struct move_map g;
    uint64_t fractals = straight ? div_up(a->m_len, 16) * (a->k_len / c0)
                                 : div_up(a->m_len, c0) * div_up(a->k_len, 16);

    if (code) {
        return code;
    }
    plan->dst =
        access_rows(to_l0b ? NPU_MEM_L0B : NPU_MEM_L0A, offsetof(struct cmd_load3d, dst),
                    a->dst, 512, (uint32_t)fractals, 512);
    plan->has_dst = true;
    plan->fixed = cost(c->s, COST_L1_L0_FIXED);
    plan->rate = cost(c->s, to_l0b ? COST_L1_L0B_RATE : COST_L1_L0A_RATE);
    plan->work = access_bytes(&plan->dst);
    if (fractals) {
        g = load3d_map(a);
        plan->src[0] = load3d_source(a, &g);
        plan->n_src = 1;
    }
    return 0;
}

static struct move_map load3d_window(const struct op_ctx *c, const struct cmd_load3d *a,
                                     const uint8_t *src)
{
    struct move_map g = load3d_map(a);

    load3d_source(a, &g);
    g.src = src;
    mte_fill(g.pad, c->pipe->special[SPECIAL_PAD], type_bits(a->head.type) / 8,
             sizeof(g.pad));
    return g;
}

static unsigned load3d_l0a_plan(const struct op_ctx *c, const union cmd *cmd,
                                struct plan *plan, uint8_t *field)
{
    return load3d_plan(c, &cmd->load3d, false, plan, field);
}

static void load3d_l0a_run(const struct op_ctx *c, const union cmd *cmd,
                           const struct plan *plan, const uint8_t *const src[4],
                           uint8_t *stage)
{
    struct move_map g = load3d_window(c, &cmd->load3d, src[0]);
    unsigned esize = type_bits(cmd->head.type) / 8;

    (void)plan;
    (load3d_transposed(&cmd->load3d) ? move_img2zz_t : move_img2zz)(stage, &g, esize);
}

const struct operation op_LOAD3D_L0A = {load3d_l0a_plan, load3d_l0a_run, NULL};

static unsigned load3d_l0b_plan(const struct op_ctx *c, const union cmd *cmd,
                                struct plan *plan, uint8_t *field)
{
    return load3d_plan(c, &cmd->load3d, true, plan, field);
}

static void load3d_l0b_run(const struct op_ctx *c, const union cmd *cmd,
                           const struct plan *plan, const uint8_t *const src[4],
                           uint8_t *stage)
{
    struct move_map g = load3d_window(c, &cmd->load3d, src[0]);
    unsigned esize = type_bits(cmd->head.type) / 8;

    (void)plan;
    (load3d_transposed(&cmd->load3d) ? move_img2zn_t : move_img2zn)(stage, &g, esize);
}

const struct operation op_LOAD3D_L0B = {load3d_l0b_plan, load3d_l0b_run, NULL};
