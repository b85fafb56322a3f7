/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What QEMU would let pass, and the user would see as a run that never ends or as a text
 * of QEMU's: each is one line and exit status 2.
 */
#include "tools/emu/qemu/device/device.h"
#include "elf.h"
#include "semihosting/semihost.h"
#include <sys/mman.h>

#define ENTRY 0x80000000u /* where -bios none begins, linker/memory.ld */

/* An image that has not found the NPU after so much time of the host's processors,
 * twenty times what a boot takes, never will: it traps for ever, or is not ours. */
#define START_SECONDS 1
#define START_POLL_MS 100

static struct {
    QEMUTimer *timer;
    bool over;
} start;

/* --- before the machine is made --- */

/* QEMU would fail as well, but with a text and a status of its own. */
static void check_memory(void)
{
    QemuOpts *opts = qemu_opts_find(qemu_find_opts("memory"), NULL);
    const char *size = opts ? qemu_opt_get(opts, "size") : NULL;
    uint64_t bytes = 0;
    void *memory;

    if (!size || qemu_strtosz_MiB(size, NULL, &bytes) != 0) {
        return; /* QEMU's own size, or QEMU says what is wrong */
    }
    memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        npu_die("npu.so: -m %s: the host has not so much memory: %s", size,
                strerror(errno));
    }
    munmap(memory, bytes);
}

void npu_check_early(void)
{
    if (object_class_by_name(TYPE_SALAI_NPU)) {
        npu_die("npu.so: is loaded already: one -plugin is wanted");
    }
    check_memory();
}

/* --- when the machine is there --- */

static const char *wrong_image(const char *path)
{
    Elf64_Ehdr header;
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(&header, 1, sizeof(header), file) : 0;

    if (!file) {
        return strerror(errno);
    }
    fclose(file);
    if (n < sizeof(header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
        return "is not an ELF file";
    }
    if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB ||
        le16_to_cpu(header.e_machine) != EM_RISCV) {
        return "is not for a 64-bit RISC-V";
    }
    if (le16_to_cpu(header.e_type) != ET_EXEC || le64_to_cpu(header.e_entry) != ENTRY) {
        return "is no firmware: it does not begin at the start of memory";
    }
    return NULL;
}

/* What the firmware is compiled for; a CPU that does not tell is left to the watch. */
static void check_extensions(void)
{
    static const char *const wanted[] = {"m", "a", "f", "d", "c"};

    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        if (object_property_find(OBJECT(first_cpu), wanted[i]) &&
            !object_property_get_bool(OBJECT(first_cpu), wanted[i], &error_abort)) {
            npu_die("npu.so: -cpu: without its extension %s: the firmware is for rv64gc",
                    wanted[i]);
        }
    }
}

static void look(void *opaque)
{
    struct timespec spent;

    if (start.over) {
        return;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    if (spent.tv_sec >= START_SECONDS) {
        npu_die("npu.so: %s does not start: it has not looked for the NPU yet, is at pc "
                "0x%" PRIx64,
                current_machine->kernel_filename,
                (uint64_t)CPU_GET_CLASS(first_cpu)->get_pc(first_cpu));
    }
    timer_mod(start.timer, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + START_POLL_MS);
}

void npu_started(void)
{
    start.over = true;
}

void npu_check_machine(bool watch)
{
    const char *image = current_machine->kernel_filename;
    const char *wrong = image ? wrong_image(image) : NULL;

    if (wrong) {
        npu_die("npu.so: %s: %s", image, wrong);
    }
    if (!image) { /* the registers can be looked at through the monitor or a qtest */
        return;
    }
    if (!semihosting_enabled(false) ||
        semihosting_get_target() == SEMIHOSTING_TARGET_GDB) {
        npu_die("npu.so: -semihosting-config enable=on,target=native is needed");
    }
    check_extensions();
    if (watch) {
        start.timer = timer_new_ms(QEMU_CLOCK_REALTIME, look, NULL);
        timer_mod(start.timer, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + START_POLL_MS);
    }
}
