/* SPDX-License-Identifier: MIT
 *
 * From L0C to GM; see inside.h.
 */
#include "hal/fixpipe.h"
#include "kernels/conv/inside.h"
#include "kernels/lib/share.h"

static enum quant quant_of(const struct conv *p)
{
    return p->in == TYPE_F16    ? p->out == TYPE_F16 ? QUANT_F322F16 : QUANT_NONE
           : p->out == TYPE_S8  ? QUANT_REQ8
           : p->out == TYPE_F16 ? QUANT_DEQF16
                                : QUANT_NONE;
}

/* A command that stores a piece of the unit, but for what pieces differ in. */
void conv_store_make(const struct conv_plan *l, const struct conv_unit *u, union cmd *cmd)
{
    const struct conv *p = &l->p;

    fixpipe_to_gm(cmd, p->y, 0,
                  &(struct fixpipe_tile){.type = p->in == TYPE_S8 ? TYPE_S32 : TYPE_F32,
                                         .n = u->n_count,
                                         .pitch_elems = p->o,
                                         .quant = quant_of(p),
                                         .relu = p->act == CONV_RELU ? FIX_RELU_PLAIN
                                                                     : FIX_RELU_NONE});
}

/* A piece goes to GM row by row of y, or at once where the patch has whole rows. */
void conv_store(const struct conv_plan *l, const struct conv_unit *u, uint32_t from,
                const struct conv_piece *piece, union cmd *cmd)
{
    const struct conv *p = &l->p;
    uint32_t end = piece->m + piece->m_len, count;
    uint64_t image = (uint64_t)(u->image + piece->image) * l->oh + u->row;

    cmd->fix_gm.src_c0_stride = (uint16_t)up16(piece->m_len);
    for (uint32_t m = piece->m; m < end; m += count) {
        uint64_t pixel = u->cols == l->ow
                             ? image * l->ow + m
                             : (image + m / u->cols) * l->ow + u->col + m % u->cols;
        count = u->cols == l->ow ? end - m : min_u32(u->cols - m % u->cols, end - m);
        cmd->fix_gm.src = from + (m - piece->m) * CONV_L0C_ROW;
        cmd->fix_gm.dst = (uintptr_t)conv_at(
            p->y, pixel * p->o + u->group * l->out + u->n_first, p->out);
        cmd->fix_gm.m = (uint16_t)count;
        cmd_no_sync(cmd);
        if (m == piece->m) {
            cmd_wait(cmd, CONV_C_FULL, 1);
        }
        if (m + count == end) {
            cmd_post(cmd, CONV_C_FREE, 1);
        }
        task_issue(PIPE_FIX, cmd);
    }
}

void conv_store_begin(const struct conv_share *s)
{
    const struct conv *p = &s->plan->p;
    union cmd cmd;

    if (quant_of(p) == QUANT_REQ8 || quant_of(p) == QUANT_DEQF16) {
        fixpipe_set_quant(&cmd, fixpipe_word(p->scale, p->zero, true));
        task_issue(PIPE_FIX, &cmd);
    }
}
