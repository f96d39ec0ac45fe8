/* SPDX-License-Identifier: MIT */
#include "os/cgroup_members.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "os/dir.h"

#define MOST_PIDS  ((size_t)1 << 16)
#define MOST_DEPTH 32U

struct listing {
    struct rm_cgroup_members *members;
    const struct rm_root *root;
    struct rm_scratch *scratch;
    char path[RM_FILE_PATH_BYTES]; /* of the group that is listed */
    unsigned depth;
    resmon_status status;
};

static void add_pid(struct listing *listing, uint64_t pid)
{
    struct rm_cgroup_members *members = listing->members;
    uint64_t *pids = members->count < MOST_PIDS
                         ? rm_grow(members->pids, members->count, &members->room, sizeof *pids)
                         : NULL;
    if (pids == NULL) {
        listing->status = rm_error(RESMON_ENOMEM, "out of memory for a list of processes");
        return;
    }
    members->pids = pids;
    pids[members->count++] = pid;
}

static resmon_status list_own(struct listing *listing)
{
    char file[RM_FILE_PATH_BYTES];
    struct rm_text text;
    uint64_t pid;
    int length = snprintf(file, sizeof file, "%s/cgroup.procs", listing->path);
    if (length < 0 || (size_t)length >= sizeof file) {
        return rm_error(RESMON_ERANGE, "cgroup path too long: %s", listing->path);
    }
    resmon_status status = rm_file_read_once(listing->root, file, listing->scratch, &text);
    while (status == RESMON_OK && rm_parse_u64(&text, &pid)) {
        if (pid != 0) { /* 0: of another namespace of pids */
            add_pid(listing, pid);
        }
        (void)rm_parse_literal(&text, "\n");
    }
    return status == RESMON_EFORMAT ? RESMON_OK : status; /* empty: none in it */
}

static bool list_below(void *context, const char *name);

/* One that goes meanwhile has no processes; one that cannot be read (of threads: EOPNOTSUPP) is the
 * caller's to know. */
static void list(struct listing *listing)
{
    resmon_status status = list_own(listing);
    bool is_gone = status == RESMON_ENOENT || status == RESMON_ENODEV;
    if (!is_gone && listing->status == RESMON_OK) {
        listing->status = status;
    }
    if (listing->depth < MOST_DEPTH) {
        listing->depth++;
        (void)rm_dir_visit_below(listing->root, listing->path, list_below, listing);
        listing->depth--;
    }
}

static bool list_below(void *context, const char *name)
{
    struct listing *listing = context;
    size_t length = strlen(listing->path);
    size_t room = sizeof listing->path - length;
    int added = snprintf(listing->path + length, room, "/%s", name);
    if (added > 0 && (size_t)added < room) {
        list(listing);
    }
    listing->path[length] = '\0';
    return true;
}

static const struct rm_cgroup_place *place_of(const struct rm_cgroup *cgroup)
{
    for (size_t i = 0; i < RM_CGROUP_CONTROLLERS; i++) {
        if (cgroup->places[i].version != 0) {
            return &cgroup->places[i];
        }
    }
    return NULL;
}

resmon_status rm_cgroup_members_read(struct rm_cgroup_members *members,
                                     const struct rm_cgroup *cgroup, const struct rm_root *root,
                                     struct rm_scratch *scratch)
{
    const struct rm_cgroup_place *place = place_of(cgroup);
    struct listing listing = {.members = members, .root = root, .scratch = scratch};
    members->count = 0;
    if (place == NULL) {
        return rm_error(RESMON_ENOENT, "the cgroup is not known");
    }
    (void)snprintf(listing.path, sizeof listing.path, "%s", place->path);
    if (!rm_file_exists(root, listing.path)) {
        return rm_error(RESMON_ENOENT, "the cgroup /%s was removed", listing.path);
    }
    list(&listing);
    return listing.status;
}

bool rm_cgroup_members_has(const struct rm_cgroup_members *members, uint64_t pid)
{
    for (size_t i = 0; i < members->count; i++) {
        if (members->pids[i] == pid) {
            return true;
        }
    }
    return false;
}

void rm_cgroup_members_free(struct rm_cgroup_members *members)
{
    rm_free(members->pids);
    *members = (struct rm_cgroup_members){0};
}
