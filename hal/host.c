/* SPDX-License-Identifier: MIT
 *
 * RISC-V semihosting as QEMU has it. Operation numbers and parameter blocks are those of
 * "Semihosting for AArch32 and AArch64" (ARM IHI 0058), the trap sequence that of the
 * "RISC-V Semihosting" specification, section 3.
 */
#include <stdbool.h>
#include <string.h>
#include "hal/contract/host.h"
#include "hal/hint.h"
#include "hal/host.h"

static const char *program = "build/salai.elf"; /* until host_args knows better */

enum host_op {
    SYS_OPEN = 0x01,
    SYS_CLOSE = 0x02,
    SYS_WRITE = 0x05,
    SYS_READ = 0x06,
    SYS_SEEK = 0x0a,
    SYS_FLEN = 0x0c,
    SYS_REMOVE = 0x0e,
    SYS_ERRNO = 0x13,
    SYS_GET_CMDLINE = 0x15,
    SYS_EXIT_EXTENDED = 0x20,
};

#define ADP_STOPPED_APPLICATION_EXIT 0x20026
#define CMDLINE_MAX                  (32u << 10)
#define CHUNK_MAX                    ((size_t)256 << 20) /* the host takes up to 2 GiB */

static int last_errno;

/*
 * The host knows a call by the two shifts around the ebreak; all three must be full-size
 * instructions and in one page, hence the alignment. The memory clobber: the host
 * reads and writes what the block points to.
 */
__attribute__((noinline)) long host_call(unsigned op, const void *block)
{
    register long a0 __asm__("a0") = (long)op;
    register const void *a1 __asm__("a1") = block;

    __asm__ volatile(".balign 16\n\t"
                     ".option push\n\t"
                     ".option norvc\n\t"
                     "slli zero, zero, 0x1f\n\t"
                     "ebreak\n\t"
                     "srai zero, zero, 7\n\t"
                     ".option pop"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
    return a0;
}

/* Notes why the last call failed. */
static int host_failed(int err)
{
    last_errno = (int)host_call(SYS_ERRNO, NULL);
    return err;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One argument: from *src, which moves behind it, to dst. Decoding only shortens. */
static char *decode_argument(const char **src, char *dst)
{
    const char *s = *src;

    if (s[0] == '%' && (s[1] == ' ' || s[1] == '\0')) {
        s++; /* the empty argument */
    }
    while (*s != '\0' && *s != ' ') {
        int high = *s == '%' ? hex_digit(s[1]) : -1;
        int low = high >= 0 ? hex_digit(s[2]) : -1;

        if (low >= 0 && high + low > 0) {
            *dst++ = (char)(high * 16 + low);
            s += 3;
        } else {
            *dst++ = *s++;
        }
    }
    *src = s;
    return dst;
}

int host_split(char *line, char **argv, int max)
{
    const char *src = line;
    int argc = 0;

    for (;;) {
        char *dst;

        while (*src == ' ') {
            src++;
        }
        if (*src == '\0') {
            break;
        }
        if (argc == max) {
            return ERR_OVERFLOW;
        }
        argv[argc++] = line;
        dst = decode_argument(&src, line);
        if (*src == ' ') {
            src++; /* first, for the terminator may take the blank's place */
        }
        *dst = '\0';
        line = dst + 1;
    }
    argv[argc] = NULL;
    return argc;
}

const char *host_program(void)
{
    return program;
}

int host_args(char **argv)
{
    static char line[CMDLINE_MAX];
    int n;
    struct {
        char *buf;
        size_t len;
    } block = {line, sizeof(line)};

    if (host_call(SYS_GET_CMDLINE, &block) != 0) {
        return host_failed(ERR_OVERFLOW);
    }
    line[sizeof(line) - 1] = '\0';
    n = host_split(line, argv, HOST_ARGS_MAX);
    program = n > 0 ? argv[0] : program;
    return n;
}

/* The calls that npu.so answers tell the reason themselves. */
static int npu_result(long result, int err)
{
    if (result < 0) {
        last_errno = (int)-result;
        return err;
    }
    return (int)result;
}

static int open_as(unsigned op, const char *path, enum host_mode mode)
{
    const struct {
        const char *path;
        size_t mode, len;
    } block = {path, (size_t)mode, strlen(path)};
    long fd = host_call(op, &block);

    if (op != SYS_OPEN) {
        return npu_result(fd, ERR_NOFILE);
    }
    return fd >= 0 ? (int)fd : host_failed(ERR_NOFILE);
}

int host_open(const char *path, enum host_mode mode)
{
    return open_as(mode == HOST_READ ? (unsigned)NPU_HOST_INPUT : (unsigned)SYS_OPEN,
                   path, mode);
}

int host_create(const char *path)
{
    return open_as(NPU_HOST_OUTPUT, path, HOST_WRITE);
}

int host_create_end(int fd, bool keep)
{
    const long block[] = {fd, keep};

    return npu_result(host_call(NPU_HOST_OUTPUT_END, block), ERR_IO);
}

/* One transfer of at most CHUNK_MAX bytes; returns how many were moved, -1 on error. */
static int64_t host_move(enum host_op op, int fd, const char *buf, size_t len)
{
    const struct {
        long fd;
        const char *buf;
        size_t len;
    } block = {fd, buf, len < CHUNK_MAX ? len : CHUNK_MAX};
    size_t left = (size_t)host_call(op, &block); /* bytes NOT moved */

    return left <= block.len ? (int64_t)(block.len - left) : -1;
}

/*
 * Goes on until all is moved or nothing moves any more. QEMU keeps the errno of reads and
 * writes to itself: an error, a full disk and the end of a file all look like this.
 */
static int64_t host_move_all(enum host_op op, int fd, const char *buf, size_t len)
{
    size_t done = 0;

    last_errno = 0;
    while (done < len) {
        int64_t n = host_move(op, fd, buf + done, len - done);

        if (n <= 0) {
            break;
        }
        done += (size_t)n;
    }
    return (int64_t)done;
}

int64_t host_read_some(int fd, void *buf, size_t len)
{
    int64_t n = host_move_all(SYS_READ, fd, buf, len);

    if (n > 0) {
        hint_range(HINT_INPUT, buf, (size_t)n);
    }
    return n;
}

int host_read(int fd, void *buf, size_t len)
{
    return host_read_some(fd, buf, len) == (int64_t)len ? 0 : ERR_IO;
}

int64_t host_write_some(int fd, const void *buf, size_t len)
{
    return host_move_all(SYS_WRITE, fd, buf, len);
}

int host_write(int fd, const void *buf, size_t len)
{
    return host_write_some(fd, buf, len) == (int64_t)len ? 0 : ERR_IO;
}

int64_t host_size(int fd)
{
    const long block = fd;
    long size = host_call(SYS_FLEN, &block);

    return size >= 0 ? size : host_failed(ERR_IO);
}

int host_seek(int fd, uint64_t offset)
{
    const struct {
        long fd;
        uint64_t offset;
    } block = {fd, offset};

    return host_call(SYS_SEEK, &block) == 0 ? 0 : host_failed(ERR_IO);
}

int host_close(int fd)
{
    const long block = fd;

    return host_call(SYS_CLOSE, &block) == 0 ? 0 : host_failed(ERR_IO);
}

int host_remove(const char *path)
{
    const struct {
        const char *path;
        size_t len;
    } block = {path, strlen(path)};

    return host_call(SYS_REMOVE, &block) == 0 ? 0 : host_failed(ERR_IO);
}

int host_errno(void)
{
    return last_errno;
}

/* The host is Linux: its numbers, and its words for what a user can mend. */
const char *host_errno_text(void)
{
    static const struct {
        int number;
        const char *text;
    } known[] = {
        {0, "the host gives no reason"},
        {1, "operation not permitted"},
        {2, "no such file or directory"},
        {5, "input/output error"},
        {6, "is not a regular file"}, /* of NPU_HOST_INPUT and NPU_HOST_OUTPUT alone */
        {13, "permission denied"},
        {16, "another output of this run goes there"}, /* of NPU_HOST_OUTPUT alone */
        {17, "file exists"},
        {20, "a part of the path is not a directory"},
        {21, "is a directory"},
        {24, "too many open files"},
        {27, "file too large"},
        {28, "no space left on device"},
        {30, "read-only file system"},
        {32, "broken pipe"},
        {36, "file name too long"},
        {40, "too many symbolic links"},
        {122, "disk quota exceeded"},
    };

    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].number == last_errno) {
            return known[i].text;
        }
    }
    return "host error";
}

_Noreturn void host_exit(int status)
{
    const struct {
        size_t reason, status;
    } block = {ADP_STOPPED_APPLICATION_EXIT,
               status >= 0 && status <= 255 ? (size_t)status : 255};

    for (;;) {
        host_call(SYS_EXIT_EXTENDED, &block);
    }
}
