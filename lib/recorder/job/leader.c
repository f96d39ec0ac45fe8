/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* flock */
#include "job/leader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fault.h"
#include "base/fork.h"
#include "base/map.h"
#include "base/status.h"
#include "job/path_pattern.h"
#include "os/kept.h"

/* Declared by <sys/file.h>, which is hidden by a header of this library on the include path. */
int flock(int fd, int operation);

#define TRIES 8
/* Bound of key and of node in a file name of at most 255 bytes. */
#define PART_BYTES 81

static void decline(struct rm_leader *leader, const char *format, ...) RM_PRINTF(2, 3);

static void decline(struct rm_leader *leader, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(leader->reason, sizeof leader->reason, format, args);
    va_end(args);
}

/* No process may be leader, for a reason that is logged. */
static void log_reason(struct rm_leader *leader)
{
    decline(leader,
            "cannot find out which process of this host leads: %.160s; set RESMON_LOCAL_RANK",
            resmon_last_error());
    rm_log(RESMON_LOG_WARNING, "%s", leader->reason);
}

/* "resmon-1000-slurm_prod_4711.0-n1-0123456789abcdef.lock": the hash distinguishes keys that are
 * equal after cleaning and cutting. */
static resmon_status name_lock(struct rm_leader *leader, const resmon_job_info *info,
                               const char *directory)
{
    char key[PART_BYTES], node[PART_BYTES];
    uint64_t hash = rm_hash_bytes(RM_HASH_START, info->key, strlen(info->key) + 1);
    hash = rm_hash_bytes(hash, info->node_name, strlen(info->node_name));
    rm_file_name_clean(key, sizeof key, info->key);
    rm_file_name_clean(node, sizeof node, info->node_name);
    int length =
        snprintf(leader->path, sizeof leader->path, "%s/resmon-%lu-%s-%s-%016" PRIx64 ".lock",
                 directory, (unsigned long)geteuid(), key, node, hash);
    return length > 0 && (size_t)length < sizeof leader->path
               ? RESMON_OK
               : rm_error(RESMON_EINVAL, "the path of the directory of lock files is too long");
}

/* ---- the lock, of all leaders of this process for the same host ----------------------------- */

struct rm_leader_lock {
    struct rm_leader_lock *next;
    int references;
    struct rm_kept file; /* the program may close the descriptor */
    char path[RM_LEADER_PATH_BYTES];
};

static pthread_mutex_t locks_guard = PTHREAD_MUTEX_INITIALIZER;
static struct rm_leader_lock *locks; /* locks held by this process */

/* In a forked child: it leads nothing.  The locks stay allocated for its copies of leaders. */
static void forget_locks(void)
{
    locks_guard = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    locks = NULL;
}

static const struct rm_fork_part at_fork = {.in_child = forget_locks};

/* Checks that the file is ours, and that its name refers to it: links == 0 if its leader has
 * removed it. */
static resmon_status check_lock(int fd, const char *path, nlink_t *ret_links)
{
    struct stat info;
    if (fstat(fd, &info) != 0) {
        return rm_error_errno(errno, "cannot get the status of %s", path);
    }
    if (!S_ISREG(info.st_mode)) {
        return rm_error(RESMON_EACCES, "%s is not a regular file", path);
    }
    if (info.st_uid != geteuid()) {
        return rm_error(RESMON_EACCES, "%s belongs to user %lu", path, (unsigned long)info.st_uid);
    }
    if (info.st_nlink > 1) {
        return rm_error(RESMON_EACCES, "%s has other hard links", path);
    }
    *ret_links = info.st_nlink;
    return RESMON_OK;
}

static resmon_status lock_file(int fd, const char *path)
{
    nlink_t links = 0;
    resmon_status status = check_lock(fd, path, &links);
    if (status == RESMON_OK && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        return errno == EWOULDBLOCK ? RESMON_EBUSY : rm_error_errno(errno, "cannot lock %s", path);
    }
    if (status == RESMON_OK) {
        /* the previous leader may have removed it meanwhile */
        status = check_lock(fd, path, &links);
    }
    return status == RESMON_OK && links == 0
               ? rm_error(RESMON_ESTATE, "%s was removed each time it was locked", path)
               : status;
}

/* RESMON_EBUSY: another process holds the lock; RESMON_ESTATE: removed meanwhile, try again. */
static resmon_status open_lock(const char *path, int *ret_fd)
{
    const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int fd = RM_FAULT(RM_FAULT_OPEN) ? (errno = EMFILE, -1) : open(path, flags, 0600);
    if (fd < 0) {
        return rm_error_errno(errno, "cannot open %s", path);
    }
    resmon_status status = lock_file(fd, path);
    if (status != RESMON_OK) {
        (void)close(fd);
        return status;
    }
    *ret_fd = fd;
    return RESMON_OK;
}

static resmon_status make_lock(const char *path, struct rm_leader_lock **ret_lock)
{
    int fd = -1;
    resmon_status status = RESMON_ESTATE;
    struct rm_leader_lock *lock = rm_alloc(1, sizeof *lock);
    if (lock == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for %s", path);
    }
    for (int i = 0; i < TRIES && status == RESMON_ESTATE; i++) {
        status = open_lock(path, &fd);
    }
    if (status != RESMON_OK) {
        rm_free(lock);
        return status;
    }
    (void)snprintf(lock->path, sizeof lock->path, "%s", path);
    lock->references = 1;
    rm_kept_take(&lock->file, fd);
    lock->next = locks;
    locks = lock;
    *ret_lock = lock;
    return RESMON_OK;
}

static resmon_status take_lock(const char *path, struct rm_leader_lock **ret_lock)
{
    resmon_status status = RESMON_OK;
    rm_fork_take_part(RM_FORK_LEADER, &at_fork);
    (void)pthread_mutex_lock(&locks_guard);
    struct rm_leader_lock *lock = locks;
    while (lock != NULL && (strcmp(lock->path, path) != 0 || !rm_kept_is_ours(&lock->file))) {
        lock = lock->next;
    }
    if (lock != NULL) {
        lock->references++;
        *ret_lock = lock;
    } else {
        status = make_lock(path, ret_lock);
    }
    (void)pthread_mutex_unlock(&locks_guard);
    return status;
}

/*
 * Removes the file while it is locked.  Another process may have opened the file before: after it
 * gets the lock, it finds that the file has no name, and tries again.
 */
static void remove_lock(struct rm_leader_lock *lock)
{
    nlink_t links = 0;
    int fd = rm_kept_fd(&lock->file);
    if (rm_kept_is_ours(&lock->file)) {
        if (check_lock(fd, lock->path, &links) == RESMON_OK && links == 1) {
            (void)unlink(lock->path);
        }
        (void)flock(fd, LOCK_UN);
    }
    rm_kept_close(&lock->file);
    rm_free(lock);
}

static void give_lock(struct rm_leader_lock *lock)
{
    (void)pthread_mutex_lock(&locks_guard);
    bool is_last = --lock->references == 0;
    for (struct rm_leader_lock **at = &locks; is_last && *at != NULL; at = &(*at)->next) {
        if (*at == lock) {
            *at = lock->next;
            break;
        }
    }
    if (is_last) {
        remove_lock(lock);
    }
    (void)pthread_mutex_unlock(&locks_guard);
}

/* ---- leading ------------------------------------------------------------------------------- */

/* Local rank 0 needs the lock, since its children and the programs that it starts have local rank
 * 0, too.  It leads without a lock only if no lock is possible. */
static void lead_by_lock(struct rm_leader *leader, bool is_local_rank_0)
{
    resmon_status status = take_lock(leader->path, &leader->lock);
    leader->is_leader = status == RESMON_OK || (is_local_rank_0 && status != RESMON_EBUSY);
    if (status == RESMON_EBUSY) {
        decline(leader, "another process of the job leads on this host");
    } else if (!leader->is_leader) {
        log_reason(leader);
    }
}

void rm_leader_take(struct rm_leader *leader, const struct resmon_job *job, const char *directory)
{
    const resmon_job_info *info = &job->info;
    *leader = (struct rm_leader){.pid = getpid()};
    if (info->system[0] == '\0') {
        leader->is_leader = true;
        return;
    }
    if (info->local_rank > 0) {
        decline(leader, "local rank %" PRId64 ": local rank 0 leads on this host",
                info->local_rank);
        return;
    }
    if (directory == NULL) {
        directory = rm_job_variable(&rm_job_own_environment, "TMPDIR");
        directory = directory != NULL ? directory : "/tmp";
    }
    resmon_status status = info->key[0] != '\0'
                               ? name_lock(leader, info, directory)
                               : rm_error(RESMON_ENOENT, "the job has no id, and no local ranks");
    if (status == RESMON_OK) {
        lead_by_lock(leader, info->local_rank == 0);
    } else if (info->local_rank == 0) {
        leader->is_leader = true;
    } else {
        log_reason(leader);
    }
}

bool rm_leader_leads(const struct rm_leader *leader)
{
    return leader->is_leader && leader->pid == getpid();
}

/* A forked child shares the lock with its parent: unlocking it there would unlock the parent's. */
void rm_leader_free(struct rm_leader *leader)
{
    if (leader->lock != NULL && leader->pid == getpid()) {
        give_lock(leader->lock);
    } else if (leader->lock != NULL) {
        rm_kept_close(&leader->lock->file);
    }
    leader->lock = NULL;
    leader->is_leader = false;
    decline(leader, "given up");
}
