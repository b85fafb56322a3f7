/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Who posted and took units of semaphores, for `npu history`. Kept only with debug=on; the
 * oldest half is forgotten when there is too much of it.
 *
 * Invariant: the moves are those before the machine's present, in their order.
 */
#include "tools/emu/qemu/device/device.h"

#define MOST (1u << 20)

typedef struct Move {
    int64_t when; /* ns */
    uint64_t cycle, number, pc;
    uint32_t tag;
    uint16_t count, value;
    uint8_t posts, core, who, sem_core, sem;
} Move;

static GArray *moves; /* of Move */

void npu_semlog_event(const struct npu_event *e)
{
    if (e->what != NPU_TAKES && e->what != NPU_POSTS) {
        return;
    }
    Move move = {
        .when = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL),
        .cycle = e->now,
        .number = e->number,
        .pc = e->ra ? e->ra : e->pc,
        .tag = e->cmd ? e->cmd->head.tag : 0,
        .count = e->count,
        .value = e->value,
        .posts = e->what == NPU_POSTS,
        .core = e->core,
        .who = e->pipe,
        .sem_core = e->sem_core,
        .sem = e->sem,
    };
    moves = moves ?: g_array_new(false, false, sizeof(Move));
    if (moves->len == MOST) {
        g_array_remove_range(moves, 0, MOST / 2);
    }
    g_array_append_val(moves, move);
}

void npu_semlog_restored(void)
{
    unsigned n = moves ? moves->len : 0;

    while (n > 0 && g_array_index(moves, Move, n - 1).when >
                        qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL)) {
        n--;
    }
    if (moves) {
        g_array_set_size(moves, n);
    }
}

/* The last first; by: 0 a pipe, 1 the hart, 2 a barrier unit. */
char *npu_semlog(unsigned core, unsigned sem, unsigned most)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = moves ? moves->len : 0; most > 0 && i-- > 0;) {
        const Move *m = &g_array_index(moves, Move, i);

        if (m->sem == sem && (m->sem_core == core || m->sem_core == NPU_CHIP)) {
            g_string_append_printf(
                text,
                "what=%s cycle=%" PRIu64 " core=%u pipe=%u by=%u number=%" PRIu64
                " pc=%" PRIu64 " tag=%u count=%u value=%u\n",
                m->posts ? "posts" : "takes", m->cycle, m->core, m->who,
                m->who < NPU_PIPES ? 0u : m->who - NPU_PIPES + 1u, m->number, m->pc,
                m->tag, m->count, m->value);
            most--;
        }
    }
    return g_string_free(text, FALSE);
}
