/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "os/identity.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/libc.h"
#include "base/map.h"
#include "base/parse.h"
#include "os/file.h"
#include "os/proc_pid.h"

/* The machine's own files, whatever fs_root a monitor reads. */
static bool read_stat(const char *process, uint64_t *ret_pid, struct rm_pid_stat *ret_stat,
                      uint64_t *ret_boot_hash)
{
    struct rm_root root;
    struct rm_scratch scratch = {0};
    struct rm_text text;
    bool is_known = false;
    char path[64];
    (void)snprintf(path, sizeof path, "proc/%s/stat", process);
    if (rm_root_open(&root, NULL) != RESMON_OK) {
        return false;
    }
    if (rm_scratch_init(&scratch) == RESMON_OK &&
        rm_file_read_once(&root, path, &scratch, &text) == RESMON_OK &&
        rm_pid_stat_parse(text, ret_stat) && rm_parse_u64(&text, ret_pid) &&
        !rm_pid_stat_is_removed(ret_stat) &&
        rm_file_read_once(&root, "proc/sys/kernel/random/boot_id", &scratch, &text) == RESMON_OK) {
        *ret_boot_hash = rm_hash_bytes(RM_HASH_START, text.at, rm_text_left(&text));
        is_known = true;
    }
    rm_scratch_free(&scratch);
    rm_root_close(&root);
    return is_known;
}

uint64_t rm_identity_threads(void)
{
    struct rm_pid_stat stat;
    uint64_t pid, boot_hash;
    return read_stat("self", &pid, &stat, &boot_hash) ? stat.threads : 0;
}

/* Random, once for each image; not of what the kernel gave it, which is the program's secret. */
static uint64_t own_image(void)
{
    static uint64_t image; /* atomic; 0: not made yet */
    uint64_t made = 0, none = 0;
    if (RM_LOAD(&image) != 0) {
        return RM_LOAD(&image);
    }
    if (!rm_random(&made, sizeof made)) {
        made = (uint64_t)rm_clock_monotonic_ns();
    }
    made |= 1;
    return __atomic_compare_exchange_n(&image, &none, made, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED)
               ? made
               : none;
}

/* Of processes, and of time: that shifts when a process is said to have started. */
static uint64_t own_namespace(void)
{
    struct stat pid, time;
    if (stat("/proc/self/ns/pid", &pid) != 0) {
        return 0;
    }
    uint64_t of_time = stat("/proc/self/ns/time", &time) == 0 ? (uint64_t)time.st_ino : 0;
    return (uint64_t)pid.st_ino ^ of_time << 32;
}

enum life { UNKNOWN, ALIVE, GONE };

/* A process whose main thread has left is a 'Z' with threads: it lives. */
static enum life read_identity(const char *process, struct rm_identity *ret_identity)
{
    struct rm_pid_stat stat;
    struct rm_identity found = {0};
    if (!read_stat(process, &found.pid, &stat, &found.boot_hash)) {
        return UNKNOWN;
    }
    found.start_ticks = stat.starttime;
    found.stack = stat.startstack;
    *ret_identity = found;
    return stat.state == 'Z' && stat.threads == 1 ? GONE : ALIVE;
}

struct rm_identity rm_identity_self(void)
{
    struct rm_identity identity = {0};
    (void)read_identity("self", &identity);
    identity.image = identity.pid != 0 ? own_image() : 0;
    identity.pid_namespace = own_namespace();
    return identity;
}

/* By its number in /proc.  That a process cannot be seen means nothing where /proc hides those of
 * other users, nor where its numbers are not those that the kernel takes from us. */
static enum life read_other(uint64_t pid, struct rm_identity *ret_identity)
{
    const struct rm_identity self = rm_identity_self();
    char process[24];
    (void)snprintf(process, sizeof process, "%llu", (unsigned long long)pid);
    enum life life = read_identity(process, ret_identity);
    if (life != UNKNOWN) {
        ret_identity->image = pid == self.pid ? self.image : 0;
        return life;
    }
    bool is_gone = self.pid == (uint64_t)getpid() && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
    return is_gone ? GONE : UNKNOWN;
}

struct rm_identity rm_identity_of(uint64_t pid)
{
    struct rm_identity found = {0};
    (void)read_other(pid, &found);
    found.pid_namespace = found.pid != 0 ? own_namespace() : 0;
    return found;
}

static bool differ(uint64_t a, uint64_t b)
{
    return a != 0 && b != 0 && a != b;
}

/* With the number of the process already the same. */
static bool is_another_image(const struct rm_identity *a, const struct rm_identity *b)
{
    return differ(a->image, b->image) || differ(a->stack, b->stack);
}

bool rm_identity_is_alive(const struct rm_identity *identity)
{
    struct rm_identity now;
    return identity->pid != 0 && read_other(identity->pid, &now) == ALIVE &&
           now.start_ticks == identity->start_ticks && now.boot_hash == identity->boot_hash &&
           !is_another_image(identity, &now);
}

bool rm_identity_is_gone(const struct rm_identity *identity)
{
    struct rm_identity now;
    const struct rm_identity self = rm_identity_self();
    bool is_of_here = identity->pid > 0 && identity->pid <= INT32_MAX &&
                      identity->boot_hash == self.boot_hash && self.boot_hash != 0 &&
                      identity->pid_namespace == self.pid_namespace && self.pid_namespace != 0;
    enum life life = is_of_here ? read_other(identity->pid, &now) : UNKNOWN;
    return life == GONE || (life == ALIVE && (now.start_ticks != identity->start_ticks ||
                                              is_another_image(identity, &now)));
}

bool rm_identity_is_earlier_image(const struct rm_identity *identity)
{
    const struct rm_identity self = rm_identity_self();
    return self.pid != 0 && identity->pid == self.pid &&
           identity->start_ticks == self.start_ticks && identity->boot_hash == self.boot_hash &&
           differ(identity->image, self.image);
}

void rm_identity_print(const struct rm_identity *identity, char text[RM_IDENTITY_TEXT_BYTES])
{
    (void)snprintf(text, RM_IDENTITY_TEXT_BYTES,
                   "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, identity->pid,
                   identity->start_ticks, identity->boot_hash, identity->image,
                   identity->pid_namespace);
}

bool rm_identity_parse(const char *text, struct rm_identity *ret_identity)
{
    struct rm_identity found = {0};
    struct rm_text rest = rm_text_of(text, strlen(text));
    uint64_t *const parts[] = {&found.pid, &found.start_ticks, &found.boot_hash, &found.image,
                               &found.pid_namespace};
    for (size_t i = 0; i < RM_ARRAY_LEN(parts); i++) {
        if ((i > 0 && !rm_parse_literal(&rest, " ")) || !rm_parse_u64(&rest, parts[i])) {
            return false;
        }
    }
    *ret_identity = found;
    return rest.at == rest.end;
}

void rm_identity_program(char *path, size_t capacity)
{
    /* By the thread: the process's own cannot be read when the main thread has ended. */
    ssize_t length = readlink("/proc/thread-self/exe", path, capacity - 1);
    path[length > 0 ? length : 0] = '\0';
}

#define KCMP_VM 1L /* of <linux/kcmp.h>, which not every C library comes with */

bool rm_identity_compare_memory(int64_t pid, int64_t other, bool *ret_is_same)
{
    long order = syscall(SYS_kcmp, (long)pid, (long)other, KCMP_VM, 0L, 0L);
    *ret_is_same = order == 0;
    return order >= 0;
}
