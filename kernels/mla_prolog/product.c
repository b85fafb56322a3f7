/* SPDX-License-Identifier: MIT
 *
 * x = a x b + bias, as tiles in L0C: what the fused launch and the first of the separate
 * ones have in common. MTE1 and M; MTE2 is in fill.c. Blocks of rows one after the other;
 * in a block stripes of b, two tiles each; in a stripe chunks of k, in which the two
 * tiles take turns.
 *
 *   L1   a: four slots of rows x A_K, which stay for the whole block if k is at most
 *        four slots long; b: two chunks of B_K x STRIPE. Both lie in rows, as in GM: a
 *        plain copy is faster than ND2NZ, and img2col with a filter of one row reads them.
 *   L0A  b, transposed: two slots, one a tile.   L0B  a, transposed: two, one a chunk.
 *
 * The hart fills L1 (fill.c) some pieces ahead, which MTE2's queue always has room for: so it
 * waits for MTE1 and M alone, for what they wait for has been issued.
 *
 * The bias is one more step of k, in front: a row of b with the bias times a row of ones.
 */
#include <string.h>

#include "kernels/mla_prolog/product.h"

/* A matrix of `pixels` * 16 columns that lies in rows, as a map for img2col. */
static void set_map(union cmd *cmd, uint32_t rows, uint32_t pixels)
{
    cmd->load3d.map_w = (uint16_t)(rows * pixels);
    cmd->load3d.filter_w = (uint16_t)pixels;
    cmd->load3d.stride_w = (uint8_t)pixels;
}

static const struct mte_conv plain = {.map_h = 1, .channels = 16};

/* The order of loads in a chunk is b, a, b. The first b comes before a: that there is
 * room for it tells that the Mmads two chunks ago have ended, so no semaphore is needed
 * for L0B. */
static void build_load_b(const struct step *t, union cmd *cmd, unsigned i, uint32_t kl)
{
    mte_img2col_to_l0a(cmd, 0, 0,
                       &(struct mte_img2col){
                           .type = TYPE_F16,
                           .conv = &plain,
                           .m_len = kl,
                           .k = i * TILE,
                           .k_len = up16(min_u32(TILE, t->nt - i * TILE)),
                           .transpose = true,
                       });
    set_map(cmd, kl, (t->nt + 15) / 16);
    cmd_wait(cmd, L0_FREE, 1);
    if (i == 0) {
        cmd_wait(cmd, B_FULL, 1);
    } else {
        cmd_post(cmd, L0_FULL, 1);
    }
    if (i == t->tiles - 1) {
        cmd_post(cmd, B_FREE, 1);
    }
}

static void build_load_a(const struct step *t, union cmd *cmd, uint32_t kl)
{
    mte_img2col_to_l0b(cmd, 0, 0,
                       &(struct mte_img2col){.type = TYPE_F16,
                                             .conv = &plain,
                                             .m_len = t->mt,
                                             .k_len = up16(kl),
                                             .transpose = true});
}

/* The step of k in which the bias comes in: Nz matrices of one row. */
static void build_bias_load(const struct step *t, union cmd *cmd, unsigned i)
{
    mte_l1_to_l0a(cmd, 0, 0,
                  &(struct mte_window){.type = TYPE_F16,
                                       .n_rows = min_u32(TILE, t->nt - i * TILE),
                                       .n_cols = 1,
                                       .block_rows = 1,
                                       .transpose = true});
}

static void build_mmad(const struct step *t, union cmd *cmd, unsigned i, uint32_t kl)
{
    cube_mmad(cmd, &(struct cube_mmad){.type = TYPE_F16,
                                       .m = min_u32(TILE, t->nt - i * TILE),
                                       .n = t->mt,
                                       .k = kl,
                                       .from = CUBE_FROM_C});
    cmd_wait(cmd, L0_FULL, 1);
    cmd_post(cmd, L0_FREE, 1);
}

enum { NO_PAIR = PIECE + 1 };

/* The first place of the pair that a place is of. */
static inline unsigned pair_of(const struct piece *piece, unsigned place)
{
    return piece->shape.first_pair && place < 2 ? 0
           : piece->shape.last_pair && place + 1 >= piece->shape.last_pair
               ? piece->shape.last_pair - 1
               : NO_PAIR;
}

/* Where the commands of tile i of the chunk in a place are; place 0 is the bias. Where there is
 * a pair of chunks the first tile goes through both before the second does, so that the
 * fixpipe has the time of two Mmads to empty either of them. */
static void lay_out(const struct step *t, struct piece *piece)
{
    for (unsigned place = 0; place <= PIECE; place++) {
        unsigned first = pair_of(piece, place), second = place - first;
        bool pair = first != NO_PAIR;
        for (unsigned i = 0; i < 2; i++) {
            piece->load_b[place][i] =
                (uint8_t)(pair ? first * 3 + (i ? 4 + second : 2 * second)
                               : place * (t->tiles + 1) + 2 * i);
            piece->mmad_at[place][i] =
                (uint8_t)(pair ? first * 2 + 2 * i + second : place * t->tiles + i);
        }
    }
}

static inline union cmd *load_b_of(struct piece *piece, unsigned place, unsigned i)
{
    return &piece->load[piece->load_b[place][i]];
}

static inline union cmd *load_a_of(struct piece *piece, unsigned place)
{
    return load_b_of(piece, place, 0) + 1;
}

static inline union cmd *mmad_of(struct piece *piece, unsigned place, unsigned i)
{
    return &piece->mmad[piece->mmad_at[place][i]];
}

static void build_chunk(const struct step *t, struct piece *piece, unsigned place,
                        uint32_t kl)
{
    for (unsigned i = 0; i < t->tiles; i++) {
        union cmd *load = load_b_of(piece, place, i);
        if (place == 0) {
            build_bias_load(t, load, i);
        } else {
            build_load_b(t, load, i, kl);
        }
        build_mmad(t, mmad_of(piece, place, i), i, place ? kl : 1);
    }
    if (place == 0) {
        mte_l1_to_l0b(
            load_a_of(piece, 0), 0, L1_ONES,
            &(struct mte_window){
                .type = TYPE_F16, .n_rows = 1, .n_cols = t->mt, .block_rows = 1});
    } else {
        build_load_a(t, load_a_of(piece, place), kl);
    }
}

static void copy_chunk_commands(const struct step *t, struct piece *piece, unsigned to)
{
    for (unsigned i = 0; i < t->tiles; i++) {
        *load_b_of(piece, to, i) = *load_b_of(piece, 1, i);
        *mmad_of(piece, to, i) = *mmad_of(piece, 1, i);
    }
    *load_a_of(piece, to) = *load_a_of(piece, 1);
}

static bool is_built(const struct piece *piece, const struct shape *shape)
{
    uint64_t was, is;

    static_assert(sizeof(was) == sizeof(*shape), "compared at once");
    memcpy(&was, &piece->shape, sizeof(was));
    memcpy(&is, shape, sizeof(is));
    return was == is;
}

/* With room for so many chunks. */
static void build_piece(const struct step *t, struct piece *piece,
                        const struct shape *shape, unsigned chunks)
{
    if (is_built(piece, shape)) {
        return;
    }
    if (is_built(&t->whole[0], shape)) {
        *piece = t->whole[0]; /* faster */
        return;
    }
    piece->shape = *shape;
    piece->placed = 0;
    lay_out(t, piece);
    build_chunk(t, piece, 0, 1);
    build_chunk(t, piece, 1, shape->kl);
    for (unsigned place = 2; place <= chunks; place++) { /* faster */
        copy_chunk_commands(t, piece, place);
    }
}

/* Slots of L0 and L0C for a chunk: its loads of b take turns in the order in which they
 * are issued. */
static void place_slots(const struct share *s, struct step *t, struct piece *piece,
                        unsigned place)
{
    unsigned first = pair_of(piece, place), second = place - first;
    bool pair = first != NO_PAIR;

    for (unsigned i = 0; i < t->tiles; i++) {
        union cmd *mmad = mmad_of(piece, place, i);
        uint32_t l0a = (t->l0a + (pair ? second : i)) % 2 * L0_SLOT;
        if (place == 0) {
            load_b_of(piece, place, i)->load2d.dst = l0a;
        } else {
            load_b_of(piece, place, i)->load3d.dst = l0a;
        }
        mmad->mmad.dst = (t->c + i) % s->c_slots * (s->rows * TILE * 4);
        mmad->mmad.a = l0a;
        mmad->mmad.b = t->l0b % 2 * L0_SLOT;
    }
    if (!pair || second == 1) {
        t->l0a += pair ? 2 * t->tiles : t->tiles;
    }
    t->l0b++;
}

static void place_bias(const struct share *s, struct step *t, struct piece *piece)
{
    union cmd *ones = load_a_of(piece, 0);

    for (unsigned i = 0; i < t->tiles; i++) {
        union cmd *load = load_b_of(piece, 0, i), *mmad = mmad_of(piece, 0, i);
        cmd_no_sync(load);
        cmd_wait(load, L0_FREE, 1);
        if (i == 0 && (!s->bias_stays || t->bias == 0)) {
            cmd_wait(load, BIAS_FULL, 1);
        }
        if (i == t->tiles - 1 && !s->bias_stays) {
            cmd_post(load, BIAS_FREE, 1);
        }
        if (i == 1) {
            cmd_post(load, L0_FULL, 1);
        }
        cmd_no_sync(mmad);
        cmd_wait(mmad, L0_FULL, 1);
        cmd_wait(mmad, C_FREE, 1);
        cmd_post(mmad, L0_FREE, 1);
        cube_set_from(mmad, CUBE_FROM_ZERO);
    }
    ones->load2d.dst = t->l0b % 2 * L0_SLOT;
    cmd_no_sync(ones);
    cmd_post(ones, L0_FULL, 1);
    place_slots(s, t, piece, 0);
}

/* The chunk of k from k0 on. */
static void place_chunk(const struct share *s, struct step *t, struct piece *piece,
                        unsigned place, uint32_t k0)
{
    union cmd *load = load_a_of(piece, place);
    uint32_t slot_k0 = k0 / A_K * A_K;

    for (unsigned i = 0; i < t->tiles; i++) {
        load_b_of(piece, place, i)->load3d.src = b_slot(s, t->b);
    }
    t->b++;
    set_map(load, t->mt, (min_u32(A_K, s->p->k - slot_k0) + 15) / 16);
    load->load3d.dst = t->l0b % 2 * L0_SLOT;
    load->load3d.src = a_slot(s, t->a + k0 / A_K);
    load->load3d.k_start = (uint16_t)(k0 - slot_k0);
    place_slots(s, t, piece, place);
}

/* Which loads of a are the first and the last to use their slot. */
static void hand_over_a(const struct share *s, const struct step *t, struct piece *piece,
                        uint32_t k0, uint32_t chunks)
{
    bool begin = t->n0 == 0 || !s->a_stays;
    bool end = t->n0 + t->nt == s->p->n || !s->a_stays;
    unsigned ends = (unsigned)begin | (unsigned)end << 1;

    if (piece->ends == ends) {
        return;
    }
    piece->ends = ends;
    for (unsigned place = 1; place <= chunks; place++, k0 += piece->shape.kl) {
        union cmd *load = load_a_of(piece, place);
        uint32_t k1 = k0 + piece->shape.kl;
        cmd_no_sync(load);
        cmd_post(load, L0_FULL, 1);
        if (begin && k0 % A_K == 0) {
            cmd_wait(load, A_FULL, 1);
        }
        if (end && (k1 == s->p->k || k1 % A_K == 0)) {
            cmd_post(load, A_FREE, 1);
        }
    }
}

/* All that the addresses of a piece depend on, and is not 0: slots repeat, so that most
 * pieces can be issued as they are. */
static uint64_t place_key(const struct share *s, const struct step *t, uint32_t k0,
                          uint32_t chunks)
{
    uint64_t slots = t->l0a % 2 | t->l0b % 2 << 1 | t->b % 2 << 2 | t->a % A_SLOTS << 3 |
                     t->c % s->c_slots << 5;
    uint64_t bias = s->bias_stays ? t->bias != 0 : 0;

    return slots | bias << 8 | (uint64_t)chunks << 12 | (uint64_t)k0 << 16;
}

static void place_piece(const struct share *s, struct step *t, struct piece *piece,
                        uint32_t k0, uint32_t chunks)
{
    uint64_t key = place_key(s, t, k0, chunks);
    uint32_t k1 = k0 + chunks * piece->shape.kl;

    if (piece->placed == key) {
        unsigned n = chunks + (k0 == 0);
        t->b += chunks;
        t->l0a += n * t->tiles;
        t->l0b += n;
    } else {
        if (k0 == 0) {
            place_bias(s, t, piece);
        }
        for (unsigned i = 1; i <= chunks; i++) {
            place_chunk(s, t, piece, i, k0 + (i - 1) * piece->shape.kl);
        }
        /* A tile is complete with the last of its Mmads; pieces are used again. */
        for (unsigned i = 0; i < chunks * t->tiles; i++) {
            unsigned place = 1 + i / t->tiles;
            struct cmd_head *head = &mmad_of(piece, place, i % t->tiles)->head;
            head->post_n[1] = k1 == s->p->k && place == chunks;
            head->post_sem[1] = head->post_n[1] ? C_FULL : 0;
        }
        piece->placed = key;
        piece->ends = 4;
    }
    for (unsigned i = 0; i < t->tiles && k0 == 0; i++) {
        load_b_of(piece, 0, i)->load2d.src = bias_slot(s, t->bias, t->n0) + i * TILE * 2;
    }
    t->bias += k0 == 0;
    hand_over_a(s, t, piece, k0, chunks);
}

/* One that has most probably been used for the same place, with the same slots. */
static struct piece *piece_for(struct step *t, uint32_t k0, uint32_t k1)
{
    unsigned half = k0 / (PIECE * B_K) % 2;

    return k1 - k0 < B_K     ? &t->rest
           : t->nt == STRIPE ? &t->whole[t->l0b % 2 * 2 + half]
                             : &t->tail[half];
}

/* The chunks of k0 to k1, in pieces of whole ones and a rest; in front the bias if k0 is
 * 0. A piece's loads fit into an empty queue: they wait for Mmads issued behind them. */
static void multiply_chunks(const struct share *s, struct step *t, uint32_t k0,
                            uint32_t k1)
{
    static_assert((1 + PIECE) * 3 <= PIPE_DEPTH, "a piece");

    while (k0 < k1) {
        uint32_t whole = (k1 - k0) / B_K, chunks = whole ? min_u32(whole, PIECE) : 1;
        struct piece *piece = piece_for(t, k0, k1);
        unsigned first = k0 == 0 ? 0 : 1;
        bool pairs = s->c_slots == 2 && t->tiles == 2;
        bool last = pairs && chunks > 1 && k0 + chunks * B_K == s->p->k;
        struct shape shape = {.mt = (uint16_t)t->mt,
                              .nt = (uint16_t)t->nt,
                              .kl = (uint16_t)(whole ? B_K : k1 - k0),
                              .first_pair = pairs && k0 == 0 && chunks != 2,
                              .last_pair = (uint8_t)(last ? chunks : 0)};

        fill_until(s, &t->fill, t->pieces + 1);
        build_piece(t, piece, &shape, last || !whole ? chunks : PIECE);
        place_piece(s, t, piece, k0, chunks);
        k0 += chunks * piece->shape.kl;
        issue_many(PIPE_MTE1, &piece->load[first * (t->tiles + 1)],
                   (1 + chunks - first) * (t->tiles + 1));
        issue_many(PIPE_M, &piece->mmad[first * t->tiles],
                   (1 + chunks - first) * t->tiles);
        fill_until(s, &t->fill, ++t->pieces + FILL_AHEAD);
    }
}

/* Nothing is built yet; the commands need no value, and there are many. */
static void begin_steps(struct step *t)
{
    memset(t, 0, offsetof(struct step, whole));
    for (unsigned i = 0; i < 4; i++) {
        t->whole[i].shape = (struct shape){0};
    }
    t->tail[0].shape = t->tail[1].shape = t->rest.shape = (struct shape){0};
    t->half = false;
    t->pieces = t->halves = 0;
}

static void begin_stripe(const struct share *s, struct step *t)
{
    t->mt = block_rows(s, t->m0);
    t->nt = min_u32(STRIPE, s->p->n - t->n0);
    t->tiles = t->nt > TILE ? 2 : 1;
}

static void end_stripe(const struct share *s, struct step *t)
{
    bool ends = t->n0 + t->nt == s->p->n;

    t->c += t->tiles;
    t->a += ends || !s->a_stays ? div_up_u32(s->p->k, A_K) : 0;
    t->reload.stripe++;
    t->n0 = ends ? 0 : t->n0 + STRIPE;
    t->m0 += ends ? s->rows : 0;
}

static void multiply_half(const struct share *s, struct step *t)
{
    uint32_t half = middle(s->p->k);

    if (s->reload == PIPE_MTE1) {
        reload_until_half(&t->reload, t->half);
    }
    if (!t->half) {
        begin_stripe(s, t);
        multiply_chunks(s, t, 0, half);
    } else {
        multiply_chunks(s, t, half, s->p->k);
        end_stripe(s, t);
    }
    t->half = !t->half;
    t->halves++;
}

bool product_ended(const struct share *s)
{
    return s->step->m0 >= s->m_end;
}

void product_until(const struct share *s, uint64_t halves)
{
    while (s->step->halves < halves && !product_ended(s)) {
        multiply_half(s, s->step);
    }
}

void product_reload(const struct share *s, uint32_t m0, uint32_t t)
{
    reload_through(s->reload == PIPE_MTE1 ? &s->step->reload : &s->step->fill.reload, m0,
                   t);
}

static const struct handed buffers[] = {
    {A_FREE, A_SLOTS}, {B_FREE, B_SLOTS}, {BIAS_FREE, BIAS_SLOTS}, {L0_FREE, 2}};

void product_begin(struct share *s)
{
    uint32_t chunks =
        div_up_u32(s->p->n, STRIPE) * div_up_u32(s->p->k, B_K); /* of b, for a block */

    s->b_stays = chunks <= B_SLOTS;
    s->b_slots = min_u32(chunks, B_SLOTS);
    s->a_stays = s->p->k <= A_SLOTS * A_K;
    s->bias_stays = s->p->n <= BIAS_MAX;
    s->c_slots = L0C_BYTES / (s->rows / LANES * TILE_BYTES);
    give(buffers, 4);
    task_post(C_FREE, s->c_slots);
    begin_steps(s->step);
    s->step->m0 = s->m_begin;
    reload_begin(&s->step->reload, s);
    fill_begin(s, &s->step->fill);
}

void product_finish(const struct share *s)
{
    take_back(buffers, 4);
    task_wait(C_FREE, s->c_slots);
}
