/* SPDX-License-Identifier: MIT */
/*
 * Reads back a run: the recording (record=FILE) that a killed program left, or a run document.
 * Prints its summary, and writes a run document when told where.
 *
 *     recover run.rec [run.json]
 */
#include <resmon/resmon.h>

#include <stdio.h>

static int fail(const char *what, const char *path)
{
    fprintf(stderr, "recover: %s %s: %s\n", what, path, resmon_last_error());
    return 1;
}

int main(int argc, char **argv)
{
    resmon_run *run = NULL;
    char *text = NULL;
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: recover RECORDING [DOCUMENT]\n");
        return 2;
    }
    if (resmon_run_load(argv[1], &run) != RESMON_OK) {
        return fail("cannot load", argv[1]);
    }
    int status = 0;
    if (argc == 3 && resmon_run_save(run, argv[2]) != RESMON_OK) {
        status = fail("cannot write", argv[2]);
    }
    if (resmon_report_text(run, &text) == RESMON_OK) {
        fputs(text, stdout);
        resmon_text_free(text);
    } else {
        status = fail("cannot summarize", argv[1]);
    }
    resmon_run_free(run);
    return status;
}
