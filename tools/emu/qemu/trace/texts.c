/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a command is, in words; see texts.h.
 */
#include "tools/emu/qemu/trace/texts.h"
#include "tools/emu/qemu/trace/counters.h"
#include "tools/emu/qemu/trace/lines.h"
#include "semihosting/semihost.h"

#define NAME_BYTES 64
#define TEXT_BYTES 512
#define TILE       "kernels/tile/" /* who issues the commands of tile programs, */
#define PRODUCTS   "kernels/mm/"   /* and those of their products */
#define TAG_LINE   0xffffff /* of a tag: the line of the program, as the planner has it */

static struct {
    char shape[TEXT_BYTES], from[TEXT_BYTES], to[TEXT_BYTES], by[2][NAME_BYTES];
    char guest[NAME_BYTES];
    char *program;     /* file of the tile program that is launched, or NULL */
    GHashTable *lines; /* texts that have been handed out */
} texts;

const char *npu_text_of_guest(const SalaiNPU *npu, uint64_t addr)
{
    uint64_t off = addr - npu->config.gm_base, n = 0;

    while (off < npu->config.gm_size &&
           n < MIN(NAME_BYTES - 1, npu->config.gm_size - off) && npu->gm_host[off + n]) {
        texts.guest[n] = npu->gm_host[off + n];
        n++;
    }
    texts.guest[n] = '\0';
    return texts.guest;
}

bool npu_hint_of_guest(const SalaiNPU *npu, uint64_t addr, struct hint *hint)
{
    uint64_t off = addr - npu->config.gm_base;

    if (off > npu->config.gm_size || sizeof(*hint) > npu->config.gm_size - off) {
        return false;
    }
    memcpy(hint, npu->gm_host + off, sizeof(*hint));
    return true;
}

const char *npu_text_mem(unsigned mem)
{
    static const char *const names[] = {
#define MEM(NAME, name, offset, size, text) [NPU_MEM_##NAME] = #NAME,
#define STAGE(NAME, name, size)             [NPU_MEM_##NAME] = #NAME,
#include "hal/contract/all.h"
        [NPU_MEM_GM] = "GM",
    };

    return names[mem];
}

/* Appends to a text, which is cut short if it has no room. */
static void G_GNUC_PRINTF(2, 3) add(char *to, const char *format, ...)
{
    size_t at = strlen(to);
    va_list args;

    va_start(args, format);
    vsnprintf(to + at, TEXT_BYTES - at, format, args);
    va_end(args);
}

/* Whether it is the address of an operand, which is told by itself. */
static bool is_address(const struct npu_event *e, const struct cmd_arg *arg)
{
    bool yes = (e->dst && e->dst->field == arg->offset) ||
               (e->also && e->also->field == arg->offset);

    for (unsigned i = 0; i < e->n_src; i++) {
        yes |= e->src[i].field == arg->offset;
    }
    return yes;
}

/* The type and the other operands that are not 0. */
static void shape(const struct npu_event *e, const struct cmd_info *info)
{
    texts.shape[0] = '\0';
    if (e->cmd->head.type) {
        add(texts.shape, "%s", type_name(e->cmd->head.type));
    }
    for (unsigned i = 0; i < info->n_args; i++) {
        uint64_t value = cmd_arg_value(e->cmd, &info->args[i]);

        if (value && !is_address(e, &info->args[i])) {
            add(texts.shape, "%s%s=%" PRIu64, texts.shape[0] ? " " : "",
                info->args[i].name, value);
        }
    }
}

static void operand(char *to, unsigned core, const struct access *a)
{
    const char *name = npu_count_buffer(core, a->mem, a->base);

    if (access_bytes(a)) {
        add(to, "%s%s 0x%" PRIx64, *to ? ", " : "", npu_text_mem(a->mem), a->base);
        if (*name) {
            add(to, " (%s)", name);
        }
    }
}

static void operands(const struct npu_event *e)
{
    texts.from[0] = texts.to[0] = '\0';
    for (unsigned i = 0; i < e->n_src; i++) {
        operand(texts.from, e->core, &e->src[i]);
    }
    if (e->dst) {
        operand(texts.to, e->core, e->dst);
    }
    if (e->also) {
        operand(texts.to, e->core, e->also);
    }
}

static void name_poster(char *to, const struct by *by)
{
    if (by->who == NPU_BY_HART) {
        snprintf(to, NAME_BYTES, "hart");
    } else if (by->number) {
        snprintf(to, NAME_BYTES, "%u.%s.%" PRIu64, by->core, pipe_name(by->who),
                 by->number);
    } else {
        *to = '\0';
    }
}

/* --- lines --- */

/* The argument that names the program's file: that of its name, or of another, of which it
 * is a part; else the program's name. */
void npu_text_launch(const char *name)
{
    g_free(texts.program);
    texts.program = NULL;
    for (int i = 0; i < semihosting_get_argc(); i++) {
        const char *word = semihosting_get_arg(i);
        g_autofree char *base = g_path_get_basename(word);
        g_autofree char *file = g_strconcat(name, ".tile", NULL);

        if (strcmp(base, file) == 0) {
            g_free(texts.program);
            texts.program = g_strdup(word);
            return;
        }
        if (!texts.program && g_str_has_suffix(word, ".tile")) {
            texts.program = g_strdup(word);
        }
    }
    if (!texts.program) {
        texts.program = g_strconcat(name, ".tile", NULL);
    }
}

/* The same text for the same line: it is handed out and stays. */
static const char *kept(char *text)
{
    const char *known;

    if (!texts.lines) {
        texts.lines = g_hash_table_new(g_str_hash, g_str_equal);
    }
    known = g_hash_table_lookup(texts.lines, text);
    if (known) {
        g_free(text);
        return known;
    }
    g_hash_table_add(texts.lines, text);
    return text;
}

const char *npu_text_line(const struct npu_event *e)
{
    const char *line = npu_line(e->pc, e->ra) ?: "";
    uint32_t tag = e->cmd->head.tag & TAG_LINE;

    if (tag && texts.program &&
        (g_str_has_prefix(line, TILE) || g_str_has_prefix(line, PRODUCTS))) {
        return kept(g_strdup_printf("%s:%u", texts.program, tag));
    }
    return line;
}

void npu_text_command(const SalaiNPU *npu, const struct follow *f, TraceCommand *c)
{
    const struct cmd_info *info = cmd_find(c->e->cmd->head.opcode);

    c->op = info->name;
    c->line = npu_text_line(c->e);
    c->task = follow_text(f, c->f->task);
    shape(c->e, info);
    operands(c->e);
    c->shape = texts.shape;
    c->from = texts.from;
    c->to = texts.to;
    for (unsigned i = 0; i < c->f->n_waited; i++) {
        name_poster(texts.by[i], &c->f->waited[i].by);
        c->by[i] = texts.by[i];
    }
}
