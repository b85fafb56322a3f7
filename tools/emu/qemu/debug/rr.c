/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * QEMU's own part of a recording, the file rr: when the clocks were read and when interrupts
 * came. QEMU believes what it reads there, and waits for ever for what does not come. So the
 * recording's manifest gets its sum, which tools/gdb/record compares, and a replay that stands
 * still is ended.
 */
#include "tools/emu/qemu/device/device.h"

#define STILL_S 10 /* a replay may stand so long; it comes on in each millisecond */

static struct {
    FILE *from, *manifest; /* of a recording, or NULL */
} rr;

static const char *rr_file(void)
{
    QemuOpts *opts = qemu_opts_find(qemu_find_opts("icount"), NULL);

    return opts ? qemu_opt_get(opts, "rrfile") : NULL;
}

/* When all exit handlers are done, among them QEMU's own, which writes the end of the file. The
 * thread may open no file by now. */
__attribute__((destructor)) static void write_sum(void)
{
    GChecksum *sum = rr.from ? g_checksum_new(G_CHECKSUM_SHA256) : NULL;
    guchar some[4096];
    size_t n;

    while (sum && (n = fread(some, 1, sizeof(some), rr.from)) > 0) {
        g_checksum_update(sum, some, n);
    }
    if (sum && !ferror(rr.from)) {
        fprintf(rr.manifest, "rr %s\n", g_checksum_get_string(sum));
        fclose(rr.manifest);
    }
}

void npu_rr_record(const char *dir)
{
    g_autofree char *manifest = g_build_filename(dir, "manifest", NULL);
    const char *path = rr_file();

    if (path && g_file_test(manifest, G_FILE_TEST_EXISTS)) {
        rr.manifest = fopen(manifest, "a");
        rr.from = rr.manifest ? fopen(path, "r") : NULL;
    }
}

/* Looks once a second at how far it is. */
static void *watch(void *opaque)
{
    int64_t last = -1;
    unsigned still = 0;

    for (;;) {
        int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);

        still = now == last && runstate_is_running() ? still + 1 : 0;
        last = now;
        if (still == STILL_S) {
            error_report("npu.so: replay: nothing goes on at %" PRId64 " ns: the recording "
                         "is damaged",
                         now);
            _exit(2); /* who would run exit handlers waits for what does not come */
        }
        g_usleep(G_USEC_PER_SEC);
    }
    return NULL;
}

void npu_rr_replay(void)
{
    static QemuThread thread;

    qemu_thread_create(&thread, "npu-replay", watch, NULL, QEMU_THREAD_DETACHED);
}
