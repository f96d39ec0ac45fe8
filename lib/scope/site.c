/* SPDX-License-Identifier: MIT */
#include "scope/site.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/hash.h"
#include "base/status.h"
#include "store/block.h"

/* A site made for a name; never freed, since other languages keep pointers to it. */
struct named_site {
    struct named_site *next;
    resmon_site site;
    char name[];
};

#define BUCKETS 256

/* Guards the numbering and the table of names. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t last_number;
static struct named_site *buckets[BUCKETS];

uint32_t rm_site_number(resmon_site *site)
{
    uint32_t number = RM_LOAD(&site->id);
    if (number != 0) {
        return number;
    }
    (void)pthread_mutex_lock(&lock);
    number = RM_LOAD(&site->id);
    if (number == 0) {
        number = last_number + 1 < RM_MAX_SITES ? ++last_number : RM_SITE_TOO_MANY;
        RM_STORE(&site->id, number);
    }
    (void)pthread_mutex_unlock(&lock);
    return number;
}

static struct named_site **bucket_of(const char *name)
{
    uint64_t hash = rm_hash_bytes(RM_HASH_START, name, strlen(name));
    return &buckets[(hash >> 32) % BUCKETS];
}

static struct named_site *find(const char *name)
{
    struct named_site *named = *bucket_of(name);
    while (named != NULL && strcmp(named->name, name) != 0) {
        named = named->next;
    }
    return named;
}

static struct named_site *make(const char *name)
{
    size_t length = strlen(name) + 1;
    struct named_site *named = rm_alloc(1, sizeof *named + length);
    if (named != NULL) {
        memcpy(named->name, name, length);
        named->site = (resmon_site){.name = named->name, .file = "", .function = ""};
    }
    return named;
}

/* Made before the lock is taken; it may turn out that somebody else was quicker. */
static struct named_site *find_or_add(const char *name)
{
    (void)pthread_mutex_lock(&lock);
    struct named_site *named = find(name);
    (void)pthread_mutex_unlock(&lock);
    struct named_site *fresh = named == NULL ? make(name) : NULL;
    if (fresh == NULL) {
        return named;
    }
    (void)pthread_mutex_lock(&lock);
    named = find(name);
    if (named == NULL) {
        struct named_site **bucket = bucket_of(name);
        fresh->next = *bucket;
        *bucket = fresh;
        named = fresh;
    }
    (void)pthread_mutex_unlock(&lock);
    if (named != fresh) {
        rm_free(fresh);
    }
    return named;
}

resmon_status resmon_site_intern(const char *name, resmon_site **ret_site)
{
    if (name == NULL || name[0] == '\0' || ret_site == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_site_intern: a name and a place for the site");
    }
    struct named_site *named = find_or_add(name);
    if (named == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the scope '%s'", name);
    }
    if (rm_site_number(&named->site) == RM_SITE_TOO_MANY) {
        return rm_error(RESMON_ENOSPC, "more than %u scope names; '%s' is not measured",
                        RM_MAX_SITES - 1, name);
    }
    *ret_site = &named->site;
    return RESMON_OK;
}

uint32_t rm_site_count(void)
{
    (void)pthread_mutex_lock(&lock);
    uint32_t count = last_number + 1;
    (void)pthread_mutex_unlock(&lock);
    return count;
}

void rm_site_before_fork(void)
{
    (void)pthread_mutex_lock(&lock);
}

void rm_site_after_fork(void)
{
    (void)pthread_mutex_unlock(&lock);
}
