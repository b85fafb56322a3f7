/* SPDX-License-Identifier: MIT
 *
 * Tiles back to UB for pass 2 of the fused launch, from L1 by MTE1 or from GM by MTE2. What
 * product.c and fill.c issue to these pipes says when one is due.
 */
#include "kernels/mla_prolog/tiles.h"

/* The tile t of a block may be asked for no earlier than two halves of a stripe before
 * the Cube multiplies tile t of the next block: it needs the Vector to have done pass 1
 * of that block's tile t - 1, and a pipe that waits for it must have brought the Cube
 * what that takes. Nor later: the Cube's buffers would be full. */
enum { AHEAD = 2 };

void reload_begin(struct reload *r, const struct share *s)
{
    *r = (struct reload){.s = s, .m0 = s->m_begin, .due = block_halves(s) + AHEAD};
}

static void bring_tile(struct reload *r)
{
    const struct share *s = r->s;
    union cmd cmd;

    if (s->x_slots == 0) {
        mte_gm_to_ub(&cmd, UB_XIN, work_tile(s, s->p->x, r->m0, r->t), TILE_BYTES);
    } else {
        mte_l1_to_ub(&cmd, UB_XIN, L1_X + r->slot * TILE_BYTES, TILE_BYTES);
        cmd_post(&cmd, X_FREE, 1);
        r->slot = (r->slot + 1) % s->x_slots;
    }
    cmd_wait(&cmd, XIN_FREE, 1);
    if (r->t == 0) {
        cmd_wait(&cmd, X_FULL, 1);
    }
    cmd_post(&cmd, XIN_FULL, 1);
    task_issue(s->reload, &cmd);
}

__attribute__((noinline)) static void bring_next(struct reload *r)
{
    const struct share *s = r->s;

    bring_tile(r);
    r->t++;
    r->due++;
    if (r->t == s->tiles - 1) {
        r->due += block_halves(s) - r->t;
        r->t = 0;
        r->m0 += LANES;
    }
}

void reload_until_half(struct reload *r, unsigned half)
{
    const struct share *s = r->s;

    while (s->tiles > 1 && r->m0 < s->m_end && r->due <= 2 * r->stripe + half) {
        bring_next(r);
    }
}

void reload_through(struct reload *r, uint32_t m0, uint32_t t)
{
    while (r->m0 < m0 || (r->m0 == m0 && r->t <= t)) {
        bring_next(r);
    }
}
