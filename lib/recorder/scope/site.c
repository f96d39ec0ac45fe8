/* SPDX-License-Identifier: MIT */
/*
 * Sites, and paths of sites.
 */
#include "scope/site.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <resmon/scope.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/fork.h"
#include "base/map.h"
#include "base/status.h"
#include "base/text.h"
#include "store/block.h"

/* ---- numbers and names ---------------------------------------------------------------------- */

/* A site created at run time; never freed, since other languages keep pointers to it. */
struct named_site {
    struct named_site *next;
    size_t name_length;
    bool has_place; /* file, function or line */
    resmon_site site;
    char texts[]; /* the name first */
};

#define BUCKETS 256

/* Guards the numbering and the table of names. */
static struct rm_fork_lock lock = RM_FORK_LOCK_INITIALIZER;
static uint32_t last_number;
static struct named_site *buckets[BUCKETS];

static void before_fork(void)
{
    rm_fork_lock_hold(&lock);
}

static void after_fork_parent(void)
{
    rm_fork_lock_release(&lock);
}

/* Each change under the lock is one store, so a site is never half there. */
static void after_fork_child(void)
{
    (void)rm_fork_lock_renew(&lock);
}

static void lock_sites(void)
{
    static const struct rm_fork_part at_fork = {before_fork, after_fork_parent, after_fork_child};
    rm_fork_take_part(RM_FORK_SITES, &at_fork);
    rm_fork_lock(&lock);
}

uint32_t rm_site_number(resmon_site *site)
{
    uint32_t number = RM_LOAD(&site->id);
    if (number != 0) {
        return number;
    }
    lock_sites();
    number = RM_LOAD(&site->id);
    if (number == 0) {
        number = last_number + 1 < RM_MAX_SITES ? ++last_number : RM_SITE_TOO_MANY;
        RM_STORE(&site->id, number);
    }
    rm_fork_unlock(&lock);
    return number;
}

static struct named_site **bucket_of(const char *name, size_t length)
{
    uint64_t hash = RM_HASH_START, word;
    for (; length >= sizeof word; length -= sizeof word, name += sizeof word) {
        memcpy(&word, name, sizeof word);
        hash = rm_hash_u64(hash, word);
    }
    word = length;
    while (length > 0) {
        word = word << 8 | (unsigned char)name[--length];
    }
    return &buckets[rm_hash_u64(hash, word) % BUCKETS];
}

static bool is_same(const resmon_site *one, const resmon_site *other)
{
    return one->line == other->line && strcmp(one->name, other->name) == 0 &&
           strcmp(one->file, other->file) == 0 && strcmp(one->function, other->function) == 0;
}

static struct named_site *find_named(const resmon_site *like)
{
    struct named_site *named = *bucket_of(like->name, strlen(like->name));
    while (named != NULL && !is_same(&named->site, like)) {
        named = named->next;
    }
    return named;
}

static struct named_site *make_named(const resmon_site *like)
{
    const char *const texts[] = {like->name, like->file, like->function};
    const char *copies[RM_ARRAY_LEN(texts)];
    size_t lengths[RM_ARRAY_LEN(texts)];
    size_t total = 0;
    for (size_t i = 0; i < RM_ARRAY_LEN(texts); i++) {
        lengths[i] = strlen(texts[i]) + 1;
        total += lengths[i];
    }
    struct named_site *named = rm_alloc(1, sizeof *named + total);
    if (named == NULL) {
        return NULL;
    }
    char *at = named->texts;
    for (size_t i = 0; i < RM_ARRAY_LEN(texts); i++) {
        copies[i] = memcpy(at, texts[i], lengths[i]);
        at += lengths[i];
    }
    named->name_length = lengths[0] - 1;
    named->has_place = like->line != 0 || lengths[1] > 1 || lengths[2] > 1;
    named->site = (resmon_site){
        .name = copies[0], .file = copies[1], .function = copies[2], .line = like->line};
    return named;
}

/* The new site is allocated without the lock; another thread may add the same one meanwhile.  No
 * site is created without a number, as it would be useless and is never freed. */
static struct named_site *find_or_add(const resmon_site *like, bool *ret_is_full)
{
    lock_sites();
    struct named_site *named = find_named(like);
    *ret_is_full = named == NULL && last_number + 1 >= RM_MAX_SITES;
    rm_fork_unlock(&lock);
    struct named_site *fresh = named == NULL && !*ret_is_full ? make_named(like) : NULL;
    if (fresh == NULL) {
        return named;
    }
    lock_sites();
    named = find_named(like);
    if (named == NULL) {
        struct named_site **bucket = bucket_of(like->name, strlen(like->name));
        fresh->next = *bucket;
        RM_STORE_RELEASE(bucket, fresh);
        named = fresh;
    }
    rm_fork_unlock(&lock);
    if (named != fresh) {
        rm_free(fresh);
    }
    return named;
}

resmon_status resmon_site_intern(const char *name, resmon_site **ret_site)
{
    RM_KEEP_ERRNO;
    return resmon_site_intern_at(name, "", "", 0, ret_site);
}

resmon_status resmon_site_intern_at(const char *name, const char *file, const char *function,
                                    uint64_t line, resmon_site **ret_site)
{
    RM_KEEP_ERRNO;
    if (name == NULL || name[0] == '\0' || file == NULL || function == NULL || ret_site == NULL) {
        return rm_error(RESMON_EINVAL,
                        "a site needs a name, a file, a function and a place for the result");
    }
    const resmon_site like = {.name = name,
                              .file = file,
                              .function = function,
                              .line = line < UINT32_MAX ? (uint32_t)line : 0};
    bool is_full;
    struct named_site *named = find_or_add(&like, &is_full);
    if (named == NULL && !is_full) {
        return rm_error(RESMON_ENOMEM, "out of memory for the scope '%s'", name);
    }
    if (is_full || rm_site_number(&named->site) == RM_SITE_TOO_MANY) {
        return rm_error(RESMON_ENOSPC, "more than %u scope names; '%s' is not measured",
                        RM_MAX_SITES - 1, name);
    }
    *ret_site = &named->site;
    return RESMON_OK;
}

/* Sites are never removed, so they can be found without the lock. */
static resmon_site *find_without_place(const char *name, size_t length)
{
    struct named_site *named = RM_LOAD_ACQUIRE(bucket_of(name, length));
    while (named != NULL && (named->name_length != length || named->has_place ||
                             memcmp(named->texts, name, length) != 0)) {
        named = named->next;
    }
    return named != NULL ? &named->site : NULL;
}

resmon_site *rm_site_named(const char *name, size_t length)
{
    resmon_site *site = find_without_place(name, length);
    char *copy = site == NULL ? rm_alloc(1, length + 1) : NULL;
    if (copy != NULL) {
        memcpy(copy, name, length);
        (void)resmon_site_intern(copy, &site); /* a '\0' ends the name */
        rm_free(copy);
    }
    return site;
}

uint32_t rm_site_count(void)
{
    lock_sites();
    uint32_t count = last_number + 1;
    rm_fork_unlock(&lock);
    return count;
}

/* ---- paths ---------------------------------------------------------------------------------- */

bool rm_scope_paths_open(struct rm_scope_paths *paths, uint64_t nodes)
{
    if (paths->entries != NULL) {
        return true;
    }
    struct rm_scope_path *entries = rm_alloc(RM_SCOPE_PATHS, sizeof *entries);
    uint32_t *of_nodes = rm_alloc(nodes, sizeof *of_nodes);
    if (entries == NULL || of_nodes == NULL) {
        rm_free(entries);
        rm_free(of_nodes);
        return false;
    }
    paths->of_nodes = of_nodes;
    RM_STORE(&paths->count, 1);
    RM_STORE_RELEASE(&paths->entries, entries);
    return true;
}

void rm_scope_paths_close(struct rm_scope_paths *paths)
{
    rm_free(paths->entries);
    rm_free(paths->of_nodes);
    *paths = (struct rm_scope_paths){.entries = NULL};
}

uint32_t rm_scope_path_below(struct rm_scope_paths *paths, uint32_t parent, uint32_t site)
{
    struct rm_scope_path *entries = paths->entries;
    uint32_t child = entries[parent].first_child;
    while (child != 0 && entries[child].site != site) {
        child = entries[child].next;
    }
    if (child != 0 || paths->count == RM_SCOPE_PATHS) {
        return child;
    }
    child = paths->count;
    entries[child] = (struct rm_scope_path){.parent = parent,
                                            .site = site,
                                            .depth = entries[parent].depth + 1,
                                            .next = entries[parent].first_child};
    entries[parent].first_child = child;
    RM_STORE_RELEASE(&paths->count, child + 1);
    return child;
}

const struct rm_scope_path *rm_scope_path_at(const struct rm_scope_paths *paths, uint32_t index)
{
    const struct rm_scope_path *entries = RM_LOAD_ACQUIRE(&paths->entries);
    bool is_there = entries != NULL && index > 0 && index < RM_LOAD_ACQUIRE(&paths->count);
    return is_there ? &entries[index] : NULL;
}

uint32_t rm_scope_path_noted(const struct rm_scope_paths *paths, uint64_t node)
{
    return RM_LOAD_ACQUIRE(&paths->entries) != NULL ? RM_LOAD(&paths->of_nodes[node]) : 0;
}

void rm_scope_path_note(const struct rm_scope_paths *paths, uint64_t node, uint32_t path)
{
    if (RM_LOAD_ACQUIRE(&paths->entries) != NULL) {
        RM_STORE(&paths->of_nodes[node], path);
    }
}
