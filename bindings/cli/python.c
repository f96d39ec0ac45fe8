/* SPDX-License-Identifier: MIT */
#include "python.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>

#include "say.h"

#define SCRIPT_BYTES 2048

/* What the package is asked for. */
struct task {
    const char *verb;
    const char *what; /* "a PDF needs" */
    const char *call; /* of sys.argv: the target, then the sources */
    const char *advice;
};

/* An error or warning of the package is a sentence already.  Nothing is imported from the working
 * directory: sys, which is built in, is all that there is before it leaves the path. */
static const char frame[] =
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

static bool run(const struct task *task, char *const *sources, size_t count, const char *target)
{
    static char python[] = "python3", command[] = "-c";
    char script[SCRIPT_BYTES];
    char **words = cli_grow(NULL, (count + 5) * sizeof *words);
    char *copy = cli_grow(NULL, strlen(target) + 1);
    pid_t child = -1;
    int status = -1;
    (void)snprintf(script, sizeof script, frame, task->verb, task->what, task->advice, task->verb,
                   task->call, task->verb);
    words[0] = python;
    words[1] = command;
    words[2] = script;
    words[3] = memcpy(copy, target, strlen(target) + 1);
    memcpy(words + 4, sources, count * sizeof *words);
    words[4 + count] = NULL;
    int error = posix_spawnp(&child, python, NULL, NULL, words, environ);
    free(copy);
    free(words);
    if (error != 0) {
        cli_say(task->verb, "%s python3, which cannot be started: %s", task->what, strerror(error));
        return false;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status == 0;
}

static bool ends_in(const char *path, const char *wanted)
{
    const char *ending = strrchr(path, '.');
    return ending != NULL && strcasecmp(ending, wanted) == 0;
}

bool cli_python_is_pdf(const char *path)
{
    return ends_in(path, ".pdf");
}

bool cli_python_write_pdf(char *const *files, size_t count, const char *path)
{
    const struct task task = {"report", "a PDF needs", "resmon.report(sys.argv[2:], sys.argv[1])",
                              "; or print the HTML report from a browser: -o report.html"};
    return run(&task, files, count, path);
}

bool cli_python_is_parquet(const char *path)
{
    return ends_in(path, ".parquet") || ends_in(path, ".pq");
}

bool cli_python_write_parquet(const char *verb, char *document, const char *path)
{
    const struct task task = {verb, "Parquet needs",
                              "resmon.load(sys.argv[2]).export(sys.argv[1], 'parquet')",
                              "; or write .csv"};
    return run(&task, &document, 1, path);
}

bool cli_python_add_to_dataset(char *const *sources, size_t count, const char *directory)
{
    const struct task task = {
        "export", "a dataset needs",
        "tell = lambda count: print(f'{count} runs', end='\\r', file=sys.stderr, flush=True)\n"
        "    shown = tell if sys.stderr.isatty() else None\n"
        "    count = resmon.dataset(*sys.argv[2:]).save(sys.argv[1], shown)\n"
        "    print(f'{count} runs are new in {sys.argv[1]}')",
        ""};
    return run(&task, sources, count, directory);
}
