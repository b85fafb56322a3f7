/* SPDX-License-Identifier: MIT
 *
 * Texts of the errors in err.h.
 */
#include "hal/err.h"

const char *err_text(int err)
{
    switch (err) {
    case ERR_OK:
        return "no error";
#define ERR_CASE(name, value, text)                                                      \
    case name:                                                                           \
        return text;
        ERR_LIST(ERR_CASE)
#undef ERR_CASE
    default:
        return "unknown error number";
    }
}
