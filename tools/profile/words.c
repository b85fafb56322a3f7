/* SPDX-License-Identifier: MIT
 *
 * Words of a trace.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tools/profile/words.h"

uint8_t word_pipe(const char *name)
{
    for (unsigned p = 0; p < NPU_PIPES; p++) {
        if (*name != '?' && strcmp(pipe_name(p), name) == 0) {
            return (uint8_t)p;
        }
    }
    return 0;
}

/* The contract has them in small letters. */
static char memories[NPU_MEM_GM + 1][16];

const char *word_memory(uint8_t mem)
{
    if (mem > NPU_MEM_GM) {
        return "";
    }
    if (memories[mem][0] == '\0') {
        const char *name = npu_mem_name(mem);
        for (unsigned i = 0; i < sizeof(memories[0]) - 1 && name[i]; i++) {
            memories[mem][i] = (char)toupper((unsigned char)name[i]);
        }
    }
    return memories[mem];
}

uint8_t word_operand(const char *text, uint64_t *address)
{
    size_t bytes = strcspn(text, " ,");

    *address = text[bytes] == ' ' ? strtoull(text + bytes + 1, NULL, 0) : 0;
    for (uint8_t m = 0; bytes && m <= NPU_MEM_GM; m++) {
        const char *name = word_memory(m);
        if (name[0] == text[0] && strncmp(name, text, bytes) == 0 &&
            name[bytes] == '\0') {
            return m;
        }
    }
    return MEM_NONE;
}

uint64_t word_number(const char *shape, const char *key, uint64_t missing)
{
    size_t bytes = strlen(key);

    for (const char *p = shape; (p = strstr(p, key)) != NULL; p += bytes) {
        if ((p == shape || p[-1] == ' ') && p[bytes] == '=') {
            return strtoull(p + bytes + 1, NULL, 0);
        }
    }
    return missing;
}

/* A row that ends where the next one begins is none of its own. What is 0 is not told. */
void word_rows(struct command *c, const char *shape)
{
    bool in = c->from == NPU_MEM_GM;
    uint64_t bytes = in ? c->read : c->written, rows = 1;

    if (!in && c->to != NPU_MEM_GM) {
        return;
    }
    if (word_number(shape, "len_bytes", 0)) {
        bool apart = word_number(shape, in ? "src_gap" : "dst_gap", 0) != 0;
        rows = apart ? word_number(shape, "n_blocks", 1) : 1;
    } else if (word_number(shape, "src_pitch", 0) && in) {
        bool apart =
            word_number(shape, "src_pitch", 0) != word_number(shape, "n_cols", 0);
        rows =
            apart ? word_number(shape, "n_rows", 1) * word_number(shape, "n_mats", 1) : 1;
    }
    c->rows = (uint32_t)(rows ? rows : 1);
    c->row_bytes = (uint32_t)(bytes / c->rows);
}
