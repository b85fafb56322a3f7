/* SPDX-License-Identifier: MIT
 *
 * The command `vadd`: files in, file out, or made-up data of a given size.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/pmu.h"
#include "kernels/cli/args.h"
#include "kernels/cli/data.h"
#include "kernels/cli/operator.h"
#include "kernels/cli/report.h"
#include "kernels/vadd/vadd.h"

struct command {
    const char *out_path, *type_name;
    uint32_t n, cores, check, buffers;
    struct npy x, y;
    struct vadd p;
};

static int bad(const char *text)
{
    fprintf(stderr, "vadd: %s\n", text);
    return RUN_INPUT;
}

static int read_files(struct command *c, const char *const *files)
{
    if (data_read("vadd", files[0], &c->x) || data_read("vadd", files[1], &c->y)) {
        return RUN_INPUT;
    }
    if (c->x.type != c->y.type || (c->x.type != NPY_F4 && c->x.type != NPY_F2)) {
        fprintf(stderr, "vadd: %s is %s, %s is %s: want float32 or float16, both alike\n",
                files[0], npy_type_name(c->x.type), files[1], npy_type_name(c->y.type));
        return RUN_INPUT;
    }
    if (c->x.ndim != c->y.ndim ||
        memcmp(c->x.shape, c->y.shape, sizeof(c->x.shape)) != 0) {
        fprintf(stderr, "vadd: %s and %s have different shapes\n", files[0], files[1]);
        return RUN_INPUT;
    }
    if (c->x.bytes == 0) {
        fprintf(stderr, "vadd: %s has no elements\n", files[0]);
        return RUN_INPUT;
    }
    c->p = (struct vadd){
        .x = c->x.data, .y = c->y.data, .n = npy_count(&c->x), .type = data_type(&c->x)};
    return RUN_OK;
}

static int make_data(struct command *c)
{
    bool f16 = strcmp(c->type_name, "f16") == 0;

    if (!f16 && strcmp(c->type_name, "f32") != 0) {
        return bad("--type is f32 or f16");
    }
    if (c->n == 0) {
        return bad("want two .npy files, or --n");
    }
    c->p = (struct vadd){.n = c->n, .type = f16 ? TYPE_F16 : TYPE_F32};
    c->x.ndim = 1;
    c->x.shape[0] = c->n;
    c->x.data = data_make("vadd", c->p.type, c->n, 1);
    c->y.data = c->x.data == NULL ? NULL : data_make("vadd", c->p.type, c->n, 2);
    c->p.x = c->x.data;
    c->p.y = c->y.data;
    return c->p.x && c->p.y ? RUN_OK : RUN_INPUT;
}

static uint32_t reference(const void *arg, uint64_t i)
{
    return vadd_ref(arg, i);
}

static int launch(struct command *c)
{
    struct sched_report report;
    int err;

    for (unsigned i = 0; i < chip_cores(); i++) {
        pmu_start(i);
    }
    err = vadd(&c->p, &report);
    if (err) {
        return report_error("vadd", err, &report);
    }
    printf("vadd: %llu elements, %s\n", (unsigned long long)c->p.n, type_name(c->p.type));
    data_digest("vadd", c->p.z, c->p.type, c->p.n);
    report_pipes(c->p.cores ? c->p.cores : chip_cores(), 0);
    if (data_check("vadd", c->p.z, c->p.type, c->p.n, c->check, reference, &c->p)) {
        return RUN_CHECK;
    }
    if (c->check) {
        printf("checked %llu of %llu elements against the definition, bit for bit\n",
               (unsigned long long)(c->check < c->p.n ? c->check : c->p.n),
               (unsigned long long)c->p.n);
    }
    return RUN_OK;
}

static int run_command(struct command *c, const char *const *files, int n_files)
{
    int status = n_files == 2 ? read_files(c, files)
                 : n_files    ? bad("want two .npy files")
                              : make_data(c);

    if (status) {
        return status;
    }
    c->p.cores = c->cores;
    c->p.buffers = c->buffers;
    c->p.z = data_alloc("vadd", c->p.type, c->p.n);
    if (c->p.z == NULL) {
        return RUN_INPUT;
    }
    status = launch(c);
    if (status == RUN_OK && c->out_path) {
        status = data_write("vadd", c->out_path, c->p.type, c->x.ndim, c->x.shape, c->p.z)
                     ? RUN_INPUT
                     : RUN_OK;
    }
    free(c->p.z);
    return status;
}

static int run(int argc, char **argv)
{
    struct command c = {.type_name = "f32", .check = 1024};
    const struct option options[] = {
        {"-o", OPTION_TEXT, &c.out_path, 0, 0},
        {"--type", OPTION_TEXT, &c.type_name, 0, 0},
        {"--n", OPTION_NUMBER, &c.n, 1, UINT32_MAX},
        {"--cores", OPTION_NUMBER, &c.cores, 1, chip_cores()},
        {"--check", OPTION_NUMBER, &c.check, 0, UINT32_MAX},
        {"--buffers", OPTION_NUMBER, &c.buffers, 1, 2},
    };
    const char *files[2];
    int n_files =
        args_parse(argc, argv, options, sizeof(options) / sizeof(options[0]), files, 2);
    int status = n_files < 0 ? RUN_INPUT : run_command(&c, files, n_files);

    free(c.x.data);
    free(c.y.data);
    return status;
}

OPERATOR(vadd,
         "X.npy Y.npy -o Z.npy | --n N [--type f32|f16]  [--cores N] [--check ELEMENTS]"
         " [--buffers 1|2]",
         "z = x + y on the Vector: float32 or float16, any shape", run);
