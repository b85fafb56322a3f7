/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What would a run take, were it not for ...? set=LIST has the run take other numbers than
 * those of its profile: words NAME=VALUE or NAME=xTIMES of profile.def, hart=0 (the hart's
 * instructions take no time), banks=0 (nor do conflicts in UB) and queue=0 (none is ever
 * full), with + between. The firmware reads the profile as it is, so it does what it always
 * does.
 */
#include "tools/emu/qemu/device/device.h"
#include "tools/emu/qemu/host/console.h"

#define MOST 1000000 /* or what the profile has, if that is more */

static const char *const costs[COST_COUNT] = {
#define COST(name, a2, ascend910, ascend310, unit, source) [COST_##name] = #name,
#include "hal/contract/all.h"
};

static struct npu_changes changes;

/* What decides which commands there are and where they may lie is no price. */
static bool is_price(enum npu_cost c)
{
    bool size = false;

    for (int m = 0; m < NPU_MEM_COUNT; m++) {
        size |= npu_mem_cost(m) == c;
    }
    return !size && !g_str_has_prefix(costs[c], "TYPES_") && c != COST_L2_HINTS;
}

/* What the model divides by, or takes for the time that a byte of GM needs. */
static uint32_t least(enum npu_cost c)
{
    return g_str_has_suffix(costs[c], "_RATE") || g_str_has_suffix(costs[c], "_FIXED") ||
                   c == COST_CLOCK_KHZ || c == COST_GM_ROW_BYTES
               ? 1
               : 0;
}

/* There are no more tags of L2 than the profile has. */
static uint32_t most(enum npu_cost c, uint32_t now)
{
    return c == COST_L2_BYTES ? now : MAX(MOST, now);
}

static int find(const char *name)
{
    int c = 0;

    while (c < COST_COUNT && strcmp(costs[c], name) != 0) {
        c++;
    }
    return c;
}

static void change(const struct npu_config *config, const char *word, const char *name,
                   const char *value)
{
    enum npu_cost c = find(name);
    bool times = value[0] == 'x';
    uint64_t n;
    uint32_t now;

    if (c == COST_COUNT || !is_price(c)) {
        npu_die("npu.so: set=%s: %s is no price of profile.def, nor hart, banks or queue",
                word, name);
    }
    now = npu_profile_cost(config->profile, config->timing, c);
    if (!g_ascii_isdigit(value[times]) || qemu_strtou64(value + times, NULL, 10, &n) ||
        n > UINT32_MAX) {
        npu_die("npu.so: set=%s: want a number, or x and a number: so many times", word);
    }
    n = times ? n * now : n;
    if (n < least(c) || n > most(c, now)) {
        npu_die("npu.so: set=%s: %u..%u are allowed", word, least(c), most(c, now));
    }
    changes.changed[c] = true;
    changes.cost[c] = n;
}

void npu_parse_changes(const char *list, struct npu_config *to)
{
    g_auto(GStrv) words = g_strsplit(list, "+", 0);

    for (unsigned i = 0; words[i] || i == 0; i++) {
        g_auto(GStrv) parts = g_strsplit(words[i] ?: "", "=", 2);
        const char *name = parts[0] ?: "", *value = parts[0] && parts[1] ? parts[1] : "";
        bool hart = strcmp(name, "hart") == 0, banks = strcmp(name, "banks") == 0;
        bool queue = strcmp(name, "queue") == 0;

        if ((hart || banks || queue) && strcmp(value, "0") != 0) {
            npu_die("npu.so: set=%s: 0 is allowed", words[i]);
        }
        changes.free_hart |= hart;
        changes.free_banks |= banks;
        changes.endless |= queue;
        if (!hart && !banks && !queue) {
            change(to, words[i] ?: "", name, value);
        }
    }
    to->changes = &changes;
}

/* --- every line says so --- */

static struct {
    char *mark;
    FILE *from, *to; /* what the run prints; where it goes */
    QemuSemaphore done;
    bool lost;
} output;

static void *mark_lines(void *opaque)
{
    g_autofree char *line = NULL;
    size_t room = 0;
    ssize_t n;

    while ((n = getline(&line, &room, output.from)) > 0) {
        fputs(output.mark, output.to);
        output.lost |= fflush(output.to) != 0 ||
                       console_put(fileno(output.to), line, n) > 0;
    }
    qemu_sem_post(&output.done);
    return NULL;
}

/* The last line has been printed: what reads it comes to its end. */
static void at_exit(int status, void *opaque)
{
    fflush(stdout);
    dup2(fileno(output.to), STDOUT_FILENO);
    qemu_sem_wait(&output.done);
    if (output.lost) {
        error_report("npu.so: set=: standard output could not be written");
        npu_exit_worse(status);
    }
}

void npu_mark_output(const char *list)
{
    int fds[2], to = dup(STDOUT_FILENO);
    QemuThread thread;

    if (to < 0 || pipe(fds) != 0) {
        npu_die("npu.so: set=: %s", strerror(errno));
    }
    output.mark = g_strdup_printf("what if %s: ", list);
    output.from = fdopen(fds[0], "r");
    output.to = fdopen(to, "w");
    dup2(fds[1], STDOUT_FILENO);
    close(fds[1]);
    qemu_sem_init(&output.done, 0);
    qemu_thread_create(&thread, "npu-mark", mark_lines, NULL, QEMU_THREAD_DETACHED);
    on_exit(at_exit, NULL);
}
