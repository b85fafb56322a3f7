/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Post mortem: core=FILE leaves an ELF core of a run that fails, from which gdb shows
 * what it shows of a running machine: the hart's registers; DRAM; of every core the
 * memories and the register page as a debugger would read it.
 *
 * A run that ends with status 1, a failed check, is taken as it ends. One that ends with
 * 3 is taken where that began: at the first fault of the NPU, at the first trap, or where
 * the scheduler reports a deadlock (at=, addresses of functions in hexadecimal with a
 * colon between), since what follows clears the NPU. Taking changes no result and no
 * cycle. Left out: floating-point registers of the hart.
 *
 * Source of the layout: BFD's elfnn-riscv.c (notes), System V ABI (ELF).
 */
#define NEED_CPU_H    1 /* for the whole of TCGCPUOps */
#define CONFIG_TARGET "config-target.h"
#include "tools/emu/qemu/device/device.h"
#include "tools/emu/qemu/host/outside.h"
#include "elf.h"
#include NPU_TCG_OPS_H
#include "semihosting/semihost.h"

#define PAGE         4096u
#define PRSTATUS     376 /* bytes; registers from 112 on: pc, x1 .. x31 */
#define PRSTATUS_REG 112
#define PRPSINFO     136      /* name at 40, 16 bytes; command line at 56, 80 bytes */
#define NT_HISTORY   0x4e5055 /* "NPU": npu_history_dump() */
#define NT_BUILD_ID  3        /* of owner GNU: what the linker calls the image */
#define AT_MOST      8
#define INTERRUPT    ((uint32_t)1 << 31) /* of an exception index */
#define RUN_FAULT    3                   /* hal/err.h: enum run_status */

typedef struct Segment {
    uint64_t addr, bytes;
    const uint8_t *data; /* or NULL: the register page of ... */
    unsigned core;
} Segment;

static struct {
    SalaiNPU *npu;
    const char *path;
    uint64_t at[AT_MOST]; /* 0: nowhere */
    const struct TCGCPUOps *qemu;
    uint64_t reg[32];     /* where it was taken: pc, x1 .. x31 */
    uint8_t build_id[64]; /* of the image that runs */
    unsigned build_id_bytes;
    bool taken;
} core;

static void note_of(GByteArray *to, const char *name, unsigned type, const void *data,
                    unsigned bytes)
{
    static const guint8 zeros[4];
    unsigned size = strlen(name) + 1;
    Elf64_Nhdr head = {.n_namesz = size, .n_descsz = bytes, .n_type = type};

    g_byte_array_append(to, (const guint8 *)&head, sizeof(head));
    g_byte_array_append(to, (const guint8 *)name, size);
    g_byte_array_append(to, zeros, -size % 4);
    g_byte_array_append(to, data, bytes);
    g_byte_array_append(to, zeros, -bytes % 4);
}

static void note(GByteArray *to, unsigned type, const void *data, unsigned bytes)
{
    note_of(to, "CORE", type, data, bytes);
}

/* The linker's build-id among notes, for gdb to see which image the core is of. */
static void find_build_id(const char *notes, uint64_t bytes)
{
    Elf64_Nhdr head;

    for (uint64_t at = 0; at + sizeof(head) + 4 <= bytes;) {
        memcpy(&head, notes + at, sizeof(head));
        at += sizeof(head) + ROUND_UP((uint64_t)head.n_namesz, 4);
        if (at > bytes || head.n_descsz > bytes - at) {
            return;
        }
        if (head.n_type == NT_BUILD_ID && head.n_namesz == sizeof("GNU") &&
            head.n_descsz <= sizeof(core.build_id)) {
            core.build_id_bytes = head.n_descsz;
            memcpy(core.build_id, notes + at, head.n_descsz);
        }
        at += ROUND_UP((uint64_t)head.n_descsz, 4);
    }
}

static void read_build_id(const char *path)
{
    g_autofree char *file = NULL;
    const Elf64_Ehdr *elf;
    const Elf64_Phdr *ph;
    gsize bytes;

    if (!path || !g_file_get_contents(path, &file, &bytes, NULL) ||
        bytes < sizeof(*elf)) {
        return;
    }
    elf = (const Elf64_Ehdr *)file;
    if (elf->e_phoff > bytes || elf->e_phnum * sizeof(*ph) > bytes - elf->e_phoff) {
        return;
    }
    ph = (const Elf64_Phdr *)(file + elf->e_phoff);
    for (unsigned i = 0; i < elf->e_phnum; i++) {
        if (ph[i].p_type == PT_NOTE && ph[i].p_offset <= bytes &&
            ph[i].p_filesz <= bytes - ph[i].p_offset) {
            find_build_id(file + ph[i].p_offset, ph[i].p_filesz);
        }
    }
}

static void notes(GByteArray *to)
{
    uint8_t status[PRSTATUS] = {0}, info[PRPSINFO] = {0};
    const char *line = semihosting_get_cmdline() ?: "";
    g_auto(GStrv) words = g_strsplit(line, " ", 2);
    g_autoptr(GByteArray) history = g_byte_array_new();
    g_autofree char *name = g_path_get_basename(words[0] ?: "");

    memcpy(status + PRSTATUS_REG, core.reg, sizeof(core.reg));
    status[32] = 1; /* pid */
    strncpy((char *)info + 40, name, 15);
    strncpy((char *)info + 56, line, 79);
    note(to, NT_PRSTATUS, status, sizeof(status));
    note(to, NT_PRPSINFO, info, sizeof(info));
    if (core.build_id_bytes) {
        note_of(to, "GNU", NT_BUILD_ID, core.build_id, core.build_id_bytes);
    }
    npu_history_dump(core.npu, history);
    note(to, NT_HISTORY, history->data, history->len);
}

static void add(GArray *to, uint64_t addr, uint64_t bytes, const void *data, unsigned c)
{
    Segment s = {addr, bytes, data, c};

    g_array_append_val(to, s);
}

static GArray *segments(void)
{
    SalaiNPU *npu = core.npu;
    GArray *all = g_array_new(false, false, sizeof(Segment));

    add(all, NPU_CHIP_BASE, NPU_CHIP_BYTES, NULL, NPU_CHIP);
    for (unsigned c = 0; c < npu->config.cores; c++) {
        uint64_t base = NPU_CORE_BASE + (uint64_t)c * NPU_CORE_STRIDE;

        add(all, base, NPU_CORE_REG_BYTES, NULL, c);
        for (int m = 0; m < NPU_MEM_COUNT; m++) {
            if (npu_mem_offset(m) && npu_mem_size(npu->config.profile, m)) {
                add(all, base + npu_mem_offset(m), npu_mem_size(npu->config.profile, m),
                    npu->model.mem[c][m], c);
            }
        }
    }
    add(all, npu->config.gm_base, npu->config.gm_size, npu->gm_host, 0);
    return all;
}

/* Zeros stay holes of the file. */
static bool write_data(int fd, uint64_t offset, const uint8_t *data, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += PAGE) {
        uint64_t n = MIN(PAGE, bytes - at);

        if (!buffer_is_zero(data + at, n) &&
            pwrite(fd, data + at, n, offset + at) != (ssize_t)n) {
            return false;
        }
    }
    return true;
}

static bool write_segment(int fd, uint64_t offset, const Segment *s)
{
    uint64_t now = npu_now(core.npu);
    g_autofree uint64_t *page = NULL;

    if (s->data) {
        return write_data(fd, offset, s->data, s->bytes);
    }
    page = g_malloc(s->bytes);
    for (uint64_t at = 0; at < s->bytes; at += 8) {
        page[at / 8] = npu_peek(&core.npu->model, now, s->core, at, 8);
    }
    return write_data(fd, offset, (uint8_t *)page, s->bytes);
}

static bool write_core(int fd)
{
    g_autoptr(GArray) all = segments();
    g_autoptr(GByteArray) head = g_byte_array_new(), text = g_byte_array_new();
    Elf64_Ehdr elf = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                                  ELFDATA2LSB, EV_CURRENT},
                      .e_type = ET_CORE,
                      .e_machine = EM_RISCV,
                      .e_version = EV_CURRENT,
                      .e_phoff = sizeof(elf),
                      .e_flags = EF_RISCV_RVC | EF_RISCV_FLOAT_ABI_DOUBLE,
                      .e_ehsize = sizeof(elf),
                      .e_phentsize = sizeof(Elf64_Phdr),
                      .e_phnum = all->len + 1};
    uint64_t offset = sizeof(elf) + elf.e_phnum * sizeof(Elf64_Phdr);
    Elf64_Phdr ph = {.p_type = PT_NOTE, .p_offset = offset};
    bool good = true;

    notes(text);
    ph.p_filesz = text->len;
    g_byte_array_append(head, (guint8 *)&elf, sizeof(elf));
    g_byte_array_append(head, (guint8 *)&ph, sizeof(ph));
    offset = ROUND_UP(offset + text->len, PAGE);
    for (unsigned i = 0; i < all->len; i++) {
        const Segment *s = &g_array_index(all, Segment, i);

        ph = (Elf64_Phdr){.p_type = PT_LOAD,
                          .p_flags = PF_R | PF_W | PF_X,
                          .p_offset = offset,
                          .p_vaddr = s->addr,
                          .p_paddr = s->addr,
                          .p_filesz = s->bytes,
                          .p_memsz = s->bytes,
                          .p_align = PAGE};
        g_byte_array_append(head, (guint8 *)&ph, sizeof(ph));
        good = good && write_segment(fd, offset, s);
        offset += ROUND_UP(s->bytes, PAGE);
    }
    g_byte_array_append(head, text->data, text->len);
    return good && pwrite(fd, head->data, head->len, 0) == (ssize_t)head->len &&
           ftruncate(fd, offset) == 0;
}

/* A confined thread may neither make nor remove it. */
static void make_file(void *opened)
{
    int fd = open(core.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    *(int *)opened = fd < 0 ? -errno : fd;
}

static void remove_file(void *unused)
{
    unlink(core.path);
}

/* Under the big lock, with core.reg set. */
static void take(void)
{
    int fd;

    outside_do(make_file, &fd);
    errno = fd < 0 ? -fd : 0;
    core.taken = fd >= 0 && write_core(fd);
    if (!core.taken || close(fd)) {
        error_report("npu.so: core=%s: %s", core.path, strerror(errno));
    }
}

static void note_registers(CPUState *cpu, uint64_t pc)
{
    memcpy(core.reg, npu_gpr(cpu), sizeof(core.reg));
    core.reg[0] = pc; /* in the place of x0 */
}

/* --- when --- */

/* data: the address, with the registers noted, or 0: here. */
static void take_work(CPUState *cpu, run_on_cpu_data data)
{
    if (!core.taken) {
        if (data.target_ptr == 0) {
            note_registers(cpu, CPU_GET_CLASS(cpu)->get_pc(cpu));
        }
        take();
    }
}

/* The hart is at the first instruction of a function and of a block: all registers but
 * the pc are where they belong. The clock cannot be read here. */
static void at_function(unsigned int index, void *address)
{
    if (!core.taken) {
        note_registers(first_cpu, (uintptr_t)address);
        async_run_on_cpu(first_cpu, take_work, RUN_ON_CPU_TARGET_PTR((uintptr_t)address));
    }
}

void npu_core_translated(struct qemu_plugin_tb *tb)
{
    struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, 0);

    for (unsigned i = 0; i < AT_MOST; i++) {
        if (core.at[i] && qemu_plugin_insn_vaddr(insn) == core.at[i]) {
            qemu_plugin_register_vcpu_insn_exec_cb(
                insn, at_function, QEMU_PLUGIN_CB_R_REGS, (void *)(uintptr_t)core.at[i]);
        }
    }
}

void npu_core_event(const struct npu_event *e)
{
    if (core.path && e->what == NPU_FAULTS && !core.taken) {
        async_run_on_cpu(first_cpu, take_work, RUN_ON_CPU_TARGET_PTR(0));
    }
}

static void do_interrupt(CPUState *cpu)
{
    uint32_t cause = cpu->exception_index;

    if (!(cause & INTERRUPT) && cause != NPU_EXCP_SEMIHOST && !core.taken) {
        note_registers(cpu, CPU_GET_CLASS(cpu)->get_pc(cpu));
        take();
    }
    core.qemu->do_interrupt(cpu);
}

static void at_exit(int status, void *arg)
{
    if (status == 1 || (status == RUN_FAULT && !core.taken)) {
        note_registers(first_cpu, CPU_GET_CLASS(first_cpu)->get_pc(first_cpu));
        take();
    } else if (status != RUN_FAULT && core.taken) {
        outside_do(remove_file, NULL);
        core.taken = false;
    }
    if (core.taken) {
        fprintf(stderr, "post mortem: %s; make debug-core FILE=%s\n", core.path,
                core.path);
    }
}

void npu_core_init(SalaiNPU *npu, const char *path, const char *at)
{
    g_auto(GStrv) words = g_strsplit(at, ":", AT_MOST);
    static struct TCGCPUOps ops;
    CPUClass *cc = CPU_GET_CLASS(first_cpu);

    core.npu = npu;
    core.path = path;
    read_build_id(current_machine->kernel_filename);
    core.qemu = cc->tcg_ops;
    ops = *core.qemu;
    ops.do_interrupt = do_interrupt;
    cc->tcg_ops = &ops;
    for (unsigned i = 0; words[i]; i++) {
        core.at[i] = g_ascii_strtoull(words[i], NULL, 16);
    }
    on_exit(at_exit, NULL);
}
