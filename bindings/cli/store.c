/* SPDX-License-Identifier: MIT */
#include "store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "say.h"

/* A name is no path. */
static bool put_path(const char *name, char path[CLI_STORE_PATH_BYTES])
{
    int length = snprintf(path, CLI_STORE_PATH_BYTES, CLI_STORE_DIRECTORY "/%s.json", name);
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL && length > 0 &&
           (unsigned)length < CLI_STORE_PATH_BYTES;
}

bool cli_store_find(const char *name, char path[CLI_STORE_PATH_BYTES])
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
        cli_say(verb, "the directory " CLI_STORE_DIRECTORY " cannot be made: %s", strerror(errno));
        return false;
    }
    return true;
}

const char *cli_store_temporary(void)
{
    const char *directory = getenv("TMPDIR");
    return directory != NULL && directory[0] != '\0' ? directory : "/tmp";
}

static bool write_file(const char *path, const char *text, bool is_kept)
{
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        return false;
    }
    bool is_written =
        fputs(text, file) != EOF && fflush(file) == 0 && (!is_kept || fsync(fileno(file)) == 0);
    int error = errno;
    is_written = fclose(file) == 0 && is_written;
    errno = error;
    return is_written;
}

/* What is no regular file (/dev/stdout) is written to as it is. */
bool cli_store_write(const char *verb, const char *path, const char *text)
{
    char beside[4096];
    struct stat info;
    bool is_special = stat(path, &info) == 0 && !S_ISREG(info.st_mode);
    int length = snprintf(beside, sizeof beside, "%s%s", path, is_special ? "" : ".new");
    bool is_written = length > 0 && (size_t)length < sizeof beside &&
                      write_file(beside, text, !is_special) &&
                      (is_special || rename(beside, path) == 0);
    if (!is_written) {
        cli_say(verb, "%s cannot be written: %s", path, strerror(errno));
        (void)(is_special ? 0 : unlink(beside));
    }
    return is_written;
}
