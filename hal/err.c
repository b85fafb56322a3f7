/* SPDX-License-Identifier: MIT
 *
 * Texts of the errors in err.h.
 */
#include "hal/err.h"

const char *err_text(int err)
{
    static const char *const texts[] = {[ERR_OK] = "no error",
#define ERR_TEXT(name, value, text) [-(value)] = text,
                                        ERR_LIST(ERR_TEXT)
#undef ERR_TEXT
    };
    unsigned at = -(unsigned)err;

    return at < sizeof(texts) / sizeof(texts[0]) ? texts[at] : "unknown error number";
}
