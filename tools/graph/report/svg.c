/* SPDX-License-Identifier: MIT
 *
 * Pictures of a graph: its nodes, and the steps that they have become, each one file that a
 * browser shows. A row is a group, in both of the same colour; lines are tensors with their
 * bytes, those that skip rows beside them.
 */
#include "tools/graph/report/svg.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROW = 74,
    BOX_HEIGHT = 38,
    BOX = 168,
    GAP = 14,
    LEFT = 24,
    ASIDE = 60, /* of a line beside the rows its bytes: another may begin there */
    LANE = 9,    /* from a line beside the rows to the next */
    LANES = 400, /* at one time, at most; others lie on the last */
    LETTERS = 23,
    HUE = 137 /* degrees from a colour to the next: those of neighbours differ */
};

struct row {
    const struct group *group; /* or NULL: a node that no step computes */
    const struct node *node;
    const struct step *step;
    unsigned n; /* boxes */
};

struct picture {
    FILE *to;
    const struct emit *e;
    struct row *row;
    unsigned n_rows, widest;
    unsigned lane_end[LANES]; /* the row where a line beside them ends */
    unsigned n_lanes;
};

/* --- text --- */

static void put_text(FILE *to, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '<' || c == '>' || c == '&' || c == '"') {
            fprintf(to, "&#%u;", c);
        } else {
            fputc(c == '\n' || (c >= ' ' && c <= '~') ? c : '?', to);
        }
    }
}

/* Names of exporters are paths that begin alike: what is too long loses its beginning. */
static void put_end(FILE *to, const char *text, size_t most)
{
    size_t n = strlen(text);

    fputs(n > most ? ".." : "", to);
    put_text(to, text + (n > most ? n - most : 0));
}

/* Of a+b+.. those behind the first one without the path in front. */
static const char *brief(const char *nodes)
{
    char *text = graph_text("%s", nodes), *to = text + strcspn(text, "+");

    for (const char *from = nodes + (to - text); *from;) {
        size_t n = strcspn(++from, "+");
        const char *end = from + n;
        for (const char *c = from; c < end; c++) {
            from = *c == '/' ? c + 1 : from;
        }
        *to++ = '+';
        memmove(to, from, (size_t)(end - from));
        to += end - from;
        from = end;
    }
    *to = '\0';
    return text;
}

static void put_bytes(FILE *to, uint64_t bytes)
{
    if (bytes < 10240) {
        fprintf(to, "%llu B", (unsigned long long)bytes);
    } else if (bytes < 10 << 20) {
        fprintf(to, "%llu KiB", (unsigned long long)bytes >> 10);
    } else {
        fprintf(to, "%llu MiB", (unsigned long long)bytes >> 20);
    }
}

/* --- boxes --- */

static unsigned x_of(unsigned box)
{
    return LEFT + GAP + box * (BOX + GAP);
}

static unsigned y_of(unsigned row)
{
    return ROW / 2 + row * ROW;
}

static void put_box(const struct picture *p, unsigned x, unsigned y, unsigned width,
                    const char *title, const char *below, const char *whole)
{
    fprintf(p->to, "<g><title>");
    put_text(p->to, whole);
    fprintf(p->to,
            "</title><rect x='%u' y='%u' width='%u' height='%d' rx='4' fill='#fff' "
            "stroke='#555'/><text x='%u' y='%u' class='t'>",
            x, y, width, BOX_HEIGHT, x + 6, y + 15);
    put_end(p->to, title, width / BOX * LETTERS);
    fprintf(p->to, "</text><text x='%u' y='%u'>", x + 6, y + 30);
    put_end(p->to, below, width / BOX * LETTERS);
    fprintf(p->to, "</text></g>\n");
}

/* What says that nodes are one group; of one node that no step computes nothing. */
static void put_frame(const struct picture *p, unsigned number, unsigned colour,
                      unsigned width)
{
    fprintf(p->to,
            "<rect x='%d' y='%u' width='%u' height='%d' rx='8' fill='hsl(%u,70%%,88%%)' "
            "stroke='hsl(%u,60%%,45%%)'/>\n",
            LEFT, y_of(number) - 8, width, BOX_HEIGHT + 16, colour, colour);
}

/* The same in both pictures: by the first step that computes the group's node. */
static unsigned colour_of(const struct picture *p, const struct group *group)
{
    unsigned count = 0;

    for (const struct step *s = p->e->steps; s; s = s->next, count++) {
        if (s->group->node[0] == group->node[0]) {
            break;
        }
    }
    return count * HUE % 360;
}

/* --- lines --- */

static void put_label(const struct picture *p, unsigned x, unsigned y, uint64_t bytes)
{
    fprintf(p->to, "<text x='%u' y='%u' class='b'>", x, y);
    put_bytes(p->to, bytes);
    fprintf(p->to, "</text>\n");
}

/* Beside the rows, where no other line is from the one row to the other. */
static unsigned lane(struct picture *p, unsigned from, unsigned to)
{
    unsigned i = 0;

    while (i < p->n_lanes && p->lane_end[i] > from) {
        i++;
    }
    i = i < LANES ? i : LANES - 1;
    p->n_lanes = i >= p->n_lanes ? i + 1 : p->n_lanes;
    p->lane_end[i] = to > from ? to : from;
    return x_of(p->widest) + GAP + i * LANE;
}

/* From the box of a row to that of another. */
static void put_line(struct picture *p, unsigned from, unsigned box, unsigned to,
                     unsigned to_box, uint64_t bytes)
{
    unsigned x = x_of(box) + BOX / 2, y = y_of(from) + BOX_HEIGHT;
    unsigned to_x = x_of(to_box) + BOX / 2, to_y = y_of(to);

    if (from == to) {
        x = x_of(box) + (box < to_box ? BOX : 0);
        to_x = x_of(to_box) + (box < to_box ? 0 : BOX);
        fprintf(p->to, "<path d='M%u %u L%u %u'/>\n", x, y - BOX_HEIGHT / 2, to_x,
                to_y + BOX_HEIGHT / 2);
    } else if (to == from + 1) {
        fprintf(p->to, "<path d='M%u %u C%u %u %u %u %u %u'/>\n", x, y, x,
                y + BOX_HEIGHT / 2, to_x, to_y - BOX_HEIGHT / 2, to_x, to_y);
        put_label(p, (x + to_x) / 2 + 4, (y + to_y) / 2 + 4, bytes);
    } else {
        unsigned side = lane(p, from, to);
        fprintf(p->to, "<path d='M%u %u L%u %u L%u %u L%u %u L%u %u'/>\n", x, y, side,
                y + 12, side, to_y - 12, to_x, to_y - 4, to_x, to_y);
        put_label(p, x + ASIDE, y + 21, bytes);
    }
}

static unsigned row_of(const struct picture *p, const struct node *n)
{
    unsigned i = 0;

    while (i + 1 < p->n_rows && p->row[i].node != n &&
           (n->group == NULL || p->row[i].group != n->group)) {
        i++;
    }
    return i;
}

static unsigned box_of(const struct node *n)
{
    for (unsigned i = 0; n->group && i < n->group->n_nodes; i++) {
        if (n->group->node[i] == n) {
            return i;
        }
    }
    return 0;
}

static uint64_t bytes_of(const struct tensor *t)
{
    return (uint64_t)tensor_count(t) * elem_bytes(t->type);
}

static void lines_of_node(struct picture *p, const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct node *from = n->in[i] ? n->in[i]->from : NULL;
        if (from && !n->in[i]->value) {
            put_line(p, row_of(p, from), box_of(from), row_of(p, n), box_of(n),
                     bytes_of(n->in[i]));
        }
    }
}

static void lines_of_nodes(struct picture *p)
{
    for (const struct node *n = p->e->g->nodes; n && p->n_rows; n = n->next) {
        lines_of_node(p, n);
    }
}

/* From the steps that have written what a step reads. */
static void lines_of_step(struct picture *p, unsigned number)
{
    const struct step *s = p->row[number].step;

    for (unsigned i = 0; i < s->n_in; i++) {
        const struct tensor *t = tensor_root(s->in[i]);
        unsigned from = number;
        bool found = false;
        while (!found && from-- > 0) {
            for (unsigned k = 0; k < p->row[from].step->n_out; k++) {
                found |= tensor_root(p->row[from].step->out[k]) == t;
            }
        }
        if (found) {
            put_line(p, from, 0, number, 0, bytes_of(s->in[i]));
        }
    }
}

static void lines_of_steps(struct picture *p)
{
    for (unsigned i = 0; i < p->n_rows; i++) {
        lines_of_step(p, i);
    }
}

/* --- pictures --- */

static void begin(struct picture *p, const char *what)
{
    fprintf(
        p->to,
        "<svg xmlns='http://www.w3.org/2000/svg' width='%u' height='%u'>\n<style>text{"
        "font:11px sans-serif}.t{font-weight:bold}.b{font-size:9px;fill:#06c}path{"
        "fill:none;stroke:#888}</style>\n<rect width='100%%' height='100%%' "
        "fill='#fff'/>\n<text x='%d' y='16' class='t'>",
        x_of(p->widest) + 2 * GAP + p->n_lanes * LANE, y_of(p->n_rows) + ROW / 2, LEFT);
    put_end(p->to, p->e->g->path, 80);
    fprintf(p->to, ": %u %s</text>\n", p->n_rows, what);
}

/* The lines, behind a title: how wide the picture is follows from them. */
static void draw(struct picture *p, const char *what, void (*lines)(struct picture *p))
{
    char *text = NULL;
    size_t bytes;
    FILE *to = p->to;

    p->to = open_memstream(&text, &bytes);
    if (!p->to) {
        graph_die(p->e->g, "no memory for a picture");
    }
    lines(p);
    (void)fclose(p->to);
    p->to = to;
    begin(p, what);
    fputs(text, to);
    free(text);
}

static const char *name_of(const struct tensor *t)
{
    return t ? t->name : "";
}

static void put_nodes(struct picture *p)
{
    for (unsigned i = 0; i < p->n_rows; i++) {
        const struct row *r = &p->row[i];
        if (r->group) {
            put_frame(p, i, colour_of(p, r->group), GAP + r->n * (BOX + GAP));
        }
        for (unsigned k = 0; k < r->n; k++) {
            const struct node *n = r->group ? r->group->node[k] : r->node;
            put_box(p, x_of(k), y_of(i), BOX, n->op, n->name,
                    graph_text("%s: %s", n->name, name_of(n->out[0])));
        }
    }
}

void svg_nodes(const struct emit *e, FILE *to)
{
    struct picture p = {.to = to, .e = e, .widest = 1};
    unsigned n = 0;

    for (const struct node *k = e->g->nodes; k; k = k->next) {
        n++;
    }
    p.row = graph_alloc(n + 1, sizeof(*p.row));
    for (const struct node *k = e->g->nodes; k; k = k->next) {
        unsigned of = k->group ? k->group->n_nodes : 1;
        if ((k->group && k->group->node[of - 1] == k) ||
            (!k->group && k->out[0] && !k->out[0]->value)) {
            p.row[p.n_rows++] = (struct row){.group = k->group, .node = k, .n = of};
            p.widest = of > p.widest ? of : p.widest;
        }
    }
    draw(&p, "groups of nodes; those without a colour cost nothing", lines_of_nodes);
    put_nodes(&p);
    fprintf(to, "</svg>\n");
}

void svg_steps(const struct emit *e, FILE *to)
{
    struct picture p = {.to = to, .e = e, .widest = 2};
    unsigned n = 0;

    for (const struct step *s = e->steps; s; s = s->next) {
        n++;
    }
    p.row = graph_alloc(n + 1, sizeof(*p.row));
    for (const struct step *s = e->steps; s; s = s->next) {
        p.row[p.n_rows++] = (struct row){.group = s->group, .step = s};
    }
    draw(&p, "steps", lines_of_steps);
    for (unsigned i = 0; i < p.n_rows; i++) {
        const struct step *s = p.row[i].step;
        put_frame(&p, i, colour_of(&p, s->group), 2 * BOX + 3 * GAP);
        put_box(&p, x_of(0), y_of(i), 2 * BOX + GAP, brief(s->nodes),
                graph_text("%s, %llu cycles, %llu bytes", s->op ? s->op : "program",
                           (unsigned long long)s->cycles,
                           (unsigned long long)step_bytes(s)),
                graph_text("%s\n%s", s->nodes, s->text));
    }
    fprintf(to, "</svg>\n");
}
