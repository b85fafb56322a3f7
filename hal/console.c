/* SPDX-License-Identifier: MIT
 *
 * Console over semihosting. The host file named ":tt" is standard output when opened
 * for writing and standard error when opened for appending. One host call a line, for a
 * call a character costs more than everything else in a boot.
 */
#include <string.h>
#include "hal/console.h"
#include "hal/host.h"

#define CONSOLE_BUFFER 512 /* a longer line goes out in pieces */

static struct {
    size_t used;
    char buf[CONSOLE_BUFFER];
} consoles[2];

static bool failed;

/* Opens the host's file each time: a handle does not survive a snapshot, and after one
 * its number may be that of another file. Returns how many bytes the host took. That the
 * handle is gone when it is closed loses nothing. */
static size_t put(enum console stream, const char *text, size_t len)
{
    int fd = host_open(":tt", stream == CONSOLE_OUT ? HOST_WRITE : HOST_APPEND);
    size_t done = 0;

    if (fd >= 0) {
        done = (size_t)host_write_some(fd, text, len);
        (void)!host_close(fd);
    }
    return done;
}

/* Once more for what is left: a snapshot may have been loaded that was taken behind open. */
static void flush_one(enum console stream)
{
    const char *text = consoles[stream].buf;
    size_t used = consoles[stream].used, done;

    consoles[stream].used = 0; /* first: a trap in here must not write it twice */
    if (used == 0) {
        return;
    }
    done = put(stream, text, used);
    if (done < used) {
        done += put(stream, text + done, used - done);
    }
    failed = failed || done < used;
}

void console_write(enum console stream, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        consoles[stream].buf[consoles[stream].used++] = text[i];
        if (text[i] == '\n' || consoles[stream].used == CONSOLE_BUFFER) {
            flush_one(stream);
        }
    }
}

void console_flush(void)
{
    flush_one(CONSOLE_OUT);
    flush_one(CONSOLE_ERR);
}

bool console_failed(void)
{
    return failed;
}
