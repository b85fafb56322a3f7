/* SPDX-License-Identifier: MIT
 *
 * The contract as tables, for those who look things up at run time: the model
 * (which checks commands by them), fault reports, and the generator of the pages.
 * Every row comes from the .def files. Freestanding: no libc.
 */
#include "hal/contract/contract.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

#define T(name) (1u << TYPE_##name)

/* Operands, one array a command; a command without any has a row with size 0. */
#define CMD(NAME, name, pipe, opcode, types, flags, text)                                \
    static const struct cmd_arg args_##name[] = {
#define ARG(cmd, ctype, field, min, max, multiple, text)                                 \
    {(uint8_t)offsetof(struct cmd_##cmd, field),                                         \
     (uint8_t)sizeof(ctype),                                                             \
     multiple,                                                                           \
     min,                                                                                \
     max,                                                                                \
     #field,                                                                             \
     text},
#define CMD_END(NAME, name)                                                              \
    {0, 0, 1, 0, 0, "", ""},                                                             \
    }                                                                                    \
    ;
#include "hal/contract/all.h"

#define CMD_PIPE(pipe)                        CMD_PIPE_##pipe
#define CMD_PIPE_0                            0
#define PIPE(NAME, name, number, stage, text) CMD_PIPE_##NAME = (number),
enum {
#include "hal/contract/all.h"
};

#define CMD(NAME, name, pipe, opcode, types, flags, text)                                \
    {#NAME,                                                                              \
     text,                                                                               \
     opcode,                                                                             \
     CMD_PIPE(pipe),                                                                     \
     flags,                                                                              \
     types,                                                                              \
     (uint8_t)(LENGTH(args_##name) - 1),                                                 \
     args_##name},
static const struct cmd_info commands[] = {
#include "hal/contract/all.h"
};

const struct cmd_info *cmd_find(unsigned opcode)
{
    for (size_t i = 0; i < LENGTH(commands); i++) {
        if (commands[i].opcode == opcode) {
            return &commands[i];
        }
    }
    return NULL;
}

unsigned cmd_length(const struct cmd_info *info)
{
    const struct cmd_arg *last = &info->args[info->n_args];

    return info->n_args ? last[-1].offset + last[-1].size
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

int npu_profile_find(const char *name)
{
    for (int p = 0; p < PROFILE_COUNT; p++) {
        size_t i = 0;
        while (name[i] && name[i] == profile_names[p][i]) {
            i++;
        }
        if (name[i] == profile_names[p][i]) {
            return p;
        }
    }
    return -1;
}

uint32_t npu_profile_cost(enum npu_profile profile, enum npu_cost cost)
{
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
