/* SPDX-License-Identifier: MIT
 *
 * What measurements have told of a model's steps, tools/graph/tune and tools/graph/calibrate:
 * schedules of programs, their arithmetic, and nodes that are better apart. Programs and nodes
 * are known by the CRC-32 of their text and sizes, of their name. A file of lines:
 *
 *     tuned a2                          the profile
 *     step 0c1f2a33 r1c4096p4096n2b     a program, and the words of its schedule
 *     step 27a1b3c4 n64k64r28c56m160b1  a convolution, and its cut
 *     apart 5b0e1177,2210ff09           nodes of which no two are one step
 *     together 5b0e1177,2210ff09        nodes that are one step whatever is predicted
 *     mended 5b0e1177,2210ff09          the same, because of what one step's error is
 *     arith 77aa0e12 f16                a program of the usual arithmetic, and what it is to have
 */
#ifndef GRAPH_TUNE_H
#define GRAPH_TUNE_H

#include "kernels/conv/conv.h"
#include "tools/graph/steps/steps.h"

/* Reads such a file, behind others; dies if it is none, or of another profile. */
void tune_read(const char *path);
/* Why nodes are to be apart; NULL: they are not. */
const char *tune_apart(const struct node *a, const struct node *b);
/* Why all nodes of a group are to be together; NULL: nothing is said of them. */
const char *tune_together(const struct group *group);
/* The arithmetic of a program whose key is that of the usual one. */
enum arith tune_arith(const struct step *s);
/* The words of a schedule as a program's text has them, or NULL. */
const char *tune_words(const struct step *s);
/* The cut of a convolution, or NULL. */
const char *tune_cut(const struct step *s);
/* From now on each program is there as often as there are ways to try, at most `most`, the
 * fastest as far as is predicted for so many cores; and the usual one, twice. */
void tune_try(unsigned most, unsigned cores);
/* The first of them, behind the step itself; NULL: there are none. */
struct step *tune_tries(const struct step *s);
/* The same of a convolution, but of those that are alike once; cuts.c: at most so many. */
struct step *tune_cuts(const struct emit *e, const struct step *s);
struct step *tune_cut_tries(const struct step *s, const struct conv *p, unsigned most,
                            unsigned cores);
/* One of them: the step with another text, and the words that say how it differs. */
struct step *tune_candidate(const struct step *s, const char *text, const char *words);
/* What a node is called in such files. */
uint32_t tune_name(const struct node *n);
/* A line for each step: `KEY WORDS NODE,..`, a - for what is not; WORDS is `again` for the
 * second one of the usual ones. */
void tune_keys(const struct emit *e, FILE *to);

#endif
