/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall, O_PATH */
#include "stack/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/parse.h"
#include "os/proc_pid.h"

/* openat2() of <linux/openat2.h>, which older headers lack. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef RESOLVE_IN_ROOT
#define RESOLVE_IN_ROOT 0x10U
#endif

#define MOST_BYTES   (UINT64_C(256) << 20) /* bound of the file's size */
#define MOST_ENTRIES ((size_t)1 << 20)
#define PIECE_BYTES  65536U
#define LOOK_NS      (50 * RM_NS_PER_MS) /* interval between checks of its growth */

/* A piece of code as in the file; of overlapping pieces the later one is valid. */
struct piece {
    uint64_t start, bytes;
    const char *name;
};

struct place {
    uint64_t start;
    size_t piece;
};

struct rm_perf_map {
    uint32_t pid;
    uint32_t number; /* pid in the process's own namespace; 0: not read */
    uint64_t read_bytes;
    int64_t looked_ns;
    struct piece *pieces; /* in the order of the file */
    size_t count, room;
    struct place *order; /* sorted by address */
    size_t ordered;
    struct rm_arena texts;
    char buffer[PIECE_BYTES + 1];
};

struct rm_perf_map *rm_perf_map_new(uint32_t pid)
{
    struct rm_perf_map *map = rm_alloc(1, sizeof *map);
    if (map != NULL) {
        map->pid = pid;
    }
    return map;
}

void rm_perf_map_free(struct rm_perf_map *map)
{
    if (map != NULL) {
        rm_free(map->pieces);
        rm_free(map->order);
        rm_arena_free(&map->texts);
        rm_free(map);
    }
}

/* ---- reading ----------------------------------------------------------------------------- */

/* "7f1e5a3c0000 1c py::work:/home/me/train.py" */
static void take_line(struct rm_perf_map *map, struct rm_text line)
{
    struct piece piece = {.name = NULL};
    struct piece *pieces = map->count < MOST_ENTRIES
                               ? rm_grow(map->pieces, map->count, &map->room, sizeof *pieces)
                               : NULL;
    if (pieces == NULL) {
        return;
    }
    map->pieces = pieces;
    (void)rm_parse_literal(&line, "0x");
    if (!rm_parse_hex(&line, &piece.start) || !rm_parse_literal(&line, " ")) {
        return;
    }
    (void)rm_parse_literal(&line, "0x");
    if (!rm_parse_hex(&line, &piece.bytes) || !rm_parse_literal(&line, " ") ||
        rm_text_left(&line) == 0) {
        return;
    }
    piece.name = rm_arena_text(&map->texts, line.at, rm_text_left(&line));
    if (piece.name == NULL) {
        return;
    }
    map->pieces[map->count++] = piece;
}

/* Takes the whole lines in the buffer; returns their bytes. */
static size_t take_lines(struct rm_perf_map *map, size_t length)
{
    size_t done = 0;
    char *end;
    while ((end = memchr(map->buffer + done, '\n', length - done)) != NULL) {
        size_t at = (size_t)(end - map->buffer);
        take_line(map, rm_text_of(map->buffer + done, at - done));
        done = at + 1;
    }
    return done == 0 && length == PIECE_BYTES ? length : done; /* no line is that long */
}

/* The pid in the process's own namespace: the last number of "NSpid: 4711 7", in a container. */
static uint32_t own_number(uint32_t pid, const struct rm_root *root)
{
    char path[64], bytes[4096];
    int fd;
    uint64_t number = pid;
    struct rm_text line;
    (void)snprintf(path, sizeof path, "proc/%u/status", pid);
    if (rm_fd_open(root, path, &fd) != RESMON_OK) {
        return pid;
    }
    ssize_t length = pread(fd, bytes, sizeof bytes, 0);
    (void)close(fd);
    struct rm_text text = rm_text_of(bytes, length > 0 ? (size_t)length : 0);
    while (rm_parse_line(&text, &line)) {
        if (rm_parse_literal(&line, "NSpid:")) {
            while (rm_parse_u64(&line, &number)) {
            }
            break;
        }
    }
    return (uint32_t)number;
}

/* The process may replace the file or its directory by a link to a file that it cannot read
 * itself.  So only a file below its own root is opened, and no link.  O_NONBLOCK avoids waiting for
 * a pipe. */
static int open_below(int directory, const char *path)
{
    static const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
    const struct {
        uint64_t flags, mode, resolve;
    } how = {(uint64_t)flags, 0, RESOLVE_IN_ROOT};
    int fd = (int)syscall(SYS_openat2, (long)directory, path, &how, sizeof how);
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) {
        return fd;
    }
    int temporary = openat(directory, "tmp", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    fd = temporary >= 0 ? openat(temporary, path + strlen("tmp/"), flags) : -1;
    if (temporary >= 0) {
        (void)close(temporary);
    }
    return fd;
}

static int open_map(struct rm_perf_map *map, const struct rm_root *root)
{
    char path[64];
    map->number = map->number != 0 ? map->number : own_number(map->pid, root);
    (void)snprintf(path, sizeof path, "proc/%u/root", map->pid);
    int directory = openat(rm_kept_fd(&root->kept), path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool is_its_own = directory >= 0;
    (void)snprintf(path, sizeof path, "tmp/perf-%u.map", map->number);
    int fd = open_below(is_its_own ? directory : rm_kept_fd(&root->kept), path);
    if (is_its_own) {
        (void)close(directory);
    }
    if (fd >= 0 && !rm_process_file_is_trusted(fd, map->pid)) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

/* Reads what was appended since the last call; true: there was any. */
static bool read_on(struct rm_perf_map *map, const struct rm_root *root)
{
    size_t before = map->count;
    int fd = open_map(map, root);
    ssize_t length = 0;
    while (fd >= 0 && map->read_bytes < MOST_BYTES &&
           (length = pread(fd, map->buffer, PIECE_BYTES, (off_t)map->read_bytes)) > 0) {
        size_t done = take_lines(map, (size_t)length);
        map->read_bytes += done;
        if (done == 0) {
            break; /* an incomplete line */
        }
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return map->count > before;
}

/* ---- finding ----------------------------------------------------------------------------- */

static int by_address(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->start != b->start) {
        return a->start < b->start ? -1 : 1;
    }
    return (a->piece > b->piece) - (a->piece < b->piece);
}

static void put_in_order(struct rm_perf_map *map)
{
    struct place *order = rm_realloc(map->order, map->count, sizeof *order);
    if (order == NULL) {
        return;
    }
    map->order = order;
    map->ordered = map->count;
    for (size_t i = 0; i < map->count; i++) {
        order[i] = (struct place){map->pieces[i].start, i};
    }
    qsort(order, map->count, sizeof *order, by_address);
}

static const struct piece *look_up(const struct rm_perf_map *map, uint64_t address)
{
    size_t low = 0, high = map->ordered;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->order[middle].start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const struct piece *piece = low > 0 ? &map->pieces[map->order[low - 1].piece] : NULL;
    return piece != NULL && address - piece->start < piece->bytes ? piece : NULL;
}

bool rm_perf_map_find(struct rm_perf_map *map, uint64_t address, const struct rm_root *root,
                      struct rm_perf_map_entry *ret_entry)
{
    const struct piece *piece = look_up(map, address);
    int64_t now_ns = rm_clock_monotonic_ns();
    if (piece == NULL && now_ns - map->looked_ns > LOOK_NS) {
        map->looked_ns = now_ns;
        if (read_on(map, root)) {
            put_in_order(map);
            piece = look_up(map, address);
        }
    }
    if (piece == NULL) {
        return false;
    }
    *ret_entry = (struct rm_perf_map_entry){piece->start, piece->bytes, piece->name};
    return true;
}
