/* SPDX-License-Identifier: MIT
 *
 * Plans that are damaged: what opens them (kernels/graph/plan.c) and who reads their texts
 * (copy.c, the parser of tile programs) may refuse, but not crash, hang, or reach outside of
 * the file and the arena, which lie in blocks of exactly their sizes. libFuzzer finds inputs
 * (make fuzz FUZZ=plan); tests/host/plan_test.c has fixed ones. What the machine then does
 * with a step is tests/fuzz/files' matter, in QEMU.
 */
#include "tests/fuzz/plan.h"

#include <stdlib.h>
#include <string.h>

#include "hal/contract/contract.h"
#include "kernels/cli/data.h"
#include "kernels/cli/npy.h"
#include "kernels/graph/run.h"
#include "kernels/move/move.h"
#include "kernels/tile/text/text.h"

enum { TENSORS = 4, ROWS = 3, COLUMNS = 16, MOST = 8192, ARENA = 1 << 20 };

static const char program[] =
    "kernel add(x0: f32[d0, d1], x1: f32[d0, d1]) -> y0: f32[d0, d1]\n"
    "    y0 = x0 + exp(x1)\n";
static const struct {
    const char *op, *text;
    bool twice; /* for two sizes, with the same tables */
} sound[FUZZ_PLANS] = {
    {"", program, false},
    {"move", "x0 0 0 3:16:16 16:1:1;", false},
    {"move", "x1 3 0 3:16:1 4:-1:3;= 1.5 12 36:0:1;", false},
    {"softmax", "--axis 1", false},
    {"", program, true},
};
static struct graph_run run;
static unsigned copies;
static volatile char sink;

/* --- a sound plan --- */

static uint32_t put_text(char *texts, size_t *at, const char *text)
{
    uint32_t from = (uint32_t)*at;

    strcpy(texts + from, text);
    *at += strlen(text) + 1;
    return from;
}

/* Two tensors are given, the second as a constant; what a step makes of them is the third. */
static size_t make(uint8_t *to, unsigned which)
{
    struct plan_header h = {.magic = PLAN_MAGIC,
                            .version = PLAN_VERSION,
                            .contract = CONTRACT_VERSION,
                            .arena = TENSORS * PLAN_ALIGN,
                            .n_tensors = TENSORS,
                            .n_steps = 1,
                            .n_inputs = 1,
                            .n_outputs = 1};
    struct plan_tensor t[TENSORS];
    struct plan_step s = {.n_in = 2, .n_out = 1, .in = {0, 1}, .out = {2}};
    size_t at = 0;

    h.tensors = (sizeof(h) + 7) / 8 * 8;
    h.steps = h.tensors + sizeof(t);
    h.next = sound[which].twice ? h.steps + sizeof(s) : 0;
    h.texts = h.steps + sizeof(s) + (h.next ? sizeof(h) : 0);
    h.output[0] = 2;
    (void)put_text((char *)to + h.texts, &at, "");
    s.op = sound[which].op[0] ? put_text((char *)to + h.texts, &at, sound[which].op) : 0;
    s.text = put_text((char *)to + h.texts, &at, sound[which].text);
    s.nodes = put_text((char *)to + h.texts, &at, "Add_0");
    h.constants = (h.texts + at + PLAN_ALIGN - 1) / PLAN_ALIGN * PLAN_ALIGN;
    h.bytes = h.constants + ROWS * COLUMNS * sizeof(float);
    for (unsigned i = 0; i < TENSORS; i++) {
        t[i] = (struct plan_tensor){.at = i == 1 ? h.constants : i * PLAN_ALIGN,
                                    .name = s.nodes,
                                    .type = TYPE_F32,
                                    .file = NPY_F4,
                                    .rank = 2,
                                    .place = i == 1 ? PLAN_CONSTANT : PLAN_ARENA,
                                    .size = {ROWS, COLUMNS}};
    }
    memcpy(to, &h, sizeof(h));
    memcpy(to + h.tensors, t, sizeof(t));
    memcpy(to + h.steps, &s, sizeof(s));
    if (h.next) {
        struct plan_header other = h;
        other.next = 0;
        memcpy(to + h.next, &other, sizeof(other));
    }
    return h.bytes;
}

/* --- who reads it --- */

void *graph_at(const struct graph_run *r, uint32_t tensor)
{
    const struct plan_tensor *t = &r->plan.tensor[tensor];

    return (t->place == PLAN_CONSTANT ? r->file : r->arena) + t->at;
}

enum run_status graph_refuse(const struct graph_run *r, const struct plan_step *s,
                             const char *why)
{
    (void)r, (void)s, (void)why;
    return RUN_INPUT;
}

uint64_t data_round(double number, enum type type)
{
    return number > 0 ? type : 0; /* nobody looks at the value */
}

/* The first and the last element that a copy reads, and those that it writes. */
static void touch(const struct move *m, const char *at, bool is_x)
{
    int64_t low = 0, high = 0;

    for (unsigned d = 0; d < m->ndim; d++) {
        int64_t step = (int64_t)(is_x ? m->dim[d].x_step : m->dim[d].y_step);
        int64_t span = ((int64_t)m->dim[d].size - 1) * step * m->esize;
        *(span < 0 ? &low : &high) += span;
    }
    for (unsigned i = 0; i < m->esize; i++) {
        sink = at[low + i];
        sink = at[high + i];
    }
}

int move_begin(struct move_step **step, const struct move *moves, unsigned n,
               unsigned cores)
{
    (void)step, (void)cores;
    for (unsigned i = 0; i < n; i++) {
        if (moves[i].x) {
            touch(&moves[i], moves[i].x, true);
        }
        touch(&moves[i], moves[i].y, false);
    }
    copies++;
    return 0;
}

void move_kernel(void *step)
{
    (void)step;
}

void move_end(struct move_step *step)
{
    (void)step;
}

/* All of a tensor is there. */
static void touch_tensor(uint32_t number)
{
    const struct plan_tensor *t = &run.plan.tensor[number];
    const char *at = graph_at(&run, number);
    uint64_t bytes = plan_count(t) * type_bits(t->type) / 8;

    for (uint64_t i = 0, step; i < bytes; i += step) {
        step = bytes - i > 64 ? 64 : 1;
        sink = at[i];
    }
}

static void read_step(const struct plan_step *s)
{
    static char memory[ARENA];
    struct tile_arena arena = {memory, sizeof(memory), 0};
    const char *text = plan_text(&run.plan, s->text);
    struct graph_job job = {.step = s};
    struct tile_error error;

    sink = plan_text(&run.plan, s->nodes)[strlen(plan_text(&run.plan, s->nodes))];
    for (unsigned i = 0; i < s->n_in; i++) {
        touch_tensor(s->in[i]);
    }
    for (unsigned i = 0; i < s->n_out; i++) {
        touch_tensor(s->out[i]);
    }
    if (!s->op) {
        (void)tile_parse(&arena, text, strlen(text), NULL, &error);
    } else if (strcmp(plan_text(&run.plan, s->op), "move") == 0) {
        (void)!graph_copy(&run, &job);
    }
}

static void *block(size_t bytes)
{
    void *p;

    if (posix_memalign(&p, PLAN_ALIGN, bytes)) {
        abort();
    }
    return p;
}

static const char *read_size(void)
{
    if (run.plan.head->arena > ARENA) {
        return "is larger than this fuzzer has room for";
    }
    run.arena = block(run.plan.head->arena);
    for (uint32_t i = 0; i < run.plan.head->n_tensors; i++) {
        sink = plan_text(&run.plan, run.plan.tensor[i].name)[0];
    }
    for (uint32_t i = 0; i < run.plan.head->n_steps; i++) {
        read_step(&run.plan.step[i]);
    }
    free(run.arena);
    return NULL;
}

static const char *read_plan(size_t bytes)
{
    const char *why = plan_open(&run.plan, run.file, bytes);
    bool more = !why;

    while (more) {
        why = read_size();
        more = !why && plan_next(&run.plan);
    }
    return why;
}

const char *fuzz_plan(const uint8_t *data, size_t size, unsigned *ran)
{
    static uint64_t room[MOST / sizeof(uint64_t)];
    uint8_t *file = (uint8_t *)room;
    struct plan_header h;
    const char *why;
    size_t bytes;

    memset(room, 0, sizeof(room));
    bytes = make(file, size ? data[0] % FUZZ_PLANS : 0);
    for (size_t i = 1; i + 2 < size; i += 3) {
        size_t at = (size_t)data[i] | (size_t)data[i + 1] << 8;
        at = at & 0x8000 ? at & 0x7fff : at + offsetof(struct plan_header, bytes);
        file[at % bytes] = data[i + 2];
    }
    memcpy(&h, file, sizeof(h));
    h.bytes = bytes;
    memcpy(file, &h, sizeof(h));
    h.crc = plan_crc(0, file + PLAN_CRC_FROM, bytes - PLAN_CRC_FROM);
    memcpy(file, &h, sizeof(h));
    run.file = block(bytes);
    memcpy(run.file, file, bytes);
    copies = 0;
    why = read_plan(bytes);
    free(run.file);
    *ran = copies;
    return why;
}

int fuzz_plan_input(const uint8_t *data, size_t size)
{
    unsigned ran;

    (void)fuzz_plan(data, size, &ran);
    return 0;
}
