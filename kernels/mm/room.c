/* SPDX-License-Identifier: MIT
 *
 * Rooms of recorded commands; see room.h.
 */
#include "kernels/mm/room.h"

#include <stdlib.h>
#include <string.h>

#include "hal/hint.h"

enum {
    MM_ROOMS = 2, /* of a core: objects at one time, */
    MM_KEPT = 2   /* and what was recorded for the last ones, as steps of a launch are */
};

static struct mm_room *rooms[MM_ROOMS][NPU_MAX_CORES][MM_KEPT]; /* the last one first */

static void forget(struct mm_room *room)
{
    memset(room->slot, 0, sizeof(room->slot));
    memset(room->like, 0, sizeof(room->like));
    room->common[0].mt = room->common[1].mt = 0;
    room->at = 0;
    room->used = 0;
    room->n = 0;
}

static struct mm_room *new_room(void)
{
    struct mm_room *room = malloc(sizeof(*room));
    char *block = malloc(MM_BLOCK_BYTES);

    if (room == NULL || block == NULL) {
        free(room);
        free(block);
        return NULL;
    }
    hint_kept(room, sizeof(*room));
    hint_kept(block, MM_BLOCK_BYTES);
    memset(room->block, 0, sizeof(room->block));
    room->block[0] = block;
    room->script = NULL;
    room->whole = 0;
    forget(room);
    return room;
}

/* Room for so many bytes behind what is recorded; false: none is left. */
static bool has_room(struct mm_room *room, size_t bytes)
{
    char **block = &room->block[room->at];

    if (room->used + bytes <= MM_BLOCK_BYTES) {
        return true;
    }
    if (room->at + 1 == MM_ROOM_BLOCKS) {
        return false;
    }
    if (*++block == NULL) {
        *block = malloc(MM_BLOCK_BYTES);
        if (*block == NULL) {
            return false;
        }
        hint_kept(*block, MM_BLOCK_BYTES);
    }
    room->at++;
    room->used = 0;
    return true;
}

struct mm_script *mm_script_of(unsigned core, uint64_t of)
{
    for (unsigned i = 0; i < MM_KEPT; i++) {
        struct mm_room *room = rooms[0][core][i];
        if (room && room->script && room->script->of == of) {
            return room->script;
        }
    }
    return NULL;
}

/* Whether a room's object has begun in this run and not ended. */
static bool is_taken(const struct mm_room *room)
{
    return room && room->taken && room->run == sched_run_number;
}

/* What two objects have in common that each must have for itself, or NULL. */
static const char *shared_by(const struct mm_room *room, const struct mm *mm)
{
    uint32_t end = mm->l1_begin + mm_l1_bytes(mm);

    if (room->half == MM_WHOLE || mm->half == MM_WHOLE || room->half == mm->half) {
        return "L0A, L0B and L0C belong";
    }
    if (mm->sem < room->sem + MM_SEMS && room->sem < mm->sem + MM_SEMS) {
        return "semaphores belong";
    }
    if (mm->l1_begin < room->l1_end && room->l1_begin < end) {
        return "that part of L1 belongs";
    }
    return NULL;
}

void mm_check_rooms(const struct mm *mm)
{
    for (unsigned i = 0; i < MM_ROOMS; i++) {
        const struct mm_room *room = rooms[i][task_core()][0];
        const char *what = is_taken(room) ? shared_by(room, mm) : NULL;
        if (what) {
            task_fail(
                ERR_BUSY, SCHED_HERE,
                "a second object at one time: %s to the one that has begun, until its "
                "mm_end()",
                what);
        }
    }
}

/* The room that has the recordings, or that of the object which is longest ago, comes first. */
static struct mm_room **first_room(struct mm_room **kept, uint64_t of)
{
    struct mm_room *room;
    unsigned i = 0;

    while (i + 1 < MM_KEPT && kept[i] && kept[i]->of != of) {
        i++;
    }
    room = kept[i];
    memmove(&kept[1], &kept[0], i * sizeof(*kept));
    kept[0] = room;
    return kept;
}

struct mm_room *mm_room_take(unsigned core, const struct mm *mm, uint64_t of)
{
    struct mm_room **at = first_room(rooms[mm->half == MM_SECOND_HALF][core], of);
    struct mm_room *room = *at;

    if (room == NULL) {
        room = new_room();
        if (room == NULL) {
            return NULL;
        }
        room->of = of;
        *at = room;
    }
    room->half = mm->half;
    room->sem = mm->sem;
    room->l1_begin = mm->l1_begin;
    room->l1_end =
        mm->half ? mm->l1_begin + mm_l1_bytes(mm) : 0; /* who has all is alone */
    room->run = sched_run_number;
    room->taken = true;
    room->common[0].mt = room->common[1].mt = 0;
    if (room->of != of && of) {
        forget(room);
    }
    room->of = of;
    return room;
}

void mm_room_give(struct mm_room *room)
{
    room->taken = false;
}

static unsigned place_of(const struct mm_key *key)
{
    const uint64_t *word = (const void *)key;
    uint64_t mix = (word[0] ^ word[1] << 7 ^ word[2] << 3) * 0x9e3779b97f4a7c15u;

    return (unsigned)(mix >> 56);
}
_Static_assert(MM_ROOM_SLOTS == 1 << (64 - 56), "the upper bits of the mix");

/* The recording of that key, or NULL; *at is then a free place of the table. */
static struct mm_recording *find(const struct mm_room *room, const struct mm_key *key,
                                 unsigned *at)
{
    const uint64_t *want = (const void *)key;

    for (*at = place_of(key); room->slot[*at]; *at = (*at + 1) % MM_ROOM_SLOTS) {
        const uint64_t *have = (const void *)&room->slot[*at]->key;
        if (have[0] == want[0] && have[1] == want[1] && have[2] == want[2]) {
            return room->slot[*at];
        }
    }
    return NULL;
}

struct mm_recording *mm_recorded(const struct mm *mm, const struct mm_key *key)
{
    return mm->once ? NULL : find(mm->room, key, &mm->room->free);
}

struct mm_recording *mm_record(const struct mm *mm, const struct mm_key *key,
                               enum pipe pipe, unsigned n, unsigned more)
{
    size_t bytes = sizeof(struct mm_recording) + (n + more) * sizeof(union cmd);
    struct mm_room *room = mm->room;
    struct mm_recording *r;

    if (mm->once) {
        room->at = 0; /* nothing is kept */
        room->used = 0;
    } else if (room->n == MM_ROOM_SLOTS / 4 * 3 || !has_room(room, bytes)) {
        forget(room);
        room->free = place_of(key);
    }
    r = (void *)(room->block[room->at] + room->used);
    r->key = *key;
    r->pipe = pipe;
    r->n = (uint8_t)n;
    r->more = (uint8_t)more;
    if (!mm->once) {
        room->used += bytes;
        room->n++;
        room->slot[room->free] = r;
    }
    return r;
}

const struct mm_recording *mm_like(const struct mm *mm, struct mm_recording *r)
{
    const struct mm_recording *last = mm->once ? NULL : mm->room->like[r->key.kind];

    mm->room->like[r->key.kind] = r;
    return last && last->key.mt == r->key.mt && last->key.nt == r->key.nt &&
                   last->key.kt == r->key.kt
               ? last
               : NULL;
}
