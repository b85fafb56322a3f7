/* SPDX-License-Identifier: MIT
 *
 * The commands of an object, recorded: what a chunk of k needs on MTE1 and M, a load, a way
 * out. Tiles of a size and buffers of a ring come again and again, so each is built once for
 * each of them and then pushed, with the address in GM as a patch.
 */
#ifndef KERNELS_MM_RECORD_H
#define KERNELS_MM_RECORD_H

#include "kernels/mm/mm.h"

/* From the object's first one up. FREE counts empty buffers, FULL filled ones; each slot of
 * L0C has its own. (Debuggers name semaphores by enums without a name that count up.) */
enum {
    MM_A_FREE,
    MM_A_FULL,
    MM_B_FREE,
    MM_B_FULL,
    MM_L0_FREE,
    MM_L0_FULL,
    MM_C_FREE,
    MM_C_RIGHT_FREE,
    MM_C_FULL,
    MM_C_RIGHT_FULL,
    MM_BIAS_FREE,
    MM_BIAS_FULL,
    MM_SCALE_FREE,
    MM_SCALE_FULL,
    MM_ZEROS_FULL, /* in UB */
};
_Static_assert(MM_ZEROS_FULL + 1 == MM_SEMS, "as mm.h says");

enum {
    MM_L0_SLOTS = 2,
    MM_C_SLOTS = 2,
    MM_SMALL_SLOTS = 2, /* of bias and scales in L1 */
};

/* What a command's address in GM belongs to. */
enum mm_base {
    MM_NO_BASE,
    MM_BASE_A,
    MM_BASE_B,
    MM_BASE_BIAS,
    MM_BASE_SCALE,
    MM_BASE_SLOPE,
    MM_BASE_C,
    MM_BASES
};

/* Rows r0 .. of an operand as it lies in GM or L1, from column c0 on. */
struct mm_window {
    uint32_t r0, rows, c0, cols;
};

void mm_script_add(struct mm *mm, enum pipe pipe, const union cmd *cmds, unsigned n,
                   enum mm_base base);
/* n commands, recorded or not, whose addresses in GM belong to `base`. */
static inline void mm_push(struct mm *mm, enum pipe pipe, union cmd *cmds, unsigned n,
                           enum mm_base base)
{

    if (n == 1) {
        task_issue(pipe, cmds);
    } else {
        task_issue_many(pipe, cmds, n);
    }
    if (mm->writes) { /* as they were issued, with the tag */
        mm_script_add(mm, pipe, cmds, n, base);
    }
}
struct mm_key;

/* Push what the cursor is at. */
void mm_push_load_a(struct mm *mm, const struct mm_cursor *at);
void mm_push_load_b(struct mm *mm, const struct mm_cursor *at);
/* Of a sparse b its numbers and their index: to L1; from there to L0B, what `cmd` lacks of a
 * slice of the key's chunk. */
void mm_push_load_sparse(struct mm *mm, const struct mm_cursor *at);
void mm_sparse_place(const struct mm *mm, union cmd *cmd, const struct mm_key *key,
                     uint32_t at, uint32_t kl);
void mm_push_load_bias(struct mm *mm, const struct mm_cursor *at);
void mm_push_load_scale(struct mm *mm, const struct mm_cursor *at);
void mm_push_load_slope(struct mm *mm, const struct mm_cursor *at);
/* Those that there are, of a tile. */
static inline void mm_push_load_columns(struct mm *mm, const struct mm_cursor *at)
{
    if (mm->bias && at->part == 0) {
        mm_push_load_bias(mm, at);
    }
    if (mm->scale_words) {
        mm_push_load_scale(mm, at);
    }
    if (mm->slopes) {
        mm_push_load_slope(mm, at);
    }
}
/* Pieces of the tile over one chunk, the first of them into slot c of L0C, what is more into
 * the other by turns. */
void mm_push_products(struct mm *mm, const struct mm_cursor *at, uint32_t first,
                      uint32_t n, unsigned c);
/* The tile, which begins in slot c, out of L0C. */
void mm_push_out(struct mm *mm, const struct mm_cursor *at, unsigned c,
                 enum mm_place place, uint64_t to);

#endif
