/* SPDX-License-Identifier: MIT */
/*
 * Vector files: CSV, fields by the name of their column.
 */
#ifndef RESMON_TESTS_VECTORS_H
#define RESMON_TESTS_VECTORS_H

#include <stdbool.h>

#include "test.h"

#define VECTOR_FIELDS 16
#define VECTOR_BYTES  2048

struct vectors {
    FILE *file;
    char heading[VECTOR_BYTES], line[VECTOR_BYTES];
    char *names[VECTOR_FIELDS], *fields[VECTOR_FIELDS];
};

static void vectors_split(char *line, char *fields[VECTOR_FIELDS])
{
    line[strcspn(line, "\r\n")] = '\0';
    for (size_t i = 0; i < VECTOR_FIELDS; i++) {
        bool is_quoted = line != NULL && line[0] == '"';
        fields[i] = line != NULL ? line + (is_quoted ? 1 : 0) : NULL;
        char *end = line == NULL ? NULL : is_quoted ? strchr(line + 1, '"') : strchr(line, ',');
        if (is_quoted && end != NULL) {
            *end++ = '\0';
        }
        line = end != NULL && *end == ',' ? end + 1 : NULL;
        if (end != NULL && *end == ',') {
            *end = '\0';
        }
    }
}

static void vectors_open(struct vectors *vectors, const char *name)
{
    char path[1024];
    const char *fixtures = getenv("RESMON_FIXTURES");
    if (fixtures == NULL) {
        fail_msg("RESMON_FIXTURES is not set: it names tests/fixtures (CTest sets it)");
    }
    (void)snprintf(path, sizeof path, "%s/carbon/%s", fixtures, name);
    vectors->file = fopen(path, "r");
    assert_non_null(vectors->file);
    assert_non_null(fgets(vectors->heading, sizeof vectors->heading, vectors->file));
    vectors_split(vectors->heading, vectors->names);
}

static bool vectors_next(struct vectors *vectors)
{
    if (fgets(vectors->line, sizeof vectors->line, vectors->file) == NULL) {
        (void)fclose(vectors->file);
        return false;
    }
    vectors_split(vectors->line, vectors->fields);
    return true;
}

static const char *vectors_text(const struct vectors *vectors, const char *name)
{
    for (size_t i = 0; i < VECTOR_FIELDS && vectors->names[i] != NULL; i++) {
        if (strcmp(vectors->names[i], name) == 0) {
            assert_non_null(vectors->fields[i]);
            return vectors->fields[i];
        }
    }
    fail_msg("there is no column %s", name);
    return NULL;
}

/* NaN: empty. */
static double vectors_number(const struct vectors *vectors, const char *name)
{
    const char *text = vectors_text(vectors, name);
    char *end;
    double number = strtod(text, &end);
    return end != text && *end == '\0' ? number : (double)NAN;
}

#endif
