/* SPDX-License-Identifier: MIT
 *
 * What a program of the host writes: it appears under its name when it is whole, with the
 * mode of what it replaces, where links lead to. Until then it is a part beside it
 * (tools/emu/part.h), which goes away with the program, whether that exits or is ended by
 * a signal. What is no file, as a pipe, is written to as it is. One at a time.
 */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* NULL, and errno says why not. */
FILE *output_begin(const char *path);
/* It is whole. False: a part of it could not be written, and there is none. */
bool output_end(FILE *file);
/* For a signal's handler that ends the program by itself: the part goes. */
void output_lost(void);
/* It never will be; the part is gone. */
void output_drop(FILE *file);

#endif
