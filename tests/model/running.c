/* SPDX-License-Identifier: MIT
 *
 * What the runner does around each test of the host: noise, SIMD paths and the rig as at
 * the start, so that no test depends on those before it.
 */
#include <stdio.h>
#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"
#include "tools/emu/model/arith/simd.h"

void test_begin(void)
{
    rnd_begin();
    simd_limit(SIMD_COUNT);
    rig_prices(TIMING_v2);
    fresh();
}

int test_leak_check(char *buf, size_t n)
{
    if (rig.maps == 0) {
        return 0;
    }
    snprintf(buf, n, "%u mappings of guest memory were not given back", rig.maps);
    return 1;
}
