/* SPDX-License-Identifier: MIT
 *
 * What went wrong, in words: who waits for whom in a deadlock, and what a run has left
 * behind. Commands are read from the pipes' own queues (QUEUE_CMD), so nothing has to be
 * written down while all goes well.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/sem.h"
#include "sched/task.h"

static struct {
    const char *name, *role, *where;
} labels[NPU_MAX_CORES][SEM_CORE];
static uint64_t labelled[NPU_MAX_CORES]; /* a bit each; what has none may be an old one */
static_assert(SEM_CORE <= 64, "labelled");

/* Where the hart has posted a semaphore last; the chip's own are in the last row. */
static const char *hart_posts[NPU_MAX_CORES + 1][SEM_CORE];
static bool hart_posted[NPU_MAX_CORES + 1]; /* something is in that row */
static_assert(SEM_COUNT == 2 * SEM_CORE, "hart_posts");

void sched_label_at(unsigned core, unsigned sem, const char *name, const char *role,
                    const char *where)
{
    if (sem < SEM_CORE) {
        labels[core][sem].name = name;
        labels[core][sem].role = role;
        labels[core][sem].where = where;
        labelled[core] |= UINT64_C(1) << sem;
    }
}

static bool has_label(unsigned core, unsigned sem)
{
    return sem < SEM_CORE && (labelled[core] >> sem & 1);
}

void report_forget_labels(unsigned core, unsigned sems)
{
    labelled[core] &= ~((UINT64_C(1) << sems) - 1);
}

void report_hart_posts(unsigned core, unsigned sem, const char *where)
{
    unsigned row = sem < SEM_CORE ? core : NPU_MAX_CORES;

    hart_posts[row][sem % SEM_CORE] = where;
    hart_posted[row] = true;
}

static void forget_posts(unsigned row)
{
    if (hart_posted[row]) {
        memset(hart_posts[row], 0, sizeof(hart_posts[row]));
        hart_posted[row] = false;
    }
}

void report_forget_posts(unsigned core, unsigned sems)
{
    forget_posts(core);
    if (sems > SEM_CORE) {
        forget_posts(NPU_MAX_CORES);
    }
}

/* The text that is being written, and its size. */
static struct {
    char *text;
    size_t size;
} out;

static int append(char *text, size_t size, const char *format, va_list args)
{
    size_t used = strlen(text);

    return vsnprintf(text + used, size - used, format, args);
}

int sched_append(char *text, size_t size, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = append(text, size, format, args);
    va_end(args);
    return n;
}

static void write_to(char *text, size_t size)
{
    out.text = text;
    out.size = size;
}

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    append(out.text, out.size, format, args);
    va_end(args);
}

static void put_name(unsigned core, unsigned sem)
{
    put("semaphore %u", sem);
    if (has_label(core, sem)) {
        put(" (%s %s)", labels[core][sem].name, labels[core][sem].role);
    }
}

static void put_sem(unsigned core, unsigned sem)
{
    put_name(core, sem);
    put(sem < SEM_CORE ? " of core %u" : " of the chip", core);
}

/* Behind what has been found before. */
static void put_comma(void)
{
    if (out.text[0]) {
        put(", ");
    }
}

static bool has_queue(unsigned pipe)
{
    return pipe_name(pipe)[0] != '?';
}

static unsigned depth(unsigned core, unsigned pipe)
{
    return PIPE_DEPTH - pipe_free(core, (enum pipe)pipe);
}

static const char *op_name(unsigned opcode)
{
    const struct cmd_info *info = cmd_find(opcode);

    return info ? info->name : "command";
}

static const char *issuer(const struct cmd_head *head)
{
    unsigned task = head->tag >> TAG_BITS;

    /* Also of a run that has just ended. */
    const char *name = task && task <= TASK_MAX ? sched_task(task - 1)->name : NULL;

    return name ? name : "nobody known";
}

bool report_writer(char *text, uint64_t begin, uint64_t end)
{
    static const enum pipe writers[] = {PIPE_MTE3, PIPE_FIX};

    for (unsigned c = 0; c < chip_cores(); c++) {
        for (unsigned p = 0; p < sizeof(writers) / sizeof(writers[0]); p++) {
            for (unsigned i = PIPE_DEPTH; i-- > 0;) { /* the one that ended last first */
                union cmd cmd = pipe_command(c, writers[p], i);
                uint64_t from, to;
                if (!cmd_writes_gm(&cmd, &from, &to) || from >= end || to <= begin) {
                    continue;
                }
                if (text) {
                    write_to(text, SCHED_TEXT);
                    put("\n  %s of task %s, core %u, pc 0x%llx, wrote 0x%llx to 0x%llx",
                        op_name(cmd.head.opcode), issuer(&cmd.head), c,
                        (unsigned long long)cmd.head.pc, (unsigned long long)from,
                        (unsigned long long)to - 1);
                }
                return true;
            }
        }
    }
    return false;
}

static bool posts(const struct cmd_head *head, unsigned sem)
{
    return (head->post_n[0] && head->post_sem[0] == sem) ||
           (head->post_n[1] && head->post_sem[1] == sem);
}

static bool takes(const struct cmd_head *head, unsigned sem)
{
    return (head->wait_n[0] && head->wait_sem[0] == sem) ||
           (head->wait_n[1] && head->wait_sem[1] == sem);
}

/* The command of a pipe that has ended last of those which post, or take, a semaphore. */
static bool put_user(unsigned core, unsigned pipe, unsigned sem, bool post)
{
    for (unsigned i = PIPE_DEPTH; i-- > depth(core, pipe);) {
        struct cmd_head head = pipe_queued(core, (enum pipe)pipe, i);
        if (post ? posts(&head, sem) : takes(&head, sem)) {
            put("\n    last %s by %s of task %s in %s of core %u, pc 0x%llx",
                post ? "posted" : "taken", op_name(head.opcode), issuer(&head),
                pipe_name(pipe), core, (unsigned long long)head.pc);
            return true;
        }
    }
    return false;
}

static void put_history(unsigned core, unsigned sem)
{
    const char *hart = hart_posts[sem < SEM_CORE ? core : NPU_MAX_CORES][sem % SEM_CORE];
    const char *where = has_label(core, sem) ? labels[core][sem].where : NULL;
    bool found = hart || where;

    if (where) {
        put("\n    named at %s", where);
    }
    if (hart) {
        put("\n    last posted by the hart at %s", hart);
    }
    for (unsigned n = 0; n < 2 * NPU_PIPES; n++) {
        for (unsigned c = 0; c < chip_cores() && has_queue(n % NPU_PIPES); c++) {
            if (c == core || sem >= SEM_CORE) {
                found |= put_user(c, n % NPU_PIPES, sem, n < NPU_PIPES);
            }
        }
    }
    if (!found) {
        put("\n    no command that the pipes still know uses it");
    }
}

void report_history(unsigned core, unsigned sem, char *text, size_t size)
{
    write_to(text, size);
    put_history(core, sem);
}

void report_fault(struct sched_report *report)
{
    const struct fault *fault = &report->fault;
    unsigned task = fault->tag >> TAG_BITS;

    report->task = task && task <= sched_tasks() ? sched_task(task - 1)->name : NULL;
    fault_text(fault, report->text, sizeof(report->text));
    if (fault->code == NPU_ERR_SEM_OVERFLOW && fault->opcode) {
        report_history(fault->core, (unsigned)fault->value, report->text, SCHED_TEXT);
    }
}

/* Queued commands that would post a semaphore if they could begin. */
static void put_posters(unsigned waiter, unsigned sem)
{
    unsigned found = 0;

    for (unsigned c = 0; c < chip_cores(); c++) {
        for (unsigned p = 0; p < NPU_PIPES && (c == waiter || sem >= SEM_CORE); p++) {
            for (unsigned i = 0; has_queue(p) && i < depth(c, p) && found < 2; i++) {
                struct cmd_head head = pipe_queued(c, (enum pipe)p, i);
                if (posts(&head, sem)) {
                    put("\n      could be posted by %s in %s, %u behind its head",
                        op_name(head.opcode), pipe_name(p), i);
                    found++;
                }
            }
        }
    }
    if (!found) {
        put("\n      no queued command posts it");
    }
}

static void put_wait(unsigned core, unsigned sem, unsigned count)
{
    put_sem(core, sem);
    put(": %u of %u", sem_value(core, sem), count);
}

static void put_task(const struct task *t)
{
    unsigned long long since = t->since;

    if (t->state == TASK_READY) {
        put("\n  task %s can run", t->name);
    } else if (t->state == TASK_WAIT_SEM) {
        for (unsigned i = 0; i < t->n_wants; i++) {
            put("\n  task %s waits since cycle %llu for ", t->name, since);
            put_wait(t->core, t->wants[i].sem, t->wants[i].count);
            put("%s%s", t->where ? ", " : "", t->where ? t->where : "");
            put_posters(t->core, t->wants[i].sem);
        }
    } else if (t->state == TASK_WAIT_ROOM) {
        put("\n  task %s waits since cycle %llu for room in %s of core %u", t->name,
            since, pipe_name(t->what), t->core);
    } else if (t->state == TASK_WAIT_ROOMS) {
        put("\n  task %s waits since cycle %llu for room in", t->name, since);
        for (unsigned p = 0, n = 0; p < NPU_PIPES; p++) {
            if (t->slots[p]) {
                put("%s %s", n++ ? " or" : "", pipe_name(p));
            }
        }
        put(" of core %u", t->core);
    } else if (t->state == TASK_WAIT_TASK) {
        put("\n  task %s waits since cycle %llu for task %s", t->name, since,
            sched_task(t->what)->name);
    } else if (t->state == TASK_WAIT_TIME) {
        put("\n  task %s sleeps since cycle %llu", t->name, since);
    } else if (t->state == TASK_WAIT_FAULT) {
        put("\n  task %s waits since cycle %llu for a fault of core %u", t->name, since,
            t->core);
    }
}

static void put_head(unsigned core, unsigned pipe)
{
    struct cmd_head head = pipe_queued(core, (enum pipe)pipe, 0);
    bool lacks = pipe_waits_for_units(core, (enum pipe)pipe);

    put("\n  pipe %s of core %u waits with %u command(s): since cycle %llu %s",
        pipe_name(pipe), core, depth(core, pipe),
        (unsigned long long)pipe_since(core, (enum pipe)pipe), op_name(head.opcode));
    put(" of task %s, pc 0x%llx", issuer(&head), (unsigned long long)head.pc);
    if (lacks) {
        put("\n      needs units of L0C that no Mmad has marked (unit flag)");
    }
    for (unsigned i = 0; i < 2; i++) {
        if (head.wait_n[i] && sem_value(core, head.wait_sem[i]) < head.wait_n[i]) {
            put("\n      needs ");
            put_wait(core, head.wait_sem[i], head.wait_n[i]);
            put_posters(core, head.wait_sem[i]);
            lacks = true;
        }
    }
    if (!lacks && pipe_waits(core, (enum pipe)pipe)) {
        put("\n      has all that it needs: the engine does not begin it");
    }
}

/* Waits that a pipe owes, each behind what stands between two things. */
static unsigned put_owed(unsigned core, unsigned pipe, const char *between)
{
    unsigned found = 0;

    for (uint32_t owed = pipe_ports[core][pipe].owed; owed >> 16;
         owed = owed >> 8 & 0xff00ff) {
        put("%s%s owes a wait for ", out.text[0] ? between : "", pipe_name(pipe));
        put_name(core, owed & 0xff);
        if (!tque_owes(core, owed & 0xff, out.text, out.size)) {
            put(", no command was issued to it since");
        }
        found++;
    }
    return found;
}

unsigned report_owed(unsigned core, char *text, size_t size)
{
    struct pipe_port *port = pipe_ports[core];
    uint32_t post = task_forget_posts(core);
    unsigned found = 0;

    write_to(text, size);
    if (post) {
        put("no command was issued that posts ");
        put_name(core, post & 0xff);
        found++;
    }
    for (unsigned p = 0; p < NPU_PIPES; p++, port++) {
        if (port->owed) {
            found += put_owed(core, p, ", ");
            port->owed = 0;
        }
    }
    return found;
}

static void put_last(unsigned core, unsigned pipe)
{
    unsigned shown = 0;

    for (unsigned i = PIPE_DEPTH; i-- > depth(core, pipe) && shown < 2; shown++) {
        struct cmd_head head = pipe_queued(core, (enum pipe)pipe, i);
        if (head.opcode == 0) {
            break;
        }
        if (shown == 0) {
            put("\n  last in %s of core %u:", pipe_name(pipe), core);
        }
        put("%s %s of task %s, pc 0x%llx", shown ? ", before it" : "",
            op_name(head.opcode), issuer(&head), (unsigned long long)head.pc);
    }
}

static void put_everything(void)
{
    for (unsigned i = 0; i < sched_tasks(); i++) {
        put_task(sched_task(i));
    }
    for (unsigned c = 0; c < chip_cores(); c++) {
        for (unsigned p = 0; p < NPU_PIPES; p++) {
            if (has_queue(p) && !pipe_idle(c, (enum pipe)p)) {
                put_head(c, p);
            }
        }
    }
    for (unsigned c = 0; c < chip_cores(); c++) {
        for (unsigned p = 0; p < NPU_PIPES; p++) {
            if (has_queue(p)) {
                put_owed(c, p, "\n  ");
                put_last(c, p);
            }
        }
        for (unsigned s = 0; s < (c ? SEM_CORE : SEM_COUNT); s++) {
            if (sem_value(c, s)) {
                put("\n  left over: ");
                put_sem(c, s);
                put(" holds %u", sem_value(c, s));
            }
        }
    }
}

void report_deadlock(struct sched_report *report)
{
    report->text[0] = 0;
    write_to(report->text, SCHED_TEXT);
    put("deadlock at cycle %llu: nobody can run and nothing is in flight",
        (unsigned long long)chip_cycle());
    put_everything();
}

void report_overdue(struct sched_report *report, const char *name, uint64_t limit)
{
    report->text[0] = 0;
    write_to(report->text, SCHED_TEXT);
    put("watchdog at cycle %llu: %s has not ended within its %llu cycles",
        (unsigned long long)chip_cycle(), name, (unsigned long long)limit);
    put_everything();
}

static unsigned tell_left(unsigned core, unsigned sems, unsigned told)
{
    unsigned found = 0;

    for (unsigned p = 0; p < NPU_PIPES; p++) {
        if (has_queue(p) && !pipe_idle(core, (enum pipe)p)) {
            put_comma();
            put("pipe %s of core %u is not empty", pipe_name(p), core);
            found++;
        }
    }
    for (unsigned s = 0; s < sems; s++) {
        if (sem_value(core, s) != 0) {
            put_comma();
            put_name(core, s);
            put(" of core %u is %u", core, sem_value(core, s));
            found++;
            if (told) {
                put_history(core, s);
                told--;
            }
        }
    }
    return found;
}

unsigned left_behind(unsigned core, unsigned sems, unsigned told, char *text, size_t size)
{
    unsigned found;

    write_to(text, size);
    found = tell_left(core, sems, told);
    report_forget_posts(core, sems);
    return found;
}

unsigned sched_leftovers(unsigned core, char *text, size_t size)
{
    text[0] = 0;
    return left_behind(core, SEM_COUNT, 0, text, size);
}
