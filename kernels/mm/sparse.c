/* SPDX-License-Identifier: MIT
 *
 * A b of S8 of which MMAD_SPARSE multiplies two of each four numbers along k
 * (hal/contract/cube.md, "Sparse"). In GM these lie as rows of up to 2 ceil(k / 4) bytes, and
 * behind them, at a multiple of 512, the index as the Cube wants it: for each 64 of k a list of
 * 8 bytes of each column of c, which are rounded up to 16.
 */
#include <string.h>

#include "hal/mte.h"
#include "kernels/mm/inside.h"
#include "kernels/mm/record.h"
#include "kernels/mm/room.h"
#include "kernels/mm/walk.h"

enum {
    FOUR = 4,       /* numbers, of which two are kept */
    INDEX_BYTES = 8 /* of a column, for MM_SPARSE_K of k */
};

static uint32_t dense(uint32_t k)
{
    return mm_count(k, FOUR) * 2;
}

static uint64_t index_at(uint32_t n, uint32_t k)
{
    return ((uint64_t)n * dense(k) + MTE_FRACTAL - 1) / MTE_FRACTAL * MTE_FRACTAL;
}

uint64_t mm_sparse_bytes(uint32_t n, uint32_t k)
{
    return index_at(n, k) +
           (uint64_t)mm_count(k, MM_SPARSE_K) * mm_up(n, 16) * INDEX_BYTES;
}

void mm_set_sparse(struct mm *mm, const void *packed)
{
    mm_set_b(mm, packed, TYPE_S8, MM_ND, true, 0);
    mm->b.pitch = dense(mm->shape.k);
    mm->b.sparse = true;
}

/* --- packing --- */

static int magnitude(int8_t x)
{
    return x < 0 ? -x : x;
}

/* The two largest of up to four numbers, in their order; the others become 0. */
static void keep_two(int8_t *b, uint32_t n, unsigned kept[2])
{
    unsigned first = 0, second;

    for (unsigned i = 1; i < n; i++) {
        first = magnitude(b[i]) > magnitude(b[first]) ? i : first;
    }
    second = first == 0 ? 1 : 0;
    for (unsigned i = second + 1; i < n; i++) {
        bool more = second >= n || magnitude(b[i]) > magnitude(b[second]);
        second = i != first && more ? i : second;
    }
    for (unsigned i = 0; i < n; i++) {
        b[i] = i == first || i == second ? b[i] : 0;
    }
    kept[0] = first < second ? first : second;
    kept[1] = first < second ? second : first;
}

void mm_sparse_pack(int8_t *b, uint32_t n, uint32_t k, void *to)
{
    uint8_t *index = (uint8_t *)to + index_at(n, k);
    int8_t *numbers = to;

    memset(to, 0, mm_sparse_bytes(n, k));
    for (uint32_t j = 0; j < n; j++) {
        for (uint32_t x = 0; x < k; x += FOUR, numbers += 2) {
            uint32_t count = mm_min(FOUR, k - x), y = x / 2, kept[2];
            uint64_t at = (uint64_t)(x / MM_SPARSE_K) * mm_up(n, 16) + j;
            int8_t *four = b + (uint64_t)j * k + x;
            keep_two(four, count, kept);
            numbers[0] = four[kept[0]];
            numbers[1] = kept[1] < count ? four[kept[1]] : 0;
            index[at * INDEX_BYTES + y % 32 / FOUR] |=
                (uint8_t)((kept[0] | (kept[1] - 1) << 2) << 2 * (y % FOUR));
        }
    }
}

/* --- on its way --- */

/* Bytes of a slot in L1 in front of the index. */
static uint32_t slot_dense(const struct mm *mm)
{
    return mm->slot_b / 5 * 4;
}

static struct mm_recording *record_load(struct mm *mm, const struct mm_key *key,
                                        const struct mm_cursor *at)
{
    uint32_t rows = mm_b_rows(mm, at), l1 = mm->l1_b + key->b * mm->slot_b;
    struct mm_recording *r = mm_record(mm, key, PIPE_MTE2, 2, 0);

    mte_gm_to_l1_nz(&r->cmds[0], l1, NULL,
                    &(struct mte_nz){.type = TYPE_S8,
                                     .n_rows = at->nt,
                                     .n_cols = dense(at->kt),
                                     .gm_pitch_elems = mm->b.pitch,
                                     .block_rows = rows});
    cmd_wait(&r->cmds[0], mm->sem + MM_B_FREE, 1);
    mte_gm_to_l1_rows(
        &r->cmds[1], l1 + slot_dense(mm), NULL,
        &(struct mte_rows){.n_rows = mm_count(at->kt, MM_SPARSE_K),
                           .row_bytes = rows * INDEX_BYTES,
                           .gm_pitch_bytes = mm_up(mm->shape.n, 16) * INDEX_BYTES,
                           .local_pitch_bytes = rows * INDEX_BYTES});
    cmd_post(&r->cmds[1], mm->sem + MM_B_FULL, 1);
    return r;
}

void mm_push_load_sparse(struct mm *mm, const struct mm_cursor *at)
{
    const struct mm_key key = {.kind = MM_LOAD_B,
                               .b = (uint16_t)((at->b + at->chunk) % mm->tiling.b_slots),
                               .nt = (uint16_t)at->nt,
                               .kt = (uint16_t)at->kt};
    struct mm_recording *r = mm_recorded(mm, &key);
    uint64_t index = index_at(mm->shape.n, mm->shape.k);

    if (r == NULL) {
        r = record_load(mm, &key, at);
    }
    index +=
        ((uint64_t)at->k0 / MM_SPARSE_K * mm_up(mm->shape.n, 16) + at->n0) * INDEX_BYTES;
    r->cmds[0].nd2nz.src =
        (uintptr_t)mm->b.gm + (uint64_t)at->n0 * mm->b.pitch + at->k0 / 2;
    r->cmds[1].copy_in.src = (uintptr_t)mm->b.gm + index;
    mm_push(mm, PIPE_MTE2, r->cmds, 2, MM_BASE_B);
}

void mm_sparse_place(const struct mm *mm, union cmd *cmd, const struct mm_key *key,
                     uint32_t at, uint32_t kl)
{
    uint32_t rows = mm_up(key->nt, 16), block = at / MM_SPARSE_K;
    uint32_t l1 = mm->l1_b + key->b * mm->slot_b;

    cmd->sparse.src = l1 + block * rows * MTE_BLOCK;
    cmd->sparse.index = l1 + slot_dense(mm) + block * rows * INDEX_BYTES;
    CMD_SET(cmd->sparse.repeat, mm_count(kl, MM_SPARSE_K) * rows / 16);
}
