/* SPDX-License-Identifier: MIT
 *
 * No row of published against modelled cycles is further off than it was, and what the
 * contract says of their accuracy is so; calibrate.h.
 */
#include <string.h>

#include "tests/model/calibrate/calibrate.h"
#include "tests/test.h"

enum { ROWS = 64 };

/* Rows of each path, and the errors of those that are predictions, in order. */
static struct {
    unsigned predicted, fitted;
    double error[ROWS], fits_worst;
} seen[PATH_COUNT];

static unsigned up(double percent)
{
    unsigned whole = (unsigned)percent;

    return whole + (percent > whole);
}

static void note(const struct row *row, double cycles, double error)
{
    double size = error < 0 ? -error : error;
    unsigned i = seen[row->path].predicted;

    (void)cycles;
    if (row->basis != PREDICTED) {
        seen[row->path].fitted++;
        seen[row->path].fits_worst =
            size > seen[row->path].fits_worst ? size : seen[row->path].fits_worst;
        return;
    }
    for (seen[row->path].predicted++; i && seen[row->path].error[i - 1] > size; i--) {
        seen[row->path].error[i] = seen[row->path].error[i - 1];
    }
    seen[row->path].error[i] = size;
}

static void within(const struct row *row, double cycles, double error)
{
    ok(error <= row->accepted && -error <= row->accepted,
       "calibrate/%s: %.0f cycles, published %.1f", row->what, cycles, row->published);
    note(row, cycles, error);
}

static void check_told(enum npu_path path)
{
    const struct npu_accuracy *told = npu_accuracy(path);
    unsigned n = seen[path].predicted, fits_worst = up(seen[path].fits_worst);
    unsigned median = n ? up(seen[path].error[n / 2]) : 0;
    unsigned worst = n ? up(seen[path].error[n - 1]) : 0;

    if (!ok(told->predicted == n && told->median == median && told->worst == worst &&
                told->fitted == seen[path].fitted && told->fits_worst == fits_worst,
            "calibrate/accuracy of %s", told->text)) {
        test_note("accuracy.def has to say %u, %u, %u, %u, %u", n, median, worst,
                  seen[path].fitted, fits_worst);
    }
}

TEST(calibrate, published_cycles)
{
    memset(seen, 0, sizeof(seen));
    calibrate(within);
    for (unsigned p = 0; p < PATH_COUNT; p++) {
        check_told((enum npu_path)p);
    }
}
