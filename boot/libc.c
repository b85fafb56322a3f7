/* SPDX-License-Identifier: MIT
 *
 * What a C library asks of the platform: an output stream, memory, and an end. Serves
 * picolibc (tinystdio) and newlib; only the way stdio is hooked up differs. Files are
 * not opened through stdio, which moves them a character at a time: see hal/host.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "boot/boot.h"
#include "hal/console.h"
#include "hal/host.h"
#include "hal/ram.h"

#ifdef __PICOLIBC__

static int put_out(char c, FILE *f)
{
    (void)f;
    console_write(CONSOLE_OUT, &c, 1);
    return (unsigned char)c;
}

static int put_err(char c, FILE *f)
{
    (void)f;
    console_write(CONSOLE_ERR, &c, 1);
    return (unsigned char)c;
}

static int flush(FILE *f)
{
    (void)f;
    console_flush();
    return 0;
}

static FILE out = FDEV_SETUP_STREAM(put_out, NULL, flush, _FDEV_SETUP_WRITE);
static FILE err = FDEV_SETUP_STREAM(put_err, NULL, flush, _FDEV_SETUP_WRITE);

FILE *const stdout = &out;
FILE *const stderr = &err;

void libc_init(void)
{
}

void *sbrk(ptrdiff_t n)

#else /* newlib */

#include <malloc.h>
#include <sys/stat.h>

int _write(int fd, const void *buf, size_t len);
int _read(int fd, void *buf, size_t len);
int _close(int fd);
off_t _lseek(int fd, off_t offset, int whence);
int _fstat(int fd, struct stat *st);
int _isatty(int fd);
int _kill(int pid, int signal);
int _getpid(void);
void *_sbrk(ptrdiff_t n);

/* Static buffers: else the first printf would call malloc before ram_end is final. */
void libc_init(void)
{
    static char out[256], err[256];

    setvbuf(stdout, out, _IOLBF, sizeof(out));
    setvbuf(stderr, err, _IOLBF, sizeof(err));
}

int _write(int fd, const void *buf, size_t len)
{
    console_write(fd == STDERR_FILENO ? CONSOLE_ERR : CONSOLE_OUT, buf, len);
    return (int)len;
}

static int not_there(void)
{
    errno = EBADF;
    return -1;
}

int _read(int fd, void *buf, size_t len)
{
    (void)fd, (void)buf, (void)len;
    return not_there();
}

int _close(int fd)
{
    (void)fd;
    return not_there();
}

off_t _lseek(int fd, off_t offset, int whence)
{
    (void)fd, (void)offset, (void)whence;
    return not_there();
}

int _fstat(int fd, struct stat *st)
{
    (void)fd;
    st->st_mode = S_IFCHR;
    return 0;
}

int _isatty(int fd)
{
    (void)fd;
    return 1;
}

int _kill(int pid, int signal)
{
    (void)pid, (void)signal;
    return not_there();
}

int _getpid(void)
{
    return 1;
}

/* newlib's own wants a posix_memalign that it does not have. */
void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

void *_sbrk(ptrdiff_t n)

#endif
{
    void *old = ram_grow(n);

    if (old == NULL) {
        errno = ENOMEM;
        return (void *)-1;
    }
    return old;
}

/* The end of exit(). Output that the host did not take must not look like success. */
void _exit(int status)
{
    static const char lost[] = "salai: standard output could not be written\n";
    bool failed;

    console_flush();
    failed = console_failed();
    if (failed) {
        fputs(lost, stderr);
        console_flush();
    }
    host_exit(failed && status < RUN_INPUT ? RUN_INPUT : status);
}

void abort(void)
{
    trap_panic("abort() was called");
}

/* assert() of both libraries. */
void __assert_func(const char *file, int line, const char *function, const char *what)
{
    char text[256];

    snprintf(text, sizeof(text), "%s:%d: %s: assertion '%s' failed", file, line,
             function != NULL ? function : "?", what);
    trap_panic(text);
}
