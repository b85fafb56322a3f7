/* SPDX-License-Identifier: MIT
 *
 * Two runs of a model beside each other.
 */
#ifndef GRAPH_DIFFER_H
#define GRAPH_DIFFER_H

/* Says on stdout which tensor is the first that is off by more than the tolerance, of its
 * largest element, and which group the first that takes longer than its pieces. 1: a tensor is
 * off. */
int differ(const char *fused, const char *plain, double tolerance);

#endif
