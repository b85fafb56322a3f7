/* SPDX-License-Identifier: MIT
 *
 * Letters and digits of ASCII, which need no table of a C library.
 */
#ifndef KERNELS_LIB_ASCII_H
#define KERNELS_LIB_ASCII_H

#include <stdbool.h>

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool is_letter(char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static inline char lower(char c)
{
    return is_letter(c) ? (char)(c | 0x20) : c;
}

#endif
