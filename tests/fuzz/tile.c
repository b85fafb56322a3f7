/* SPDX-License-Identifier: MIT
 *
 * Tile programs that are rubbish: parser, lowering and interpreter may refuse, but not
 * crash, hang or read outside of the text, which lies in a block of exactly its size.
 * libFuzzer finds inputs (make fuzz FUZZ=tile); tests/host/tile_test.c has fixed ones.
 */
#include "tests/fuzz/tile.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/tile/ref/ref.h"
#include "kernels/tile/text/text.h"

enum { SIZE = 3, ARENA = 1 << 20, ELEMENTS = 4096 };

static char memory[ARENA];
static uint64_t operands[ELEMENTS]; /* zeros; every index is in range */

/* The program on tensors of a few elements. */
static void compute(struct tile_kernel *k, struct tile_arena *arena)
{
    const void *in[TILE_PARAMS];
    struct tile_kernel *low;
    struct tile_ref *ref;

    for (unsigned d = 0; d < k->n_dims; d++) {
        if (k->dim[d].size == 0 && tile_set_size(k, (uint8_t)d, SIZE) != 0) {
            if (k->error.text[0] == '\0') {
                abort(); /* refused without a word */
            }
            return; /* a convolution has no such windows */
        }
    }
    for (unsigned i = 0; i < k->n_scalars; i++) {
        k->scalar[i].given = true;
    }
    for (unsigned i = 0; i < k->n_params; i++) {
        if (tile_count(k, tile_tensor_dims(&k->param[i])) > ELEMENTS) {
            return;
        }
        in[i] = operands;
    }
    low = tile_lower(k, arena);
    if (low == NULL || low->error.text[0] != '\0') {
        return;
    }
    ref = tile_ref_begin(k, in, arena);
    for (unsigned i = 0; i < k->n_results && ref; i++) {
        if (tile_ref_cost(ref, i) < ELEMENTS) {
            (void)tile_ref_at(ref, i, 0);
        }
    }
}

void fuzz_tile(const uint8_t *data, size_t size, struct tile_error *error)
{
    struct tile_arena arena = {memory, sizeof(memory), 0};
    char *text = malloc(size);
    struct tile_kernel *k;

    if (size != 0) {
        memcpy(text, data, size);
    }
    k = tile_parse(&arena, text, size, NULL, error);
    if (k) {
        compute(k, &arena);
    } else if (error->text[0] == '\0') {
        abort(); /* refused without a word */
    }
    free(text);
}

int fuzz_tile_input(const uint8_t *data, size_t size)
{
    struct tile_error error;

    fuzz_tile(data, size, &error);
    return 0;
}
