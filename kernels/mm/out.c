/* SPDX-License-Identifier: MIT
 *
 * The way out of L0C, recorded: to GM, UB or L1 slot by slot of L0C, through a ring of UB in
 * pieces of their rows; see record.h.
 */
#include "hal/mte.h"
#include "kernels/mm/inside.h"
#include "kernels/mm/record.h"
#include "kernels/mm/room.h"
#include "kernels/mm/walk.h"

enum {
    FB_UNIT = 64,    /* bytes that go to FB at a time */
    CHAIN_BEGIN = 1, /* flags of MM_OUT: the part of k is the first, the last */
    CHAIN_END = 2,
};

/* What leaves with one command: columns of a tile, their slot of L0C, some of their rows. */
struct part {
    uint32_t h0, ht, r0, rt;
    unsigned c;
    bool first, last; /* of the slot's */
};

static uint32_t rows_of(const struct mm *mm, enum mm_place place, uint32_t mt)
{
    uint32_t rows = place == MM_UB && mm->ring.slots ? mm->ring.rows
                    : place == MM_GM && mm->mine     ? mm->strip
                                                     : 0;

    return rows ? mm_min(rows, mt) : mt;
}

/* Part i of a tile, whose columns go through L0C in `columns` pieces, the first in slot c. */
static struct part part_of(const struct mm *mm, const struct mm_key *key, unsigned i)
{
    uint32_t rows = rows_of(mm, (enum mm_place)key->place, key->mt);
    uint32_t each = mm_count(key->mt, rows), column = i / each, row = i % each;
    struct part p = {.h0 = mm_column(mm, key->nt, column, key->pieces),
                     .r0 = row * rows,
                     .c = (key->c + column) % MM_C_SLOTS,
                     .first = row == 0,
                     .last = row == each - 1};

    p.ht = mm_column(mm, key->nt, column + 1, key->pieces) - p.h0;
    p.rt = mm_min(rows, key->mt - p.r0);
    return p;
}

static unsigned parts_of(const struct mm *mm, const struct mm_key *key)
{
    return key->pieces *
           mm_count(key->mt, rows_of(mm, (enum mm_place)key->place, key->mt));
}

static uint32_t out_bytes(const struct mm *mm)
{
    return type_bits(mm->c_type) / 8;
}

/* Bytes from a row of a part in the ring to the next. */
static uint32_t ring_pitch(const struct mm *mm, uint32_t columns)
{
    return mm->ring.pitch_bytes ? mm->ring.pitch_bytes
                                : mm_up(columns * out_bytes(mm), MTE_BLOCK);
}

/* Where slopes lie in FB: behind the scales of a part. */
static uint32_t fb_slopes(const struct mm *mm, const struct part *p)
{
    return mm_begin(mm, NPU_MEM_FB) +
           (mm->scale_words ? mm_up(p->ht * MM_SCALE_BYTES, FB_UNIT) : 0);
}

/* A strip of a part waits for that of the part before, and tells the one behind. */
static void build_chain(const struct mm *mm, const struct mm_key *key, union cmd *cmd)
{
    if (mm->mine && !(key->flags & CHAIN_BEGIN)) {
        cmd_wait(cmd, mm->mine, 1);
    }
    if (mm->mine && !(key->flags & CHAIN_END)) {
        cmd_post(cmd, mm->next, 1);
    }
}

static void build_out(const struct mm *mm, const struct mm_key *key, const struct part *p,
                      unsigned slot, union cmd *cmd)
{
    uint32_t row = MTE_BLOCK / out_bytes(mm); /* elements of 32 bytes */
    uint32_t l0c = mm->l0c + p->c * mm->c1 + p->r0 * 16 * MM_SUM_BYTES;
    struct fixpipe_tile tile = {.type = mm_sum_type(mm),
                                .m = p->rt,
                                .n = p->ht,
                                .block_rows = mm_up(key->mt, 16),
                                .quant = mm_quant(mm),
                                .relu = mm->act.relu,
                                .fb_quant = mm_begin(mm, NPU_MEM_FB),
                                .fb_relu = fb_slopes(mm, p),
                                .flags = mm->act.clip ? FIX_L0C_GM_CLIP : 0};

    if (key->place == MM_GM) {
        tile.pitch_elems = mm->c_pitch;
        fixpipe_to_gm(cmd, NULL, l0c, &tile);
        build_chain(mm, key, cmd);
    } else if (key->place == MM_L1) {
        tile.n = mm_up(p->ht, 16);
        tile.nz_rows = mm_up(key->mt, 16);
        tile.flags |= mm->c_type == TYPE_F32 ? FIX_L0C_GM_SPLIT : 0;
        fixpipe_to_l1(cmd, 0, l0c, &tile);
    } else if (mm->ring.slots) {
        tile.pitch_elems = ring_pitch(mm, p->ht) / out_bytes(mm);
        fixpipe_to_ub(cmd, mm->ring.begin + slot * mm->ring.bytes, l0c, &tile);
        cmd_wait(cmd, mm->ring.free, 1);
        cmd_post(cmd, mm->ring.full, 1);
    } else {
        tile.pitch_elems = mm_up(key->nt, row);
        fixpipe_to_ub(cmd, 0, l0c, &tile);
    }
    if (p->first) {
        cmd_wait(cmd, mm->sem + MM_C_FULL + p->c, 1);
    }
    if (p->last) {
        cmd_post(cmd, mm->sem + MM_C_FREE + p->c, 1);
    }
}

/* Scales or slopes of a part's columns, `size` bytes each, from a tile's slot in L1 to FB,
 * where only FIX looks at them. */
static void build_words(const struct mm *mm, const struct mm_key *key,
                        const struct part *p, uint32_t size, union cmd *cmd)
{
    bool scales = size == MM_SCALE_BYTES;

    fixpipe_l1_to_fb(cmd, scales ? mm_begin(mm, NPU_MEM_FB) : fb_slopes(mm, p),
                     (scales ? mm->l1_scale : mm->l1_slope) +
                         key->l0 * mm_small_slot(mm, size) + p->h0 * size,
                     mm_up(p->ht * size, FB_UNIT));
    if (p->h0 == 0) {
        cmd_wait(cmd, mm->sem + MM_SCALE_FULL, 1);
    }
    if (p->h0 + p->ht == key->nt) {
        cmd_post(cmd, mm->sem + MM_SCALE_FREE, 1);
    }
}

/* Commands in front of each slot's first part. */
static unsigned words_of(const struct mm *mm)
{
    return (mm->scale_words ? 1u : 0u) + (mm->slopes ? 1u : 0u);
}

/* Part i of a tile, the one in front of it is at cmd[-1]. What is between two strips of the
 * same columns differs from both by its rows alone. */
static void build_part(const struct mm *mm, const struct mm_key *key, unsigned i,
                       uint32_t each, union cmd *cmd)
{
    struct part p;

    if (key->place == MM_GM && i % each > 1 && i % each < each - 1) {
        *cmd = cmd[-1];
        cmd->fix_gm.src += cmd->fix_gm.m * 16u * MM_SUM_BYTES;
        return;
    }
    p = part_of(mm, key, i);
    build_out(mm, key, &p, (key->a + i) % mm_max(1, mm->ring.slots), cmd);
}

static struct mm_recording *record_out(struct mm *mm, const struct mm_key *key)
{
    unsigned words = words_of(mm) * key->pieces, n = parts_of(mm, key);
    uint32_t each = n / key->pieces;
    struct mm_recording *r = mm_record(mm, key, PIPE_FIX, n + words, 0);
    union cmd *cmd = r->cmds;

    for (unsigned i = 0; i < n; i++) {
        if (words && i % each == 0) {
            struct part p = part_of(mm, key, i);
            if (mm->scale_words) {
                build_words(mm, key, &p, MM_SCALE_BYTES, cmd++);
            }
            if (mm->slopes) {
                build_words(mm, key, &p, MM_SLOPE_BYTES, cmd++);
            }
        }
        build_part(mm, key, i, each, cmd++);
    }
    return r;
}

/* Where column h0 of a tile goes, above where the tile does. */
static uint64_t piece_at(const struct mm *mm, const struct mm_key *key, uint32_t h0)
{
    return key->place == MM_L1
               ? (uint64_t)h0 / type_c0(mm->c_type) * mm_up(key->mt, 16) * MTE_BLOCK
               : h0 * out_bytes(mm);
}

/* Each piece's command lies behind those that bring its words. */
static void patch(const struct mm *mm, struct mm_recording *r, const struct mm_key *key,
                  uint64_t to)
{
    unsigned each = words_of(mm) + 1;

    for (uint32_t i = 0; i < key->pieces; i++) {
        r->cmds[i * each + each - 1].fix_gm.dst =
            to + piece_at(mm, key, mm_column(mm, key->nt, i, key->pieces));
    }
}

/* Of a part of k, which has no words. */
static void patch_strips(const struct mm *mm, struct mm_recording *r,
                         const struct mm_key *key, uint64_t to)
{
    uint32_t rows = rows_of(mm, (enum mm_place)key->place, key->mt);
    uint64_t strip = (uint64_t)rows * mm->c_pitch * out_bytes(mm), at;
    union cmd *cmd = r->cmds;

    for (uint32_t i = 0; i < key->pieces; i++) {
        at = to + piece_at(mm, key, mm_column(mm, key->nt, i, key->pieces));
        for (uint32_t row = 0; row < key->mt; row += rows, at += strip) {
            cmd++->fix_gm.dst = at;
        }
    }
}

static struct mm_key key_of(const struct mm *mm, const struct mm_cursor *at, unsigned c,
                            enum mm_place place)
{
    return (struct mm_key){
        .kind = MM_OUT,
        .a = (uint16_t)(place == MM_UB && mm->ring.slots ? mm->out % mm->ring.slots : 0),
        .c = (uint8_t)c,
        .l0 = words_of(mm) ? (uint8_t)mm_small_slot_of(mm, at) : 0,
        .flags = mm->mine ? (uint16_t)((at->part == 0 ? CHAIN_BEGIN : 0) |
                                       (at->part + 1 == mm->parts ? CHAIN_END : 0))
                          : 0,
        .a_begin = mm->mine,
        .a_k = mm->next,
        .kt = mm->mine ? (uint16_t)mm->strip : 0,
        .mt = (uint16_t)at->mt,
        .nt = (uint16_t)at->nt,
        .pieces = (uint16_t)mm_columns(mm, at->nt),
        .place = (uint8_t)place};
}

void mm_push_out(struct mm *mm, const struct mm_cursor *at, unsigned c,
                 enum mm_place place, uint64_t to)
{
    const struct mm_key key = key_of(mm, at, c, place);
    struct mm_recording *r = mm_recorded(mm, &key);

    if (r == NULL) {
        r = record_out(mm, &key);
    }
    if (place == MM_UB && mm->ring.slots) {
        mm->out += parts_of(mm, &key);
    } else if (mm->mine && place == MM_GM) {
        patch_strips(mm, r, &key, to);
    } else {
        patch(mm, r, &key, to);
    }
    mm_push(mm, PIPE_FIX, r->cmds, r->n, place == MM_GM ? mm->out_base : MM_NO_BASE);
}

unsigned mm_ring_most(const struct mm *mm)
{
    const struct mm_key key = {.mt = (uint16_t)mm->tiling.m,
                               .pieces = (uint16_t)mm_columns(mm, mm->tiling.n),
                               .place = MM_UB};

    return parts_of(mm, &key) + words_of(mm) * key.pieces;
}

uint32_t mm_ring_bytes(const struct mm *mm)
{
    return ring_pitch(mm, mm->tiling.columns) * rows_of(mm, MM_UB, mm->tiling.m);
}

unsigned mm_ring_pieces(const struct mm *mm)
{
    const struct mm_key key = key_of(mm, mm->now, 0, MM_UB);

    return parts_of(mm, &key);
}

void mm_ring_piece(const struct mm *mm, unsigned i, struct mm_piece *piece)
{
    const struct mm_key key = key_of(mm, mm->now, 0, MM_UB);
    struct part p = part_of(mm, &key, i);
    uint32_t slot = (mm->out - parts_of(mm, &key) + i) % mm->ring.slots;

    *piece = (struct mm_piece){.m0 = mm->now->m0 + p.r0,
                               .mt = p.rt,
                               .n0 = mm->now->n0 + p.h0,
                               .nt = p.ht,
                               .ub = mm->ring.begin + slot * mm->ring.bytes,
                               .pitch_bytes = ring_pitch(mm, p.ht)};
}

unsigned mm_ring_all(const struct mm *mm, struct mm_piece *pieces)
{
    const struct mm_cursor *at = mm->now;
    uint32_t columns = mm_columns(mm, at->nt), rows = rows_of(mm, MM_UB, at->mt), n = 0;
    uint32_t all = columns * mm_count(at->mt, rows);
    uint32_t slot = (mm->out - all) % mm->ring.slots;

    for (uint32_t i = 0; i < columns; i++) {
        uint32_t h0 = mm_column(mm, at->nt, i, columns);
        uint32_t ht = mm_column(mm, at->nt, i + 1, columns) - h0;
        uint32_t pitch = ring_pitch(mm, ht);
        for (uint32_t r = 0; r < at->mt; r += rows) {
            pieces[n++] = (struct mm_piece){.m0 = at->m0 + r,
                                            .mt = mm_min(rows, at->mt - r),
                                            .n0 = at->n0 + h0,
                                            .nt = ht,
                                            .ub = mm->ring.begin + slot * mm->ring.bytes,
                                            .pitch_bytes = pitch};
            slot = slot + 1 == mm->ring.slots ? 0 : slot + 1;
        }
    }
    return n;
}
