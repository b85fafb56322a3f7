/* SPDX-License-Identifier: MIT
 *
 * What becomes a file when it is whole: until then a file beside it of a name that nobody
 * has, .NAME.salai-XXXXXXXXXXXXXXXX, so that no file that is there is written to, whatever
 * its name and whatever links lead to it. The lock on it tells a leftover of a run that
 * was killed from the file of another run.
 */
#ifndef TOOLS_EMU_PART_H
#define TOOLS_EMU_PART_H

#include <limits.h>
#include <sys/stat.h>

/* What the names of a file's parts begin with. */
void part_prefix(char prefix[NAME_MAX + 1], const char *base);
/* Removes what runs that were killed have left behind in a folder. */
void part_remove_leftovers(int dir, const char *prefix);
/* A new, locked file in a folder, and its name; or -errno. */
int part_create(int dir, const char *prefix, mode_t mode, char name[NAME_MAX + 1]);
/* Gives it the owner, if that is possible, and the mode of the file that it will replace. */
void part_take_over(int fd, const struct stat *old);

#endif
