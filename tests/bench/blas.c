/* SPDX-License-Identifier: MIT
 *
 * blas N RUNS: median seconds of an N x N x N sgemm by one thread of OpenBLAS, and
 * the name of the kernel that it has chosen for this processor.
 */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others run too */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 2048, runs = argc > 2 ? atoi(argv[2]) : 5;
    size_t count = (size_t)n * (size_t)n;
    float *a = malloc(count * sizeof(float)), *b = malloc(count * sizeof(float)),
          *c = malloc(count * sizeof(float));
    double times[64];

    if (n < 1 || runs < 1 || runs > 64 || a == NULL || b == NULL || c == NULL) {
        fprintf(stderr, "usage: blas N RUNS\n");
        return 2;
    }
    for (size_t i = 0; i < count; i++) {
        a[i] = (float)(i % 1021) / 512 - 1;
        b[i] = (float)(i % 509) / 256 - 1;
    }
    for (int i = -1; i < runs; i++) { /* the first warms up */
        double begin = seconds();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c,
                    n);
        if (i >= 0) {
            times[i] = seconds() - begin;
        }
    }
    qsort(times, (size_t)runs, sizeof(times[0]), compare);
    printf("%.4f %s\n", times[runs / 2], openblas_get_corename());
    free(a);
    free(b);
    free(c);
    return 0;
}
