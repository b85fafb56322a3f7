/* SPDX-License-Identifier: MIT
 *
 * How fast the host runs element commands of the Vector: whole commands on operands that
 * fill UB, checks, cost and the write-back included, on one core.
 *
 *     vector_bench [NAME]     only commands whose name begins so
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/host/rig.h"
#include "tools/emu/model/simd.h"

/* Of this process: what else runs on the host does not count. */
static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Elements a second of a command with dst, src0 and src1 at 0, 64 K and 128 K + 256. */
static double rate(struct rig *r, union cmd *c, unsigned n)
{
    union cmd m = rig_command(OP_SET_MASK, TYPE_NONE);
    double begin;
    unsigned times = 0;

    m.head.flags = SET_MASK_COUNTER;
    m.set_mask.lo = n;
    rig_push(r, 0, PIPE_V, &m);
    for (begin = seconds(); seconds() - begin < 0.05; times++) {
        rig_push(r, 0, PIPE_V, c);
        rig_drain(r);
    }
    return rig_error(r, 0, PIPE_V) ? 0 : (double)n * times / (seconds() - begin);
}

static void fill(struct rig *r, enum type type)
{
    for (unsigned i = 0; i < 196608 / 4; i++) {
        float f = (float)(i % 1000 + 1) * 0.01f;
        uint32_t h = 0x3c003800u + i % 1000;
        memcpy(r->npu.mem[0][NPU_MEM_UB] + i * 4,
               type == TYPE_F32 ? (const void *)&f : (const void *)&h, 4);
    }
}

static union cmd command(const struct cmd_info *info, enum type type)
{
    union cmd c = rig_command((enum op)info->opcode, type);
    static const struct {
        const char *name;
        uint32_t value;
    } values[] = {{"src", 65536},  {"src0", 65536}, {"src1", 131072 + 256},
                  {"sel", 131072}, {"dst_blk", 1},  {"src_blk", 1},
                  {"src0_blk", 1}, {"src1_blk", 1}, {"dst_rep", 8},
                  {"src_rep", 8},  {"src0_rep", 8}, {"src1_rep", 8},
                  {"to", TYPE_S8}};
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

/* Commands that reduce, move, gather and sort 32 KiB; they have one path. */
static void moves(struct rig *r, const char *only)
{
    static const struct {
        enum op op;
        enum type type;
        unsigned n;
    } t[] = {{OP_VCADD, TYPE_F32, 8192},    {OP_VCADD, TYPE_F16, 16384},
             {OP_VCMAX, TYPE_F32, 8192},    {OP_VCGADD, TYPE_F16, 16384},
             {OP_VCGMAX, TYPE_F32, 8192},   {OP_VCPADD, TYPE_F32, 8192},
             {OP_VCOPY, TYPE_F32, 8192},    {OP_VDUP, TYPE_F16, 16384},
             {OP_VCI, TYPE_F32, 8192},      {OP_VINTLV, TYPE_F16, 16384},
             {OP_VDINTLV, TYPE_F32, 8192},  {OP_VREDUCEV2, TYPE_F32, 8192},
             {OP_VGATHER, TYPE_F32, 8192},  {OP_VGATHER, TYPE_F16, 16384},
             {OP_VSCATTER, TYPE_F32, 8192}, {OP_VSORT32, TYPE_F32, 4096},
             {OP_VMRGSORT, TYPE_F32, 4096}, {OP_VDEQ, TYPE_S16, 16384}};

    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        const struct cmd_info *info = cmd_find(t[i].op);
        union cmd c = command(info, t[i].type);
        if (only && strncmp(info->name, only, strlen(only)) != 0) {
            continue;
        }
        fill(r, t[i].type);
        memset(r->npu.mem[0][NPU_MEM_UB] + 131072, 0, 65536); /* offsets, indices */
        if (info->args == cmd_find(OP_VCADD)->args) {
            c.vec_reduce.dst_rep = 1;
        } else if (t[i].op == OP_VINTLV || t[i].op == OP_VDINTLV) {
            c.vec_intlv = (struct cmd_vec_intlv){c.head, 0, 32768, 65536, 98304, t[i].n};
        } else if (t[i].op == OP_VREDUCEV2) {
            c.vec_squeeze.pattern = 1;
            c.vec_squeeze.repeat = 1;
        } else if (t[i].op == OP_VGATHER || t[i].op == OP_VSCATTER) {
            c.vec_gather = (struct cmd_vec_gather){c.head, 0, 65536, 131072, 8, 0};
        } else if (t[i].op == OP_VSORT32) {
            c.vec_sort = (struct cmd_vec_sort){c.head, 0, 65536, 131072, 128};
        } else if (t[i].op == OP_VMRGSORT) {
            c.vec_merge = (struct cmd_vec_merge){c.head, 0,    65536, 73728, 81920, 90112,
                                                 1024,   1024, 1024,  1024,  15,    1};
        }
        printf("%-12s %4s %6.0f\n", info->name, type_name(t[i].type),
               rate(r, &c, t[i].n) * 1e-6);
        rig_write(r, 0, rig_pipe(PIPE_V, PIPE_CTRL), PIPE_CTRL_RESET);
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
        if (info->opcode == OP_VCONV || info->opcode >= 0xc0 ||
            (argc > 1 && strncmp(info->name, argv[1], strlen(argv[1])) != 0)) {
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
    moves(&r, argc > 1 ? argv[1] : NULL);
    if (argc == 1 || strncmp("VCONV", argv[1], strlen(argv[1])) == 0) {
        casts(&r);
    }
    rig_close(&r);
    return 0;
}
