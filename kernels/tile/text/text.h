/* SPDX-License-Identifier: MIT
 *
 * Tile programs as text, in a grammar of which each step is decided by one token:
 *
 *     file      = { NL } , kernel , { kernel } ;
 *     kernel    = [ types ] , "kernel" , NAME , "(" , [ param , { "," , param } ] , ")" ,
 *                 "->" , result , { "," , result } , NL , { line } , [ schedule ] ;
 *     types     = "types" , NAME , { NAME } , ":" , row , { "," , { NL } , row } , NL ;
 *     row       = TYPE , { TYPE } ;
 *     param     = NAME , ":" , tensor | NAME , [ "=" , number ]
 *               | NAME , "?" , ":" , tensor , "=" , number ;
 *     result    = NAME , ":" , tensor , [ "+=" ] ;
 *     tensor    = TYPE , [ dims ] ;
 *     dims      = "[" , ( dim | "..." ) , { "," , dim } , [ "," , "..." ] , "]" ;
 *     dim       = NAME | INTEGER ;
 *     line      = [ statement ] , NL ;
 *     statement = NAME , "=" , expr | loop ;
 *     loop      = "loop" , NAME , [ "while" , expr ] , "carry" , init , { "," , init } ,
 *                 NL , { line } , "end" ;
 *     init      = NAME , "=" , number , [ dims ] ;
 *     expr      = sum , [ ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) , sum ] ;
 *     sum       = term , { ( "+" | "-" ) , term } ;
 *     term      = factor , { ( "*" | "/" | "@" ) , factor } ;
 *     factor    = [ "-" ] , atom ;
 *     atom      = number | NAME | call | "(" , expr , ")" ;
 *     call      = ( NAME | TYPE ) , "(" , arg , { "," , arg } , ")"
 *               | "conv" , "(" , expr , "," , expr , { "," , window } , ")" ;
 *     window    = "to" , NAME , NAME | ( "stride" | "dilation" ) , INTEGER , [ INTEGER ]
 *               | "pad" , INTEGER , [ INTEGER , [ INTEGER , INTEGER ] ]
 *               | "groups" , INTEGER ;
 *     arg       = expr | TYPE ;
 *     number    = FLOAT | INTEGER | "inf" | "-" , number ;
 *     schedule  = "schedule" , choice , { "," , choice } , NL ;
 *     choice    = "tile" , NAME , INTEGER | "lanes" , NAME | "buffers" , INTEGER
 *               | "cores" , INTEGER | "keep" , NAME , "in" , ( "ub" | "l1" | "gm" )
 *               | "strategy" , NAME | "layout" , NAME | "exact" | "arith" , TYPE ;
 *
 * "#" and what follows it in a line is blank; so is a newline within brackets. A name that
 * is a dimension's is its index, or, as a last argument of a reduction, the dimension. Of two
 * numbers of a window the first is of rows; of four pads: above, left, below, right.
 *
 * A kernel may leave open what its operands tell, when they are there: which types its
 * variables T are, a row of `types`; what dimensions `...` is, as NumPy broadcasts them;
 * which of them `axes` names in a reduction, `[rest]` being the others; where in
 * `[..., n, ...]` the n is; whether there is an `x?`, a number otherwise. `place` is where in
 * `...` an element lies, S32 from 0.
 */
#ifndef KERNELS_TILE_TEXT_TEXT_H
#define KERNELS_TILE_TEXT_TEXT_H

#include "kernels/tile/ir/ir.h"

enum {
    TILE_TEXT_MAX = 65535, /* bytes of a text */
    TILE_VARS = 3,         /* variables for types */
    TILE_ROWS = 32,
    TILE_NO_VAR = 0,
};

/* What a kernel leaves open. */
struct tile_open {
    unsigned n_vars, n_rows, n_params; /* n_params: with those that may be absent */
    char var[TILE_VARS][TILE_NAME_BYTES];
    struct {
        uint8_t type;
        bool boolean;
    } row[TILE_ROWS][TILE_VARS];
    /* Of parameters, results behind them. */
    struct tile_open_tensor {
        uint8_t var; /* its type, from 1; TILE_NO_VAR: not open */
        bool optional, rest;
        bool before, behind; /* `...` first, last */
    } tensor[TILE_PARAMS + TILE_RESULTS];
    bool pack, axis, axes; /* has `...`, `[..., n, ...]`, reductions over axes */
};

/* What it is: names with blanks between for dimensions. */
struct tile_bound {
    unsigned row;
    bool absent[TILE_PARAMS];
    const char *before[TILE_PARAMS], *behind[TILE_PARAMS]; /* of parameters */
    const char *all_before, *all_behind;                   /* of results */
    const char *axes, *rest;
    const uint64_t *sizes; /* of those of all_before */
};

/* Reads the kernel of that name, NULL: the only one, into the arena; the text need not
 * live on. NULL: *error says what was expected, and where. */
struct tile_kernel *tile_parse(struct tile_arena *arena, const char *text, size_t bytes,
                               const char *name, struct tile_error *error);
/* The same of a text that has one kernel, with sizes of its dimensions. ERR_NOMEM: it cannot be
 * read, as the arena is too small for it; ERR_SHAPE; *error says what is wrong. */
struct tile_size {
    const char *dim;
    uint64_t size;
};
MUST_CHECK int tile_parse_sized(struct tile_kernel **kernel, const char *text,
                                const struct tile_size *sizes, unsigned n,
                                struct tile_arena *arena, struct tile_error *error);
/* tile_parse() of a kernel that leaves something open, which *open tells. bound NULL: the first
 * row of types, every operand, and a `...` of one dimension that is called so. */
struct tile_kernel *tile_parse_open(struct tile_arena *arena, const char *text,
                                    size_t bytes, const char *name,
                                    struct tile_open *open,
                                    const struct tile_bound *bound,
                                    struct tile_error *error);

#endif
