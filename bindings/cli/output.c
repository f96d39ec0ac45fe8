/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <resmon/option.h>
#include <resmon/report.h>
#include <resmon/sink.h>

#include "arguments.h"
#include "python.h"
#include "say.h"
#include "store.h"

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), more = strlen(ending);
    return length > more && strcasecmp(path + length - more, ending) == 0;
}

bool cli_output_is_page(const char *path, uint64_t *ret_form)
{
    bool is_markdown = ends_in(path, ".md") || ends_in(path, ".markdown");
    *ret_form = is_markdown ? RESMON_PAGE_MARKDOWN : RESMON_PAGE_HTML;
    return is_markdown || ends_in(path, ".html") || ends_in(path, ".htm");
}

bool cli_output_is_late(const char *path)
{
    return ends_in(path, ".txt") || cli_python_is_parquet(path);
}

resmon_status cli_output_add(resmon_monitor *monitor, const char *path)
{
    resmon_sink_kind kind = {.struct_size = sizeof kind};
    struct cli_text text = {.text = NULL};
    resmon_status status = resmon_sink_kind_of_file(path, &kind);
    if (status == RESMON_OK) {
        cli_text_add(&text, kind.main, path);
        status = resmon_monitor_add(monitor, kind.name, text.text);
        cli_text_free(&text);
    }
    return status;
}

static char *summary_of(const resmon_run *run, bool is_full, unsigned columns)
{
    char *text = NULL;
    const resmon_report_options options = {
        .struct_size = sizeof options,
        .detail = is_full ? RESMON_REPORT_FULL : RESMON_REPORT_BRIEF,
        .width = columns,
    };
    if (resmon_report_text(run, &options, &text) != RESMON_OK) {
        cli_say(NULL, "no summary: %s", resmon_last_error());
        return NULL;
    }
    return text;
}

static bool write_text(const char *verb, const resmon_run *run, const char *path)
{
    char *text = summary_of(run, false, 0);
    bool is_written = text != NULL && cli_store_write(verb, path, text);
    resmon_text_free(text);
    return is_written;
}

/* By way of a run document beside it, of a name that no file had; it stays if the file cannot be
 * made, and the run is nowhere else. */
static bool write_parquet(const char *verb, const resmon_run *run, const char *path)
{
    char document[4096];
    bool is_elsewhere = strcmp(verb, "export") == 0;
    errno = ENAMETOOLONG;
    int length = snprintf(document, sizeof document, "%s.XXXXXX.json", path);
    int fd = length > 0 && (size_t)length < sizeof document ? mkstemps(document, 5) : -1;
    if (fd < 0) {
        cli_say(verb, "cannot create a file beside %s: %s", path, strerror(errno));
        return false;
    }
    (void)close(fd);
    bool is_saved = cli_output_write(verb, run, document, "json");
    bool is_written = is_saved && cli_python_write_parquet(verb, document, path);
    if (!is_saved || is_written || is_elsewhere) {
        (void)unlink(document);
    } else {
        cli_say(verb, "the run is in %s; later: resmon export %s -o %s", document, document, path);
    }
    return is_written;
}

bool cli_output_write(const char *verb, const resmon_run *run, const char *path, const char *format)
{
    resmon_sink_kind kind = {.struct_size = sizeof kind, .name = format};
    struct cli_text text = {.text = NULL};
    if (format == NULL && ends_in(path, ".txt")) {
        return write_text(verb, run, path);
    }
    if (format != NULL ? strcmp(format, "parquet") == 0 : cli_python_is_parquet(path)) {
        return write_parquet(verb, run, path);
    }
    resmon_status status = format != NULL ? RESMON_OK : resmon_sink_kind_of_file(path, &kind);
    if (status == RESMON_OK) {
        cli_text_add(&text, "", path); /* what is main: a path, for Prometheus a directory */
        status = resmon_run_export(run, kind.name, text.text);
        cli_text_free(&text);
    }
    if (status != RESMON_OK) {
        cli_say(verb, "%s", resmon_last_error());
    }
    return status == RESMON_OK;
}

void cli_output_print(const resmon_run *run, bool is_full, unsigned columns)
{
    char *text = summary_of(run, is_full, columns);
    if (text != NULL) {
        (void)fputs(text, stderr);
        resmon_text_free(text);
    }
}

void cli_output_print_lines(const resmon_run *run, const char *function)
{
    char *text = NULL;
    bool is_of_one = function != NULL && function[0] != '\0';
    if (resmon_report_lines(run, is_of_one ? function : NULL, &text) != RESMON_OK) {
        cli_say(NULL, "no tables by line: %s", resmon_last_error());
        return;
    }
    (void)fputs(text, stderr);
    resmon_text_free(text);
}

resmon_run *cli_output_load(const char *verb, const char *path)
{
    resmon_run *run = NULL;
    if (resmon_run_load(path, &run) != RESMON_OK) {
        cli_say(verb, "%s", resmon_last_error());
        return NULL;
    }
    return run;
}
