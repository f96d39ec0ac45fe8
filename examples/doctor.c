/* SPDX-License-Identifier: MIT */
/*
 * Says what can be measured here, by this user, and what is to be done so that more can.
 *
 *     doctor                            the report
 *     doctor --rule                     the files that an administrator installs, and how
 *     doctor --rule udev                one of them: sysusers, udev, tmpfiles, sysctl
 *     doctor --group power --rule       for another group than "resmon"
 *     doctor --root DIRECTORY           of a tree that was copied from another machine
 */
#include <resmon/resmon.h>

#include <stdio.h>
#include <string.h>

#define NO_RULE (-1)

static const char *const files[] = {"all", "sysusers", "udev", "tmpfiles", "sysctl"};

static int usage(void)
{
    fprintf(stderr, "usage: doctor [--root DIRECTORY] [--group GROUP] "
                    "[--rule [all|sysusers|udev|tmpfiles|sysctl]]\n");
    return 2;
}

/* RESMON_DOCTOR_FILE_*, or -1. */
static int find_file(const char *name)
{
    for (int i = 0; i < (int)(sizeof files / sizeof *files); i++) {
        if (strcmp(files[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

/* False: the arguments are wrong. */
static int read_arguments(char **argv, resmon_doctor_options *options, int *rule)
{
    for (; *argv != NULL; argv++) {
        if (strcmp(*argv, "--rule") == 0) {
            int file = argv[1] != NULL ? find_file(argv[1]) : -1;
            *rule = file >= 0 ? file : RESMON_DOCTOR_FILE_ALL;
            argv += file >= 0;
        } else if (strcmp(*argv, "--group") == 0 && argv[1] != NULL) {
            options->group = *++argv;
        } else if (strcmp(*argv, "--root") == 0 && argv[1] != NULL) {
            options->fs_root = *++argv;
        } else {
            return 0;
        }
    }
    return 1;
}

int main(int argc, char **argv)
{
    resmon_doctor_options options = {.struct_size = sizeof options};
    resmon_doctor *doctor = NULL;
    char *text = NULL;
    int rule = NO_RULE;
    if (argc < 1 || !read_arguments(argv + 1, &options, &rule)) {
        return usage();
    }
    resmon_status status = resmon_doctor_examine(&options, &doctor);
    if (status == RESMON_OK) {
        status = rule == NO_RULE ? resmon_doctor_report(doctor, &text)
                                 : resmon_doctor_rule(doctor, rule, &text);
    }
    int result = status != RESMON_OK;
    if (status != RESMON_OK) {
        fprintf(stderr, "doctor: %s\n", resmon_last_error());
    } else if (fputs(text, stdout) == EOF || fflush(stdout) != 0) {
        perror("doctor: cannot write");
        result = 1;
    }
    resmon_text_free(text);
    resmon_doctor_free(doctor);
    return result;
}
