/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The calls of hal/contract/host.h, whose arguments have been looked at. Each returns what the
 * guest gets: a handle or 0, or -errno.
 */
#ifndef TOOLS_EMU_QEMU_HOST_FILES_H
#define TOOLS_EMU_QEMU_HOST_FILES_H

#include "tools/emu/qemu/host/place.h"

/* A handle for a file that is open. */
int64_t files_handle(int fd);
/* The same of an input, which has to be a regular file; `fd` may be -errno. */
int64_t files_input(int fd);
/* A file that will take its place, and its end. Both may make and name files. */
int64_t files_begin(const struct place *place);
int64_t files_end(int guest, bool keep);

#endif
