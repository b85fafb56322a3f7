/* SPDX-License-Identifier: MIT
 *
 * Does the device sit in QEMU as it should? Drives stock QEMU through -qtest stdio, with
 * the machine stopped: no guest, no time. Left out: time, interrupts and snapshots, which
 * need a guest (the scripts beside this file).
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "hal/contract/contract.h"
#include "tests/test.h"

#define ICOUNT  "-icount shift=0,sleep=off"
#define CORE(i) (NPU_CORE_BASE + (uint64_t)(i)*NPU_CORE_STRIDE)

static const char *const npu_so = "build/npu.so";
static FILE *to, *from;
static pid_t child;

static int want(const char *what, uint64_t got, uint64_t wanted)
{
    if (got != wanted) {
        test_note("%s is 0x%" PRIx64 ", want 0x%" PRIx64, what, got, wanted);
    }
    return got == wanted;
}

/* Starts QEMU with these options of npu.so and of QEMU. */
static void start(const char *plugin, const char *options)
{
    int in[2], out[2];
    char command[1024];

    snprintf(command, sizeof(command),
             "exec qemu-system-riscv64 -bios none -display none -serial none "
             "-monitor none -S -qtest stdio -qtest-log /dev/null -plugin %s%s %s",
             npu_so, plugin, options);
    if (pipe(in) || pipe(out) || (child = fork()) < 0) {
        perror("plumbing");
        exit(1);
    }
    if (child == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(out[1], 2);
        close(in[1]);
        close(out[0]);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to = fdopen(in[1], "w");
    from = fdopen(out[0], "r");
}

/* Ends it, or waits for its end, and returns its exit status. */
static int stop(void)
{
    int status = 0;

    fclose(to);
    fclose(from);
    kill(child, SIGTERM);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* One qtest command; the value that it answers, UINT64_MAX if QEMU is gone. */
static uint64_t ask(const char *verb, uint64_t addr, const char *value)
{
    char line[256];
    uint64_t answer = 0;

    fprintf(to, "%s 0x%" PRIx64 " %s\n", verb, addr, value);
    fflush(to);
    if (!fgets(line, sizeof(line), from) || strncmp(line, "OK", 2) != 0) {
        return UINT64_MAX;
    }
    sscanf(line, "OK 0x%" SCNx64, &answer);
    return answer;
}

TEST(plumbing, identity)
{
    int good;

    start(",cores=3,profile=ascend310", "-M virt " ICOUNT);
    good = want("CHIP_ID", ask("readq", NPU_CHIP_BASE + CHIP_ID, ""),
                CHIP_ID_MAGIC | field_put(CHIP_ID_VERSION, CONTRACT_VERSION));
    good &= want("CHIP_CORES", ask("readq", NPU_CHIP_BASE + CHIP_CORES, ""), 3);
    good &= want("CHIP_PROFILE", ask("readq", NPU_CHIP_BASE + CHIP_PROFILE, ""),
                 PROFILE_ascend310);
    good &= want("CORE_ID", ask("readq", CORE(2) + CORE_ID, ""), 2);
    stop();
    ok(good, "plumbing/reads_identity");
}

TEST(plumbing, write)
{
    uint64_t reg = CORE(0) + CORE_IRQ_ENABLE;
    int good;

    start("", "-M virt " ICOUNT);
    ask("writeq", reg, "0x5");
    good = want("CORE_IRQ_ENABLE", ask("readq", reg, ""), 5);
    stop();
    ok(good, "plumbing/writes_register");
}

TEST(plumbing, windows)
{
    int good = 1;

    start(",cores=32", "-M virt " ICOUNT);
    for (int c = 0; c < 32; c += 31) {
        for (int m = 0; m < NPU_MEM_COUNT; m++) {
            uint64_t end = CORE(c) + npu_mem_offset(m) + npu_mem_size(PROFILE_a2, m);

            if (npu_mem_offset(m)) {
                ask("writeq", end - 8, "0x0123456789abcdef");
                good &= want(npu_mem_name(m), ask("readl", end - 8, ""), 0x89abcdef);
            }
        }
    }
    stop();
    ok(good, "plumbing/maps_memories");
}

TEST(plumbing, bad_access)
{
    int good;

    start("", "-M virt " ICOUNT);
    ask("writew", CORE(0) + CORE_IRQ_ENABLE, "0x1");
    good = want("faults", ask("readq", CORE(0) + CORE_FAULT, "") != 0, 1);
    good &= want("CORE_IRQ_ENABLE", ask("readq", CORE(0) + CORE_IRQ_ENABLE, ""), 0);
    good &= want("a 2-byte read", ask("readw", CORE(0) + CORE_IRQ_ENABLE, ""), 0);
    good &= want("an unaligned read", ask("readq", CORE(0) + CORE_IRQ_ENABLE + 4, ""), 0);
    stop();
    ok(good, "plumbing/survives_bad_access");
}

/* QEMU must end with status 1 and one line that contains `text`. */
static void refused(const char *name, const char *plugin, const char *options,
                    const char *text)
{
    char line[512] = "", second[512];
    int good, extra;

    start(plugin, options);
    good = fgets(line, sizeof(line), from) && strstr(line, text);
    extra = fgets(second, sizeof(second), from) != NULL;
    if (!good || extra) {
        test_note("answer: %s%s", line, extra ? second : "");
    }
    good = want("exit status", (unsigned)stop(), 2) && good && !extra;
    ok(good, "plumbing/%s", name);
}

TEST(plumbing, refusals)
{
    refused("refuses_cores", ",cores=33", "-M virt " ICOUNT, "1..32 are allowed");
    refused("refuses_profile", ",profile=b2", "-M virt " ICOUNT, "a2, ascend910");
    refused("refuses_unknown_option", ",colour=red", "-M virt " ICOUNT,
            "colour: no such option; cores, profile");
    refused("refuses_a_doubled_option", ",cores=2,cores=3", "-M virt " ICOUNT,
            "cores= is given twice");
    refused("refuses_two_files", ",trace=/dev/null,trace=/dev/null", "-M virt " ICOUNT,
            "trace= is given twice");
    refused("refuses_debug", ",debug=1", "-M virt " ICOUNT, "debug=1: off, on are allowed");
    refused("refuses_two_harts", "", "-M virt -smp 2 " ICOUNT, "-smp 2");
    refused("refuses_no_icount", "", "-M virt", "-icount shift=0,sleep=off");
    refused("refuses_sleep", "", "-M virt -icount shift=0", "sleep=off");
    refused("refuses_shift", "", "-M virt -icount shift=1,sleep=off", "shift=0");
    refused("refuses_machine", "", "-M sifive_u -smp 2 " ICOUNT, "-M virt");
}
