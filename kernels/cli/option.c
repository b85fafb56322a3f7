/* SPDX-License-Identifier: MIT
 *
 * Values of options; see option.h.
 */
#include "kernels/cli/option.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/lib/ascii.h"

bool option_is(const struct option *o, const char *word)
{
    const char *name = o->name;

    for (; *name != '\0'; name++, word++) {
        if (*word != (*name == '_' ? '-' : *name)) {
            return false;
        }
    }
    return *word == '\0';
}

const char *option_word(const char *words, unsigned i, int *len)
{
    for (; i != 0 && words != NULL; i--) {
        words = strchr(words, '|');
        words += words != NULL;
    }
    *len = words ? (int)strcspn(words, "|") : 0;
    return words;
}

void option_defaults(const struct option *options, void *base)
{
    for (const struct option *o = options; o && o->name; o++) {
        char *to = (char *)base + o->offset;
        int32_t number = (int32_t)(int64_t)o->first;
        float real = (float)o->first;

        switch (o->kind) {
        case OPTION_FLOAT:
            memcpy(to, &real, sizeof(real));
            break;
        case OPTION_TEXT:
            memcpy(to, &o->words, sizeof(o->words));
            break;
        case OPTION_FLAG:
            *to = 0;
            break;
        case OPTION_NUMBER:
        case OPTION_CHOICE:
            memcpy(to, &number, sizeof(number));
            break;
        }
    }
}

static int refuse(const char *who, const struct option *o, const char *value,
                  const char *want)
{
    fprintf(stderr, "%s: --", who);
    for (const char *c = o->name; *c != '\0'; c++) {
        fputc(*c == '_' ? '-' : *c, stderr);
    }
    fprintf(stderr, " %s: want %s", value, want);
    if (o->kind == OPTION_NUMBER) {
        fprintf(stderr, " %lld to %lld", (long long)o->min, (long long)o->max);
    } else if (o->kind == OPTION_FLOAT) {
        fprintf(stderr, " %g to %g", o->min, o->max);
    }
    fputc('\n', stderr);
    return ERR_ARG;
}

static double digits(const char **at, double number, int *n)
{
    while (is_digit(**at)) {
        number = number * 10 + (*(*at)++ - '0');
        (*n)++;
    }
    return number;
}

static int set_number(const char *who, const struct option *o, char *to, const char *text)
{
    const char *at = text + (*text == '-');
    int n = 0;
    double size = digits(&at, 0, &n), value = *text == '-' ? -size : size;
    uint32_t number;

    if (n == 0 || *at != '\0' || value < o->min || value > o->max) {
        return refuse(who, o, text, "a number from");
    }
    number = (uint32_t)(int64_t)value;
    memcpy(to, &number, sizeof(number));
    return 0;
}

/* `-1.5e-3` and the like, `inf`; false if it is none. As a double this may be off by its
 * last places, which a float does not show; strtod() is larger than all of this file. */
static bool decimal(const char *at, double *number)
{
    double sign = *at == '-' ? -1 : 1, exponent = 0;
    int whole = 0, behind = 0, any = 1;

    at += *at == '-';
    if (strcmp(at, "inf") == 0) {
        *number = sign * INFINITY;
        return true;
    }
    *number = digits(&at, 0, &whole);
    if (*at == '.') {
        at++;
        *number = digits(&at, *number, &behind);
    }
    if ((*at | 0x20) == 'e') {
        double way = at[1] == '-' ? -1 : 1;
        at += 1 + (at[1] == '-' || at[1] == '+');
        any = 0;
        exponent = way * digits(&at, 0, &any);
    }
    exponent -= behind;
    for (; exponent > 0 && isfinite(*number) && *number != 0; exponent--) {
        *number *= 10;
    }
    for (double by = 1; exponent < 0; exponent++) {
        by *= 10;
        if (exponent == -1 || by == 1e22) {
            *number /= by;
            by = 1;
        }
        if (*number == 0) {
            break;
        }
    }
    *number *= sign;
    return *at == '\0' && whole + behind != 0 && any != 0;
}

static int set_float(const char *who, const struct option *o, char *to, const char *text)
{
    double x;
    float number;

    if (!decimal(text, &x) || !(x >= o->min && x <= o->max)) {
        return refuse(who, o, text, "a number from");
    }
    number = (float)x;
    memcpy(to, &number, sizeof(number));
    return 0;
}

static int set_choice(const char *who, const struct option *o, char *to, const char *text)
{
    const char *word;
    int len;

    for (uint32_t i = 0; (word = option_word(o->words, i, &len)) != NULL; i++) {
        if (strlen(text) == (size_t)len && memcmp(word, text, (size_t)len) == 0) {
            memcpy(to, &i, sizeof(i));
            return 0;
        }
    }
    return refuse(who, o, text, o->words);
}

int option_set(const char *who, const struct option *o, void *base, const char *value)
{
    char *to = (char *)base + o->offset;

    if (o->kind == OPTION_FLAG) {
        *to = 1;
        return 0;
    }
    if (o->kind == OPTION_TEXT) {
        memcpy(to, &value, sizeof(value));
        return 0;
    }
    return o->kind == OPTION_NUMBER  ? set_number(who, o, to, value)
           : o->kind == OPTION_FLOAT ? set_float(who, o, to, value)
                                     : set_choice(who, o, to, value);
}
