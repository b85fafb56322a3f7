/* SPDX-License-Identifier: MIT
 *
 * What measurements have told of a model's steps, tools/graph/tune: schedules of programs, and
 * nodes that are better apart. Programs and nodes are known by the CRC-32 of their text and
 * sizes, of their name. A file of lines:
 *
 *     tuned a2                          the profile
 *     step 0c1f2a33 r1c4096p4096n2b     a program, and the words of its schedule
 *     apart 5b0e1177,2210ff09           nodes of which no two are one step
 */
#ifndef GRAPH_TUNE_H
#define GRAPH_TUNE_H

#include "tools/graph/emit.h"

/* Reads such a file; dies if it is none, or of another profile. */
void tune_read(const char *path);
/* Nodes that are to be apart. */
bool tune_apart(const struct node *a, const struct node *b);
/* The words of a schedule as a program's text has them, or NULL. */
const char *tune_words(const struct step *s);
/* From now on each program is there as often as there are ways to try, at most `most`, the
 * fastest as far as is predicted for so many cores; and the usual one, twice. */
void tune_try(unsigned most, unsigned cores);
/* The first of them, behind the step itself, whose schedule's words are `words`; NULL: none. */
struct step *tune_tries(const struct step *s, const char *words);
/* A line for each step: `KEY WORDS NODE,..`, a - for what is not; WORDS is `again` for the
 * second one of the usual ones. */
void tune_keys(const struct emit *e, FILE *to);

#endif
