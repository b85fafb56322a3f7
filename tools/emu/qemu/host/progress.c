/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Somebody at a terminal sees that a run which takes long goes on: from two seconds on a line
 * on stderr, once a second, that the next output takes the place of. Wall clock, a thread
 * that only looks, and nothing of it reaches the guest or a file.
 */
#include "tools/emu/qemu/device/call.h"

#define FIRST_S 2
#define ERASE   "\033[K"

static struct {
    SalaiNPU *npu;
    const struct TCGCPUOps *qemu;
    pthread_mutex_t lock;
    bool shown, over;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void put(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

static void show(unsigned seconds)
{
    const SalaiNPU *npu = progress.npu;
    g_autofree char *text = NULL;
    uint64_t commands = 0;

    for (unsigned c = 0; c < npu->config.cores; c++) {
        for (unsigned p = PIPE_V; p < NPU_PIPES; p++) {
            commands += npu_head_number(&npu->model, c, p) - 1;
        }
    }
    text = g_strdup_printf("npu.so: %u s, %" PRIu64 " commands" ERASE "\r", seconds,
                           commands);
    pthread_mutex_lock(&progress.lock);
    if (!progress.over) {
        put(text);
        progress.shown = true;
    }
    pthread_mutex_unlock(&progress.lock);
}

static void *look(void *opaque)
{
    int64_t begin = g_get_monotonic_time();

    for (;;) {
        g_usleep(G_USEC_PER_SEC);
        unsigned seconds = (g_get_monotonic_time() - begin) / G_USEC_PER_SEC;
        if (seconds >= FIRST_S) {
            show(seconds);
        }
    }
    return NULL;
}

static void erase(bool over)
{
    pthread_mutex_lock(&progress.lock);
    if (progress.shown) {
        put(ERASE);
        progress.shown = false;
    }
    progress.over = over;
    pthread_mutex_unlock(&progress.lock);
}

static void at_exit(void)
{
    erase(true);
}

/* What the image writes, it writes by a call to the host. */
static void do_interrupt(CPUState *cpu)
{
    if (cpu->exception_index == NPU_EXCP_SEMIHOST) {
        erase(false);
    }
    progress.qemu->do_interrupt(cpu);
}

void npu_progress_open(SalaiNPU *npu)
{
    static struct TCGCPUOps ops;
    pthread_t thread;

    progress.npu = npu;
    if (isatty(STDERR_FILENO) && pthread_create(&thread, NULL, look, NULL) == 0) {
        progress.qemu = call_hook(&ops, do_interrupt);
        atexit(at_exit);
    }
}
