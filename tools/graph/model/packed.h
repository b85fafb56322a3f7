/* SPDX-License-Identifier: MIT
 *
 * Large constants: weights are most of what a model is, and few passes look at them. Their values
 * stay as they lie in the model's file, or in the type that they were computed for; t->value is an
 * address range of their own, which says that they are known and faults whoever reads it. Who
 * wants the values there asks for them first, or reads them a part at a time.
 *
 * infer.c asks for the operands of all nodes but those that packed_reads() names: their rules look
 * at weights by the functions below alone.
 */
#ifndef GRAPH_PACKED_H
#define GRAPH_PACKED_H

#include "tools/graph/model/graph.h"

enum { PACKED_PART = 1 << 14 }; /* elements, at most, that are read or put at a time */

/* Where they lie: in memory of their own; in the mapped file, whose pages go when they were
 * read; in other memory that stays. */
enum packed_where { PACKED_OWNED, PACKED_MAPPED, PACKED_MEMORY };

/* The values of t are these bytes, of a type that holds them exactly. False: t is too small for
 * it, and nothing is done. */
bool packed_take(struct tensor *t, enum elem type, uint8_t *bytes,
                 enum packed_where where);
/* They are float32, and to be float16, as dtype_constant() makes others. */
void packed_hold(struct tensor *t);
/* Zeros for values of that type, which packed_write() is to bring, n of them from number i on. */
void packed_buffer(struct tensor *t, enum elem type);
void packed_write(struct tensor *t, size_t i, size_t n, const double *from);

/* t->value, if it has one, may be read from here on, by views of it, too. */
void packed_load(const struct tensor *t);

/* Values i to i + n - 1 of a constant; the same as the machine has them. */
void packed_read(const struct tensor *t, size_t i, size_t n, double *to);
void packed_put(const struct tensor *t, size_t i, size_t n, void *to);
/* Whether both, which have as many, have the same values. */
bool packed_same(const struct tensor *a, const struct tensor *b);

/* Values that nobody wants any more; p NULL: they are not packed. */
void packed_free(double *value, struct packed *p);

/* Whether nodes of this operator leave values of operand i to the functions above. */
bool packed_reads(const struct node *n, unsigned i);

#endif
