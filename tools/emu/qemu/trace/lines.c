/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Lines of the source; see lines.h. addr2line is asked once for each address and stays
 * there meanwhile; it ends with the program, whose end of the pipe is its input's end.
 */
#include "tools/emu/qemu/trace/lines.h"

#define TEXT_BYTES 1024

static struct {
    FILE *ask, *answer; /* NULL: there is none */
    GHashTable *known;  /* text of an address and its caller -> line, or "" */
} lines;

/* Folders whose lines do not say what a command is for: who called them does. */
static const char *const beneath[] = {"hal/", "sched/", "boot/", "/", "??", NULL};

static bool is_beneath(const char *file)
{
    bool yes = false;

    for (unsigned i = 0; beneath[i]; i++) {
        yes |= g_str_has_prefix(file, beneath[i]);
    }
    return yes;
}

void npu_lines_open(void)
{
    const char *image = current_machine->kernel_filename, *cross = g_getenv("CROSS");
    g_autofree char *tool =
        g_strconcat(cross ?: "riscv64-unknown-elf-", "addr2line", NULL);
    char *argv[] = {tool,         (char *)"-e", (char *)image, (char *)"-a",
                    (char *)"-i", (char *)"-f", NULL};
    int in, out;

    if (lines.known || !image) {
        return;
    }
    lines.known = g_hash_table_new(g_str_hash, g_str_equal);
    if (g_spawn_async_with_pipes(NULL, argv, NULL,
                                 G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL,
                                 NULL, NULL, &in, &out, NULL, NULL)) {
        fcntl(in, F_SETFD, FD_CLOEXEC);
        fcntl(out, F_SETFD, FD_CLOEXEC);
        lines.ask = fdopen(in, "w");
        lines.answer = fdopen(out, "r");
    }
}

/* One line of the answer without its end; false: there is none. */
static bool read_line(char *text, int size)
{
    if (!fgets(text, size, lines.answer)) {
        fclose(lines.ask);
        lines.ask = NULL;
        return false;
    }
    g_strchomp(text);
    return true;
}

/* The next frame of the answer, "file:line"; false: the answer ends. */
static bool read_frame(char *function, char *file)
{
    char text[TEXT_BYTES], *space;

    if (!read_line(function, TEXT_BYTES) || g_str_has_prefix(function, "0x") ||
        !read_line(text, sizeof(text))) {
        return false;
    }
    space = strstr(text, " (discriminator");
    if (space) {
        *space = '\0';
    }
    g_strlcpy(file, g_str_has_prefix(text, "./") ? text + 2 : text, TEXT_BYTES);
    return true;
}

/* By its name it pushes what somebody else has built: whoever calls it says more. */
static bool passes_on(const char *function)
{
    return strstr(function, "push") || strstr(function, "issue");
}

/* Of the frames at an address, inlined ones first, the first one above the drivers that does
 * not only pass on, or the last that does; else, if `any`, the outermost that has a line.
 * Address 0, asked for behind it, ends the answer. */
static char *ask(uint64_t address, bool any)
{
    char function[TEXT_BYTES], file[TEXT_BYTES];
    char *found = NULL, *last = NULL;
    bool better = true; /* may be found */

    fprintf(lines.ask, "0x%" PRIx64 "\n0x0\n", address);
    fflush(lines.ask);
    read_line(file, sizeof(file)); /* the address */
    while (read_frame(function, file)) {
        if (better && !is_beneath(file)) {
            g_free(found);
            found = g_strdup(file);
            better = passes_on(function);
        }
        if (file[0] != '?' && !strstr(file, ":?")) {
            g_free(last);
            last = g_strdup(file);
        }
    }
    read_line(file, sizeof(file)); /* of address 0: function and line */
    read_line(file, sizeof(file));
    if (!found && any) {
        return last;
    }
    g_free(last);
    return found;
}

/* A return address is behind the call. */
static const char *find(uint64_t pc, uint64_t ra)
{
    char *found = NULL;

    if (lines.ask && pc) {
        found = ask(ra ? pc : pc - 2, !ra);
    }
    if (lines.ask && !found && ra) {
        found = ask(ra - 2, true);
    }
    return found ?: g_strdup("");
}

const char *npu_line(uint64_t pc, uint64_t ra)
{
    char key[40];
    const char *line;

    if (!lines.ask) {
        return NULL;
    }
    snprintf(key, sizeof(key), "%" PRIx64 " %" PRIx64, pc, ra);
    line = g_hash_table_lookup(lines.known, key);
    if (!line) {
        line = find(pc, ra);
        g_hash_table_insert(lines.known, g_strdup(key), (char *)line);
    }
    return *line ? line : NULL;
}
