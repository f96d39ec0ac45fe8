/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 /* nftw */
#include "files.h"

#include <dirent.h>
#include <ftw.h>

#include "test.h"

char test_directory[64];

const char *path_of(const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", test_directory, name);
    return path;
}

size_t count_files_in(const char *directory)
{
    size_t count = 0;
    DIR *dir = opendir(directory);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        count += entry->d_name[0] != '.' ? 1 : 0;
    }
    (void)closedir(dir);
    return count;
}

char *content_of(const char *path, size_t *ret_length)
{
    size_t room = 65536, length = 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    char *bytes = malloc(room);
    assert_non_null(bytes);
    for (size_t got; (got = fread(bytes + length, 1, room - length - 1, file)) > 0;) {
        length += got;
        if (length == room - 1) {
            room *= 2;
            bytes = realloc(bytes, room);
            assert_non_null(bytes);
        }
    }
    (void)fclose(file);
    bytes[length] = '\0';
    if (ret_length != NULL) {
        *ret_length = length;
    }
    return bytes;
}

void put_content(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        fail_msg("%s cannot be written", path);
    }
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

void put_text(const char *path, const char *text)
{
    put_content(path, text, strlen(text));
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info, (void)kind, (void)place;
    return remove(path);
}

int remove_directory(const char *directory)
{
    return nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

int is_left_empty(void **state)
{
    (void)state;
    size_t count = count_files_in(test_directory);
    if (count > 0) {
        print_error("%zu files are left in %s\n", count, test_directory);
    }
    return count == 0 ? 0 : -1;
}
