/* SPDX-License-Identifier: MIT
 *
 * The C library's allocator, which tells what it hands out and takes back (hal/hint.h).
 * The image is linked with --wrap for each function here; calls that the library makes
 * inside of one of them are part of it.
 */
#include <stdbool.h>
#include <stdlib.h>
#include "boot/boot.h"
#include "hal/hint.h"

bool (*heap_refuses)(void);
static unsigned depth;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *p);

/* False: there is to be no memory. */
static bool begin(void)
{
    if (depth++ == 0) {
        if (heap_refuses != NULL && heap_refuses()) {
            depth = 0;
            return false;
        }
        hint_range(HINT_WORK, NULL, 0);
    }
    return true;
}

/* is: HINT_COUNT_ */
static void *end_for(void *p, size_t size, void *site, unsigned is)
{
    if (--depth == 0) {
        hint(&(struct hint){.kind = HINT_BLOCK,
                            .count = (uint8_t)is,
                            .addr = (uintptr_t)p,
                            .bytes = size,
                            .site = (uintptr_t)site});
    }
    return p;
}

static void *end(void *p, size_t size, void *site)
{
    return end_for(p, size, site, 0);
}

void *__wrap_malloc(size_t size)
{
    return begin() ? end(__real_malloc(size), size, __builtin_return_address(0)) : NULL;
}

void *__wrap_calloc(size_t n, size_t size)
{
    return begin() ? end_for(__real_calloc(n, size), n * size,
                             __builtin_return_address(0), HINT_COUNT_ZEROS)
                   : NULL;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return begin() ? end(__real_aligned_alloc(alignment, size), size,
                         __builtin_return_address(0))
                   : NULL;
}

static void tell_free(void *p, void *site)
{
    hint(
        &(struct hint){.kind = HINT_FREE, .addr = (uintptr_t)p, .site = (uintptr_t)site});
}

void *__wrap_realloc(void *p, size_t size)
{
    void *new;

    if (!begin()) {
        return NULL;
    }
    new = __real_realloc(p, size);
    if (depth == 1 && p != NULL && (new != NULL || size == 0)) {
        tell_free(p, __builtin_return_address(0));
    }
    return end(new, size, __builtin_return_address(0));
}

void __wrap_free(void *p)
{
    if (p == NULL) {
        return;
    }
    if (depth++ == 0) {
        tell_free(p, __builtin_return_address(0));
    }
    __real_free(p);
    if (--depth == 0) {
        hint_range(HINT_REST, NULL, 0);
    }
}

#ifndef __PICOLIBC__

/* newlib's own functions, printf among them, go past those above. */
struct _reent;
void *__real__malloc_r(struct _reent *r, size_t size);
void *__real__calloc_r(struct _reent *r, size_t n, size_t size);
void *__real__realloc_r(struct _reent *r, void *p, size_t size);
void __real__free_r(struct _reent *r, void *p);
void *__wrap__malloc_r(struct _reent *r, size_t size);
void *__wrap__calloc_r(struct _reent *r, size_t n, size_t size);
void *__wrap__realloc_r(struct _reent *r, void *p, size_t size);
void __wrap__free_r(struct _reent *r, void *p);

static void *end_own(void *p, size_t size, void *site)
{
    return end_for(p, size, site, HINT_COUNT_KEPT);
}

void *__wrap__malloc_r(struct _reent *r, size_t size)
{
    return begin() ? end_own(__real__malloc_r(r, size), size, __builtin_return_address(0))
                   : NULL;
}

void *__wrap__calloc_r(struct _reent *r, size_t n, size_t size)
{
    return begin() ? end_own(__real__calloc_r(r, n, size), n * size,
                             __builtin_return_address(0))
                   : NULL;
}

void *__wrap__realloc_r(struct _reent *r, void *p, size_t size)
{
    void *new;

    if (!begin()) {
        return NULL;
    }
    new = __real__realloc_r(r, p, size);
    if (depth == 1 && p != NULL && (new != NULL || size == 0)) {
        tell_free(p, __builtin_return_address(0));
    }
    return end_own(new, size, __builtin_return_address(0));
}

void __wrap__free_r(struct _reent *r, void *p)
{
    if (p == NULL) {
        return;
    }
    if (depth++ == 0) {
        tell_free(p, __builtin_return_address(0));
    }
    __real__free_r(r, p);
    if (--depth == 0) {
        hint_range(HINT_REST, NULL, 0);
    }
}

#endif
