/* SPDX-License-Identifier: MIT
 *
 * How fast the host runs element commands of the Vector: whole commands on operands that
 * fill UB, checks, cost and the write-back included, on one core.
 *
 *     vector [NAME]     only commands whose name begins so
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/model/rig.h"
#include "tools/emu/model/arith/simd.h"

/* Of this process: what else runs on the host does not count. */
static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Elements a second, as PMU_OPS counts them, of a command that works on n of them. */
static double rate(struct rig *r, union cmd *c, unsigned n)
{
    union cmd m = rig_command(OP_SET_MASK, TYPE_NONE);
    uint64_t before;
    double begin, spent;

    m.head.flags = SET_MASK_COUNTER;
    m.set_mask.lo = n;
    rig_push(r, 0, PIPE_V, &m);
    before = rig_read(r, 0, rig_pipe(PIPE_V, PMU_OPS));
    begin = seconds();
    do {
        for (unsigned i = 0; i < 16; i++) {
            rig_push(r, 0, PIPE_V, c);
        }
        rig_drain(r);
        spent = seconds() - begin;
    } while (spent < 0.05 && !rig_error(r, 0, PIPE_V));
    return rig_error(r, 0, PIPE_V)
               ? 0
               : (double)(rig_read(r, 0, rig_pipe(PIPE_V, PMU_OPS)) - before) / spent;
}

/* Scattered over 32 KiB. */
static uint32_t scramble(uint32_t i)
{
    return i * 2654435761u >> 17;
}

static void fill(struct rig *r, enum type type)
{
    for (unsigned i = 0; i < 196608 / 4; i++) {
        float f = (float)(scramble(i) % 1000 + 1) * 0.01f;
        uint32_t h = 0x3c003800u + scramble(i) % 1000;
        memcpy(r->npu.mem[0][NPU_MEM_UB] + i * 4,
               type == TYPE_F32 ? (const void *)&f : (const void *)&h, 4);
    }
}

/* Element commands: dst, src0 and src1 at 0, 64 K and 128 K + 256. */
static union cmd command(const struct cmd_info *info, enum type type)
{
    union cmd c = rig_command((enum op)info->opcode, type);
    static const struct {
        const char *name;
        uint32_t value;
    } values[] = {
        {"src", 65536},    {"src0", 65536},     {"src1", 131072 + 256}, {"sel", 131072},
        {"dst_blk", 1},    {"src_blk", 1},      {"src0_blk", 1},        {"src1_blk", 1},
        {"dst_rep", 8},    {"src_rep", 8},      {"src0_rep", 8},        {"src1_rep", 8},
        {"to", TYPE_S8},   {"repeat", 64},      {"dst1", 32768},        {"count", 8192},
        {"pattern", 1},    {"offsets", 131072}, {"h_repeat", 2},        {"v_repeat", 32},
        {"index", 131072}, {"v_offset", 128},   {"weights", 163840}};
    uint32_t scalar = type == TYPE_F32 ? 0x3fc00000 : type == TYPE_F16 ? 0x3e00 : 3;

    for (unsigned i = 0; i < info->n_args; i++) {
        for (unsigned k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
            if (strcmp(info->args[i].name, values[k].name) == 0) {
                memcpy(c.bytes + info->args[i].offset, &values[k].value,
                       info->args[i].size);
            }
        }
        if (strcmp(info->args[i].name, "scalar") == 0) {
            memcpy(c.bytes + info->args[i].offset, &scalar, 4);
        }
    }
    if (info->args == cmd_find(OP_VMULCONV)->args) {
        c.vec2c.to = type == TYPE_F32 ? TYPE_F16 : TYPE_S8;
        c.vec2c.dst_rep = 4;
    }
    return c;
}

static void casts(struct rig *r)
{
    for (unsigned from = 1; from < TYPE_COUNT; from++) {
        for (unsigned to = 1; to < TYPE_COUNT; to++) {
            unsigned a = type_bits(from), b = type_bits(to), wide = a > b ? a : b;
            union cmd c = command(cmd_find(OP_VCONV), (enum type)from);
            c.vec_conv.to = (uint8_t)to;
            c.vec_conv.dst_rep = (uint8_t)(8 * b / wide);
            c.vec_conv.src_rep = (uint8_t)(8 * a / wide);
            for (unsigned mode = ROUND_RINT; mode <= ROUND_ODD; mode++) {
                double rates[3];
                c.vec_conv.round = (uint8_t)mode;
                fill(r, (enum type)from);
                for (enum simd s = SIMD_PLAIN; s <= SIMD_AVX512; s++) {
                    simd_limit(s);
                    rates[s] = rate(r, &c, 65280 * 8 / wide) * 1e-6;
                }
                if (rates[0] == 0) {
                    rig_write(r, 0, rig_pipe(PIPE_V, PIPE_CTRL), PIPE_CTRL_RESET);
                    break;
                }
                printf("VCONV %4s to %-4s mode %u %6.0f %6.0f %6.0f\n", type_name(from),
                       type_name(to), mode, rates[0], rates[1], rates[2]);
            }
        }
    }
}

/* 4 lists of 1024 pairs of 8 bytes, each sorted, at 64 K. */
static union cmd merge(struct rig *r, union cmd c)
{
    uint32_t n_and_n = 1024u << 16 | 1024;

    for (unsigned i = 0; i < 4096; i++) {
        uint32_t v = (1024 - i % 1024) * 8 + scramble(i) % 8;
        _Float16 h = (_Float16)v;
        float f = (float)v;
        memcpy(r->npu.mem[0][NPU_MEM_UB] + 65536 + 8 * i,
               c.head.type == TYPE_F32 ? (const void *)&f : (const void *)&h,
               c.head.type == TYPE_F32 ? 4 : 2);
    }
    for (unsigned i = 0; i < 4; i++) {
        memcpy(&c.vec_merge.src0 + i, &(uint32_t){65536 + 8192 * i}, 4);
    }
    memcpy(&c.vec_merge.n0, &n_and_n, 4);
    memcpy(&c.vec_merge.n2, &n_and_n, 4);
    c.vec_merge.valid = 15;
    c.vec_merge.repeat = 1;
    return c;
}

/* Blocks side by side at 0 and at 64 K. */
static void set_va(struct rig *r)
{
    for (unsigned dst = 0; dst < 2; dst++) {
        union cmd c = rig_command(OP_SET_VA, TYPE_NONE);
        c.head.flags = (uint8_t)dst;
        for (unsigned i = 0; i < 16; i++) {
            uint16_t block = (uint16_t)(dst ? i : 2048 + i);
            memcpy(c.bytes + offsetof(struct cmd_set_va, block0) + 2 * i, &block, 2);
        }
        rig_push(r, 0, PIPE_V, &c);
    }
}

static void move(struct rig *r, const struct cmd_info *info, enum type type,
                 unsigned pattern)
{
    union cmd c = command(info, type);

    fill(r, type);
    for (uint32_t i = 0; i < 16384; i++) { /* offsets, indices, bits */
        uint32_t at = scramble(i) & ~31u;
        memcpy(r->npu.mem[0][NPU_MEM_UB] + 131072 + 4 * i, &at, 4);
    }
    if (info->args == cmd_find(OP_VCADD)->args) {
        c.vec_reduce.dst_rep = 1;
    } else if (info->opcode == OP_VTRANSDATA) {
        set_va(r);
        c.vec_transdata.dst_rep = c.vec_transdata.src_rep = 16;
    } else if (info->opcode == OP_VREDUCEV2) {
        c.vec_squeeze.pattern = (uint8_t)pattern;
        c.vec_squeeze.bits = pattern ? 0 : 131072;
        c.vec_squeeze.repeat = 1;
    } else if (info->opcode == OP_VMRGSORT) {
        c = merge(r, c);
    }
    printf("%-12s %4s %6.0f%s\n", info->name, type_name(type),
           rate(r, &c, 32768 * 8 / type_bits(type)) * 1e-6, pattern ? "" : " by bits");
    rig_write(r, 0, rig_pipe(PIPE_V, PIPE_CTRL), PIPE_CTRL_RESET);
}

/* Commands that reduce, move, gather and sort 16 to 32 KiB; they have one path. */
static void moves(struct rig *r, const struct cmd_info *info)
{
    static const enum type types[] = {TYPE_F32, TYPE_F16, TYPE_S8};
    bool any = false;

    for (unsigned t = 0; t < 3; t++) {
        if (info->types & (1u << types[t])) {
            move(r, info, types[t], 1);
            any = true;
        }
    }
    if (!any) {
        move(r, info, (enum type)__builtin_ctz(info->types), 1);
    }
    if (info->opcode == OP_VREDUCEV2) { /* by bits */
        move(r, info, TYPE_F32, 0);
    }
}

int main(int argc, char **argv)
{
    static const uint16_t opcodes[] = {
#define VEC(NAME, opcode, types, flags, format, slope32, slope16, fixed, text) opcode,
#include "hal/contract/all.h"
    };
    struct rig r;

    rig_open(&r, 1, PROFILE_a2);
    printf("million elements a second on plain, avx2, avx512\n");
    for (unsigned i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
        const struct cmd_info *info = cmd_find(opcodes[i]);
        if (info->opcode == OP_VCONV ||
            (argc > 1 && strncmp(info->name, argv[1], strlen(argv[1])) != 0)) {
            continue;
        }
        if (info->opcode >= OP_VCADD) {
            moves(&r, info);
            continue;
        }
        for (unsigned t = TYPE_F32; t < TYPE_COUNT; t++) {
            union cmd c = command(info, (enum type)t);
            if (!(info->types & (1u << t))) {
                continue;
            }
            printf("%-12s %4s", info->name, type_name(t));
            fill(&r, (enum type)t);
            for (enum simd s = SIMD_PLAIN; s <= SIMD_AVX512; s++) {
                simd_limit(s);
                printf(" %6.0f", rate(&r, &c, 65280 * 8 / type_bits(t)) * 1e-6);
            }
            printf("\n");
        }
    }
    if (argc == 1 || strncmp("VCONV", argv[1], strlen(argv[1])) == 0) {
        casts(&r);
    }
    rig_close(&r);
    return 0;
}
