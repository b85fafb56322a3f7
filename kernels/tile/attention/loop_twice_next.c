/* SPDX-License-Identifier: MIT
 *
 * The turns of a core's loop in a running softmax, one by one; the semaphores that they begin
 * with. See loop_twice.h.
 */
#include "kernels/tile/attention/loop_twice.h"

const struct twice_empty twice_empty[TWICE_EMPTY] = {
    {LOOP_Q_FREE, TWICE_QUERIES, "first factor"},
    {LOOP_K_FREE, 0, "keys"},
    {LOOP_V_FREE, 0, "values"},
    {LOOP_L0K_FREE, 1, "keys in L0"},
    {LOOP_L0V_FREE, 1, "values in L0"},
    {LOOP_CS_FREE, 1, "first product"},
    {LOOP_CO_FREE, 1, "second product"},
    {LOOP_S_FREE, 1, "first product in UB"},
    {LOOP_P_FREE, 1, "cast"},
    {LOOP_LP_FREE, 1, "cast in L1"},
    {LOOP_OUT_FREE, 1, "results"},
    {TWICE_CL_FREE, 1, "product for the maximum"},
    {TWICE_LS_FREE, 1, "product for the maximum in UB"},
    {TWICE_NEG_FREE, 1, "maximum"},
    {TWICE_BIAS_FREE, 1, "maximum in L1"},
    {TWICE_ITEM_FREE, 3, "what an item has in L0B and BT"},
};

unsigned twice_units(const struct loop_plan *p, unsigned i)
{
    return twice_empty[i].units ? twice_empty[i].units : p->room.ring;
}

const uint8_t twice_parts[TWICE_PARTS] = {
    [TWICE_PART_FILL_TOP] = LOOP_COLUMNS, [TWICE_PART_FILL_SUM] = LOOP_PLANES,
    [TWICE_PART_TOP] = LOOP_TOP,          [TWICE_PART_SUM] = LOOP_SUM,
    [TWICE_PART_OUT] = PART_END,          [TWICE_PART_ONCE] = LOOP_ONCE};

/* Of an item's tiles the first one is its last then. */
static void cut_look(struct twice_turns *t)
{
    if (t->guess) {
        t->look.steps = 1;
        t->look.last = true;
    }
}

struct twice_turns twice_begin(const struct loop_plan *p, uint64_t begin, uint64_t end,
                               bool guess)
{
    struct loop_cursor first = loop_begin(p, begin, end);
    struct twice_turns t = {.p = p, .look = first, .work = first, .guess = guess};

    cut_look(&t);
    return t;
}

bool twice_same_keys(const struct twice_turns *t)
{
    return t->look.item / t->p->form.blocks == t->work.item / t->p->form.blocks;
}

bool twice_turn(const struct twice_turns *t, struct twice_turn *turn)
{
    bool work = t->look.done || t->look.item > t->work.item;
    bool look = !t->look.done && t->look.item <= t->work.item + 1;

    if (t->work.done) {
        return false;
    }
    if (work && look && (!twice_same_keys(t) || t->look.tile != t->work.tile)) {
        /* One after the other; the maximum of the next item has the room of the one before,
         * which the first work takes. */
        look = t->look.tile <= t->work.tile && !(t->look.last && t->work.first);
        work = !look;
    }
    *turn = (struct twice_turn){look, work, &t->look, &t->work, t->number};
    return true;
}

void twice_next(struct twice_turns *t, const struct twice_turn *turn)
{
    t->number++;
    if (turn->look) {
        loop_next(t->p, &t->look);
        cut_look(t);
    }
    if (turn->work) {
        loop_next(t->p, &t->work);
    }
}
