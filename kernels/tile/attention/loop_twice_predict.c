/* SPDX-License-Identifier: MIT
 *
 * What a running softmax takes: its commands in the order in which they are pushed, each of
 * which begins when its pipe is free and what it waits for has been posted. Nobody waits for
 * what comes later, so one pass tells; and that no semaphore is found empty in it shows that the
 * cores cannot wait for ever. See loop_twice.h.
 */
#include <assert.h>
#include <stdlib.h>

#include "hal/chip.h"
#include "kernels/tile/attention/loop_twice.h"

enum {
    UNITS = 8,        /* of a semaphore at most */
    WHOLE_TURNS = 64, /* of equal items so many are played, the others are as long */
    STRETCHES = 8,    /* of a part */
    SHORT = 8,        /* blocks of a batch */
};

/* Instructions of the hart, about, as counted between its pushes: for what it pushes by itself,
 * and for a run, whose turns are a store for each pipe, but for loads of the turns behind it. */
enum {
    HART_COMMAND = 40,
    HART_LOAD = 45,
    HART_AHEAD = 48,  /* to the turn whose loads come next */
    HART_QUERY = 390, /* where an item's tensors lie */
    HART_VECTOR = 47, /* before a turn's parts */
    HART_PART = 60,
    HART_PATCH = 33,
    HART_STORE = 305,
    HART_TURN = 125,
    HART_SEARCH = 40, /* for a run: of an item, of each tile that is left of it */
    HART_SEARCH_TILE = 8,
    HART_RUN = 405,
    HART_RUN_TURN = 225,
    HART_WAKES = 530, /* until it goes on when there is room again */
};

/* Commands of the Vector up to one that waits or behind one that posts. */
struct stretch {
    uint64_t cycles;
    uint32_t commands, each; /* cycles of one, about */
    struct cmd_head head;    /* its semaphores */
};
struct stretches {
    struct stretch of[STRETCHES];
    unsigned n;
    uint32_t commands, patches; /* instructions */
};

/* Where a turn of a run began. */
enum { MARKS = 4 };
struct mark {
    uint64_t at, busy[NPU_PIPES];
};

struct predictor {
    const struct loop_plan *p;
    struct loop_costs whole, tail;
    uint32_t alone[TWICE_COMMANDS][TWICE_TAILS], next[TWICE_COMMANDS][TWICE_TAILS];
    uint8_t pipe[TWICE_COMMANDS];
    uint64_t posted[TWICE_SEMS][UNITS]; /* when; a ring */
    uint8_t first[TWICE_SEMS], units[TWICE_SEMS];
    uint64_t free[NPU_PIPES], busy[NPU_PIPES];
    uint64_t hart;              /* has pushed all so far */
    uint64_t ended[PIPE_DEPTH]; /* the last commands of the Vector, a ring */
    uint32_t pushed;
    struct mark mark[MARKS];
    uint32_t known; /* turns of the run */
    uint32_t turns; /* of a run, whose commands are pushed together, that are left */
    bool on_vector; /* some of its parts are pushed */
    struct stretches part[TWICE_PARTS], look[LOOP_VARIANTS], work[LOOP_VARIANTS];
};

static inline void post(struct predictor *s, unsigned sem, unsigned n, uint64_t at)
{
    for (; n; n--) {
        assert(s->units[sem] < UNITS);
        s->posted[sem][(s->first[sem] + s->units[sem]++) % UNITS] = at;
    }
}

static inline uint64_t take(struct predictor *s, unsigned sem, unsigned n)
{
    uint64_t at = 0;

    for (; n; n--) {
        assert(s->units[sem]);
        at = later(at, s->posted[sem][s->first[sem]]);
        s->first[sem] = (uint8_t)((s->first[sem] + 1) % UNITS);
        s->units[sem]--;
    }
    return at;
}

/* A command, which takes less directly behind another. */
static void run(struct predictor *s, enum pipe pipe, const struct cmd_head *head,
                uint64_t alone, uint64_t next)
{
    uint64_t begin = later(s->free[pipe], s->hart), cycles;

    for (unsigned i = 0; i < 2 && head->wait_n[i]; i++) {
        begin = later(begin, take(s, head->wait_sem[i], head->wait_n[i]));
    }
    cycles = begin && begin == s->free[pipe] ? next : alone;
    s->busy[pipe] += cycles;
    s->free[pipe] = begin + cycles;
    for (unsigned i = 0; i < 2 && head->post_n[i]; i++) {
        post(s, head->post_sem[i], head->post_n[i], s->free[pipe]);
    }
}

static void spend(struct predictor *s, uint32_t instructions)
{
    s->hart += s->turns ? 0 : instructions;
}

static void predict_load(void *of, enum loop_command which, const struct twice_turn *t)
{
    struct predictor *s = of;
    const struct loop_cursor *c = t->work ? t->work_at : t->look_at;
    const struct loop_costs *costs = c->tile == s->p->tiles - 1 ? &s->tail : &s->whole;
    static const struct {
        uint8_t free, full;
    } sems[] = {[LOOP_LOAD_Q] = {LOOP_Q_FREE, LOOP_Q_FULL},
                [LOOP_LOAD_K] = {LOOP_K_FREE, LOOP_K_FULL},
                [LOOP_LOAD_V] = {LOOP_V_FREE, LOOP_V_FULL}};
    static const uint32_t instructions[] = {[LOOP_LOAD_Q] = HART_LOAD + HART_QUERY,
                                            [LOOP_LOAD_K] = HART_LOAD + HART_AHEAD,
                                            [LOOP_LOAD_V] = HART_LOAD};
    struct cmd_head head = {.wait_sem = {sems[which].free},
                            .wait_n = {1},
                            .post_sem = {sems[which].full},
                            .post_n = {1}};

    if (s->turns < s->p->room.ring) {
        s->hart += instructions[which];
    }
    if (which == LOOP_LOAD_Q) {
        run(s, PIPE_MTE2, &head, costs->query_floor, costs->query);
    } else {
        unsigned i = which == LOOP_LOAD_V;
        run(s, PIPE_MTE2, &head, costs->floor[i], costs->load[i]);
    }
}

static uint64_t cost_of(const struct loop_plan *p, const struct loop_costs *c,
                        enum twice_command which)
{
    switch (which) {
    case TWICE_L0_Q:
        return c->l0_q;
    case TWICE_CLEAR:
        return chip_cost(COST_L1_L0_FIXED) +
               TWICE_QUERIES * p->room.q_bytes / chip_cost(COST_GM_L1_RATE);
    case TWICE_ONES:
        return chip_cost(COST_L1_L0_FIXED);
    case TWICE_L0_BIAS:
        return chip_cost(COST_L1_BT_FIXED) + LOOP_REPEAT / chip_cost(COST_L1_BT_RATE);
    case TWICE_L0_K:
        return c->l0_k;
    case TWICE_L0_V:
        return c->l0_v;
    case TWICE_L0_P:
        return c->l0_p;
    case TWICE_MMAD_WORK:
    case TWICE_MMAD_LOOK:
        return c->mmad_s;
    case TWICE_MMAD_VALUE:
        return c->mmad_o;
    case TWICE_FIX_WORK:
    case TWICE_FIX_LOOK:
        return c->fix_s;
    case TWICE_FIX_VALUE:
        return c->fix_o;
    case TWICE_COPY_P:
        return c->copy_p;
    case TWICE_COPY_BIAS:
        return chip_cost(COST_L1_L0_FIXED) + LOOP_REPEAT / chip_cost(COST_L1_UB_RATE);
    default:
        return 1;
    }
}

static void predict_command(void *of, enum twice_command which, unsigned tail,
                            unsigned variant)
{
    struct predictor *s = of;
    const union cmd *cmd = &s->p->twice->cmd[which][tail][variant];

    spend(s, HART_COMMAND);
    run(s, (enum pipe)s->pipe[which], &cmd->head, s->alone[which][tail],
        s->next[which][tail]);
}

/* When the queue of the Vector got room for n commands. */
static uint64_t had_room(const struct predictor *s, uint32_t n)
{
    return s->ended[(s->pushed + n - 1) % PIPE_DEPTH];
}

/* As loop_wait_room(): a quarter of the queue is waited for, or as much as is pushed. */
static void wait_room(struct predictor *s, uint32_t n)
{
    n = n < PIPE_DEPTH ? n : PIPE_DEPTH;
    if (n && s->hart < had_room(s, n)) {
        s->hart = had_room(s, n > PIPE_DEPTH / 4 ? n : PIPE_DEPTH / 4) + HART_WAKES;
    }
}

static void predict_part(void *of, enum twice_part part, const struct loop_cursor *c)
{
    struct predictor *s = of;
    unsigned variant = c->which[c->tile] - 1u;
    const struct stretches *to = part == TWICE_PART_LOOK   ? &s->look[variant]
                                 : part == TWICE_PART_WORK ? &s->work[variant]
                                                           : &s->part[part];

    spend(s, HART_PART);
    if (!s->on_vector) { /* a run's other pipes have got what is theirs */
        s->hart += s->turns ? HART_RUN_TURN : HART_VECTOR;
    }
    s->on_vector = true;
    s->hart += to->patches;
    for (unsigned i = 0; i < to->n; i++) {
        const struct stretch *now = &to->of[i];
        uint64_t room =
            had_room(s, now->commands < PIPE_DEPTH ? now->commands : PIPE_DEPTH);
        wait_room(s, now->commands < LOOP_CHUNK ? now->commands : LOOP_CHUNK);
        run(s, PIPE_V, &now->head, now->cycles, now->cycles);
        s->hart = later(s->hart, room); /* which has pushed the others behind it */
        for (uint32_t left = now->commands; left-- > 0;) {
            s->ended[s->pushed++ % PIPE_DEPTH] = s->free[PIPE_V] - left * now->each;
        }
    }
}

/* A run is looked for before each turn that is of none, and when one begins for its loads too. */
static uint32_t searched(const struct twice_turn *now)
{
    return (now->look ? HART_SEARCH + HART_SEARCH_TILE * (now->look_at->steps - 1) : 0) +
           (now->work ? HART_SEARCH + HART_SEARCH_TILE * (now->work_at->steps - 1) : 0);
}

static bool predict_turn(void *of, const struct twice_turn *now, uint32_t turns)
{
    struct predictor *s = of;
    struct mark *mark = &s->mark[s->known % MARKS];
    uint32_t searches = turns < s->p->room.ring ? 1 : 2; /* which have loads in the run */

    s->turns = turns;
    s->on_vector = false;
    s->hart += turns == 0      ? HART_TURN + searched(now)
               : s->known == 0 ? HART_RUN + searches * searched(now)
                               : 0;
    mark->at = s->free[PIPE_V];
    for (unsigned i = 0; i < NPU_PIPES; i++) {
        mark->busy[i] = s->busy[i];
    }
    s->known = turns ? s->known + 1 : 0;
    return s->known > MARKS + 2;
}

/* As many turns as the last ones. */
static void predict_leap(void *of, uint32_t turns)
{
    struct predictor *s = of;
    const struct mark *last = &s->mark[(s->known + MARKS - 1) % MARKS],
                      *first = &s->mark[s->known % MARKS];
    uint64_t later = (last->at - first->at) * turns / (MARKS - 1);

    for (unsigned i = 0; i < NPU_PIPES; i++) {
        s->free[i] += s->free[i] ? later : 0;
        s->busy[i] += (last->busy[i] - first->busy[i]) * turns / (MARKS - 1);
    }
    for (unsigned i = 0; i < TWICE_SEMS * UNITS; i++) {
        s->posted[i / UNITS][i % UNITS] += later;
    }
    for (unsigned i = 0; i < PIPE_DEPTH; i++) {
        s->ended[i] += later;
    }
    s->hart += later;
    s->known = 1; /* in the middle of a run */
}

static void predict_store(void *of, const struct loop_cursor *c)
{
    struct predictor *s = of;
    const struct cmd_head fine = {.wait_sem = {LOOP_OUT_FULL}, .wait_n = {1}},
                          head = {.post_sem = {LOOP_OUT_FREE}, .post_n = {1}};

    (void)c;
    spend(s, HART_STORE);
    run(s, PIPE_MTE3, &fine, chip_cost(COST_UB_GM_FIXED), chip_cost(COST_UB_GM_FIXED));
    run(s, PIPE_MTE3, &head, s->whole.store, s->whole.store);
}

static void cut(struct stretches *to, const struct loop_part_commands *part)
{
    struct tile_costs costs;
    bool open = false;

    to->patches = HART_PATCH * part->n_patches;
    tile_costs_init(&costs);
    for (unsigned i = 0; i < part->n; i++) {
        const struct cmd_head *head = &part->cmd[i].head;
        struct stretch *now;
        if (!open || head->wait_n[0]) {
            to->of[to->n++] = (struct stretch){0};
        }
        now = &to->of[to->n - 1];
        now->cycles += tile_cost(&costs, &part->cmd[i]);
        now->commands++;
        to->commands++;
        for (unsigned j = 0; j < 2; j++) {
            if (head->wait_n[j]) {
                now->head.wait_sem[j] = head->wait_sem[j];
                now->head.wait_n[j] = head->wait_n[j];
            }
            now->head.post_sem[j] = head->post_sem[j];
            now->head.post_n[j] = head->post_n[j];
        }
        now->each = (uint32_t)(now->cycles / now->commands);
        open = head->post_n[0] == 0;
    }
}

static void begin(struct predictor *s, const struct loop_plan *p)
{
    s->p = p;
    s->whole = loop_costs(p, p->room.tile);
    s->tail = loop_costs(p, p->tail);
    for (unsigned i = 0; i < TWICE_COMMANDS; i++) {
        bool product = p->twice->cmd[i][0][0].head.opcode == OP_MMAD;
        s->pipe[i] = (uint8_t)twice_pipe((enum twice_command)i);
        for (unsigned tail = 0; tail < TWICE_TAILS; tail++) {
            uint64_t cycles = cost_of(p, tail ? &s->tail : &s->whole, (enum twice_command)i);
            s->alone[i][tail] =
                (uint32_t)(cycles + (product ? chip_cost(COST_MMAD_FIRST) : 0));
            s->next[i][tail] =
                (uint32_t)(cycles + (product ? chip_cost(COST_MMAD_NEXT) : 0));
        }
    }
    for (unsigned i = TWICE_PART_FILL_TOP; i < TWICE_PARTS; i++) {
        cut(&s->part[i], p->part[twice_parts[i]]);
    }
    for (unsigned i = 0; i < p->n_variants; i++) {
        cut(&s->look[i], p->twice->look_part[i]);
        cut(&s->work[i], p->variant[i].before);
    }
    for (unsigned i = 0; i < TWICE_EMPTY; i++) {
        post(s, twice_empty[i].sem, twice_units(p, i), 0);
    }
}

static uint64_t span(const struct predictor *s)
{
    uint64_t end = 0;

    for (unsigned i = 0; i < NPU_PIPES; i++) {
        end = later(end, s->free[i]);
    }
    return end;
}

/* Plays items of a core that has none else. */
static struct tile_cycles play(const struct loop_plan *p, uint64_t begins, uint64_t ends)
{
    static const struct twice_sink sink = {.turn = predict_turn,
                                           .leap = predict_leap,
                                           .load = predict_load,
                                           .command = predict_command,
                                           .part = predict_part,
                                           .store = predict_store};
    struct predictor *s = plan_heap(calloc(1, sizeof(*s)));
    struct tile_cycles cycles = {0};

    if (s) {
        begin(s, p);
        twice_walk(p, begins, ends, !p->twice->looks_at_all, &sink, s);
        cycles = (struct tile_cycles){span(s), s->busy[PIPE_V], s->busy[PIPE_MTE2],
                                      s->busy[PIPE_MTE3]};
    }
    free(s);
    return cycles;
}

static struct tile_cycles sum(struct tile_cycles a, struct tile_cycles b, uint64_t times,
                              struct tile_cycles minus)
{
    a.span += (b.span - minus.span) * times;
    a.v += (b.v - minus.v) * times;
    a.mte2 += (b.mte2 - minus.mte2) * times;
    a.mte3 += (b.mte3 - minus.mte3) * times;
    return a;
}

/* Batches that are short, one after the other. */
static struct tile_cycles of_batches(const struct loop_plan *p, uint64_t all)
{
    uint64_t blocks = p->form.blocks, few = SHORT / blocks * blocks;
    struct tile_cycles a = play(p, 0, few), b = play(p, 0, few + blocks);

    return sum(b, b, (all - few) / blocks - 1, a);
}

/* Items that are alike take as long as one of them in the middle of a batch; where the next batch
 * begins, looks and works have keys of their own. */
struct tile_cycles twice_predict(const struct loop_plan *p)
{
    uint64_t begin = 0, end = 0, all, few, blocks = p->form.blocks;
    struct tile_cycles a, b;

    loop_longest(p, &begin, &end);
    all = end - begin;
    few = WHOLE_TURNS / p->tiles + 2;
    if (p->form.loop->condition || all <= few + 1 || all <= 2 * SHORT) {
        return play(p, begin, end);
    }
    if (blocks <= SHORT) {
        return of_batches(p, all);
    }
    few = few < blocks - 1 ? few : blocks - 1;
    a = play(p, 0, few);
    b = play(p, 0, few + 1);
    a = sum(b, b, all - few - 1, a);
    if (p->form.items > blocks) {
        a = sum(a, play(p, blocks - 2, blocks + 2), (all - 1) / blocks, play(p, 0, 4));
    }
    return a;
}
