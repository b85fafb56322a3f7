/* SPDX-License-Identifier: MIT
 *
 * The host's standard output and standard error as two line-buffered streams. stdio of
 * the C library ends here; nothing else in hal writes to them.
 */
#ifndef HAL_CONSOLE_H
#define HAL_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

enum console { CONSOLE_OUT, CONSOLE_ERR };

/* Appends; whole lines go to the host at once. What cannot be written is dropped. */
void console_write(enum console stream, const char *text, size_t len);

/* Hands over what is left of the last lines. Safe in a trap. */
void console_flush(void);

/* True once the host has refused something, such as a full disk behind a pipe. */
bool console_failed(void);

#endif
