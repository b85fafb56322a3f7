/* SPDX-License-Identifier: MIT
 *
 * Plans as words of a schedule, and back; see plan.h. A word tells one decision, in the
 * order in which they are made: `x`, a cut by reductions; `y21888`, in pieces of at most so
 * many; `l1`, rows through L1 (rows.h); `r8c1024p1040n2fsb012`, a tile: rows, columns, pitch,
 * buffers, what else there is of a way by letters, where large buffers begin by digits.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/tile/plan.h"

void script_begin(struct script *s, const struct tile_kernel *k)
{
    *s = (struct script){.k = k,
                         .follows = tile_chosen(k, TILE_CHOICE_LAYOUT, TILE_NO_DIM)};
}

const struct tile_choice *script_next(struct script *s)
{
    while (s->next < s->k->n_choices) {
        const struct tile_choice *c = &s->k->choice[s->next++];
        if (c->kind == TILE_CHOICE_LAYOUT) {
            return c;
        }
    }
    return NULL;
}

void script_add(struct script *s, const char *format, ...)
{
    va_list args;

    s->full |= s->n == SCRIPT_WORDS;
    if (!s->full) {
        va_start(args, format);
        s->full |= vsnprintf(s->word[s->n], sizeof(s->word[0]), format, args) >=
                   (int)sizeof(s->word[0]);
        va_end(args);
        s->n += !s->full;
    }
}

void script_add_way(struct script *s, const struct way *w, const struct placing *p)
{
    char phases[PLACE_LARGE + 1];
    unsigned n = PLACE_LARGE;

    while (n && p->phase[n - 1] == 0) {
        n--;
    }
    for (unsigned i = 0; i < n; i++) {
        phases[i] = (char)('0' + p->phase[i]);
    }
    phases[n] = '\0';
    script_add(s, "r%luc%lup%lun%u%s%s%s%s%s%s%s", (unsigned long)w->rows,
               (unsigned long)w->cols, (unsigned long)w->pitch, w->ring,
               w->apart ? "a" : "", w->far ? "f" : "",
               (const char *[]){"", "s", "t"}[w->spread], w->single ? "o" : "",
               p->banks ? "b" : "", p->behind ? "h" : "", phases);
}

/* The number behind a letter. */
static uint32_t number_after(const char **at, char letter)
{
    char *end;
    unsigned long n;

    if (**at != letter || (*at)[1] < '0' || (*at)[1] > '9') {
        return 0;
    }
    n = strtoul(*at + 1, &end, 10);
    *at = end;
    return n > INT32_MAX ? 0 : (uint32_t)n;
}

static bool letter(const char **at, char wanted)
{
    bool there = **at == wanted;

    *at += there;
    return there;
}

bool script_read_way(const char *word, struct way *w, struct placing *p)
{
    *w = (struct way){0};
    *p = (struct placing){0};
    w->rows = number_after(&word, 'r');
    w->cols = number_after(&word, 'c');
    w->pitch = number_after(&word, 'p');
    if (*word == 'n' && word[1] >= '1' && word[1] <= '0' + PLAN_RING) {
        w->ring =
            (uint8_t)(word[1] - '0'); /* one digit: those of the phases may follow */
        word += 2;
    }
    w->apart = letter(&word, 'a');
    w->far = letter(&word, 'f');
    w->spread = letter(&word, 's')   ? SPREAD_ALL
                : letter(&word, 't') ? SPREAD_FIRST
                                     : SPREAD_NONE;
    w->single = letter(&word, 'o');
    p->banks = letter(&word, 'b');
    p->behind = letter(&word, 'h');
    for (unsigned i = 0; i < PLACE_LARGE && *word >= '0' && *word < '0' + PLACE_PHASES;
         i++) {
        p->phase[i] = (uint8_t)(*word++ - '0');
    }
    return w->rows && w->cols && w->pitch && w->ring && *word == '\0';
}

uint32_t script_read_pieces(const char *word)
{
    uint32_t most = number_after(&word, 'y');

    return *word ? 0 : most;
}

char *script_text(const struct script *s, struct tile_arena *arena)
{
    char *text = s->full ? NULL : tile_alloc(arena, s->n * (TILE_NAME_BYTES + 10) + 1);

    for (unsigned i = 0; i < s->n && text; i++) {
        strcat(text, i ? ", layout " : "layout ");
        strcat(text, s->word[i]);
    }
    return text;
}
