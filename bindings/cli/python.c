/* SPDX-License-Identifier: MIT */
#include "pdf.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>

#include "say.h"

/* An error of the package is a sentence already. */
static char script[] =
    "import sys\n"
    "sys.path[:] = [path for path in sys.path if path]\n" /* not of the working directory */
    "try:\n"
    "    import resmon\n"
    "except ImportError as error:\n"
    "    sys.exit(f'resmon report: a PDF is drawn by the Python package resmon, which python3 "
    "cannot '\n"
    "             f'import ({error}); a browser prints the page: -o report.html')\n"
    "try:\n"
    "    resmon.report(sys.argv[2:], sys.argv[1])\n"
    "except (resmon.Error, ImportError) as error:\n"
    "    sys.exit(f'resmon report: {error}')\n";

extern char **environ;

bool cli_pdf_is_named(const char *path)
{
    const char *ending = strrchr(path, '.');
    return ending != NULL && strcasecmp(ending, ".pdf") == 0;
}

bool cli_pdf_write(char *const *files, size_t count, const char *path)
{
    static char python[] = "python3", command[] = "-c";
    char **words = cli_grow(NULL, (count + 5) * sizeof *words);
    char *copy = cli_grow(NULL, strlen(path) + 1);
    pid_t child = -1;
    int status = -1;
    words[0] = python;
    words[1] = command;
    words[2] = script;
    words[3] = memcpy(copy, path, strlen(path) + 1);
    memcpy(words + 4, files, count * sizeof *words);
    words[4 + count] = NULL;
    int error = posix_spawnp(&child, python, NULL, NULL, words, environ);
    free(copy);
    free(words);
    if (error != 0) {
        cli_say("report", "a PDF is drawn by python3, which cannot be started: %s",
                strerror(error));
        return false;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status == 0;
}
