/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fault=LIST: hardware that is broken from power-on, for firmware that has to live with it
 * (tools/emu/model/machine/state/defect.c). Items, separated by commas, of core 0 unless coreN.
 * stands before the name:
 *
 *   bitflip:MEM@CYCLE     one bit of a memory (gm, l1, l0a, ub, ...) changes at that cycle, as
 *                         traces count; @+CYCLE: as the report of the first launch does, from
 *                         its call; MEM+BYTE: one of that byte's; which is drawn from the seed
 *   stuck:semN            posts and takes leave the semaphore as it is
 *   skip:semN             commands neither wait for the semaphore nor post it, on any core
 *   drop:post@N           the N-th post of a command, of all cores, is lost
 *   slow:PIPExN           its commands take N times as long
 *   dead:coreN            none of its commands begins
 *   seed:N                for what is drawn; 0 without
 */
#include "tools/emu/qemu/device/device.h"

static struct npu_config *config;
static uint64_t fault_seed;

static void bad(const char *item, const char *why)
{
    npu_die("npu.so: fault=%s: %s", item, why);
}

static uint64_t number_from(const char *item, const char *text, uint64_t min,
                            uint64_t max)
{
    g_autofree char *why =
        g_strdup_printf("want a number from %" PRIu64 " to %" PRIu64, min, max);
    uint64_t n = 0;

    if (!g_ascii_isdigit(*text) || qemu_strtou64(text, NULL, 10, &n) || n < min ||
        n > max) {
        bad(item, why);
    }
    return n;
}

static uint64_t number(const char *item, const char *text, uint64_t max)
{
    return number_from(item, text, 0, max);
}

static uint8_t core_number(const char *item, const char *text)
{
    uint64_t n = number(item, text, NPU_MAX_CORES - 1);
    g_autofree char *why = g_strdup_printf("this chip has %u core(s)", config->cores);

    if (n >= config->cores) {
        bad(item, why);
    }
    return n;
}

/* Takes "coreN." off the front. */
static const char *core_of(const char *item, const char *name, struct npu_defect *d)
{
    const char *dot = strchr(name, '.');
    g_autofree char *digits = NULL;

    if (!g_str_has_prefix(name, "core") || !dot) {
        return name;
    }
    digits = g_strndup(name + strlen("core"), dot - name - strlen("core"));
    d->core = core_number(item, digits);
    return dot + 1;
}

/* Splits at the last `c`; what is behind it is returned and cut off. */
static char *cut(const char *item, char *text, char c)
{
    char *at = strrchr(text, c);

    if (!at) {
        bad(item, "is incomplete");
    }
    *at = '\0';
    return at + 1;
}

static int find_memory(const char *name)
{
    if (g_ascii_strcasecmp(name, npu_mem_name(NPU_MEM_GM)) == 0) {
        return NPU_MEM_GM;
    }
    for (int m = 0; m < NPU_MEM_COUNT; m++) {
        if (npu_mem_offset(m) && g_ascii_strcasecmp(name, npu_mem_name(m)) == 0) {
            return m;
        }
    }
    return -1;
}

static void parse_flip(const char *item, const char *what, struct npu_defect *d)
{
    g_autofree char *name = g_strdup(core_of(item, what, d));
    char *when, *byte;
    uint64_t bytes;
    int mem;

    when = cut(item, name, '@');
    d->times = *when == '+';
    d->at = number(item, when + d->times, d->times ? NPU_NEVER / 2 : NPU_NEVER - 1);
    byte = strchr(name, '+');
    if (byte) {
        *byte++ = '\0';
    }
    mem = find_memory(name);
    bytes = mem < 0             ? 0
            : mem == NPU_MEM_GM ? config->gm_size
                                : npu_mem_size(config->profile, mem);
    if (bytes == 0) {
        bad(item, "no such memory on this profile");
    }
    d->what = mem;
    d->bit = (fault_seed * 0x9e3779b97f4a7c15u >> 20 ^ d->at * 0x94d049bb133111ebu >> 16);
    d->bit = byte ? number(item, byte, bytes - 1) * 8 + d->bit % 8 : d->bit % (bytes * 8);
}

static void parse_stuck(const char *item, const char *what, struct npu_defect *d)
{
    const char *name = core_of(item, what, d);

    if (!g_str_has_prefix(name, "sem")) {
        bad(item, "want semN");
    }
    d->what = number(item, name + strlen("sem"), SEM_COUNT - 1);
}

/* Of all cores, unless one is named. */
static void parse_skip(const char *item, const char *what, struct npu_defect *d)
{
    d->core = NPU_CHIP;
    parse_stuck(item, what, d);
}

static void parse_drop(const char *item, const char *what, struct npu_defect *d)
{
    if (!g_str_has_prefix(what, "post@")) {
        bad(item, "want post@N");
    }
    d->at = number_from(item, what + strlen("post@"), 1, NPU_NEVER - 1);
}

static void parse_slow(const char *item, const char *what, struct npu_defect *d)
{
#define PIPE(NAME, name, number, stage, text) [number] = #NAME,
    static const char *const pipes[NPU_PIPES] = {
#include "hal/contract/all.h"
    };
    g_autofree char *name = g_strdup(core_of(item, what, d));

    d->times = number_from(item, cut(item, name, 'x'), 1, 1000000);
    for (d->what = 0; d->what < NPU_PIPES; d->what++) {
        if (pipes[d->what] && g_ascii_strcasecmp(name, pipes[d->what]) == 0) {
            return;
        }
    }
    bad(item, "no such pipe");
}

static void parse_dead(const char *item, const char *what, struct npu_defect *d)
{
    if (!g_str_has_prefix(what, "core")) {
        bad(item, "want coreN");
    }
    d->core = core_number(item, what + strlen("core"));
}

static const struct {
    const char *name;
    enum npu_defect_kind kind;
    void (*parse)(const char *item, const char *what, struct npu_defect *d);
} kinds[] = {
    {"bitflip", NPU_FLIP, parse_flip}, {"stuck", NPU_STUCK, parse_stuck},
    {"drop", NPU_DROP, parse_drop},    {"slow", NPU_SLOW, parse_slow},
    {"dead", NPU_DEAD, parse_dead},    {"skip", NPU_SKIP, parse_skip},
};

static void parse_item(const char *item)
{
    g_auto(GStrv) words = g_strsplit(item, ":", 2);
    struct npu_defect d = {0};

    for (size_t i = 0; words[0] && words[1] && i < ARRAY_SIZE(kinds); i++) {
        if (strcmp(words[0], kinds[i].name) != 0) {
            continue;
        }
        if (config->n_defects == NPU_DEFECTS) {
            bad(item, "too many: 8 at most");
        }
        d.kind = kinds[i].kind;
        kinds[i].parse(item, words[1], &d);
        config->defect[config->n_defects++] = d;
        return;
    }
    bad(item, "no such fault; bitflip:, stuck:, drop:, slow:, dead:, skip: and seed: are "
              "known");
}

void npu_parse_faults(const char *list, struct npu_config *to)
{
    g_auto(GStrv) items = g_strsplit(list, ",", 0);

    config = to;
    for (int i = 0; items[i]; i++) {
        if (g_str_has_prefix(items[i], "seed:")) {
            fault_seed = number(items[i], items[i] + strlen("seed:"), UINT32_MAX);
        }
    }
    for (int i = 0; items[i]; i++) {
        if (!g_str_has_prefix(items[i], "seed:")) {
            parse_item(items[i]);
        }
    }
}
