/* SPDX-License-Identifier: MIT
 *
 * Operators: what can be named on the command line. OPERATOR() in any file that is
 * linked in is all it takes; linker/npu.ld collects and sorts them by name.
 *
 *     static int run(int argc, char **argv) { ... }
 *     OPERATOR(matmul, "--m M --n N --k K", "c = a * b", run);
 */
#ifndef KERNELS_CLI_OPERATOR_H
#define KERNELS_CLI_OPERATOR_H

#include "hal/host.h"

/* clang-format off: it takes the word for C++ */
struct operator
{
    const char *name, *usage, *summary;
    /* argv[0] is the name, argv[argc] NULL. Returns an enum run_status. */
    int (*run)(int argc, char **argv);
};

extern const struct operator __operators_start[], __operators_end[]; /* npu.ld */

/* aligned: the table is walked as an array, so no compiler may pad its entries. */
#define OPERATOR(id, usage_text, summary_text, fn)                                       \
    static const struct operator operator_##id                                           \
        __attribute__((used, section(".operators." #id), aligned(8))) = {                \
            #id, (usage_text), (summary_text), (fn)}

/* The operator of that name, or NULL. */
const struct operator* operator_find(const char *name);
/* clang-format on */

#endif
