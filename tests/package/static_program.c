/* SPDX-License-Identifier: MIT */
/*
 * A program that is linked statically: no library is loaded into it, which would come with a second
 * libc, and crash where it asks for its threads' storage.
 */
#include <stdio.h>
#include <string.h>

#include "os/library.h"

int main(void)
{
    static double (*cosine)(double);
    static const char *const names[] = {"libm.so.6", NULL};
    static const struct rm_library_function functions[] = {{"cos", (void *)&cosine}};
    static const struct rm_library library = {"libm", names, functions, 1};
    resmon_status status = rm_library_load(&library);
    if (status != RESMON_ENOTSUP || cosine != NULL ||
        strcmp(resmon_last_error(), "libm cannot be loaded: this program is linked statically") !=
            0) {
        printf("%d: %s\n", (int)status, resmon_last_error());
        return 1;
    }
    return 0;
}
