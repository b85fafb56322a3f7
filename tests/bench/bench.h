/* SPDX-License-Identifier: MIT
 *
 * What the files of the command `bench` share.
 */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include <stdint.h>

struct sched_report;

/* One figure: what it is of, the most that it may be, 0 for any, and the least measured. */
struct bench_row {
    const char *text;
    unsigned limit;
    uint64_t least;
};

/* Prints a table; RUN_CHECK if a row is above its limit, else RUN_OK. */
int bench_print(const char *title, const struct bench_row *rows, unsigned n);
/* Measures and prints launches, in cycles: RUN_OK, RUN_CHECK or what report_error says. */
int bench_launches(void);
/* The same of recorded sequences. */
int bench_sequences(void);
/* Instructions of the hart so far. */
static inline uint64_t bench_instructions(void)
{
    uint64_t n;

    __asm__ volatile("csrr %0, minstret" : "=r"(n)::"memory");
    return n;
}
/* What it has taken from `begin` to `end`, for a row, less what counting costs. */
void bench_note(struct bench_row *row, uint64_t begin, uint64_t end);

#endif
