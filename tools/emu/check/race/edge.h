/* SPDX-License-Identifier: MIT
 *
 * What orders accesses, by name, so that tests can ask of each whether anything depends on
 * it: HOLDS(name) is true, but in a build with CHECK_EDGES, which no npu.so is, one may be
 * left out.
 */
#ifndef TOOLS_EMU_CHECK_RACE_EDGE_H
#define TOOLS_EMU_CHECK_RACE_EDGE_H

enum edge {
#define EDGE(name, text) EDGE_##name,
#define RULE(name, text) EDGE_##name,
#include "tools/emu/check/race/edge.def"
#undef EDGE
#undef RULE
    EDGES
};

#ifdef CHECK_EDGES
extern enum edge check_left_out; /* EDGES: none */
#define HOLDS(name) (check_left_out != EDGE_##name)
#else
#define HOLDS(name) 1
#endif

#endif
