/* SPDX-License-Identifier: MIT
 *
 * The contract as tables, for those who look things up at run time: the model
 * (which checks commands by them), fault reports, and the generator of the pages.
 * Every row comes from the .def files. Freestanding: no libc.
 */
#include "hal/contract/contract.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

#define T(name) (1u << TYPE_##name)
#define T_BYTES (T(F32) | T(F16) | T(BF16) | T(S32) | T(S16) | T(S8) | T(U8))

/* Operands, one array a format, empty where it has none; and what they may be. */
#define FORMAT(name) static const struct cmd_arg args_##name[] = {
#define ARG(format, ctype, field, min, max, multiple, text)                              \
    {#field "\0" text, (uint8_t)offsetof(struct cmd_##format, field),                    \
     (uint8_t)sizeof(ctype)},
#define FORMAT_END(name)                                                                 \
    }                                                                                    \
    ;
#include "hal/contract/all.h"

#define FORMAT(name) static const struct cmd_range ranges_##name[] = {
#define ARG(format, ctype, field, min, max, multiple, text) {max, min, multiple},
#define FORMAT_END(name)                                                                 \
    }                                                                                    \
    ;
#include "hal/contract/all.h"

#define CMD_PIPE(pipe)                        CMD_PIPE_##pipe
#define CMD_PIPE_0                            0
#define PIPE(NAME, name, number, stage, text) CMD_PIPE_##NAME = (number),
enum {
#include "hal/contract/all.h"
};

#define CMD(NAME, pipe, opcode, types, flags, format, text)                              \
    COMMAND(NAME, pipe, opcode, types, flags, format, 0, 0, 0)
#define VEC(NAME, opcode, types, flags, format, slope32, slope16, fixed, text)           \
    COMMAND(NAME, V, opcode, types, flags, format, slope32, slope16, fixed)
#define COMMAND(NAME, pipe, opcode, types, flags, format, slope32, slope16, fixed)       \
    {#NAME, args_##format,         types,   opcode,  CMD_PIPE(pipe),                     \
     flags, LENGTH(args_##format), slope32, slope16, fixed},
static const struct cmd_info commands[] = {
#include "hal/contract/all.h"
};

#define CMD(NAME, pipe, opcode, types, flags, format, text) ranges_##format,
static const struct cmd_range *const command_ranges[] = {
#include "hal/contract/all.h"
};

/* What commands do, name and text by turns: for debuggers, which find it in the file of
 * the image; it is not loaded (linker/npu.ld). */
#define CMD(NAME, pipe, opcode, types, flags, format, text) #NAME "\0" text "\0"
__attribute__((used, section(".contract.texts"))) static const char command_texts[] =
#include "hal/contract/all.h"
    ;

#define CMD(NAME, pipe, opcode, types, flags, format, text) INDEX_##NAME,
enum {
#include "hal/contract/all.h"
};

#define CMD(NAME, pipe, opcode, types, flags, format, text)                              \
    [opcode] = (uint8_t)(INDEX_##NAME + 1),
static const uint8_t by_opcode[] = { /* up to the last one that there is */
#include "hal/contract/all.h"
};
_Static_assert(LENGTH(commands) <= UINT8_MAX && LENGTH(by_opcode) <= CMD_OPCODES,
               "by_opcode");

const struct cmd_info *cmd_find(unsigned opcode)
{
    unsigned index = opcode < LENGTH(by_opcode) ? by_opcode[opcode] : 0;

    return index ? &commands[index - 1] : NULL;
}

unsigned cmd_length(const struct cmd_info *info)
{
    const struct cmd_arg *end = info->args + info->n_args;

    return info->n_args ? end[-1].offset + end[-1].size
                        : (unsigned)sizeof(struct cmd_head);
}

uint64_t cmd_arg_value(const union cmd *cmd, const struct cmd_arg *arg)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < arg->size; i++) {
        value |= (uint64_t)cmd->bytes[arg->offset + i] << (8 * i);
    }
    return value;
}

const struct cmd_range *cmd_range(const struct cmd_info *info, const struct cmd_arg *arg)
{
    return &command_ranges[info - commands][arg - info->args];
}

const char *cmd_arg_text(const struct cmd_arg *arg)
{
    const char *end = arg->name;

    while (*end != '\0') {
        end++;
    }
    return end + 1;
}

const struct cmd_arg *cmd_arg_at(const struct cmd_info *info, unsigned offset)
{
    for (unsigned i = 0; i < info->n_args; i++) {
        if (info->args[i].offset == offset) {
            return &info->args[i];
        }
    }
    return NULL;
}

#define PIPE(NAME, name, number, stage, text) [number] = #NAME,
static const char *const pipe_names[NPU_PIPES] = {
#include "hal/contract/all.h"
};

#define MEM(NAME, name, offset, size, text) #name,
#define STAGE(NAME, name, size)             #name,
static const char *const mem_names[] = {
#include "hal/contract/all.h"
};

#define MEM(NAME, name, offset, size, text) offset,
#define STAGE(NAME, name, size)             0,
static const uint32_t mem_offsets[] = {
#include "hal/contract/all.h"
};

#define MEM(NAME, name, offset, size, text) COST_##size,
#define STAGE(NAME, name, size)             COST_##size,
static const uint8_t mem_sizes[] = {
#include "hal/contract/all.h"
};

#define ERROR(name, code, text) [code] = #name,
static const char *const error_names[] = {
#include "hal/contract/all.h"
};

#define ERROR(name, code, text) [code] = text,
static const char *const error_texts[] = {
#include "hal/contract/all.h"
};

#define PROFILE(name, number, text) [number] = #name,
static const char *const profile_names[] = {
#include "hal/contract/all.h"
};

#define COST(name, a2, ascend910, ascend310, unit, source) {a2, ascend910, ascend310},
static const uint32_t costs[COST_COUNT][PROFILE_COUNT] = {
#include "hal/contract/all.h"
};

/* Those that are another in TIMING=v1, of all profiles. */
#define COST_V2(name, a2, ascend910, ascend310, v1, unit, source) {COST_##name, v1},
static const struct {
    uint32_t cost, value;
} costs_v1[] = {
#include "hal/contract/all.h"
};

#define TIMING(name, number, text) [number] = #name,
static const char *const timing_names[TIMING_COUNT] = {
#include "hal/contract/all.h"
};

#define TYPE(name, code, bits, c0, text) [code] = {bits, c0, #name},
static const struct {
    uint8_t bits, c0;
    const char *name;
} types[] = {
#include "hal/contract/all.h"
};

static const char *name_at(const char *const *names, size_t length, unsigned i)
{
    return i < length && names[i] ? names[i] : "?";
}

const char *pipe_name(unsigned pipe)
{
    return name_at(pipe_names, LENGTH(pipe_names), pipe);
}

const char *npu_mem_name(enum npu_mem mem)
{
    return mem == NPU_MEM_GM ? "gm" : name_at(mem_names, LENGTH(mem_names), mem);
}

const char *npu_error_name(unsigned code)
{
    return name_at(error_names, LENGTH(error_names), code);
}

const char *npu_error_text(unsigned code)
{
    return name_at(error_texts, LENGTH(error_texts), code);
}

const char *npu_profile_name(unsigned profile)
{
    return name_at(profile_names, LENGTH(profile_names), profile);
}

const char *type_name(unsigned type)
{
    return type < LENGTH(types) ? types[type].name : "?";
}

static int find_name(const char *const *names, int length, const char *name)
{
    for (int n = 0; n < length; n++) {
        size_t i = 0;
        while (names[n] && name[i] && name[i] == names[n][i]) {
            i++;
        }
        if (names[n] && name[i] == names[n][i]) {
            return n;
        }
    }
    return -1;
}

const struct npu_accuracy *npu_accuracy(enum npu_path path)
{
#define PATH(name, text, predicted, median, worst, fitted, fits_worst)                   \
    {text, predicted, median, worst, fitted, fits_worst},
    static const struct npu_accuracy accuracies[] = {
#include "hal/contract/all.h"
    };

    return &accuracies[path];
}

int npu_profile_find(const char *name)
{
    return find_name(profile_names, PROFILE_COUNT, name);
}

const char *npu_timing_name(unsigned timing)
{
    return name_at(timing_names, LENGTH(timing_names), timing);
}

int npu_timing_find(const char *name)
{
    return find_name(timing_names, TIMING_COUNT, name);
}

uint32_t npu_profile_cost(enum npu_profile profile, enum npu_timing timing,
                          enum npu_cost cost)
{
    for (size_t i = 0; timing == TIMING_v1 && i < LENGTH(costs_v1); i++) {
        if (costs_v1[i].cost == cost) {
            return costs_v1[i].value;
        }
    }
    return costs[cost][profile];
}

uint32_t npu_mem_offset(enum npu_mem mem)
{
    return mem_offsets[mem];
}

enum npu_cost npu_mem_cost(enum npu_mem mem)
{
    return (enum npu_cost)mem_sizes[mem];
}

uint32_t npu_mem_size(enum npu_profile profile, enum npu_mem mem)
{
    return costs[mem_sizes[mem]][profile];
}

unsigned type_bits(unsigned type)
{
    return type < LENGTH(types) ? types[type].bits : 0;
}

unsigned type_c0(unsigned type)
{
    return type < LENGTH(types) ? types[type].c0 : 0;
}
