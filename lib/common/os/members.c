/* SPDX-License-Identifier: MIT */
#include "os/members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/parse.h"
#include "base/status.h"
#include "os/proc_pid.h"

#define MOST_PIDS  ((size_t)1 << 16)
#define MOST_DEPTH 32U

static resmon_status add_pid(struct rm_members *members, uint64_t pid)
{
    uint64_t *pids = members->count < MOST_PIDS
                         ? rm_grow(members->pids, members->count, &members->room, sizeof *pids)
                         : NULL;
    if (pids == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a list of processes");
    }
    members->pids = pids;
    pids[members->count++] = pid;
    return RESMON_OK;
}

/* ---- of a cgroup ------------------------------------------------------------------------- */

struct listing {
    struct rm_members *members;
    const struct rm_root *root;
    struct rm_scratch *scratch;
    char path[RM_FILE_PATH_BYTES]; /* of the cgroup being listed */
    unsigned depth;
    resmon_status status;
};

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
        if (pid != 0) { /* 0: the process is in another pid namespace */
            status = add_pid(listing->members, pid);
        }
        (void)rm_parse_literal(&text, "\n");
    }
    return status == RESMON_EFORMAT ? RESMON_OK : status; /* empty: no process in the cgroup */
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

static resmon_status read_cgroup(struct rm_members *members, const struct rm_cgroup *cgroup,
                                 const struct rm_root *root, struct rm_scratch *scratch)
{
    const struct rm_cgroup_place *place = place_of(cgroup);
    struct listing listing = {.members = members, .root = root, .scratch = scratch};
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

/* ---- of a job ---------------------------------------------------------------------------- */

#define FIRST_WAIT_NS (50 * RM_NS_PER_S / 1000)
#define LAST_WAIT_NS  (8 * RM_NS_PER_S)

enum verdict { OTHER, HIDDEN, OWN, MEMBER };

/* Any process of the machine. */
struct rm_candidate {
    uint64_t pid; /* 0: it has ended */
    uint64_t starttime, ppid, session;
    enum verdict verdict;
    bool is_new, is_fresh; /* in this search: found; `ppid` and `session` were read */
    int64_t wait_ns, next_ns;
};

struct search {
    struct rm_members *members;
    const struct rm_group *group;
    const struct rm_root *root;
    struct rm_scratch *scratch;
    int64_t now_ns;
    uint64_t own_pid;
    const struct rm_candidate *known; /* of the previous search, by pid */
    size_t known_count;
    resmon_status status;
};

static int compare_pids(const void *left, const void *right)
{
    const struct rm_candidate *a = left, *b = right;
    return a->pid < b->pid ? -1 : a->pid > b->pid ? 1 : 0;
}

static struct rm_candidate *find(const struct rm_candidate *candidates, size_t count, uint64_t pid)
{
    const struct rm_candidate key = {.pid = pid};
    return count > 0 ? bsearch(&key, candidates, count, sizeof key, compare_pids) : NULL;
}

static bool visit_process(void *context, const char *name)
{
    struct search *search = context;
    struct rm_members *members = search->members;
    struct rm_text text = rm_text_of(name, strlen(name));
    uint64_t pid;
    if (!rm_parse_u64(&text, &pid) || text.at != text.end || pid == 0) {
        return true;
    }
    struct rm_candidate *candidate = rm_append(&members->candidates, &members->candidate_count,
                                               &members->candidate_room, sizeof *candidate);
    if (candidate == NULL || members->candidate_count > MOST_PIDS) {
        search->status = rm_error(RESMON_ENOMEM, "out of memory for a list of processes");
        return false;
    }
    const struct rm_candidate *known = find(search->known, search->known_count, pid);
    *candidate = known != NULL ? *known : (struct rm_candidate){.pid = pid};
    candidate->is_new = candidate->is_fresh = false;
    return true;
}

/* The entry of the group that is in an environment; NULL: none. */
static const char *entry_in(const char *entries, struct rm_text environment)
{
    while (environment.at < environment.end) {
        size_t left = rm_text_left(&environment), bytes = strnlen(environment.at, left);
        for (const char *entry = entries; *entry != '\0'; entry += strlen(entry) + 1) {
            size_t length = strlen(entry);
            if (bytes >= length && memcmp(environment.at, entry, length) == 0 &&
                (bytes == length || environment.at[length] == '.')) {
                return entry;
            }
        }
        environment.at += bytes < left ? bytes + 1 : left;
    }
    return NULL;
}

static enum verdict verdict_of(struct search *search, uint64_t pid)
{
    char path[64];
    struct rm_text text;
    (void)snprintf(path, sizeof path, "proc/%llu/environ", (unsigned long long)pid);
    resmon_status status = rm_file_read_once(search->root, path, search->scratch, &text);
    if (status != RESMON_OK) {
        return status == RESMON_EACCES ? HIDDEN : OTHER; /* or it has ended, or has none */
    }
    const char *entry = entry_in(search->group->entries, text);
    const char **found = &search->members->by_entry;
    if (entry != NULL && (*found == NULL || entry < *found)) {
        *found = entry; /* the first in their order */
    }
    return entry != NULL ? MEMBER : OTHER;
}

enum reading { READ, ENDED, NOT_SHOWN, FAILED };

static enum reading read_stat(struct search *search, uint64_t pid, struct rm_pid_stat *stat)
{
    char path[64];
    struct rm_text text;
    (void)snprintf(path, sizeof path, "proc/%llu/stat", (unsigned long long)pid);
    resmon_status status = rm_file_read_once(search->root, path, search->scratch, &text);
    switch (status) {
    case RESMON_OK:
        return rm_pid_stat_parse(text, stat) && !rm_pid_stat_is_removed(stat) ? READ : ENDED;
    case RESMON_ENOENT:
    case RESMON_ESRCH:
    case RESMON_EFORMAT:
        return ENDED;
    case RESMON_EACCES: /* hidepid */
        return NOT_SHOWN;
    default:
        search->status = status; /* a failed reading does not mean that the process has ended */
        return FAILED;
    }
}

static void judge(struct search *search, struct rm_candidate *candidate,
                  const struct rm_pid_stat *stat)
{
    if (candidate->wait_ns == 0 || candidate->starttime != stat->starttime) {
        *candidate = (struct rm_candidate){.pid = candidate->pid,
                                           .starttime = stat->starttime,
                                           .is_new = true,
                                           .wait_ns = FIRST_WAIT_NS / 2};
    }
    candidate->is_fresh = true;
    candidate->ppid = stat->ppid;
    candidate->session = stat->session;
    if (candidate->verdict == OTHER || candidate->verdict == HIDDEN) {
        candidate->verdict =
            candidate->pid == search->own_pid ? OWN : verdict_of(search, candidate->pid);
    }
    candidate->wait_ns =
        2 * candidate->wait_ns < LAST_WAIT_NS ? 2 * candidate->wait_ns : LAST_WAIT_NS;
    candidate->next_ns = search->now_ns + candidate->wait_ns;
}

static void look_at(struct search *search, struct rm_candidate *candidate)
{
    struct rm_pid_stat stat;
    if (candidate->verdict != MEMBER && search->now_ns < candidate->next_ns) {
        return;
    }
    switch (read_stat(search, candidate->pid, &stat)) {
    case READ:
        judge(search, candidate, &stat);
        break;
    case ENDED:
        candidate->pid = 0;
        break;
    case NOT_SHOWN:
        candidate->verdict = HIDDEN;
        candidate->next_ns = search->now_ns + LAST_WAIT_NS;
        break;
    case FAILED:
        break;
    }
}

static enum verdict verdict_by_pid(const struct rm_members *members, uint64_t pid)
{
    const struct rm_candidate *found = find(members->candidates, members->candidate_count, pid);
    return found != NULL ? found->verdict : OTHER;
}

/* Children of members, and their sessions.  A child may come before its parent. */
static void spread(struct rm_members *members)
{
    bool has_changed = true;
    while (has_changed) {
        has_changed = false;
        for (size_t i = 0; i < members->candidate_count; i++) {
            struct rm_candidate *candidate = &members->candidates[i];
            enum verdict parent = verdict_by_pid(members, candidate->ppid);
            enum verdict leader = verdict_by_pid(members, candidate->session);
            enum verdict before = candidate->verdict;
            if (candidate->is_new && parent == OWN) {
                candidate->verdict = OWN; /* whatever its environment */
            } else if (before < OWN && candidate->is_fresh &&
                       (parent == MEMBER || leader == MEMBER)) {
                candidate->verdict = MEMBER;
            }
            has_changed |= candidate->verdict != before;
        }
    }
}

static void drop_ended(struct rm_members *members)
{
    size_t kept = 0;
    for (size_t i = 0; i < members->candidate_count; i++) {
        if (members->candidates[i].pid != 0) {
            members->candidates[kept++] = members->candidates[i];
        }
    }
    members->candidate_count = kept;
}

/* Lists the members, and counts a change of the list. */
static resmon_status collect(struct search *search)
{
    struct rm_members *members = search->members;
    resmon_status status = RESMON_OK;
    uint64_t hash = RM_HASH_START;
    members->hidden = 0;
    members->next_ns = INT64_MAX;
    for (size_t i = 0; i < members->candidate_count && status == RESMON_OK; i++) {
        const struct rm_candidate *candidate = &members->candidates[i];
        members->hidden += candidate->verdict == HIDDEN ? 1 : 0;
        if (candidate->verdict == MEMBER) {
            status = add_pid(members, candidate->pid);
            hash = rm_hash_u64(hash, candidate->pid);
        } else if (candidate->next_ns < members->next_ns) {
            members->next_ns = candidate->next_ns;
        }
    }
    members->changes += hash != members->hash ? 1 : 0;
    members->hash = hash;
    return status;
}

/* This process in the /proc of the root; 0: it is not there. */
static uint64_t own_pid_in(const struct rm_root *root)
{
    char link[32] = "";
    uint64_t pid;
    ssize_t length = readlinkat(rm_kept_fd(&root->kept), "proc/self", link, sizeof link - 1);
    struct rm_text text = rm_text_of(link, length > 0 ? (size_t)length : 0);
    return rm_parse_u64(&text, &pid) ? pid : 0;
}

static resmon_status read_job(struct rm_members *members, const struct rm_group *group,
                              const struct rm_root *root, struct rm_scratch *scratch,
                              int64_t now_ns)
{
    struct rm_candidate *known = members->candidates;
    struct search search = {.members = members,
                            .group = group,
                            .root = root,
                            .scratch = scratch,
                            .now_ns = now_ns,
                            .own_pid = own_pid_in(root),
                            .known = known,
                            .known_count = members->candidate_count};
    const size_t known_room = members->candidate_room;
    members->candidates = NULL;
    members->candidate_count = members->candidate_room = 0;
    resmon_status status = rm_dir_visit(root, "proc", visit_process, &search);
    if (status != RESMON_OK || search.status != RESMON_OK) { /* who is known stays known */
        rm_free(members->candidates);
        members->candidates = known;
        members->candidate_count = search.known_count;
        members->candidate_room = known_room;
        (void)collect(&search);
        return status != RESMON_OK ? status : search.status;
    }
    rm_free(known);
    for (size_t i = 0; i < members->candidate_count; i++) {
        look_at(&search, &members->candidates[i]);
    }
    drop_ended(members);
    if (members->candidate_count > 0) {
        qsort(members->candidates, members->candidate_count, sizeof *members->candidates,
              compare_pids);
    }
    spread(members);
    resmon_status added = collect(&search);
    return search.status != RESMON_OK ? search.status : added;
}

/* ---- of both ----------------------------------------------------------------------------- */

resmon_status rm_members_read(struct rm_members *members, const struct rm_group *group,
                              const struct rm_root *root, struct rm_scratch *scratch,
                              int64_t now_ns)
{
    members->count = 0;
    return group->entries != NULL ? read_job(members, group, root, scratch, now_ns)
                                  : read_cgroup(members, &group->cgroup, root, scratch);
}

bool rm_members_are_due(const struct rm_members *members, int64_t now_ns)
{
    return members->candidate_count > 0 && now_ns >= members->next_ns;
}

bool rm_members_has(const struct rm_members *members, uint64_t pid)
{
    for (size_t i = 0; i < members->count; i++) {
        if (members->pids[i] == pid) {
            return true;
        }
    }
    return false;
}

void rm_members_free(struct rm_members *members)
{
    rm_free(members->pids);
    rm_free(members->candidates);
    *members = (struct rm_members){0};
}
