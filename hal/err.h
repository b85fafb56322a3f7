/* SPDX-License-Identifier: MIT
 *
 * The one list of errors. A function that can fail returns 0 or one of these, and says
 * so with MUST_CHECK. The text completes "what failed: ...". Each tells the state that
 * is left behind: ERR_ARG, ERR_SHAPE, ERR_TYPE and ERR_FORMAT mean that nothing was
 * started, ERR_BUSY that the same call may succeed later.
 */
#ifndef HAL_ERR_H
#define HAL_ERR_H

#define MUST_CHECK __attribute__((warn_unused_result))

/* ERR(name, value, text) */
#define ERR_LIST(ERR)                                                                    \
    ERR(ERR_ARG, -1, "argument out of range, nothing was started")                       \
    ERR(ERR_BUSY, -2, "busy, try again later")                                           \
    ERR(ERR_IO, -3, "host file could not be read or written completely")                 \
    ERR(ERR_NOFILE, -4, "host file could not be opened")                                 \
    ERR(ERR_NOMEM, -5, "out of memory")                                                  \
    ERR(ERR_FORMAT, -6, "file is not in the expected format")                            \
    ERR(ERR_SHAPE, -7, "shapes do not fit")                                              \
    ERR(ERR_TYPE, -8, "data type is not supported here")                                 \
    ERR(ERR_FAULT, -9, "an engine refused a command and stopped")                        \
    ERR(ERR_TIMEOUT, -10, "engine did not finish in time")                               \
    ERR(ERR_DEADLOCK, -11, "all tasks wait and nothing is in flight")                    \
    ERR(ERR_OVERFLOW, -12, "value or text does not fit its destination")                 \
    ERR(ERR_MISMATCH, -13, "result differs from the reference")                          \
    ERR(ERR_ABSENT, -14, "this chip does not have it")                                   \
    ERR(ERR_STACK, -15, "a task has overflowed its stack")                               \
    ERR(ERR_SEM, -16, "semaphore posted above its maximum")                              \
    ERR(ERR_LOCAL, -17, "local memory of the core is full")                              \
    ERR(ERR_QUEUE, -18, "queue used against its order")                                  \
    ERR(ERR_LEFT, -19, "kernel has left something behind")                               \
    ERR(ERR_CORES, -20, "more cores wanted than the chip has")                           \
    ERR(ERR_BARRIER, -21, "barrier among more blocks than run at one time")              \
    ERR(ERR_LATE, -22, "launch has not ended in time")                                   \
    ERR(ERR_GUARD, -23, "memory before a task's stack was overwritten")                  \
    ERR(ERR_SEQUENCE, -24, "recorded sequence used against its rules")

enum err {
    ERR_OK = 0,
#define ERR_ENUM(name, value, text) name = (value),
    ERR_LIST(ERR_ENUM)
#undef ERR_ENUM
};

/* The text of an error number; "no error" for 0, never NULL. */
const char *err_text(int err);

#endif
