/* SPDX-License-Identifier: MIT
 *
 * See strip.h. A message is fields, each a number with a type, and what it holds; of the types only
 * bytes, which have a length in front, are looked into. Where a message has a field twice that is
 * looked for, protobuf joins both or takes the last one: such a file is left as it is.
 */
#include "tools/graph/model/strip.h"

#include <stdlib.h>
#include <string.h>

#include "tools/graph/model/graph.h"

enum { LEAST = 1 << 10 }; /* bytes: below, there is little to win */
enum { WIRE_NUMBER, WIRE_64, WIRE_BYTES, WIRE_32 = 5 }; /* types */
enum { MODEL_GRAPH = 7, GRAPH_INITIALIZER = 5, TENSOR_RAW = 9 };

struct span {
    uint8_t *at, *end;
};

static bool number(struct span *s, uint64_t *to)
{
    *to = 0;
    for (unsigned shift = 0; s->at < s->end && shift < 64; shift += 7) {
        uint8_t byte = *s->at++;
        *to |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            return true;
        }
    }
    return false;
}

/* The next field: its number, where it begins, and what it holds; false: there is none that is
 * whole. */
struct field {
    uint64_t number, type;
    uint8_t *begin;
    struct span holds;
};

static bool next(struct span *s, struct field *f)
{
    uint64_t key, size;

    f->begin = s->at;
    if (!number(s, &key)) {
        return false;
    }
    f->number = key >> 3;
    f->type = key & 7;
    f->holds.at = s->at;
    if (f->type == WIRE_NUMBER) {
        size = 0;
        if (!number(s, &key)) {
            return false;
        }
    } else if (f->type == WIRE_BYTES) {
        if (!number(s, &size)) {
            return false;
        }
        f->holds.at = s->at;
    } else if (f->type == WIRE_64 || f->type == WIRE_32) {
        size = f->type == WIRE_64 ? 8 : 4;
    } else {
        return false;
    }
    if (size > (size_t)(s->end - s->at)) {
        return false;
    }
    s->at += size;
    f->holds.end = s->at;
    return true;
}

/* The only field of that number; false: there is none, or the message is not plain. */
static bool only(struct span s, uint64_t wanted, struct field *to)
{
    struct field f;
    unsigned found = 0;

    while (s.at < s.end) {
        if (!next(&s, &f)) {
            return false;
        }
        if (f.number == wanted) {
            *to = f;
            found++;
        }
    }
    return found == 1 && to->type == WIRE_BYTES;
}

/* --- how deep it is --- */

/* Field f as a message of the type that has it; NULL: it is none. */
static const ProtobufCMessageDescriptor *
message_of(const ProtobufCMessageDescriptor *type, const struct field *f)
{
    const ProtobufCFieldDescriptor *of =
        f->type == WIRE_BYTES && f->number <= UINT32_MAX
            ? protobuf_c_message_descriptor_get_field(type, (unsigned)f->number)
            : NULL;

    return of && of->type == PROTOBUF_C_TYPE_MESSAGE ? of->descriptor : NULL;
}

bool slim_is_flat(const ProtobufCMessageDescriptor *type, uint8_t *bytes, size_t count)
{
    struct level {
        const ProtobufCMessageDescriptor *type;
        struct span rest;
    } level[SLIM_DEPTH] = {{type, {bytes, bytes + count}}};
    unsigned n = 1;
    struct field f;

    while (n > 0) {
        struct level *in = &level[n - 1];
        const ProtobufCMessageDescriptor *within;
        if (in->rest.at == in->rest.end || !next(&in->rest, &f)) {
            n--; /* what is broken is refused by who unpacks it */
            continue;
        }
        within = message_of(in->type, &f);
        if (within && n == SLIM_DEPTH) {
            return false;
        }
        if (within) {
            level[n++] = (struct level){within, f.holds};
        }
    }
    return true;
}

/* --- what is left --- */

static void put(struct stripped *s, const uint8_t *from, const uint8_t *end)
{
    memcpy(s->data + s->bytes, from, (size_t)(end - from));
    s->bytes += (size_t)(end - from);
}

static size_t number_bytes(uint64_t x)
{
    size_t n = 1;

    while (x >>= 7) {
        n++;
    }
    return n;
}

static void put_head(struct stripped *s, unsigned field, uint64_t size)
{
    s->data[s->bytes++] = (uint8_t)(field << 3 | WIRE_BYTES);
    for (; size > 127; size >>= 7) {
        s->data[s->bytes++] = (uint8_t)(size | 128);
    }
    s->data[s->bytes++] = (uint8_t)size;
}

/* Initializer f without its values. */
static void put_tensor(struct stripped *s, const struct field *f, const struct field *raw)
{
    size_t rest =
        (size_t)(raw->begin - f->holds.at) + (size_t)(f->holds.end - raw->holds.end);

    put_head(s, GRAPH_INITIALIZER, rest + 2);
    put(s, f->holds.at, raw->begin);
    put_head(s, TENSOR_RAW, 0);
    put(s, raw->holds.end, f->holds.end);
}

/* Whether field f of a graph is an initializer with large values, which are `raw`. */
static bool is_large(const struct field *f, struct field *raw)
{
    return f->number == GRAPH_INITIALIZER && f->type == WIRE_BYTES &&
           only(f->holds, TENSOR_RAW, raw) && raw->holds.end - raw->holds.at >= LEAST;
}

/* Counts what can be cut of a graph, and the bytes of it; those that the graph has then. False: it
 * is not plain. */
static bool survey(struct span graph, size_t *cuts, size_t *bytes, size_t *left)
{
    struct field f, raw;

    *cuts = *bytes = *left = 0;
    while (graph.at < graph.end) {
        if (!next(&graph, &f)) {
            return false;
        }
        if (is_large(&f, &raw)) {
            size_t rest = (size_t)(raw.begin - f.holds.at) +
                          (size_t)(f.holds.end - raw.holds.end) + 2;
            *cuts += 1;
            *bytes += (size_t)(raw.holds.end - raw.holds.at);
            *left += 1 + number_bytes(rest) + rest;
        } else {
            *left += (size_t)(f.holds.end - f.begin);
        }
    }
    return *cuts > 0;
}

struct stripped strip_of(uint8_t *file, size_t bytes)
{
    struct span all = {file, file + bytes}, rest;
    struct stripped s = {.data = NULL};
    size_t cuts, cut, left, initializers = 0;
    struct field graph, f, raw;

    if (!only(all, MODEL_GRAPH, &graph) || !survey(graph.holds, &cuts, &cut, &left)) {
        return s;
    }
    s.data = graph_alloc(bytes - cut, 1); /* lengths do not become longer */
    s.cut = graph_alloc(cuts, sizeof(*s.cut));
    put(&s, all.at, graph.begin);
    put_head(&s, MODEL_GRAPH, left);
    for (rest = graph.holds; rest.at < rest.end;) {
        (void)next(&rest, &f);
        if (is_large(&f, &raw)) {
            s.cut[s.n_cuts++] =
                (struct strip_cut){.number = initializers,
                                   .data = raw.holds.at,
                                   .len = (size_t)(raw.holds.end - raw.holds.at)};
            put_tensor(&s, &f, &raw);
        } else {
            put(&s, f.begin, f.holds.end);
        }
        initializers += f.number == GRAPH_INITIALIZER;
    }
    put(&s, graph.holds.end, all.end);
    return s;
}
