/* SPDX-License-Identifier: MIT */
#include "job/file_name.h"

#include <stdbool.h>
#include <string.h>

static bool is_plain(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("._+=-", c) != NULL);
}

void rm_file_name_clean(char *name, size_t capacity, const char *text)
{
    size_t length = strlen(text);
    size_t shown = length < capacity ? length : capacity - 1;
    bool is_dots = strcmp(text, ".") == 0 || strcmp(text, "..") == 0;
    for (size_t i = 0; i < shown; i++) {
        name[i] = is_plain(text[i]) && !is_dots ? text[i] : '_';
    }
    if (length == 0 && capacity > 1) {
        name[shown++] = '_';
    }
    name[shown] = '\0';
}
