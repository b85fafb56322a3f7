/* SPDX-License-Identifier: MIT
 *
 * Recorded sequences; see sequence.h.
 *
 * What is checked when: commands and the form of patches once in a sequence's life, where
 * patches lead at the begin of each play or push, whose loops and bases may be others.
 * Then nothing can go wrong between the first push and the last.
 */
#include "sched/sequence.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hal/ram.h"
#include "sched/task.h"

/* Free slots, or commands that are left, for which it is worth to push. */
#define WORTH (PIPE_DEPTH / 4)

static uint32_t commands_of(const struct sequence *s)
{
    return (uint32_t)s->n * (s->positions ? s->positions : 1);
}

/* --- checks --- */

/* The operand of a command is an address in GM: the contract's text of it says so. */
static bool in_gm(const struct cmd_arg *arg)
{
    return arg->size == sizeof(uint64_t) && strstr(cmd_arg_text(arg), "in GM") != NULL;
}

/* Of 64 bits, as addresses in GM are, and 0. */
static inline bool is_zero(const union cmd *cmd, const struct cmd_arg *arg)
{
    uint64_t value = 1;

    if (arg->size == sizeof(value)) {
        memcpy(&value, cmd->bytes + arg->offset, sizeof(value));
    }
    return value == 0;
}

/* ERR_SEQUENCE and what is wrong with command i, behind the sequence's name. */
__attribute__((format(printf, 5, 6))) static int wrong(const struct sequence *s,
                                                       unsigned i, char *text,
                                                       size_t size, const char *format,
                                                       ...)
{
    const struct cmd_info *info = cmd_find(s->cmds[i].head.opcode);
    char what[96];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    snprintf(text, size, "sequence %s, command %u (%s, pc 0x%llx): %s", s->name, i,
             info ? info->name : "no opcode", (unsigned long long)s->cmds[i].head.pc,
             what);
    return ERR_SEQUENCE;
}

static const struct seq_patch *patch_of(const struct sequence *s, unsigned cmd,
                                        unsigned field)
{
    for (unsigned i = 0; i < s->n_patches; i++) {
        if (s->patches[i].cmd == cmd && s->patches[i].field == field) {
            return &s->patches[i];
        }
    }
    return NULL;
}

static int check_command(const struct sequence *s, unsigned i, char *text, size_t size)
{
    const union cmd *cmd = &s->cmds[i];
    const struct cmd_info *info = cmd_find(cmd->head.opcode);

    if (info == NULL) {
        return wrong(s, i, text, size, "there is no opcode 0x%x", cmd->head.opcode);
    }
    if (info->pipe != 0 && info->pipe != s->pipe) {
        return wrong(s, i, text, size, "belongs to %s, the sequence to %s",
                     pipe_name(info->pipe), pipe_name(s->pipe));
    }
    for (unsigned a = 0; a < info->n_args; a++) {
        const struct cmd_arg *arg = &info->args[a];
        if (is_zero(cmd, arg) && in_gm(arg) && !patch_of(s, i, arg->offset)) {
            return wrong(s, i, text, size, "%s is 0 and not patched", arg->name);
        }
    }
    return 0;
}

static int check_patch(const struct sequence *s, unsigned i, char *text, size_t size)
{
    struct seq_patch *p = &s->patches[i];
    const struct cmd_info *info;
    const struct cmd_arg *arg;

    if (p->cmd >= commands_of(s) || (i > 0 && p->cmd < p[-1].cmd)) {
        snprintf(text, size, "sequence %s, patch %u: command %u %s", s->name, i, p->cmd,
                 p->cmd < commands_of(s) ? "is before that of the patch before"
                                         : "is not one of them");
        return ERR_SEQUENCE;
    }
    info = cmd_find(s->cmds[p->cmd].head.opcode);
    arg = cmd_arg_at(info, p->field);
    if (arg == NULL) {
        return wrong(s, p->cmd, text, size, "patch %u: no operand begins at byte %u", i,
                     p->field);
    }
    p->bytes = arg->size;
    p->in_gm = in_gm(arg);
    return 0;
}

static int check(struct sequence *s, uintptr_t pc, char *text, size_t size)
{
    int err = 0;

    if (s->n == 0 || s->cmds == NULL || pipe_name(s->pipe)[0] == '?') {
        snprintf(text, size, "sequence %s: %u commands for pipe %u", s->name, s->n,
                 s->pipe);
        return ERR_SEQUENCE;
    }
    for (unsigned i = 0; i < commands_of(s) && !err; i++) {
        if (s->cmds[i].head.pc == 0) {
            s->cmds[i].head.pc = pc;
        }
        err = check_command(s, i, text, size);
    }
    for (unsigned i = 0; i < s->n_patches && !err; i++) {
        err = check_patch(s, i, text, size);
    }
    s->checked = err ? NULL : s->cmds;
    return err;
}

__attribute__((noinline)) int sequence_check(struct sequence *s, char *text, size_t size)
{
    return check(s, (uintptr_t)__builtin_return_address(0), text, size);
}

/* Where a patch leads in all rounds of a leg. */
static int check_way(const struct sequence *s, const struct seq_patch *p,
                     const uint32_t *rounds, char *text, size_t size)
{
    int64_t least = (int64_t)p->base, most = least, end;

    for (unsigned l = 0; l < SEQ_LOOPS; l++) {
        int64_t way = rounds[l] ? (int64_t)(rounds[l] - 1) * p->stride[l] : 0;
        least += way < 0 ? way : 0;
        most += way > 0 ? way : 0;
    }
    if (p->in_gm) {
        end = (int64_t)ram_end - 1;
        least -= least == 0; /* NULL is nobody's address */
    } else {
        end = p->bytes == sizeof(uint64_t) ? INT64_MAX : (1ll << 8 * p->bytes) - 1;
    }
    if (least < 0 || most > end) {
        const struct cmd_arg *arg =
            cmd_arg_at(cmd_find(s->cmds[p->cmd].head.opcode), p->field);
        return wrong(s, p->cmd, text, size, "%s is patched from 0x%llx to 0x%llx",
                     arg->name, (unsigned long long)least, (unsigned long long)most);
    }
    return 0;
}

/* The running task will use the sequence: reports of its commands name this one. */
static int claim(struct sequence *s, char *text, size_t size)
{
    uint32_t task = running->tag >> TAG_BITS << TAG_BITS;

    if (s->run == sched_run_number && s->core == running->core) {
        return 0;
    }
    if (s->run == sched_run_number && s->n_patches) {
        snprintf(text, size,
                 "sequence %s has patches and is core %u's in this run, not core %u's",
                 s->name, s->core, running->core);
        return ERR_SEQUENCE;
    }
    s->run = sched_run_number;
    s->core = (uint16_t)running->core;
    s->port = &task_ports[s->pipe];
    for (unsigned i = 0; i < commands_of(s); i++) {
        uint32_t *tag = &s->cmds[i].head.tag;
        *tag = task | (*tag & ((1u << TAG_BITS) - 1));
    }
    return 0;
}

/* Ends the run unless so many rounds of the sequence can be pushed. */
static void prepare(struct sequence *s, const uint32_t *rounds, uintptr_t pc,
                    const char *where)
{
    char text[SCHED_TEXT / 8];
    int err = s->checked == s->cmds ? 0 : check(s, pc, text, sizeof(text));

    err = err ? err : claim(s, text, sizeof(text));
    for (unsigned i = 0; i < s->n_patches && !err; i++) {
        err = check_way(s, &s->patches[i], rounds, text, sizeof(text));
    }
    if (err) {
        task_fail(err, where, "%s", text);
    }
}

/* --- pushing --- */

/* Stores as much of a value as the operand of the patch has. */
static inline void put(union cmd *cmds, const struct seq_patch *p, uint64_t value)
{
    char *to = (char *)&cmds[p->cmd] + p->field;

    if (p->bytes == 8) {
        *(uint64_t *)(void *)to = value;
    } else if (p->bytes == 4) {
        *(uint32_t *)(void *)to = (uint32_t)value;
    } else if (p->bytes == 2) {
        *(uint16_t *)(void *)to = (uint16_t)value;
    } else {
        *to = (char)value;
    }
}

static inline void apply(union cmd *cmds, const struct seq_patch *p,
                         const uint32_t *index)
{
    uint64_t value = p->base;

    for (unsigned l = 0; l < SEQ_LOOPS; l++) {
        value += (uint64_t)p->stride[l] * index[l];
    }
    put(cmds, p, value);
}

/* The next round: its indices, and the body that it pushes. */
static inline void next_round(struct seq_cursor *c, const uint32_t *rounds)
{
    unsigned l = 0;

    while (l < SEQ_LOOPS && ++c->index[l] >= (rounds[l] ? rounds[l] : 1)) {
        c->index[l++] = 0;
    }
    c->body_end += c->seq->n;
}

/* Patches the next `count` commands, which do not pass the end of all bodies. */
static inline void patch(struct seq_cursor *c, uint32_t count, const uint32_t *rounds)
{
    const struct sequence *s = c->seq;
    uint32_t to = c->at + count, body;

    do {
        body = to < c->body_end ? to : c->body_end;
        while (c->patch < s->n_patches && s->patches[c->patch].cmd < body) {
            apply(s->cmds, &s->patches[c->patch++], c->index);
        }
        if (body == c->body_end) {
            next_round(c, rounds);
        }
    } while (body < to);
}

/* Pushes commands while there is room for them, `most` at the most. */
static void push_lane(struct seq_lane *lane, uint64_t most)
{
    struct seq_cursor *c = &lane->cursor;
    const uint32_t *rounds = lane->legs[c->leg - 1].rounds;

    most = most < c->port->room ? most : c->port->room;
    most = most < c->left ? most : c->left;
    while (most) {
        uint32_t count = most < c->end - c->at ? (uint32_t)most : c->end - c->at;
        if (c->seq->n_patches) {
            patch(c, count, rounds);
        }
        pipe_store_many(c->port, c->seq->cmds + c->at, count);
        most -= count;
        c->left -= count;
        c->at += count;
        if (c->at == c->end) {
            c->at = c->patch = 0;
            c->body_end = c->seq->n;
        }
    }
}

/* The next leg that has commands; false: the lane is at its end. */
static bool begin_leg(struct seq_lane *lane)
{
    struct seq_cursor *c = &lane->cursor;

    while (c->left == 0 && c->leg < lane->n_legs) {
        const struct seq_leg *leg = &lane->legs[c->leg++];
        struct sequence *s = leg->seq;
        unsigned positions = s->positions ? s->positions : 1;

        c->seq = s;
        c->port = &task_ports[s->pipe];
        c->end = commands_of(s);
        c->at = leg->first % positions * s->n;
        c->body_end = c->at + s->n;
        c->left = s->n;
        for (c->patch = 0; c->patch < s->n_patches && s->patches[c->patch].cmd < c->at;
             c->patch++) {
        }
        for (unsigned l = 0; l < SEQ_LOOPS; l++) {
            c->left *= leg->rounds[l] ? leg->rounds[l] : 1;
            c->index[l] = 0;
        }
    }
    return c->left != 0;
}

/* Pushes what there is room for, to each lane `most` bodies; tells in `slots` what to wait
 * for before the next time. False: all is pushed. */
static bool sweep(struct seq_lane *lanes, unsigned n, unsigned bodies, uint8_t *slots)
{
    bool left = false;

    for (unsigned i = 0; i < n; i++) {
        struct seq_cursor *c = &lanes[i].cursor;
        uint64_t worth;
        if (c->left == 0 && !begin_leg(&lanes[i])) {
            continue;
        }
        worth = c->left < WORTH ? c->left : WORTH;
        if (c->port->room >= worth || pipe_refresh(c->port) >= worth) {
            push_lane(&lanes[i], (uint64_t)bodies * c->seq->n);
            worth = c->left < WORTH ? c->left : WORTH;
        }
        left = left || c->left || c->leg < lanes[i].n_legs;
        slots[c->seq->pipe] = (uint8_t)(worth ? worth : 1);
    }
    return left;
}

static void prepare_lanes(struct seq_lane *lanes, unsigned n, uintptr_t pc,
                          const char *where)
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned l = 0; l < lanes[i].n_legs && !lanes[i].prepared; l++) {
            prepare(lanes[i].legs[l].seq, lanes[i].legs[l].rounds, pc, where);
        }
        lanes[i].prepared = true;
    }
}

__attribute__((noinline)) void sequence_prepare_at(struct seq_lane *lanes, unsigned n,
                                                   const char *where)
{
    prepare_lanes(lanes, n, (uintptr_t)__builtin_return_address(0), where);
}

__attribute__((noinline)) void sequence_play_at(struct seq_lane *lanes, unsigned n,
                                                const char *where)
{
    uintptr_t pc = (uintptr_t)__builtin_return_address(0);
    uint8_t slots[NPU_PIPES] = {0};
    unsigned bodies = 1; /* of each lane at first, so that all cores begin early */

    /* A pipe begins while the next ones are looked at. */
    for (unsigned i = 0; i < n; i++) {
        prepare_lanes(&lanes[i], 1, pc, where);
        lanes[i].cursor = (struct seq_cursor){0};
        lanes[i].prepared = false;
        (void)sweep(&lanes[i], 1, 1, slots);
    }
    memset(slots, 0, sizeof(slots));
    while (sweep(lanes, n, bodies, slots)) {
        bodies = 2; /* a few: no pipe runs dry while another is filled */
        task_yield();
        (void)!task_wait_rooms(slots, SCHED_FOREVER);
        memset(slots, 0, sizeof(slots));
    }
}

/* What sequence_push_at has to do once in a run, and must not do. */
__attribute__((noinline)) static void prepare_push(struct sequence *s, uintptr_t pc,
                                                   const char *where)
{
    static const uint32_t once[SEQ_LOOPS];

    prepare(s, once, pc, where);
    if (s->n > PIPE_DEPTH) {
        task_fail(ERR_SEQUENCE, where, "sequence %s: a body of %u commands, %s holds %u",
                  s->name, s->n, pipe_name(s->pipe), PIPE_DEPTH);
    }
}

/* Patches the body that begins with command `first`, for a round of the only loop if index
 * is NULL. */
static inline void patch_body(struct sequence *s, uint32_t first, uint32_t round,
                              const uint32_t *index)
{
    const struct seq_patch *p = s->patches, *end = p + s->n_patches;
    const uint32_t last = first + s->n;
    union cmd *cmds = s->cmds;

    while (p < end && p->cmd < first) {
        p++;
    }
    for (; p < end && p->cmd < last; p++) {
        if (index) {
            apply(cmds, p, index);
        } else {
            put(cmds, p, p->base + (uint64_t)p->stride[0] * round);
        }
    }
}

/* Makes the sequence ready, or ends the run. */
__attribute__((noinline)) static void make_ready(struct sequence *s, uintptr_t pc,
                                                 const char *where)
{
    prepare_push(s, pc, where);
    task_make_room(s->pipe, s->n);
}

__attribute__((noinline)) void sequence_push_patched(struct sequence *s,
                                                     unsigned position,
                                                     const uint32_t *index,
                                                     const char *where)
{
    struct pipe_port *port = &task_ports[s->pipe];
    uint32_t first = sequence_first(s, position);

    if (!sequence_ready(s, port)) {
        make_ready(s, (uintptr_t)__builtin_return_address(0), where);
    }
    patch_body(s, first, position, index);
    pipe_store_many(port, s->cmds + first, s->n);
}

/* --- recording by hand --- */

static union cmd *append(struct sequence *s, unsigned capacity, const char *where)
{
    if (s->n >= capacity || s->positions) {
        task_fail(ERR_SEQUENCE, where, "sequence %s: command %u, %s", s->name, s->n,
                  s->positions ? "but its positions are told already"
                               : "which is one more than it has room for");
    }
    return &s->cmds[s->n++];
}

__attribute__((noinline)) void sequence_add_at(struct sequence *s, unsigned capacity,
                                               const union cmd *cmd, const char *where)
{
    uint32_t *owed = &task_ports[s->pipe].owed;
    uintptr_t pc = (uintptr_t)__builtin_return_address(0);
    union cmd *to = append(s, capacity, where);

    if (*owed && (uint32_t)cmd->words[CMD_SYNC]) { /* as task_issue pays it */
        cmd_nop(to);
        to->words[CMD_SYNC] = *owed;
        to->head.pc = pc;
        *owed = 0;
        to = append(s, capacity, where);
    }
    *to = *cmd;
    to->words[CMD_SYNC] |= *owed;
    to->head.pc = pc;
    to->head.tag = running->tag;
    *owed = 0;
}

void sequence_positions_at(struct sequence *s, unsigned positions, const char *where)
{
    if (positions == 0 || s->n % positions) {
        task_fail(ERR_SEQUENCE, where, "sequence %s: %u commands at %u positions",
                  s->name, s->n, positions);
    }
    s->n = (uint16_t)(s->n / positions);
    s->positions = (uint16_t)positions;
}
