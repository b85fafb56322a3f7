/* SPDX-License-Identifier: MIT
 *
 * A stage that is a product: of two parameters by the Matmul object, and of what is computed
 * of it by the fixpipe, on its way out of L0C. Private to the planner.
 */
#ifndef KERNELS_TILE_PRODUCT_PRODUCT_H
#define KERNELS_TILE_PRODUCT_PRODUCT_H

#include "kernels/mm/mm.h"
#include "kernels/tile/tiles/tiles.h"

struct search;

/* A dimension that is neither rows nor columns of a tile: elements from one index to the
 * next in a, b and c; 0: it does not have it. */
struct product_outer {
    uint8_t dim;
    uint32_t size;
    uint64_t a, b, c;
};

/* How a DOT is done: the rows and the columns of c are runs of dimensions that lie there one
 * behind the other, as they do in the operand that has them. */
struct product {
    struct mm mm;
    const struct tile_node *dot;
    uint8_t a, b, bias;      /* parameters; bias: its number + 1, 0: none */
    tile_dims rows, columns; /* of those with more than one element */
    struct product_outer outer[TILE_DIMS];
    unsigned n_outer, n_batch; /* the last n_batch of them are the object's batch */
    const struct tile_kernel *k;
    const void *in[TILE_PARAMS];
    void *out[TILE_RESULTS];
    struct epilogue *epilogue;    /* NULL: the fixpipe does it all */
    struct block *block;          /* block.h; or NULL */
    struct windows *windows;      /* convolution/windows.h: it is a CONV; or NULL */
    struct prologue *prologue;    /* prologue.h: of an operand; or NULL */
    const struct mm_tiling *said; /* by a schedule; NULL: it is searched */
};

/* Whether a word of a schedule tells how it is cut. */
static inline bool product_has_word(const struct product *p)
{
    return p->mm.tiled && !p->block && !p->windows;
}

/* A load or a store of a piece: the command for the size that was last, and where in GM. */
struct epilogue_move {
    union cmd cmd;
    const struct tile_tensor *tensor;
    uint8_t buffer;     /* of the program */
    bool adds;          /* to what is there */
    uint32_t mt, nt;    /* that the command is for */
    uint64_t gm, outer; /* the tensor; from there to the tile's in the outer dimensions */
    uint64_t row, col;  /* bytes from a row, from a column to the next */
};

/* What each core has of its own. */
struct epilogue_core {
    struct sequence *part; /* of each position of the ring, what a queue holds */
    struct epilogue_move load[TILE_PARAMS], store[TILE_RESULTS];
};

/* What the Vector computes of a tile: a program of its own, whose parameters are those of
 * the stage and the product. */
struct epilogue {
    uint8_t in[TILE_PARAMS];  /* parameters of the stage; that of the product: any */
    uint8_t outer[TILE_DIMS]; /* product_outer's dimensions, in the program */
    struct epilogue_core *core;
};

/* An operand that the Vector computes on its way to L1: by which kernel's one result, and the
 * product's parameter that it is. */
struct product_operand {
    const struct tile_kernel *k;
    uint8_t param;
};
/* For so many cores; of which operand `by`, unless it is NULL, says that it is computed; in the
 * tiling that a schedule says, or NULL. */
struct product_how {
    const struct product_operand *by;
    const struct mm_tiling *tiling;
    unsigned cores;
};
/* Of a kernel whose one DOT has parameters as operands. ERR_LOCAL: what is computed of the
 * product, or for it, is not to be had with it, but might be in a stage of its own. */
int product_plan(struct tile_plan **plan, const struct tile_kernel *k,
                 const struct product_how *how, struct tile_arena *arena,
                 struct tile_error *error);
extern const struct stage_kind product_kind;
extern const struct stage_run product_run;
/* NULL: the stage is of another kind. */
static inline struct product *product_of(const struct tile_plan *t)
{
    return t->kind == &product_kind ? tiles_of(t)->product : NULL;
}
/* For kinds that are like one: a stage with nothing in it but its kernel and its product,
 * NULL: the arena is full; the addresses of a call; what of it comes behind the sums, in words;
 * whether it stores again. */
struct tiles_plan *product_stage(const struct stage_kind *kind,
                                 const struct tile_kernel *k, struct tile_arena *arena);
void product_bind_tensors(struct product *p, const struct tile_call *call);
void product_explain_sums(const struct tiles_plan *t, FILE *to);
bool product_stores_again(const struct tile_plan *t);
/* The first result that has all of the DOT's dimensions; NULL: only its rows are wanted. */
const struct tile_tensor *product_whole_result(const struct product *p);
/* Products that are no batch of the object; where one of them begins. */
uint32_t product_times(const struct product *p);
void product_object(const struct tiles_plan *t, uint32_t number, struct mm *mm,
                    uint32_t *index);
/* Where one of the object's batch is. */
void product_seek_batch(const struct product *p, uint32_t number, uint32_t *index);
/* The kernel's lines of its source, for debuggers, where nothing else is planned. */
void product_lines(struct program *p, const struct tile_kernel *k);

/* product_shape.c: what c, a tensor of the DOT's dimensions, comes to for the object. */
int product_shape(struct product *p, const struct tile_kernel *k,
                  const struct tile_tensor *c, struct tile_error *error);
/* Dimensions of one kernel in another one, by name. */
tile_dims product_dims(const struct tile_kernel *to, const struct tile_kernel *from,
                       tile_dims dims);
/* DOT, or DOT + row, which p->bias is then. */
bool product_is_sum(struct product *p, const struct tile_kernel *k, tile_value v);
/* The fixpipe can make the one result of the DOT: sets what the object is to do. */
bool product_by_fixpipe(struct product *p, const struct tile_kernel *k);

/* epilogue.c: with the Vector in the same stage; ERR_LOCAL: it cannot be. */
int epilogue_plan(struct tiles_plan *t, unsigned cores, struct tile_arena *arena,
                  struct tile_error *error);
/* block.c: the same where something is reduced over the columns. */
int block_plan(struct tiles_plan *t, unsigned cores, struct tile_arena *arena,
               struct tile_error *error);
/* Of both: the program of what is behind the sum; cycles of a piece on V, of what meets it on
 * its way in, and of its way out; the way that was taken, for so many cores. */
int epilogue_program(struct tiles_plan *t, struct tile_arena *arena,
                     struct tile_error *error);
uint64_t epilogue_cycles(const struct search *s);
uint64_t epilogue_cycles_in(const struct search *s);
uint64_t epilogue_cycles_out(const struct search *s);
/* Makes *w, of a dense pitch, way i of its size: with another pitch, in place or not, rows and
 * columns spread or not. False: it is one of those before. How many there are: half of them,
 * where neither rows nor columns meet the tile. */
enum { EPILOGUE_WAYS = 8 };
bool epilogue_vary(struct way *w, uint32_t block, unsigned i);
unsigned epilogue_ways(struct search *s);
int epilogue_keep(struct tiles_plan *t, struct search *s, struct candidate *best,
                  unsigned cores, struct tile_arena *arena);
/* epilogue_cost.c: cycles of so many tiles. */
struct epilogue_flow {
    const struct mm *mm;
    unsigned pieces, ring; /* of a tile; slots */
    uint32_t rows;         /* of a piece */
    uint64_t v, out;       /* cycles of a piece on V, of its way out */
    unsigned commands, moves;
    bool in_place; /* a result takes the piece's place */
};
uint64_t epilogue_span(const struct epilogue_flow *f, uint32_t tiles);
/* Parts of the Vector's commands of a piece, which are pushed one by one. */
enum { EPILOGUE_PART = PIPE_DEPTH / 2 };
static inline unsigned epilogue_parts(const struct tiles_plan *t)
{
    return div_up(t->n_body, EPILOGUE_PART);
}
/* epilogue_play.c: the share of the task's block. */
void epilogue_play(const struct tiles_plan *t);
/* A core's Vector: what is there once, and empty buffers; before the first piece, and where
 * index[] has changed; what a piece at a position of the ring meets, on its way to UB; its
 * commands, and results on their way out; back the buffers, when all has ended. */
struct epilogue_at {
    const struct tiles_plan *t;
    struct epilogue_core *core;
    uint32_t index[TILE_DIMS]; /* of the outer dimensions */
};
void epilogue_begin(struct epilogue_at *y, const struct tiles_plan *t,
                    struct epilogue_core *core);
void epilogue_seek(struct epilogue_at *y);
void epilogue_load(const struct epilogue_at *y, const struct mm_piece *piece,
                   unsigned position);
void epilogue_compute(const struct epilogue_at *y, const struct mm_piece *piece,
                      unsigned position);
void epilogue_end(const struct epilogue_at *y);
/* The Vector's commands alone. */
void epilogue_vector(const struct epilogue_at *y, const struct mm_piece *piece,
                     unsigned position);

#endif
