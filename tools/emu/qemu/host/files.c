/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Inputs and outputs of the firmware: the calls of hal/contract/host.h.
 *
 * An output is a new file beside what it will replace (tools/emu/part.h), which takes its
 * place in one step when it is complete. It goes away when the run ends without that, in
 * whatever way but SIGKILL; what is left then the next output of that name removes.
 *
 * A signal may come at any instant, on any thread, also between the creation of a file and
 * the note of it. So whoever changes the list of outputs, and the files with it, takes it,
 * with no signals on its own thread meanwhile; a handler on another waits for that, takes
 * it for ever, and removes what is noted then.
 *
 * Invariant: no file that was there is written to, whatever its name and whatever links
 * lead to it. Nothing of the random name is seen by the guest.
 */
#include "tools/emu/qemu/device/call.h"
#include "tools/emu/qemu/host/files.h"
#include "tools/emu/qemu/host/outside.h"
#include "tools/emu/part.h"
#include "semihosting/guestfd.h"
#include "hal/contract/host.h"
#include <poll.h>
#include <sys/syscall.h>

static struct {
    enum { FREE, TAKEN, ENDED } state;
    int n;
    struct output {
        int guest; /* the guest's handle */
        int fd;    /* behind it */
        int lock;  /* the same file: the guest may have closed its handle */
        int dir;
        char part[NAME_MAX + 1], base[NAME_MAX + 1];
    } output[32]; /* NPY_FILES of kernels/cli */
} pending;

static const struct TCGCPUOps *qemu;

/* --- ends of QEMU --- */

/* False, and signals are as they were: the run ends. */
static bool take_list(sigset_t *before)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
    if (qatomic_cmpxchg(&pending.state, FREE, TAKEN) == FREE) {
        return true; /* one thread at most asks: that of the hart */
    }
    pthread_sigmask(SIG_SETMASK, before, NULL);
    return false;
}

static void give_list(const sigset_t *before)
{
    qatomic_store_release(&pending.state, FREE);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Also in a signal handler, and in one that has interrupted another in here. */
static void remove_all(void *unused)
{
    while (qatomic_cmpxchg(&pending.state, FREE, ENDED) == TAKEN) {
        poll(NULL, 0, 1);
    }
    for (int i = 0; i < pending.n; i++) {
        unlinkat(pending.output[i].dir, pending.output[i].part, 0);
    }
}

/* The first thread does it, which is not confined. A fault comes to the thread that has made
 * it, whichever that is, and goes on from there. */
static void killed(int signal_number)
{
    if (syscall(SYS_gettid) != getpid()) {
        syscall(SYS_tgkill, getpid(), getpid(), signal_number);
        for (;;) {
            pause();
        }
    }
    remove_all(NULL);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* That end nothing: QEMU reads the last two from a file and drops them. */
static bool harmless(int signal_number)
{
    static const int harmless[] = {SIGCHLD, SIGURG,  SIGWINCH, SIGCONT, SIGTSTP,
                                   SIGTTIN, SIGTTOU, SIGALRM,  SIGIO};

    for (size_t i = 0; i < ARRAY_SIZE(harmless); i++) {
        if (harmless[i] == signal_number) {
            return true;
        }
    }
    return false;
}

static void at_exit(void)
{
    outside_do(remove_all, NULL);
}

/* QEMU ends in order at those that it handles. Past a file's largest allowed size a write
 * is to come up short like any other. */
static void catch_signals(void)
{
    static bool done;

    for (int i = 1; i < NSIG && !done; i++) {
        struct sigaction action;

        if (!harmless(i) && sigaction(i, NULL, &action) == 0 &&
            !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL) {
            signal(i, i == SIGXFSZ ? SIG_IGN : killed);
        }
    }
    if (!done) {
        atexit(at_exit);
    }
    done = true;
}

/* --- outputs --- */

/* The file of the next output, and its note; old: what is there, or NULL. */
static int create_part(struct output *o, const struct stat *old)
{
    char prefix[NAME_MAX + 1];
    sigset_t before;

    part_prefix(prefix, o->base);
    part_remove_leftovers(o->dir, prefix);
    if (!take_list(&before)) {
        return -EINTR;
    }
    o->fd = part_create(o->dir, prefix, old ? 0600 : 0666, o->part);
    pending.n += o->fd >= 0;
    give_list(&before);
    if (o->fd < 0) {
        return o->fd;
    }
    if (old) {
        part_take_over(o->fd, old);
    }
    return 0;
}

/* Whether an output of this run goes to the same place. */
static bool is_pending(const struct output *o)
{
    struct stat dir, other;

    for (int i = 0; i < pending.n; i++) {
        const struct output *p = &pending.output[i];

        if (strcmp(p->base, o->base) == 0 && fstat(o->dir, &dir) == 0 &&
            fstat(p->dir, &other) == 0 && dir.st_dev == other.st_dev &&
            dir.st_ino == other.st_ino) {
            return true;
        }
    }
    return false;
}

/* Why what is there cannot be replaced; 0: it can. A link is not followed a second time. */
static int refuse(const struct output *o, const struct stat *old)
{
    if (S_ISDIR(old->st_mode)) {
        return -EISDIR;
    }
    if (!S_ISREG(old->st_mode)) {
        return -ENXIO;
    }
    return !(old->st_mode & 0222) || faccessat(o->dir, o->base, W_OK, AT_EACCESS)
               ? -EACCES
               : 0;
}

int64_t files_begin(const struct place *place)
{
    struct output *o = &pending.output[pending.n];
    struct stat st, *old = NULL;
    int err;

    if (place->err || pending.n == ARRAY_SIZE(pending.output)) {
        return place->err ? place->err : -EMFILE;
    }
    strcpy(o->base, place->base);
    o->dir = fcntl(place->dir, F_DUPFD_CLOEXEC, 0);
    if (o->dir < 0) {
        return -errno;
    }
    old = fstatat(o->dir, o->base, &st, AT_SYMLINK_NOFOLLOW) == 0 ? &st : NULL;
    err = old ? refuse(o, old) : 0;
    if (!err) {
        catch_signals();
        err = is_pending(o) ? -EBUSY : create_part(o, old);
    }
    if (err) {
        close(o->dir);
        return err;
    }
    o->lock = dup(o->fd);
    o->guest = files_handle(o->fd);
    return o->guest;
}

int64_t files_end(int guest, bool keep)
{
    GuestFD *handle = get_guestfd(guest);
    sigset_t before;
    struct output o;
    int i = 0, err = 0;

    while (i < pending.n && pending.output[i].guest != guest) {
        i++;
    }
    if (i == pending.n) {
        return -EBADF;
    }
    o = pending.output[i];
    if (handle && handle->type == GuestFDHost && handle->hostfd == o.fd) {
        err = close(o.fd) ? -errno : 0;
        dealloc_guestfd(guest);
    }
    if (!take_list(&before)) {
        return -EINTR;
    }
    if (keep && !err && renameat(o.dir, o.part, o.dir, o.base) != 0) {
        err = -errno;
    }
    if ((!keep || err) && unlinkat(o.dir, o.part, 0) != 0 && !err) {
        err = -errno;
    }
    pending.output[i] = pending.output[--pending.n];
    give_list(&before);
    close(o.lock);
    close(o.dir);
    return err;
}

/* --- inputs --- */

int64_t files_handle(int fd)
{
    int guest = alloc_guestfd();

    associate_guestfd(guest, fd);
    return guest;
}

int64_t files_input(int fd)
{
    struct stat st;

    if (fd < 0) {
        return fd;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return S_ISDIR(st.st_mode) ? -EISDIR : -ENXIO;
    }
    return files_handle(fd);
}

/* --- calls of an image that is not confined --- */

static int64_t open_input(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    return files_input(fd < 0 ? -errno : fd);
}

static int64_t begin_output(const char *path)
{
    struct place place;
    int64_t result;

    place_find(&place, path);
    result = files_begin(&place);
    if (!place.err) {
        close(place.dir);
    }
    return result;
}

static void do_interrupt(CPUState *cpu)
{
    uint64_t *gpr = npu_gpr(cpu), block = gpr[A1];
    uint32_t op = gpr[A0];
    g_autofree char *path = NULL;

    if (cpu->exception_index != NPU_EXCP_SEMIHOST || op < NPU_HOST_INPUT ||
        op > NPU_HOST_OUTPUT_END) {
        qemu->do_interrupt(cpu);
        return;
    }
    if (op == NPU_HOST_OUTPUT_END) {
        call_return(cpu, files_end(call_word(cpu, block), call_word(cpu, block + 8)));
        return;
    }
    path = call_text(cpu, call_word(cpu, block), call_word(cpu, block + 16));
    call_return(cpu, op == NPU_HOST_INPUT ? open_input(path) : begin_output(path));
}

void npu_files_init(void)
{
    static struct TCGCPUOps ops;

    qemu = call_hook(&ops, do_interrupt);
}
