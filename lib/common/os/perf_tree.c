/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* ppoll */
#include "os/perf_tree.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"
#include "os/perf.h"

/* The three kinds of events, each with a ring for each CPU. */
enum source { OF_PROCESSES, OF_CPU, OF_FAULTS, SOURCES };

/* Bytes of the stack in a sample, from the stack pointer on. */
static const uint32_t stack_bytes[SOURCES] = {0, 16384, 4096};

/* Sizes of the rings, the largest first.  An unprivileged user may lock 516 KiB for each CPU,
 * including one page for the kernel for each ring.  The second row is below this limit. */
static const size_t sizes[][SOURCES] = {
    {65536, 524288, 1048576},
    {65536, 131072, 262144},
    {16384, 65536, 65536},
    {8192, 32768, 16384},
};

struct tree_ring {
    enum source source;
    int cpu;
    int owner; /* the event that owns the ring */
    int fd;    /* an event to poll for records; -1: hung up or closed */
    struct rm_perf_buffer buffer;
    struct rm_perf_cursor next;
    int64_t next_ns; /* time of the next record; INT64_MAX: no record */
};

struct event {
    int fd;
    enum source source;
};

struct rm_perf_tree {
    struct rm_perf_tree_terms terms;
    bool is_wanted[SOURCES];
    bool has_kernel[SOURCES];
    bool has_pages;
    size_t size_row; /* index in `sizes` */
    int first_cpu;   /* the first CPU with rings */
    char refusals[SOURCES][160];
    struct tree_ring *rings; /* SOURCES for each CPU */
    size_t ring_count;
    struct pollfd *polled;
    struct event *events;
    size_t event_count, event_room;
    size_t opened;          /* number of observed threads */
    struct tree_ring *held; /* the ring of the last returned record */
    int nudge, stop;        /* event descriptors for fresh samples; -1: none are opened */
};

/* ---- one event --------------------------------------------------------------------------- */

static uint32_t wakeup_of(const struct rm_perf_tree *tree, enum source source)
{
    return source == OF_CPU        ? 1
           : source == OF_FAULTS   ? tree->terms.fault_wakeup
           : tree->terms.is_prompt ? 1
                                   : (uint32_t)(sizes[tree->size_row][source] / 2);
}

static void describe(const struct rm_perf_tree *tree, enum source source,
                     struct perf_event_attr *attributes)
{
    *attributes = (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE,
        .inherit = 1,
        .exclude_kernel = tree->has_kernel[source] ? 0 : 1,
        .exclude_hv = 1,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .watermark = source == OF_PROCESSES ? 1 : 0,
        .wakeup_watermark = wakeup_of(tree, source), /* bytes, or else samples */
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    if (source == OF_PROCESSES) {
        attributes->config = PERF_COUNT_SW_DUMMY;
        attributes->task = 1;
        attributes->comm = 1;
        attributes->comm_exec = 1;
        attributes->mmap = tree->terms.cpu_ns > 0 || tree->terms.fault_period > 0 ? 1 : 0;
        attributes->mmap2 = attributes->mmap;
        return;
    }
    attributes->config =
        source == OF_CPU ? PERF_COUNT_SW_TASK_CLOCK : PERF_COUNT_SW_PAGE_FAULTS_MIN;
    attributes->inherit_stat = source == OF_CPU ? 1 : 0;
    attributes->sample_period =
        source == OF_CPU ? (uint64_t)tree->terms.cpu_ns : tree->terms.fault_period;
    if (attributes->sample_period > 0) {
        attributes->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        attributes->sample_regs_user = RM_PERF_REGISTERS_MASK;
        attributes->sample_stack_user = stack_bytes[source];
    }
    if (source == OF_FAULTS) {
        attributes->sample_type |=
            PERF_SAMPLE_ADDR | (tree->has_pages ? RM_PERF_SAMPLE_PAGE_SIZE : 0);
    }
}

static int open_event(const struct rm_perf_tree *tree, enum source source, uint32_t thread, int cpu)
{
    struct perf_event_attr attributes;
    describe(tree, source, &attributes);
    return rm_perf_open_event(&attributes, thread, cpu, -1);
}

/* Tries settings from the best on; the accepted one is used for all CPUs. */
static int open_best(struct rm_perf_tree *tree, enum source source, uint32_t thread, int cpu)
{
    static const struct {
        bool has_kernel, has_pages;
    } forms[] = {{true, true}, {true, false}, {false, true}, {false, false}};
    int fd = -1;
    for (size_t i = 0; i < RM_ARRAY_LEN(forms) && fd < 0; i++) {
        tree->has_kernel[source] = forms[i].has_kernel;
        tree->has_pages = source == OF_FAULTS ? forms[i].has_pages : tree->has_pages;
        fd = open_event(tree, source, thread, cpu);
        if (fd < 0 && (errno == ENODEV || errno == ESRCH || errno == EMFILE)) {
            break;
        }
    }
    return fd;
}

static resmon_status explain(int error, enum source source)
{
    static const char *const what[SOURCES] = {"events of processes", "CPU time", "page faults"};
    if (error == ESRCH) {
        return rm_error(RESMON_ESRCH, "the process no longer exists");
    }
    return rm_perf_refuse(error, what[source], true);
}

/* ---- what is next in a ring -------------------------------------------------------------- */

/* A sample begins with the thread's ids and the time; every other record ends with them. */
static int64_t time_of(struct rm_perf_cursor cursor)
{
    uint64_t ids = 0;
    uint64_t time = 0;
    if (cursor.type != PERF_RECORD_SAMPLE && cursor.end - cursor.at > sizeof ids + sizeof time) {
        cursor.at = cursor.end - sizeof ids - sizeof time;
    }
    return rm_perf_cursor_word(&cursor, &ids) && rm_perf_cursor_word(&cursor, &time)
               ? rm_perf_time_ns(time)
               : 0;
}

static void find_next(struct tree_ring *ring)
{
    ring->next_ns = INT64_MAX;
    if (ring->buffer.memory != NULL && rm_perf_buffer_peek(&ring->buffer, &ring->next)) {
        ring->next_ns = time_of(ring->next);
    }
}

/* Frees the last returned record in its ring. */
static void let_go(struct rm_perf_tree *tree)
{
    if (tree->held != NULL) {
        rm_perf_buffer_pass(&tree->held->buffer, &tree->held->next);
        rm_perf_buffer_release(&tree->held->buffer);
        find_next(tree->held);
        tree->held = NULL;
    }
}

/* ---- opening ----------------------------------------------------------------------------- */

static bool keep_event(struct rm_perf_tree *tree, enum source source, int fd)
{
    struct event *events =
        rm_grow(tree->events, tree->event_count, &tree->event_room, sizeof *events);
    if (events == NULL) {
        return false;
    }
    tree->events = events;
    tree->events[tree->event_count++] = (struct event){fd, source};
    return true;
}

static bool map_ring(struct rm_perf_tree *tree, struct tree_ring *ring, int fd)
{
    size_t bytes = sizes[tree->size_row][ring->source];
    if (!rm_perf_buffer_map(&ring->buffer, fd, bytes, bytes)) {
        return false;
    }
    ring->owner = fd;
    if (tree->first_cpu < 0 || ring->cpu < tree->first_cpu) {
        tree->first_cpu = ring->cpu;
    }
    return true;
}

/* The descriptor, or -1 with errno. */
static int open_on(struct rm_perf_tree *tree, struct tree_ring *ring, uint32_t thread)
{
    bool is_first = tree->opened == 0 && (tree->event_count == 0 || ring->cpu == 0);
    int fd = is_first ? open_best(tree, ring->source, thread, ring->cpu)
                      : open_event(tree, ring->source, thread, ring->cpu);
    if (fd < 0) {
        return -1;
    }
    bool is_out = ring->buffer.memory != NULL
                      ? ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->owner) == 0
                      : map_ring(tree, ring, fd);
    if (!is_out || !keep_event(tree, ring->source, fd)) {
        int error = is_out ? ENOMEM : errno;
        (void)close(fd);
        if (ring->owner == fd) {
            rm_perf_buffer_unmap(&ring->buffer);
        }
        errno = error;
        return -1;
    }
    ring->fd = ring->fd >= 0 ? ring->fd : fd;
    return fd;
}

static void give_up_source(struct rm_perf_tree *tree, enum source source)
{
    tree->is_wanted[source] = false;
    (void)rm_text_set(tree->refusals[source], sizeof tree->refusals[source], resmon_last_error());
}

/* Opens the event on all online CPUs.  EPERM: the limit of locked memory is lower than the rings
 * need. */
static int add_source(struct rm_perf_tree *tree, enum source source, uint32_t thread)
{
    bool has_any = false;
    for (size_t i = source; i < tree->ring_count; i += SOURCES) {
        int fd = open_on(tree, &tree->rings[i], thread);
        if (fd < 0 && errno != ENODEV) {
            return errno;
        }
        has_any = has_any || fd >= 0;
    }
    return has_any ? 0 : ENODEV;
}

static void close_all(struct rm_perf_tree *tree)
{
    for (size_t i = 0; i < tree->ring_count; i++) {
        rm_perf_buffer_unmap(&tree->rings[i].buffer);
        tree->rings[i].owner = -1;
        tree->rings[i].fd = -1;
        tree->rings[i].next_ns = INT64_MAX;
    }
    for (size_t i = 0; i < tree->event_count; i++) {
        rm_perf_close(tree->events[i].fd);
    }
    tree->event_count = 0;
    tree->first_cpu = -1;
}

static resmon_status add_with_sizes(struct rm_perf_tree *tree, uint32_t thread, int *ret_error)
{
    for (enum source source = 0; source < SOURCES; source++) {
        if (!tree->is_wanted[source]) {
            continue;
        }
        *ret_error = add_source(tree, source, thread);
        if (*ret_error == 0) {
            continue;
        }
        resmon_status status = explain(*ret_error, source);
        bool is_first = tree->opened == 0; /* a refusal is then for all threads */
        if (source == OF_PROCESSES || *ret_error == EPERM || *ret_error == ESRCH || !is_first) {
            return status;
        }
        give_up_source(tree, source);
    }
    return RESMON_OK;
}

/* A thread has all events or none: on failure, its events are closed, so that a retry is possible.
 */
static void take_back(struct rm_perf_tree *tree, size_t count)
{
    while (tree->event_count > count) {
        int fd = tree->events[--tree->event_count].fd;
        for (size_t i = 0; i < tree->ring_count; i++) {
            struct tree_ring *ring = &tree->rings[i];
            ring->fd = ring->fd == fd ? -1 : ring->fd;
            if (ring->owner == fd) {
                rm_perf_buffer_unmap(&ring->buffer);
                ring->next_ns = INT64_MAX;
            }
        }
        rm_perf_close(fd);
    }
}

resmon_status rm_perf_tree_add(struct rm_perf_tree *tree, uint32_t thread)
{
    resmon_status status = RESMON_EACCES;
    size_t count = tree->event_count;
    bool is_first = tree->opened == 0;
    int error = EPERM;
    let_go(tree); /* its ring may be unmapped */
    while (status != RESMON_OK && error == EPERM && tree->size_row < RM_ARRAY_LEN(sizes)) {
        status = add_with_sizes(tree, thread, &error);
        if (status != RESMON_OK && is_first) {
            close_all(tree);
            tree->size_row++;
        } else if (status != RESMON_OK) {
            take_back(tree, count);
            break;
        }
    }
    if (status != RESMON_OK && is_first) {
        tree->size_row = 0;
    }
    tree->opened += status == RESMON_OK ? 1 : 0;
    return status;
}

static void close_descriptor(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

resmon_status rm_perf_tree_new(const struct rm_perf_tree_terms *terms,
                               struct rm_perf_tree **ret_tree)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    struct rm_perf_tree *tree = rm_alloc(1, sizeof *tree);
    if (tree != NULL) {
        tree->ring_count = (size_t)(cpus > 0 ? cpus : 1) * SOURCES;
        tree->rings = rm_alloc(tree->ring_count, sizeof *tree->rings);
        tree->polled = rm_alloc(tree->ring_count + 1, sizeof *tree->polled);
    }
    if (tree != NULL) {
        tree->nudge = tree->stop = -1;
    }
    if (tree == NULL || tree->rings == NULL || tree->polled == NULL) {
        rm_perf_tree_free(tree);
        return rm_error(RESMON_ENOMEM, "out of memory for the events of processes");
    }
    tree->terms = *terms;
    tree->first_cpu = -1;
    tree->is_wanted[OF_PROCESSES] = true;
    tree->is_wanted[OF_CPU] = true;
    tree->is_wanted[OF_FAULTS] = terms->fault_period > 0;
    for (size_t i = 0; i < tree->ring_count; i++) {
        tree->rings[i] = (struct tree_ring){.source = (enum source)(i % SOURCES),
                                            .cpu = (int)(i / SOURCES),
                                            .owner = -1,
                                            .fd = -1,
                                            .next_ns = INT64_MAX};
    }
    *ret_tree = tree;
    return RESMON_OK;
}

void rm_perf_tree_free(struct rm_perf_tree *tree)
{
    if (tree == NULL) {
        return;
    }
    if (tree->rings != NULL) {
        close_all(tree);
    }
    close_descriptor(tree->nudge);
    close_descriptor(tree->stop);
    rm_free(tree->rings);
    rm_free(tree->polled);
    rm_free(tree->events);
    rm_free(tree);
}

/* ---- what there is ----------------------------------------------------------------------- */

static enum source source_of(enum rm_tree_record_kind kind)
{
    return kind == RM_TREE_CPU ? OF_CPU : kind == RM_TREE_FAULT ? OF_FAULTS : OF_PROCESSES;
}

const char *rm_perf_tree_refusal(const struct rm_perf_tree *tree, enum rm_tree_record_kind kind)
{
    enum source source = source_of(kind);
    return tree->is_wanted[source] ? NULL : tree->refusals[source];
}

bool rm_perf_tree_sees_kernel(const struct rm_perf_tree *tree, enum rm_tree_record_kind kind)
{
    return tree->has_kernel[source_of(kind)];
}

bool rm_perf_tree_sees_pages(const struct rm_perf_tree *tree)
{
    return tree->has_pages;
}

uint64_t rm_perf_tree_cpu_ns(const struct rm_perf_tree *tree)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < tree->event_count; i++) {
        struct rm_perf_count count = {.value = 0};
        if (tree->events[i].source == OF_CPU && rm_perf_read(tree->events[i].fd, &count)) {
            sum += count.value;
        }
    }
    return sum;
}

uint64_t rm_perf_tree_bytes(const struct rm_perf_tree *tree)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < tree->ring_count; i++) {
        sum += tree->rings[i].buffer.memory != NULL ? tree->rings[i].buffer.bytes : 0;
    }
    return sum;
}

/* A poll of a perf descriptor takes its wake-up away from others (perf_poll()). */
static bool is_polled(const struct rm_perf_tree *tree, const struct tree_ring *ring)
{
    return ring->source == OF_PROCESSES || tree->nudge < 0;
}

static void take_nudges(int nudge)
{
    uint64_t nudges;
    (void)!read(nudge, &nudges, sizeof nudges);
}

/* A ring is polled no more after all its processes have ended: it would end every wait at once. */
bool rm_perf_tree_wait(struct rm_perf_tree *tree, int64_t most_ns)
{
    const struct timespec most = {most_ns / RM_NS_PER_S, most_ns % RM_NS_PER_S};
    nfds_t count = 0;
    for (size_t i = 0; i < tree->ring_count; i++) {
        int fd = is_polled(tree, &tree->rings[i]) ? tree->rings[i].fd : -1;
        tree->polled[i] = (struct pollfd){.fd = fd, .events = POLLIN};
        count += fd >= 0 ? 1 : 0;
    }
    if (count == 0) {
        return false;
    }
    tree->polled[tree->ring_count] = (struct pollfd){.fd = tree->nudge, .events = POLLIN};
    int ready = ppoll(tree->polled, tree->ring_count + 1, &most, NULL);
    for (size_t i = 0; i < tree->ring_count && ready > 0; i++) {
        short seen = tree->polled[i].revents;
        bool is_over = (seen & (POLLHUP | POLLERR | POLLNVAL)) != 0;
        if (is_over || (seen != 0 && !rm_perf_is_ours(tree->rings[i].fd))) {
            tree->rings[i].fd = -1; /* hung up, or the number is another file's by now */
        }
    }
    if (ready > 0 && tree->polled[tree->ring_count].revents != 0) {
        take_nudges(tree->nudge);
    }
    if (ready < 0 && errno != EINTR) {
        (void)nanosleep(&most, NULL);
    }
    return true;
}

/* ---- records ----------------------------------------------------------------------------- */

void rm_perf_tree_look(struct rm_perf_tree *tree)
{
    for (size_t i = 0; i < tree->ring_count; i++) {
        struct tree_ring *ring = &tree->rings[i];
        if (rm_perf_buffer_look(&ring->buffer) && ring->next_ns == INT64_MAX) {
            find_next(ring);
        }
    }
}

static bool take_ids(struct rm_perf_cursor *cursor, uint32_t *ret_first, uint32_t *ret_second)
{
    return rm_perf_cursor_take(cursor, ret_first, sizeof *ret_first) &&
           rm_perf_cursor_take(cursor, ret_second, sizeof *ret_second);
}

/* Reads a text; it ends with '\0', at the latest before the thread's ids and the time. */
static bool take_text(struct rm_perf_cursor *cursor, char text[RM_TREE_TEXT_BYTES])
{
    uint64_t left = cursor->end - cursor->at;
    if (left < 2 * sizeof(uint64_t)) {
        return false;
    }
    left -= 2 * sizeof(uint64_t);
    size_t length = left < RM_TREE_TEXT_BYTES - 1 ? (size_t)left : RM_TREE_TEXT_BYTES - 1;
    text[length] = '\0';
    return rm_perf_cursor_take(cursor, text, length);
}

/* process, its parent, thread, its parent, time */
static bool read_fork(struct rm_perf_cursor cursor, struct rm_tree_record *record)
{
    uint32_t parent_thread;
    bool is_whole = take_ids(&cursor, &record->pid, &record->parent) &&
                    take_ids(&cursor, &record->tid, &parent_thread);
    record->kind = cursor.type == PERF_RECORD_EXIT ? RM_TREE_EXIT
                   : record->pid == record->parent ? RM_TREE_THREAD
                                                   : RM_TREE_FORK;
    return is_whole;
}

static bool read_name(struct rm_perf_cursor cursor, struct rm_tree_record *record)
{
    bool is_exec = (cursor.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
    bool is_whole =
        take_ids(&cursor, &record->pid, &record->tid) && take_text(&cursor, record->text);
    bool is_process = record->pid == record->tid;
    record->kind = is_exec ? RM_TREE_EXEC : is_process ? RM_TREE_NAME : RM_TREE_NOTHING;
    return is_whole;
}

/* ids, address, length, offset, device, inode, its generation, protection and flags, path */
static bool read_map(struct rm_perf_cursor cursor, struct rm_tree_record *record)
{
    uint32_t major = 0, minor = 0;
    record->kind = RM_TREE_MAP;
    bool is_whole =
        take_ids(&cursor, &record->pid, &record->tid) &&
        rm_perf_cursor_word(&cursor, &record->start) &&
        rm_perf_cursor_word(&cursor, &record->bytes) &&
        rm_perf_cursor_word(&cursor, &record->offset) && take_ids(&cursor, &major, &minor) &&
        rm_perf_cursor_word(&cursor, &record->inode) &&
        rm_perf_cursor_word(&cursor, &record->generation) &&
        rm_perf_cursor_skip(&cursor, sizeof(uint64_t)) && take_text(&cursor, record->text);
    record->device = (uint64_t)major << 32 | minor;
    return is_whole;
}

static bool read_used(struct rm_perf_cursor cursor, struct rm_tree_record *record)
{
    record->kind = RM_TREE_USED;
    return take_ids(&cursor, &record->pid, &record->tid) &&
           rm_perf_cursor_word(&cursor, &record->count);
}

static bool read_lost(struct rm_perf_cursor cursor, struct rm_tree_record *record)
{
    uint64_t id = 0;
    record->kind = RM_TREE_LOST;
    return (cursor.type == PERF_RECORD_LOST_SAMPLES || rm_perf_cursor_word(&cursor, &id)) &&
           rm_perf_cursor_word(&cursor, &record->count);
}

/* ids, time, address (of faults), kind of registers, registers, stack, size of the page */
static bool read_sample(const struct rm_perf_tree *tree, enum source source,
                        struct rm_perf_cursor cursor, struct rm_tree_record *record)
{
    struct rm_perf_record *sample = &record->sample;
    uint64_t time;
    record->kind = source == OF_CPU ? RM_TREE_CPU : RM_TREE_FAULT;
    *sample = (struct rm_perf_record){.t_ns = record->t_ns, .cursor = cursor};
    return take_ids(&cursor, &record->pid, &record->tid) && rm_perf_cursor_word(&cursor, &time) &&
           (source != OF_FAULTS || rm_perf_cursor_word(&cursor, &sample->address)) &&
           rm_perf_record_take_stack(&cursor, sample) &&
           (source != OF_FAULTS || !tree->has_pages ||
            rm_perf_cursor_word(&cursor, &sample->page_bytes));
}

static bool read_record(const struct rm_perf_tree *tree, const struct tree_ring *ring,
                        struct rm_tree_record *record)
{
    switch (ring->next.type) {
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        return read_fork(ring->next, record);
    case PERF_RECORD_COMM:
        return read_name(ring->next, record);
    case PERF_RECORD_MMAP2:
        return read_map(ring->next, record);
    case PERF_RECORD_READ:
        record->is_first_cpu = ring->cpu == tree->first_cpu;
        return read_used(ring->next, record);
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES:
        record->is_of_processes = ring->source == OF_PROCESSES;
        record->is_of_cpu = ring->source == OF_CPU;
        return read_lost(ring->next, record);
    case PERF_RECORD_SAMPLE:
        return read_sample(tree, ring->source, ring->next, record);
    default:
        return false;
    }
}

static struct tree_ring *earliest(const struct rm_perf_tree *tree)
{
    struct tree_ring *first = &tree->rings[0];
    for (size_t i = 1; i < tree->ring_count; i++) {
        first = tree->rings[i].next_ns < first->next_ns ? &tree->rings[i] : first;
    }
    return first;
}

bool rm_perf_tree_next(struct rm_perf_tree *tree, int64_t until_ns,
                       struct rm_tree_record *ret_record)
{
    for (;;) {
        let_go(tree);
        struct tree_ring *ring = earliest(tree);
        if (ring->next_ns == INT64_MAX || ring->next_ns > until_ns) {
            return false;
        }
        tree->held = ring;
        ret_record->t_ns = ring->next_ns;
        if (read_record(tree, ring, ret_record) && ret_record->kind != RM_TREE_NOTHING) {
            return true;
        }
    }
}

/* ---- fresh samples ----------------------------------------------------------------------- */

size_t rm_perf_tree_cpu_count(const struct rm_perf_tree *tree)
{
    return tree->ring_count / SOURCES;
}

static bool open_ring(const struct tree_ring *ring, struct rm_perf_fresh_ring *fresh)
{
    *fresh = (struct rm_perf_fresh_ring){.fd = -1};
    if (ring->buffer.memory == NULL) {
        return false;
    }
    fresh->fd = ring->fd;
    fresh->buffer = ring->buffer;
    return true;
}

bool rm_perf_tree_open_fresh(struct rm_perf_tree *tree, size_t index,
                             struct rm_perf_fresh *ret_fresh)
{
    const struct tree_ring *rings = &tree->rings[index * SOURCES];
    *ret_fresh = (struct rm_perf_fresh){.tree = tree, .cpu = rings[OF_CPU].cpu};
    bool has_cpu = open_ring(&rings[OF_CPU], &ret_fresh->cpu_time);
    bool has_faults = open_ring(&rings[OF_FAULTS], &ret_fresh->faults);
    if (!has_cpu && !has_faults) {
        return false;
    }
    if (tree->stop < 0) {
        tree->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    if (tree->stop >= 0 && tree->nudge < 0) {
        tree->nudge = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    return tree->nudge >= 0;
}

static void signal_descriptor(int fd)
{
    const uint64_t one = 1;
    (void)!write(fd, &one, sizeof one);
}

void rm_perf_tree_stop_fresh(struct rm_perf_tree *tree)
{
    signal_descriptor(tree->stop);
}

bool rm_perf_fresh_wait(struct rm_perf_fresh *fresh)
{
    struct rm_perf_fresh_ring *rings[] = {&fresh->cpu_time, &fresh->faults};
    struct pollfd polled[] = {
        {.fd = fresh->tree->stop, .events = POLLIN},
        {.fd = fresh->cpu_time.fd, .events = POLLIN},
        {.fd = fresh->faults.fd, .events = POLLIN},
    };
    if (poll(polled, RM_ARRAY_LEN(polled), -1) < 0) {
        return errno == EINTR;
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(rings); i++) {
        if ((polled[i + 1].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) {
            rings[i]->fd = -1;
        }
    }
    return polled[0].revents == 0;
}

static uint64_t load_tail(const struct rm_perf_fresh_ring *ring)
{
    const struct perf_event_mmap_page *page = ring->buffer.memory;
    return __atomic_load_n(&page->data_tail, __ATOMIC_ACQUIRE);
}

/* The record at a position of the ring; false: it is no whole record. */
static bool read_header(const struct rm_perf_fresh_ring *ring, uint64_t at,
                        struct rm_perf_cursor *ret_cursor)
{
    struct perf_event_header header;
    uint64_t bytes = ring->buffer.head - at;
    if (bytes < sizeof header) {
        return false;
    }
    rm_perf_buffer_copy(&ring->buffer, at, &header, sizeof header);
    *ret_cursor = (struct rm_perf_cursor){
        .buffer = &ring->buffer,
        .at = at + sizeof header,
        .end = at + header.size,
        .type = header.type,
    };
    return header.size >= sizeof header && header.size <= bytes;
}

/* The tree's thread frees records meanwhile, whose bytes the kernel then writes anew: what was
 * copied counts if its record was not freed by then. */
bool rm_perf_fresh_next(const struct rm_perf_fresh *fresh, struct rm_perf_fresh_ring *ring,
                        struct rm_tree_record *ret_record)
{
    enum source source = ring == &fresh->faults ? OF_FAULTS : OF_CPU;
    bool is_sample = false;
    if (ring->buffer.memory == NULL) {
        return false;
    }
    (void)rm_perf_buffer_look(&ring->buffer);
    while (!is_sample) {
        struct rm_perf_cursor cursor = {.at = 0};
        uint64_t tail = load_tail(ring);
        uint64_t at = ring->position > tail ? ring->position : tail;
        if (at >= ring->buffer.head) {
            return false;
        }
        bool is_whole = read_header(ring, at, &cursor);
        ret_record->t_ns = is_whole ? time_of(cursor) : 0;
        is_sample = is_whole && cursor.type == PERF_RECORD_SAMPLE &&
                    read_sample(fresh->tree, source, cursor, ret_record);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        bool is_freed = load_tail(ring) > at;
        is_sample = is_sample && !is_freed;
        ring->position = is_freed ? 0 : is_whole ? cursor.end : ring->buffer.head;
    }
    return true;
}

static bool is_filling(const struct rm_perf_fresh_ring *ring)
{
    return ring->buffer.memory != NULL &&
           ring->buffer.head - load_tail(ring) > (ring->buffer.mask + 1) / 4;
}

void rm_perf_fresh_nudge(const struct rm_perf_fresh *fresh)
{
    if (is_filling(&fresh->cpu_time) || is_filling(&fresh->faults)) {
        signal_descriptor(fresh->tree->nudge);
    }
}
