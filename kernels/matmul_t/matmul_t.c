/* SPDX-License-Identifier: MIT
 *
 * Products of which an operand lies transposed, with a bias, many at a time: matmul's, with
 * other rules.
 */
#include "kernels/matmul/matmul_op.h"

/* b as the layers of networks keep their weights. */
OPERATOR(
    matmul_nt, .summary = "c = act(scale (a x b' + bias)) on the Cube",
    .io = "a[m,k] b[n,k] bias?[n] -> c[m,n]",
    .types = "f16 f16 f32 -> f16; f16 f16 f32 -> f32; s8 s8 s32 -> s8; "
             "s8 s8 s32 -> u8; s8 s8 s32 -> f16; s8 s8 s32 -> s32; "
             "bf16 bf16 f32 -> bf16; bf16 bf16 f32 -> f32; f32 f32 f32 -> f32; "
             "u8 s8 s32 -> s32; u8 s8 s32 -> s8; u8 s8 s32 -> u8; u8 s8 s32 -> f16; "
             "u8 u8 s32 -> s32; u8 u8 s32 -> s8; u8 u8 s32 -> u8; u8 u8 s32 -> f16; "
             "s8 u8 s32 -> s32; s8 u8 s32 -> s8; s8 u8 s32 -> u8; s8 u8 s32 -> f16",
    .prepare = matmul_op_prepare, .run = matmul_op_run,
    .options = OPTIONS(MATMUL_OPTIONS), .ref = matmul_op_ref, .check = 64,
    .work = matmul_op_work, .numpy = "matmul(a, b.T, bias, options)",
    .cases = CASES("--m 1 --n 1 --k 1", "--m 33 --n 41 --k 70 --activation relu",
                   "--m 20 --n 130 --k 300 --out f32 --data special",
                   "--m 9 --n 300 --k 65 --type s8 --scale 1e-3 --activation relu",
                   "--m 17 --n 34 --k 33 --type s8 --out s32 --data bits",
                   "--m 40 --n 30 --k 20 --limit 1.5 --activation leaky",
                   "--m 20 --n 300 --k 65 --type u8 --out s8 --scale 1e-3 --zero 4",
                   "--m 70 --n 300 --k 65 --type u8,u8 --out u8 --scale 1e-3 --zero 4",
                   "--m 5 --n 33 --k 130 --type s8,u8 --out s32 --data bits",
                   "--m 15 --n 960 --k 31 --type s8,u8 --out f16 --scale -1e-3 "
                   "--activation relu",
                   "--shapes 5x70,9x70 --out f32", "--m 130 --n 270 --k 200"));

/* Weights and activations of 4 bits, two in a byte as networks have them. */
OPERATOR(matmul_s4,
         .summary = "c = act(scale (a x b' + bias)) on the Cube, two s4 in each byte",
         .io = "a[m,p] b[n,p] bias?[n] -> c[m,n]",
         .types = "u8 u8 s32 -> s32; u8 u8 s32 -> s8; u8 u8 s32 -> u8; u8 u8 s32 -> f16",
         .cube = TYPE_S4, .prepare = matmul_op_prepare, .run = matmul_op_run,
         .options = OPTIONS(MATMUL_OPTIONS), .ref = matmul_op_ref, .check = 64,
         .work = matmul_op_work,
         .numpy = "matmul(nibbles(a), nibbles(b).T, bias, options)",
         .cases = CASES("--m 1 --n 1 --p 1", "--m 33 --n 41 --p 35 --data bits",
                        "--m 20 --n 130 --p 150 --out s8 --scale 1e-2 --zero 3",
                        "--shapes 5x35,9x35 --out f16", "--m 130 --n 270 --p 100"));

/* As gradients of weights are computed. */
OPERATOR(matmul_tn, .summary = "c = act(scale (a' x b)) on the Cube",
         .io = "a[k,m] b[k,n] -> c[m,n]", .types = MATMUL_TYPES "; " MATMUL_U8,
         .prepare = matmul_op_prepare, .run = matmul_op_run,
         .options = OPTIONS(MATMUL_OPTIONS), .ref = matmul_op_ref, .check = 64,
         .work = matmul_op_work, .numpy = "matmul(a.T, b, None, options)",
         .cases = CASES("--m 1 --n 1 --k 1", "--m 17 --n 70 --k 33 --type s8",
                        "--m 65 --n 31 --k 130 --out f16",
                        "--m 33 --n 40 --k 70 --type u8,u8 --out s8 --scale 1e-3",
                        "--m 130 --n 140 --k 90"));

OPERATOR(matmul_batch,
         .summary = "c = act(scale (a x b)) on the Cube, for each of h products",
         .io = "a[h,m,k] b[h,k,n] -> c[h,m,n]", .types = MATMUL_TYPES "; " MATMUL_U8,
         .prepare = matmul_op_prepare, .run = matmul_op_run,
         .options = OPTIONS(MATMUL_OPTIONS), .ref = matmul_op_ref, .check = 64,
         .work = matmul_op_work,
         .numpy = "np.stack([matmul(x, y, None, options) for x, y in zip(a, b)])",
         .cases = CASES("--h 1 --m 1 --n 1 --k 1", "--h 5 --m 17 --n 20 --k 33",
                        "--h 3 --m 9 --n 130 --k 40 --type s8 --out s8 --scale 1e-3",
                        "--h 4 --m 9 --n 130 --k 40 --type u8,u8 --out u8 --scale 1e-3",
                        "--h 3 --m 40 --n 17 --k 70 --type u8 --data bits",
                        "--h 16 --m 30 --n 40 --k 80 --out f16"));
