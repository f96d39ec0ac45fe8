/* SPDX-License-Identifier: MIT */
#include "job/hosts.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"

#define FIRST_CAPACITY 64U

void rm_hosts_init(struct rm_hosts *hosts, bool is_unique)
{
    *hosts = (struct rm_hosts){.is_unique = is_unique};
    rm_buffer_init(&hosts->names, RM_MAX_HOSTS_BYTES + 1);
}

void rm_hosts_free(struct rm_hosts *hosts)
{
    rm_buffer_free(&hosts->names);
    rm_free(hosts->starts);
    rm_free(hosts->slots);
    rm_hosts_init(hosts, hosts->is_unique);
}

const char *rm_hosts_name(const struct rm_hosts *hosts, size_t index)
{
    return hosts->names.text + hosts->starts[index];
}

/* ---- the table of a unique list --------------------------------------------------------- */

/* The slot of `name`, or the free one where it belongs: half of the slots are always free. */
static size_t find_slot(const struct rm_hosts *hosts, struct rm_text name)
{
    size_t length = rm_text_left(&name);
    size_t mask = 2 * hosts->capacity - 1;
    size_t slot = (size_t)rm_hash_bytes(RM_HASH_START, name.at, length) & mask;
    while (hosts->slots[slot] != 0) {
        const char *other = rm_hosts_name(hosts, hosts->slots[slot] - 1);
        if (strlen(other) == length && memcmp(other, name.at, length) == 0) {
            return slot;
        }
        slot = (slot + 1) & mask;
    }
    return slot;
}

static void fill_slots(struct rm_hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++) {
        const char *name = rm_hosts_name(hosts, i);
        hosts->slots[find_slot(hosts, rm_text_of(name, strlen(name)))] = (uint32_t)i + 1;
    }
}

static resmon_status grow(struct rm_hosts *hosts)
{
    size_t capacity = hosts->capacity > 0 ? 2 * hosts->capacity : FIRST_CAPACITY;
    uint32_t *slots = hosts->is_unique ? rm_alloc(capacity, 2 * sizeof *slots) : NULL;
    uint32_t *starts = rm_realloc(hosts->starts, capacity, sizeof *starts);
    if (starts != NULL) {
        hosts->starts = starts;
    }
    if (starts == NULL || (hosts->is_unique && slots == NULL)) {
        rm_free(slots);
        return rm_error(RESMON_ENOMEM, "out of memory for %zu host names", capacity);
    }
    rm_free(hosts->slots);
    hosts->slots = slots;
    hosts->capacity = capacity;
    if (hosts->is_unique) {
        fill_slots(hosts);
    }
    return RESMON_OK;
}

/* ---- adding ----------------------------------------------------------------------------- */

static resmon_status check_name(struct rm_text name)
{
    size_t length = rm_text_left(&name);
    if (length == 0 || length >= RM_HOST_NAME_BYTES) {
        return rm_error(RESMON_EFORMAT, "a host name of %zu bytes: it may have 1 to %d", length,
                        RM_HOST_NAME_BYTES - 1);
    }
    for (const char *p = name.at; p < name.end; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) {
            return rm_error(RESMON_EFORMAT, "a host name with a control character (byte 0x%02x)",
                            (unsigned)(unsigned char)*p);
        }
    }
    return RESMON_OK;
}

static resmon_status check_room(const struct rm_hosts *hosts, size_t length)
{
    if (hosts->count >= RM_MAX_HOSTS) {
        return rm_error(RESMON_ERANGE, "more than %u hosts", RM_MAX_HOSTS);
    }
    if (hosts->names.length + length + 1 > RM_MAX_HOSTS_BYTES) {
        return rm_error(RESMON_ERANGE, "host names of more than %zu bytes together",
                        RM_MAX_HOSTS_BYTES);
    }
    return RESMON_OK;
}

static resmon_status append(struct rm_hosts *hosts, struct rm_text name)
{
    size_t length = rm_text_left(&name);
    size_t start = hosts->names.length;
    resmon_status status = check_room(hosts, length);
    if (status == RESMON_OK && hosts->count == hosts->capacity) {
        status = grow(hosts);
    }
    if (status != RESMON_OK) {
        return status;
    }
    char terminated[RM_HOST_NAME_BYTES] = "";
    memcpy(terminated, name.at, length);
    rm_buffer_add(&hosts->names, terminated, length + 1);
    if (hosts->names.status != RESMON_OK) {
        status = hosts->names.status;
        hosts->names.status = RESMON_OK; /* the text is as it was */
        return status;
    }
    size_t slot = hosts->is_unique ? find_slot(hosts, name) : 0;
    hosts->starts[hosts->count++] = (uint32_t)start;
    if (hosts->is_unique) {
        hosts->slots[slot] = (uint32_t)hosts->count;
    }
    return RESMON_OK;
}

resmon_status rm_hosts_add(struct rm_hosts *hosts, struct rm_text name)
{
    resmon_status status = check_name(name);
    bool is_there = status == RESMON_OK && hosts->is_unique && hosts->count > 0 &&
                    hosts->slots[find_slot(hosts, name)] != 0;
    if (status == RESMON_OK && !is_there) {
        status = append(hosts, name);
    }
    hosts->added += status == RESMON_OK ? 1 : 0;
    return status;
}

/* ---- finding ---------------------------------------------------------------------------- */

/* Up to the first dot; an IPv4 address is not the first number of it. */
static struct rm_text short_name(const char *name)
{
    size_t length = strcspn(name, ".");
    bool is_number = length > 0 && strspn(name, "0123456789") == length;
    return rm_text_of(name, is_number ? strlen(name) : length);
}

int64_t rm_hosts_find(const struct rm_hosts *hosts, const char *name)
{
    int64_t found = -1;
    struct rm_text wanted = short_name(name);
    for (size_t i = 0; i < hosts->count; i++) {
        if (strcmp(rm_hosts_name(hosts, i), name) == 0) {
            return (int64_t)i;
        }
    }
    for (size_t i = 0; i < hosts->count && rm_text_left(&wanted) > 0; i++) {
        struct rm_text other = short_name(rm_hosts_name(hosts, i));
        if (rm_text_left(&other) == rm_text_left(&wanted) &&
            memcmp(other.at, wanted.at, rm_text_left(&wanted)) == 0) {
            if (found >= 0) {
                return -1;
            }
            found = (int64_t)i;
        }
    }
    return found;
}

int64_t rm_hosts_sorted_position(const struct rm_hosts *hosts, size_t index)
{
    int64_t before = 0;
    for (size_t i = 0; i < hosts->count; i++) {
        before += strcmp(rm_hosts_name(hosts, i), rm_hosts_name(hosts, index)) < 0 ? 1 : 0;
    }
    return before;
}
