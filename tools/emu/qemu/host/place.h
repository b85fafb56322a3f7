/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where a file lies, or will: an open folder and a name in it. Links are followed once, when
 * a place is found; whoever swaps one later leads nobody elsewhere.
 */
#ifndef TOOLS_EMU_QEMU_HOST_PLACE_H
#define TOOLS_EMU_QEMU_HOST_PLACE_H

#include "tools/emu/qemu/device/compat.h"

struct place {
    int dir, err; /* err: -errno, there is no such folder; 0 */
    char base[NAME_MAX + 1];
};

/* Where `path` leads, whether there is a file or not; returns ->err. */
int place_find(struct place *place, const char *path);
/* Opens the regular file there, with O_CREAT if that is among the flags; -errno. */
int place_open(const struct place *place, int flags);
/* 0 or -errno. */
int place_remove(const struct place *place);
/* What realpath() says of the file once it is there; NULL. */
char *place_path(const struct place *place);

#endif
