/* SPDX-License-Identifier: MIT
 *
 * The operator `demo`: how much of each licence text reappears in each other one.
 *
 * Every text is cut into passages, which are rows of numbers (kernels/cli/text.h). The
 * product of that matrix with its transpose holds the similarity of every passage with
 * every other, 1 where they are equal; the Cube computes it. A passage reappears in a
 * text that has a passage with similarity MATCH or more.
 */
#include <math.h>
#include <stdio.h>

#include "kernels/cli/text.h"
#include "kernels/matmul/matmul_op.h"

enum { WORDS = 48 /* of a passage */ };
#define MATCH 0.5f

static struct text_rows text; /* of the last call; its numbers belong to the call */

static int read_texts(struct op_call *c, const char *const *paths, unsigned n)
{
    return text_operands(c, paths, n, WORDS, &text);
}

/* Percentage of text i's passages that reappear in text j. */
static float reappears(const float *c, unsigned i, unsigned j)
{
    unsigned found = 0;

    for (unsigned r = text.first[i]; r < text.first[i + 1]; r++) {
        float best = 0;
        for (unsigned s = text.first[j]; s < text.first[j + 1]; s++) {
            best = fmaxf(best, c[(size_t)r * text.n + s]);
        }
        found += best >= MATCH;
    }
    return 100.0f * (float)found / (float)(text.first[i + 1] - text.first[i]);
}

static void show(const struct op_call *c)
{
    printf("passages of %d words of a text that reappear in another, in percent\n%-11s",
           WORDS, "");
    for (unsigned j = 0; j < text.n_texts; j++) {
        printf(" %10s", text.name[j]);
    }
    for (unsigned i = 0; i < text.n_texts; i++) {
        printf("\n%-11s", text.name[i]);
        for (unsigned j = 0; j < text.n_texts; j++) {
            printf(" %10.0f", (double)reappears(c->out[0].data, i, j));
        }
    }
    printf("\n\n");
}

OPERATOR(demo, .summary = "how much of each text reappears in the others, by matmul",
         .io = "rows[n,k] columns[k,n] -> c[n,n]", .types = "f16 f16 -> f32",
         .run = matmul_op_run, .ref = matmul_op_ref, .check = 256, .work = matmul_op_work,
         .text = read_texts, .text_only = true, .show = show, .cases = CASES(""));
