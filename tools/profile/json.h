/* SPDX-License-Identifier: MIT
 *
 * A reader of JSON that takes one object after another from a text in memory: a trace of a
 * million events never stands there as a tree. Values point into the text, strings with
 * their escapes as they are written.
 */
#ifndef TOOLS_PROFILE_JSON_H
#define TOOLS_PROFILE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_NODES = 1024 /* values of one object, with all that is in it */ };

enum json_type { JSON_NUMBER, JSON_STRING, JSON_OBJECT, JSON_ARRAY, JSON_WORD };

struct json_node {
    enum json_type type;
    const char *key, *text; /* text: of a number, string or word */
    uint32_t key_bytes, bytes;
    int child, next; /* of an object or array its first; -1: none */
};

struct json {
    const char *at, *end, *begin;
    const char *error; /* what is wrong, NULL: nothing */
    unsigned depth;
    int n;
    struct json_node node[JSON_NODES];
};

void json_begin(struct json *j, const char *text, size_t bytes);
/* Goes to behind the bracket that opens array `key` of the outermost object, past whatever
 * stands before it. */
bool json_enter(struct json *j, const char *key);
/* The next object of the array as node 0. False: the array has ended, or error is set. */
bool json_next(struct json *j);
/* Line of the text that has been reached, from 1. */
unsigned json_line(const struct json *j);

/* The member of an object, or NULL; `object` may be NULL. */
const struct json_node *json_get(const struct json *j, const struct json_node *object,
                                 const char *key);
const struct json_node *json_child(const struct json *j, const struct json_node *node);
const struct json_node *json_after(const struct json *j, const struct json_node *node);
bool json_is(const struct json_node *node, const char *text);
/* A number times `scale` (a power of ten), what is behind that cut off; also of a string
 * such as "0x80"; 0 for NULL and what is no number. */
uint64_t json_number(const struct json_node *node, unsigned scale);

#endif
