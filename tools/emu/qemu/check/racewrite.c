/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the race check has found as JSON, and what the other checks write of theirs.
 */
#include "tools/emu/qemu/check/checks.h"
#include "tools/emu/check/cure/cure.h"

struct races {
    FILE *to;
    const struct findings *findings;
    const struct race *race;
    uint64_t work; /* of looking for what races lack */
};

static const char *kind_name(const struct record *x)
{
    return x->kind == ACCESS_READ ? "read" : x->kind == ACCESS_WRITE ? "write" : "atomic";
}

static void write_buffer(FILE *to, const struct hint *b)
{
    fprintf(to,
            ",\"buffer\":{\"base\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"site\":%" PRIu64
            ",\"kind\":\"%s\",\"name\":",
            b->addr, b->bytes * b->count, b->site, npu_checks_kind(b->kind));
    npu_checks_text(to, b->name);
    if (b->kind == HINT_QUEUE) {
        fprintf(to, ",\"producer\":\"%s\",\"consumer\":\"%s\",\"free\":%u,\"full\":%u",
                b->producer ? pipe_name(b->producer) : "hart",
                b->consumer ? pipe_name(b->consumer) : "hart", b->free_sem, b->full_sem);
    }
    fprintf(to, "}");
}

void npu_checks_record(FILE *to, const char *name, const struct record *x,
                       const struct hint *buffer)
{
    const struct cmd_info *info = cmd_find(x->site.opcode);
    const struct cmd_arg *arg = info ? cmd_arg_at(info, x->field) : NULL;
    unsigned pipe = x->lane % NPU_PIPES;

    pipe = pipe == LANE_RESULTS ? PIPE_M : pipe;
    fprintf(to,
            ",\"%s\":{\"by\":\"%s\",\"core\":%u,\"command\":\"%s\","
            "\"operand\":\"%s\",\"does\":\"%s\",\"base\":%" PRIu64 ",\"bytes\":%" PRIu64
            ",\"cycle\":%" PRIu64 ",\"pc\":%" PRIu64 ",\"caller\":%" PRIu64
            ",\"tag\":%u,\"number\":%u,\"pushed\":%u,\"task\":",
            name, info ? pipe_name(pipe) : "hart", x->lane / NPU_PIPES,
            info ? info->name : "", arg ? arg->name : "", kind_name(x), x->base, x->bytes,
            x->cycle, x->site.pc, x->site.caller, x->site.tag, x->serial, x->site.pushed);
    npu_checks_text(to, x->site.task);
    if (buffer && buffer->kind) {
        write_buffer(to, buffer);
    }
    fprintf(to, "}");
}

const char *npu_checks_mem(unsigned mem)
{
    return mem == NPU_MEM_GM ? "GM" : npu_mem_name(mem);
}

/* Those that go from the first one's pipe to the second one's. */
static void write_semaphores(const struct races *r, const char *name,
                             const struct record *a, const struct record *b)
{
    uint64_t sems[SEM_COUNT / 64] = {0};
    const char *comma = "";

    race_between(r->race, a->lane, b->lane, sems);
    fprintf(r->to, ",\"%s\":[", name);
    for (unsigned i = 0; i < SEM_COUNT; i++) {
        if (sems[i / 64] >> i % 64 & 1) {
            fprintf(r->to, "%s%u", comma, i);
            comma = ",";
        }
    }
    fprintf(r->to, "]");
}

static void write_cure(struct races *r, uint32_t finding)
{
    static const char *const hows[] = {
        [CURE_TAKE] = "take",   [CURE_MORE] = "more",   [CURE_POST] = "post",
        [CURE_EARLY] = "early", [CURE_TWICE] = "twice", [CURE_FEWER] = "fewer",
        [CURE_DRAIN] = "drain", [CURE_PAIR] = "pair",   [CURE_BARRIER] = "barrier"};
    struct cure cure = cure_of(r->findings, finding, r->race, &r->work);

    if (cure.how != CURE_NONE) {
        fprintf(r->to,
                ",\"cure\":{\"how\":\"%s\",\"turned\":%s,\"some\":%s,\"semaphore\":%u"
                ",\"units\":%u",
                hows[cure.how], cure.turned ? "true" : "false",
                cure.some ? "true" : "false", cure.sem, cure.units);
        if (cure.other) {
            struct record other = {.lane = lane_of(cure.other->core, cure.other->pipe),
                                   .site = {.pc = cure.other->pc,
                                            .caller = cure.other->caller,
                                            .opcode = cure.other->opcode}};
            npu_checks_record(r->to, "other", &other, NULL);
        }
        fprintf(r->to, "}");
    }
}

static void write_finding(struct races *r, const struct finding *f)
{
    fprintf(r->to,
            "{\"class\":\"%s\",\"memory\":\"%s\",\"core\":%u,\"address\":%" PRIu64
            ",\"count\":%" PRIu64,
            f->inexact ? "order" : "race", npu_checks_mem(f->mem), f->core, f->addr,
            f->count);
    write_semaphores(r, "forth", &f->a, &f->b);
    write_semaphores(r, "back", &f->b, &f->a);
    npu_checks_record(r->to, "first", &f->a, &f->buffer_a);
    npu_checks_record(r->to, "second", &f->b, &f->buffer_b);
    write_cure(r, (uint32_t)(f - r->findings->finding));
    fprintf(r->to, "}");
}

static void write_lane(FILE *to, const char *name, unsigned lane,
                       const struct race_site *site)
{
    const struct cmd_info *info = cmd_find(site->opcode);

    fprintf(to, ",\"%s\":{\"by\":\"%s\",\"core\":%u,\"command\":\"%s\"", name,
            lane == LANE_HART ? "hart" : pipe_name(lane % NPU_PIPES), lane / NPU_PIPES,
            info ? info->name : "");
    fprintf(to, ",\"pc\":%" PRIu64 ",\"caller\":%" PRIu64 ",\"task\":", site->pc,
            site->caller);
    npu_checks_text(to, site->task);
    fprintf(to, "}");
}

void npu_races_write(FILE *to, const struct findings *f, const struct race *race,
                     uint32_t most)
{
    struct races r = {to, f, race, 0};

    for (uint32_t i = 0; i < MIN(f->n, most); i++) {
        fprintf(to, "%s\n", i ? "," : "");
        write_finding(&r, &f->finding[i]);
    }
}

void npu_races_mixed(FILE *to, const struct findings *f)
{
    for (unsigned i = 0; i < f->n_mixed; i++) {
        const struct race_mixed *m = &f->mixed[i];

        fprintf(to, "%s\n{\"class\":\"%s\",\"core\":%u,\"semaphore\":%u", i ? "," : "",
                m->takes ? "contended" : "mixed", m->core, m->sem);
        write_lane(to, "first", m->lane_a, &m->site_a);
        write_lane(to, "second", m->lane_b, &m->site_b);
        fprintf(to, "}");
    }
}
