/* SPDX-License-Identifier: MIT
 *
 * Where an object's recorded commands are kept: those of one core, found by what they depend
 * on. When a room is full all are forgotten, since what was pushed is copied.
 */
#ifndef KERNELS_MM_ROOM_H
#define KERNELS_MM_ROOM_H

#include "kernels/mm/mm.h"
#include "kernels/mm/script.h"

enum {
    MM_ROOM_SLOTS = 256,      /* of the table, a power of 2; a quarter stays free */
    MM_ROOM_BLOCKS = 24,      /* of memory, one after the other as they are wanted: */
    MM_BLOCK_BYTES = 4 << 10, /* malloc() clears what it gives, which takes a while */
    MM_RING = 8,
};

enum mm_kind {
    MM_LOAD_A,
    MM_LOAD_B,
    MM_LOAD_BIAS,
    MM_LOAD_SCALE,
    MM_LOAD_SLOPE,
    MM_PRODUCTS,
    MM_OUT,
    MM_KINDS
};

/* All that commands of an object depend on but for what mm_set_ has said. */
struct mm_key {
    _Alignas(8) uint8_t kind; /* so that it is cleared by words */
    uint8_t place, c, l0;     /* c, l0, a, b: slots */
    uint16_t flags, a, b;
    uint16_t mt, nt, kt, first, pieces, a_begin, a_k;
};
_Static_assert(sizeof(struct mm_key) == 3 * sizeof(uint64_t), "compared by words");

/* Commands of one pipe, `more` of which follow that go to M. */
struct mm_recording {
    struct mm_key key;
    enum pipe pipe;
    uint8_t n, more;
    union cmd cmds[];
};

/* Commands of a slice that products of one size of tile have in common: load a, load b,
 * multiply. */
struct mm_common {
    uint32_t mt, ht, a_rows, b_rows;
    union cmd cmd[3];
};

struct mm_room {
    uint32_t run;
    bool taken;
    enum mm_half half; /* what the object has that took it */
    unsigned sem;
    uint32_t l1_begin, l1_end;
    uint64_t of;                         /* what else its recordings depend on, folded */
    struct mm_recording *like[MM_KINDS]; /* the last of each kind */
    struct mm_common common[2];          /* of whole columns and of the last */
    struct mm_cursor ring[MM_RING];      /* of chunks that are loaded, and the next */
    struct mm_script *script;            /* NULL: none was wanted yet */
    uint64_t whole;                      /* what mm_run() did last: mm_script_wanted() */
    struct mm_recording *slot[MM_ROOM_SLOTS];
    unsigned n, free;            /* recordings; the place that was looked at last */
    char *block[MM_ROOM_BLOCKS]; /* the first one is always there */
    unsigned at;                 /* the one that is filled, */
    size_t used;                 /* up to there */
};
_Static_assert(sizeof(struct mm_recording) +
                       (PIPE_DEPTH + PIPE_DEPTH / 2) * sizeof(union cmd) <=
                   MM_BLOCK_BYTES,
               "a block holds what is recorded at one time");

/* Ends the run with ERR_BUSY if the object has anything in common with one of the core that has
 * begun in this run and not ended: L0, semaphores, L1. */
void mm_check_rooms(const struct mm *mm);
/* A room for the object's recordings, with those that an object which agrees in `of`, all
 * that they depend on, has left there in an earlier run, if it was one of the last two: launches
 * that are repeated, of two products too, do not record again. of 0: for an object that records
 * nothing. NULL: no memory. */
struct mm_room *mm_room_take(unsigned core, const struct mm *mm, uint64_t of);
void mm_room_give(struct mm_room *room);
/* The core's script of such an object, which has all of L0, or the first half; NULL: there is
 * none. */
struct mm_script *mm_script_of(unsigned core, uint64_t of);
/* The recording of a key, or NULL. */
struct mm_recording *mm_recorded(const struct mm *mm, const struct mm_key *key);
/* One of n commands and `more`, of a key that was not found, for who fills them in. */
struct mm_recording *mm_record(const struct mm *mm, const struct mm_key *key,
                               enum pipe pipe, unsigned n, unsigned more);
/* The one of its kind that was recorded before r, if it still stands and is for a tile of the
 * same size: what differs are buffers. */
const struct mm_recording *mm_like(const struct mm *mm, struct mm_recording *r);

#endif
