/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* mkostemp */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
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

static bool write_all(int fd, const char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        ssize_t count = write(fd, text, left);
        if (count < 0 && errno != EINTR) {
            return false;
        }
        text += count > 0 ? count : 0;
        left -= count > 0 ? (size_t)count : 0;
    }
    return true;
}

/* What is no regular file is written to as it is. */
static bool write_special(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    bool is_written = fd >= 0 && write_all(fd, text);
    if (fd >= 0) {
        int error = errno;
        is_written = close(fd) == 0 && is_written;
        errno = error;
    }
    return is_written;
}

/* As a new file would have them. */
static mode_t rights(void)
{
    mode_t mask = umask(0);
    (void)umask(mask);
    return 0666 & ~mask;
}

/* Whole or not at all: beside it, under a name that nobody knows before, and in its place. */
static bool replace(const char *path, const char *text)
{
    char beside[4096];
    int length = snprintf(beside, sizeof beside, "%s.XXXXXX", path);
    errno = ENAMETOOLONG;
    int fd = length > 0 && (size_t)length < sizeof beside ? mkostemp(beside, O_CLOEXEC) : -1;
    if (fd < 0) {
        return false;
    }
    bool is_written = fchmod(fd, rights()) == 0 && write_all(fd, text) && fsync(fd) == 0;
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

/* Names of open files, whatever these are ("/dev/fd/3"): nothing takes their place. */
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
