/* SPDX-License-Identifier: MIT
 *
 * streams --edges     prints the names of what orders, see tools/emu/check/race/edge.h
 * streams < EVENTS    tells the race check what happens, a line each, and prints the pairs
 *                     that it finds; for race_test.py, which says what they must be
 *
 * A line is a letter and numbers; a semaphore's core is that of the page.
 *
 *     n CORES                       a new chip       q       the end of the stream
 *     p CORE PIPE                   a push           t NAME  the hart's task, 0: no run
 *     b CORE PIPE                   the head begins  e CORE PIPE   it ends
 *     w CORE PIPE UNITS             waits for units of L0C, bits     u ... hands them on
 *     o CORE PIPE KIND MEM RESULTS  an operand       r FIRST BYTES   a range of it
 *     - CORE WHO SEM COUNT          a take           + ...    a post
 *     d CORE PIPE                   a drain          x CORE PIPE  a reset; 8: of the core
 *     h WRITE CORE MEM FIRST BYTES  an access of the hart's
 *     l EDGE                        from here on that edge is left out
 *
 * A pair is `lane serial lane serial inexact`, and `~ core semaphore` a mixed one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/check/host.h"
#include "tools/emu/check/race/edge.h"
#include "tools/emu/check/race/race.h"

enum { GM = 0x80000000, GM_BYTES = 1 << 20, NUMBERS = 5 };

static uint64_t number[NUMBERS];
static struct race *race;

static void found(void *ctx, const struct race_pair *p)
{
    (void)ctx;
    printf("%u %u %u %u %d\n", p->a->lane, p->a->serial, p->b->lane, p->b->serial,
           p->inexact);
}

static void mixed(void *ctx, const struct race_mixed *m)
{
    (void)ctx;
    printf("~ %u %u\n", m->core, m->sem);
}

static void begin(unsigned cores)
{
    static const struct race_report report = {.found = found, .mixed = mixed};
    struct race_config config = {
        .cores = cores, .profile = PROFILE_a2, .gm_base = GM, .gm_bytes = GM_BYTES};

    race = race_new(&test_host, &config, &report);
}

static void reset(unsigned core, unsigned pipe)
{
    if (pipe < NPU_PIPES) {
        race_reset_pipe(race, core, pipe);
    } else if (core < race_cores(race)) {
        race_reset_core(race, core);
    } else {
        race_reset_chip(race);
    }
}

static void accessed(void)
{
    struct race_hart_access access = {.site = {.pc = 1},
                                      .core = (unsigned)number[1],
                                      .mem = (unsigned)number[2],
                                      .first = number[3],
                                      .bytes = number[4],
                                      .write = number[0]};

    if (race_hart_matters(race)) {
        race_hart(race, &access);
    }
}

static void happens(char what)
{
    unsigned a = (unsigned)number[0], b = (unsigned)number[1], c = (unsigned)number[2];
    uint64_t units[ROW_UNIT_MARK] = {number[2]};
    struct race_site site = {.pc = 1};
    struct race_operand operand = {
        .kind = (uint8_t)c, .mem = (uint8_t)number[3], .results = number[4]};

    switch (what) {
    case 'n':
        begin(a);
        break;
    case 'q':
        race_free(race);
        puts("q");
        break;
    case 't':
        race_task(race, a);
        break;
    case 'p':
        race_push(race, a, b, &site);
        break;
    case 'b':
        race_begin(race, a, b, 0);
        break;
    case 'e':
        race_end(race, a, b, 0);
        break;
    case 'w':
        race_units_wait(race, a, b, units);
        break;
    case 'u':
        race_units_pass(race, a, b, units);
        break;
    case 'o':
        race_operand(race, a, b, &operand);
        break;
    case 'r':
        race_range(race, number[0], number[1]);
        break;
    case '-':
        race_take(race, a, b, c, (unsigned)number[3]);
        break;
    case '+':
        race_post(race, a, b, c, (unsigned)number[3]);
        break;
    case 'd':
        race_drained(race, a, b);
        break;
    case 'x':
        reset(a, b);
        break;
    case 'h':
        accessed();
        break;
    case 'l':
        check_left_out = (enum edge)a;
        break;
    default:
        exit(2);
    }
}

static void print_edges(void)
{
#define EDGE(name, text) puts(#name);
#define RULE(name, text) puts(#name);
#include "tools/emu/check/race/edge.def"
}

int main(int argc, char **argv)
{
    char line[128], *at;

    (void)argv;
    if (argc > 1) {
        print_edges();
        return 0;
    }
    while (fgets(line, sizeof(line), stdin)) {
        at = line + 1;
        for (unsigned i = 0; i < NUMBERS; i++) {
            number[i] = strtoull(at, &at, 10);
        }
        happens(line[0]);
    }
    return 0;
}
