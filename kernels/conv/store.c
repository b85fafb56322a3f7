/* SPDX-License-Identifier: MIT
 *
 * From L0C to GM, or to UB where the Vector goes on; see inside.h.
 */
#include "hal/fixpipe.h"
#include "kernels/conv/inside.h"
#include "kernels/lib/share.h"

static enum quant quant_of(const struct conv *p)
{
    if (conv_has_tail(p)) {
        return QUANT_NONE;
    }
    if (p->in == TYPE_F16) {
        return p->out == TYPE_F16 ? QUANT_F322F16 : QUANT_NONE;
    }
    switch (p->out) {
    case TYPE_S8:
        return p->words ? QUANT_VREQ8 : QUANT_REQ8;
    case TYPE_F16:
        return p->words ? QUANT_VDEQF16 : QUANT_DEQF16;
    default:
        return QUANT_NONE;
    }
}

static bool is_scaled(const struct conv *p)
{
    return p->in == TYPE_S8 && quant_of(p) != QUANT_NONE;
}

uint8_t conv_relu(const struct conv *p)
{
    if (conv_has_tail(p)) {
        return FIX_RELU_NONE;
    }
    switch (p->act) {
    case CONV_RELU:
        return FIX_RELU_PLAIN;
    case CONV_LEAKY:
        return FIX_RELU_LEAKY;
    default:
        return FIX_RELU_NONE;
    }
}

/* A command that takes a piece of the unit out of L0C, but for what pieces differ in. */
void conv_store_make(const struct conv_plan *l, const struct conv_unit *u, union cmd *cmd)
{
    const struct conv *p = &l->p;
    struct fixpipe_tile tile = {.type = p->in == TYPE_S8 ? TYPE_S32 : TYPE_F32,
                                .n = u->n_count,
                                .pitch_elems = p->o * l->to.col_step,
                                .quant = quant_of(p),
                                .relu = conv_relu(p)};

    if (conv_has_tail(p)) {
        tile.pitch_elems = up16(u->n_count);
        fixpipe_to_ub(cmd, 0, 0, &tile);
    } else {
        tile.flags = p->limit > 0 ? FIX_L0C_GM_CLIP : 0;
        fixpipe_to_gm(cmd, p->y, 0, &tile);
    }
}

void conv_store(const struct conv_plan *l, const struct conv_unit *u, uint32_t from,
                const struct conv_piece *piece, union cmd *cmd)
{
    const struct conv *p = &l->p;
    uint32_t end = piece->m + piece->m_len;
    struct conv_run run;

    cmd->fix_gm.src_c0_stride = (uint16_t)up16(piece->m_len);
    for (uint32_t m = piece->m; m < end; m += run.count) {
        run = conv_run(l, u, piece, m, end);
        cmd->fix_gm.src = from + (m - piece->m) * CONV_L0C_ROW;
        cmd->fix_gm.dst = (uintptr_t)conv_at(
            p->y, run.pixel * p->o + u->group * l->out + u->n_first, l->out_bytes);
        cmd->fix_gm.m = (uint16_t)run.count;
        cmd_no_sync(cmd);
        if (m == piece->m) {
            cmd_wait(cmd, CONV_C_FULL, 1);
        }
        if (m + run.count == end) {
            cmd_post(cmd, CONV_C_FREE, 1);
        }
        task_issue(PIPE_FIX, cmd);
    }
}

void conv_set_relu(const struct conv *p)
{
    union cmd cmd;

    if (conv_relu(p) == FIX_RELU_LEAKY || (p->limit > 0 && !conv_has_tail(p))) {
        fixpipe_set_relu(&cmd, p->slope, p->limit);
        task_issue(PIPE_FIX, &cmd);
    }
}

void conv_store_begin(const struct conv_share *s)
{
    const struct conv *p = &s->plan->p;
    union cmd cmd;

    if (is_scaled(p) && p->words == NULL) {
        fixpipe_set_quant(&cmd, fixpipe_word(p->scale, p->zero, true));
        task_issue(PIPE_FIX, &cmd);
    }
    conv_set_relu(p);
}

void conv_words(const struct conv *p, uint64_t *words)
{
    for (uint32_t i = 0; i < p->o; i++) {
        words[i] = fixpipe_word(p->scale * p->scales[i], p->zero, true);
    }
}

/* Behind all that has used those of other columns, for the pipe is in order. */
void conv_store_words(const struct conv_share *s, uint32_t n_count)
{
    uint32_t l1 = tque_deque(s->words);
    union cmd cmd;

    fixpipe_l1_to_fb(&cmd, 0, l1, (n_count * 8 + 63) / 64 * 64);
    tque_free(s->words, l1, &cmd);
    task_issue(PIPE_FIX, &cmd);
}
