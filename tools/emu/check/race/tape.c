/* SPDX-License-Identifier: MIT
 *
 * What was to be done, on record; see tape.h.
 */
#include "tools/emu/check/race/tape.h"

#include "tools/emu/check/race/agent.h"

enum { BYTES_MOST = 64 << 20, FIRST_ROOM = 256 };

void tape_open(struct tape *t, const struct check_host *host)
{
    *t = (struct tape){.host = host};
}

static void forget(struct tape *t, struct segment *s)
{
    const struct check_host *host = t->host;
    size_t cmds = s->cmd_room * sizeof(*s->cmd), steps = s->step_room * sizeof(*s->step),
           units = s->unit_room * sizeof(*s->units);

    if (cmds) {
        host->free(host->ctx, s->cmd, cmds);
    }
    if (steps) {
        host->free(host->ctx, s->step, steps);
    }
    if (units) {
        host->free(host->ctx, s->units, units);
    }
    t->bytes -= cmds + steps + units;
    *s = (struct segment){.broken = true};
}

void tape_close(struct tape *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        forget(t, &t->segment[i]);
    }
    if (t->segment) {
        t->host->free(t->host->ctx, t->segment, t->room * sizeof(*t->segment));
    }
    *t = (struct tape){.host = t->host};
}

/* Room for one more in an array of a segment. */
static void *room_for(struct tape *t, void *array, uint32_t n, uint32_t *room,
                      size_t each)
{
    uint32_t more = *room ? 2 * *room : FIRST_ROOM;

    if (n < *room) {
        return array;
    }
    array = host_grow(t->host, array, *room * each, more * each);
    t->bytes += (more - *room) * each;
    *room = more;
    return array;
}

static struct segment *now(struct tape *t)
{
    return &t->segment[t->n - 1];
}

uint32_t tape_keep(struct tape *t)
{
    now(t)->kept = true;
    return t->n - 1;
}

/* Goes on in the same room if nothing was found in what has been. */
static void begin(struct tape *t, const struct race *r)
{
    struct segment *s;

    if (t->n == 0 || now(t)->kept) {
        if (t->n == t->room) {
            uint32_t room = t->room ? 2 * t->room : 4;
            t->segment = host_grow(t->host, t->segment, t->room * sizeof(*t->segment),
                                   room * sizeof(*t->segment));
            t->room = room;
        }
        t->n++;
    }
    s = now(t);
    s->n_cmds = s->n_steps = s->n_units = 0;
    s->broken = false;
    s->task = t->task;
    memcpy(s->value, t->value, sizeof(s->value));
    for (unsigned c = 0; c < race_cores(r); c++) {
        for (unsigned p = 0; p < NPU_PIPES; p++) {
            s->base[lane_of(c, p)] = r->agent[c][p].serial;
        }
    }
}

/* A segment that does not fit is not looked at. */
static struct segment *writing(struct tape *t)
{
    struct segment *s = now(t);

    if (t->bytes > BYTES_MOST && !s->broken) {
        bool kept = s->kept;
        forget(t, s);
        s->kept = kept;
    }
    return s->broken ? NULL : s;
}

static void add_step(struct tape *t, const struct tape_step *step)
{
    struct segment *s = writing(t);

    if (s) {
        s->step = room_for(t, s->step, s->n_steps, &s->step_room, sizeof(*s->step));
        s->step[s->n_steps++] = *step;
    }
}

static void push(struct tape *t, const struct npu_event *e)
{
    const struct cmd_head *head = &e->cmd->head;
    unsigned at = t->queue[e->core][e->pipe].head + t->queue[e->core][e->pipe].count;
    struct segment *s = writing(t);
    struct tape_cmd *cmd;

    t->queue[e->core][e->pipe].count++;
    if (!s) {
        return;
    }
    s->cmd = room_for(t, s->cmd, s->n_cmds, &s->cmd_room, sizeof(*s->cmd));
    cmd = &s->cmd[s->n_cmds];
    *cmd = (struct tape_cmd){.pc = e->pc,
                             .caller = e->ra,
                             .opcode = head->opcode,
                             .core = (uint8_t)e->core,
                             .pipe = (uint8_t)e->pipe};
    for (unsigned i = 0; i < 2; i++) {
        cmd->wait_sem[i] = head->wait_sem[i];
        cmd->wait_n[i] = head->wait_n[i];
        cmd->post_sem[i] = head->post_sem[i];
        cmd->post_n[i] = head->post_n[i];
    }
    t->queue[e->core][e->pipe].cmd[at % PIPE_DEPTH] = s->n_cmds;
    add_step(t, &(struct tape_step){.what = TAPE_PUSH, .arg = s->n_cmds++});
}

/* Of which units of L0C it is, is known when it begins. */
static void begins(struct tape *t, const struct npu_event *e)
{
    struct segment *s = writing(t);
    unsigned head = t->queue[e->core][e->pipe].head;
    struct tape_cmd *cmd;

    if (s && e->units) {
        cmd = &s->cmd[t->queue[e->core][e->pipe].cmd[head % PIPE_DEPTH]];
        s->units = room_for(t, s->units, s->n_units, &s->unit_room, sizeof(*s->units));
        memcpy(s->units[s->n_units], e->units, sizeof(*s->units));
        cmd->units = ++s->n_units;
        cmd->unit = (uint8_t)e->unit;
    }
}

static void moves(struct tape *t, const struct npu_event *e)
{
    bool chip = e->sem_core == NPU_CHIP;

    t->value[e->sem_core][e->sem % SEM_CORE] = (uint8_t)e->value;
    if (e->pipe >= NPU_PIPES) {
        add_step(t, &(struct tape_step){
                        .what = e->what == NPU_TAKES ? TAPE_TAKE : TAPE_POST,
                        .by = e->pipe == NPU_BY_HART ? TAPE_HART : (uint8_t)e->barrier,
                        .core = (uint8_t)(e->pipe == NPU_BY_HART ? e->core
                                          : chip                 ? 0
                                                                 : e->sem_core),
                        .sem = (uint8_t)e->sem,
                        .count = (uint8_t)e->count});
    }
}

/* What is dropped is not done again. */
static void resets(struct tape *t, const struct race *r, const struct npu_event *e)
{
    now(t)->broken |= !race_settled(r);
    if (e->core == NPU_CHIP) {
        memset(t->value[NPU_CHIP], 0, sizeof(t->value[NPU_CHIP]));
        return;
    }
    if (e->pipe == NPU_BY_HART) {
        memset(t->value[e->core], 0, sizeof(t->value[e->core]));
    }
    for (unsigned p = 0; p < NPU_PIPES; p++) {
        if (e->pipe == NPU_BY_HART || e->pipe == p) {
            t->queue[e->core][p].count = 0;
        }
    }
}

void tape_event(struct tape *t, const struct race *r, const struct npu_event *e)
{
    if (t->n == 0 || (e->what == NPU_PUSHED && race_settled(r))) {
        begin(t, r);
    }
    switch (e->what) {
    case NPU_PUSHED:
        push(t, e);
        break;
    case NPU_BEGINS:
        begins(t, e);
        break;
    case NPU_ENDS:
        t->queue[e->core][e->pipe].head++;
        t->queue[e->core][e->pipe].count--;
        break;
    case NPU_TAKES:
    case NPU_POSTS:
        moves(t, e);
        break;
    case NPU_DRAINED:
        add_step(t, &(struct tape_step){.what = TAPE_DRAIN,
                                        .core = (uint8_t)e->core,
                                        .pipe = (uint8_t)e->pipe});
        break;
    case NPU_NAMES:
        t->task = e->name != 0;
        add_step(t, &(struct tape_step){.what = TAPE_TASK, .arg = t->task});
        break;
    case NPU_RESETS:
        resets(t, r, e);
        break;
    default:
        break;
    }
}
