/* SPDX-License-Identifier: MIT */
#include "collect/powercap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/text.h"
#include "os/dir.h"

struct walk {
    const struct rm_root *root;
    rm_powercap_visit_fn visit;
    void *context;
};

struct names {
    size_t count;
    char names[RM_MOST_ZONES][32];
};

static bool keep_name(void *context, const char *name)
{
    struct names *names = context;
    if (strncmp(name, "intel-rapl", 10) == 0 && strlen(name) < sizeof names->names[0] &&
        names->count < RM_MOST_ZONES) {
        (void)rm_text_set(names->names[names->count++], sizeof names->names[0], name);
    }
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* NULL: the visitor was told why, or there is no such directory. */
static struct names *list(const struct walk *walk, const char *directory, unsigned depth)
{
    struct names *names = rm_alloc(1, sizeof *names);
    if (names == NULL) {
        (void)rm_error(RESMON_ENOMEM, "out of memory");
    } else if (rm_dir_visit(walk->root, directory, keep_name, names) == RESMON_OK) {
        qsort(names->names, names->count, sizeof names->names[0], by_name);
        return names;
    }
    if (names == NULL || depth > 0 || rm_file_exists(walk->root, directory)) {
        walk->visit(walk->context, directory, NULL);
    }
    rm_free(names);
    return NULL;
}

/*
 * "intel-rapl:0" and "intel-rapl:0:1" are zones.  The class lists all of them; where it does not (a
 * copy of a tree), they lie in "intel-rapl" and in each other.
 */
static void visit_directory(const struct walk *walk, const char *directory, unsigned depth)
{
    struct names *names = list(walk, directory, depth);
    bool is_flat = false;
    if (names == NULL) {
        return;
    }
    for (size_t i = 0; i < names->count; i++) {
        if (strchr(names->names[i], ':') != NULL) {
            is_flat = depth == 0;
            walk->visit(walk->context, directory, names->names[i]);
        }
    }
    for (size_t i = 0; i < names->count && !is_flat && depth < 2; i++) {
        char below[RM_FILE_PATH_BYTES];
        int length = snprintf(below, sizeof below, "%s/%s", directory, names->names[i]);
        if (length > 0 && length < RM_FILE_PATH_BYTES) {
            visit_directory(walk, below, depth + 1);
        }
    }
    rm_free(names);
}

void rm_powercap_visit(const struct rm_root *root, rm_powercap_visit_fn visit, void *context)
{
    const struct walk walk = {root, visit, context};
    visit_directory(&walk, RM_POWERCAP_CLASS, 0);
}
