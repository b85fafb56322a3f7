/* SPDX-License-Identifier: MIT
 *
 * See script.h.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/tile/tiles/script.h"

void script_begin(struct script *s, const struct tile_kernel *k)
{
    *s = (struct script){.k = k,
                         .follows = tile_chosen(k, TILE_CHOICE_LAYOUT, TILE_NO_DIM)};
}

const struct tile_choice *script_next(struct script *s)
{
    while (s->at.next < s->k->n_choices) {
        const struct tile_choice *c = &s->k->choice[s->at.next++];
        if (c->kind == TILE_CHOICE_LAYOUT) {
            return c;
        }
    }
    return NULL;
}

void script_add(struct script *s, const char *format, ...)
{
    va_list args;

    s->full |= s->at.n == SCRIPT_WORDS;
    if (!s->full) {
        va_start(args, format);
        s->full |= vsnprintf(s->word[s->at.n], sizeof(s->word[0]), format, args) >=
                   (int)sizeof(s->word[0]);
        va_end(args);
        s->at.n += !s->full;
    }
}

bool script_way_word(const struct way *w, const struct placing *p, char *to, size_t size)
{
    char phases[PLACE_LARGE + 1], bulk[] = {'l', (char)('a' + w->bulk), '\0'};
    unsigned n = PLACE_LARGE;

    while (n && p->phase[n - 1] == 0) {
        n--;
    }
    for (unsigned i = 0; i < n; i++) {
        phases[i] = (char)('0' + p->phase[i]);
    }
    phases[n] = '\0';
    return snprintf(to, size, "r%luc%lup%lun%u%s%s%s%s%s%s%s%s", (unsigned long)w->rows,
                    (unsigned long)w->cols, (unsigned long)w->pitch, w->ring,
                    w->apart ? "a" : "", w->far ? "f" : "",
                    (const char *[]){"", "s", "t"}[w->spread], w->single ? "o" : "",
                    w->bulk ? bulk : "", p->banks ? "b" : "", p->behind ? "h" : "",
                    phases) < (int)size;
}

void script_add_way(struct script *s, const struct way *w, const struct placing *p)
{
    char word[TILE_NAME_BYTES];

    if (script_way_word(w, p, word, sizeof(word))) {
        script_add(s, "%s", word);
    } else {
        s->full = true;
    }
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
    if (letter(&word, 'l') && *word > 'a' && *word <= 'z') {
        w->bulk = (uint8_t)(*word++ - 'a');
    }
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

bool script_read_tiling(const char *word, struct mm_tiling *t)
{
    const char *at = word;
    uint32_t a, b;

    *t = (struct mm_tiling){.m = number_after(&at, 'm')};
    t->n = number_after(&at, 'n');
    t->k = number_after(&at, 'k');
    t->slice = number_after(&at, 'l');
    a = number_after(&at, 'a');
    b = number_after(&at, 'b');
    t->a_slots = (uint16_t)a;
    t->b_slots = (uint16_t)b;
    t->columns = number_after(&at, 'c');
    t->columns = t->columns ? t->columns : t->n;
    t->a_stays = letter(&at, 's');
    t->b_stays = letter(&at, 't');
    t->a_whole = letter(&at, 'w');
    t->rows = letter(&at, 'r') || t->a_whole;
    t->strategy = letter(&at, 'g') ? MM_GEMV : MM_GENERAL;
    t->parts = number_after(&at, 'p');
    t->parts = t->parts ? t->parts : 1;
    t->shares = number_after(&at, 'x');
    return t->m && t->n && t->k && a <= UINT16_MAX && b <= UINT16_MAX && *at == '\0';
}

/* A letter and a number; nothing if it is the usual one. */
static int unusual(char *to, size_t size, char name, uint32_t n, uint32_t usual)
{
    return n == usual ? 0 : snprintf(to, size, "%c%lu", name, (unsigned long)n);
}

bool script_tiling_word(const struct mm_tiling *t, char *to, size_t size)
{
    char all[2 * TILE_NAME_BYTES];
    size_t room = sizeof(all);
    int n = snprintf(all, room, "m%lun%luk%lu", (unsigned long)t->m, (unsigned long)t->n,
                     (unsigned long)t->k);

    n += unusual(all + n, room - (size_t)n, 'l', t->slice, 0);
    n += unusual(all + n, room - (size_t)n, 'a', t->a_slots, 0);
    n += unusual(all + n, room - (size_t)n, 'b', t->b_slots, 0);
    n += unusual(all + n, room - (size_t)n, 'c', t->columns, t->n);
    n += snprintf(all + n, room - (size_t)n, "%s%s%s%s", t->a_stays ? "s" : "",
                  t->b_stays ? "t" : "",
                  t->a_whole ? "w"
                  : t->rows  ? "r"
                             : "",
                  t->strategy == MM_GEMV ? "g" : "");
    n += unusual(all + n, room - (size_t)n, 'p', t->parts, t->parts > 1 ? 1 : t->parts);
    n += unusual(all + n, room - (size_t)n, 'x', t->shares, 0);
    if (n >= (int)size) {
        return false;
    }
    memcpy(to, all, (size_t)n + 1);
    return true;
}

bool script_next_tiling(struct script *s, struct mm_tiling *t)
{
    unsigned next = s->at.next;
    const struct tile_choice *c = s->follows ? script_next(s) : NULL;

    if (c && script_read_tiling(c->word, t)) {
        return true;
    }
    s->at.next = next;
    return false;
}

void script_add_tiling(struct script *s, const struct mm_tiling *t, bool said)
{
    char word[TILE_NAME_BYTES];

    if (!said && s->at.n < SCRIPT_WORDS) {
        s->at.products |= 1u << s->at.n;
    }
    if (script_tiling_word(t, word, sizeof(word))) {
        script_add(s, "%s", word);
    } else {
        s->full = true;
    }
}

char *script_text(const struct script *s, bool products, struct tile_arena *arena)
{
    char *text = s->full ? NULL : tile_alloc(arena, s->at.n * (TILE_NAME_BYTES + 10) + 1);

    for (unsigned i = 0; i < s->at.n && text; i++) {
        if (products || !(s->at.products >> i & 1)) {
            strcat(text, text[0] ? ", layout " : "layout ");
            strcat(text, s->word[i]);
        }
    }
    return text;
}
