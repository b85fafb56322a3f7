/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What tools/perturb asks of a run: what each command left and what a seed held up, a line
 * each in a file; and of a seed's delays only those that another file lists.
 *
 *     end CORE PIPE NUMBER NAME COMMAND TYPE PC RA DIGEST      a command has ended
 *     write OPERAND MEMORY BITS BASE FIRST BYTES               of the one asked for
 *     delay KEY KIND CYCLES CORE PIPE NUMBER NAME COMMAND PC RA
 *
 * NAME is the pipe's; PC and RA are where it was pushed or, of the hart, where it is.
 * Left out: snapshots; a run that begins with one tells what follows it.
 */
#include "tools/emu/qemu/device/device.h"

static struct {
    FILE *file;
    const char *path;
    unsigned core, pipe; /* the command whose bytes are wanted */
    uint64_t number;     /* 0: none's */
} results;

/* --- what it left --- */

struct left {
    const SalaiNPU *npu;
    const struct npu_event *event;
    const struct access *access;
    uint64_t digest;
    bool bytes; /* they are wanted */
};

static const uint8_t *bytes_at(const struct left *l, uint64_t first)
{
    unsigned mem = l->access->mem;

    return mem == NPU_MEM_GM ? l->npu->gm_host + (first - l->npu->config.gm_base)
                             : l->npu->model.mem[l->event->core][mem] + first;
}

static bool add_range(void *opaque, uint64_t first, uint64_t bytes)
{
    struct left *l = opaque;
    const uint8_t *at = bytes_at(l, first);

    l->digest = (l->digest ^ first) * 0x100000001b3u;
    for (uint64_t i = 0; i < bytes; i += 8) {
        uint64_t word = 0;

        memcpy(&word, at + i, MIN(bytes - i, 8));
        l->digest = (l->digest ^ word) * 0x9e3779b97f4a7c15u;
        l->digest ^= l->digest >> 32;
    }
    return true;
}

static bool write_range(void *opaque, uint64_t first, uint64_t bytes)
{
    const struct left *l = opaque;
    const struct cmd_info *info = cmd_find(l->event->cmd->head.opcode);
    const struct cmd_arg *arg = cmd_arg_at(info, l->access->field);
    const uint8_t *at = bytes_at(l, first);
    unsigned mem = l->access->mem;

    fprintf(results.file, "write %s %s %u %" PRIu64 " %" PRIu64 " ",
            arg ? arg->name : "-", mem == NPU_MEM_GM ? "GM" : npu_mem_name(mem),
            type_bits(l->event->cmd->head.type), l->access->base, first);
    for (uint64_t i = 0; i < bytes; i++) {
        fprintf(results.file, "%02x", at[i]);
    }
    fputc('\n', results.file);
    return true;
}

static void leaves(void *opaque, const struct access *a, enum touch_kind kind)
{
    struct left *l = opaque;

    l->access = a;
    if (kind != TOUCH_READS) {
        access_each(a, l->bytes ? write_range : add_range, l);
    }
}

static void ended(const SalaiNPU *npu, const struct npu_event *e)
{
    struct left l = {.npu = npu, .event = e};
    const struct cmd_head *head = &e->cmd->head;

    npu_touch(&npu->model, e->core, e->pipe, leaves, &l);
    fprintf(results.file,
            "end %u %u %" PRIu64 " %s %s %s %" PRIu64 " %" PRIu64 " %016" PRIx64 "\n",
            e->core, e->pipe, e->number, pipe_name(e->pipe), cmd_find(head->opcode)->name,
            type_name(head->type), e->pc, e->ra, l.digest);
    if (e->number == results.number && e->core == results.core &&
        e->pipe == results.pipe) {
        l.bytes = true;
        npu_touch(&npu->model, e->core, e->pipe, leaves, &l);
    }
}

/* --- what was held up --- */

static const char *const kinds[] = {
    [NPU_LATE_BEGIN] = "begin", [NPU_LATE_END] = "end",   [NPU_LATE_LINE] = "line",
    [NPU_LATE_HART] = "hart",   [NPU_LATE_CORE] = "core",
};

static void held_up(SalaiNPU *npu, const struct npu_event *e)
{
    uint64_t pc = e->pc, ra = e->ra;

    if (e->delay == NPU_LATE_HART) {
        npu_host_ops.hart(npu, &pc, &ra);
    }
    fprintf(results.file,
            "delay %016" PRIx64 " %s %u %u %u %" PRIu64 " %s %s %" PRIu64 " %" PRIu64
            "\n",
            e->key, kinds[e->delay], e->cycles, e->core, e->pipe, e->number,
            e->pipe < NPU_PIPES ? pipe_name(e->pipe) : "-",
            e->cmd ? cmd_find(e->cmd->head.opcode)->name : "-", pc, ra);
}

void npu_results_event(SalaiNPU *npu, const struct npu_event *e)
{
    if (results.file && e->what == NPU_ENDS) {
        ended(npu, e);
    } else if (results.file && e->what == NPU_DELAYS) {
        held_up(npu, e);
    }
}

static void at_exit(int status, void *opaque)
{
    if (ferror(results.file) | fclose(results.file)) {
        error_report("npu.so: results=%s: could not be written completely", results.path);
        npu_exit_worse(status);
    }
}

void npu_results_open(const char *path, const char *of)
{
    char end;

    results.path = path;
    results.file = fopen(path, "w");
    if (!results.file) {
        npu_die("npu.so: results=%s: %s", path, strerror(errno));
    }
    if (of && sscanf(of, "%u:%u:%" SCNu64 "%c", &results.core, &results.pipe,
                     &results.number, &end) != 3) {
        npu_die("npu.so: bytes=%s: want CORE:PIPE:NUMBER", of);
    }
    on_exit(at_exit, NULL);
}

/* --- which delays there are --- */

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

const struct npu_only *npu_read_delays(const char *path)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) lines = NULL;
    struct npu_only *only = g_new0(struct npu_only, 1);
    uint64_t *key;

    if (!g_file_get_contents(path, &text, NULL, &error)) {
        npu_die("npu.so: delays=%s: %s", path, error->message);
    }
    lines = g_strsplit(text, "\n", 0);
    key = g_new0(uint64_t, g_strv_length(lines) + 1);
    for (unsigned i = 0; lines[i]; i++) {
        g_auto(GStrv) words = g_strsplit(lines[i], " ", 2);

        if (words[0] && *words[0] && qemu_strtou64(words[0], NULL, 16, &key[only->n])) {
            npu_die("npu.so: delays=%s: line %u: want the key of a delay", path, i + 1);
        }
        only->n += words[0] && *words[0];
    }
    qsort(key, only->n, sizeof(*key), by_key);
    only->key = key;
    return only;
}
