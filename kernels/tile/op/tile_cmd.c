/* SPDX-License-Identifier: MIT
 *
 * The command `tile`: reads a program and runs the operator that it is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/tile/op/tile_op.h"
#include "kernels/tile/text/text.h"

#define USAGE                                                                            \
    "FILE.tile [x.npy]... [-o y.npy] | --m M --n N [--check N] [--explain] "             \
    "[--interpret] [--kernel NAME]"

/* The whole file into *text; its length, or an error after one line on stderr. */
static int64_t read_text(const char *path, char **text)
{
    int fd = host_open(path, HOST_READ);
    int64_t bytes = fd < 0 ? fd : 0;

    *text = NULL;
    if (fd >= 0) {
        *text = malloc(TILE_TEXT_MAX + 1);
        bytes = *text ? host_read_some(fd, *text, TILE_TEXT_MAX + 1) : ERR_NOMEM;
        bytes = host_close(fd) != 0 && bytes >= 0 ? ERR_NOFILE : bytes;
    }
    if (bytes < 0) {
        fprintf(stderr, "tile: %s: %s\n", path,
                bytes == ERR_NOFILE ? host_errno_text() : err_text((int)bytes));
    }
    return bytes;
}

/* The word behind an option among the arguments, or NULL. */
static const char *value_of(const char *option, char **argv)
{
    for (; argv[0] && argv[1]; argv++) {
        if (strcmp(argv[0], option) == 0) {
            return argv[1];
        }
    }
    return NULL;
}

/* A result of a type that no .npy file has. */
static bool cannot_write(const struct tile_program *p, char **argv)
{
    for (unsigned i = 0; i < p->k->n_results && value_of("-o", argv); i++) {
        const struct tile_tensor *t = &p->k->result[i].tensor;
        if (t->type == TYPE_BF16) {
            fprintf(stderr, "%s:%u:%u: no .npy file holds bf16: %s cannot be written\n",
                    p->path, t->line, t->column, t->name);
            return true;
        }
    }
    return false;
}

static int run_program(struct tile_program *p, const char *text, size_t bytes, int argc,
                       char **argv)
{
    if (tile_describe(p, text, bytes, value_of("--kernel", argv)) != 0 ||
        cannot_write(p, argv)) {
        return RUN_INPUT;
    }
    return op_run(&p->op, argc, argv);
}

static int tile(int argc, char **argv)
{
    struct tile_program *p;
    int64_t bytes;
    char *text;
    int status = RUN_INPUT;

    if (argc < 2 || argv[1][0] == '-') {
        fprintf(stderr, "tile: want " USAGE "\n");
        return RUN_INPUT;
    }
    bytes = read_text(argv[1], &text);
    p = calloc(1, sizeof(*p));
    if (p) {
        p->path = argv[1];
        p->arena.base = malloc(TILE_ARENA_BYTES);
        p->arena.size = p->arena.base ? TILE_ARENA_BYTES : 0;
    }
    if (bytes >= 0 && p) {
        status = run_program(p, text, (size_t)bytes, argc - 1, argv + 1);
    }
    free(p ? p->arena.base : NULL);
    free(p);
    free(text);
    return status;
}

COMMAND(tile, USAGE, "plans a program in a few lines and runs it: kernels/tile/language.md",
        tile);
