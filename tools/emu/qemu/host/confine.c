/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What an image may do to the host: read the files that its arguments name and the texts
 * of the demonstration, make the outputs that follow an -o, use the console, the clock
 * and its exit status. Nothing else.
 *
 * Two walls. Every call to the host is looked at before QEMU or files.c sees it, file by
 * file; a refused one fails with EACCES and is told once. Behind that the thread that runs
 * the guest gives up its rights by Landlock, folder by folder, so that a way around the
 * first wall would find a process which can start no program and open nothing else.
 *
 * Invariant: a call that is not known here does not pass. What is asked for is judged by
 * where it leads now, after all links; the guest can make no links, so it leads there
 * still when it is opened. It stands in memory, which nothing writes to until then.
 */
#include "tools/emu/qemu/device/call.h"
#include "hal/contract/host.h"
#include "semihosting/semihost.h"
#include <dlfcn.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define MODE_WRITE  4 /* SYS_OPEN: the first that is not for reading */
#define MODE_UPDATE 2 /* ... of each four, these two write as well */
#define TOLD_MAX    8
#define BLOCK_BYTES 24 /* of a call with a path, at most */

/* Where the texts of the demonstration are, and where the firmware's own tests may leave
 * what they write: a folder beside npu.so, nothing of which is ever run. */
#define TEXTS   "/usr/share/common-licenses"
#define SCRATCH "scratch"

static const char *const devices[] = {"/dev/null", "/dev/full"};

static struct {
    const struct TCGCPUOps *qemu;
    GPtrArray *inputs, *outputs; /* as the arguments have them */
    char *scratch;               /* resolved, or NULL */
    bool refused;                /* the last call */
    unsigned told;
} confine;

/* --- what the arguments name --- */

/* An argument as the firmware sees it, see host_split(). */
static char *decoded(const char *s)
{
    GString *text = g_string_new(NULL);

    for (; *s && strcmp(s, "%") != 0; s++) {
        int high = *s == '%' ? g_ascii_xdigit_value(s[1]) : -1;
        int low = high >= 0 ? g_ascii_xdigit_value(s[2]) : -1;

        if (low >= 0 && high + low > 0) {
            g_string_append_c(text, high * 16 + low);
            s += 2;
        } else {
            g_string_append_c(text, *s);
        }
    }
    return g_string_free(text, false);
}

/* The word, and what stands behind its first "=", as in -o z=c.npy. */
static void add_names(GPtrArray *names, const char *word)
{
    const char *value = strchr(word, '=');

    g_ptr_array_add(names, g_strdup(word));
    if (value && value[1]) {
        g_ptr_array_add(names, g_strdup(value + 1));
    }
}

static void read_arguments(void)
{
    bool output = false;

    confine.inputs = g_ptr_array_new();
    confine.outputs = g_ptr_array_new();
    for (int i = 0; i < semihosting_get_argc(); i++) {
        char *word = decoded(semihosting_get_arg(i));

        add_names(output ? confine.outputs : confine.inputs, word);
        output = strcmp(word, "-o") == 0;
    }
}

/* --- the first wall --- */

static bool is_named(GPtrArray *names, const char *path)
{
    g_autofree char *real = realpath(path, NULL);

    for (guint i = 0; i < names->len; i++) {
        const char *name = g_ptr_array_index(names, i);
        g_autofree char *there = real ? realpath(name, NULL) : NULL;

        if (strcmp(name, path) == 0 || (there && strcmp(there, real) == 0)) {
            return true;
        }
    }
    return false;
}

/* Whether `path` leads to that folder or to a file in it, not below. What is not there is
 * judged by the first folder above it that is: a call for it fails, or makes it there. */
static bool is_within(const char *folder, const char *path)
{
    g_autofree char *at = realpath(path, NULL), *dir = NULL, *above = NULL;
    struct stat st;

    if (!folder || (!at && lstat(path, &st) == 0)) { /* a link to nothing, or worse */
        return false;
    }
    if (at && strcmp(at, folder) == 0) {
        return true;
    }
    for (dir = g_path_get_dirname(at ?: path); !(above = realpath(dir, NULL));) {
        char *up = g_path_get_dirname(dir);

        g_free(dir);
        dir = up;
    }
    return strcmp(above, folder) == 0;
}

static bool is_device(const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
        if (strcmp(devices[i], path) == 0) {
            return true;
        }
    }
    return false;
}

static bool may_write(const char *path)
{
    return is_named(confine.outputs, path) || is_within(confine.scratch, path) ||
           is_device(path);
}

/* An output is read again by the operator after it. */
static bool may_read(const char *path)
{
    return is_named(confine.inputs, path) || may_write(path) || is_within(TEXTS, path);
}

static bool may_open(const char *path, uint64_t mode)
{
    if (strcmp(path, ":tt") == 0 || strcmp(path, ":semihosting-features") == 0) {
        return true;
    }
    return mode < MODE_WRITE && !(mode & MODE_UPDATE) ? may_read(path) : may_write(path);
}

/* The calls that carry no path and reach nothing but the console and open files. */
static bool is_harmless(uint32_t op)
{
    switch (op) {
    case SYS_CLOSE:
    case SYS_WRITEC:
    case SYS_WRITE0:
    case SYS_WRITE:
    case SYS_READ:
    case SYS_READC:
    case SYS_ISERROR:
    case SYS_ISTTY:
    case SYS_SEEK:
    case SYS_FLEN:
    case SYS_CLOCK:
    case SYS_TIME:
    case SYS_ERRNO:
    case SYS_GET_CMDLINE:
    case SYS_HEAPINFO:
    case SYS_EXIT:
    case SYS_EXIT_EXTENDED:
    case SYS_ELAPSED:
    case SYS_TICKFREQ:
    case NPU_HOST_OUTPUT_END:
        return true;
    default:
        return false;
    }
}

static bool allowed(CPUState *cpu, uint32_t op, uint64_t block, char **path)
{
    uint64_t text, len;

    if (is_harmless(op)) {
        return true;
    }
    if (op != SYS_OPEN && op != SYS_REMOVE && op != NPU_HOST_INPUT &&
        op != NPU_HOST_OUTPUT) {
        return false;
    }
    if (!call_in_memory(cpu, block, BLOCK_BYTES)) {
        return false;
    }
    text = call_word(cpu, block);
    len = call_word(cpu, block + (op == SYS_REMOVE ? 8 : 16));
    if (!call_in_memory(cpu, text,
                        MIN(len, PATH_MAX) + 1)) { /* a 0 behind it, for QEMU */
        return false;
    }
    *path = call_text(cpu, text, len);
    switch (op) {
    case SYS_OPEN:
        return may_open(*path, call_word(cpu, block + 8));
    case NPU_HOST_INPUT:
        return may_read(*path);
    default:
        return may_write(*path);
    }
}

static void tell(uint32_t op, const char *path)
{
    g_autofree char *shown = path ? g_strescape(path, NULL) : NULL;

    if (confine.told++ >= TOLD_MAX) {
        return;
    }
    if (shown) {
        error_report("npu.so: refused: the image wants to %s '%s', which no argument %s "
                     "(UNCONFINED=1 allows it)",
                     op == SYS_REMOVE ? "remove" : "open", shown,
                     op == NPU_HOST_INPUT ? "names" : "names so");
    } else {
        error_report("npu.so: refused: the image makes host call 0x%x (UNCONFINED=1 "
                     "allows it)",
                     op);
    }
}

static void do_interrupt(CPUState *cpu)
{
    uint64_t *gpr = npu_gpr(cpu);
    uint32_t op = gpr[A0];
    g_autofree char *path = NULL;

    if (cpu->exception_index != NPU_EXCP_SEMIHOST) {
        confine.qemu->do_interrupt(cpu);
        return;
    }
    if (op == SYS_ERRNO && confine.refused) {
        call_return(cpu, EACCES);
        return;
    }
    confine.refused = !allowed(cpu, op, gpr[A1], &path);
    if (!confine.refused) {
        confine.qemu->do_interrupt(cpu);
        return;
    }
    tell(op, path);
    call_return(cpu, op == NPU_HOST_INPUT || op == NPU_HOST_OUTPUT ? -EACCES : -1);
}

/* --- the second wall --- */

/* What <linux/landlock.h> of Debian 12 does not have yet. */
#define ACCESS_TRUNCATE  (1ull << 14) /* from version 3 */
#define ACCESS_IOCTL_DEV (1ull << 15) /* from version 5 */
#define ACCESS_NET_TCP   3ull         /* bind and connect, from version 4 */

#define MAY_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define MAY_MAKE                                                                         \
    (MAY_READ | ACCESS_TRUNCATE | LANDLOCK_ACCESS_FS_WRITE_FILE |                        \
     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE)
#define OF_FILES                                                                         \
    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE)

static struct {
    int fd;           /* of the rules */
    uint64_t handled; /* the rights of files that this kernel knows */
} rules;

/* `rights` on `path`, and on what is below it if it is a folder; nothing if it is not. */
static void allow(const char *path, uint64_t rights)
{
    struct landlock_path_beneath_attr rule = {
        .allowed_access = rights & rules.handled,
        .parent_fd = open(path, O_PATH | O_CLOEXEC),
    };
    struct stat st;

    if (rule.parent_fd < 0 && (errno == EMFILE || errno == ENFILE)) {
        npu_die("npu.so: %s: %s", path, strerror(errno)); /* not to be told as refused */
    }
    if (rule.parent_fd < 0) {
        return;
    }
    if (fstat(rule.parent_fd, &st) == 0 && !S_ISDIR(st.st_mode)) {
        rule.allowed_access &= OF_FILES;
    }
    (void)!syscall(SYS_landlock_add_rule, rules.fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(rule.parent_fd);
}

/* An output is made beside what it replaces, which links may lead to. */
static void allow_output(const char *path)
{
    g_autofree char *at = npu_follow_links(path);
    g_autofree char *dir = at ? g_path_get_dirname(at) : NULL;

    if (dir) {
        allow(dir, MAY_MAKE);
    }
}

/* False: this kernel has no Landlock, or it is off. */
static bool make_rules(void)
{
    int version =
        syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    struct {
        uint64_t handled_access_fs, handled_access_net;
    } attr = {.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1};

    if (version < 1) {
        return false;
    }
    attr.handled_access_fs |= version >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0;
    attr.handled_access_fs |= version >= 3 ? ACCESS_TRUNCATE : 0;
    attr.handled_access_fs |= version >= 5 ? ACCESS_IOCTL_DEV : 0;
    attr.handled_access_net = version >= 4 ? ACCESS_NET_TCP : 0;
    rules.handled = attr.handled_access_fs;
    rules.fd = syscall(SYS_landlock_create_ruleset, &attr,
                       version >= 4 ? sizeof(attr) : sizeof(attr.handled_access_fs), 0);
    return rules.fd >= 0;
}

/* In the thread of the guest, before its first instruction. */
static void enter(CPUState *cpu, run_on_cpu_data data)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_landlock_restrict_self, rules.fd, 0) != 0) {
        npu_die("npu.so: the guest could not be confined: %s", strerror(errno));
    }
    close(rules.fd);
}

static void build_second_wall(const char *core)
{
    if (!make_rules()) {
        warn_report("npu.so: this kernel has no Landlock: the image's calls are checked, "
                    "QEMU itself is not confined");
        return;
    }
    for (guint i = 0; i < confine.inputs->len; i++) {
        allow(g_ptr_array_index(confine.inputs, i), MAY_READ);
    }
    for (guint i = 0; i < confine.outputs->len; i++) {
        allow_output(g_ptr_array_index(confine.outputs, i));
    }
    for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
        allow(devices[i], OF_FILES);
    }
    allow(TEXTS, MAY_READ);
    allow("/usr/lib", MAY_READ); /* what the C library loads late */
    if (core) {
        allow_output(core);
    }
    if (confine.scratch) {
        allow(confine.scratch, MAY_MAKE);
    }
    async_run_on_cpu(first_cpu, enter, RUN_ON_CPU_NULL);
}

/* Where npu.so is. */
static char *own_folder(void)
{
    Dl_info info;

    return dladdr(&confine, &info) ? g_path_get_dirname(info.dli_fname) : g_strdup(".");
}

void npu_confine(const char *core, bool calls)
{
    static struct TCGCPUOps ops;
    g_autofree char *folder = own_folder();
    g_autofree char *scratch = g_build_filename(folder, SCRATCH, NULL);

    confine.scratch = realpath(scratch, NULL);
    read_arguments();
    build_second_wall(core);
    if (calls) {
        confine.qemu = call_hook(&ops, do_interrupt);
    }
}
