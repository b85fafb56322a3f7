/* SPDX-License-Identifier: MIT
 *
 * The command `matmul`: files in, file out, or made-up data of a given size.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/pmu.h"
#include "kernels/cli/args.h"
#include "kernels/cli/data.h"
#include "kernels/matmul/matmul.h"
#include "kernels/cli/operator.h"
#include "kernels/cli/report.h"

struct command {
    const char *out_path, *in_name, *out_name;
    uint32_t m, n, k, cores, check, repeat;
    struct npy a, b;
    struct matmul p;
};

static int bad(const char *text)
{
    fprintf(stderr, "matmul: %s\n", text);
    return RUN_INPUT;
}

static int read_files(struct command *c, const char *const *files)
{
    if (data_read("matmul", files[0], &c->a) || data_read("matmul", files[1], &c->b)) {
        return RUN_INPUT;
    }
    if (c->a.ndim != 2 || c->b.ndim != 2 || c->a.shape[1] != c->b.shape[0]) {
        fprintf(stderr,
                "matmul: %s (%zu, %zu) and %s (%zu, %zu): want (m, k) and (k, n)\n",
                files[0], c->a.shape[0], c->a.shape[1], files[1], c->b.shape[0],
                c->b.shape[1]);
        return RUN_INPUT;
    }
    if (c->a.type != c->b.type || (c->a.type != NPY_F2 && c->a.type != NPY_I1)) {
        fprintf(stderr, "matmul: %s is %s, %s is %s: want float16 or int8, both alike\n",
                files[0], npy_type_name(c->a.type), files[1], npy_type_name(c->b.type));
        return RUN_INPUT;
    }
    for (unsigned i = 0; i < 2; i++) {
        const size_t *shape = i ? c->b.shape : c->a.shape;
        if (shape[0] == 0 || shape[1] == 0 || shape[0] > INT32_MAX ||
            shape[1] > INT32_MAX) {
            fprintf(stderr, "matmul: %s (%zu, %zu): want dimensions from 1 to %ld\n",
                    files[i], shape[0], shape[1], (long)INT32_MAX);
            return RUN_INPUT;
        }
    }
    c->p = (struct matmul){.a = c->a.data,
                           .b = c->b.data,
                           .m = (uint32_t)c->a.shape[0],
                           .k = (uint32_t)c->a.shape[1],
                           .n = (uint32_t)c->b.shape[1],
                           .in = data_type(&c->a)};
    return RUN_OK;
}

static int make_data(struct command *c)
{
    c->p = (struct matmul){.m = c->m, .n = c->n, .k = c->k};
    c->p.in = strcmp(c->in_name, "s8") == 0 ? TYPE_S8 : TYPE_F16;
    if (c->p.in == TYPE_F16 && strcmp(c->in_name, "f16") != 0) {
        return bad("--type is f16 or s8");
    }
    if (c->m == 0 || c->n == 0 || c->k == 0) {
        return bad("want two .npy files, or --m, --n and --k");
    }
    c->a.data = data_make("matmul", c->p.in, (uint64_t)c->m * c->k, 1);
    c->b.data =
        c->a.data == NULL ? NULL : data_make("matmul", c->p.in, (uint64_t)c->k * c->n, 2);
    c->p.a = c->a.data;
    c->p.b = c->b.data;
    return c->p.a && c->p.b ? RUN_OK : RUN_INPUT;
}

static int choose_output(struct command *c)
{
    if (c->p.in == TYPE_S8) {
        c->p.out = TYPE_S32;
        return c->out_name ? bad("--out is for float16 files") : RUN_OK;
    }
    c->p.out = c->out_name && strcmp(c->out_name, "f16") == 0 ? TYPE_F16 : TYPE_F32;
    if (c->out_name && c->p.out == TYPE_F32 && strcmp(c->out_name, "f32") != 0) {
        return bad("--out is f32 or f16");
    }
    return RUN_OK;
}

static uint32_t reference(const void *arg, uint64_t i)
{
    const struct matmul *p = arg;

    return matmul_ref(p, (uint32_t)(i / p->n), (uint32_t)(i % p->n));
}

static int launch(struct command *c)
{
    struct sched_report report;
    uint64_t count = (uint64_t)c->p.m * c->p.n;
    int err = 0;

    for (unsigned i = 0; i < chip_cores(); i++) {
        pmu_start(i);
    }
    for (uint32_t i = 0; i < c->repeat; i++) {
        err = err ? err : matmul(&c->p, &report);
    }
    if (err) {
        return report_error("matmul", err, &report);
    }
    printf("matmul: (%u, %u) x (%u, %u), %s -> %s\n", (unsigned)c->p.m, (unsigned)c->p.k,
           (unsigned)c->p.k, (unsigned)c->p.n, type_name(c->p.in), type_name(c->p.out));
    data_digest("matmul", c->p.c, c->p.out, count);
    report_pipes(c->p.cores ? c->p.cores : chip_cores(),
                 (uint64_t)c->p.m * c->p.n * c->p.k * c->repeat);
    if (data_check("matmul", c->p.c, c->p.out, count, c->check, reference, &c->p)) {
        return RUN_CHECK;
    }
    if (c->check) {
        printf("checked %llu of %llu elements against the definition, bit for bit\n",
               (unsigned long long)(c->check < count ? c->check : count),
               (unsigned long long)count);
    }
    return RUN_OK;
}

static int run_command(struct command *c, const char *const *files, int n_files)
{
    size_t shape[2];
    bool sizes = c->m || c->n || c->k;
    int status = n_files && sizes
                     ? bad("--m, --n and --k are for made-up data, not files")
                 : n_files == 2 ? read_files(c, files)
                 : n_files      ? bad("want two .npy files")
                                : make_data(c);

    status = status ? status : choose_output(c);
    if (status) {
        return status;
    }
    c->p.cores = c->cores;
    c->p.c = data_alloc("matmul", c->p.out, (uint64_t)c->p.m * c->p.n);
    if (c->p.c == NULL) {
        return RUN_INPUT;
    }
    status = launch(c);
    shape[0] = c->p.m;
    shape[1] = c->p.n;
    if (status == RUN_OK && c->out_path) {
        status = data_write("matmul", c->out_path, c->p.out, 2, shape, c->p.c) ? RUN_INPUT
                                                                               : RUN_OK;
    }
    free(c->p.c);
    return status;
}

static int run(int argc, char **argv)
{
    struct command c = {.in_name = "f16", .check = 64, .repeat = 1};
    const struct option options[] = {
        {"-o", OPTION_TEXT, &c.out_path, 0, 0},
        {"--out", OPTION_TEXT, &c.out_name, 0, 0},
        {"--type", OPTION_TEXT, &c.in_name, 0, 0},
        {"--m", OPTION_NUMBER, &c.m, 1, INT32_MAX},
        {"--n", OPTION_NUMBER, &c.n, 1, INT32_MAX},
        {"--k", OPTION_NUMBER, &c.k, 1, INT32_MAX},
        {"--cores", OPTION_NUMBER, &c.cores, 1, chip_cores()},
        {"--repeat", OPTION_NUMBER, &c.repeat, 1, 1000},
        {"--check", OPTION_NUMBER, &c.check, 0, UINT32_MAX},
    };
    const char *files[2];
    int n_files =
        args_parse(argc, argv, options, sizeof(options) / sizeof(options[0]), files, 2);
    int status = n_files < 0 ? RUN_INPUT : run_command(&c, files, n_files);

    free(c.a.data);
    free(c.b.data);
    return status;
}

OPERATOR(matmul,
         "A.npy B.npy -o C.npy [--out f32|f16] | --m M --n N --k K [--type f16|s8]"
         "  [--cores N] [--check ELEMENTS] [--repeat TIMES]",
         "c = a x b on the Cube: float16 to float32 or float16, int8 to int32", run);
