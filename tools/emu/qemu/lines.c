/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Lines of the source; see lines.h. addr2line is asked once for each address and stays
 * there meanwhile; it ends with the program, whose end of the pipe is its input's end.
 */
#include "tools/emu/qemu/lines.h"

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
    char *argv[] = {tool, (char *)"-e", (char *)image, (char *)"-a", (char *)"-i", NULL};
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

/* Of the frames at an address, inlined ones first, the first one above the drivers; else,
 * if `any`, the outermost that has a line. Address 0, asked for behind it, ends the answer. */
static char *ask(uint64_t address, bool any)
{
    char text[1024];
    char *found = NULL, *last = NULL;

    fprintf(lines.ask, "0x%" PRIx64 "\n0x0\n", address);
    fflush(lines.ask);
    read_line(text, sizeof(text)); /* the address */
    while (read_line(text, sizeof(text)) && !g_str_has_prefix(text, "0x")) {
        const char *file = g_str_has_prefix(text, "./") ? text + 2 : text;
        char *space = strstr(text, " (discriminator");

        if (space) {
            *space = '\0';
        }
        if (!found && !is_beneath(file)) {
            found = g_strdup(file);
        }
        if (file[0] != '?' && !strstr(file, ":?")) {
            g_free(last);
            last = g_strdup(file);
        }
    }
    read_line(text, sizeof(text)); /* of address 0 */
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
