/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What an image may reach: files that its arguments name, outputs that follow an -o, the texts
 * of the demonstration, build/scratch and two devices.
 *
 * A path of the guest chooses among these and is used for nothing else: what is opened is the
 * path of the argument, or the place where it led before the image ran.
 */
#ifndef TOOLS_EMU_QEMU_HOST_NAMES_H
#define TOOLS_EMU_QEMU_HOST_NAMES_H

#include "tools/emu/qemu/host/place.h"

struct target {
    char *path;         /* to be opened as it is, by who is confined; or NULL: */
    struct place place; /* to be opened, made or removed by who is not */
    bool scratch;       /* it is build/scratch */
};

/* Reads the arguments and finds the places of outputs. */
void names_read(void);
/* Whether that path may be read, or written, made and removed. False: `to` is empty; true:
 * its path is for the caller to free. */
bool names_may_read(const char *path, struct target *to);
bool names_may_write(const char *path, struct target *to);
/* Calls fn for each path that a confined reader opens itself: files, or whole folders. */
void names_for_reader(void (*fn)(const char *path, bool folder, bool writes));

#endif
