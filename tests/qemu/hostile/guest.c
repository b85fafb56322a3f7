/* SPDX-License-Identifier: MIT
 *
 * A hostile image: bare RISC-V without the firmware, which tries to reach files of the host
 * that its command line does not name. hostile_test.sh builds it and looks at the files.
 *
 *   CASE [@PATH]...     runs one of `cases` with these paths; the @ keeps the command line
 *                       from naming them
 *
 * Prints "came through: CALL" for each call that was answered as if it had been made, in the
 * end "done".
 */
typedef unsigned char u8;
typedef unsigned long u64;

#define UB       0x08080000ul /* hal/contract/mem.def: memory below 1 GiB */
#define CORE_REG 0x08000000ul
#define CHIP_REG 0x07f00000ul
#define RAM      0x80000000ul
#define ROM      0x1000ul
#define TEST     0x100000ul
#define CLOCK    0x101000ul
#define UART     0x10000000ul
#define FLASH    0x20000000ul
#define PAGE     4096ul

enum {
    SYS_OPEN = 1,
    SYS_CLOSE = 2,
    SYS_WRITEC = 3,
    SYS_WRITE0 = 4,
    SYS_WRITE = 5,
    SYS_READC = 7, /* waits for somebody to type */
    SYS_SEEK = 10,
    SYS_REMOVE = 14,
    SYS_RENAME = 15,
    SYS_SYSTEM = 18,
    SYS_ERRNO = 19,
    SYS_GET_CMDLINE = 21,
    SYS_EXIT = 24,
    SYS_EXIT_EXTENDED = 32,
    NPU_HOST_INPUT = 0x100,
    NPU_HOST_OUTPUT = 0x101,
    NPU_HOST_OUTPUT_END = 0x102,
};

#define MPRV  (1ul << 17)
#define MPP_S (1ul << 11)
#define MPP_M (3ul << 11)
#define MPV   (1ul << 39)
enum { BREAKPOINT = 3, ECALL_U = 8, ECALL_VS = 10 }; /* mcause */

/* PTEs: valid, read, write, execute, accessed, dirty; for user mode as well; a pointer. */
#define LEAF      0xcful
#define LEAF_U    0xdful
#define SATP_SV(n) ((n) << 60)
enum { SV39 = 8, SV48 = 9, SV57 = 10 };

static u64 table[512] __attribute__((aligned(PAGE)));
static u64 deeper[2][512] __attribute__((aligned(PAGE)));
static u64 stage2[2048] __attribute__((aligned(4 * PAGE)));
static char line[8192], long_path[8192], far_text[2 * PAGE];
static char *argument[16];

__asm__(".section .first, \"ax\"\n"
        ".globl _start\n"
        "_start: la sp, stack_top\n"
        "la t0, stray\n csrw mtvec, t0\n"
        "call run\n"
        /* A trap that no case has asked for ends the run. */
        ".balign 4\n"
        "stray: li a0, 1\n call leave\n .text\n"
        ".bss\n .balign 16\n .skip 16384\n stack_top:\n .text\n");

#define CALL                   \
    ".balign 16\n"             \
    ".option push\n"           \
    ".option norvc\n"          \
    "slli zero, zero, 0x1f\n" \
    "ebreak\n"                 \
    "srai zero, zero, 7\n"     \
    ".option pop\n"

static __attribute__((noinline)) long call(long number, const volatile void *block)
{
    register long a0 __asm__("a0") = number;
    register const volatile void *a1 __asm__("a1") = block;

    __asm__ volatile(CALL : "+r"(a0) : "r"(a1) : "memory");
    return a0;
}

#define WRITE_CSR(name, value) __asm__ volatile("csrw " name ", %0" ::"r"(value) : "memory")

static u64 length(const char *s)
{
    u64 n = 0;

    while (s[n]) {
        n++;
    }
    return n;
}

static void copy(volatile char *to, const char *from, u64 n)
{
    for (u64 i = 0; i < n; i++) {
        to[i] = from[i];
    }
}

static void fill(char *to, char c, u64 n)
{
    for (u64 i = 0; i < n; i++) {
        ((volatile char *)to)[i] = c;
    }
}

static void say(const char *text)
{
    u64 tt[] = {(u64) ":tt", 4, 3}, out[] = {0, (u64)text, length(text)};

    out[0] = (u64)call(SYS_OPEN, tt);
    call(SYS_WRITE, out);
}

/* With these bits of mstatus set around it. */
static __attribute__((noinline)) long call_under(u64 bits, long number,
                                                 const volatile void *block)
{
    register long a0 __asm__("a0") = number;
    register const volatile void *a1 __asm__("a1") = block;

    __asm__ volatile("csrc mstatus, %3\n csrs mstatus, %2\n" CALL "csrc mstatus, %2\n"
                     : "+r"(a0)
                     : "r"(a1), "r"(bits), "r"(MPP_M | MPV)
                     : "memory");
    return a0;
}

/* From that mode (0 U, 1 S), which an ecall leads back from. */
static __attribute__((noinline)) long call_in(u64 mode, u64 more, long number,
                                              const volatile void *block)
{
    u64 cause;
    register long a0 __asm__("a0") = number;
    register const volatile void *a1 __asm__("a1") = block;

    __asm__ volatile("csrc mstatus, %5\n csrs mstatus, %3\n csrs mstatus, %4\n"
                     "la t0, 1f\n csrw mepc, t0\n"
                     "csrr t1, mtvec\n la t0, 2f\n csrw mtvec, t0\n mret\n"
                     "1:" CALL "ecall\n"
                     ".balign 4\n"
                     "2: csrw mtvec, t1\n csrc mstatus, %5\n csrr %1, mcause\n"
                     : "+r"(a0), "=&r"(cause)
                     : "r"(a1), "r"(mode << 11), "r"(more), "r"(MPP_M | MPV)
                     : "t0", "t1", "memory");
    if (cause != BREAKPOINT && (cause < ECALL_U || cause > ECALL_VS)) {
        say("not tested: this mode cannot run\n");
    }
    return cause == BREAKPOINT ? -1 : a0; /* of user mode QEMU takes no call */
}

void leave(long status)
{
    u64 block[] = {0x20026, (u64)status};

    for (;;) {
        call(SYS_EXIT_EXTENDED, block);
    }
}

static void came_through(long number)
{
    char text[] = "came through: 0x000\n";

    for (int i = 0; i < 3; i++) {
        text[18 - i] = "0123456789abcdef"[number >> 4 * i & 15];
    }
    say(text);
}

/* What a call with a path has to be answered with. */
static void must_fail(long number, long result)
{
    if (result >= 0 && result < 64) {
        came_through(number);
    }
}

/* The calls that a path is given to, each with its block. */
struct attempt {
    long number;
    u64 block[4];
};

static unsigned attempts(struct attempt *a, const char *path, u64 len)
{
    static const u8 with_length[] = {SYS_REMOVE, SYS_SYSTEM};
    unsigned n = 0;

    for (u64 mode = 0; mode <= 12; mode++) {
        a[n++] = (struct attempt){SYS_OPEN, {(u64)path, mode, len}};
    }
    a[n++] = (struct attempt){SYS_OPEN, {(u64)path, ~0ul, len}};
    a[n++] = (struct attempt){NPU_HOST_INPUT, {(u64)path, 0, len}};
    a[n++] = (struct attempt){NPU_HOST_OUTPUT, {(u64)path, 0, len}};
    for (unsigned i = 0; i < sizeof(with_length); i++) {
        a[n++] = (struct attempt){with_length[i], {(u64)path, len}};
    }
    a[n++] = (struct attempt){SYS_RENAME, {(u64)path, len, (u64) "stolen", 6}};
    a[n++] = (struct attempt){SYS_RENAME, {(u64) "guest.elf", 9, (u64)path, len}};
    return n;
}

static void try_all(const char *path, u64 len)
{
    struct attempt a[24];
    unsigned n = attempts(a, path, len);

    for (unsigned i = 0; i < n; i++) {
        long result = call(a[i].number, a[i].block);

        must_fail(a[i].number, result);
        if (a[i].number == NPU_HOST_OUTPUT && result >= 0) {
            call(NPU_HOST_OUTPUT_END, (u64[]){(u64)result, 1});
        }
    }
}

/* --- translation --- */

/* Memory for every mode. */
static void open_pmp(void)
{
    WRITE_CSR("pmpaddr0", ~0ul >> 10);
    WRITE_CSR("pmpcfg0", 0x1ful);
}

/* All of the first 4 GiB where it is, by gigapages, below as many tables as there are levels. */
static u64 satp_identity(u64 mode, u64 leaf)
{
    u64 *at = table;

    for (u64 i = 0; i < 4; i++) {
        (mode == SV39 ? table : deeper[0])[i] = i << 28 | leaf;
    }
    if (mode == SV57) {
        table[0] = (u64)deeper[1] >> 2 | 1;
        at = deeper[1];
    }
    if (mode != SV39) {
        at[0] = (u64)deeper[0] >> 2 | 1;
    }
    __asm__ volatile("sfence.vma" ::: "memory");
    return SATP_SV(mode) | (u64)table >> 12;
}

/* Page walks read the UART: 8 bytes from its first register are one byte of its FIFO, and a
 * gigapage at 0, which is there (c) or not (.), as `pattern` says from access to access. */
static void load_uart(const char *pattern)
{
    volatile u8 *uart = (u8 *)UART;

    uart[4] = 0x10;        /* MCR: loopback */
    uart[2] = 0x01 | 0x06; /* FCR: FIFOs, empty */
    while (*pattern) {
        uart[0] = *pattern++ == 'c' ? LEAF : 0;
    }
}

/* The block and a path across a page's end, where the walk leads: in a memory of the NPU, below
 * 1 GiB. The first half is a name that may be written, both are one that may not. */
static void *place_block(const char *first, const char *second)
{
    char *text = (char *)(UB + 2 * PAGE - length(first));
    u64 *block = (u64 *)UB;

    copy(text, first, length(first));
    copy(text + length(first), second, length(second) + 1);
    block[0] = (u64)text;
    block[1] = length(first) + length(second);
    block[2] = block[1];
    return block;
}

/* Of 16 accesses one or two fail, at every place; the rest succeed. */
static void walk(void)
{
    static const long number[] = {SYS_REMOVE, SYS_OPEN, NPU_HOST_INPUT, NPU_HOST_OUTPUT};

    open_pmp();
    for (unsigned i = 0; i < sizeof(number) / sizeof(number[0]); i++) {
        for (int a = 0; a < 16; a++) {
            for (int b = a; b < 16; b++) {
                char pattern[] = "cccccccccccccccc";
                u64 *block = place_block(argument[1] + 1, argument[2] + 1);

                if (number[i] == SYS_OPEN) {
                    block[1] = 4;
                }
                pattern[a] = pattern[b] = '.';
                load_uart(pattern);
                WRITE_CSR("satp", SATP_SV((u64)SV39) | UART >> 12);
                must_fail(number[i], call_under(MPRV | MPP_S, number[i], block));
                WRITE_CSR("satp", 0ul);
            }
        }
    }
}

/* Calls that would be right otherwise, with addresses that lead elsewhere than they say. */
static void translated(void)
{
    static const u64 modes[] = {SV39, SV48, SV57};
    const char *path = argument[1] + 1;
    u64 block[] = {(u64)path, 0, length(path)}, text[] = {(u64) ":tt", 4, 3};

    open_pmp();
    for (unsigned i = 0; i < 3; i++) {
        WRITE_CSR("satp", satp_identity(modes[i], LEAF));
        must_fail(SYS_OPEN, call_under(MPRV | MPP_S, SYS_OPEN, block));
        must_fail(SYS_OPEN, call_under(MPRV | MPP_S, SYS_OPEN, text));
        must_fail(SYS_OPEN, call_in(1, 0, SYS_OPEN, text));
        must_fail(SYS_OPEN, call_in(1, 0, SYS_OPEN, block));
        WRITE_CSR("satp", satp_identity(modes[i], LEAF_U));
        must_fail(SYS_OPEN, call_in(0, 0, SYS_OPEN, text));
        WRITE_CSR("satp", 0ul);
    }
    must_fail(SYS_OPEN, call_in(1, 0, SYS_OPEN, text));
    must_fail(SYS_OPEN, call_in(0, 0, SYS_OPEN, text));
    must_fail(NPU_HOST_INPUT, call_in(0, 0, NPU_HOST_INPUT, block));
}

/* The same with a hypervisor's two stages, either of them or both. */
static void two_stages(void)
{
    const char *path = argument[1] + 1;
    u64 block[] = {(u64)path, 0, length(path)}, text[] = {(u64) ":tt", 4, 3};

    open_pmp();
    for (u64 i = 0; i < 4; i++) {
        stage2[i] = i << 28 | LEAF_U;
    }
    for (unsigned which = 1; which < 4; which++) {
        WRITE_CSR("0x280", which & 1 ? satp_identity(SV39, LEAF) : 0ul); /* vsatp */
        WRITE_CSR("0x680",
                  which & 2 ? SATP_SV((u64)SV39) | (u64)stage2 >> 12 : 0ul); /* hgatp */
        must_fail(SYS_OPEN, call_under(MPRV | MPV | MPP_S, SYS_OPEN, block));
        must_fail(SYS_OPEN, call_in(1, MPV, SYS_OPEN, text));
        must_fail(SYS_OPEN, call_in(1, MPV, SYS_OPEN, block));
    }
}

/* --- arguments --- */

/* hal/contract/chip.def, CHIP_GM_SIZE. */
static u64 ram_end(void)
{
    return RAM + *(volatile u64 *)(CHIP_REG + 0x20);
}

/* Every number with every pointer that could be one; but for the calls that end the run. */
static void numbers(void)
{
    static u64 good[8];
    const char *path = argument[1] + 1;
    u64 end = ram_end();
    const u64 blocks[] = {(u64)good, 0,          8,           ~7ul,     ~0ul,  end - 8,
                          end - 24,  end - 4,    end,         ROM,      TEST,  CLOCK,
                          UART,      FLASH,      CORE_REG,    1ul << 63, (u64)good | 1ul << 56,
                          UB,        UB + 0x3fff8, CHIP_REG, RAM - 16, 1ul << 38};

    for (long number = 0; number <= 0x200; number++) {
        if (number == SYS_EXIT || number == SYS_EXIT_EXTENDED || number == SYS_READC) {
            continue;
        }
        for (unsigned i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
            good[0] = (u64)path;
            good[1] = good[2] = good[3] = length(path);
            if (number >= 3 && number <= 5) {
                good[0] = 99; /* no handle: nothing is to be printed */
                if (number != 5) {
                    continue;
                }
            }
            call(number, (const void *)blocks[i]);
        }
    }
}

/* A good block with a path that is somewhere else. */
static void places(void)
{
    const char *path = argument[1] + 1;
    u64 end = ram_end(), n = length(path);
    const u64 at[] = {0,    8,     ~0ul,  ~7ul,     end - n,   end - 4, end,  ROM, TEST,
                      CLOCK, UART, FLASH, CORE_REG, CHIP_REG, RAM - 8, UB + 0x3fffc};

    copy((char *)end - n, path, n); /* no byte is left for the 0 behind it */
    for (unsigned i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        try_all((const char *)at[i], n);
        try_all((const char *)at[i], 0);
        try_all((const char *)at[i], ~0ul);
        try_all((const char *)at[i], 1ul << 32);
    }
}

/* Paths that lead to what no argument names, in all lengths. */
static void paths(void)
{
    static const u64 lengths[] = {0, 1, 4094, 4095, 4096, 4097, 5000};

    for (unsigned i = 1; argument[i]; i++) {
        const char *path = argument[i] + 1;
        u64 n = length(path);

        try_all(path, n);
        try_all(path, n - 1);
        try_all(path, n + 1);
        try_all(path, 0);
        try_all(path, ~0ul);
        /* What may be written, a 0, and what may not. */
        copy(far_text, path, n + 1);
        copy(far_text + n + 1, "/../../secret", 14);
        try_all(far_text, n + 14);
        for (unsigned l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
            if (lengths[l] >= n) { /* ././././path */
                fill(long_path, '/', lengths[l]);
                for (u64 k = 0; k + 1 < lengths[l] - n; k += 2) {
                    long_path[k] = '.';
                }
                copy(long_path + lengths[l] - n, path, n);
                long_path[lengths[l]] = '\0';
                try_all(long_path, lengths[l]);
            }
        }
    }
}

/* Makes, writes and removes what follows -o, again and again, while somebody swaps links. */
static void busy(void)
{
    const char *path = argument[1] + 1;
    u64 n = length(path), text[] = {(u64)path, 4, n};

    say("begin\n");
    for (unsigned i = 0; i < 100; i++) {
        long fd = call(NPU_HOST_OUTPUT, text);

        if (fd >= 0) {
            call(SYS_WRITE, (u64[]){(u64)fd, (u64) "hostile", 7});
            call(NPU_HOST_OUTPUT_END, (u64[]){(u64)fd, i & 1});
        }
        fd = call(SYS_OPEN, text);
        if (fd >= 0) {
            call(SYS_WRITE, (u64[]){(u64)fd, (u64) "hostile", 7});
            call(SYS_CLOSE, (u64[]){(u64)fd});
        }
        call(SYS_REMOVE, (u64[]){(u64)path, n});
    }
}

/* Fills a file, at its end and far behind it, and then makes many. */
static void fill_disk(void)
{
    const char *path = argument[1] + 1;
    u64 n = length(path), fd, left;

    fd = (u64)call(SYS_OPEN, (u64[]){(u64)path, 4, n});
    left = (u64)call(SYS_WRITE, (u64[]){fd, RAM, 64ul << 20});
    say(left == 0 ? "64 MiB are written\n" : "64 MiB are not written\n");
    for (u64 far = 300ul << 20; far != 0; far <<= 1) {
        call(SYS_SEEK, (u64[]){fd, far});
        if (call(SYS_WRITE, (u64[]){fd, RAM, 1}) == 0) {
            say("came through: a hole\n");
        }
    }
    call(SYS_SEEK, (u64[]){fd, 64ul << 20});
    for (u64 i = 0; i < 20; i++) {
        call(SYS_WRITE, (u64[]){fd, RAM, 64ul << 20});
    }
    call(SYS_CLOSE, (u64[]){fd});
    copy(far_text, path, n);
    for (u64 i = 0; i < 300; i++) {
        for (int k = 0; k < 4; k++) {
            far_text[n + (u64)k] = (char)('a' + (i >> 4 * k & 15));
        }
        fd = (u64)call(SYS_OPEN, (u64[]){(u64)far_text, 4, n + 4});
        if ((long)fd < 0) {
            say("no more files\n");
            break;
        }
        call(SYS_CLOSE, (u64[]){fd});
    }
}

/* Prints what a terminal would obey, by each call that prints. */
static void print(void)
{
    static const char text[] = "one \033[31mred \233 \302\233 \177 \303\244\t.\r\n";

    say(text);
    call(SYS_WRITE0, "two \033]0;title\007\n");
    for (const char *s = "three \033c\n"; *s; s++) {
        call(SYS_WRITEC, s);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"walk", walk},       {"translated", translated}, {"two_stages", two_stages},
    {"numbers", numbers}, {"places", places},         {"paths", paths},
    {"busy", busy},       {"fill_disk", fill_disk},   {"print", print},
};

static int same(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++, b++;
    }
    return *a == *b;
}

/* The words behind the image's own name. */
static void split(void)
{
    u64 block[] = {(u64)line, sizeof(line)};
    char *s = line;
    unsigned n = 0;

    call(SYS_GET_CMDLINE, block);
    while (*s && *s != ' ') {
        s++;
    }
    while (*s && n < 15) {
        *s++ = '\0';
        argument[n++] = s;
        while (*s && *s != ' ') {
            s++;
        }
    }
}

void run(void)
{
    (void)ram_end(); /* an image that does not look at the NPU is none, check/check.c */
    split();
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (argument[0] && same(argument[0], cases[i].name)) {
            cases[i].run();
            say("done\n");
            leave(0);
        }
    }
    leave(2);
}
