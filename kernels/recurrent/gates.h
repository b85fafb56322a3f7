/* SPDX-License-Identifier: MIT
 *
 * What the Vector makes of the sums of a step. All in UB, n elements of F32 each.
 */
#ifndef KERNELS_RECURRENT_GATES_H
#define KERNELS_RECURRENT_GATES_H

#include <stdbool.h>
#include <stdint.h>

/* Issues what makes the next state (c of an LSTM, h of a GRU) in its place, of four arrays of
 * sums side by side: those of i, f, o, g, or of u, z and the two parts of n. Where h is: in
 * the temporary, or the state. */
uint32_t recurrent_state(bool is_gru, uint32_t sums, uint32_t n, uint32_t state,
                         uint32_t temp);

#endif
