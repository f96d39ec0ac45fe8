/* SPDX-License-Identifier: MIT */
/*
 * The names come from debug information or a document, so from outside: whoever made one up shall
 * not have a report show a file that is no source.
 */
#include "view/source_lines.h"

#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "os/infile.h"

#define LARGEST_FILE ((uint64_t)8 << 20)

static bool is_source(const char *name)
{
    static const char *const endings[] = {
        "c",   "h",   "cc",  "cpp", "cxx", "c++", "C",   "hh",  "hpp", "hxx", "H",   "inl", "inc",
        "ipp", "tcc", "tpp", "cu",  "cuh", "cl",  "hip", "f",   "F",   "for", "f77", "f90", "F90",
        "f95", "F95", "f03", "F03", "f08", "F08", "rs",  "go",  "d",   "zig", "nim", "ml",  "hs",
        "s",   "S",   "asm", "m",   "mm",  "y",   "l",   "adb", "ads", "jl",  "py",  "pyx", "swift",
    };
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot != NULL && i < RM_ARRAY_LEN(endings); i++) {
        if (strcmp(dot + 1, endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool open_source(struct rm_infile *file, const char *name)
{
    return is_source(name) && rm_infile_open(file, name, LARGEST_FILE) == RESMON_OK;
}

static bool is_there(void *context, const char *name)
{
    struct rm_infile file;
    (void)context;
    if (!open_source(&file, name)) {
        return false;
    }
    rm_infile_close(&file);
    return true;
}

static bool load(struct rm_source_files *files, const char *name)
{
    struct rm_infile file;
    if (files->name != NULL && strcmp(files->name, name) == 0) {
        return files->text != NULL;
    }
    rm_source_files_free(files);
    files->name = rm_strdup(name);
    if (files->name == NULL || !open_source(&file, name)) {
        return false;
    }
    if (rm_infile_read_all(&file, &files->text) == RESMON_OK) {
        files->bytes = file.bytes;
        files->line = 1;
    }
    rm_infile_close(&file);
    return files->text != NULL;
}

static const char *get(void *context, const char *name, uint32_t line, size_t *ret_length)
{
    struct rm_source_files *files = context;
    if (!load(files, name)) {
        return NULL;
    }
    if (line < files->line) {
        files->line = 1;
        files->offset = 0;
    }
    while (files->line < line) {
        const char *end =
            memchr(files->text + files->offset, '\n', (size_t)(files->bytes - files->offset));
        if (end == NULL) {
            return NULL; /* the file is another one by now */
        }
        files->offset = (uint64_t)(end + 1 - files->text);
        files->line++;
    }
    const char *begin = files->text + files->offset;
    const char *end = memchr(begin, '\n', (size_t)(files->bytes - files->offset));
    *ret_length = (size_t)((end != NULL ? end : files->text + files->bytes) - begin);
    return begin;
}

struct rm_source_lines rm_source_lines_of(struct rm_source_files *files)
{
    return (struct rm_source_lines){.is_there = is_there, .get = get, .context = files};
}

void rm_source_files_free(struct rm_source_files *files)
{
    rm_free(files->name);
    rm_free(files->text);
    *files = (struct rm_source_files){0};
}
