/* SPDX-License-Identifier: MIT
 *
 * A plan's file, checked; see plan.h. Compiles for the host too.
 */
#include "kernels/graph/plan.h"

#include <string.h>

#include "hal/contract/contract.h"
#include "kernels/cli/npy.h"

/* Eight bytes at a time, each through the table of how many follow it. */
static uint32_t crc_table[8][256];

static void make_crc_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        crc_table[0][i] = i;
        for (unsigned k = 0; k < 8; k++) {
            uint32_t *x = &crc_table[0][i];
            *x = *x >> 1 ^ (*x & 1 ? UINT32_C(0xedb88320) : 0);
        }
    }
    for (unsigned n = 1; n < 8; n++) {
        for (unsigned i = 0; i < 256; i++) {
            uint32_t x = crc_table[n - 1][i];
            crc_table[n][i] = x >> 8 ^ crc_table[0][x & 255];
        }
    }
}

uint32_t plan_crc(uint32_t crc, const void *data, uint64_t bytes)
{
    const uint8_t *p = data;

    if (!crc_table[0][255]) {
        make_crc_table();
    }
    crc = ~crc;
    for (; bytes >= 8; bytes -= 8, p += 8) {
        uint32_t x = 0, low;
        memcpy(&low, p, sizeof(low));
        low ^= crc;
        for (unsigned k = 0; k < 4; k++) {
            x ^= crc_table[7 - k][low >> 8 * k & 255] ^ crc_table[3 - k][p[4 + k]];
        }
        crc = x;
    }
    while (bytes-- > 0) {
        crc = crc_table[0][(crc ^ *p++) & 255] ^ crc >> 8;
    }
    return ~crc;
}

uint64_t plan_count(const struct plan_tensor *t)
{
    uint64_t n = 1;

    for (unsigned d = 0; d < t->rank; d++) {
        n *= t->size[d];
    }
    return n;
}

/* `n` things of so many bytes lie in front of `end`. */
static bool lies(uint64_t at, uint64_t n, uint64_t size, uint64_t end)
{
    return at <= end && at % 8 == 0 && n <= (end - at) / size;
}

/* A text that a terminal may be given: one line, no control characters. */
static bool names(const struct plan *p, uint32_t at, uint64_t texts)
{
    unsigned n = 0;

    if (at >= texts) {
        return false;
    }
    for (const char *c = p->texts + at; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f || ++n > PLAN_NAME) {
            return false;
        }
    }
    return true;
}

/* A file has elements as the machine has, but for whole numbers of 64 bits, or of 16 without a
 * sign, and float32 for bfloat16. */
static bool file_holds(const struct plan_tensor *t)
{
    enum npy_type file = (enum npy_type)t->file;

    return t->type == TYPE_BF16
               ? file == NPY_F4
               : npy_type_bytes(file) * 8 == type_bits(t->type) ||
                     ((file == NPY_I8 || file == NPY_U8 || file == NPY_U2) &&
                      t->type == TYPE_S32);
}

static bool tensor_holds(const struct plan *p, const struct plan_tensor *t,
                         uint64_t texts)
{
    const struct plan_header *h = p->head;
    uint64_t end = t->place == PLAN_CONSTANT ? h->bytes : h->arena, n = 1, bytes;

    if (!names(p, t->name, texts) || t->rank > PLAN_RANK || t->place > PLAN_ARENA ||
        t->type >= TYPE_COUNT || type_bits(t->type) < 8 || t->file >= NPY_TYPES ||
        !file_holds(t)) {
        return false;
    }
    for (unsigned d = 0; d < t->rank; d++) {
        if (t->size[d] && n > UINT64_C(0x80000000) / t->size[d]) {
            return false;
        }
        n *= t->size[d];
    }
    bytes = type_bits(t->type) / 8;
    return t->at % bytes == 0 && t->at <= end && n <= (end - t->at) / bytes &&
           (t->place == PLAN_ARENA || t->at >= h->constants);
}

static bool step_holds(const struct plan *p, const struct plan_step *s, uint64_t texts)
{
    bool good = names(p, s->op, texts) && names(p, s->nodes, texts) && s->text < texts &&
                s->n_in <= PLAN_IN && s->n_out <= PLAN_OUT && s->n_out;

    for (unsigned i = 0; good && i < s->n_in; i++) {
        good = s->in[i] < p->head->n_tensors;
    }
    for (unsigned i = 0; good && i < s->n_out; i++) {
        good = s->out[i] < p->head->n_tensors && p->tensor[s->out[i]].place == PLAN_ARENA;
    }
    return good;
}

static bool files_hold(const struct plan *p)
{
    const struct plan_header *h = p->head;
    bool good = h->n_inputs <= PLAN_FILES && h->n_outputs <= PLAN_FILES;

    for (unsigned i = 0; good && i < h->n_inputs; i++) {
        good = h->input[i] < h->n_tensors;
    }
    for (unsigned i = 0; good && i < h->n_outputs; i++) {
        good = h->output[i] < h->n_tensors && h->found[i] <= h->n_tensors;
        if (good && h->found[i]) {
            const struct plan_tensor *t = &p->tensor[h->found[i] - 1];
            good = t->type == TYPE_S32 && plan_count(t) == 1 &&
                   h->axis[i] < p->tensor[h->output[i]].rank;
        }
    }
    return good;
}

/* What the header at a place says of its size. */
static void use(struct plan *plan, uint64_t at)
{
    const struct plan_header *h = (const void *)(plan->base + at);

    plan->head = h;
    plan->tensor = (const void *)(plan->base + h->tensors);
    plan->step = (const void *)(plan->base + h->steps);
    plan->texts = plan->base + h->texts;
}

/* The header at a place, and its tables; first: that of the file. */
static bool size_holds(struct plan *plan, uint64_t at, const struct plan_header *first)
{
    const struct plan_header *h = (const void *)(plan->base + at);
    uint64_t texts = h->constants - h->texts;
    bool good =
        h->bytes == first->bytes && h->constants == first->constants &&
        h->texts == first->texts && h->n_inputs == first->n_inputs &&
        h->n_outputs == first->n_outputs && h->n_tensors <= PLAN_MOST &&
        h->n_steps <= PLAN_MOST &&
        lies(h->tensors, h->n_tensors, sizeof(struct plan_tensor), h->texts) &&
        lies(h->steps, h->n_steps, sizeof(struct plan_step), h->texts) &&
        (h->next == 0 || (h->next > at && lies(h->next, 1, sizeof(*h), h->texts)));

    if (!good) {
        return false;
    }
    use(plan, at);
    for (uint32_t i = 0; good && i < h->n_tensors; i++) {
        good = tensor_holds(plan, &plan->tensor[i], texts);
    }
    for (uint32_t i = 0; good && i < h->n_steps; i++) {
        good = step_holds(plan, &plan->step[i], texts);
    }
    return good && files_hold(plan);
}

bool plan_holds(struct plan *plan, const void *data)
{
    const struct plan_header *h = data;
    const char *base = data;
    uint64_t at = 0;
    bool good = h->constants <= h->bytes && h->texts < h->constants &&
                base[h->constants - 1] == '\0';

    *plan = (struct plan){.base = base};
    do {
        good = good && size_holds(plan, at, h);
        at = good ? plan->head->next : 0;
    } while (at);
    return good;
}

const char *plan_open(struct plan *plan, const void *data, uint64_t bytes)
{
    const struct plan_header *h = data;
    const char *base = data;

    if (bytes < sizeof(*h) || memcmp(h->magic, PLAN_MAGIC, sizeof(h->magic)) != 0) {
        return "is no plan";
    }
    if (h->version != PLAN_VERSION || h->contract != CONTRACT_VERSION) {
        return "is a plan for another version of the machine: make it again";
    }
    if (h->bytes != bytes ||
        h->crc != plan_crc(0, base + PLAN_CRC_FROM, bytes - PLAN_CRC_FROM)) {
        return "is a damaged plan";
    }
    if (!plan_holds(plan, data)) {
        return "is a damaged plan";
    }
    use(plan, 0);
    return NULL;
}

bool plan_next(struct plan *plan)
{
    uint64_t next = plan->head->next;

    if (next) {
        use(plan, next);
    }
    return next != 0;
}
