/* SPDX-License-Identifier: MIT
 *
 * The C view of the hardware contract: enumerators, command structs and the rows
 * of hal/contract/tables.c, all expanded from the .def files beside this header.
 * Firmware, model, tests, the generated tables of the pages and (through DWARF)
 * gdb read it from here; no number of the hardware is written anywhere else.
 */
#ifndef HAL_CONTRACT_CONTRACT_H
#define HAL_CONTRACT_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hal/contract/hint.h"

/* Each block expands all .def files with the macros it wants; the others are nothing. */
#define PARAM(name, value, text) name = (value),
enum contract_param {
#include "hal/contract/all.h"
};

#define REG(name, offset, access, reset, text)         name = (offset),
#define REGS(name, offset, count, access, reset, text) name = (offset),
enum contract_reg {
#include "hal/contract/all.h"
};

#define COUNTER(name, offset, text) PMU_##name = (offset),
enum pmu_counter {
#include "hal/contract/all.h"
};

/* Their numbers, in the order of the lines. */
#define COUNTER(name, offset, text) PMU_INDEX_##name,
enum pmu_index {
#include "hal/contract/all.h"
    PMU_COUNTERS,
};

#define EVENT(name, number, pipe, counter, text) EVENT_##name = (number),
enum pmu_event {
#include "hal/contract/all.h"
};

/* A field is named by its mask. */
#define CONTRACT_MASK(lsb, width)     ((UINT64_MAX >> (64 - (width))) << (lsb))
#define FIELD(name, lsb, width, text) name = CONTRACT_MASK(lsb, width),
enum contract_field {
#include "hal/contract/all.h"
};

#define PIPE(NAME, name, number, stage, text) PIPE_##NAME = (number),
enum pipe {
#include "hal/contract/all.h"
};

enum pipe_state {
    PIPE_EMPTY,   /* nothing queued */
    PIPE_WAITING, /* the head waits for a semaphore */
    PIPE_RUNNING, /* the head runs */
    PIPE_STOPPED, /* the head broke a rule, see PIPE_ERROR */
};

#define MEM(NAME, name, offset, size, text) NPU_MEM_##NAME,
#define STAGE(NAME, name, size)             NPU_MEM_##NAME,
enum npu_mem {
#include "hal/contract/all.h"
    NPU_MEM_COUNT,
    NPU_MEM_GM = NPU_MEM_COUNT, /* in the description of an access */
};

/* For gdb, which knows what DWARF tells: where the memories begin in a core's window,
 * and how many registers a row has. */
#define MEM(NAME, name, offset, size, text) NPU_AT_##NAME = (offset),
enum npu_mem_at {
#include "hal/contract/all.h"
};

#define REGS(name, offset, count, access, reset, text) ROW_##name = (count),
enum contract_row {
#include "hal/contract/all.h"
};

#define PROFILE(name, number, text) PROFILE_##name = (number),
enum npu_profile {
#include "hal/contract/all.h"
    PROFILE_COUNT,
};

#define TIMING(name, number, text) TIMING_##name = (number),
enum npu_timing {
#include "hal/contract/all.h"
    TIMING_COUNT,
};

#define COST(name, a2, ascend910, ascend310, unit, source) COST_##name,
enum npu_cost {
#include "hal/contract/all.h"
    COST_COUNT,
};

#define PATH(name, text, predicted, median, worst, fitted, fits_worst) PATH_##name,
enum npu_path {
#include "hal/contract/all.h"
    PATH_COUNT,
};

#define ERROR(name, code, text) NPU_ERR_##name = (code),
enum npu_error {
#include "hal/contract/all.h"
    NPU_ERR_COUNT,
};

#define TYPE(name, code, bits, c0, text) TYPE_##name = (code),
enum type {
#include "hal/contract/all.h"
    TYPE_COUNT,
};

/* The largest number of any chip, for who has to have room for it. */
#define T(name)      (1u << TYPE_##name)
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))
#define COST(name, a2, ascend910, ascend310, unit, source)                               \
    COST_MAX_##name = MAX_OF(a2, MAX_OF(ascend910, ascend310)),
enum npu_cost_max {
#include "hal/contract/all.h"
};
#undef MAX_OF
#undef T

#define QUANT(name, code, from, to, scale, text) QUANT_##name = (code),
enum quant {
#include "hal/contract/all.h"
    QUANT_COUNT,
};

#define CMD(NAME, pipe, opcode, types, flags, format, text) OP_##NAME = (opcode),
enum op {
#include "hal/contract/all.h"
};

#define CMD_FLAG(NAME, flag, bit, text) NAME##_##flag = 1 << (bit),
enum cmd_flag {
#include "hal/contract/all.h"
};

/* What every command begins with. A count of 0 means no semaphore. */
struct cmd_head {
    uint16_t opcode; /* enum op */
    uint8_t type;    /* enum type */
    uint8_t flags;   /* enum cmd_flag of this opcode */
    uint32_t tag;    /* shown in faults and traces, means nothing to the hardware */
    uint64_t pc;     /* who issued it, likewise */
    uint8_t wait_sem[2], wait_n[2]; /* begin when both hold so much, and take it */
    uint8_t post_sem[2], post_n[2]; /* add when the last byte is written */
};

#define FORMAT(name)                                                                     \
    struct cmd_##name {                                                                  \
        struct cmd_head head;
#define ARG(format, ctype, field, min, max, multiple, text) ctype field;
#define FORMAT_END(name)                                                                 \
    }                                                                                    \
    ;                                                                                    \
    _Static_assert(sizeof(struct cmd_##name) <= CMD_BYTES, "cmd_" #name " is too long");
#include "hal/contract/all.h"

#define FORMAT(name) struct cmd_##name name;
union cmd {
    struct cmd_head head;
    uint8_t bytes[CMD_BYTES];
    uint64_t words[CMD_BYTES / 8];
#include "hal/contract/all.h"
};
_Static_assert(sizeof(union cmd) == CMD_BYTES, "a command is 64 bytes");
_Static_assert(sizeof(struct cmd_head) == 24, "operands begin at byte 24");

/* Rows of the tables in tables.c. */
struct __attribute__((packed, aligned(4))) cmd_arg { /* every image has hundreds */
    const char *name; /* behind its 0 follows what the operand is: cmd_arg_text */
    uint8_t offset;   /* in the command */
    uint8_t size;
};
struct cmd_range {
    uint64_t max;
    uint32_t min;
    uint16_t multiple;
};
struct cmd_info {
    const char *name;
    const struct cmd_arg *args;
    uint32_t types; /* bit n: type n is taken */
    uint16_t opcode;
    uint8_t pipe;  /* 0: any */
    uint8_t flags; /* bits that may be set */
    uint8_t n_args;
    /* Vector: cycles of a repeat with 4-byte and with smaller elements, and besides. */
    uint8_t slope32, slope16, fixed;
};
struct contract_name {
    int value;
    const char *name, *text;
};

/* The command with this opcode, or NULL. */
const struct cmd_info *cmd_find(unsigned opcode);
/* Bytes from the first to behind the last operand; the rest of the 64 is 0. */
unsigned cmd_length(const struct cmd_info *info);
/* An operand's value in a command, zero-extended. */
uint64_t cmd_arg_value(const union cmd *cmd, const struct cmd_arg *arg);
/* What the operand, one of info->args, may be. Firmware, which never asks, has no such
 * tables in its image. */
const struct cmd_range *cmd_range(const struct cmd_info *info, const struct cmd_arg *arg);
/* What an operand is, in words. */
const char *cmd_arg_text(const struct cmd_arg *arg);
/* The operand of `info` at a byte offset, or NULL. */
const struct cmd_arg *cmd_arg_at(const struct cmd_info *info, unsigned offset);
/* Names and texts; "?" for a value that has none. */
const char *pipe_name(unsigned pipe);
const char *npu_mem_name(enum npu_mem mem);
const char *npu_error_name(unsigned code);
const char *npu_error_text(unsigned code);
const char *npu_profile_name(unsigned profile);
const char *type_name(unsigned type);
/* Profile with this name, or -1. */
int npu_profile_find(const char *name);
/* The same of what decides on prices, besides the profile. */
const char *npu_timing_name(unsigned timing);
int npu_timing_find(const char *name);
/* A number of a profile. */
uint32_t npu_profile_cost(enum npu_profile profile, enum npu_timing timing,
                          enum npu_cost cost);
/* How far the cycles of what a run spends them on are from measured ones (accuracy.def):
 * numbers of rows, errors in percent. */
struct npu_accuracy {
    const char *text;
    uint16_t predicted, median, worst, fitted, fits_worst;
};
const struct npu_accuracy *npu_accuracy(enum npu_path path);
/* Offset of a memory in its core's window (0: not mapped) and its size. */
uint32_t npu_mem_offset(enum npu_mem mem);
enum npu_cost npu_mem_cost(enum npu_mem mem); /* the entry that holds its size */
uint32_t npu_mem_size(enum npu_profile profile, enum npu_mem mem);
/* Bits of an element and elements in a 32-byte block; 0 for an unknown type. */
unsigned type_bits(unsigned type);
unsigned type_c0(unsigned type);

static inline uint64_t field_get(uint64_t mask, uint64_t word)
{
    return (word & mask) / (mask & -mask);
}

static inline uint64_t field_put(uint64_t mask, uint64_t value)
{
    return (value * (mask & -mask)) & mask;
}

/* Line of the PLIC that a core has. */
static inline unsigned npu_irq_line(unsigned core)
{
    return core < NPU_IRQ_FIRST_CORES ? NPU_IRQ_FIRST + core
                                      : NPU_IRQ_SECOND + (core - NPU_IRQ_FIRST_CORES);
}

#endif
