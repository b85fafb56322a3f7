/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See args.h. Numbers and blocks: semihosting/arm-compat-semi.c of QEMU.
 */
#include "tools/emu/qemu/host/args.h"
#include "hal/contract/host.h"

#define TEXT_MOST  (64u << 10) /* of a path, or of a SYS_WRITE0; more than a command line */
#define NOWHERE 0x5555555555555000ull /* none in any mode of translation */
#define IN_M_MODE  3

/* What the parameter is. */
enum shape {
    NO_CALL,   /* one that is not known, or not allowed */
    NOTHING,   /* it is not looked at */
    POINTS,    /* to `words` bytes that are read or written */
    TEXT,      /* to a string with a 0 */
    BLOCK,     /* to `words` words */
    PATH,      /* ... of which the first is a path, the last its length */
    DATA,      /* ... {handle, address, length} */
    LINE,      /* ... {address, length} */
    HEAP_INFO, /* ... {address} of four words */
};

static const struct {
    uint8_t shape, words;
} shapes[] = {
    [SYS_OPEN] = {PATH, 3},         [SYS_CLOSE] = {BLOCK, 1},
    [SYS_WRITEC] = {POINTS, 1},     [SYS_WRITE0] = {TEXT},
    [SYS_WRITE] = {DATA, 3},        [SYS_READ] = {DATA, 3},
    [SYS_READC] = {NOTHING},        [SYS_ISERROR] = {BLOCK, 1},
    [SYS_ISTTY] = {BLOCK, 1},       [SYS_SEEK] = {BLOCK, 2},
    [SYS_FLEN] = {BLOCK, 1},        [SYS_REMOVE] = {PATH, 2},
    [SYS_CLOCK] = {NOTHING},        [SYS_TIME] = {NOTHING},
    [SYS_ERRNO] = {NOTHING},        [SYS_GET_CMDLINE] = {LINE, 2},
    [SYS_HEAPINFO] = {HEAP_INFO, 1}, [SYS_EXIT] = {BLOCK, 2},
    [SYS_EXIT_EXTENDED] = {BLOCK, 2}, [SYS_ELAPSED] = {POINTS, 8},
    [SYS_TICKFREQ] = {NOTHING},     [NPU_HOST_INPUT] = {PATH, 3},
    [NPU_HOST_OUTPUT] = {PATH, 3},  [NPU_HOST_OUTPUT_END] = {BLOCK, 2},
};

/* Whether all of it is memory, or ROM. */
static bool in_memory(uint64_t addr, uint64_t bytes)
{
    if (addr + bytes < addr) {
        return false;
    }
    while (bytes > 0) {
        MemoryRegionSection found =
            memory_region_find(get_system_memory(), addr, MIN(bytes, INT64_MAX));
        bool memory = found.mr && memory_region_is_ram(found.mr) &&
                      found.offset_within_address_space == addr;
        uint64_t here = int128_get64(found.size);

        memory_region_unref(found.mr);
        if (!memory || here == 0) {
            return false;
        }
        addr += here;
        bytes -= MIN(here, bytes);
    }
    return true;
}

static bool read_memory(uint64_t addr, void *to, uint64_t bytes)
{
    return in_memory(addr, bytes) &&
           address_space_read(&address_space_memory, addr, MEMTXATTRS_UNSPECIFIED, to,
                              bytes) == MEMTX_OK;
}

char *args_memory(uint64_t addr, uint64_t bytes)
{
    char *copy = bytes <= INT32_MAX && in_memory(addr, bytes) ? g_malloc(bytes) : NULL;

    if (copy && !read_memory(addr, copy, bytes)) {
        g_free(copy);
        return NULL;
    }
    return copy;
}

/* What a debugger would read at an address is what stands at it in memory. With translation on
 * the address leads nowhere, and no table is read for that. */
static bool is_direct(CPUState *cpu)
{
    return npu_hart_mode(cpu) == IN_M_MODE &&
           cpu_get_phys_page_debug(cpu, NOWHERE) == NOWHERE;
}

/* A path of `bytes` without a 0 in it, which is behind it. */
static bool copy_path(struct call_args *args, uint64_t bytes)
{
    args->text = bytes < TEXT_MOST ? args_memory(args->word[0], bytes + 1) : NULL;
    return args->text && strnlen(args->text, bytes + 1) == bytes;
}

/* Bytes of a string with its end, or 0: it has none. */
static uint64_t text_bytes(uint64_t addr)
{
    for (uint64_t n = 0; n < TEXT_MOST; n++) {
        char c;

        if (!read_memory(addr + n, &c, 1)) {
            return 0;
        }
        if (c == '\0') {
            return n + 1;
        }
    }
    return 0;
}

static bool copy_shape(struct call_args *args, enum shape shape, unsigned words)
{
    uint64_t at = args->word[0];

    if (shape == NOTHING || shape == TEXT || shape == POINTS) {
        args->word[1] = shape == TEXT ? text_bytes(at) : words;
        return shape == TEXT ? args->word[1] > 0 : in_memory(at, args->word[1]);
    }
    if (!read_memory(at, args->word, words * sizeof(uint64_t))) {
        return false;
    }
    for (unsigned i = 0; i < words; i++) {
        args->word[i] = le64_to_cpu(args->word[i]);
    }
    switch (shape) {
    case PATH:
        return copy_path(args, args->word[words - 1]);
    case DATA:
        return in_memory(args->word[1], args->word[2]);
    case LINE:
        return in_memory(args->word[0], args->word[1]);
    case HEAP_INFO:
        return in_memory(args->word[0], 4 * sizeof(uint64_t));
    default:
        return true;
    }
}

const char *args_copy(CPUState *cpu, struct call_args *args)
{
    const uint64_t *gpr = npu_gpr(cpu);

    *args = (struct call_args){.op = gpr[A0], .word = {gpr[A1]}};
    if (args->op >= ARRAY_SIZE(shapes) || shapes[args->op].shape == NO_CALL) {
        return "which is not one that it may make";
    }
    if (!is_direct(cpu)) {
        return "not in M-mode, or through page tables";
    }
    if (!copy_shape(args, shapes[args->op].shape, shapes[args->op].words)) {
        return "with arguments that are not in memory, or no path";
    }
    return NULL;
}
