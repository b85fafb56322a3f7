/* SPDX-License-Identifier: MIT
 *
 * The reader of JSON. Source: RFC 8259; what it leaves out is said in json.h.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/profile/json.h"

enum { JSON_DEPTH = 32 };

void json_begin(struct json *j, const char *text, size_t bytes)
{
    j->begin = j->at = text;
    j->end = text + bytes;
    j->error = NULL;
    j->depth = 0;
    j->n = 0;
}

unsigned json_line(const struct json *j)
{
    unsigned line = 1;

    for (const char *p = j->begin; p < j->at; p++) {
        line += *p == '\n';
    }
    return line;
}

static bool bad(struct json *j, const char *why)
{
    j->error = j->error ? j->error : why;
    return false;
}

static void skip_blanks(struct json *j)
{
    while (j->at < j->end &&
           (*j->at == ' ' || *j->at == '\n' || *j->at == '\t' || *j->at == '\r')) {
        j->at++;
    }
}

static bool take(struct json *j, char c)
{
    skip_blanks(j);
    if (j->at == j->end || *j->at != c) {
        return false;
    }
    j->at++;
    return true;
}

static bool string(struct json *j, const char **text, uint32_t *bytes)
{
    const char *p;

    if (!take(j, '"')) {
        return bad(j, "a string is missing");
    }
    for (p = j->at; p < j->end && *p != '"'; p++) {
        p += *p == '\\';
    }
    if (p >= j->end) {
        return bad(j, "a string does not end");
    }
    *text = j->at;
    *bytes = (uint32_t)(p - j->at);
    j->at = p + 1;
    return true;
}

static int value(struct json *j);

/* Members of an object, with their keys, or elements of an array. */
static bool members(struct json *j, int parent, char close)
{
    int last = -1;

    if (take(j, close)) {
        return true;
    }
    if (++j->depth > JSON_DEPTH) {
        return bad(j, "too many brackets");
    }
    do {
        const char *key = "";
        uint32_t key_bytes = 0;
        if (close == '}' && (!string(j, &key, &key_bytes) || !take(j, ':'))) {
            return bad(j, "a member is not `\"name\": value`");
        }
        int i = value(j);
        if (i < 0) {
            return false;
        }
        j->node[i].key = key;
        j->node[i].key_bytes = key_bytes;
        *(last < 0 ? &j->node[parent].child : &j->node[last].next) = i;
        last = i;
    } while (take(j, ','));
    j->depth--;
    return take(j, close) || bad(j, "a bracket does not end");
}

static bool plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           c == '+' || c == '-' || c == '.';
}

/* Number of the node that it has become, or -1. */
static int value(struct json *j)
{
    int i = j->n;
    struct json_node *node = &j->node[i];
    bool good;

    skip_blanks(j);
    if (i == JSON_NODES || j->at == j->end) {
        bad(j, i == JSON_NODES ? "an event has too many values" : "the file ends early");
        return -1;
    }
    j->n++;
    *node = (struct json_node){.child = -1, .next = -1, .key = "", .text = j->at};
    if (*j->at == '{' || *j->at == '[') {
        bool object = *j->at++ == '{';
        node->type = object ? JSON_OBJECT : JSON_ARRAY;
        good = members(j, i, object ? '}' : ']');
    } else if (*j->at == '"') {
        node->type = JSON_STRING;
        good = string(j, &node->text, &node->bytes);
    } else {
        node->type = strchr("-0123456789", *j->at) ? JSON_NUMBER : JSON_WORD;
        while (j->at < j->end && plain(*j->at)) {
            j->at++;
        }
        node->bytes = (uint32_t)(j->at - node->text);
        good = node->bytes != 0 || bad(j, "no value");
    }
    return good ? i : -1;
}

bool json_enter(struct json *j, const char *key)
{
    const char *name;
    uint32_t bytes;

    if (take(j, '[')) { /* the other form of a trace: the array alone */
        return true;
    }
    if (!take(j, '{')) {
        return bad(j, "no JSON");
    }
    do {
        if (!string(j, &name, &bytes) || !take(j, ':')) {
            return bad(j, "a member is not `\"name\": value`");
        }
        if (bytes == strlen(key) && memcmp(name, key, bytes) == 0) {
            return take(j, '[') || bad(j, "an array is missing");
        }
        j->n = 0;
        if (value(j) < 0) {
            return false;
        }
    } while (take(j, ','));
    return bad(j, "has no such array");
}

bool json_next(struct json *j)
{
    if (j->error || take(j, ']')) {
        return false;
    }
    take(j, ',');
    skip_blanks(j);
    j->n = 0;
    j->depth = 0;
    if (j->at < j->end && *j->at != '{') {
        return bad(j, "an event is no object");
    }
    return value(j) == 0;
}

const struct json_node *json_get(const struct json *j, const struct json_node *object,
                                 const char *key)
{
    size_t bytes = strlen(key);

    for (int i = object ? object->child : -1; i >= 0; i = j->node[i].next) {
        if (j->node[i].key_bytes == bytes && memcmp(j->node[i].key, key, bytes) == 0) {
            return &j->node[i];
        }
    }
    return NULL;
}

const struct json_node *json_child(const struct json *j, const struct json_node *node)
{
    return node && node->child >= 0 ? &j->node[node->child] : NULL;
}

const struct json_node *json_after(const struct json *j, const struct json_node *node)
{
    return node->next >= 0 ? &j->node[node->next] : NULL;
}

bool json_is(const struct json_node *node, const char *text)
{
    return node && node->bytes == strlen(text) &&
           memcmp(node->text, text, node->bytes) == 0;
}

uint64_t json_number(const struct json_node *node, unsigned scale)
{
    uint64_t n = 0;
    const char *p = node ? node->text : "", *end = p + (node ? node->bytes : 0);

    if (end - p > 2 && p[0] == '0' && p[1] == 'x') {
        return strtoull(p, NULL, 16);
    }
    while (p < end && *p >= '0' && *p <= '9') {
        n = 10 * n + (uint64_t)(*p++ - '0');
    }
    n *= scale;
    if (p < end && *p == '.') {
        for (p++; p < end && scale > 1 && *p >= '0' && *p <= '9'; p++) {
            scale /= 10;
            n += scale * (uint64_t)(*p - '0');
        }
    }
    return n;
}
