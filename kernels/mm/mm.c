/* SPDX-License-Identifier: MIT
 *
 * The Matmul object from the first tile to the last; see mm.h.
 *
 *   L1   slots of a and of b, a chunk of k each; a panel that stays has a slot for each of
 *        its chunks. Behind them two slots of bias and two of scales, where there are such.
 *   L0   two slots of a and b each, a slice of a chunk
 *   L0C  two slots: tiles in turn, or the left and the right columns of each
 *
 * Loads are issued some chunks ahead of what uses them: so many that the slots of L1 are
 * full, so few that MTE2's queue never holds loads alone that wait for commands behind them.
 */
#include "kernels/mm/mm.h"

#include <string.h>

#include "kernels/lib/share.h"
#include "kernels/mm/inside.h"
#include "kernels/mm/record.h"
#include "kernels/mm/room.h"
#include "kernels/mm/script.h"

enum {
    AHEAD = 7,
    LOADS = 4, /* of a chunk: a, b, bias, scales; */
    MOST = 5,  /* or slopes as well */
};
_Static_assert(AHEAD *LOADS < PIPE_DEPTH && (AHEAD - 1) * MOST < PIPE_DEPTH,
               "MTE2's queue holds them");

/* --- what is to be computed --- */

void mm_init(struct mm *mm, const struct mm_shape *shape, const struct mm_tiling *tiling)
{
    *mm = (struct mm){.shape = *shape, .tiled = tiling != NULL};
    mm->shape.batch = shape->batch ? shape->batch : 1;
    if (tiling) {
        mm->tiling = *tiling;
    }
}

static void set(struct mm_operand *o, const void *gm, enum type type,
                enum mm_layout layout, bool transposed, uint32_t pitch)
{
    *o = (struct mm_operand){gm, type, layout, transposed, pitch, 0, 0, false, false};
}

/* What lies in GM as rows x columns: its pitch, and what one of a batch takes, if these are
 * not told. */
static void complete(struct mm_operand *o, uint32_t rows, uint32_t columns)
{
    bool nz = o->layout == MM_NZ;

    if (o->pitch == 0) {
        o->pitch = nz ? mm_up(rows, 16) : columns;
    }
    if (o->product == 0) {
        o->product = nz ? (uint64_t)o->pitch * mm_up(columns, type_c0(o->type))
                        : (uint64_t)o->pitch * rows;
    }
}

void mm_set_a(struct mm *mm, const void *gm, enum type type, enum mm_layout layout,
              bool transposed, uint32_t pitch)
{
    const struct mm_shape *s = &mm->shape;

    set(&mm->a, gm, type, layout, transposed, pitch);
    complete(&mm->a, transposed ? s->k : s->m, transposed ? s->m : s->k);
    mm->c_type = mm->c_type ? mm->c_type : mm_sum_type(mm);
}

void mm_set_b(struct mm *mm, const void *gm, enum type type, enum mm_layout layout,
              bool transposed, uint32_t pitch)
{
    const struct mm_shape *s = &mm->shape;

    set(&mm->b, gm, type, layout, transposed, pitch);
    complete(&mm->b, transposed ? s->n : s->k, transposed ? s->k : s->n);
}

void mm_give(struct mm *mm, bool b, unsigned panels)
{
    (b ? &mm->b : &mm->a)->given = (uint8_t)panels;
    mm->in_order = true;
}

struct mm_given mm_given_slot(const struct mm *mm, const struct mm_cursor *at)
{
    uint32_t b_slot = (at->b + at->chunk) % mm->tiling.b_slots;

    return mm->a.given ? (struct mm_given){mm->l1_a + mm_a_slot(mm, at) * mm->slot_a,
                                           mm->sem + MM_A_FREE, mm->sem + MM_A_FULL}
                       : (struct mm_given){mm->l1_b + b_slot * mm->slot_b,
                                           mm->sem + MM_B_FREE, mm->sem + MM_B_FULL};
}

void mm_set_half(struct mm *mm, enum mm_half half, unsigned sem, uint32_t l1_begin,
                 uint32_t l1_bytes)
{
    mm->half = half;
    mm->sem = sem;
    mm->l1_begin = l1_begin;
    mm->l1_bytes = l1_bytes;
}

void mm_set_c(struct mm *mm, enum type type, uint32_t pitch)
{
    mm->c_type = type;
    mm->c_pitch = pitch;
}

void mm_set_bias(struct mm *mm, const void *gm)
{
    mm->bias = gm;
}

void mm_set_scale(struct mm *mm, uint64_t word, const uint64_t *gm)
{
    mm->scaled = true;
    mm->scale_word = word;
    mm->scale_words = gm;
}

void mm_set_activation(struct mm *mm, const struct mm_activation *activation)
{
    mm->act = *activation;
}

void mm_set_slopes(struct mm *mm, const float *gm)
{
    mm->act.relu = FIX_RELU_CHANNEL;
    mm->slopes = gm;
}

void mm_set_hf32(struct mm *mm, bool towards_zero)
{
    mm->cube_flags = towards_zero ? MMAD_HF32 | MMAD_HF32_ZERO : MMAD_HF32;
}

void mm_set_ring(struct mm *mm, const struct mm_ring *ring)
{
    mm->ring = *ring;
}

/* --- the first tile --- */

/* How many buffers there are of those that semaphores count as free. */
static void count_free(const struct mm *mm, uint8_t free[MM_SEMS])
{
    memset(free, 0, MM_SEMS);
    free[MM_A_FREE] = (uint8_t)mm->tiling.a_slots;
    free[MM_B_FREE] = (uint8_t)mm->tiling.b_slots;
    free[MM_L0_FREE] = MM_L0_SLOTS;
    for (unsigned c = 0; c < MM_C_SLOTS; c++) {
        free[MM_C_FREE + c] = 1;
    }
    free[MM_BIAS_FREE] = mm->bias ? MM_SMALL_SLOTS : 0;
    free[MM_SCALE_FREE] =
        (uint8_t)(((mm->scale_words != NULL) + (mm->slopes != NULL)) * MM_SMALL_SLOTS);
}

/* Nobody waits for them yet, so no task has to be woken. */
static void post_free(const struct mm *mm)
{
    uint8_t free[MM_SEMS];

    count_free(mm, free);
    for (unsigned i = 0; i < MM_SEMS; i++) {
        if (free[i]) {
            sem_post(task_core(), mm->sem + i, free[i]);
        }
    }
}

static void take_free(const struct mm *mm)
{
    uint8_t free[MM_SEMS];

    count_free(mm, free);
    for (unsigned i = 0; i < MM_SEMS; i++) {
        if (free[i]) {
            task_wait(mm->sem + i, free[i]);
        }
    }
}

static void set_fixpipe(struct mm *mm)
{
    union cmd cmd;

    if (mm->scaled && mm->scale_words == NULL) {
        fixpipe_set_quant(&cmd, mm->scale_word);
        mm_push(mm, PIPE_FIX, &cmd, 1, MM_NO_BASE);
    }
    if (mm->act.relu == FIX_RELU_LEAKY || mm->act.clip) {
        fixpipe_set_relu(&cmd, mm->act.slope, mm->act.limit);
        mm_push(mm, PIPE_FIX, &cmd, 1, MM_NO_BASE);
    }
}

static uint64_t fold_in(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 29;
}

static uint64_t fold_operand(uint64_t sum, const struct mm_operand *o)
{
    sum = fold_in(sum, (uint64_t)o->sparse << 16 | (uint64_t)o->type << 8 |
                           (uint64_t)o->layout << 1 | o->transposed);
    return fold_in(fold_in(sum, o->pitch), o->product << 1 | (o->given > 0));
}

uint64_t mm_fold(const struct mm *mm)
{
    const struct mm_tiling *t = &mm->tiling;
    const struct mm_shape *s = &mm->shape;
    uint64_t sum = fold_operand(fold_operand(mm->sem, &mm->a), &mm->b);

    sum = fold_in(sum, (uint64_t)t->m << 32 | t->n);
    sum = fold_in(sum, (uint64_t)t->columns << 32 | (uint64_t)t->rows << 31 |
                           (uint64_t)t->a_whole << 30 | t->k);
    sum =
        fold_in(sum, (uint64_t)t->slice << 32 | (uint32_t)t->a_slots << 16 | t->b_slots);
    sum = fold_in(sum, (uint64_t)mm->c_pitch << 32 | mm->l1_a);
    sum = fold_in(sum, (uint64_t)mm->c_type << 32 | mm->cube_flags);
    sum = fold_in(sum, (uint64_t)mm->act.relu << 8 | (uint64_t)mm->act.clip);
    sum =
        fold_in(sum, (uint64_t)(mm->slopes != NULL) << 4 | (uint64_t)mm->any_order << 3 |
                         (uint64_t)(mm->bias != NULL) << 2 |
                         (uint64_t)(mm->scale_words != NULL) << 1 | (uint64_t)mm->scaled);
    sum = fold_in(sum, (uint64_t)s->m << 32 | s->n);
    sum = fold_in(sum, (uint64_t)s->k << 32 | s->batch << 8 | mm->parts);
    sum = fold_in(fold_in(sum, mm->c_product ^ mm->bias_product << 32), mm->scale_word);
    sum = fold_in(sum, (uint64_t)mm->half << 32 | mm->ub_begin);
    sum = fold_in(sum, (uint64_t)f32_bits(mm->act.slope) << 32 | f32_bits(mm->act.limit));
    sum = fold_in(sum, (uint64_t)mm->ring.begin << 32 | mm->ring.bytes);
    sum = fold_in(sum, (uint64_t)mm->ring.rows << 32 | mm->ring.slots);
    return fold_in(sum, (uint64_t)mm->ring.pitch_bytes << 32 | mm->ring.free << 16 |
                            mm->ring.full);
}

/* Chunks that loads may be ahead of products. */
static uint32_t ahead_of(const struct mm *mm)
{
    const struct mm_tiling *t = &mm->tiling;
    uint32_t a = t->a_stays ? 2 : t->a_slots, b = t->b_stays ? 2 : t->b_slots;
    uint32_t most = mm->slopes || mm->b.sparse ? AHEAD - 1 : AHEAD;
    uint32_t small = mm->bias || mm->scale_words || mm->slopes
                         ? MM_SMALL_SLOTS * mm_count(mm->shape.k, t->k)
                         : most;

    return mm->in_order || mm->half
               ? mm_min(mm_min(most, small), mm_min(t->a_slots, t->b_slots))
               : mm_min(most, mm_max(a, b));
}

/* Plans and checks what was not, and takes the core's room. */
static uint32_t prepare(struct mm *mm)
{
    char why[MM_TEXT];
    int err = mm->tiled ? 0 : mm_plan(mm, task_blocks(), MM_GENERAL, why);
    uint32_t first;

    err = err || mm->checked ? err : mm_check(mm, why);
    if (err) {
        task_fail(err, SCHED_HERE, "%s", why);
    }
    mm_check_rooms(mm);
    first = mm_take_share(mm);
    mm->room = mm_room_take(task_core(), mm, mm->once ? 0 : mm->folded);
    if (mm->room == NULL) {
        task_fail(ERR_NOMEM, SCHED_HERE, "no memory for recorded commands");
    }
    return first;
}

static void begin(struct mm *mm, uint32_t first)
{
    mm->room->ring[0].tile = first;
    mm->room->ring[0].a = mm->room->ring[0].b = 0;
    if (first < mm->tile_end) {
        mm_seek(mm, &mm->room->ring[0], first, first);
    }
    mm->now = &mm->room->ring[0];
    mm->loads = mm->done = mm->l0 = mm->c = mm->out = 0;
    post_free(mm);
    set_fixpipe(mm);
    mm->most_ahead = ahead_of(mm);
    mm->begun = mm->fresh = true;
    if (mm->between) {
        mm->between(mm->arg);
    }
}

/* --- tiles --- */

static bool may_load(const struct mm *mm)
{
    return mm->loads - mm->done < mm->most_ahead &&
           mm->room->ring[mm->loads % MM_RING].tile < mm->tile_end;
}

/* The next chunk's loads; the cursor behind it takes the next place of the ring. */
static void load_chunk(struct mm *mm)
{
    const struct mm_cursor *at = &mm->room->ring[mm->loads % MM_RING];
    struct mm_cursor *next = &mm->room->ring[++mm->loads % MM_RING];

    if (mm_a_first(mm, at) && !mm->a.given) {
        mm_push_load_a(mm, at);
    }
    if (at->b_first && !mm->b.given) {
        mm_push_load_b(mm, at);
    }
    if (at->chunk == 0) {
        mm_push_load_columns(mm, at);
    }
    if (at->chunk + 1 == at->chunks && at->tile + mm->step >= mm->tile_end) {
        next->tile = mm->tile_end;
    } else {
        *next = *at;
        mm_step(mm, next);
    }
}

/* The slot of L0C in which a tile begins: halves are not of one size, the right one is in
 * its own. */
static unsigned first_slot(const struct mm *mm)
{
    return mm_in_halves(&mm->tiling) ? 0 : mm->c % MM_C_SLOTS;
}

static void multiply_chunk(struct mm *mm)
{
    uint32_t pieces = mm_columns(mm, mm->now->nt);
    uint32_t group = mm->now->chunks == 1 ? mm->group : 1;
    unsigned slot = first_slot(mm);

    for (uint32_t i = 0; i < pieces; i += group) {
        mm_push_products(mm, mm->now, i, mm_min(group, pieces - i),
                         (slot + i) % MM_C_SLOTS);
        if (may_load(mm)) {
            load_chunk(mm); /* one by one, or the Cube would wait while others load */
        }
    }
}

static void next_chunk(struct mm *mm)
{
    mm->now = &mm->room->ring[++mm->done % MM_RING];
}

bool mm_iterate(struct mm *mm)
{
    if (!mm->begun) {
        begin(mm, prepare(mm));
    } else if (mm->open) {
        task_fail(ERR_ARG, SCHED_HERE, "mm_iterate: the tile before has not been got");
    } else if (!mm->fresh && mm->now->tile < mm->tile_end) {
        next_chunk(mm);
    }
    mm->fresh = false;
    if (mm->now->tile >= mm->tile_end) {
        return false;
    }
    for (;;) {
        if (mm->loads == mm->done) {
            load_chunk(mm);
            if (task_blocks() > 1) {
                task_yield(); /* other cores begin to load too */
            }
        }
        multiply_chunk(mm);
        if (mm->between) {
            mm->between(mm->arg);
        }
        if (mm->now->chunk + 1 == mm->now->chunks) {
            break;
        }
        next_chunk(mm);
    }
    mm->open = true;
    return true;
}

/* --- the way out --- */

static void set_atomic(struct mm *mm, bool atomic)
{
    union cmd cmd;

    fixpipe_set_atomic(&cmd, atomic ? ATOMIC_ADD : ATOMIC_NONE, mm->c_type);
    mm_push(mm, PIPE_FIX, &cmd, 1, MM_NO_BASE);
}

void mm_get_c(struct mm *mm, enum mm_place place, uint64_t to, bool atomic)
{
    const struct mm_cursor *at = mm->now;

    if (!mm->open) {
        task_fail(ERR_ARG, SCHED_HERE, "mm_get_c: there is no tile");
    }
    if (mm->parts > 1 && (place != MM_GM || !(atomic || mm_chained(mm, mm->parts)))) {
        task_fail(ERR_ARG, SCHED_HERE, "mm_get_c: parts of k are added in GM%s",
                  place == MM_GM ? ", to zeros: mm_run()" : "");
    }
    if (place == MM_GM) {
        to += (at->product * mm->c_product + (uint64_t)at->m0 * mm->c_pitch + at->n0) *
              type_bits(mm->c_type) / 8;
        atomic = atomic || at->part > 0;
    }
    if (mm->half) {
        set_fixpipe(mm); /* the other object has its own */
    }
    if (atomic) {
        set_atomic(mm, true);
    }
    mm_push_out(mm, at, first_slot(mm), place, to);
    if (atomic) {
        set_atomic(mm, false);
    }
    mm->c += mm_columns(mm, at->nt);
    mm->open = false;
}

void mm_iterate_all(struct mm *mm, void *c, bool atomic)
{
    while (mm_iterate(mm)) {
        mm_get_c(mm, MM_GM, (uintptr_t)c, atomic);
    }
}

/* Each tile has its way out, each chunk a product at the least: what is clearly too much is
 * not begun. */
static bool may_be_script(const struct mm *mm, uint32_t first)
{
    uint32_t tiles = mm_tiles_from(mm, first);

    return tiles <= PIPE_DEPTH && (uint64_t)tiles * mm_count(mm->shape.k, mm->tiling.k) <=
                                      (uint64_t)MM_SCRIPT_PRODUCTS * mm->parts;
}

__attribute__((noinline)) static void run_anew(const struct mm *mm, void *c)
{
    uint8_t free[MM_SEMS];
    bool to_zeros = mm->parts > 1 && !mm_chained(mm, mm->parts);
    struct mm own;
    uint32_t first;

    own = *mm;
    own.out_base = MM_BASE_C;
    first = prepare(&own);
    if (mm_script_wanted(&own) && may_be_script(&own, first)) {
        mm_script_begin(&own, c);
    }
    begin(&own, first);
    if (to_zeros) {
        mm_clear(&own, c);
    }
    mm_iterate_all(&own, c, to_zeros);
    if (own.writes) {
        count_free(mm, free);
        mm_script_end(&own, free);
    }
    mm_end(&own);
}

/* What is played takes few instructions: others wait for the hart to begin. */
void mm_run(const struct mm *mm, void *c)
{
    if (!mm_script_play(mm, c)) {
        run_anew(mm, c);
    }
}

void mm_end(struct mm *mm)
{
    if (!mm->begun) {
        return;
    }
    task_drain(); /* or the waits would take what the commands need */
    take_free(mm);
    mm_room_give(mm->room);
    mm->begun = false;
}
