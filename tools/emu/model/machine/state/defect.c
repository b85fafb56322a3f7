/* SPDX-License-Identifier: MIT
 *
 * Hardware that is broken on purpose; see defect.h.
 *
 * Invariant: what a defect does follows from its description and from state alone, so a
 * broken machine repeats its run, and goes on from a snapshot, like a sound one.
 */
#include "tools/emu/model/machine/state/defect.h"

#include "tools/emu/model/mem.h"

static bool is(const struct npu_defect *d, enum npu_defect_kind kind, unsigned core)
{
    return d->kind == kind && d->core == core;
}

bool defect_dead(const struct npu_state *s, unsigned core)
{
    for (unsigned i = 0; i < s->n_defects; i++) {
        if (is(&s->defect[i], NPU_DEAD, core)) {
            return true;
        }
    }
    return false;
}

uint32_t defect_slow(const struct npu_state *s, unsigned core, unsigned pipe)
{
    uint32_t times = 1;

    for (unsigned i = 0; i < s->n_defects; i++) {
        if (is(&s->defect[i], NPU_SLOW, core) && s->defect[i].what == pipe) {
            times *= s->defect[i].times;
        }
    }
    return times;
}

bool defect_stuck(const struct npu_state *s, unsigned core, unsigned sem)
{
    for (unsigned i = 0; i < s->n_defects; i++) {
        if (s->defect[i].kind == NPU_STUCK && s->defect[i].what == sem &&
            (sem >= SEM_CORE || s->defect[i].core == core)) {
            return true;
        }
    }
    return false;
}

void defect_skip(const struct npu_state *s, unsigned core, struct cmd_head *head)
{
    for (unsigned i = 0; i < s->n_defects; i++) {
        const struct npu_defect *d = &s->defect[i];
        for (unsigned k = 0;
             k < 2 && d->kind == NPU_SKIP && (d->core == NPU_CHIP || d->core == core);
             k++) {
            head->wait_n[k] = head->wait_sem[k] == d->what ? 0 : head->wait_n[k];
            head->post_n[k] = head->post_sem[k] == d->what ? 0 : head->post_n[k];
        }
    }
}

bool defect_loses_post(struct npu_state *s)
{
    bool lost = false;

    if (s->n_defects) {
        s->posts++;
    }
    for (unsigned i = 0; i < s->n_defects; i++) {
        lost |= s->defect[i].kind == NPU_DROP && s->defect[i].at == s->posts;
    }
    return lost;
}

uint64_t defect_next(const struct npu_state *s)
{
    uint64_t next = NPU_NEVER;

    for (unsigned i = 0; i < s->n_defects; i++) {
        const struct npu_defect *d = &s->defect[i];
        if (d->kind == NPU_FLIP && !d->times && d->at > s->now && d->at < next) {
            next = d->at;
        }
    }
    return next;
}

static void flip(struct npu *n, const struct npu_defect *d)
{
    uint64_t byte = d->bit / 8;
    uint8_t mask = (uint8_t)(1u << d->bit % 8), *at;

    if (d->what != NPU_MEM_GM) {
        n->mem[d->core][d->what][byte] ^= mask;
        if (n->host->mem_dirty) {
            n->host->mem_dirty(n->ctx, d->core, (enum npu_mem)d->what, (uint32_t)byte, 1);
        }
        return;
    }
    at = n->host->gm_map(n->ctx, n->s->gm_base + byte, 1, true);
    if (at) {
        *at ^= mask;
        n->host->gm_unmap(n->ctx, at, n->s->gm_base + byte, 1, true);
    }
}

void defect_flip(struct npu *n)
{
    for (unsigned i = 0; i < n->s->n_defects; i++) {
        const struct npu_defect *d = &n->s->defect[i];
        if (d->kind == NPU_FLIP && !d->times && d->at == n->s->now) {
            flip(n, d);
        }
    }
}

void defect_launch(struct npu_state *s)
{
    for (unsigned i = 0; i < s->n_defects; i++) {
        struct npu_defect *d = &s->defect[i];
        if (d->kind == NPU_FLIP && d->times) {
            d->at += s->now;
            d->times = 0;
        }
    }
}

bool defect_restored(const struct npu_state *s, const struct npu_config *config)
{
    if (s->n_defects != config->n_defects) {
        return false;
    }
    for (unsigned i = 0; i < s->n_defects; i++) {
        const struct npu_defect *a = &s->defect[i], *b = &config->defect[i];
        bool launched = b->kind == NPU_FLIP && b->times && !a->times;
        if (a->kind != b->kind || a->core != b->core || a->what != b->what ||
            a->bit != b->bit ||
            (launched ? a->at < b->at : a->times != b->times || a->at != b->at)) {
            return false;
        }
    }
    return true;
}
