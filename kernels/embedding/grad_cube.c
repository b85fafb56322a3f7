/* SPDX-License-Identifier: MIT
 *
 * The gradient of an embedding as products on the Cube; see embedding.h. Of a tile of 128
 * rows of dw and a chunk of 128 rows of dx the left operand has a 1 where an index of the
 * chunk is a row of the tile, else 0. The hart sets these in L1, in a slot that is all 0
 * but for them, and takes them away when it comes round to it: a few instructions an index,
 * where the Vector would compare each row with each index. Chunks of which no index is in
 * the tile are left out; tiles of which none is are 0.
 */
#include "hal/chip.h"
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "kernels/embedding/inside.h"
#include "sched/vector.h"

enum {
    ROWS = EMBEDDING_SQUARE, /* of a tile, tokens of a chunk, columns of a product */
    TOKENS = EMBEDDING_SQUARE,
    COLUMNS = EMBEDDING_SQUARE,
    BLOCK = 16,
    ONES_BYTES = ROWS * TOKENS * 2,
    DX_BYTES = TOKENS * COLUMNS * 2,
    SLOTS = 4, /* of ones: the hart is ahead by some */
    L0_BYTES = 32 << 10,
    ONE = 0x3c00, /* fp16 */
};

/* Semaphores: slots of L0 and of L0C that are free, that are full. */
enum { L0_FREE, L0_FULL, C_FREE, C_FULL };

struct cube {
    const struct embedding_run *run;
    const struct embedding_grad *p;
    struct tque *ones, *dx;
    uint32_t set[SLOTS][TOKENS], n_set[SLOTS]; /* which are 1 */
    uint32_t slot, l0, c;                      /* counted up */
    uint32_t column, columns;
};

/* --- loads --- */

/* The tile's rows of tokens [i, end) of the list, which are all of chunk `chunk`. */
static uint32_t load_ones(struct cube *s, uint32_t tile, uint32_t chunk, uint32_t i,
                          uint32_t end)
{
    uint32_t at = tque_alloc(s->ones), slot = s->slot++ % SLOTS;
    volatile uint16_t *ones = chip_local(task_core(), NPU_MEM_L1, at);
    const struct embedding_tiles *t = &s->run->tiles;
    uint32_t *set = s->set[slot], n = 0;

    for (uint32_t k = 0; k < s->n_set[slot]; k++) {
        ones[set[k]] = 0;
    }
    for (; i < end && t->token[i] / TOKENS == chunk; i++) {
        uint32_t token = t->token[i] % TOKENS;
        uint32_t row = (uint32_t)s->p->rows.index[t->token[i]] - tile * ROWS;
        set[n] = token / BLOCK * ROWS * BLOCK + row * BLOCK + token % BLOCK;
        ones[set[n++]] = ONE;
    }
    s->n_set[slot] = n;
    tque_enque(s->ones, at, NULL);
    return i;
}

static void load_dx(const struct cube *s, uint32_t chunk, uint32_t tokens)
{
    uint64_t first = (uint64_t)chunk * TOKENS * s->p->width + s->column;
    uint32_t to = tque_alloc(s->dx);
    union cmd cmd;

    mte_gm_to_l1_nz(&cmd, to, (const uint16_t *)s->p->dx + first,
                    &(struct mte_nz){.type = TYPE_F16,
                                     .n_rows = tokens,
                                     .n_cols = s->columns,
                                     .gm_pitch_elems = s->p->width,
                                     .block_rows = TOKENS});
    tque_enque(s->dx, to, &cmd);
    task_issue(PIPE_MTE2, &cmd);
}

/* --- products --- */

static void multiply(struct cube *s, uint32_t rows, uint32_t tokens, bool first)
{
    uint32_t ones = tque_deque(s->ones), dx, l0 = s->l0++ % 2 * L0_BYTES;
    union cmd cmd;

    mte_l1_to_l0a(
        &cmd, l0, ones,
        &(struct mte_window){
            .type = TYPE_F16, .n_rows = rows, .n_cols = tokens, .block_rows = ROWS});
    cmd_wait(&cmd, L0_FREE, 1);
    tque_free(s->ones, ones, &cmd);
    task_issue(PIPE_MTE1, &cmd);
    dx = tque_deque(s->dx);
    mte_l1_to_l0b(&cmd, l0, dx,
                  &(struct mte_window){.type = TYPE_F16,
                                       .n_rows = tokens,
                                       .n_cols = s->columns,
                                       .block_rows = TOKENS});
    cmd_post(&cmd, L0_FULL, 1);
    tque_free(s->dx, dx, &cmd);
    task_issue(PIPE_MTE1, &cmd);
    cube_mmad(&cmd, &(struct cube_mmad){.type = TYPE_F16,
                                        .c = s->c % 2 * (ROWS * COLUMNS * 4),
                                        .a = l0,
                                        .b = l0,
                                        .m = rows,
                                        .n = s->columns,
                                        .k = tokens,
                                        .from = first ? CUBE_FROM_ZERO : CUBE_FROM_C});
    cmd_wait(&cmd, L0_FULL, 1);
    if (first) {
        cmd_wait(&cmd, C_FREE, 1);
    }
    cmd_post(&cmd, L0_FREE, 1);
    task_issue(PIPE_M, &cmd);
}

static void store(struct cube *s, uint32_t tile, uint32_t rows)
{
    uint64_t first = (uint64_t)tile * ROWS * s->p->width + s->column;
    union cmd cmd;

    cmd_nop(&cmd); /* behind the last product */
    cmd_post(&cmd, C_FULL, 1);
    task_issue(PIPE_M, &cmd);
    fixpipe_to_gm(
        &cmd, s->p->dw + first, s->c++ % 2 * (ROWS * COLUMNS * 4),
        &(struct fixpipe_tile){
            .type = TYPE_F32, .m = rows, .n = s->columns, .pitch_elems = s->p->width});
    cmd_wait(&cmd, C_FULL, 1);
    cmd_post(&cmd, C_FREE, 1);
    task_issue(PIPE_FIX, &cmd);
}

static void make_tile(struct cube *s, uint32_t tile, uint32_t zeros)
{
    const struct embedding_tiles *t = &s->run->tiles;
    uint32_t rows = min_u32(ROWS, s->p->rows.rows - tile * ROWS);
    uint32_t i = t->start[tile], end = t->start[tile + 1];
    bool first = true;
    union cmd cmd;

    if (i == end) {
        bool whole = s->columns == s->p->width;
        float *to = s->p->dw + (uint64_t)tile * ROWS * s->p->width + s->column;
        struct mte_rows out = {.n_rows = whole ? 1 : rows,
                               .row_bytes = s->columns * 4 * (whole ? rows : 1),
                               .gm_pitch_bytes = whole ? 0 : s->p->width * 4};
        mte_ub_to_gm_rows(&cmd, to, zeros, &out);
        task_issue(PIPE_MTE3, &cmd);
        return;
    }
    while (i < end) {
        uint32_t chunk = t->token[i] / TOKENS;
        uint32_t tokens = min_u32(TOKENS, s->p->rows.n - chunk * TOKENS);
        load_dx(s, chunk, tokens);
        i = load_ones(s, tile, chunk, i, end);
        multiply(s, rows, tokens, first);
        first = false;
    }
    store(s, tile, rows);
}

/* --- a core --- */

/* Slots of L1 are 0 before the hart sets ones. */
static void clear(struct cube *s)
{
    union cmd cmd;

    for (unsigned i = 0; i < SLOTS; i++) {
        mte_fill(&cmd, NPU_MEM_L1, i * ONES_BYTES, TYPE_F16, 0, ONES_BYTES);
        task_issue(PIPE_MTE2, &cmd);
        s->n_set[i] = 0;
    }
    task_drain();
}

static uint32_t make_zeros(struct tpipe *pipe)
{
    struct tque *que =
        tque_init(pipe, "zeros", VECOUT, PIPE_V, PIPE_MTE3, 1, ROWS * COLUMNS * 4);
    uint32_t zeros = tque_alloc(que);
    union cmd cmd;

    task_vector_count(ROWS * COLUMNS);
    vector_fill(&cmd, OP_VDUP, TYPE_F32, zeros, 0);
    tque_enque(que, zeros, &cmd);
    task_vector(&cmd);
    (void)tque_deque(que);
    cmd_nop(&cmd);
    tque_free(que, zeros, &cmd);
    task_issue(PIPE_MTE3, &cmd);
    return zeros;
}

void embedding_cube(void *arg)
{
    static struct cube cubes[NPU_MAX_CORES]; /* more than a stack holds */
    struct cube *s = &cubes[task_core()];
    const struct embedding_run *run = arg;
    struct tpipe *pipe = tpipe_open();
    uint32_t end =
        (uint32_t)share_begin(run->tiles.n, 1, task_block() + 1, task_blocks());
    uint32_t zeros = make_zeros(pipe);

    *s = (struct cube){.run = run, .p = run->p};
    s->ones = tque_init(pipe, "ones", TSCM, TQUE_HART, PIPE_MTE1, SLOTS, ONES_BYTES);
    s->dx = tque_init(pipe, "dx", TSCM, PIPE_MTE2, PIPE_MTE1, 2, DX_BYTES);
    clear(s);
    sem_post(task_core(), L0_FREE, 2);
    sem_post(task_core(), C_FREE, 2);
    for (; s->column < run->p->width; s->column += COLUMNS) {
        s->columns = min_u32(COLUMNS, run->p->width - s->column);
        for (uint32_t tile =
                 (uint32_t)share_begin(run->tiles.n, 1, task_block(), task_blocks());
             tile < end; tile++) {
            make_tile(s, tile, zeros);
        }
    }
    task_drain();
    task_wait(L0_FREE, 2);
    task_wait(C_FREE, 2);
}
