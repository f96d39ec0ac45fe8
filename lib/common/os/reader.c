/* SPDX-License-Identifier: MIT */
#include "os/reader.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"
#include "os/library.h"

extern RM_WEAK const struct rm_reader rm_reader_functions;

/* ---- the file --------------------------------------------------------------------------- */

/* The reader must be owned by root or the owner of libresmon, as resmon-names must
 * (symbols/symbolizer.c). */
static resmon_status check_owner(const char *path, const struct stat *own)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) ||
        (info.st_uid != 0 && info.st_uid != own->st_uid)) {
        return rm_error(RESMON_ENOTSUP,
                        "%.256s is not loaded: it is not of the user who owns libresmon", path);
    }
    if ((info.st_mode & S_IWOTH) != 0 ||
        ((info.st_mode & S_IWGRP) != 0 && info.st_gid != own->st_gid)) {
        return rm_error(RESMON_ENOTSUP, "%.256s is not loaded: others may write it", path);
    }
    return RESMON_OK;
}

/* The reader must be in the directory of libresmon, with links followed: a file elsewhere may be
 * another user's. */
static resmon_status find_file(char path[RM_LIBRARY_PATH_BYTES])
{
    char own[RM_LIBRARY_PATH_BYTES], beside[RM_LIBRARY_PATH_BYTES];
    struct stat own_info;
    rm_library_own_file(beside);
    if (beside[0] == '\0' || !rm_library_real_path(beside, own) || stat(own, &own_info) != 0) {
        return rm_error(RESMON_ENOTSUP, RM_READER_FILE
                        " is not found: the file of libresmon is not there any more");
    }
    int directory = (int)(strrchr(own, '/') - own);
    if (strncmp(own + directory, "/libresmon.so", strlen("/libresmon.so")) != 0) {
        return rm_error(
            RESMON_ENOTSUP,
            "libresmon is linked into %.256s without its reader: link libresmon-reader.a, "
            "too, with -Wl,-u,rm_reader_functions",
            own);
    }
    int length = snprintf(beside, sizeof beside, "%.*s/" RM_READER_FILE, directory, own);
    if (length >= (int)sizeof beside || !rm_library_real_path(beside, path)) {
        return rm_error(RESMON_ENOTSUP,
                        RM_READER_FILE
                        " is not installed beside libresmon (%.*s): install it there",
                        directory < 256 ? directory : 256, own);
    }
    if (strncmp(path, own, (size_t)directory + 1) != 0 ||
        strchr(path + directory + 1, '/') != NULL) {
        return rm_error(RESMON_ENOTSUP,
                        "%.256s is not loaded: it leads to another directory, %.256s", beside,
                        path);
    }
    return check_owner(path, &own_info);
}

/* ---- loading it ------------------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct rm_reader *reader; /* NULL: `why_not` */
static char why_not[RM_ERROR_TEXT_BYTES];

static resmon_status check_version(const struct rm_reader *found)
{
    return strcmp(found->version, RM_READER_VERSION) == 0 && found->bytes == sizeof *found
               ? RESMON_OK
               : rm_error(RESMON_ENOTSUP,
                          RM_READER_FILE
                          " is of version %.32s and libresmon of %s: install both of one",
                          found->version, RM_READER_VERSION);
}

static resmon_status load(const struct rm_reader **ret_found)
{
    char path[RM_LIBRARY_PATH_BYTES];
    const char *why = "";
    resmon_status status = find_file(path);
    if (status != RESMON_OK) {
        return status;
    }
    void *handle = rm_library_open(path, 0, &why);
    *ret_found = handle != NULL ? dlsym(handle, "rm_reader_functions") : NULL;
    return *ret_found != NULL ? RESMON_OK
                              : rm_error(RESMON_ENOTSUP, "%.256s cannot be loaded: %.512s", path,
                                         handle != NULL ? "it is something else" : why);
}

static void find_once(void)
{
    const struct rm_reader *found = &rm_reader_functions;
    resmon_status status = found != NULL ? RESMON_OK : load(&found);
    if (status == RESMON_OK) {
        status = check_version(found);
    }
    if (status == RESMON_OK) {
        reader = found;
    } else {
        (void)rm_text_set(why_not, sizeof why_not, resmon_last_error());
    }
}

const struct rm_reader *rm_reader(void)
{
    (void)pthread_once(&once, find_once);
    if (reader == NULL) {
        (void)rm_error(RESMON_ENOTSUP, "%s", why_not);
    }
    return reader;
}

resmon_status rm_reader_check(void)
{
    char path[RM_LIBRARY_PATH_BYTES];
    return &rm_reader_functions != NULL ? RESMON_OK : find_file(path);
}
