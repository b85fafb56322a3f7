/* SPDX-License-Identifier: MIT
 *
 * From the model's events to the race check.
 */
#ifndef TOOLS_EMU_CHECK_RACE_STREAM_H
#define TOOLS_EMU_CHECK_RACE_STREAM_H

#include "tools/emu/check/race/race.h"
#include "tools/emu/model/npu.h"

void race_event(struct race *r, const struct npu_event *e);

#endif
