/* SPDX-License-Identifier: MIT
 *
 * Parts of a job that threads of the host may do side by side, in any order.
 */
#ifndef TOOLS_EMU_MODEL_SHARE_H
#define TOOLS_EMU_MODEL_SHARE_H

typedef void share_part(const void *of, unsigned i);

/* call(): part(of, i) for each i below parts, by this thread and by others that have nothing
 * to do; returns when all have returned. */
struct share {
    void (*call)(void *ctx, unsigned parts, share_part *part, const void *of);
    void *ctx;
};

#endif
