/* SPDX-License-Identifier: MIT
 *
 * L2: which lines of GM are in it, so that what is read from there costs less than what HBM
 * has to give. Set-associative, write-back, a line is allocated by every miss; a line that
 * is written whole need not be fetched. The tags of a set stand in the order of their use,
 * the latest first, so that the last one has to go. A line that is on its way from HBM is
 * marked until the command has ended that fetches it. Source: hal/contract/profile.md,
 * "L2 and HBM", which says what of this is known and what is assumed.
 */
#include "tools/emu/model/machine/l2.h"

#include "tools/emu/model/machine/pipe.h"
#include "tools/emu/model/mem.h"

/* A tag: the number of the line in GM over the number of sets, and what is known of it. */
enum { VALID = 1, DIRTY = 2, COMING = 4, TAG_SHIFT = 3 };
#define TAG_MAX (UINT32_MAX >> TAG_SHIFT)

static uint32_t sets(const struct npu_state *s)
{
    return cost(s, COST_L2_BYTES) / L2_LINE_BYTES / L2_WAYS;
}

/* A command's walk over what it touches of GM. */
struct walk {
    struct npu *n;
    uint32_t sets;
    bool writes, fetches; /* it fetches also what it writes whole */
    bool allocates;
    uint64_t last; /* line that was looked up last, UINT64_MAX: none */
    bool last_late;
    struct l2_found found;
};

/* The ways of a line's set; its tag, VALID. NULL: there are no tags for so much memory. */
static uint32_t *ways_of(const struct walk *w, uint64_t line, uint32_t *tag)
{
    uint64_t high = line / w->sets;

    if (line <= UINT32_MAX) { /* a shorter division */
        high = (uint32_t)line / w->sets;
    }
    *tag = (uint32_t)(high << TAG_SHIFT) | VALID;
    return high > TAG_MAX ? NULL : w->n->l2 + (line - high * w->sets) * L2_WAYS;
}

/* Four ways at once, of a compiler that knows vectors of any machine. */
typedef uint32_t four __attribute__((vector_size(16), aligned(4), may_alias));

/* Which way has the tag; L2_WAYS: none. */
static unsigned way_of(const uint32_t *ways, uint32_t tag)
{
    const four known = {DIRTY | COMING, DIRTY | COMING, DIRTY | COMING, DIRTY | COMING};
    const four wanted = {tag, tag, tag, tag};
    four found = {0}, bit = {1, 2, 4, 8};
    uint32_t all;

    for (unsigned i = 0; i < L2_WAYS; i += 4, bit <<= 4) {
        found |= (four)((*(const four *)(ways + i) & ~known) == wanted) & bit;
    }
    all = found[0] | found[1] | found[2] | found[3];
    return all ? (unsigned)__builtin_ctz(all) : L2_WAYS;
}

static void move_to_front(uint32_t *ways, unsigned way, uint32_t tag)
{
    memmove(ways + 1, ways, way * sizeof(ways[0]));
    ways[0] = tag;
}

/* Puts a line in, whatever was used longest ago has to go. */
static void allocate(struct walk *w, uint32_t *ways, uint32_t tag)
{
    uint32_t old = ways[L2_WAYS - 1];

    w->found.hbm += old & DIRTY ? L2_LINE_BYTES : 0;
    w->n->s->l2_lines += !(old & VALID);
    move_to_front(ways, L2_WAYS - 1, tag);
}

/* `bytes` bytes of one line. */
static void look_up(struct walk *w, uint64_t line, uint64_t bytes)
{
    uint32_t tag, *ways = ways_of(w, line, &tag);
    unsigned way = ways ? way_of(ways, tag) : L2_WAYS;
    bool fetch = !w->writes || w->fetches || bytes < L2_LINE_BYTES;
    bool late = way == L2_WAYS || (ways[way] & COMING);

    w->last = line;
    w->last_late = late && !w->writes;
    w->found.hits += !late;
    w->found.misses += late;
    w->found.late += w->last_late ? bytes : 0;
    if (way < L2_WAYS) {
        move_to_front(ways, way, ways[way] | (w->writes ? DIRTY : 0));
    } else if (!ways || !w->allocates) {
        w->found.hbm += bytes;
    } else {
        w->found.hbm += fetch ? L2_LINE_BYTES : 0;
        allocate(w, ways, tag | (w->writes ? DIRTY : COMING));
    }
}

static bool look_up_row(void *ctx, uint64_t first, uint64_t bytes)
{
    struct walk *w = ctx;
    uint64_t at = first - w->n->s->gm_base, end = at + bytes;

    while (at < end) {
        uint64_t line = at / L2_LINE_BYTES, next = (line + 1) * L2_LINE_BYTES;
        uint64_t some = (end < next ? end : next) - at;
        if (line != w->last) {
            look_up(w, line, some);
        } else {
            w->found.late += w->last_late ? some : 0;
        }
        at += some;
    }
    return true;
}

/* What comes has come. */
static bool arrive_row(void *ctx, uint64_t first, uint64_t bytes)
{
    struct walk *w = ctx;
    uint64_t at = first - w->n->s->gm_base;

    for (uint64_t line = at / L2_LINE_BYTES; line <= (at + bytes - 1) / L2_LINE_BYTES;
         line++) {
        uint32_t tag, *ways = ways_of(w, line, &tag);
        unsigned way = ways ? way_of(ways, tag) : L2_WAYS;
        if (way < L2_WAYS) {
            ways[way] &= ~(uint32_t)COMING;
        }
    }
    return true;
}

static void each_source(struct walk *w, const struct plan *plan, access_range *f)
{
    for (unsigned i = 0; i < plan->n_src; i++) {
        if (plan->src[i].mem == NPU_MEM_GM) {
            access_each(&plan->src[i], f, w);
        }
    }
}

struct l2_found l2_begin(struct npu *n, unsigned core, unsigned pipe)
{
    const struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    const struct plan *plan = &n->plan[core][pipe];
    struct walk w = {.n = n, .sets = sets(n->s), .last = UINT64_MAX};

    if (w.sets == 0) {
        return w.found;
    }
    w.allocates = !(pipe_head(p)->head.flags & CMD_NO_L2);
    each_source(&w, plan, look_up_row);
    if (plan->has_dst && plan->dst.mem == NPU_MEM_GM) {
        w.writes = true;
        w.fetches = (p->special[SPECIAL_ATOMIC] & UINT8_MAX) != ATOMIC_NONE;
        w.last = UINT64_MAX;
        access_each(&plan->dst, look_up_row, &w);
    }
    return w.found;
}

void l2_end(struct npu *n, unsigned core, unsigned pipe)
{
    struct walk w = {.n = n, .sets = sets(n->s)};

    if (n->s->core[core].pipe[pipe].flow.late) {
        each_source(&w, &n->plan[core][pipe], arrive_row);
    }
}

void l2_empty(struct npu *n)
{
    if (sets(n->s)) {
        memset(n->l2, 0, npu_l2_bytes((enum npu_profile)n->s->profile));
    }
    n->s->l2_lines = 0;
}

size_t npu_l2_bytes(enum npu_profile profile)
{
    return npu_profile_cost(profile, TIMING_v2, COST_L2_BYTES) / L2_LINE_BYTES *
           sizeof(uint32_t);
}

/* In every set the valid ones first, each once, and of lines that GM has. */
static bool set_valid(const struct npu *n, uint32_t n_sets, uint32_t set, uint64_t *lines)
{
    const uint32_t *ways = n->l2 + (uint64_t)set * L2_WAYS;
    unsigned count = 0;

    for (unsigned i = 0; i < L2_WAYS; i++) {
        uint64_t line = (uint64_t)(ways[i] >> TAG_SHIFT) * n_sets + set;
        uint32_t tag = ways[i] & ~(uint32_t)(DIRTY | COMING);
        if (ways[i] == 0) {
            continue;
        }
        if (!(ways[i] & VALID) || count++ != i || way_of(ways, tag) != i ||
            line * L2_LINE_BYTES >= n->s->gm_size) {
            return false;
        }
    }
    *lines += count;
    return true;
}

bool l2_valid(const struct npu *n)
{
    uint32_t n_sets = sets(n->s);
    uint64_t lines = 0;

    for (uint32_t set = 0; set < n_sets; set++) {
        if (!set_valid(n, n_sets, set, &lines)) {
            return false;
        }
    }
    return lines == n->s->l2_lines;
}
