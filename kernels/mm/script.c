/* SPDX-License-Identifier: MIT
 *
 * Scripts of whole shares; see script.h. The hart posts nothing: of the commands that wait
 * for an empty buffer the first ones find one and do not wait, and the last ones that empty
 * one do not post, so that a script leaves each semaphore as it was.
 */
#include "kernels/mm/script.h"

#include <stdlib.h>
#include <string.h>

#include "hal/hint.h"
#include "kernels/mm/cost.h"
#include "kernels/mm/inside.h"
#include "kernels/mm/room.h"

enum { PACE = 240 /* instructions from a block to the next, nearly all of them */ };

static void take_bases(const struct mm *mm, void *c, uint64_t bases[MM_BASES])
{
    bases[MM_NO_BASE] = 0;
    bases[MM_BASE_A] = (uintptr_t)mm->a.gm;
    bases[MM_BASE_B] = (uintptr_t)mm->b.gm;
    bases[MM_BASE_BIAS] = (uintptr_t)mm->bias;
    bases[MM_BASE_SCALE] = (uintptr_t)mm->scale_words;
    bases[MM_BASE_SLOPE] = (uintptr_t)mm->slopes;
    bases[MM_BASE_C] = (uintptr_t)c;
}

static unsigned share_of(const struct mm *mm, unsigned *shares)
{
    *shares = mm->shares ? mm->shares : task_blocks();
    return mm->shares ? mm->share : task_block();
}

static bool is_of(const struct mm_script *s, const struct mm *mm)
{
    unsigned shares, share = share_of(mm, &shares);

    return s->of == mm->folded && s->share == share && s->shares == shares;
}

bool mm_script_wanted(struct mm *mm)
{
    unsigned shares, share = share_of(mm, &shares);
    uint64_t whole = mm->folded ^ ((uint64_t)(share + 1) << 32 | shares);
    bool wanted = mm->repeats || mm->room->whole == whole;

    mm->room->whole = whole;
    return wanted;
}

/* The core's script, which it keeps, or NULL. */
static struct mm_script *script_of(struct mm_room *room)
{
    if (room->script == NULL) {
        room->script = malloc(sizeof(*room->script));
        if (room->script) {
            hint_kept(room->script, sizeof(*room->script));
            room->script->state = MM_SCRIPT_NONE;
        }
    }
    return room->script;
}

void mm_script_begin(struct mm *mm, void *c)
{
    struct mm_script *s = script_of(mm->room);

    if (s == NULL || (s->state == MM_SCRIPT_TOO_LONG && is_of(s, mm))) {
        return;
    }
    s->state = MM_SCRIPT_NONE;
    s->of = mm->folded;
    s->share = share_of(mm, &s->shares);
    take_bases(mm, c, s->bases);
    memset(s->n, 0, sizeof(s->n));
    mm->writes = s;
}

/* The commands of a pipe. */
static union cmd *of_pipe(struct mm_script *s, unsigned pipe, unsigned *room)
{
    *room = PIPE_DEPTH;
    switch (pipe) {
    case PIPE_MTE2:
        return s->loads;
    case PIPE_MTE1:
        *room = MM_SCRIPT_FEEDS;
        return s->feeds;
    case PIPE_M:
        *room = MM_SCRIPT_PRODUCTS;
        return s->products;
    case PIPE_FIX:
        return s->outs;
    case PIPE_V:
        *room = MM_SCRIPT_ADDS;
        return s->adds;
    default:
        return s->stores;
    }
}

void mm_script_add(struct mm *mm, enum pipe pipe, const union cmd *cmds, unsigned n,
                   enum mm_base base)
{
    struct mm_script *s = mm->writes;
    unsigned at = s->n[pipe], room;
    union cmd *to = of_pipe(s, pipe, &room);

    if (at + n > room) {
        s->state = MM_SCRIPT_TOO_LONG;
        mm->writes = NULL;
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        to[at + i] = cmds[i];
    }
    for (unsigned i = 0; room == PIPE_DEPTH && i < n;
         i++) { /* scales go to FB on their way */
        bool gm = pipe != PIPE_FIX || cmds[i].head.opcode == OP_FIX_L0C_GM;
        s->base[pipe][at + i] = (uint8_t)(gm ? base : MM_NO_BASE);
    }
    s->n[pipe] = (uint8_t)(at + n);
}

/* Of the object's semaphores, how many units are still to be dropped. */
struct left {
    unsigned first, all;
    uint8_t n[MM_SEMS];
};

/* Takes semaphores of which something is left out of a command's pair; the other one moves
 * up. */
static void drop(struct left *left, uint8_t sem[2], uint8_t count[2])
{
    for (unsigned i = 0; i < 2 && count[i];) {
        unsigned which = sem[i] - left->first;
        if (which >= MM_SEMS || left->n[which] == 0) {
            i++;
            continue;
        }
        left->n[which]--;
        left->all--;
        if (i == 0) {
            sem[0] = sem[1];
            count[0] = count[1];
        }
        sem[1] = 0;
        count[1] = 0;
    }
}

/* Of each semaphore as many waits as buffers are free, the first ones, and as many posts, the
 * last ones; all of them are of one pipe. */
static void drop_free(struct mm_script *s, unsigned first, const uint8_t free[MM_SEMS])
{
    struct left waits = {.first = first}, posts;
    unsigned room;

    memcpy(waits.n, free, MM_SEMS);
    for (unsigned i = 0; i < MM_SEMS; i++) {
        waits.all += free[i];
    }
    posts = waits;
    for (unsigned pipe = 0; pipe < NPU_PIPES; pipe++) {
        union cmd *cmds = of_pipe(s, pipe, &room);
        for (unsigned i = 0; i < s->n[pipe] && waits.all; i++) {
            drop(&waits, cmds[i].head.wait_sem, cmds[i].head.wait_n);
        }
        for (unsigned i = s->n[pipe]; i > 0 && posts.all; i--) {
            drop(&posts, cmds[i - 1].head.post_sem, cmds[i - 1].head.post_n);
        }
    }
}

static void add_leg(struct mm_script *s, enum pipe pipe, unsigned from, unsigned n)
{
    unsigned room;
    union cmd *cmds = of_pipe(s, pipe, &room);

    if (n) {
        s->legs[s->n_legs++] = (struct mm_leg){(uint8_t)pipe, (uint8_t)n, cmds + from};
    }
}

/* First what empty queues hold, of each pipe, so that nobody waits for what is not there yet.
 * The other products go with what feeds them, two or three commands for each: by so few that
 * those in front of them have been fed. */
static void make_legs(struct mm_script *s)
{
    unsigned feeds = s->n[PIPE_MTE1], fed = mm_min(feeds, PIPE_DEPTH);
    unsigned products = s->n[PIPE_M], done = mm_min(products, PIPE_DEPTH);
    unsigned adds = s->n[PIPE_V], added = mm_min(adds, PIPE_DEPTH);

    s->n_legs = 0;
    add_leg(s, PIPE_MTE2, 0, s->n[PIPE_MTE2]);
    add_leg(s, PIPE_MTE1, 0, fed);
    add_leg(s, PIPE_M, 0, done);
    add_leg(s, PIPE_FIX, 0, s->n[PIPE_FIX]);
    add_leg(s, PIPE_V, 0, added);
    add_leg(s, PIPE_MTE3, 0, s->n[PIPE_MTE3]);
    while (fed < feeds || done < products) {
        unsigned feed = mm_min(PIPE_DEPTH, feeds - fed);
        unsigned work = mm_min(PIPE_DEPTH / 2, products - done);
        add_leg(s, PIPE_MTE1, fed, feed);
        add_leg(s, PIPE_M, done, work);
        fed += feed;
        done += work;
    }
    add_leg(s, PIPE_V, added, adds - added);
}
_Static_assert(4 + MM_SCRIPT_FEEDS / PIPE_DEPTH + 2 * MM_SCRIPT_PRODUCTS / PIPE_DEPTH <=
                   MM_SCRIPT_LEGS,
               "legs");

void mm_script_end(struct mm *mm, const uint8_t free[MM_SEMS])
{
    struct mm_script *s = mm->writes;

    drop_free(s, mm->sem, free);
    make_legs(s);
    s->tag = s->n_legs ? s->legs[0].cmds[0].head.tag : 0; /* as they were issued */
    s->state = MM_SCRIPT_KEPT;
    mm->writes = NULL;
}

/* Moves the addresses of a pipe to where the operands lie now. */
static void move(struct mm_script *s, unsigned pipe, const uint64_t by[MM_BASES])
{
    unsigned room;
    union cmd *cmds = of_pipe(s, pipe, &room);

    for (unsigned i = 0; i < s->n[pipe]; i++) {
        union cmd *cmd = &cmds[i];
        uint64_t *address = pipe == PIPE_MTE2  ? &cmd->copy_in.src
                            : pipe == PIPE_FIX ? &cmd->fix_gm.dst
                                               : &cmd->copy_out.dst;
        if (s->base[pipe][i] != MM_NO_BASE) {
            *address += by[s->base[pipe][i]];
        }
    }
}

__attribute__((noinline)) static void move_to(struct mm_script *s, const struct mm *mm,
                                              void *c)
{
    uint64_t by[MM_BASES], bases[MM_BASES];

    take_bases(mm, c, bases);
    for (unsigned i = 0; i < MM_BASES; i++) {
        by[i] = bases[i] - s->bases[i];
        s->bases[i] = bases[i];
    }
    move(s, PIPE_MTE2, by);
    move(s, PIPE_FIX, by);
    move(s, PIPE_MTE3, by);
}

/* Whether all lies where it did; few instructions, since each block begins with them. */
static bool lies_there(const struct mm_script *s, const struct mm *mm, const void *c)
{
    const uint64_t *at = s->bases;

    return ((at[MM_BASE_A] ^ (uintptr_t)mm->a.gm) |
            (at[MM_BASE_B] ^ (uintptr_t)mm->b.gm) |
            (at[MM_BASE_BIAS] ^ (uintptr_t)mm->bias) |
            (at[MM_BASE_SCALE] ^ (uintptr_t)mm->scale_words) |
            (at[MM_BASE_SLOPE] ^ (uintptr_t)mm->slopes) |
            (at[MM_BASE_C] ^ (uintptr_t)c)) == 0;
}

/* Pushes the legs. The first one, the loads, tells which tag the task's commands have; where
 * the others have it already, and there is room, they are stored as they are. Before these the
 * other blocks issue their loads, which take longer to come than the hart to come back. */
static void push(struct mm_script *s)
{
    const struct mm_leg *leg = s->legs, *end = leg + s->n_legs;
    bool tagged;

    if (leg == end) {
        return; /* a share without a tile */
    }
    (void)pipe_refresh(&task_ports[leg->pipe]); /* or the slow way is taken */
    task_issue_many((enum pipe)leg->pipe, leg->cmds, leg->n);
    tagged = s->tag == leg->cmds[0].head.tag;
    s->tag = leg->cmds[0].head.tag;
    if (task_blocks() > 1) {
        task_yield();
    }
    while (++leg < end) {
        struct pipe_port *port = &task_ports[leg->pipe];
        bool room = leg->n <= port->room || leg->n <= pipe_refresh(port);
        if (tagged && room && !port->owed) {
            pipe_store_many(port, leg->cmds, leg->n);
        } else {
            task_issue_many((enum pipe)leg->pipe, leg->cmds, leg->n);
        }
    }
}

/* Parts of k are cut for blocks that begin so far apart. Where the hart comes round sooner, since
 * the chip has more cores than have a share, all would load at one time, and those whose sums
 * are wanted first have theirs later: it waits. */
static void keep_pace(const struct mm *mm)
{
    unsigned cores = chip_cores(), blocks = mm_min(task_blocks(), mm->tiles);

    if (mm->tiling.shares) {
        blocks = mm_min(blocks, mm->tiling.shares);
    }
    if (cores <= MM_SPLIT_CORES || blocks > MM_SPLIT_CORES ||
        !mm_chained(mm, mm->parts)) {
        return;
    }
    for (unsigned i = PACE * (cores - MM_SPLIT_CORES) / MM_SPLIT_CORES / 2; i; i--) {
        __asm__ volatile("" : "+r"(i));
    }
}

bool mm_script_play(const struct mm *mm, void *c)
{
    struct mm_script *s = mm_script_of(task_core(), mm->folded);

    if (s == NULL || s->state != MM_SCRIPT_KEPT || !is_of(s, mm)) {
        return false;
    }
    if (!lies_there(s, mm, c)) {
        move_to(s, mm, c);
    }
    keep_pace(mm);
    push(s);
    (void)!task_wait_room(PIPE_FIX, PIPE_DEPTH,
                          SCHED_FOREVER); /* the others have ended */
    return true;
}
