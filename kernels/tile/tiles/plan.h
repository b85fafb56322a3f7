/* SPDX-License-Identifier: MIT
 *
 * What the files of the planner share; nobody else includes it.
 *
 * A kernel becomes a program (program.c): nodes of the Vector over a tile of rows and
 * columns. A candidate (struct way) says how large the tile is, how far its rows lie
 * apart in UB and how many tiles are there at one time; it is emitted (layout.c, reduce.c)
 * into commands, given memory (place.c) and simulated (order.c). plan.c keeps the best.
 */
#ifndef KERNELS_TILE_TILES_PLAN_H
#define KERNELS_TILE_TILES_PLAN_H

#include "hal/vector.h"
#include "kernels/tile/cost/cost.h"
#include "kernels/tile/cut/cut.h"
#include "kernels/tile/tile.h"
#include "kernels/tile/tiles/way.h"
#include "sched/sequence.h"

enum {
    PLAN_NODES = 256,
    PLAN_BUFFERS = 96,
    PLAN_COMMANDS = 640, /* of one body */
    PLAN_LOOPS = SEQ_LOOPS,
    PLAN_GROUPS = 8,
    PLAN_LOST = 8,  /* candidates that are told */
    PLAN_UNFIT = 3, /* such that do not fit */
    PLAN_NOTES = 6,
    PLAN_CONSTANTS = 16,
    PLAN_INDICES = 8,
    PLAN_STAGES = 32,
    LANES = 128,                   /* elements of the longest repeat */
    BLOCK = 32,                    /* bytes */
    REPEAT_BYTES = 256,            /* of a command of the Vector */
    TWICE_BYTES = 2 * REPEAT_BYTES /* after which bank groups are the same again */
};

/* --- the program --- */

/* Which of the tile's two directions a value has. */
enum { HAS_COL = 1, HAS_ROW = 2, FULL = HAS_COL | HAS_ROW };

struct node {
    uint8_t op;    /* enum tile_op, as tile_lower() leaves them */
    uint8_t type;  /* enum type, or TILE_MASK */
    uint8_t has;   /* HAS_ */
    uint8_t index; /* INPUT: of param[] */
    uint8_t group; /* INDEX: of which group; reductions: over which */
    bool body;     /* made of what each tile has anew */
    uint8_t outer; /* bit g: changes with group g, which is neither rows nor columns */
    uint16_t in[3];
    uint16_t line, of; /* of: the value of the lowered kernel, for names */
    uint16_t last;     /* node that uses it last; PLAN_NODES: a result is made of it */
    double number;
};

/* Dimensions that are side by side in every tensor, and in every value all there or none
 * of them; those of size 1 are in no group. */
struct group {
    tile_dims dims;
    uint64_t size;
};

struct program {
    const struct tile_kernel *k;      /* lowered */
    struct node node[PLAN_NODES + 1]; /* from 1 */
    unsigned n;
    struct group group[PLAN_GROUPS];
    unsigned n_groups, col, row; /* numbers of groups; n_groups: there is none */
    uint64_t rows, cols;
    bool reduces, reduces_rows;  /* over columns, over rows: a tile has them all */
    uint32_t ub_begin, ub_bytes; /* its part of UB, from a bank on; 0: all */
    uint8_t sems;                /* the first of its semaphores */
    uint16_t result[TILE_RESULTS];
    unsigned n_notes;
    char note[PLAN_NOTES][96]; /* rewrites that were made */
};

/* The dimensions with more than one element in an order that every tensor of a set (bit i:
 * that of program_tensor()) has; how many, or -1: there is none. */
int program_order(const struct tile_kernel *k, uint32_t tensors, uint8_t *order);
/* One of rows alone, which do not lie side by side. */
bool program_is_across(const struct program *p, const struct tile_tensor *t);
/* Elements between two neighbours of a group, of a dimension in a tensor; 0: it does not
 * have it. */
uint64_t program_stride(const struct program *p, const struct tile_tensor *t,
                        unsigned group);
uint64_t program_dim_stride(const struct tile_kernel *k, const struct tile_tensor *t,
                            unsigned d);
/* Parameters and behind them results. */
const struct tile_tensor *program_tensor(const struct tile_kernel *k, unsigned i);
int program_groups(struct program *p, struct tile_error *error);
/* 0, or an error with *error filled in. */
int program_make(struct program *p, const struct tile_kernel *k, struct tile_arena *arena,
                 struct tile_error *error);

/* --- emission --- */

/* Bytes in UB that belong to one thing at a time. */
struct buffer {
    uint32_t bytes;
    uint16_t first, last; /* commands of the body that touch it */
    uint8_t load, store;  /* 1 + number of the parameter, of the result; 0: none */
    uint16_t value;       /* node that has it now */
    uint8_t beside;       /* 1 + one that commands read while they write this; 0: none */
    bool turn;            /* begins where groups begin anew, */
    bool half;    /* or a repeat further: rows of the tile begin in other groups */
    bool always;  /* of the preamble: lives as long as the launch */
    bool product; /* loaded out of L0C, or of rows in L1 */
    bool ring;    /* whose slots lie side by side */
    bool full;    /* of the large ones, whose banks matter */
    bool touched; /* by the body */
};

/* Where the forms of a value lie, buffer + 1; 0: not made. */
struct forms {
    uint8_t dense; /* as its class has it: rows by pitch, rows, columns, or one */
    uint8_t block; /* of rows: a block for each, twice, in turn */
    uint8_t wide;  /* of rows or one: a repeat's lanes for each */
    uint8_t twice; /* of rows: two of them */
    uint8_t full;  /* of anything: spread over the tile */
};

/* Commands, and the mask that they have left. */
struct stream {
    union cmd *cmd;
    unsigned n, room;
    enum { MASK_UNKNOWN, MASK_COUNT, MASK_BITS } mask;
    uint64_t lo, hi;
};

struct constant {
    uint32_t bits;
    uint8_t type, buffer;
};

/* Of a command of the body that begins a row of indices: where the tile begins. */
struct index_patch {
    uint16_t command;
    uint8_t group;
};

struct emit {
    const struct program *p;
    const struct way *w;
    struct stream pre, body, *to;
    struct buffer buffer[PLAN_BUFFERS];
    unsigned n_buffers, position;
    struct forms form[PLAN_NODES + 1];
    uint8_t pending[8]; /* buffers that the next command touches */
    unsigned n_pending;
    struct constant constant[PLAN_CONSTANTS];
    unsigned n_constants;
    struct index_patch index[PLAN_INDICES];
    unsigned n_index;
    uint16_t node, spread; /* that is emitted; the one of SPREAD_FIRST, or 0 */
    bool invariant;        /* it is the same for all tiles */
    uint32_t at[PLAN_BUFFERS][PLAN_RING]; /* addresses; a second pass needs them */
    uint32_t signature; /* of how sums are made: equal ones give equal bits */
    int err;            /* it cannot be done in this way: why */
    char why[TILE_TEXT_BYTES];
};

/* emit.c: buffers and commands. */
static inline uint64_t round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}
static inline uint32_t div_up(uint64_t n, uint32_t by)
{
    return (uint32_t)((n + by - 1) / by);
}
/* Of two cycles. */
static inline uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}
static inline unsigned esize_of(unsigned type)
{
    return type_bits(type) / 8;
}

/* Empties all but the addresses; then emits the program for a position of the ring. */
void emit_program(struct emit *e, unsigned position);
/* Notes why it cannot be done; the first reason stays. */
__attribute__((format(printf, 3, 4))) void emit_fail(struct emit *e, int err,
                                                     const char *format, ...);
/* A buffer, its number + 1. */
uint8_t buffer_new(struct emit *e, uint64_t bytes);
/* Its address; the next command touches it. */
uint32_t buffer_at(struct emit *e, uint8_t buffer);
/* Elements that a value has room for in a class (HAS_), and those that count. */
uint32_t emit_elements(const struct emit *e, unsigned has);
/* What a value of a class takes; a buffer for one. */
uint32_t emit_bytes(const struct emit *e, unsigned has, unsigned type);
uint8_t buffer_of_class(struct emit *e, unsigned has, unsigned type);
bool emit_varies(const struct emit *e, const struct node *n);
void put(struct emit *e, union cmd *cmd);
/* The commands behind work on so many repeats of so many lanes: what to give them as
 * `repeat`. Or on a count of elements, or on some lanes of each repeat. */
uint8_t mask_repeats(struct emit *e, uint64_t repeats, unsigned lanes);
void mask_count(struct emit *e, uint64_t n);
void mask_lanes(struct emit *e, unsigned lanes);
void mask_pattern(struct emit *e, uint64_t lanes);
uint32_t number_bits(unsigned type, double value);
/* A repeat full of a number. */
uint8_t constant_wide(struct emit *e, unsigned type, double value);

/* layout.c: nodes. */
void emit_node(struct emit *e, uint16_t node);
/* The buffer for a node's value in its own form; x and y: whose buffers it may be in. */
uint8_t result_buffer(struct emit *e, uint16_t node, uint16_t x, uint16_t y);

/* The command of an operation; with a number for its second operand, or 0; its rounding. */
enum op unary_op(unsigned op);
enum op binary_op(unsigned op);
/* CMP_ of a COMPARE: masks.c */
uint8_t compare_of(unsigned op);
unsigned number_op(unsigned op);
uint8_t rounding_of(unsigned op);
/* Prepares the form in which a value is read beside those of a class; where that is. */
void prepare(struct emit *e, uint16_t x, unsigned has);
struct vec_at operand(struct emit *e, uint16_t x, unsigned has);
/* The repeats of a whole value of a class. */
uint8_t all(struct emit *e, unsigned has, unsigned esize);
/* masks.c */
void emit_bits(struct emit *e, uint16_t node);
void emit_compare(struct emit *e, uint16_t node);
void emit_where(struct emit *e, uint16_t node);
uint8_t mask_full(struct emit *e, uint16_t x);
/* mixed.c; false: the node is none of these. */
bool emit_mixed(struct emit *e, uint16_t node);

/* spread.c: other forms of values in `dense`. */
uint8_t spread_block(struct emit *e, uint8_t dense, unsigned esize);
uint8_t spread_wide(struct emit *e, uint8_t dense, unsigned esize, uint32_t rows);
uint8_t spread_twice(struct emit *e, uint8_t dense, unsigned esize);
uint8_t spread_full(struct emit *e, uint8_t dense, unsigned type, unsigned has);
uint8_t form_block(struct emit *e, uint16_t x);
uint8_t form_wide(struct emit *e, uint16_t x);
uint8_t form_full(struct emit *e, uint16_t x);
uint8_t form_twice(struct emit *e, uint16_t x);

/* reduce.c */
void emit_reduce(struct emit *e, uint16_t node);

/* --- memory --- */

/* Tiles of a buffer at one time. */
static inline unsigned way_copies(const struct way *w, const struct buffer *b)
{
    bool one = b->always || !(b->load || b->store) || (w->single && !b->store);

    return one ? 1 : w->ring;
}
/* Gives the buffers of an emitted program addresses. False: UB does not hold them; *most is
 * what it would have to. */
bool place(struct emit *e, const struct placing *how, uint32_t *most);

/* --- the order of commands --- */

struct loop {
    uint8_t group;  /* n_groups: of the one row, or the one column, that there is */
    uint32_t count; /* tiles */
    uint32_t tile;  /* elements of the group in a tile */
    uint32_t tail;  /* of the last one, if it has fewer; else 0 */
};
/* Loops over the tiles of a way, the innermost first. The cores share the tiles of one, in
 * so many of them together: no two cores write bytes of the same block of a result. */
struct loops {
    const struct program *p;
    const struct way *w;
    struct loop loop[PLAN_LOOPS];
    unsigned n, dealt;
    uint32_t unit;
};
/* A tile of a tensor that is loaded or stored. */
struct transfer {
    const struct tile_tensor *tensor;
    bool store;
    uint8_t variant;
    uint32_t ub;
};

/* Semaphores of a body, and where they are waited for and posted. */
enum { PLAN_SEMS = 16, PLAN_SYNCS = 32, SEM_PRE = 0, SEM_MADE, SEM_FULL, SEM_OTHERS };
struct sync {
    uint16_t command; /* of the body */
    uint8_t sem;
    bool post;
};
struct order {
    unsigned base, n_sems, n_syncs, n_loads, n_stores; /* base: its first semaphore */
    struct sync sync[PLAN_SYNCS];
    uint8_t load[TILE_PARAMS]; /* buffers; with semaphores, 0: none */
    uint8_t load_free[TILE_PARAMS], load_full[TILE_PARAMS];
    uint8_t store[TILE_RESULTS], store_out[TILE_RESULTS], store_free[TILE_RESULTS];
    uint8_t store_result[TILE_RESULTS];
    uint8_t product, bulk_free, bulk_full; /* 1 + the load out of L0C; in L1; or 0 */
    uint8_t free_sems[PLAN_SEMS]; /* those that hold units before and behind it all: */
    uint8_t copies[PLAN_SEMS];    /* so many, by number; 0: a position of the ring each */
    unsigned n_free;
    const char *label[PLAN_SEMS], *role[PLAN_SEMS];
};
/* Finds them for an emitted program. */
void order_make(struct order *o, const struct emit *e);
/* The body with its waits and posts, and NOPs where a command has too many: how many
 * commands; `to` NULL: only that. */
unsigned order_body(const struct order *o, const union cmd *body, unsigned n,
                    union cmd *to, unsigned room, uint16_t *moved);

/* --- the plan --- */

enum { VARIANTS = 4 /* whole tiles, fewer rows, fewer columns, both */ };

/* A candidate, emitted. */
struct candidate {
    struct way way;
    struct placing placing;
    struct tile_cycles cycles;
    uint32_t most; /* bytes of UB */
    int err;
    char why[TILE_TEXT_BYTES];
};

struct share {
    uint32_t first[PLAN_LOOPS], count[PLAN_LOOPS]; /* tiles of each loop */
};

/* What one core plays; of each variant of a tile, loads, the Vector's commands and so on. */
enum { LANE_LOAD, LANE_VECTOR, LANE_STORE, LANE_MOVE, PLAN_LANES };
struct part {
    struct share share;
    struct sequence tile[PLAN_LANES][VARIANTS], once[PLAN_LANES];
    struct seq_leg leg[PLAN_LANES][VARIANTS + 1];
    struct seq_lane lane[PLAN_LANES];
    unsigned n_legs[PLAN_LANES];
    uint8_t once_param[TILE_PARAMS], once_result[3 * TILE_RESULTS]; /* of commands */
};

/* gather.c: a stage that copies rows of a tensor by their indices. */
struct gather {
    uint64_t row_bytes, rows, step;   /* step: bytes from an index to the next */
    unsigned n;                       /* dimensions of the result before the row */
    uint32_t size[TILE_RANK];         /* of these */
    uint64_t x_stride[TILE_RANK];     /* bytes; 0: the tensor does not have it */
    uint64_t index_stride[TILE_RANK]; /* elements */
    uint16_t line;
    uint8_t x, index; /* parameters */
    const char *from; /* of the call */
    const int32_t *place;
    char *to;
};

struct tile_plan {
    struct program *p;
    struct way way;
    struct placing placing;
    struct emit *emit; /* of the way that is taken: buffers */
    struct order order;
    struct loops loops;
    unsigned cores;
    struct part *part;     /* of each core */
    union cmd *body, *pre; /* with addresses; the body with semaphores */
    uint16_t *moved;       /* where a command of the emitted body is in it */
    const char *name;
    struct tile_cycles predicted;
    struct candidate lost[PLAN_LOST];
    struct candidate unfit[PLAN_UNFIT];
    unsigned n_lost, n_unfit, n_tried, n_body;
    const char *why;   /* of the first: why there are several; NULL: there are not */
    uint64_t planning; /* instructions */
    struct origin in[TILE_PARAMS], out[TILE_RESULTS];
    struct tile_plan *next;  /* that runs behind it */
    uint64_t scratch;        /* of the first: bytes that all share */
    struct gather *gather;   /* that is all it does; NULL: it is in tiles */
    struct product *product; /* likewise (product.h) */
    struct loop_plan *loop;  /* likewise (loop.h) */
    struct rows_plan *rows;  /* likewise (rows.h) */
    const char *schedule;    /* of the first: leads to the same plan; NULL: too long */
    const char *whole;       /* the same with words of products */
};

/* plan.c: of the heap. If it had nothing since plan_fed() was last asked, that is ERR_NOMEM. */
void *plan_heap(void *block);
int plan_fed(int err, struct tile_error *error);
/* What a schedule says that has no meaning, or no effect, for the Vector is refused. */
int plan_check_schedule(const struct tile_kernel *k, struct tile_error *error);
/* Of one program in tiles. *wanted (or NULL): bytes of UB, if it has too few of them. */
struct planning {
    unsigned cores;
    bool quick;                   /* the best of few ways will do */
    const struct tile_choice *by; /* the way that a schedule names; NULL: the fastest */
};
int plan_tiles(struct tile_plan **plan, const struct tile_kernel *k,
               const struct planning *how, struct tile_arena *arena,
               struct tile_error *error, uint32_t *wanted);
/* The kernel of a stage; of a product also what t->p, what is computed of it, has not. */
const struct tile_kernel *plan_kernel(const struct tile_plan *t);
/* Tensors are those of its own program, until it is a stage of another. */
void plan_begin(struct tile_plan *t);
/* Of a kernel whose one result is a GATHER. */
int gather_plan(struct tile_plan **plan, const struct tile_kernel *k, unsigned cores,
                struct tile_arena *arena, struct tile_error *error);
void gather_bind(struct gather *g, const struct tile_call *call);
void gather_play(const struct gather *g); /* the share of the task's block */
void gather_explain(const struct tile_plan *t, FILE *to);
/* Of a kernel with a loop (loop.h): the same. */
int loop_plan(struct tile_plan **plan, const struct tile_kernel *k, unsigned cores,
              struct tile_arena *arena, struct tile_error *error);
int loop_bind(const struct loop_plan *p, const struct tile_call *call,
              struct sched_report *report);
void loop_play(const struct loop_plan *p);
void loop_finish(const struct loop_plan *p);
void loop_explain(const struct tile_plan *t, FILE *to);
/* explain.c, replay.c: of one. */
void plan_explain(const struct tile_plan *t, FILE *to);
void plan_explain_cycles(const struct tile_plan *t, FILE *to);
void plan_explain_added(const struct tile_kernel *k, FILE *to); /* results of += */
int plan_bind(const struct tile_plan *t, const struct tile_call *call,
              struct sched_report *report);
/* The share of the task's block: looks at its commands; issues them; waits for their end. */
void plan_prepare(const struct tile_plan *t);
void plan_play(const struct tile_plan *t);
void plan_finish(const struct tile_plan *t);
/* stages.c: what plan_prepare() takes longer than the stage before (NULL: there is none), whose
 * commands run meanwhile; and from a stage to the next, about. */
enum { PLAN_STEP_CYCLES = 1650 };
uint64_t plan_look_cycles(const struct tile_plan *before, const struct tile_plan *t);

/* loops.c: which loops a way has; NULL, or why it cannot be. */
const char *loops_make(struct loops *l, const struct program *p, const struct way *w);
/* A result is stored more than once: it lacks the dimension of a loop. */
bool loops_store_again(const struct loops *l);
struct share loops_share(const struct loops *l, unsigned core, unsigned cores);
/* Tiles of a variant in a share; if asked, its rounds of each loop, from which one on. */
uint64_t loops_tiles(const struct loops *l, const struct share *share, unsigned variant,
                     struct share *rounds);
/* Bytes from a tile to the next of loop i in a tensor. */
uint64_t loops_stride(const struct loops *l, unsigned i, const struct tile_tensor *t);
/* Rows and columns of a tensor, which in UB lie as a way has them, to UB or from there. */
void loops_transfer(const struct program *p, const struct transfer *x, uint32_t rows,
                    uint32_t cols, uint32_t pitch, union cmd *cmd);
/* A load or a store; the address is that of the tensor. */
void loops_command(const struct loops *l, const struct transfer *x, union cmd *cmd);
/* replay.c: what load or store i waits for and posts; the sequences of all cores. */
void plan_sync_transfer(const struct order *o, unsigned lane, unsigned i, union cmd *cmd);
int plan_parts(struct tile_plan *t, struct tile_arena *arena);
/* simulate.c */
struct tile_cycles simulate(const struct emit *e, const struct order *o,
                            const struct loops *loops, const struct share *share);

#endif
