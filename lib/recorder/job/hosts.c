/* SPDX-License-Identifier: MIT */
#include "job/hosts.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"

void rm_hosts_init(struct rm_hosts *hosts, bool is_unique)
{
    *hosts = (struct rm_hosts){.is_unique = is_unique};
    rm_buffer_init(&hosts->names, RM_MAX_HOSTS_BYTES + 1);
}

void rm_hosts_free(struct rm_hosts *hosts)
{
    rm_buffer_free(&hosts->names);
    rm_free(hosts->starts);
    rm_map_free(&hosts->map);
    rm_hosts_init(hosts, hosts->is_unique);
}

const char *rm_hosts_name(const struct rm_hosts *hosts, size_t index)
{
    return hosts->names.text + hosts->starts[index];
}

/* ---- the map of a unique list ------------------------------------------------------------ */

static uint64_t hash_of(struct rm_text name)
{
    return rm_hash_bytes(RM_HASH_START, name.at, rm_text_left(&name));
}

static bool has_name(const struct rm_hosts *hosts, struct rm_text name)
{
    size_t length = rm_text_left(&name);
    struct rm_map_search search = {.hash = hash_of(name)};
    for (uint32_t index; rm_map_next(&hosts->map, &search, &index);) {
        const char *other = rm_hosts_name(hosts, index);
        if (strlen(other) == length && memcmp(other, name.at, length) == 0) {
            return true;
        }
    }
    return false;
}

static resmon_status make_room(struct rm_hosts *hosts)
{
    uint32_t *starts = rm_grow(hosts->starts, hosts->count, &hosts->room, sizeof *starts);
    if (starts != NULL) {
        hosts->starts = starts;
    }
    if (starts == NULL || (hosts->is_unique && !rm_map_reserve(&hosts->map, hosts->count + 1))) {
        return rm_error(RESMON_ENOMEM, "out of memory for %zu host names", hosts->count + 1);
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
    if (status == RESMON_OK) {
        status = make_room(hosts);
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
    if (hosts->is_unique) {
        rm_map_add(&hosts->map, hash_of(name), (uint32_t)hosts->count);
    }
    hosts->starts[hosts->count++] = (uint32_t)start;
    return RESMON_OK;
}

resmon_status rm_hosts_add(struct rm_hosts *hosts, struct rm_text name)
{
    resmon_status status = check_name(name);
    if (status == RESMON_OK && !has_name(hosts, name)) {
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
