/* SPDX-License-Identifier: MIT
 *
 * Plans: what tools/graph leaves of a model for the firmware to run. One file, little-endian:
 * the header, tensors, steps, texts (each ends with a 0) and the constants, 512-byte aligned. A
 * plan for several sizes has a header, tensors and steps of each, in front of the texts.
 * Host and firmware read this one description.
 *
 * A step is an operator of the image with options as on its command line, or a tile program
 * as text, so that a person can read what is computed; `strings plan` shows both.
 */
#ifndef KERNELS_GRAPH_PLAN_H
#define KERNELS_GRAPH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAN_MAGIC "SALAIPLN"
enum {
    PLAN_VERSION = 3,
    PLAN_IN = 8, /* operands of a step */
    PLAN_OUT = 4,
    PLAN_RANK = 8,
    PLAN_FILES = 32,     /* inputs of a model, and outputs */
    PLAN_ALIGN = 512,    /* bytes, of constants and in the arena */
    PLAN_MOST = 1 << 20, /* tensors, and steps */
    PLAN_NAME = 256, /* bytes of what is printed: names of tensors, nodes, operators */
};

enum plan_place {
    PLAN_CONSTANT, /* `at` is where it lies in the file */
    PLAN_ARENA,    /* ... in memory that the firmware allocates */
};

struct plan_header {
    char magic[8];
    uint32_t version, contract; /* CONTRACT_VERSION */
    uint32_t profile;           /* enum npu_profile it was made for */
    uint32_t crc; /* of the first header: CRC-32 of all that is behind this word */
    uint64_t bytes, arena;                     /* of the file, of the arena */
    uint64_t tensors, steps, texts, constants; /* where they begin in the file */
    uint64_t next; /* header of another size; 0: this is the last one */
    uint32_t n_tensors, n_steps, n_inputs, n_outputs;
    /* Tensors. An input that is a constant has to have that value: shapes depend on it. */
    uint32_t input[PLAN_FILES], output[PLAN_FILES];
    /* Of an output whose size a run tells: 1 and the tensor that holds how many of that axis were
     * found, which come first; else 0. */
    uint32_t found[PLAN_FILES];
    uint8_t axis[PLAN_FILES];
};

struct plan_tensor {
    uint64_t at;   /* a part of another tensor begins at any of its elements */
    uint32_t name; /* in the texts */
    uint8_t type;  /* enum type, on the machine */
    uint8_t file;  /* enum npy_type of an input or output */
    uint8_t rank;
    uint8_t place; /* enum plan_place */
    uint32_t size[PLAN_RANK];
};

struct plan_step {
    uint32_t op;    /* name of an operator, in the texts; 0: a tile program */
    uint32_t text;  /* its options, or the program */
    uint32_t nodes; /* of the model that it computes */
    uint8_t n_in, n_out;
    uint16_t zero;
    uint32_t in[PLAN_IN], out[PLAN_OUT]; /* tensors */
};

/* Behind the word itself: what it is the CRC-32 of (IEEE 802.3, as zlib's). */
#define PLAN_CRC_FROM (offsetof(struct plan_header, crc) + sizeof(uint32_t))

/* --- what a reader has of one --- */

struct plan {
    const char *base; /* of the file */
    const struct plan_header *head;
    const struct plan_tensor *tensor;
    const struct plan_step *step;
    const char *texts;
};

/* Checks all of a plan of so many bytes, 8-byte aligned: every number that is used as a place
 * or a count, and that nothing lies outside. NULL, or what is wrong with it. Any bytes are
 * safe. What it says of a chip is the caller's to compare. */
const char *plan_open(struct plan *plan, const void *data, uint64_t bytes);
/* What it checks but for the CRC, without a look at constants: `data` is what is in front of them.
 * False: the firmware would call it damaged; *plan is the size of which something does not hold. */
bool plan_holds(struct plan *plan, const void *data);
/* *plan becomes what is said of the next size; false: there is none. */
bool plan_next(struct plan *plan);
/* Elements of a tensor; a text. */
uint64_t plan_count(const struct plan_tensor *t);
static inline const char *plan_text(const struct plan *p, uint32_t at)
{
    return p->texts + at;
}
/* Of data behind those whose CRC is `crc`; 0: behind none. */
uint32_t plan_crc(uint32_t crc, const void *data, uint64_t bytes);

#endif
