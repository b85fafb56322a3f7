/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How much an image may leave in build/scratch: so many bytes and files, with what is there.
 */
#ifndef TOOLS_EMU_QEMU_HOST_QUOTA_H
#define TOOLS_EMU_QEMU_HOST_QUOTA_H

#include "tools/emu/qemu/device/compat.h"

/* Counts the files in the folder, which is to be read: false, there may not be another one. */
bool quota_look(int folder);
/* A file there has this handle from now on, until quota_closed() with it. */
void quota_opened(int guest);
void quota_closed(int guest);
/* Whether so many bytes may be written to a handle, any. */
bool quota_allows(int guest, uint64_t bytes);

#endif
