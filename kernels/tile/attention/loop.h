/* SPDX-License-Identifier: MIT
 *
 * Private to loop_*.c: programs with a loop over tiles, two products in it and values that
 * are carried from step to step, such as attention:
 *
 *     loop t carry ...
 *         .. dot(q, k, d) ..          the first product; q has the rows, k has t
 *         .. dot(f16(p), v, t) ..     the second one; p is made of the first
 *
 * Everything is transposed, as in mla_prolog: a repeat of the Vector is LOOP_LANES rows of
 * q, so that what is the same for all keys, or for all of v's columns, is one repeat and
 * a reduction over keys adds up repeats. In UB a value is
 *
 *     LOOP_COLUMN   of rows alone: a repeat, twice, so that one of the two lies in other bank
 *                   groups than any repeat that it meets
 *     LOOP_KEYS     of rows and keys: a repeat for each key of the tile
 *     LOOP_WIDTH    of rows and v's columns: a repeat for each of these
 *
 * An item is a block of rows; its steps are the tiles of keys that `while` does not leave
 * out. The Vector's work of a step is in three parts, the second of which is that of the
 * step before, so that the Cube has time for the second product:
 *
 *     BEFORE   of this step: from the first product to what the second one is made of
 *     AFTER    of the step before: what needs the second product, or is as wide
 *     BESIDE   of this step: what is left, all of it columns
 *
 * and behind the last step of an item END. Copies of columns keep what another part reads
 * later. The commands of each part are recorded once for each variant of a tile.
 */
#ifndef KERNELS_TILE_ATTENTION_LOOP_H
#define KERNELS_TILE_ATTENTION_LOOP_H

#include "kernels/tile/attention/attention.h"
#include "kernels/tile/emit/emit.h"

enum {
    LOOP_LANES = 64,
    LOOP_REPEAT = 256, /* bytes */
    LOOP_TWICE = 2 * LOOP_REPEAT,
    LOOP_ROWS_MOST = 240, /* keys of a tile */
    LOOP_MORE = 4,        /* buffers between, at most, besides one and a half */
    LOOP_SLOTS = TILE_CARRIED + LOOP_MORE + 4,
    LOOP_COMMANDS = 160, /* of a part */
    LOOP_PATCHES = 12,
    LOOP_VARIANTS = 12,
    LOOP_MASKS = 8,
    LOOP_BATCH = TILE_DIMS,
    LOOP_STEPS = 1 << 18, /* tiles of all blocks of rows */
    LOOP_RING = 4,        /* tiles of keys in L1 */
    LOOP_INPUTS = 2,      /* operands besides the factors of products */
    LOOP_CHUNK = 16,      /* commands of the Vector that are pushed together */
    LOOP_SUMS = 2,        /* columns of ones beside v, as two repeats are a column in UB */
};

enum loop_class { LOOP_NUMBER, LOOP_COLUMN, LOOP_KEYS, LOOP_WIDTH };
enum loop_part { PART_NONE, PART_BEFORE, PART_AFTER, PART_BESIDE, PART_END, PART_COUNT };

/* The program: who is what. */
struct loop_form {
    const struct tile_kernel *k; /* lowered */
    const struct tile_loop *loop;
    uint8_t t, s, d, e; /* dimensions: keys, rows, what the first product is over, v's */
    tile_value score, value;   /* the products */
    tile_value given;          /* the cast that the second one multiplies v with */
    uint8_t q, key, v;         /* parameters */
    tile_value input[LOOP_INPUTS]; /* others, of keys */
    unsigned n_inputs;
    uint8_t batch[LOOP_BATCH]; /* the other dimensions, outermost first */
    unsigned n_batch;
    bool once;       /* all keys are one tile: loop_once() */
    bool ones;       /* then: carry[sum] is a column of the second product */
    uint8_t sum;
    uint64_t items;  /* of all batches */
    uint32_t blocks; /* of rows */
    uint8_t part[TILE_NODES + 1];
    bool early[TILE_NODES + 1]; /* what `given` is made of */
    unsigned n_notes;
    char note[PLAN_NOTES][96];
};

/* Whether a condition holds in a tile. */
enum loop_state { LOOP_SOMETIMES, LOOP_ALWAYS, LOOP_NEVER };
/* The part of the rows and the keys that is asked about. */
struct loop_window {
    uint32_t t0, t1, s0, s1; /* from .. to, both in it */
};
enum loop_state loop_holds(const struct loop_form *f, tile_value mask,
                           const struct loop_window *w);

/* How many columns the second product has besides v's. */
static inline uint32_t loop_sums(const struct loop_form *f)
{
    return f->ones ? LOOP_SUMS : 0;
}

/* A buffer of repeats in UB. */
struct loop_slot {
    uint32_t at, rows;
    enum { SLOT_SPARE, SLOT_SCORE, SLOT_VALUE, SLOT_CARRY } kind;
    uint8_t carry; /* SLOT_CARRY: of carry[] */
};

/* Blocks that a repeat of the cast is. */
static inline uint32_t loop_given_blocks(const struct loop_form *f)
{
    return LOOP_LANES * esize_of(f->k->param[f->v].type) / BLOCK;
}

/* Where all lies. */
struct loop_room {
    uint32_t tile, width; /* keys of a tile; v's columns */
    struct loop_slot slot[LOOP_SLOTS];
    unsigned n_slots;
    uint32_t given, given_rows; /* the cast: column blocks of 32 bytes, rows apart */
    uint32_t out[TILE_RESULTS], out_pitch[TILE_RESULTS]; /* bytes of a row */
    bool out_in_carried; /* the one result lies where what it is made of was carried */
    /* A tile of each input as it lies in GM, bytes of a row; of U8 that in F16. */
    uint32_t in[LOOP_INPUTS], in_pitch[LOOP_INPUTS], in_wide[LOOP_INPUTS];
    uint32_t columns, ub_end, ub_bytes; /* the rest: columns, masks, constants */
    uint32_t l1_q, l1_p, l1_k, l1_v, k_bytes, v_bytes, q_bytes, ring;
    uint32_t l0a_v, l0b_p, l0c_v;
};

/* A field of a command that says where a tile begins. */
struct loop_patch {
    uint16_t command;
    uint8_t of; /* 0: t; 1: s; 2 + i: batch[i] */
    uint32_t factor;
};

/* Commands of the Vector, one part. */
struct loop_part_commands {
    union cmd cmd[LOOP_COMMANDS];
    unsigned n;
    struct loop_patch patch[LOOP_PATCHES];
    unsigned n_patches;
    uint64_t cycles;
    /* BEFORE: when the first product and inputs are let go, when the cast begins and what it
     * takes. */
    uint64_t free_at, in_free_at, given_at, given_cycles;
};

/* A kind of tile: so many keys, and where conditions hold. */
struct loop_variant {
    uint32_t rows, states; /* of mask[] of the plan, two bits each */
    uint8_t state[TILE_NODES + 1];
    struct loop_part_commands *before;
};

/* --- emission: loop_emit.c, loop_ops.c --- */

struct loop_emit {
    const struct loop_form *f;
    const struct loop_room *room;
    const struct loop_variant *variant; /* NULL: conditions hold sometimes */
    struct loop_part_commands *to;
    struct tile_costs costs;
    bool dry;
    uint64_t cycles;
    uint16_t line;
    enum loop_part part;
    uint32_t rows; /* of keys */
    /* Of each node: where it lies; how often this part still reads it. */
    uint8_t slot[TILE_NODES + 1]; /* number + 1 */
    uint32_t column[TILE_NODES + 1];
    uint16_t uses[TILE_NODES + 1];
    tile_value holds[LOOP_SLOTS];
    int16_t first[LOOP_SLOTS], last[LOOP_SLOTS]; /* commands that touch it; -1: none */
    int16_t in_first, in_last;                   /* that touch inputs */
    uint32_t mask[TILE_NODES + 1];
    unsigned given_at;         /* the command of the cast */
    bool done[TILE_NODES + 1]; /* as part of another */
    bool leave; /* nothing is put where the score lay, which may come again */
    /* Bytes of UB that nobody has: what stays is taken from the lower end, what is of one
     * part alone from the upper one. */
    uint32_t next, low;
    uint32_t carried[TILE_LOOPS * TILE_CARRIED], saved[TILE_LOOPS * TILE_CARRIED];
    uint32_t kept[TILE_NODES + 1]; /* a column's copy for AFTER */
    struct {
        double value;
        uint32_t at;
        uint8_t type;
    } number[PLAN_CONSTANTS];
    unsigned n_numbers;
    int err;
    char why[TILE_TEXT_BYTES];
    uint16_t why_line, why_column;
};

/* An element command over repeats, whatever its format. */
struct loop_op {
    enum {
        DO_UNARY,
        DO_SCALAR,
        DO_BINARY,
        DO_CONVERT,
        DO_COMPARE,
        DO_COMPARE_SCALAR,
        DO_SELECT,
        DO_SELECT_SCALAR,
        DO_FILL
    } how;
    enum op op;
    enum type type, to;
    uint8_t detail; /* condition or rounding */
    struct vec_at dst, x, y;
    uint32_t number, bits;
};

void loop_fail(struct loop_emit *e, tile_value at, int err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void loop_put(struct loop_emit *e, union cmd *cmd);
/* n repeats. */
void loop_rows(struct loop_emit *e, const struct loop_op *op, uint32_t n);
/* The same where operand x, or with `second` y, is a column: in one command, or in two that
 * meet no conflicts. */
void loop_with_column(struct loop_emit *e, struct loop_op op, bool second, uint32_t n);
/* n repeats at x, and those at `with` and `more` unless these are 0, to one, which is put twice to
 * `column`; `spare` are places of so many repeats for what is between. */
struct loop_spare {
    uint32_t at, rows;
};
struct loop_reduction {
    enum op op;
    uint32_t x, n, with, more, column;
    struct loop_spare spare[LOOP_SLOTS + 1];
    unsigned n_spare;
};
void loop_reduce(struct loop_emit *e, const struct loop_reduction *r);
/* The first step where they lie as what is given does: *r is what is left, of which one repeat may
 * be at `more`. */
void loop_reduce_given(struct loop_emit *e, struct loop_reduction *r, uint32_t more);
/* n repeats of F16 or F32 at x, lanes for rows: rows `pitch` bytes apart at `to`. */
void loop_transpose(struct loop_emit *e, unsigned esize, uint32_t to, uint32_t pitch,
                    uint32_t x, uint32_t n);
/* Room that stays; in this part alone; two repeats full of a number. */
uint32_t loop_keep(struct loop_emit *e, uint32_t bytes);
uint32_t loop_bytes(struct loop_emit *e, uint32_t bytes);
uint32_t loop_number(struct loop_emit *e, unsigned type, double value);

/* loop_make.c: the node that another is in this variant: of a WHERE whose condition is
 * decided; operand i of a node, and how many it has in a part; repeats of a class. */
tile_value loop_real(const struct loop_emit *e, tile_value v);
tile_value loop_source(const struct loop_emit *e, const struct tile_node *n, unsigned i);
unsigned loop_sources(const struct tile_node *n);
enum loop_class loop_class(const struct loop_form *f, tile_value v);
uint32_t loop_repeats(const struct loop_emit *e, enum loop_class class);
bool loop_is_plane(const struct loop_emit *e, tile_value v);
/* x * rec(row), which rounds twice. */
bool loop_is_quotient(const struct loop_emit *e, tile_value v);
/* Where a column lies; where any value is read from. */
uint32_t loop_column_of(struct loop_emit *e, tile_value v);
struct vec_at loop_at(struct loop_emit *e, tile_value v);
/* The commands of a node of one operation over all, of an INDEX, to `dst`; of a mask and
 * of a reduction, to where these go. */
void loop_make(struct loop_emit *e, tile_value v, uint32_t dst);
void loop_index(struct loop_emit *e, tile_value v, uint32_t dst);
void loop_mask(struct loop_emit *e, tile_value v);
/* Of a reduction, with what is added or compared to it if nothing else reads it. */
void loop_sum(struct loop_emit *e, tile_value v);

/* loop_emit.c: all nodes of the part that the seeds need. */
void loop_nodes(struct loop_emit *e, const tile_value *seed, unsigned n);
/* Commands from that one on touch the buffer, of which 1 + the number is given. */
void loop_note_use(struct loop_emit *e, unsigned slot, unsigned from);

/* loop_parts.c: a part begins with nothing in its buffers; a value lies in one; commands that
 * touch one wait for it and let it go; a column or plane of one number; a result, transposed. */
void loop_part_begin(struct loop_emit *e, enum loop_part part,
                     struct loop_part_commands *to);
unsigned loop_slot_of(const struct loop_emit *e, unsigned kind, unsigned carry);
void loop_lies_in(struct loop_emit *e, tile_value v, unsigned slot);
void loop_hand_over(struct loop_emit *e, unsigned kind, unsigned full, unsigned empty);
void loop_fill(struct loop_emit *e, uint32_t to, double value, uint32_t n);
void loop_result(struct loop_emit *e, unsigned r);
/* The parts. */
void loop_emit_before(struct loop_emit *e, const struct loop_variant *v,
                      struct loop_part_commands *to);
void loop_emit_after(struct loop_emit *e, struct loop_part_commands *to);
void loop_emit_beside(struct loop_emit *e, struct loop_part_commands *to);
void loop_emit_end(struct loop_emit *e, struct loop_part_commands *to);
/* Around an item: carried columns for END, which comes when the next item has begun; what
 * carried columns and planes begin with. */
void loop_emit_saves(struct loop_emit *e, struct loop_part_commands *to);
void loop_emit_columns(struct loop_emit *e, struct loop_part_commands *to);
void loop_emit_planes(struct loop_emit *e, struct loop_part_commands *to);
/* Numbers, once. */
void loop_emit_once(struct loop_emit *e, struct loop_part_commands *to);

/* --- the rest --- */

/* Semaphores. FREE counts empty buffers, FULL filled ones. */
enum {
    LOOP_Q_FREE = 1,
    LOOP_Q_FULL,
    LOOP_K_FREE,
    LOOP_K_FULL,
    LOOP_V_FREE,
    LOOP_V_FULL,
    LOOP_L0K_FREE,
    LOOP_L0K_FULL,
    LOOP_L0V_FREE,
    LOOP_L0V_FULL,
    LOOP_CS_FREE,
    LOOP_CS_FULL,
    LOOP_CO_FREE,
    LOOP_CO_FULL,
    LOOP_S_FREE,
    LOOP_S_FULL,
    LOOP_O_FREE,
    LOOP_O_FULL,
    LOOP_P_FREE,
    LOOP_P_FULL,
    LOOP_LP_FREE,
    LOOP_LP_FULL,
    LOOP_OUT_FREE,
    LOOP_OUT_FULL,
    LOOP_X_FREE, /* inputs */
    LOOP_X_FULL,
    LOOP_SEMS,
};

int loop_form_make(struct loop_form *f, const struct tile_kernel *k,
                   struct tile_error *error);
/* It is of a part, and all that it is made of. */
void loop_mark(struct loop_form *f, tile_value v, enum loop_part part, bool early);
/* The large buffers of UB, in their order, and whether there is one between for what is as
 * wide as v. False: a memory does not hold tiles of so many keys; `why` says which. */
enum { LOOP_SCORE, LOOP_VALUE, LOOP_CARRIED, LOOP_BETWEEN, LOOP_HALF, LOOP_LARGE };
struct loop_order {
    uint8_t of[LOOP_LARGE];
    bool wide;
    uint8_t more; /* buffers between */
};
bool loop_room_make(struct loop_room *r, const struct loop_form *f, uint32_t tile,
                    const struct loop_order *order, char why[TILE_TEXT_BYTES]);

/* What the Vector does, in the order in which it is done at the least. */
enum {
    LOOP_SAVES = PART_COUNT,
    LOOP_COLUMNS,
    LOOP_PLANES,
    LOOP_ONCE,
    LOOP_TOP, /* of loop_twice.h: planes to columns */
    LOOP_SUM,
    LOOP_PARTS
};

/* A plan of a loop. */
struct loop_plan {
    struct tile_plan stage;
    struct loop_form form;
    struct loop_room room;
    struct loop_variant variant[LOOP_VARIANTS];
    unsigned n_variants, n_tried, n_masks;
    tile_value mask[LOOP_MASKS]; /* conditions that choose between values */
    uint32_t tiles, tail;        /* of keys; how many the last one has */
    uint8_t *which;   /* of each block and tile: the variant + 1; 0: left out */
    uint64_t steps;   /* of a batch */
    uint64_t *before; /* steps of the blocks before each one, and of all */
    uint32_t variant_steps[LOOP_VARIANTS];
    struct loop_part_commands *part[LOOP_PARTS];
    struct loop_core *core;   /* loop_play.c */
    struct loop_twice *twice; /* loop_twice.h; NULL: each tile is looked at once */
};
static inline struct loop_plan *loop_of(const struct tile_plan *t)
{
    return (struct loop_plan *)(uintptr_t)t;
}

void loop_explain(const struct tile_plan *t, FILE *to);

/* loop_tiles.c: conditions that choose between values, p->mask[]; what tiles there are of the
 * room's keys. */
void loop_masks(struct loop_plan *p);
void loop_tiles(struct loop_plan *p);
/* loop_once.c: the program if all keys are one tile, *to; false: it is not simpler then. */
bool loop_once(struct tile_kernel **to, const struct tile_kernel *k,
               struct tile_arena *arena);
/* loop_sums.c: nodes, results and carried values that read it. Of what is behind the loop of two
 * sums there is the ratio acc / sum alone, times a number or not. Finds f->sum, if the Cube may
 * add it up. */
unsigned loop_readers(const struct loop_form *f, tile_value v);
bool loop_is_ratio(const struct loop_form *f, tile_value acc, tile_value sum);
void loop_find_sum(struct loop_form *f);
/* Whether what is carried is the second product, and stays where that is. */
static inline bool loop_stays(const struct loop_form *f, unsigned carry)
{
    return f->once && f->value && f->k->carry[carry].next == f->value;
}

/* loop_cube.c: commands of the pipes besides the Vector, of a tile of so many keys, without
 * addresses in GM. */
enum loop_command {
    LOOP_LOAD_Q,
    LOOP_LOAD_K,
    LOOP_LOAD_V, /* MTE2 */
    LOOP_L0_Q,
    LOOP_L0_K,
    LOOP_L0_V,
    LOOP_L0_P, /* MTE1 */
    LOOP_MMAD_S,
    LOOP_MMAD_O, /* M */
    LOOP_FIX_S,
    LOOP_FIX_O,  /* FIX */
    LOOP_COPY_P, /* MTE3 */
    LOOP_ONES,   /* MTE1, once */
    LOOP_FIXED_COMMANDS,
};
void loop_cube_command(const struct loop_plan *p, enum loop_command which, uint32_t keys,
                       union cmd *cmd);

/* loop_input.c: inputs. What is computed of them before the loop is of the loop; that one is of
 * a form that can be; UB for them from `at` on; the command that brings a tile; the plane that
 * one becomes, to `dst`, of which it takes up to 15 repeats more; that a part has them no more. */
void loop_inputs_lower(struct tile_kernel *k);
int loop_input_find(struct loop_form *f, tile_value v, struct tile_error *error);
uint32_t loop_inputs_room(struct loop_room *r, const struct loop_form *f, uint32_t at);
void loop_input_load(const struct loop_plan *p, unsigned i, uint64_t gm, uint32_t rows,
                     uint32_t keys, union cmd *cmd);
void loop_input(struct loop_emit *e, tile_value v, uint32_t dst);
void loop_inputs_done(struct loop_emit *e);
/* What MTE2 takes for a tile of all of them. */
uint64_t loop_inputs_cost(const struct loop_plan *p, uint32_t keys);

/* What each pipe takes for a tile of so many keys. */
struct loop_costs {
    uint64_t load[2], floor[2]; /* behind another, and at the least alone: keys, values */
    uint64_t input;             /* of all inputs */
    uint64_t query, query_floor;
    uint64_t l0_q, l0_k, l0_v, l0_p, mmad_s, mmad_o, fix_s, fix_o, copy_p, store;
};
struct loop_costs loop_costs(const struct loop_plan *p, uint32_t keys);

/* loop_steps.c: items of a core; its steps, from the first of item `begin` on. */
struct loop_cursor {
    uint64_t item, left;  /* items from this one on */
    uint32_t block, tile; /* of the item; the tile of keys */
    const uint8_t *which; /* of the block's tiles */
    uint32_t steps;       /* of the item that are left */
    uint64_t number;      /* of the step */
    bool first, last;     /* of its item */
    bool done;
};
void loop_share(const struct loop_plan *p, unsigned core, uint64_t *begin, uint64_t *end);
struct loop_cursor loop_begin(const struct loop_plan *p, uint64_t begin, uint64_t end);
void loop_next(const struct loop_plan *p, struct loop_cursor *c);
const struct loop_variant *loop_variant(const struct loop_plan *p,
                                        const struct loop_cursor *c);

/* loop_build.c: what each core plays. */
int loop_cores(struct loop_plan *p, struct tile_arena *arena);
/* loop_explain.c */
struct tile_cycles loop_predict(const struct loop_plan *p);
/* The items of the core that has most steps. */
void loop_longest(const struct loop_plan *p, uint64_t *begin, uint64_t *end);

#endif
