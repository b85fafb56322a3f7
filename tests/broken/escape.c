/* SPDX-License-Identifier: MIT
 *
 * The operator `escape`: an image that tries to get at what is not its own. `escape WAY
 * @PATH ...` goes one way with that file, past the firmware's drivers, and says on stdout
 * whether it came through; without arguments it lists the ways. The @ is there so that
 * the argument itself does not name the file; those that follow may.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/contract/host.h"
#include "hal/host.h"
#include "kernels/cli/op.h"

enum { SYS_OPEN = 1, SYS_REMOVE = 14, SYS_RENAME = 15, SYS_TMPNAM = 13, SYS_SYSTEM = 18 };

struct block {
    const char *text;
    size_t second, third;
};

static long open_as(const char *path, size_t mode)
{
    return host_call(SYS_OPEN, &(struct block){path, mode, strlen(path)});
}

static long read_call(const char *path)
{
    return open_as(path, 1);
}

static long update_call(const char *path)
{
    return open_as(path, 3);
}

static long write_call(const char *path)
{
    return open_as(path, 5);
}

static long append_call(const char *path)
{
    return open_as(path, 9);
}

static long input_call(const char *path)
{
    return host_call(NPU_HOST_INPUT, &(struct block){path, 0, strlen(path)});
}

static long output_call(const char *path)
{
    long fd = host_call(NPU_HOST_OUTPUT, &(struct block){path, 0, strlen(path)});

    if (fd < 0) {
        return fd;
    }
    return host_call(NPU_HOST_OUTPUT_END, (size_t[]){(size_t)fd, 1});
}

static long remove_call(const char *path)
{
    return host_call(SYS_REMOVE, &(struct block){path, strlen(path), 0});
}

static long rename_call(const char *path)
{
    static const char new[] = "renamed";

    return host_call(SYS_RENAME, (size_t[]){(size_t)path, strlen(path), (size_t) new, 7});
}

/* PATH is the command. */
static long system_call(const char *path)
{
    return host_call(SYS_SYSTEM, &(struct block){path, strlen(path), 0});
}

static long name_call(const char *path)
{
    static char name[64];

    (void)path;
    return host_call(SYS_TMPNAM, &(struct block){name, 1, sizeof(name)});
}

static long unknown_call(const char *path)
{
    return host_call(0x77, &(struct block){path, strlen(path), 0});
}

/* Says that the name is longer, or shorter, than it is. */
static long long_name(const char *path)
{
    return host_call(SYS_OPEN, &(struct block){path, 1, (size_t)-1});
}

static long no_length(const char *path)
{
    return host_call(SYS_OPEN, &(struct block){path, 1, 0});
}

/* A block and a text that are nowhere. */
static long nowhere(const char *path)
{
    (void)path;
    return host_call(SYS_OPEN, &(struct block){(const char *)16, 1, 5});
}

/* Has registers of the machine's clock for a block: its time points at the name, a letter, and
 * moves on between looking and doing. */
static long clock_call(const char *path)
{
    enum { BYTES = 1 << 18 };
    volatile uint32_t *clock = (uint32_t *)0x101000; /* time, alarm, 1: that interrupts */
    char *names = malloc(BYTES);
    long fd = -1;

    for (size_t i = 0; names && i < BYTES; i += 2) {
        memcpy(names + i, (char[]){*path, '\0'}, 2);
    }
    clock[2] = 0;
    clock[4] = 1;
    for (unsigned i = 0; names && fd < 0 && i < 64; i++) {
        clock[1] = (uint32_t)((uintptr_t)names >> 32);
        clock[0] = (uint32_t)(uintptr_t)names + i;
        fd = host_call(SYS_OPEN, (const void *)clock);
    }
    free(names);
    return fd;
}

static const struct {
    const char *name;
    long (*go)(const char *path);
} ways[] = {
    {"read", read_call},      {"update", update_call},   {"write", write_call},
    {"append", append_call},  {"input", input_call},     {"output", output_call},
    {"remove", remove_call},  {"rename", rename_call},   {"system", system_call},
    {"name", name_call},      {"unknown", unknown_call}, {"long_name", long_name},
    {"no_length", no_length}, {"nowhere", nowhere},      {"clock", clock_call},
};

static int run(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (argc > 2 && strcmp(argv[1], ways[i].name) == 0) {
            long result = ways[i].go(argv[2] + 1);

            printf("%s: %s\n", argv[1], result < 0 ? "refused" : "came through");
            return RUN_OK;
        }
        if (argc == 1) {
            printf("%s\n", ways[i].name);
        }
    }
    return argc == 1 ? RUN_OK : RUN_INPUT;
}

COMMAND(escape, "[WAY @PATH ...]", "reaches for a file of the host, or lists the ways",
        run);
