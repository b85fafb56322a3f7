/* SPDX-License-Identifier: MIT
 *
 * Sums of a launch; see sums.h.
 */
#include "tools/emu/trace/sums.h"

static enum sums_type type_of(unsigned type)
{
    switch (type) {
    case TYPE_F32:
        return SUMS_F32;
    case TYPE_F16:
    case TYPE_BF16:
        return SUMS_F16;
    case TYPE_S32:
        return SUMS_S32;
    case TYPE_S16:
        return SUMS_S16;
    case TYPE_S8:
    case TYPE_U8:
        return SUMS_S8;
    default:
        return SUMS_MISC;
    }
}

static void written(struct pipe_sums *p, const struct npu_event *e,
                    const struct access *a)
{
    if (a) {
        p->written[a->mem] += access_bytes(a);
        if (e->n_src) {
            bool in = e->src[0].mem == NPU_MEM_GM;
            p->path[e->src[0].mem][a->mem] += access_bytes(in ? &e->src[0] : a);
        }
    }
}

void sums_ended(struct sums *s, const struct npu_event *e, const struct followed *c)
{
    struct core_sums *core = &s->core[e->core];
    struct pipe_sums *p = &core->pipe[e->pipe];
    enum sums_type type = type_of(e->cmd->head.type);

    core->first = core->last && core->first < e->begin ? core->first : e->begin;
    core->last = e->end;
    p->commands++;
    p->bytes += e->bytes_written ? e->bytes_written : e->bytes_read;
    p->ran += e->end - e->begin;
    p->shared += e->shared;
    p->waited += c->sem + c->marks + c->delay;
    p->bank_groups += e->bank_groups;
    p->banks += e->banks;
    p->hits += e->hits;
    p->misses += e->misses;
    p->typed[type] += e->end - e->begin;
    p->instructions[type]++;
    p->ops[type] += e->ops;
    for (unsigned i = 0; i < e->n_src; i++) {
        p->read[e->src[i].mem] += access_bytes(&e->src[i]);
    }
    written(p, e, e->dst);
    written(p, e, e->also);
}

bool sums_span(const struct sums *s, uint64_t *first, uint64_t *last)
{
    *first = UINT64_MAX;
    *last = 0;
    for (unsigned c = 0; c < NPU_MAX_CORES; c++) {
        const struct core_sums *core = &s->core[c];
        if (core->last) {
            *first = core->first < *first ? core->first : *first;
            *last = core->last > *last ? core->last : *last;
        }
    }
    return *last != 0;
}
