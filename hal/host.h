/* SPDX-License-Identifier: MIT
 *
 * The host's services through RISC-V semihosting: command line, files, exit.
 *
 * Blocking; takes no virtual time beyond the instructions of the call. Handles are the
 * host's and do not survive a snapshot, so keep files open only around one transfer.
 * Data goes straight between file and buffer. A short transfer is an error here, since
 * a full disk shows as nothing else. Not for trap handlers, except host_write and
 * host_exit.
 */
#ifndef HAL_HOST_H
#define HAL_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hal/err.h"

#define HOST_ARGS_MAX 256 /* arguments of one boot, all operators together */

/* fopen's rb, wb and ab. */
enum host_mode { HOST_READ = 1, HOST_WRITE = 5, HOST_APPEND = 9 };

/* One call of semihosting (its SYS_ number) and what it returns; the block is the call's. For
 * hal/host.c, and for tests of what the machine lets an image do. */
long host_call(unsigned op, const void *block);

/* The command line in argv (HOST_ARGS_MAX + 1 entries, NULL-terminated; the program's
 * name is argv[0]). Strings live for ever and may be written. Returns their number or
 * ERR_OVERFLOW (too long), ERR_IO (no command line). Calling it again starts over. */
MUST_CHECK int host_args(char **argv);

/* The program's name, which the launcher makes the path of the image: for addr2line. */
const char *host_program(void);
/* Splits a command line at blanks, in place, and undoes the launcher's encoding: %XX
 * is the byte of that hexadecimal number and a lone % is the empty argument. Any other
 * % stands for itself. At most `max` arguments and a NULL; returns their number or
 * ERR_OVERFLOW. */
MUST_CHECK int host_split(char *line, char **argv, int max);

/* Returns a handle >= 0 or ERR_NOFILE; host_errno() has the reason. What is to be read is a
 * regular file. */
MUST_CHECK int host_open(const char *path, enum host_mode mode);

/* For results: a new file that is to take the place of `path`, whatever is there now. No
 * other run can get at it, and it goes away when this one ends. Returns a handle for
 * host_write or ERR_NOFILE. */
MUST_CHECK int host_create(const char *path);
/* Closes it, in place of host_close; keep: it takes its place, else it goes away. Returns 0
 * or ERR_IO: it has gone away. */
MUST_CHECK int host_create_end(int fd, bool keep);

/* Exactly len bytes, or ERR_IO. */
MUST_CHECK int host_read(int fd, void *buf, size_t len);
MUST_CHECK int host_write(int fd, const void *buf, size_t len);
/* As host_read, but the end of the file is none: returns the number of bytes. */
MUST_CHECK int64_t host_read_some(int fd, void *buf, size_t len);
/* As host_write, but returns the number of bytes that the host took. */
MUST_CHECK int64_t host_write_some(int fd, const void *buf, size_t len);

MUST_CHECK int64_t host_size(int fd); /* bytes, or ERR_IO */
MUST_CHECK int host_seek(int fd, uint64_t offset);
MUST_CHECK int host_close(int fd);

MUST_CHECK int host_remove(const char *path);

/* The host's errno after the last call above that failed, and a text for it, never NULL.
 * Always 0 after a read or a write: QEMU does not tell why they come up short. */
int host_errno(void);
const char *host_errno_text(void);

/* What a run ends with, and so the exit status of QEMU; the worst of several counts. */
enum run_status {
    RUN_OK = 0,
    RUN_CHECK = 1, /* a check or a test failed */
    RUN_INPUT = 2, /* bad arguments or files */
    RUN_FAULT = 3, /* a trap, an engine's fault, a lost output */
};

/* Ends QEMU with this exit status, 0 to 255; anything else becomes 255. */
_Noreturn void host_exit(int status);

#endif
