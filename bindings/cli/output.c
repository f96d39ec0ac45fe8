/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* mkostemp */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <resmon/option.h>
#include <resmon/report.h>
#include <resmon/resmon.h>
#include <resmon/sink.h>

#include "arguments.h"
#include "say.h"

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), more = strlen(ending);
    return length > more && strcasecmp(path + length - more, ending) == 0;
}

/* ---- text files ------------------------------------------------------------------------- */

/* A name must not be a path. */
static bool put_path(const char *name, char path[CLI_STORE_PATH_BYTES])
{
    int length = snprintf(path, CLI_STORE_PATH_BYTES, CLI_STORE_DIRECTORY "/%s.json", name);
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL && length > 0 &&
           (unsigned)length < CLI_STORE_PATH_BYTES;
}

/* The path of the benchmark with this name; false: there is none, or a file has this name. */
static bool find_kept(const char *name, char path[CLI_STORE_PATH_BYTES])
{
    return access(name, F_OK) != 0 && put_path(name, path) && access(path, F_OK) == 0;
}

bool cli_store_make(const char *verb, const char *name, char path[CLI_STORE_PATH_BYTES])
{
    if (!put_path(name, path)) {
        cli_say(verb, "'%.200s' cannot be a name: it has a '/', begins with a '.', or is too long",
                name);
        return false;
    }
    if (mkdir(CLI_STORE_DIRECTORY, 0777) != 0 && errno != EEXIST) {
        cli_say(verb, "cannot create the directory " CLI_STORE_DIRECTORY ": %s", strerror(errno));
        return false;
    }
    return true;
}

const char *cli_store_temporary(void)
{
    const char *directory = getenv("TMPDIR");
    return directory != NULL && directory[0] != '\0' ? directory : "/tmp";
}

/* Devices and pipes are written to, not replaced. */
static bool write_special(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    bool is_written = fd >= 0 && cli_write(fd, text, strlen(text));
    if (fd >= 0) {
        int error = errno;
        is_written = close(fd) == 0 && is_written;
        errno = error;
    }
    return is_written;
}

/* The permissions of a new file. */
static mode_t new_file_mode(void)
{
    mode_t mask = umask(0);
    (void)umask(mask);
    return 0666 & ~mask;
}

/* Writes a temporary file beside it, and renames that. */
static bool replace(const char *path, const char *text)
{
    char beside[4096];
    int length = snprintf(beside, sizeof beside, "%s.XXXXXX", path);
    errno = ENAMETOOLONG;
    int fd = length > 0 && (size_t)length < sizeof beside ? mkostemp(beside, O_CLOEXEC) : -1;
    if (fd < 0) {
        return false;
    }
    bool is_written =
        fchmod(fd, new_file_mode()) == 0 && cli_write(fd, text, strlen(text)) && fsync(fd) == 0;
    int error = errno;
    is_written = close(fd) == 0 && is_written;
    errno = error;
    is_written = is_written && rename(beside, path) == 0;
    if (!is_written) {
        error = errno;
        (void)unlink(beside);
        errno = error;
    }
    return is_written;
}

/* Names of open files, such as "/dev/fd/3", cannot be replaced. */
static bool is_of_system(const char *path)
{
    return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
}

bool cli_store_write(const char *verb, const char *path, const char *text)
{
    if (strcmp(path, CLI_STDOUT) == 0) {
        return cli_print(verb, text);
    }
    struct stat info;
    bool is_special = is_of_system(path) || (stat(path, &info) == 0 && !S_ISREG(info.st_mode));
    bool is_written = is_special ? write_special(path, text) : replace(path, text);
    if (!is_written) {
        cli_say(verb, "cannot write %s: %s", path, strerror(errno));
    }
    return is_written;
}

bool cli_store_made(const char *verb, const char *path, resmon_status status, char *text)
{
    bool is_written = cli_check(verb, status) && cli_store_write(verb, path, text);
    resmon_text_free(status == RESMON_OK ? text : NULL);
    return is_written;
}

bool cli_result_write(const struct cli_result *result)
{
    const char *path;
    bool is_well = true;
    for (size_t i = 0; (path = cli_value_at(result->arguments, "output", i)) != NULL; i++) {
        char *text = NULL;
        const resmon_status status =
            result->render(result->context, result->form_of(result->context, path), 0, &text);
        is_well &= cli_store_made(result->arguments->command->name, path, status, text);
    }
    return is_well;
}

bool cli_result_print(const struct cli_result *result)
{
    char *text = NULL;
    if (cli_has(result->arguments, "quiet")) {
        return true;
    }
    const char *form = cli_has(result->arguments, "json") ? "json" : "text";
    const resmon_status status =
        result->render(result->context, form, cli_columns(STDOUT_FILENO), &text);
    return cli_print_made(result->arguments->command->name, status, text);
}

/* ---- by the Python package -------------------------------------------------------------- */

#define SCRIPT_BYTES 2048

/* A call of the Python package. */
struct task {
    const char *verb;
    const char *what; /* "a PDF needs" */
    const char *call; /* sys.argv has the target, metrics to plot, and the sources */
    const char *advice;
};

#define EXPORT(name) "resmon.load(sys.argv[3]).export(sys.argv[1], '" name "')"
#define PLOTS        "filter(None, sys.argv[2].split(','))"
#define PLOT         "resmon.load(sys.argv[3]).plot(*" PLOTS ").save(sys.argv[1])"
#define REPORT       "resmon.report(sys.argv[3:], sys.argv[1], plots=[*" PLOTS "])"

/* Formats of the Python package, which reads run documents. */
static const struct python_form {
    const char *ending, *name, *what, *call, *advice;
    bool is_shown; /* a report, not a table */
} python_forms[] = {
    {".parquet", "parquet", "Parquet needs", EXPORT("parquet"), "; or write .csv", false},
    {".pq", "parquet", "Parquet needs", EXPORT("parquet"), "; or write .csv", false},
    {".h5", "hdf5", "HDF5 needs", EXPORT("hdf5"), "; or write .csv", false},
    {".hdf5", "hdf5", "HDF5 needs", EXPORT("hdf5"), "; or write .csv", false},
    {".feather", "feather", "Feather needs", EXPORT("feather"), "; or write .csv", false},
    {".orc", "orc", "ORC needs", EXPORT("orc"), "; or write .csv", false},
    {".pkl", "pickle", "a pickle needs", EXPORT("pickle"), "; or write .csv", false},
    {".pickle", "pickle", "a pickle needs", EXPORT("pickle"), "; or write .csv", false},
    {".pdf", "pdf", "a PDF needs", REPORT,
     "; or print the HTML report from a browser: -o report.html", true},
    {".png", "png", "a picture needs", PLOT, "; or write .html", true},
    {".svg", "svg", "a picture needs", PLOT, "; or write .html", true},
};

/* By the format's name, or NULL: by the ending of the path.  NULL: the library writes it. */
static const struct python_form *python_form_of(const char *path, const char *name)
{
    for (size_t i = 0; i < sizeof python_forms / sizeof *python_forms; i++) {
        const struct python_form *form = &python_forms[i];
        if (name != NULL ? strcmp(name, form->name) == 0 : ends_in(path, form->ending)) {
            return form;
        }
    }
    return NULL;
}

/* Errors and warnings of the package are sentences already.  The working directory is removed from
 * the path before anything but sys, which is built in, is imported. */
static const char python_frame[] =
    "import sys\n"
    "sys.path[:] = [path for path in sys.path if path]\n"
    "import warnings\n"
    "try:\n"
    "    import resmon\n"
    "except ImportError as error:\n"
    "    sys.exit(f'resmon %s: %s the Python package resmon, which python3 cannot import "
    "({error})%s')\n"
    "warnings.showwarning = lambda text, *more: print(f'resmon %s: {text}', file=sys.stderr)\n"
    "try:\n"
    "    %s\n"
    "except (resmon.Error, ImportError, OSError) as error:\n"
    "    sys.exit(f'resmon %s: {error}')\n";

extern char **environ;

static bool run_python(const struct task *task, char *const *sources, size_t count,
                       const char *target, const char *plots)
{
    char script[SCRIPT_BYTES];
    struct cli_words words = {.at = NULL};
    pid_t child = -1;
    int status = -1;
    (void)snprintf(script, sizeof script, python_frame, task->verb, task->what, task->advice,
                   task->verb, task->call, task->verb);
    cli_words_add(&words, "python3");
    cli_words_add(&words, "-c");
    cli_words_add(&words, "%s", script);
    cli_words_add(&words, "%s", target);
    cli_words_add(&words, "%s", plots != NULL ? plots : "");
    for (size_t i = 0; i < count; i++) {
        cli_words_add(&words, "%s", sources[i]);
    }
    int error = posix_spawnp(&child, words.at[0], NULL, NULL, words.at, environ);
    cli_words_free(&words);
    if (error != 0) {
        cli_say(task->verb, "%s python3, which cannot be started: %s", task->what, strerror(error));
        return false;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status == 0;
}

bool cli_python_shows(const char *path)
{
    const struct python_form *form = python_form_of(path, NULL);
    return form != NULL && form->is_shown;
}

static bool write_by_python(const char *verb, const struct python_form *form, char *const *files,
                            size_t count, const char *path, const char *plots)
{
    const struct task task = {verb, form->what, form->call, form->advice};
    return run_python(&task, files, count, path, plots);
}

bool cli_python_show(const char *verb, char *const *files, size_t count, const char *path,
                     const char *plots)
{
    const struct python_form *form = python_form_of(path, NULL);
    return form != NULL && write_by_python(verb, form, files, count, path, plots);
}

bool cli_python_add_to_dataset(char *const *sources, size_t count, const char *directory)
{
    const struct task task = {
        "export", "a dataset needs",
        "tell = lambda count: print(f'{count} runs', end='\\r', file=sys.stderr, flush=True)\n"
        "    shown = tell if sys.stderr.isatty() else None\n"
        "    count = resmon.dataset(*sys.argv[3:]).save(sys.argv[1], shown)\n"
        "    print(f'{count} runs are new in {sys.argv[1]}')",
        ""};
    return run_python(&task, sources, count, directory, NULL);
}

/* ---- runs and their formats ------------------------------------------------------------- */

const char *cli_output_form(const char *path)
{
    static const struct {
        const char *ending, *form;
    } forms[] = {{".html", "html"},         {".htm", "html"},  {".md", "markdown"},
                 {".markdown", "markdown"}, {".json", "json"}, {".xml", "junit"},
                 {".txt", "text"}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (ends_in(path, forms[i].ending)) {
            return forms[i].form;
        }
    }
    return NULL;
}

bool cli_output_is_late(const char *path)
{
    return ends_in(path, ".txt") || python_form_of(path, NULL) != NULL;
}

/* Whether the name of a file has an ending that is none of `endings`. */
static bool is_other(const char *path, const char *const *endings)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    bool is_other = dot != NULL && (slash == NULL || dot > slash) && !is_of_system(path);
    for (size_t i = 0; endings[i] != NULL; i++) {
        is_other = is_other && !ends_in(path, endings[i]);
    }
    return is_other;
}

bool cli_output_may_end(const struct cli_arguments *arguments, const char *const *endings)
{
    const char *path;
    char list[128] = "";
    size_t length = 0;
    for (size_t i = 0; endings[i] != NULL; i++) {
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", i > 0 ? ", " : "",
                                   endings[i]);
    }
    for (size_t i = 0; (path = cli_value_at(arguments, "output", i)) != NULL; i++) {
        if (is_other(path, endings)) {
            cli_say(arguments->command->name, "%s: the name must end in one of %s", path, list);
            return false;
        }
    }
    return true;
}

/* The directories above a file, unless its path has patterns, which the library expands. */
static void make_directories_above(const char *path)
{
    char above[4096];
    size_t length = strlen(path);
    if (length >= sizeof above || strchr(path, '%') != NULL) {
        return;
    }
    memcpy(above, path, length + 1);
    for (char *slash = above; (slash = strchr(slash + 1, '/')) != NULL;) {
        *slash = '\0';
        (void)mkdir(above, 0777); /* if that fails, opening the file says why */
        *slash = '/';
    }
}

/* The format of a path, of the library; a failure names also the endings of the Python package. */
static resmon_status kind_of(const char *path, resmon_sink_kind *ret_kind)
{
    resmon_status status = resmon_sink_kind_of_file(path, ret_kind);
    if (status == RESMON_OK) {
        make_directories_above(path);
    }
    return status;
}

resmon_status cli_output_add(resmon_monitor *monitor, const char *path)
{
    resmon_sink_kind kind = {.struct_size = sizeof kind};
    struct cli_text text = {.text = NULL};
    resmon_status status = kind_of(path, &kind);
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
    make_directories_above(path);
    bool is_written = text != NULL && cli_store_write(verb, path, text);
    resmon_text_free(text);
    return is_written;
}

/* The package reads the run from a temporary run document beside the file.  If it fails, the
 * document stays, unless the run is in another file, too. */
static bool write_late(const char *verb, const resmon_run *run, const struct python_form *form,
                       const char *path)
{
    char document[4096], *file = document;
    bool is_elsewhere = strcmp(verb, "export") == 0;
    make_directories_above(path);
    errno = ENAMETOOLONG;
    int length = snprintf(document, sizeof document, "%s.XXXXXX.json", path);
    int fd = length > 0 && (size_t)length < sizeof document ? mkstemps(document, 5) : -1;
    if (fd < 0) {
        cli_say(verb, "cannot create a file beside %s: %s", path, strerror(errno));
        return false;
    }
    (void)close(fd);
    bool is_saved = cli_output_write(verb, run, document, "json");
    bool is_written = is_saved && write_by_python(verb, form, &file, 1, path, NULL);
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
    const struct python_form *by_python = python_form_of(path, format);
    if (by_python != NULL) {
        return write_late(verb, run, by_python, path);
    }
    resmon_status status = format != NULL ? RESMON_OK : kind_of(path, &kind);
    if (status == RESMON_OK) {
        cli_text_add(&text, "", path); /* the main option: a path, for Prometheus a directory */
        status = resmon_run_export(run, kind.name, text.text);
        cli_text_free(&text);
    }
    return cli_check(verb, status);
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
    return cli_check(verb, resmon_run_load(path, &run)) ? run : NULL;
}

void cli_output_free_all(resmon_run **runs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        resmon_run_free(runs[i]);
    }
    free(runs);
}

resmon_run **cli_output_load_all(const char *verb, char *const *paths, size_t count)
{
    resmon_run **runs = cli_grow(NULL, (count + 1) * sizeof(resmon_run *));
    for (size_t i = 0; i < count; i++) {
        runs[i] = cli_output_load(verb, paths[i]);
        if (runs[i] == NULL) {
            cli_output_free_all(runs, i);
            return NULL;
        }
    }
    return runs;
}

/* ---- groups of runs --------------------------------------------------------------------- */

/* NULL, and a message: a run cannot be loaded or added. */
static resmon_bench *load_runs(const char *verb, char **words, size_t count)
{
    resmon_bench *bench = NULL;
    bool is_well = cli_check(verb, resmon_bench_new(&bench));
    for (size_t i = 0; i < count && is_well; i++) {
        resmon_run *run = cli_output_load(verb, words[i]);
        is_well = run != NULL && cli_check(verb, resmon_bench_add(bench, words[0], run));
        resmon_run_free(run);
    }
    if (!is_well) {
        resmon_bench_free(bench);
        bench = NULL;
    }
    return bench;
}

resmon_bench *cli_runs_load(const char *verb, char **words, size_t count)
{
    char path[CLI_STORE_PATH_BYTES];
    resmon_bench *bench = NULL;
    if (count != 1) {
        return load_runs(verb, words, count);
    }
    char *word = find_kept(words[0], path) ? path : words[0];
    resmon_status status = resmon_bench_load(word, &bench);
    if (status == RESMON_EFORMAT || status == RESMON_ENOTSUP) {
        return load_runs(verb, &word, 1);
    }
    (void)cli_check(verb, status);
    return bench;
}

/* ---- the median run ----------------------------------------------------------------------- */

struct timed {
    double wall_s;
    const char *path;
};

static int compare_times(const void *left, const void *right)
{
    const struct timed *a = left, *b = right;
    return (a->wall_s > b->wall_s) - (a->wall_s < b->wall_s);
}

static bool take_time(const char *path, struct timed *ret)
{
    resmon_headline headline = {.struct_size = sizeof headline};
    resmon_run *run = NULL;
    bool is_run = resmon_run_load(path, &run) == RESMON_OK &&
                  resmon_run_get_headline(run, &headline) == RESMON_OK;
    resmon_run_free(run);
    *ret = (struct timed){headline.wall_s, path};
    return is_run;
}

resmon_run *cli_runs_median(char **words, size_t count)
{
    resmon_run *run = NULL;
    size_t taken = 0;
    struct timed *times = cli_grow(NULL, (count + 1) * sizeof *times);
    while (taken < count && take_time(words[taken], &times[taken])) {
        taken++;
    }
    if (taken == count && count > 0) {
        qsort(times, count, sizeof *times, compare_times);
        (void)resmon_run_load(times[(count - 1) / 2].path, &run);
    }
    free(times);
    return run;
}
