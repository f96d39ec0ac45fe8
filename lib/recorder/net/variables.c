/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* secure_getenv */
#include "net/variables.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/status.h"
#include "base/text.h"

void rm_variable_text(resmon_status *status, const char *option, const char *variable, char *target,
                      size_t room)
{
    const char *text = option;
    if (text == NULL && variable != NULL) {
        text = secure_getenv(variable);
    }
    if (*status != RESMON_OK || text == NULL || text[0] == '\0') {
        return;
    }
    size_t length = strlen(text);
    if (length < room) {
        memcpy(target, text, length + 1);
    } else {
        *status = rm_error(RESMON_EINVAL, "%s is longer than %zu bytes",
                           variable != NULL ? variable : "an option", room - 1);
    }
}

void rm_variable_file(resmon_status *status, const char *option, const char *variable, char *path,
                      size_t room)
{
    rm_variable_text(status, option, variable, path, room);
    if (*status == RESMON_OK && path[0] != '\0' && access(path, R_OK) != 0) {
        *status = rm_error(RESMON_EINVAL, "%s: cannot read %s", variable, path);
    }
}

void rm_variable_switch(resmon_status *status, const char *variable, bool *is_on)
{
    const char *text = secure_getenv(variable);
    if (*status != RESMON_OK || text == NULL || text[0] == '\0') {
        return;
    }
    bool is_yes = rm_text_is_like(text, "true") || rm_text_is_like(text, "1");
    if (is_yes || rm_text_is_like(text, "false") || rm_text_is_like(text, "0")) {
        *is_on = is_yes;
    } else {
        *status = rm_error(RESMON_EINVAL, "%s is '%.40s': it must be true, false, 1 or 0", variable,
                           text);
    }
}

void rm_variable_number(resmon_status *status, const char *variable, double low, double high,
                        double *number)
{
    const char *text = secure_getenv(variable);
    if (*status != RESMON_OK || text == NULL || text[0] == '\0') {
        return;
    }
    struct rm_text rest = rm_text_of(text, strlen(text));
    double read;
    if (rm_parse_decimal(&rest, &read) && rest.at == rest.end && read >= low && read <= high) {
        *number = read;
    } else {
        *status = rm_error(RESMON_EINVAL, "%s is '%.40s': it must be %g to %g", variable, text, low,
                           high);
    }
}
