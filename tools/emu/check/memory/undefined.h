/* SPDX-License-Identifier: MIT
 *
 * Which bytes are undefined: nobody has written them since they were handed out, or what
 * was written follows from such bytes.
 *
 * The memories of the cores have a byte of shadow for each byte (local.h), as npu_flow()
 * works on, of which pages cost memory once they are written. GM has a bit, in pages that are
 * there only while they have bytes of both kinds; npu_flow() gets a window in which the bytes
 * of one command stand while it is asked.
 */
#ifndef TOOLS_EMU_CHECK_MEMORY_UNDEFINED_H
#define TOOLS_EMU_CHECK_MEMORY_UNDEFINED_H

#include "tools/emu/check/memory/local.h"
#include "tools/emu/check/race/race.h"
#include "tools/emu/model/npu.h"

enum { UNDEFINED_PAGE = 4096 };

struct undefined_page {
    union {
        uint64_t bit[UNDEFINED_PAGE / 64];
        struct undefined_page *next; /* of those that are free */
    };
    unsigned n; /* bits that are set */
};

struct undefined {
    struct race_config config;
    struct arena arena;
    uint8_t *shadow[NPU_MAX_CORES]; /* of all memories of a core, once one is touched */
    struct undefined_local local[NPU_MAX_CORES][NPU_MEM_COUNT];
    struct undefined_page **page; /* NULL: all defined; &all: all undefined */
    struct undefined_page all, *free;
    uint64_t pages;
    uint8_t *window; /* zeros but while npu_flow() is asked */
    size_t window_bytes;
};

void undefined_open(struct undefined *u, const struct check_host *host,
                    const struct race_config *config);
void undefined_close(struct undefined *u);
/* Bytes of the host's memory that it holds, but for the table of the pages, of which the
 * host has as much as is touched, 8 bytes a page. */
size_t undefined_bytes(const struct undefined *u);

/* Makes the bytes [first, first + bytes) of a memory undefined, from here on, or defined. */
void undefined_set(struct undefined *u, unsigned core, unsigned mem, uint64_t first,
                   uint64_t bytes, bool undefined);
/* How many of them are defined before the first one that is not: `bytes` if all are. */
uint64_t undefined_find(struct undefined *u, unsigned core, unsigned mem, uint64_t first,
                        uint64_t bytes);
uint64_t undefined_count(struct undefined *u, unsigned core, unsigned mem, uint64_t first,
                         uint64_t bytes);

/* Where an undefined byte comes from, as undefined_flowed() has been told; 0: from here. */
uint32_t undefined_origin(const struct undefined *u, unsigned core, unsigned mem,
                          uint64_t addr);

/* The same of what an access touches; first: gets the address of the first. */
bool undefined_in(struct undefined *u, unsigned core, const struct access *a,
                  uint64_t *first);
void undefined_define(struct undefined *u, unsigned core, const struct access *a);

/* --- for npu_flow() --- */

/* The shadows for a command that ends, GM from its first to its last byte there. */
struct npu_shadow undefined_shadow(struct undefined *u, const struct npu_event *e);
/* The undefined bytes of an access in GM come to the window; its bytes there are zeros
 * again. */
void undefined_show(struct undefined *u, const struct npu_shadow *shadow,
                    const struct access *a);
/* How many of its bytes are undefined in the window, and the first of them. */
uint64_t undefined_shown(struct undefined *u, const struct npu_shadow *shadow,
                         const struct access *a, uint64_t *first);
void undefined_hide(struct undefined *u, const struct npu_shadow *shadow,
                    const struct access *a);
/* npu_flow() has written these bytes of a core's memory; those that are undefined come from
 * `origin`. */
void undefined_flowed(struct undefined *u, unsigned core, const struct access *a,
                      uint32_t origin);

/* An access of the hart's to GM that needs no more looking at. */
static inline bool undefined_never(const struct undefined *u, uint64_t addr,
                                   uint64_t bytes)
{
    uint64_t off = addr - u->config.gm_base, page = off / UNDEFINED_PAGE;
    uint64_t last = (off + bytes - 1) / UNDEFINED_PAGE;

    return last >= u->pages || (!u->page[page] && (page == last || !u->page[last]));
}

#endif
