/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What an image may do to the host: read the files that its arguments name and the texts
 * of the demonstration, make the outputs that follow an -o, use the console, the clock
 * and its exit status. Nothing else.
 *
 * Two walls. Every call to the host is copied (args.h) and judged by what it names
 * (names.h). Those with a path are made here, from what the arguments say, and never reach
 * QEMU, which would read the path again; a refused one fails with EACCES and is told once.
 * Behind that the thread that runs the guest gives up its rights by Landlock (landlock.h), so
 * that a way around the first wall would find a process which can start no program and open
 * nothing else.
 *
 * Invariant: a call that is not known here does not pass.
 */
#include "tools/emu/qemu/host/args.h"
#include "tools/emu/qemu/host/console.h"
#include "tools/emu/qemu/host/files.h"
#include "tools/emu/qemu/host/landlock.h"
#include "tools/emu/qemu/host/names.h"
#include "tools/emu/qemu/host/outside.h"
#include "tools/emu/qemu/host/quota.h"
#include "hal/contract/host.h"
#include "semihosting/guestfd.h"

#define MODES    12 /* of SYS_OPEN: r, rb, r+, r+b, w, ... */
#define TOLD_MAX 8

static struct {
    const struct TCGCPUOps *qemu;
    int err; /* of the last call, if it was answered here and failed; 0 */
    unsigned told;
} confine;

/* --- calls with a path --- */

/* What is done by the thread that is not confined. */
struct job {
    const struct target *to;
    enum { OPEN, BEGIN, REMOVE } what;
    int flags;
    int64_t result;
};

static void do_job(void *arg)
{
    struct job *job = arg;

    if (job->to->scratch && !job->to->place.err && job->what != REMOVE &&
        !quota_look(job->to->place.dir) && (job->what == BEGIN || job->flags & O_CREAT)) {
        job->result = -EDQUOT;
    } else if (job->what == OPEN) {
        job->result = place_open(&job->to->place, job->flags);
    } else if (job->what == BEGIN) {
        job->result = files_begin(&job->to->place);
    } else {
        job->result = place_remove(&job->to->place);
    }
}

static int64_t outside(const struct target *to, int what, int flags)
{
    struct job job = {.to = to, .what = what, .flags = flags};

    outside_do(do_job, &job);
    return job.result;
}

/* A descriptor or -errno. */
static int64_t open_target(const struct target *to, int flags)
{
    struct stat st;
    int fd;

    if (!to->path) {
        return outside(to, OPEN, flags);
    }
    if (stat(to->path, &st) == 0 && S_ISDIR(st.st_mode)) { /* Landlock would say EACCES */
        return -EISDIR;
    }
    fd = open(to->path, flags | O_NOCTTY | O_CLOEXEC, 0644);
    return fd < 0 ? -errno : fd;
}

/* The handle of a file in scratch has a limit. */
static int64_t counted(const struct target *to, int64_t handle)
{
    if (to->scratch && handle >= 0) {
        quota_opened(handle);
    }
    return handle;
}

/* The two names that are no files. */
static int64_t open_special(const char *name, uint64_t mode)
{
    static const uint8_t features[] = {'S', 'H', 'F', 'B', 3}; /* exit status, stderr */
    int guest;

    if (strcmp(name, ":tt") == 0) { /* to read, to write, to append */
        return files_handle(mode < 4   ? STDIN_FILENO
                            : mode < 8 ? STDOUT_FILENO
                                       : STDERR_FILENO);
    }
    if (mode > 1) {
        return -EACCES;
    }
    guest = alloc_guestfd();
    staticfile_guestfd(guest, features, sizeof(features));
    return guest;
}

/* As fopen() has them; an even and an odd mode are text and binary. */
static int64_t sys_open(const struct call_args *args, bool *refused)
{
    static const int flags[MODES / 2] = {
        O_RDONLY,
        O_RDWR,
        O_WRONLY | O_CREAT | O_TRUNC,
        O_RDWR | O_CREAT | O_TRUNC,
        O_WRONLY | O_CREAT | O_APPEND,
        O_RDWR | O_CREAT | O_APPEND,
    };
    uint64_t mode = args->word[1];
    struct target to;
    int64_t fd;

    if (mode >= MODES) {
        return -EINVAL;
    }
    if (strcmp(args->text, ":tt") == 0 ||
        strcmp(args->text, ":semihosting-features") == 0) {
        return open_special(args->text, mode);
    }
    *refused =
        !(mode < 2 ? names_may_read(args->text, &to) : names_may_write(args->text, &to));
    if (*refused) {
        return -EACCES;
    }
    fd = open_target(&to, flags[mode / 2]);
    g_free(to.path);
    return fd < 0 ? fd : counted(&to, files_handle(fd));
}

static int64_t host_input(const struct call_args *args, bool *refused)
{
    struct target to;
    int64_t result;

    *refused = !names_may_read(args->text, &to);
    if (*refused) {
        return -EACCES;
    }
    result = files_input(open_target(&to, O_RDONLY | O_NONBLOCK));
    g_free(to.path);
    return result;
}

/* Makes or removes one. */
static int64_t host_place(const struct call_args *args, int what, bool *refused)
{
    struct target to;
    int64_t result;

    *refused = !names_may_write(args->text, &to);
    if (*refused || to.path) { /* a device is no place */
        g_free(*refused ? NULL : to.path);
        return *refused ? -EACCES : -ENXIO;
    }
    result = outside(&to, what, 0);
    return what == BEGIN ? counted(&to, result) : result;
}

struct end {
    const struct call_args *args;
    int64_t result;
};

static void do_end(void *arg)
{
    struct end *end = arg;

    end->result = files_end(end->args->word[0], end->args->word[1]);
}

static int64_t host_end(const struct call_args *args)
{
    struct end end = {.args = args};

    quota_closed(args->word[0]);
    outside_do(do_end, &end);
    return end.result;
}

/* --- calls without --- */

/* Where a handle prints for somebody to see, or -1. */
static int terminal(int guest)
{
    GuestFD *handle = get_guestfd(guest);
    bool std = handle && handle->type == GuestFDHost &&
               (handle->hostfd == STDOUT_FILENO || handle->hostfd == STDERR_FILENO);

    return std && isatty(handle->hostfd) ? handle->hostfd : -1;
}

/* Prints what an image writes to a terminal, which QEMU would obey; true: it goes elsewhere. */
static bool is_elsewhere(int fd, uint64_t addr, uint64_t n, int64_t *left)
{
    g_autofree char *bytes = fd >= 0 ? args_memory(addr, n) : NULL;

    if (bytes) {
        *left = console_put(fd, bytes, n);
    }
    return bytes == NULL;
}

/* Whether QEMU is to make it; else *result is what it returns. */
static bool is_qemus(const struct call_args *args, int64_t *result)
{
    const uint64_t *word = args->word;
    bool goes;

    switch (args->op) {
    case SYS_CLOSE:
        quota_closed(word[0]);
        return true;
    case SYS_WRITE:
        *result = word[2]; /* bytes that are left */
        return quota_allows(word[0], word[2]) &&
               is_elsewhere(terminal(word[0]), word[1], word[2], result);
    case SYS_WRITEC:
    case SYS_WRITE0: /* QEMU prints these on stderr, the end of a string is left out */
        goes = is_elsewhere(isatty(STDERR_FILENO) ? STDERR_FILENO : -1, word[0],
                            word[1] - (args->op == SYS_WRITE0), result);
        *result = 0;
        return goes;
    default:
        return true;
    }
}

/* --- all calls --- */

static void tell(const struct call_args *args, const char *why)
{
    g_autofree char *shown = args->text ? g_strescape(args->text, NULL) : NULL;

    if (confine.told++ >= TOLD_MAX) {
        return;
    }
    if (why) {
        error_report("npu.so: refused: the image makes host call 0x%x, %s (UNCONFINED=1 "
                     "allows it)",
                     args->op, why);
    } else {
        error_report("npu.so: refused: the image wants to %s '%s', which no argument %s "
                     "(UNCONFINED=1 allows it)",
                     args->op == SYS_REMOVE ? "remove" : "open", shown,
                     args->op == NPU_HOST_INPUT ? "names" : "names so");
    }
}

/* Whether QEMU is to make it; else *result: what it returns, or -errno. */
static bool judge(const struct call_args *args, int64_t *result)
{
    bool refused = false;

    switch (args->op) {
    case SYS_OPEN:
        *result = sys_open(args, &refused);
        break;
    case SYS_REMOVE:
        *result = host_place(args, REMOVE, &refused);
        break;
    case NPU_HOST_INPUT:
        *result = host_input(args, &refused);
        break;
    case NPU_HOST_OUTPUT:
        *result = host_place(args, BEGIN, &refused);
        break;
    case NPU_HOST_OUTPUT_END:
        *result = host_end(args);
        break;
    default:
        return is_qemus(args, result);
    }
    if (refused) {
        tell(args, NULL);
    }
    return false;
}

/* QEMU's calls return -1 and keep their errno for SYS_ERRNO, ours return it. */
static void answer(CPUState *cpu, uint32_t op, int64_t result)
{
    confine.err = result < 0 ? -result : 0;
    call_return(cpu, result < 0 && op < NPU_HOST_INPUT ? -1 : result);
}

static void do_interrupt(CPUState *cpu)
{
    struct call_args args;
    int64_t result = -EACCES;
    const char *why;

    if (cpu->exception_index != NPU_EXCP_SEMIHOST) {
        confine.qemu->do_interrupt(cpu);
        return;
    }
    why = args_copy(cpu, &args);
    if (why) {
        tell(&args, why);
        answer(cpu, args.op, -EACCES);
    } else if (args.op == SYS_ERRNO && confine.err) {
        call_return(cpu, confine.err);
    } else if (judge(&args, &result)) {
        confine.err = 0;
        confine.qemu->do_interrupt(cpu);
    } else {
        answer(cpu, args.op, result);
    }
    g_free(args.text);
}

void npu_confine(bool calls, bool strict)
{
    static struct TCGCPUOps ops;

    names_read();
    if (!landlock_build()) {
        if (strict) {
            npu_die("npu.so: confine=strict: this kernel has no Landlock");
        }
        warn_report("npu.so: this kernel has no Landlock: the image's calls are checked, "
                    "QEMU itself is not confined");
    }
    if (calls) {
        confine.qemu = call_hook(&ops, do_interrupt);
    }
}
