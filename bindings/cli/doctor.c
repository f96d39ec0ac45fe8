/* SPDX-License-Identifier: MIT */
/* resmon doctor: reports what this user can measure on this machine, and how to enable the rest. */
#include <string.h>

#include <resmon/doctor.h>
#include <resmon/report.h>

#include "arguments.h"
#include "say.h"

/* Indexed by RESMON_DOCTOR_FILE_*. */
static const char *const files[] = {"all", "sysusers", "udev", "tmpfiles", "sysctl"};

/* -1: no such file. */
static int find_file(const char *name)
{
    for (int i = 0; i < (int)(sizeof files / sizeof *files); i++) {
        if (strcmp(files[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

static bool print(const resmon_doctor *doctor, int file, bool as_json)
{
    char *text = NULL;
    resmon_status status = file >= 0 ? resmon_doctor_rule(doctor, file, &text)
                           : as_json ? resmon_doctor_document(doctor, &text)
                                     : resmon_doctor_report(doctor, &text);
    return cli_print_made("doctor", status, text);
}

int cli_doctor(const struct cli_arguments *arguments)
{
    resmon_doctor *doctor = NULL;
    bool wants_rule = cli_has(arguments, "rule");
    const char *rule = cli_value(arguments, "rule");
    if (wants_rule && rule == NULL && arguments->word_count == 1) {
        rule = arguments->words[0]; /* "--rule udev" */
    }
    int file = rule != NULL                 ? find_file(rule)
               : cli_has(arguments, "rule") ? RESMON_DOCTOR_FILE_ALL
                                            : -1;
    if (!cli_needs_words(arguments, 0, wants_rule && rule != NULL ? 1 : 0)) {
        return cli_wrong(arguments->command);
    }
    if (rule != NULL && file < 0) {
        cli_say("doctor", "--rule=%.32s must be sysusers, udev, tmpfiles, sysctl or all", rule);
        return cli_wrong(arguments->command);
    }
    const resmon_doctor_options options = {.struct_size = sizeof options,
                                           .fs_root = cli_value(arguments, "root"),
                                           .group = cli_value(arguments, "group")};
    if (!cli_check("doctor", resmon_doctor_examine(&options, &doctor))) {
        return CLI_FAILED;
    }
    bool is_printed = print(doctor, file, cli_has(arguments, "json"));
    resmon_doctor_free(doctor);
    return is_printed ? 0 : CLI_FAILED;
}
