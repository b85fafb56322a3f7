/* SPDX-License-Identifier: MIT
 *
 * Tile programs as text, in a grammar of which each step is decided by one token:
 *
 *     file      = { NL } , kernel , { kernel } ;
 *     kernel    = "kernel" , NAME , "(" , [ param , { "," , param } ] , ")" , "->" ,
 *                 result , { "," , result } , NL , { line } , [ schedule ] ;
 *     param     = NAME , ":" , tensor | NAME , [ "=" , number ] ;
 *     result    = NAME , ":" , tensor , [ "+=" ] ;
 *     tensor    = TYPE , [ dims ] ;
 *     dims      = "[" , dim , { "," , dim } , "]" ;
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
 *     call      = ( NAME | TYPE ) , "(" , arg , { "," , arg } , ")" ;
 *     arg       = expr | TYPE ;
 *     number    = FLOAT | INTEGER | "inf" | "-" , number ;
 *     schedule  = "schedule" , choice , { "," , choice } , NL ;
 *     choice    = "tile" , NAME , INTEGER | "lanes" , NAME | "buffers" , INTEGER
 *               | "cores" , INTEGER | "keep" , NAME , "in" , ( "ub" | "l1" | "gm" )
 *               | "strategy" , NAME | "layout" , NAME | "exact" | "arith" , TYPE ;
 *
 * "#" and what follows it in a line is blank; so is a newline within brackets. A name that
 * is a dimension's is its index, or, as the last argument of a reduction, the dimension.
 */
#ifndef KERNELS_TILE_TEXT_H
#define KERNELS_TILE_TEXT_H

#include "kernels/tile/ir.h"

enum { TILE_TEXT_MAX = 65535 }; /* bytes of a text */

/* Reads the kernel of that name, NULL: the only one, into the arena; the text need not
 * live on. NULL: *error says what was expected, and where. */
struct tile_kernel *tile_parse(struct tile_arena *arena, const char *text, size_t bytes,
                               const char *name, struct tile_error *error);

#endif
