/* SPDX-License-Identifier: MIT
 *
 * Items and steps of the cores; see loop.h. Items follow each other block by block of each
 * batch, and a core has those of one stretch, with about as many steps as any other.
 */
#include "kernels/tile/attention/loop.h"

static void skip(struct loop_cursor *c)
{
    while (c->which[c->tile] == 0) {
        c->tile++;
    }
}

static void begin_item(const struct loop_plan *p, struct loop_cursor *c)
{
    c->block = (uint32_t)(c->item % p->form.blocks);
    c->which = &p->which[(uint64_t)c->block * p->tiles];
    c->steps = (uint32_t)(p->before[c->block + 1] - p->before[c->block]);
    c->tile = 0;
    skip(c);
    c->first = true;
    c->last = c->steps == 1;
}

struct loop_cursor loop_begin(const struct loop_plan *p, uint64_t begin, uint64_t end)
{
    struct loop_cursor c = {.item = begin, .left = end - begin};

    c.done = c.left == 0;
    if (!c.done) {
        begin_item(p, &c);
    }
    return c;
}

void loop_next(const struct loop_plan *p, struct loop_cursor *c)
{
    c->number++;
    if (--c->steps) {
        c->tile++;
        skip(c);
        c->first = false;
        c->last = c->steps == 1;
    } else if (--c->left == 0) {
        c->done = true;
    } else {
        c->item++;
        begin_item(p, c);
    }
}

const struct loop_variant *loop_variant(const struct loop_plan *p,
                                        const struct loop_cursor *c)
{
    return &p->variant[c->which[c->tile] - 1];
}

/* The first item that begins with that step or behind it. */
static uint64_t item_at(const struct loop_plan *p, uint64_t step)
{
    uint64_t batch = step / p->steps;
    uint32_t block = 0;

    while (p->before[block] < step % p->steps) {
        block++;
    }
    return batch * p->form.blocks + block;
}

void loop_share(const struct loop_plan *p, unsigned core, uint64_t *begin, uint64_t *end)
{
    uint64_t all = p->form.items / p->form.blocks * p->steps;

    *begin = item_at(p, all * core / p->stage.cores);
    *end = core == p->stage.cores - 1 ? p->form.items
                                      : item_at(p, all * (core + 1) / p->stage.cores);
}
