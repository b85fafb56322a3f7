/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See console.h.
 */
#include "tools/emu/qemu/host/console.h"

/* Bytes of the character there, or 0: it is to be shown by its number. */
static size_t printable(const char *at, size_t left)
{
    gunichar c = g_utf8_get_char_validated(at, left);

    if (*at == '\n' || *at == '\t' || *at == '\r') {
        return 1;
    }
    if (c == (gunichar)-1 || c == (gunichar)-2 || g_unichar_iscntrl(c)) {
        return 0;
    }
    return g_unichar_to_utf8(c, NULL);
}

char *console_shown(const char *bytes, size_t n)
{
    GString *text = g_string_sized_new(n);

    for (size_t i = 0; i < n;) {
        size_t good = printable(bytes + i, n - i);

        if (good) {
            g_string_append_len(text, bytes + i, good);
            i += good;
        } else {
            g_string_append_printf(text, "\\x%02x", (uint8_t)bytes[i++]);
        }
    }
    return g_string_free(text, false);
}

/* How many could not be written. */
static size_t write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t some = write(fd, bytes, n);

        if (some < 0 && errno == EINTR) {
            continue;
        }
        if (some <= 0) {
            return n;
        }
        bytes += some;
        n -= some;
    }
    return 0;
}

size_t console_put(int fd, const char *bytes, size_t n)
{
    g_autofree char *text = isatty(fd) ? console_shown(bytes, n) : NULL;

    if (!text) {
        return write_all(fd, bytes, n);
    }
    return write_all(fd, text, strlen(text)) ? n : 0;
}
