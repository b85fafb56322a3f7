/* SPDX-License-Identifier: MIT
 *
 * Whether tests/broken/races.def has all that can race: every two pipes that reach a memory,
 * one of which writes it, either first. Which do is seen from random commands of every
 * opcode. The table of it is printed: of each memory who reads and writes it, and pairs.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/machine/touch.h"
#include "tests/model/rig.h"
#include "tests/test.h"

enum { MEMORIES = NPU_MEM_COUNT + 1, TRIES = 64 }; /* GM last */

/* A pipe's reading or writing of a memory. */
enum { READS, WRITES, KINDS };
static bool seen[MEMORIES][NPU_PIPES][KINDS];
/* The pairs that are there, in their order. */
static bool planted[MEMORIES][NPU_PIPES][KINDS][NPU_PIPES][KINDS];

/* --- what can be --- */

static void note(void *ctx, const struct access *a, enum touch_kind kind)
{
    const struct npu_event *e = ctx;
    unsigned m = a->mem == NPU_MEM_GM ? NPU_MEM_COUNT : a->mem;

    if (access_bytes(a)) {
        seen[m][e->pipe][kind == TOUCH_READS ? READS : WRITES] = true;
    }
}

static void hear(void *ctx, const struct npu_event *e)
{
    (void)ctx;
    if (e->what == NPU_ENDS) {
        npu_touch(&rig.npu, e->core, e->pipe, note, (void *)(uintptr_t)e);
    }
}

static void run_some(const struct cmd_info *info)
{
    for (unsigned i = 0; i < TRIES; i++) {
        struct touch_program p = touch_program(info);

        rig_write(&rig, 0, CORE_CTRL, CORE_CTRL_RESET);
        touch_data(&p.cmd, rig.npu.mem[0][NPU_MEM_UB], rig.npu.mem[0][NPU_MEM_L0B_INDEX]);
        for (unsigned k = 0; k < p.n_set; k++) {
            run(p.set[k]);
        }
        run(p.cmd);
    }
}

static const uint16_t opcodes[] = {
#define CMD(NAME, pipe, opcode, types, flags, format, text) opcode,
#include "hal/contract/all.h"
};

/* --- what is there --- */

static bool same_word(const char *word, size_t length, const char *name)
{
    for (size_t i = 0; i < length; i++) {
        if (toupper((unsigned char)word[i]) != toupper((unsigned char)name[i])) {
            return false;
        }
    }
    return name[length] == 0;
}

static const char *mem_name(unsigned m)
{
    return m == NPU_MEM_COUNT ? "GM" : npu_mem_name((enum npu_mem)m);
}

/* The parts of an actor's name, such as mte2_to_ub; false: it is none. */
static bool actor(const char *name, unsigned *pipe, unsigned *kind, unsigned *mem)
{
    const char *way = strchr(name, '_'), *at = way ? strchr(way + 1, '_') : NULL;

    for (*pipe = 0; at && *pipe < NPU_PIPES; ++*pipe) {
        for (*mem = 0; *mem < MEMORIES; ++*mem) {
            if (same_word(name, (size_t)(way - name), pipe_name(*pipe)) &&
                same_word(at + 1, strlen(at + 1), mem_name(*mem))) {
                *kind = strncmp(way, "_to_", 4) ? READS : WRITES;
                return true;
            }
        }
    }
    return false;
}

static void plant(const char *x, const char *y)
{
    unsigned pipe[2], kind[2], mem[2];

    if (ok(actor(x, &pipe[0], &kind[0], &mem[0]) &&
               actor(y, &pipe[1], &kind[1], &mem[1]) && mem[0] == mem[1],
           "corpus/%s__%s", x, y)) {
        planted[mem[0]][pipe[0]][kind[0]][pipe[1]][kind[1]] = true;
    }
}

/* --- both --- */

/* Of a memory: pairs that can race, and those of them that are not planted. */
static unsigned missing(unsigned m, unsigned *pairs)
{
    unsigned n = 0;

    *pairs = 0;
    for (unsigned i = 0; i < NPU_PIPES * KINDS; i++) {
        for (unsigned k = 0; k < NPU_PIPES * KINDS; k++) {
            unsigned a = i / KINDS, b = k / KINDS, x = i % KINDS, y = k % KINDS;
            if (a == b || (x == READS && y == READS) || !seen[m][a][x] ||
                !seen[m][b][y]) {
                continue;
            }
            ++*pairs;
            if (!planted[m][a][x][b][y]) {
                n++;
                test_note("no pair %s %s, %s %s", pipe_name(a),
                          x == READS ? "reads" : "writes", pipe_name(b),
                          y == READS ? "reads" : "writes");
            }
        }
    }
    return n;
}

static void print_users(unsigned m, unsigned kind, char *to, size_t room)
{
    size_t used = 0;

    to[0] = 0;
    for (unsigned p = 0; p < NPU_PIPES && used < room; p++) {
        if (seen[m][p][kind]) {
            used += (size_t)snprintf(to + used, room - used, " %s", pipe_name(p));
        }
    }
}

TEST(corpus, every_pair)
{
    static struct npu_host host;

    rig_reset(&rig);
    host = *rig.npu.host;
    host.event = hear;
    rig.npu.host = &host;
    for (unsigned i = 0; i < LENGTH(opcodes); i++) {
        run_some(cmd_find(opcodes[i]));
    }
    rig_reset(&rig);
#define PAIR(x, y) plant(#x, #y);
#include "tests/broken/races.def"
#undef PAIR
    for (unsigned m = 0; m < MEMORIES; m++) {
        char reads[64], writes[64];
        unsigned pairs, gaps = missing(m, &pairs);
        print_users(m, READS, reads, sizeof(reads));
        print_users(m, WRITES, writes, sizeof(writes));
        if (pairs) {
            ok(gaps == 0, "corpus/every_pair_on_%s", mem_name(m));
            test_note("%-9s read by%s, written by%s: %u pairs", mem_name(m), reads,
                      writes, pairs);
        }
    }
}
