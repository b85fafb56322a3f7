/* SPDX-License-Identifier: MIT
 *
 * MTE1: 3-D loads, the img2col matrix of a map in L1 to L0A and L0B; how often they
 * repeat and where their reading wraps around. Source: hal/contract/mte.md, "Functional
 * model"; costs from profile.def.
 */
#include "tools/emu/model/ops/flow.h"
#include "tools/emu/model/mem.h"
#include "tools/emu/model/arith/move.h"
#include "tools/emu/model/ops/mte/mte.h"

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

/* Channels of the last block if it is not a whole one, else 0. */
static uint32_t part_channels(const struct cmd_load3d *a)
{
    return a->channels % type_c0(a->head.type);
}

/* Columns of the whole img2col matrix. */
static uint64_t all_columns(const struct cmd_load3d *a)
{
    return (uint64_t)a->channels * a->filter_h * a->filter_w;
}

/* --- special registers --- */

/* How often a command is done, and rows and columns from an iteration to the next. */
struct repeats {
    uint32_t times, rows, cols;
};

static struct repeats load3d_repeats(const struct op_ctx *c, const struct cmd_load3d *a)
{
    const uint64_t *special = c->special;
    uint32_t stride = (uint16_t)special[SPECIAL_LOAD3D_STRIDE];
    bool along_k = special[SPECIAL_LOAD3D_ALONG_K];

    return (struct repeats){(uint8_t)special[SPECIAL_LOAD3D_TIMES],
                            along_k ? 0 : stride * 16,
                            along_k ? stride * type_c0(a->head.type) : 0};
}

static void set_load3d_repeat_run(const struct op_ctx *c)
{
    const struct cmd_set_load3d_repeat *a = &c->cmd->set_load3d_repeat;

    c->special[SPECIAL_LOAD3D_STRIDE] = a->stride;
    c->special[SPECIAL_LOAD3D_TIMES] = a->times;
    c->special[SPECIAL_LOAD3D_ALONG_K] = a->mode == LOAD3D_ALONG_K;
}

const struct operation op_SET_LOAD3D_REPEAT = {.plan = op_set_plan,
                                               .run = set_load3d_repeat_run};

/* Byte of L1 behind which reading goes on at byte 0, or 0. */
static uint32_t load3d_boundary(const struct op_ctx *c)
{
    return (uint32_t)c->special[SPECIAL_LOAD3D_BOUNDARY] / 32 * 32;
}

static unsigned set_load3d_boundary_plan(const struct op_ctx *c)
{
    uint32_t bytes = c->cmd->set_load3d_boundary.bytes;

    if ((bytes && bytes < LOAD3D_BOUNDARY_MIN) || bytes > op_mem_size(c, NPU_MEM_L1)) {
        return op_fail(c, offsetof(struct cmd_set_load3d_boundary, bytes), NPU_ERR_RANGE);
    }
    return op_set_plan(c);
}

static void set_load3d_boundary_run(const struct op_ctx *c)
{
    c->special[SPECIAL_LOAD3D_BOUNDARY] = c->cmd->set_load3d_boundary.bytes;
}

const struct operation op_SET_LOAD3D_BOUNDARY = {.plan = set_load3d_boundary_plan,
                                                 .run = set_load3d_boundary_run};

/* --- rules --- */

/* Then nothing is done, whatever else the command says. */
static bool load3d_nothing(const struct cmd_load3d *a, const struct repeats *rep)
{
    return !a->map_h || !a->map_w || !a->channels || !a->k_len || !a->m_len ||
           !a->filter_h || !a->filter_w || !rep->times;
}

/* The rules between operands; 0 or an error. */
static unsigned load3d_rules(const struct op_ctx *c, const struct cmd_load3d *a,
                             const struct repeats *rep)
{
    unsigned c0 = type_c0(a->head.type), part = part_channels(a);
    uint64_t k_end = (uint64_t)a->k_start + a->k_len;
    uint64_t again = rep->times - 1;

#define BREAKS(rule, operand, code)                                                      \
    if (rule) {                                                                          \
        return op_fail(c, offsetof(struct cmd_load3d, operand), code);                   \
    }
    BREAKS(part && (c0 % part || part < (c0 == 64 ? 8 : 4)), channels, NPU_ERR_ALIGN)
    BREAKS(places_h(a) == 0, filter_h, NPU_ERR_RANGE)
    BREAKS(places_w(a) == 0, filter_w, NPU_ERR_RANGE)
    BREAKS(a->k_start % c0, k_start, NPU_ERR_ALIGN)
    BREAKS(a->k_len % c0 && k_end < all_columns(a), k_len, NPU_ERR_ALIGN)
    BREAKS(a->m_start + again * rep->rows >= (uint64_t)places_h(a) * places_w(a), m_start,
           NPU_ERR_RANGE)
    BREAKS(k_end + again * rep->cols > round_up(all_columns(a), c0), k_len, NPU_ERR_RANGE)
    BREAKS(load3d_boundary(c) && a->src >= load3d_boundary(c), src, NPU_ERR_BOUNDS)
#undef BREAKS
    return 0;
}

/* --- what is read --- */

/* An iteration, but for what it reads. */
static struct move_map load3d_map(const struct cmd_load3d *a, const struct repeats *rep,
                                  uint32_t iteration)
{
    uint32_t m_start = a->m_start + iteration * rep->rows;
    uint64_t left = (uint64_t)places_h(a) * places_w(a) - m_start;
    unsigned c0 = type_c0(a->head.type);

    return (struct move_map){
        .base = a->src,
        .wrap = MOVE_NO_WRAP,
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
        .planes = a->channels / c0,
        .narrow = part_channels(a) * 32 / c0,
        .m_start = m_start,
        .rows = a->m_len,
        .real_rows = (uint32_t)(left < a->m_len ? left : a->m_len),
        .first_block = (a->k_start + iteration * rep->cols) / c0,
        .cols = a->k_len,
    };
}

/* One more source. If it passes the boundary it counts as all that lies between its first
 * byte and its last. */
static void add_source(struct plan *plan, struct access a, uint64_t boundary)
{
    uint64_t extent = access_extent(&a);

    if (extent == 0) {
        return;
    }
    a.base = boundary ? a.base % boundary : a.base;
    if (boundary && extent > boundary - a.base) {
        uint64_t first = boundary - a.base, rest = extent - first;

        rest = rest < a.base ? rest : a.base;
        plan->src[plan->n_src++] = access_rows(a.mem, a.field, a.base, first, 1, first);
        a = access_rows(a.mem, a.field, 0, rest, rest != 0, rest);
    }
    plan->src[plan->n_src++] = a;
}

/* Whole map rows, from the first to the last that a window of an iteration touches, of
 * every plane that a column comes from. */
static void load3d_sources(const struct op_ctx *c, const struct cmd_load3d *a,
                           const struct repeats *rep)
{
    struct plan *plan = c->plan;
    struct move_map g = load3d_map(a, rep, 0), last = load3d_map(a, rep, rep->times - 1);
    uint32_t whole = g.planes * g.filter_h * g.filter_w;
    uint32_t last_m = last.m_start + last.real_rows - 1;
    uint32_t last_block =
        last.first_block + (uint32_t)div_up(last.cols, type_c0(a->head.type)) - 1;
    int64_t top = (int64_t)(g.m_start / g.out_w) * g.stride_h - g.pad_top;
    int64_t bottom = (int64_t)(last_m / g.out_w) * g.stride_h - g.pad_top +
                     (g.filter_h - 1) * g.dilation_h;
    struct access rows = {.mem = NPU_MEM_L1, .field = offsetof(struct cmd_load3d, src)};

    top = top < 0 ? 0 : top;
    bottom = bottom < g.map_h ? bottom : g.map_h - 1;
    rows.n[0] = top <= bottom ? (uint32_t)(bottom - top + 1) : 0;
    if (g.first_block < whole) {
        uint32_t place = g.filter_h * g.filter_w, c1 = g.first_block / place;
        uint32_t last_c1 = (last_block < whole ? last_block : whole - 1) / place;

        rows.n[1] = last_c1 - c1 + 1;
        rows.n[2] = 1;
        rows.row_bytes = 32 * g.map_w;
        rows.stride[0] = rows.row_bytes;
        rows.stride[1] = (uint64_t)g.map_h * rows.row_bytes;
        rows.base = move_map_plane(&g, c1) + (uint64_t)top * rows.row_bytes;
        add_source(plan, rows, load3d_boundary(c));
    }
    if (last_block >= whole) {
        rows.n[1] = rows.n[2] = 1;
        rows.row_bytes = g.narrow * g.map_w;
        rows.stride[0] = rows.row_bytes;
        rows.stride[1] = 0;
        rows.base = move_map_plane(&g, g.planes) + (uint64_t)top * rows.row_bytes;
        add_source(plan, rows, load3d_boundary(c));
    }
}

/* --- the commands --- */

/* Bytes of L0 that an iteration writes. */
static uint64_t load3d_bytes(const struct cmd_load3d *a)
{
    unsigned c0 = type_c0(a->head.type);
    bool straight = (a->head.opcode == OP_LOAD3D_L0B) == load3d_transposed(a);

    return 512 * (straight ? div_up(a->m_len, 16) * div_up(a->k_len, c0)
                           : div_up(a->m_len, c0) * div_up(a->k_len, 16));
}

static unsigned load3d_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_load3d *a = &c->cmd->load3d;
    struct repeats rep = load3d_repeats(c, a);
    bool to_l0b = a->head.opcode == OP_LOAD3D_L0B, nothing = load3d_nothing(a, &rep);
    unsigned code = nothing ? 0 : load3d_rules(c, a, &rep);
    uint64_t bytes = load3d_bytes(a);

    if (code) {
        return code;
    }
    plan->dst =
        access_rows(to_l0b ? NPU_MEM_L0B : NPU_MEM_L0A, offsetof(struct cmd_load3d, dst),
                    a->dst, 512, nothing ? 0 : (uint32_t)(bytes / 512), 512);
    plan->has_dst = true;
    if (!nothing) {
        plan->dst.n[1] = rep.times;
        plan->dst.stride[1] = rep.times > 1 ? bytes : 0;
        load3d_sources(c, a, &rep);
    }
    mte_load_cost(c, to_l0b ? COST_L1_L0B_RATE : COST_L1_L0A_RATE);
    plan->work = access_bytes(&plan->dst);
    return 0;
}

static void load3d_run(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    typedef void move_fn(void *dst, const struct move_map *g, unsigned bits);
    static move_fn *const moves[2][2] = {{move_img2zz, move_img2zz_t},
                                         {move_img2zn, move_img2zn_t}};
    const struct cmd_load3d *a = &c->cmd->load3d;
    struct repeats rep = load3d_repeats(c, a);
    unsigned bits = type_bits(a->head.type);
    uint8_t pad[32];

    mte_fill(pad, c->special[SPECIAL_PAD], bits, sizeof(pad));
    for (uint32_t i = 0; i < rep.times; i++) {
        struct move_map g = load3d_map(a, &rep, i);

        g.l1 = plan->n_src ? c->src[0] - plan->src[0].base : NULL;
        g.wrap = load3d_boundary(c) ? load3d_boundary(c) : MOVE_NO_WRAP;
        memcpy(g.pad, pad, sizeof(pad));
        moves[a->head.opcode == OP_LOAD3D_L0B][load3d_transposed(a)](
            c->stage + i * load3d_bytes(a), &g, bits);
    }
}

/* --- what it touches --- */

enum { UNIT = 4, UNITS = COST_MAX_L1_BYTES / UNIT }; /* no pixel is narrower */

/* Units of L1, a bit each. */
struct units {
    uint64_t set[UNITS / 64];
};

static void add_pixel(struct units *u, const struct move_map *g, uint64_t at,
                      unsigned width)
{
    uint64_t first = (at < g->wrap ? at : at % g->wrap) / UNIT;

    u->set[first / 64] |= ((1ull << width / UNIT) - 1) << first % 64;
}

/* The pixels of a map that the rows of the window meet at one place of the filter. */
static void add_place(struct units *u, const struct move_map *g, uint64_t plane,
                      uint32_t place, unsigned width)
{
    int64_t down = (int64_t)(place / g->filter_w) * g->dilation_h - g->pad_top;
    int64_t across = (int64_t)(place % g->filter_w) * g->dilation_w - g->pad_left;

    for (uint32_t r = 0; r < g->real_rows; r++) {
        uint32_t m = g->m_start + r;
        int64_t h = (int64_t)(m / g->out_w) * g->stride_h + down;
        int64_t w = (int64_t)(m % g->out_w) * g->stride_w + across;
        if (h >= 0 && h < g->map_h && w >= 0 && w < g->map_w) {
            add_pixel(u, g, plane + ((uint64_t)h * g->map_w + (uint64_t)w) * width,
                      width);
        }
    }
}

/* What a column block comes from: a place in a plane or, in the narrow one, several. */
static void add_block(struct units *u, const struct move_map *g, uint32_t block)
{
    uint32_t places = g->filter_h * g->filter_w, whole = g->planes * places;

    if (block < whole) {
        add_place(u, g, move_map_plane(g, block / places), block % places, 32);
        return;
    }
    for (uint32_t i = 0; i < 32 / g->narrow; i++) {
        uint32_t place = (block - whole) * (32 / g->narrow) + i;
        if (place < places) {
            add_place(u, g, move_map_plane(g, g->planes), place, g->narrow);
        }
    }
}

static void touch_units(const struct touch *t, const struct units *u)
{
    unsigned end;

    for (unsigned first = 0; first < UNITS; first = end) {
        if (first % 64 == 0 && u->set[first / 64] == 0) {
            end = first + 64;
            continue;
        }
        bool on = u->set[first / 64] >> first % 64 & 1;
        for (end = first + 1; end < UNITS && (u->set[end / 64] >> end % 64 & 1) == on;
             end++) {
        }
        if (on) {
            touch_access(t,
                         access_rows(NPU_MEM_L1, offsetof(struct cmd_load3d, src),
                                     (uint64_t)first * UNIT, (end - first) * UNIT, 1, 0),
                         TOUCH_READS);
        }
    }
}

static void load3d_touch(const struct op_ctx *c, const struct touch *t)
{
    static struct units u;
    const struct cmd_load3d *a = &c->cmd->load3d;
    struct repeats rep = load3d_repeats(c, a);

    memset(&u, 0, sizeof(u));
    for (uint32_t i = 0; i < rep.times; i++) {
        struct move_map g = load3d_map(a, &rep, i);
        uint32_t blocks = (uint32_t)div_up(a->k_len, type_c0(a->head.type));

        g.wrap = load3d_boundary(c) ? load3d_boundary(c) : MOVE_NO_WRAP;
        for (uint32_t b = 0; b < blocks; b++) {
            add_block(&u, &g, g.first_block + b);
        }
    }
    touch_units(t, &u);
    touch_access(t, c->plan->dst, TOUCH_WRITES);
}

const struct operation op_LOAD3D_L0A = {
    .plan = load3d_plan, .run = load3d_run, .touch = load3d_touch, .flow = flow_move};
const struct operation op_LOAD3D_L0B = {
    .plan = load3d_plan, .run = load3d_run, .touch = load3d_touch, .flow = flow_move};
