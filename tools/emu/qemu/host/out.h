/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A file that is written while a run goes on and appears under its name when it is
 * complete: until then it has a name that nobody has. What is no regular file, as
 * /dev/null, is written where it is. A name that ends in .gz is compressed, and what may get
 * large also under a name without any ending.
 */
#ifndef TOOLS_EMU_QEMU_HOST_OUT_H
#define TOOLS_EMU_QEMU_HOST_OUT_H

#include "tools/emu/qemu/device/compat.h"

typedef struct Out Out;

/* NULL and errno. */
Out *out_open(const char *path, bool large);
/* Never fails: out_close() tells that something was lost, once for all files, is false then
 * and leaves nothing; nor does it if the file is not wanted (keep). */
void out_bytes(Out *o, const void *bytes, size_t n);
void out_text(Out *o, const char *text);
void out_number(Out *o, uint64_t n);
bool out_close(Out *o, bool keep);

#endif
