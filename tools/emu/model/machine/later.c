/* SPDX-License-Identifier: MIT
 *
 * Which arithmetic may be done later. A command that begins has its sources read, one that
 * ends its destination written, both as jobs of its core in the order of the events: so each
 * job finds the core's memories as it would have found them at its event, and sources are
 * read when a command begins. No job touches another core's. Not later: what GM is read for,
 * since the hart may change it (the results go to a spare stage, for the last ones may not
 * have left the stage yet); what is written to GM, since the hart may look; and what decides
 * by its data how the pipe goes on.
 *
 * Invariant: a job is given its own copy of all that the machine may change meanwhile.
 */
#include "tools/emu/model/machine/later.h"

#include "tools/emu/model/mem.h"

struct npu_job {
    const struct operation *op;       /* NULL: it stores */
    const struct operation *straight; /* not run yet: its results go where they belong */
    uint8_t pipe;
    bool early; /* it stores the results of a command that has not ended */
    uint8_t *also;
    struct op_ctx c;
    struct npu_fault fault; /* nobody's: it decides nothing */
    struct plan plan;
    union cmd cmd;
    uint64_t special[SPECIALS];
};

size_t npu_job_bytes(void)
{
    return sizeof(struct npu_job);
}

/* Results may go straight to where they belong: they are bytes side by side, and what they
 * replace is either no source or one that is read where it is written. */
static bool may_go_straight(const struct npu_job *job)
{
    const struct access *dst = &job->plan.dst;
    const struct cmd_mmad *mmad = &job->cmd.mmad;

    if (job->op->store || access_bytes(dst) != dst->row_bytes ||
        access_bytes(&job->plan.also) || job->plan.stage_bytes) {
        return false;
    }
    return dst->mem == NPU_MEM_L0A || dst->mem == NPU_MEM_L0B ||
           (job->pipe == PIPE_M && (mmad->head.flags & (MMAD_INIT | MMAD_BIAS) ||
                                    (mmad->m % 16 == 0 && mmad->n % 16 == 0)));
}

static bool overlaps(const struct access *a, const struct access *b)
{
    return a->mem == b->mem && !access_apart(a, b);
}

/* A store writes what the run of another command reads. */
static bool disturbs(const struct npu_job *store, const struct npu_job *run)
{
    bool some = false;

    for (unsigned i = 0; i < run->plan.n_src; i++) {
        some |= overlaps(&store->plan.dst, &run->plan.src[i]) ||
                overlaps(&store->plan.also, &run->plan.src[i]);
    }
    return some;
}

/* The store of what this would compute, if nothing that it reads changes before. */
static struct npu_job *its_store(const struct npu_job *run, const struct npu_crew *crew)
{
    struct npu_job *job;

    for (unsigned i = 1; (job = crew->ahead(crew->ctx, i)); i++) {
        if (job->pipe == run->pipe) {
            return job->op || job->early ? NULL : job;
        }
        if (!job->op && disturbs(job, run)) {
            return NULL;
        }
    }
    return NULL;
}

/* Of a store that is to come the run may be left until then: it needs no stage. */
void npu_job_do(void *opaque, const struct npu_crew *crew)
{
    struct npu_job *job = opaque;
    struct npu_job *store = job->op && may_go_straight(job) ? its_store(job, crew) : NULL;

    job->c.share = crew->share;
    if (store) {
        memcpy(store->c.src, job->c.src, sizeof(store->c.src));
        store->straight = job->op;
    } else if (job->op) {
        job->op->run(&job->c);
    } else if (job->straight) {
        job->c.stage = job->c.to;
        job->straight->run(&job->c);
    } else {
        later_store_now(&job->c, job->also);
    }
}

void later_store_now(const struct op_ctx *c, uint8_t *also)
{
    const struct operation *op = op_find(c->cmd->head.opcode);

    if (op->store) {
        op->store(c);
    } else {
        op_store_rows(c->to, c->stage, &c->plan->dst);
    }
    if (also) {
        op_store_rows(also, c->stage + access_bytes(&c->plan->dst), &c->plan->also);
    }
}

/* False: now is the time. */
static bool give(struct npu *n, unsigned core, unsigned pipe, const struct op_ctx *c,
                 const struct operation *op, uint8_t *also)
{
    struct npu_job *job;

    if (!n->apart) {
        return false;
    }
    job = n->host->job(n->ctx, core);
    job->op = op;
    job->straight = NULL;
    job->pipe = (uint8_t)pipe;
    job->early = !op && n->s->now < n->s->core[core].pipe[pipe].end;
    job->also = also;
    job->plan = *c->plan;
    job->cmd = *c->cmd;
    memcpy(job->special, c->special, sizeof(job->special));
    job->c = *c;
    job->c.plan = &job->plan;
    job->c.cmd = &job->cmd;
    job->c.special = job->special;
    job->c.fault = &job->fault;
    n->later[core].ticket[pipe] = n->host->give(n->ctx, core);
    return true;
}

static bool reads_gm(const struct plan *plan)
{
    bool gm = false;

    for (unsigned i = 0; i < plan->n_src; i++) {
        gm |= plan->src[i].mem == NPU_MEM_GM;
    }
    return gm;
}

/* Takes the next spare stage, when what was in it has left it. */
static void take_spare(struct npu *n, unsigned core, unsigned pipe, struct op_ctx *c)
{
    struct npu_later *l = &n->later[core];

    l->next = (uint8_t)((l->next + 1) % NPU_SPARES);
    n->host->wait(n->ctx, core, l->until[l->next]);
    l->results[pipe] = c->stage = l->spare[l->next];
}

void later_run(struct npu *n, unsigned core, unsigned pipe, struct op_ctx *c)
{
    const struct operation *op = op_find(c->cmd->head.opcode);
    bool gm = reads_gm(c->plan), now = op->decides || !c->plan->has_dst;

    n->later[core].results[pipe] = NULL;
    c->stage = n->mem[core][pipe_stage(pipe)];
    n->could += !gm && !now;
    if (n->apart && gm) {
        take_spare(n, core, pipe, c);
    } else if (n->apart && now && c->plan->n_src) {
        n->host->wait(n->ctx, core, NPU_ALL);
    }
    if (gm || now || !give(n, core, pipe, c, op, NULL)) {
        op->run(c);
    }
}

void later_store(struct npu *n, unsigned core, unsigned pipe, const struct op_ctx *c,
                 uint8_t *also)
{
    struct npu_later *l = &n->later[core];

    if (!give(n, core, pipe, c, NULL, also)) {
        later_store_now(c, also);
    } else if (l->results[pipe]) {
        l->until[l->next] = l->ticket[pipe];
    }
}

void later_wait(const struct npu *n, unsigned core, unsigned pipe)
{
    if (n->apart) {
        n->host->wait(n->ctx, core, n->later[core].ticket[pipe]);
    }
}

void npu_settle(struct npu *n)
{
    for (unsigned c = 0; c < n->s->cores; c++) {
        if (n->apart) {
            n->host->wait(n->ctx, c, NPU_ALL);
        }
        for (unsigned p = PIPE_V; p < NPU_PIPES; p++) {
            const struct plan *plan = &n->plan[c][p];
            enum npu_mem mem = pipe_stage(p);
            uint8_t *stage = n->mem[c][mem], *results = n->later[c].results[p];
            uint64_t size, used = 0;

            if (npu_mem_offset(mem)) {
                continue; /* a number without a pipe */
            }
            size = npu_mem_size((enum npu_profile)n->s->profile, mem);
            if (n->s->core[c].pipe[p].state == PIPE_RUNNING && plan->has_dst) {
                used = plan->stage_bytes ? plan->stage_bytes : plan_bytes_written(plan);
            }
            if (results) {
                memcpy(stage, results, used);
            }
            memset(stage + used, 0, size - used);
            n->later[c].results[p] = NULL;
        }
    }
}
