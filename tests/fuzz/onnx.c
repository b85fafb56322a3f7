/* SPDX-License-Identifier: MIT
 *
 * Models that are rubbish: tools/graph makes a plan of one, which the firmware's reader takes,
 * or refuses it in one line with status 2; it does not crash, hang or end in another way.
 * libFuzzer finds inputs (make fuzz FUZZ=onnx). Sizes that a model only names are SIZE.
 *
 * The program ends where it refuses, and frees nothing. So exit() comes back here, and what an
 * input has left is freed: streams, of which the C library keeps a list, and blocks, of which
 * the sanitizer tells. No more than MOST bytes can be had, as if the machine had no more.
 */
#define _GNU_SOURCE /* memfd_create */
#include <sanitizer/allocator_interface.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/graph/fuse/fuse.h"
#include "tools/graph/passes/infer.h"
#include "tools/graph/passes/pass.h"
#include "tools/graph/plan/write.h"
#include "tools/graph/price/trial.h"
#include "tools/graph/report/explain.h"

enum { SIZE = 3, MOST = 64 << 20, BLOCKS = 1 << 22, STREAMS = 64, LINE = 4096 };

/* The linker has the program call those of the left in place of those of the right. */
_Noreturn void __wrap_exit(int status);
_Noreturn void __real_exit(int status);
void *__wrap_calloc(size_t n, size_t size);
void *__real_calloc(size_t n, size_t size);
FILE *__wrap_open_memstream(char **to, size_t *bytes);
FILE *__real_open_memstream(char **to, size_t *bytes);
int __wrap_fclose(FILE *f);
int __real_fclose(FILE *f);
int fuzz_onnx_input(const uint8_t *data, size_t size);

static bool inside; /* of the program */
static jmp_buf refused;
static const volatile void *blocks[BLOCKS]; /* since it began */
static size_t n_blocks, had;                /* bytes of others */
static FILE *streams[STREAMS];              /* that are open */
static char plan[MOST], said[MOST];

static void note(const volatile void *p, size_t bytes)
{
    if (inside && bytes && n_blocks < BLOCKS) {
        blocks[n_blocks++] = p;
    }
}

static void note_nothing(const volatile void *p)
{
    (void)p;
}

void *__wrap_calloc(size_t n, size_t size)
{
    size_t more = __sanitizer_get_current_allocated_bytes() - had;

    return inside && (n > MOST / size || more + n * size > MOST) ? NULL
                                                                 : __real_calloc(n, size);
}

FILE *__wrap_open_memstream(char **to, size_t *bytes)
{
    FILE *f = __real_open_memstream(to, bytes);

    for (unsigned i = 0; inside && i < STREAMS; i++) {
        if (!streams[i]) {
            streams[i] = f;
            break;
        }
    }
    return f;
}

int __wrap_fclose(FILE *f)
{
    for (unsigned i = 0; i < STREAMS; i++) {
        streams[i] = streams[i] == f ? NULL : streams[i];
    }
    return __real_fclose(f);
}

void __wrap_exit(int status)
{
    if (!inside) {
        __real_exit(status);
    }
    if (status != 2) {
        abort();
    }
    longjmp(refused, 1);
}

int64_t graph_size(const struct graph *g, const struct tensor *t, unsigned d,
                   const char *name)
{
    (void)g, (void)t, (void)d, (void)name;
    return SIZE;
}

void graph_sizes_heard(const struct graph *g)
{
    (void)g;
}

static void compile(const char *path, FILE *to, FILE *notes)
{
    struct graph *g = graph_read(path);
    struct emit *e;

    infer_graph(g);
    pass_graph(g);
    e = fuse_graph(g, &(struct rule_of_joining){"cycles", 0});
    write_plan(e, to);
    explain_text(e, notes);
    explain_json(e, notes);
}

static void forget(void)
{
    for (unsigned i = 0; i < STREAMS; i++) {
        if (streams[i]) {
            (void)__wrap_fclose(streams[i]); /* which may leave a last block */
        }
    }
    inside = false;
    for (size_t i = 0; i < n_blocks; i++) {
        if (__sanitizer_get_ownership(blocks[i])) {
            free((void *)(uintptr_t)blocks[i]);
        }
    }
    n_blocks = 0;
    trial_forget();
}

/* A stream for the program whose memory is not the program's. */
static FILE *stream(char *room, size_t bytes)
{
    FILE *f = fmemopen(room, bytes, "w");

    if (!f || setvbuf(f, NULL, _IONBF, 0) != 0) {
        abort();
    }
    return f;
}

/* What the program has made is a plan. */
static void look(const char *bytes, size_t size)
{
    void *file =
        aligned_alloc(PLAN_ALIGN, (size + PLAN_ALIGN - 1) / PLAN_ALIGN * PLAN_ALIGN);
    struct plan p;

    memcpy(file, bytes, size);
    if (plan_open(&p, file, size)) {
        abort();
    }
    free(file);
}

int fuzz_onnx_input(const uint8_t *data, size_t size)
{
    static bool begun;
    static volatile bool made;
    long bytes;
    int fd = memfd_create("model", MFD_CLOEXEC);
    char path[32], line[LINE] = "";
    FILE *to = stream(plan, MOST), *notes = stream(said, MOST), *err = stderr;

    if (!begun) {
        begun = __sanitizer_install_malloc_and_free_hooks(note, note_nothing) != 0;
    }
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || !begun) {
        perror("onnx");
        abort();
    }
    sprintf(path, "/proc/self/fd/%d", fd);
    stderr = stream(line, sizeof(line));
    had = __sanitizer_get_current_allocated_bytes();
    made = false;
    inside = true;
    if (setjmp(refused) == 0) {
        compile(path, to, notes);
        made = true;
    }
    forget();
    (void)fclose(stderr);
    stderr = err;
    bytes = ftell(to);
    (void)fclose(to);
    (void)fclose(notes);
    (void)close(fd);
    if (made) {
        look(plan, (size_t)bytes);
    } else if (strchr(line, '\n') != strrchr(line, '\n') || !strchr(line, '\n')) {
        fprintf(stderr, "not one line: '%s'\n", line);
        abort();
    }
    return 0;
}
