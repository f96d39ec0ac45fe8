/* SPDX-License-Identifier: MIT */
#include "net/mlflow_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define OTHER_ROOM 19 /* of a key: for "system/resmon/run/" */

static char allowed(char byte)
{
    static const char others[] = "_.- :";
    bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    bool is_digit = byte >= '0' && byte <= '9';
    return is_letter || is_digit || strchr(others, byte) != NULL ? byte : '_';
}

/* A part that means a directory to the server, or nothing, has no place in a name. */
static bool is_step(const char *part, size_t length)
{
    return length == 0 || (length <= 2 && strspn(part, ".") >= length);
}

/* A cut may have left a step: "a/..b" as "a/..". */
static size_t without_last_step(const char *name, size_t length)
{
    size_t begin = length;
    while (begin > 0 && name[begin - 1] != '/') {
        begin--;
    }
    if (!is_step(name + begin, length - begin)) {
        return length;
    }
    return begin > 0 ? begin - 1 : 0;
}

void rm_mlflow_clean_name(char *target, size_t room, const char *name)
{
    size_t out = 0;
    for (const char *at = name; *at != '\0';) {
        size_t length = strcspn(at, "/");
        if (!is_step(at, length) && out + 2 < room) {
            if (out > 0) {
                target[out++] = '/';
            }
            for (size_t i = 0; i < length && out + 1 < room; i++) {
                target[out++] = allowed(at[i]);
            }
        }
        at += length + (at[length] == '/' ? 1 : 0);
    }
    target[out] = '\0';
    out = without_last_step(target, out);
    if (out == 0) {
        target[out++] = '_';
    }
    target[out] = '\0';
}

void rm_mlflow_column_name(char name[RM_MLFLOW_LONGEST_KEY], const resmon_column *column)
{
    char text[RM_MLFLOW_LONGEST_KEY];
    (void)snprintf(text, sizeof text, "%s%s%.150s", column->metric,
                   column->instance[0] != '\0' ? "_" : "", column->instance);
    rm_mlflow_clean_name(name, RM_MLFLOW_LONGEST_KEY - OTHER_ROOM, text);
}
