/* SPDX-License-Identifier: MIT
 *
 * What every program here leans on: start-up, C library, host files, .npy files. Files
 * are made in build/ and removed again.
 */
#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "boot/boot.h"
#include "hal/host.h"
#include "hal/ram.h"
#include "kernels/cli/npy.h"
#include "tests/target/test.h"

extern char __bss_start[], __bss_end[], __heap_start[]; /* linker/npu.ld */
extern char __stack_bottom[], __stack_top[];

#define SCRATCH "build/scratch/boot_test.npy"

TEST(boot, bss_is_zero)
{
    static char big[10000];

    for (size_t i = 0; i < sizeof(big); i++) {
        CHECK_EQ(big[i], 0);
    }
    CHECK(&big[0] >= &__bss_start[0]);
    CHECK(&big[sizeof(big)] <= &__bss_end[0]);
}

TEST(boot, data_is_loaded)
{
    static volatile uint64_t value = 0x0123456789abcdef;

    CHECK_EQ(value, 0x0123456789abcdefu);
}

TEST(boot, stack_is_aligned)
{
    uintptr_t sp;

    __asm__ volatile("mv %0, sp" : "=r"(sp));
    CHECK_EQ(sp % 16, 0u);
    CHECK_EQ((uintptr_t)__stack_top % 16, 0u);
}

TEST(boot, float_unit_is_on)
{
    volatile double a = 1.0, b = 3.0;

    CHECK_EQ(a / b, 0x1.5555555555555p-2);
    CHECK_EQ(fegetround(), FE_TONEAREST);
}

static void skip_instruction(struct trap_frame *frame)
{
    volatile double d = 1.0;

    for (int i = 0; i < 10; i++) { /* disturb what the handler may */
        d = d * 3.0;
    }
    frame->pc += 4;
    frame->x[10] = 77; /* a0 */
}

/* All registers that the trap could lose are in use around it. */
TEST(trap, handler_can_resume)
{
    register uint64_t a0 __asm__("a0") = 0;
    uint64_t result, sum = 0;
    double fsum = 0;

    CHECK_OK(trap_register(2, skip_instruction)); /* illegal instruction */
    __asm__ volatile(
        ".irp n, 5,6,7,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n\t"
        "li x\\n, \\n\n\tfcvt.d.l f\\n, x\\n\n\t"
        ".endr\n\t"
        ".4byte 0xffffffff\n\t"
        ".irp n, 6,7,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n\t"
        "add x5, x5, x\\n\n\tfadd.d f5, f5, f\\n\n\t"
        ".endr\n\t"
        "mv %1, x5\n\tfmv.d %2, f5"
        : "+r"(a0), "=r"(sum), "=f"(fsum)
        :
        : "t0", "t1", "t2", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s2", "s3", "s4",
          "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "ft5", "ft6",
          "ft7", "fa1", "fa2", "fa3", "fa4", "fa5", "fa6", "fa7", "fs2", "fs3", "fs4",
          "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10",
          "memory");
    result = a0; /* calls reuse the register */
    CHECK_OK(trap_register(2, NULL));
    CHECK_EQ(result, 77u);
    CHECK_EQ(sum, 459u);
    CHECK_EQ(fsum, 459.0);
}

TEST(args, are_decoded)
{
    char line[] = "salai  a%20b c%2Cd %25 % %zz 100% %00 \"x\"";
    char *argv[10];
    static const char *const want[] = {"salai", "a b",  "c,d", "%",    "",
                                       "%zz",   "100%", "%00", "\"x\""};

    CHECK_EQ(host_split(line, argv, 9), 9);
    for (int i = 0; i < 9; i++) {
        CHECK_STR(argv[i], want[i]);
    }
    CHECK(argv[9] == NULL);
}

TEST(args, of_an_empty_line_are_none)
{
    char line[] = "   ";
    char *argv[1];

    CHECK_EQ(host_split(line, argv, 0), 0);
    CHECK(argv[0] == NULL);
}

TEST(args, too_many_are_refused)
{
    char line[] = "a b c";
    char *argv[3];

    CHECK_EQ(host_split(line, argv, 2), ERR_OVERFLOW);
}

TEST(libc, printf_formats_64_bits)
{
    char text[96];

    snprintf(text, sizeof(text), "%llu %lld %zu %lx %p", 18446744073709551615ull,
             -9223372036854775807ll, (size_t)1 << 40, 0xfedcba9876543210ul,
             (void *)(uintptr_t)0x80000000);
    CHECK_STR(text, "18446744073709551615 -9223372036854775807 1099511627776 "
                    "fedcba9876543210 0x80000000");
}

TEST(libc, printf_formats_doubles)
{
    char text[96];

    snprintf(text, sizeof(text), "%f %.3f %e %g %8.2f|%-8.1f|", 1.5, -0.0005, 12345.678,
             1e-7, 3.14159, 2.25);
    CHECK_STR(text, "1.500000 -0.001 1.234568e+04 1e-07     3.14|2.2     |");
    snprintf(text, sizeof(text), "%f %f %g", (double)INFINITY, (double)-INFINITY,
             (double)NAN);
    CHECK_STR(text, "inf -inf nan");
}

/* Alignments, lengths and distances of the overlap up to a few words, against bytes. */
TEST(libc, memory_functions_are_exact)
{
    static uint8_t got[256], want[256];

    for (unsigned n = 0; n < 160; n += n < 20 ? 1 : 7) {
        for (unsigned at = 0; at < 17; at++) {
            for (unsigned from = 0; from < 34; from += 3) {
                for (unsigned i = 0; i < 256; i++) {
                    got[i] = want[i] = (uint8_t)(i * 7);
                }
                for (unsigned i = 0; i < n; i++) {
                    want[16 + at + i] = (uint8_t)((16 + from + i) * 7 % 256);
                }
                memmove(got + 16 + at, got + 16 + from, n);
                CHECK_BYTES(got, want, sizeof(got));
            }
            memset(got + at, 0x5a, n);
            for (unsigned i = 0; i < n; i++) {
                want[at + i] = 0x5a;
            }
            CHECK_BYTES(got, want, sizeof(got));
        }
    }
    memcpy(got + 3, want + 100, 120);
    CHECK_BYTES(got + 3, want + 100, 120);
}

/* picolibc prints the shortest digits that read back, newlib all 17. */
TEST(libc, doubles_survive_printing)
{
    static const double values[] = {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0};
    char text[64];

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        double back;

        snprintf(text, sizeof(text), "%.17g", values[i]);
        back = strtod(text, NULL);
        CHECK_BYTES(&back, &values[i], sizeof(back));
    }
}

TEST(libc, numbers_are_parsed)
{
    char *end;

    CHECK_EQ(strtod("2.5e-3x", &end), 0.0025);
    CHECK_STR(end, "x");
    CHECK_EQ(strtoull("0xffffffffffffffff", NULL, 0), UINT64_MAX);
    CHECK_EQ(strtol("-42", NULL, 10), -42);
}

TEST(libc, malloc_gives_back)
{
    size_t size = 64u << 20;

    /* More often than there is room for; where in it is the library's own affair. */
    for (size_t i = 0; i < ram_left() / size + 2; i++) {
        char *block = malloc(size);

        CHECK(block != NULL);
        CHECK(block >= __heap_start && (uintptr_t)block + size <= ram_end);
        block[0] = block[size - 1] = 1;
        free(block);
    }
}

TEST(libc, malloc_refuses_too_much)
{
    volatile size_t huge = SIZE_MAX - 4096, most = (size_t)1 << 40;

    errno = 0;
    CHECK(malloc(most) == NULL);
    CHECK_EQ(errno, ENOMEM);
    CHECK(malloc(huge) == NULL);
    CHECK(malloc(SIZE_MAX / 2) == NULL);
    CHECK(calloc(huge, 16) == NULL);
    free(malloc(100)); /* and still works */
}

TEST(libc, aligned_alloc_aligns)
{
    void *p[8];

    for (size_t i = 0; i < 8; i++) {
        p[i] = aligned_alloc(512, 512 * (i + 1));
        CHECK(p[i] != NULL);
        CHECK_EQ((uintptr_t)p[i] % 512, 0u);
        memset(p[i], 0xff, 512 * (i + 1));
    }
    for (size_t i = 0; i < 8; i++) {
        free(p[i]);
    }
}

TEST(host, missing_file_is_named)
{
    CHECK_EQ(host_open("build/scratch/no such, file", HOST_READ), ERR_NOFILE);
    CHECK_EQ(host_errno(), ENOENT);
    CHECK_STR(host_errno_text(), "no such file or directory");
}

TEST(host, bad_handle_is_an_error)
{
    char c = 0;

    CHECK_EQ(host_read(12345, &c, 1), ERR_IO);
    CHECK_EQ(host_write(12345, &c, 1), ERR_IO);
    CHECK_EQ(host_close(12345), ERR_IO);
    CHECK_EQ(host_size(12345), (int64_t)ERR_IO);
}

TEST(host, end_of_file_is_a_short_read)
{
    char buf[16];
    int fd = host_open(SCRATCH, HOST_WRITE);

    CHECK(fd >= 0);
    CHECK_OK(host_write(fd, "hello", 5));
    CHECK_OK(host_close(fd));
    fd = host_open(SCRATCH, HOST_READ);
    CHECK_EQ(host_size(fd), 5);
    CHECK_EQ(host_read_some(fd, buf, sizeof(buf)), 5);
    CHECK_OK(host_seek(fd, 1));
    CHECK_EQ(host_read(fd, buf, 5), ERR_IO);
    CHECK_OK(host_close(fd));
    CHECK_OK(host_remove(SCRATCH));
    CHECK_EQ(host_remove(SCRATCH), ERR_IO);
}

TEST(host, full_disk_is_an_error)
{
    int fd = host_open("/dev/full", HOST_WRITE);

    CHECK(fd >= 0);
    CHECK_EQ(host_write(fd, "hello", 5), ERR_IO);
    CHECK_OK(host_close(fd));
}

TEST(npy, written_is_read_back)
{
    static int16_t data[6] = {1, -2, 3, -4, 5, -6};
    struct npy out = {.type = NPY_F2, .ndim = 3, .shape = {1, 2, 3}, .data = data};
    struct npy in;
    char why[NPY_WHY_BYTES] = "";

    CHECK_OK(npy_write(SCRATCH, &out, why));
    CHECK_OK(npy_read(SCRATCH, &in, why));
    CHECK_EQ(in.type, NPY_F2);
    CHECK_EQ(in.ndim, 3u);
    CHECK_BYTES(in.shape, ((size_t[]){1, 2, 3, 1, 1, 1, 1, 1}), sizeof(in.shape));
    CHECK_EQ(in.bytes, sizeof(data));
    CHECK_BYTES(in.data, data, sizeof(data));
    CHECK_EQ((uintptr_t)in.data % NPY_ALIGN, 0u);
    free(in.data);
    CHECK_OK(host_remove(SCRATCH));
}

TEST(npy, wrong_length_is_refused)
{
    struct npy npy = {.type = NPY_I1, .ndim = 1, .shape = {5}};
    char header[256], why[NPY_WHY_BYTES];
    int len = npy_format_header(&npy, header, sizeof(header));

    for (size_t n = 4; n <= 6; n++) {
        int fd = host_open(SCRATCH, HOST_WRITE);

        CHECK_OK(host_write(fd, header, (size_t)len));
        CHECK_OK(host_write(fd, "123456", n));
        CHECK_OK(host_close(fd));
        CHECK_EQ(npy_read(SCRATCH, &npy, why), n == 5 ? 0 : ERR_FORMAT);
        if (n == 4) {
            CHECK_STR(why, SCRATCH ": truncated: 4 bytes of data, the header says 5");
        } else if (n == 6) {
            CHECK_STR(why, SCRATCH ": too long: 6 bytes of data, the header says 5");
        }
        free(npy.data);
    }
    CHECK_OK(host_remove(SCRATCH));
}

TEST(npy, failure_leaves_no_file)
{
    struct npy npy = {.type = NPY_I1, .ndim = 1, .shape = {1}, .data = &npy};
    char why[NPY_WHY_BYTES];

    CHECK_EQ(npy_write("build/scratch/no dir/x.npy", &npy, why), ERR_NOFILE);
    CHECK_STR(why, "build/scratch/no dir/x.npy: no such file or directory");
    CHECK_EQ(npy_write("build/scratch", &npy, why), ERR_NOFILE);
    CHECK_STR(why, "build/scratch: is a directory");
}

TEST(npy, failure_leaves_none_of_several)
{
    const char *path[3] = {SCRATCH, NULL, "build/scratch/no dir/x.npy"};
    struct npy in, npy[3] = {{.type = NPY_I1, .ndim = 1, .shape = {1}, .data = &in}};
    char why[NPY_WHY_BYTES];

    npy[2] = npy[0];
    CHECK_EQ(npy_write_all(3, path, npy, why), ERR_NOFILE);
    CHECK_EQ(npy_read(SCRATCH, &in, why), ERR_NOFILE);
    CHECK_OK(npy_write_all(2, path, npy, why));
    CHECK_OK(npy_read(SCRATCH, &in, why));
    free(in.data);
    CHECK_OK(host_remove(SCRATCH));
}

TEST(npy, directory_is_refused)
{
    struct npy npy;
    char why[NPY_WHY_BYTES];

    CHECK_EQ(npy_read("build/scratch", &npy, why), ERR_NOFILE);
    CHECK_STR(why, "build/scratch: is a directory");
}
