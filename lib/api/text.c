/* SPDX-License-Identifier: MIT */
#include <resmon/report.h>

#include "base/alloc.h"

#define STRING(x)  STRING_(x)
#define STRING_(x) #x

void resmon_text_free(char *text)
{
    rm_free(text);
}

const char *resmon_version(void)
{
    return STRING(RESMON_VERSION_MAJOR) "." STRING(RESMON_VERSION_MINOR) "." STRING(
        RESMON_VERSION_PATCH);
}
