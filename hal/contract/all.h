/* SPDX-License-Identifier: MIT
 *
 * Expands every .def file with the macros that the includer has defined, and
 * forgets them. Included many times, on purpose without a guard. The order of the
 * files is the order of the enumerators.
 */
#ifndef PARAM
#define PARAM(name, value, text)
#endif
#ifndef REG
#define REG(name, offset, access, reset, text)
#endif
#ifndef REGS
#define REGS(name, offset, count, access, reset, text)
#endif
#ifndef FIELD
#define FIELD(name, lsb, width, text)
#endif
#ifndef COUNTER
#define COUNTER(name, offset, text)
#endif
#ifndef EVENT
#define EVENT(name, number, pipe, counter, text)
#endif
#ifndef PIPE
#define PIPE(NAME, name, number, stage, text)
#endif
#ifndef MEM
#define MEM(NAME, name, offset, size, text)
#endif
#ifndef STAGE
#define STAGE(NAME, name, size)
#endif
#ifndef PROFILE
#define PROFILE(name, number, text)
#endif
#ifndef COST
#define COST(name, a2, ascend910, ascend310, unit, source)
#endif
#ifndef COST_V2
#define COST_V2(name, a2, ascend910, ascend310, v1, unit, source)                        \
    COST(name, a2, ascend910, ascend310, unit, source)
#endif
#ifndef TIMING
#define TIMING(name, number, text)
#endif
#ifndef PATH
#define PATH(name, text, predicted, median, worst, fitted, fits_worst)
#endif
#ifndef ERROR
#define ERROR(name, code, text)
#endif
#ifndef TYPE
#define TYPE(name, code, bits, c0, text)
#endif
#ifndef QUANT
#define QUANT(name, code, from, to, scale, text)
#endif
#ifndef CMD
#define CMD(NAME, pipe, opcode, types, flags, format, text)
#endif
#ifndef VEC
#define VEC(NAME, opcode, types, flags, format, slope32, slope16, fixed, text)           \
    CMD(NAME, V, opcode, types, flags, format, text)
#endif
#ifndef FORMAT
#define FORMAT(name)
#endif
#ifndef FORMAT_END
#define FORMAT_END(name)
#endif
#ifndef CMD_FLAG
#define CMD_FLAG(NAME, flag, bit, text)
#endif
#ifndef ARG
#define ARG(format, ctype, field, min, max, multiple, text)
#endif

/* In whose register page the registers of a line are: one of the three values. Those of pipe.def
 * at an offset that no pipe has are a core's. */
#define CONTRACT_PAGE(offset, chip, pipe, core) (core)
#include "hal/contract/mem.def"
#include "hal/contract/core.def"
#undef CONTRACT_PAGE
#define CONTRACT_PAGE(offset, chip, pipe, core) ((offset) < PIPE_STRIDE ? (pipe) : (core))
#include "hal/contract/pipe.def"
#undef CONTRACT_PAGE
#define CONTRACT_PAGE(offset, chip, pipe, core) (core)
#include "hal/contract/sem.def"
#include "hal/contract/pmu.def"
#undef CONTRACT_PAGE
#define CONTRACT_PAGE(offset, chip, pipe, core) (chip)
#include "hal/contract/chip.def"
#undef CONTRACT_PAGE
#define CONTRACT_PAGE(offset, chip, pipe, core) (core)
#include "hal/contract/profile.def"
#include "hal/contract/accuracy.def"
#include "hal/contract/error.def"
#include "hal/contract/type.def"
#include "hal/contract/cmd.def"
#include "hal/contract/mte.def"
#include "hal/contract/cube.def"
#include "hal/contract/vector.def"
#include "hal/contract/vector_reduce.def"
#include "hal/contract/vector_move.def"
#include "hal/contract/vector_gather.def"
#include "hal/contract/vector_sort.def"
#include "hal/contract/fixpipe.def"

#undef CONTRACT_PAGE
#undef PARAM
#undef REG
#undef REGS
#undef FIELD
#undef COUNTER
#undef EVENT
#undef PIPE
#undef MEM
#undef STAGE
#undef PROFILE
#undef COST
#undef COST_V2
#undef TIMING
#undef PATH
#undef ERROR
#undef TYPE
#undef QUANT
#undef CMD
#undef CMD_FLAG
#undef ARG
#undef VEC
#undef FORMAT
#undef FORMAT_END
