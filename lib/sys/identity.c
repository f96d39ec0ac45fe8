/* SPDX-License-Identifier: MIT */
#include "sys/identity.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "sys/file.h"
#include "sys/pid_stat.h"

/* The machine's own files, whatever fs_root a monitor reads. */
static bool read_stat(uint64_t pid, struct rm_pid_stat *ret_stat, uint64_t *ret_boot_hash)
{
    struct rm_root root;
    struct rm_scratch scratch = {0};
    struct rm_text text;
    bool is_known = false;
    char path[64];
    (void)snprintf(path, sizeof path, "proc/%llu/stat", (unsigned long long)pid);
    if (rm_root_open(&root, NULL) != RESMON_OK) {
        return false;
    }
    if (rm_scratch_init(&scratch) == RESMON_OK &&
        rm_file_read_once(&root, path, &scratch, &text) == RESMON_OK &&
        rm_pid_stat_parse(text, ret_stat) && !rm_pid_stat_is_removed(ret_stat) &&
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
    uint64_t boot_hash;
    return read_stat((uint64_t)getpid(), &stat, &boot_hash) ? stat.threads : 0;
}

/* A process whose main thread has left is a 'Z' with threads: it lives. */
static bool read_identity(uint64_t pid, struct rm_identity *ret_identity)
{
    struct rm_pid_stat stat;
    uint64_t boot_hash;
    if (!read_stat(pid, &stat, &boot_hash) || (stat.state == 'Z' && stat.threads == 1)) {
        return false;
    }
    *ret_identity = (struct rm_identity){pid, stat.starttime, boot_hash};
    return true;
}

struct rm_identity rm_identity_self(void)
{
    struct rm_identity identity = {0};
    (void)read_identity((uint64_t)getpid(), &identity);
    return identity;
}

bool rm_identity_is_alive(const struct rm_identity *identity)
{
    struct rm_identity now;
    return identity->pid != 0 && read_identity(identity->pid, &now) &&
           now.start_ticks == identity->start_ticks && now.boot_hash == identity->boot_hash;
}

void rm_identity_program(char *path, size_t capacity)
{
    /* By the thread: the process's own cannot be read when the main thread has ended. */
    ssize_t length = readlink("/proc/thread-self/exe", path, capacity - 1);
    path[length > 0 ? length : 0] = '\0';
}
