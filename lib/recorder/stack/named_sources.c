/* SPDX-License-Identifier: MIT */
#include "stack/named_sources.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/fork.h"
#include "base/status.h"

#define MOST_SOURCES 1024U
#define MOST_TEXT    65536U
#define NAME_BYTES   512U /* of "function\tname" */
#define MOST_NAME    200
#define WHOLE        "<module>" /* the function of a cell's own lines: it has the cell's name */

struct source {
    char *file, *name;
    char *record; /* as it is in the block; NULL: no text */
};

static struct rm_fork_lock lock = RM_FORK_LOCK_INITIALIZER;
static struct source rows[MOST_SOURCES]; /* a ring: the oldest is replaced */
static size_t added;

static void before_fork(void)
{
    rm_fork_lock_hold(&lock);
}

static void after_fork_parent(void)
{
    rm_fork_lock_release(&lock);
}

static void after_fork_child(void)
{
    if (!rm_fork_lock_renew(&lock)) {
        memset(rows, 0, sizeof rows); /* a thread that no longer exists was changing them */
        added = 0;
    }
}

static const struct rm_fork_part at_fork = {before_fork, after_fork_parent, after_fork_child};

static struct source *find(const char *file)
{
    for (size_t i = 0; i < MOST_SOURCES && i < added; i++) {
        if (strcmp(rows[i].file, file) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static void free_source(struct source *source)
{
    rm_free(source->file);
    rm_free(source->name);
    rm_free(source->record);
}

static bool make(struct source *source, const char *file, const char *name, const char *text)
{
    size_t bytes = text != NULL ? strlen(name) + strlen(text) + 3 : 0;
    bool has_text = text != NULL && strlen(text) <= MOST_TEXT;
    *source = (struct source){rm_strdup(file), rm_strdup(name), NULL};
    if (has_text) {
        source->record = rm_alloc(1, bytes);
    }
    if (source->file == NULL || source->name == NULL || (has_text && source->record == NULL)) {
        free_source(source);
        return false;
    }
    if (has_text) {
        (void)snprintf(source->record, bytes, "\n%s\n%s", name, text);
    }
    return true;
}

resmon_status rm_named_source_add(const char *file, const char *name, const char *text)
{
    struct source fresh;
    if (!make(&fresh, file, name, text)) {
        return rm_error(RESMON_ENOMEM, "out of memory for the source of %s", name);
    }
    rm_fork_take_part(RM_FORK_SOURCES, &at_fork);
    rm_fork_lock(&lock);
    struct source *row = find(file);
    if (row == NULL) {
        row = &rows[added % MOST_SOURCES];
        RM_STORE_RELEASE(&added, added + 1);
    }
    struct source old = *row;
    *row = fresh;
    rm_fork_unlock(&lock);
    free_source(&old);
    return RESMON_OK;
}

uint64_t rm_named_source_value(struct rm_stack_writer *writer, const char *text, bool *ret_is_named)
{
    char named[NAME_BYTES];
    const char *tab = strchr(text, '\t');
    *ret_is_named = false;
    if (RM_LOAD_ACQUIRE(&added) == 0) { /* nor is the lock held during forks yet */
        return rm_stack_writer_name(writer, text);
    }
    rm_fork_lock(&lock);
    const struct source *row = tab != NULL ? find(tab + 1) : NULL;
    *ret_is_named = row != NULL;
    if (row != NULL) {
        bool is_whole =
            (size_t)(tab - text) == sizeof WHOLE - 1 && memcmp(text, WHOLE, sizeof WHOLE - 1) == 0;
        (void)snprintf(named, sizeof named, "%.*s\t%s", is_whole ? MOST_NAME : (int)(tab - text),
                       is_whole ? row->name : text, row->name);
        text = named;
        if (row->record != NULL) { /* without it, the lines have no text */
            (void)rm_stack_writer_name(writer, row->record);
        }
    }
    rm_fork_unlock(&lock);
    return rm_stack_writer_name(writer, text);
}
