/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See landlock.h. The rules name files, not their folders: outputs are made, named and removed
 * by a thread that is not confined, which takes no path of the guest's.
 */
#include "tools/emu/qemu/host/landlock.h"
#include "tools/emu/qemu/host/names.h"
#include "tools/emu/qemu/host/outside.h"
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* What <linux/landlock.h> of Debian 12 does not have yet. */
#define ACCESS_TRUNCATE  (1ull << 14) /* from version 3 */
#define ACCESS_IOCTL_DEV (1ull << 15) /* from version 5 */
#define ACCESS_NET_TCP   3ull         /* bind and connect, from version 4 */

#define MAY_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define OF_FILES                                                                         \
    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE)

static struct {
    int fd;           /* of the rules */
    uint64_t handled; /* the rights of files that this kernel knows */
} rules;

/* That there are too few descriptors is not to be told as something else. */
static void must_have(int fd, const char *what)
{
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
        npu_die("npu.so: %s: %s", what, strerror(errno));
    }
}

/* Nothing if it is not there, or is a folder and no folder is meant. */
static void allow(const char *path, bool folder, bool writes)
{
    uint64_t rights = folder   ? MAY_READ
                      : writes ? OF_FILES
                               : LANDLOCK_ACCESS_FS_READ_FILE;
    struct landlock_path_beneath_attr rule = {
        .allowed_access = rights & rules.handled,
        .parent_fd = open(path, O_PATH | O_CLOEXEC),
    };
    struct stat st;

    must_have(rule.parent_fd, path);
    if (rule.parent_fd < 0) {
        return;
    }
    if (fstat(rule.parent_fd, &st) == 0 && S_ISDIR(st.st_mode) == folder) {
        (void)!syscall(SYS_landlock_add_rule, rules.fd, LANDLOCK_RULE_PATH_BENEATH, &rule,
                       0);
    }
    close(rule.parent_fd);
}

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
    must_have(rules.fd, "Landlock");
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

bool landlock_build(void)
{
    if (!make_rules()) {
        return false;
    }
    outside_begin();
    names_for_reader(allow);
    async_run_on_cpu(first_cpu, enter, RUN_ON_CPU_NULL);
    return true;
}
