/* SPDX-License-Identifier: MIT
 *
 * A model's file without the large values of its initializers, which unpacking would copy.
 */
#ifndef GRAPH_STRIP_H
#define GRAPH_STRIP_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values of initializer `number` of the model's graph: len bytes of the file. */
struct strip_cut {
    size_t number, len;
    uint8_t *data;
};

struct stripped {
    uint8_t *
        data; /* a ModelProto whose raw_data is empty where it was cut; or NULL: nothing was */
    size_t bytes;
    struct strip_cut *cut;
    size_t n_cuts;
};

/* Whether messages lie in each other at most SLIM_DEPTH deep, as protobuf itself allows: protobuf-c
 * calls itself for each, and so ends in the end of the stack. Of any bytes. */
enum { SLIM_DEPTH = 100 };
bool slim_is_flat(const ProtobufCMessageDescriptor *type, uint8_t *bytes, size_t count);

/* Of any bytes: what is no plain message is left whole, for who unpacks it to refuse. */
struct stripped strip_of(uint8_t *file, size_t bytes);

#endif
