/* SPDX-License-Identifier: MIT
 *
 * Options of an operator; see args.h.
 */
#include "kernels/cli/args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cli/data.h"

static int set_number(const char *who, const struct option *o, const char *value)
{
    char *end;
    unsigned long n = strtoul(value, &end, 10);

    if (*value < '0' || *value > '9' || *end != 0 || n < o->min || n > o->max) {
        fprintf(stderr, "%s: %s %s: want a number from %lu to %lu\n", who, o->name, value,
                (unsigned long)o->min, (unsigned long)o->max);
        return ERR_ARG;
    }
    *(uint32_t *)o->to = (uint32_t)n;
    return 0;
}

static const struct option *find(const struct option *options, unsigned n,
                                 const char *name)
{
    for (unsigned i = 0; i < n; i++) {
        if (strcmp(options[i].name, name) == 0) {
            return &options[i];
        }
    }
    return NULL;
}

/* One option; returns how many arguments it took, or ERR_ARG. */
static int parse_option(char **argv, const struct option *o, const char *value)
{
    if (o == NULL) {
        fprintf(stderr, "%s: no option %s\n", argv[0], value);
        return ERR_ARG;
    }
    if (o->kind == OPTION_FLAG) {
        *(uint32_t *)o->to = 1;
        return 1;
    }
    if (value == NULL) {
        fprintf(stderr, "%s: option %s wants a value\n", argv[0], o->name);
        return ERR_ARG;
    }
    if (o->kind == OPTION_TEXT) {
        *(const char **)o->to = value;
        return 2;
    }
    return set_number(argv[0], o, value) ? ERR_ARG : 2;
}

int args_parse(int argc, char **argv, const struct option *options, unsigned n_options,
               const char **operands, unsigned max_operands)
{
    unsigned n = 0;

    data_digest_wanted = false;
    for (int i = 1; i < argc;) {
        if (strcmp(argv[i], "--digest") == 0) {
            data_digest_wanted = true;
            i++;
            continue;
        }
        const struct option *o = find(options, n_options, argv[i]);
        if (o != NULL || (argv[i][0] == '-' && argv[i][1] != 0)) {
            int taken = parse_option(argv, o, o ? argv[i + 1] : argv[i]);
            if (taken < 0) {
                return taken;
            }
            i += taken;
            continue;
        }
        if (n == max_operands) {
            fprintf(stderr, "%s: one file too many: %s\n", argv[0], argv[i]);
            return ERR_ARG;
        }
        operands[n++] = argv[i++];
    }
    return (int)n;
}
