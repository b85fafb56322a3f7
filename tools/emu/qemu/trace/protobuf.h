/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Writing protobuf: varints, eight bytes, and what has a length. That is all that a trace
 * has of it, so no library is asked for it. Source: Protocol Buffers, "Encoding".
 */
#ifndef TOOLS_EMU_QEMU_TRACE_PROTOBUF_H
#define TOOLS_EMU_QEMU_TRACE_PROTOBUF_H

#include "tools/emu/qemu/device/compat.h"

/* A message that is being written; they nest by being appended to one another. */
typedef struct Message {
    GByteArray *bytes;
} Message;

static inline void add_varint(Message *m, uint64_t n)
{
    uint8_t bytes[10];
    unsigned used = 0;

    do {
        bytes[used++] = (n & 0x7f) | (n > 0x7f ? 0x80 : 0);
        n >>= 7;
    } while (n);
    g_byte_array_append(m->bytes, bytes, used);
}

static inline void add_number(Message *m, unsigned field, uint64_t n)
{
    add_varint(m, field << 3);
    add_varint(m, n);
}

static inline void add_fixed(Message *m, unsigned field, uint64_t n)
{
    uint64_t little = GUINT64_TO_LE(n);

    add_varint(m, field << 3 | 1);
    g_byte_array_append(m->bytes, (const guint8 *)&little, sizeof(little));
}

static inline void add_bytes(Message *m, unsigned field, const void *bytes, size_t n)
{
    add_varint(m, field << 3 | 2);
    add_varint(m, n);
    g_byte_array_append(m->bytes, bytes, n);
}

static inline void add_text(Message *m, unsigned field, const char *text)
{
    add_bytes(m, field, text, strlen(text));
}

/* What `inner` has become, which is then empty. */
static inline void add_message(Message *m, unsigned field, Message *inner)
{
    add_bytes(m, field, inner->bytes->data, inner->bytes->len);
    g_byte_array_set_size(inner->bytes, 0);
}

#endif
