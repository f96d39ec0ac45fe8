/* SPDX-License-Identifier: MIT */
#include "stack/resident.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "os/own_usage.h"
#include "store/stack_writer.h"

/* Entries of the pagemap that are read at a time: with pages of 4 KiB, 2 MiB of memory. */
#define CHUNK_PAGES 512U

/* Windows for the memory of all samples together; those around each sample come on top. */
#define MOST_WINDOWS 2048U

#define LEAST_PAUSE_NS (100 * RM_NS_PER_MS)
#define PAUSES         100 /* pause, as a multiple of what looks took */

/* ---- amounts of stacks ------------------------------------------------------------------ */

/* Changes what the stack of a sample has.  Differences wrap around. */
static void set_counted(struct rm_resident_sample *sample, uint64_t bytes)
{
    double before = rm_stack_square(sample->counted, sample->faults);
    double now = rm_stack_square(bytes, sample->faults);
    if (bytes != sample->counted) {
        rm_stack_entry_count(sample->entry, RESMON_STACK_RESIDENT,
                             (uint64_t)(bytes > 0) - (uint64_t)(sample->counted > 0));
        rm_stack_entry_weigh(sample->entry, RESMON_STACK_RESIDENT, bytes - sample->counted,
                             now - before);
        sample->counted = bytes;
    }
}

/* ---- room --------------------------------------------------------------------------------- */

static int compare_entries(const void *left, const void *right)
{
    const struct rm_resident_sample *a = left, *b = right;
    int order = (a->entry > b->entry) - (a->entry < b->entry);
    return order != 0 ? order : (a->address > b->address) - (a->address < b->address);
}

/* One of the two stands for both, more likely the heavier one. */
static struct rm_resident_sample join(struct rm_resident_sample *a, struct rm_resident_sample *b,
                                      uint64_t number)
{
    uint64_t bytes = a->bytes + b->bytes, counted = a->counted + b->counted;
    struct rm_resident_sample joined = bytes > 0 && number % bytes < a->bytes ? *a : *b;
    joined.bytes = bytes;
    joined.faults = a->faults + b->faults;
    set_counted(a, 0);
    set_counted(b, 0);
    joined.counted = 0;
    set_counted(&joined, counted);
    return joined;
}

#define LEAST_THINNED (RM_RESIDENT_SAMPLES / 8 * 7)

/* Joins neighbours of the same stack in pairs. */
static void thin(struct rm_resident *resident)
{
    struct rm_resident_sample *samples = resident->samples;
    size_t kept = 0;
    uint64_t number = resident->latest;
    qsort(samples, resident->count, sizeof *samples, compare_entries);
    for (size_t i = 0; i < resident->count; kept++) {
        bool has_pair = i + 1 < resident->count && samples[i + 1].entry == samples[i].entry;
        number = number * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        samples[kept] = has_pair ? join(&samples[i], &samples[i + 1], number >> 16) : samples[i];
        i += has_pair ? 2 : 1;
    }
    resident->count = kept;
}

/* With almost as many stacks as samples, each further sample would thin in vain. */
void rm_resident_add(struct rm_resident *resident, const struct rm_resident_sample *sample)
{
    if (sample->bytes == 0) {
        return;
    }
    if (resident->count == RM_RESIDENT_SAMPLES && !resident->is_full) {
        thin(resident);
        resident->is_full = resident->count > LEAST_THINNED;
    }
    struct rm_resident_sample *samples =
        resident->count < RM_RESIDENT_SAMPLES
            ? rm_grow(resident->samples, resident->count, &resident->room, sizeof *samples)
            : NULL;
    if (samples == NULL) {
        resident->left_out++;
        return;
    }
    resident->samples = samples;
    struct rm_resident_sample *fresh = &samples[resident->count++];
    *fresh = *sample;
    fresh->order = ++resident->latest;
    fresh->counted = 0;
    set_counted(fresh, sample->bytes);
}

uint64_t rm_resident_take_left_out(struct rm_resident *resident)
{
    uint64_t left_out = resident->left_out;
    resident->left_out = 0;
    return left_out;
}

/* ---- looking ------------------------------------------------------------------------------ */

/* A part of the address space, and its memory that no sample has claimed yet. */
struct rm_resident_window {
    uint64_t number;
    uint64_t bytes;
    uint64_t pages, read; /* of what was read: pages that are there, and all */
};

/* State of a look. */
struct look {
    int pagemap; /* descriptor */
    uint64_t page_bytes;
    uint64_t window_bytes;              /* a power of two of chunks */
    struct rm_resident_window *windows; /* sorted */
    size_t count, room;
    uint64_t chunk; /* 1 + the number of the chunk that was read; 0: none */
    uint64_t entries[CHUNK_PAGES];
    uint64_t pages; /* of the chunk that are there */
};

static bool is_there(uint64_t entry)
{
    return (entry & (RM_PAGE_IS_PRESENT | RM_PAGE_IS_SWAPPED)) != 0 &&
           (entry & RM_PAGE_IS_FILE_OR_SHARED) == 0;
}

/* False: past the end of the address space, or the process has ended. */
static bool read_chunk(struct look *look, uint64_t number)
{
    ssize_t bytes = 0;
    if (look->chunk == number + 1) {
        return true;
    }
    bytes = rm_fd_read_at(look->pagemap, look->entries, sizeof look->entries,
                          number * sizeof look->entries);
    size_t count = bytes > 0 ? (size_t)bytes / sizeof look->entries[0] : 0;
    memset(&look->entries[count], 0, (CHUNK_PAGES - count) * sizeof look->entries[0]);
    look->chunk = number + 1;
    look->pages = 0;
    for (size_t i = 0; i < count; i++) {
        look->pages += is_there(look->entries[i]) ? 1 : 0;
    }
    return count > 0;
}

/* Windows from the one of its address on, in one direction, that a sample may have pages in. */
static uint64_t reach_of(const struct look *look, const struct rm_resident_sample *sample)
{
    return sample->bytes / look->window_bytes + 1;
}

static int compare_numbers(const void *left, const void *right)
{
    const struct rm_resident_window *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

static struct rm_resident_window *find_window(const struct look *look, uint64_t number)
{
    const struct rm_resident_window wanted = {.number = number};
    return bsearch(&wanted, look->windows, look->count, sizeof wanted, compare_numbers);
}

/* Lists the windows in reach of all samples. */
static bool list_windows(struct look *look, const struct rm_resident *resident)
{
    for (size_t i = 0; i < resident->count; i++) {
        const struct rm_resident_sample *sample = &resident->samples[i];
        uint64_t own = sample->address / look->window_bytes, reach = reach_of(look, sample);
        for (uint64_t n = own > reach ? own - reach : 0; n <= own + reach; n++) {
            struct rm_resident_window *window =
                rm_append(&look->windows, &look->count, &look->room, sizeof *window);
            if (window == NULL) {
                return false;
            }
            window->number = n;
        }
    }
    size_t kept = 0;
    if (look->windows == NULL) { /* no samples */
        return false;
    }
    qsort(look->windows, look->count, sizeof *look->windows, compare_numbers);
    for (size_t i = 0; i < look->count; i++) {
        bool is_known = i > 0 && look->windows[i].number == look->windows[kept - 1].number;
        look->windows[is_known ? kept - 1 : kept++] = look->windows[i];
    }
    look->count = kept;
    return true;
}

static void add_chunk(const struct look *look, struct rm_resident_window *window)
{
    window->pages += look->pages;
    window->read += CHUNK_PAGES;
}

/* A sample whose page has gone has nothing. */
static bool read_samples(struct look *look, struct rm_resident *resident)
{
    for (size_t i = 0; i < resident->count; i++) {
        struct rm_resident_sample *sample = &resident->samples[i];
        uint64_t page = sample->address / look->page_bytes, before = look->chunk;
        if (!read_chunk(look, page / CHUNK_PAGES)) {
            return false;
        }
        struct rm_resident_window *window = find_window(look, sample->address / look->window_bytes);
        if (window != NULL && look->chunk != before) {
            add_chunk(look, window);
        }
        if (!is_there(look->entries[page % CHUNK_PAGES])) {
            set_counted(sample, 0);
            sample->bytes = 0;
        }
    }
    return true;
}

/* A window is as full as what is read of it. */
static void read_windows(struct look *look)
{
    uint64_t chunks = look->window_bytes / (CHUNK_PAGES * look->page_bytes);
    for (size_t i = 0; i < look->count; i++) {
        struct rm_resident_window *window = &look->windows[i];
        if (window->read == 0) {
            (void)read_chunk(look, window->number * chunks);
            add_chunk(look, window);
        }
        window->bytes =
            (uint64_t)((double)look->window_bytes * (double)window->pages / (double)window->read);
    }
}

/* ---- claiming ----------------------------------------------------------------------------- */

static uint64_t claim(const struct look *look, uint64_t number, uint64_t wanted)
{
    struct rm_resident_window *window = find_window(look, number);
    uint64_t part = window == NULL ? 0 : window->bytes < wanted ? window->bytes : wanted;
    if (window != NULL) {
        window->bytes -= part;
    }
    return part;
}

/* Most memory is touched upwards, so that the pages of a sample are below its address. */
static uint64_t claim_all(const struct look *look, const struct rm_resident_sample *sample)
{
    uint64_t own = sample->address / look->window_bytes, reach = reach_of(look, sample);
    uint64_t claimed = 0;
    for (uint64_t i = 0; i <= reach && i <= own && claimed < sample->bytes; i++) {
        claimed += claim(look, own - i, sample->bytes - claimed);
    }
    for (uint64_t i = 1; i <= reach && claimed < sample->bytes; i++) {
        claimed += claim(look, own + i, sample->bytes - claimed);
    }
    return claimed;
}

static int compare_orders(const void *left, const void *right)
{
    const struct rm_resident_sample *a = left, *b = right;
    return (a->order < b->order) - (a->order > b->order);
}

static int compare_addresses(const void *left, const void *right)
{
    const struct rm_resident_sample *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

/* The latest samples claim first.  Samples without anything are removed. */
static void claim_for_all(const struct look *look, struct rm_resident *resident)
{
    size_t kept = 0;
    qsort(resident->samples, resident->count, sizeof *resident->samples, compare_orders);
    for (size_t i = 0; i < resident->count; i++) {
        struct rm_resident_sample sample = resident->samples[i];
        uint64_t claimed = claim_all(look, &sample);
        set_counted(&sample, claimed);
        resident->samples[kept] = sample;
        kept += claimed > 0 ? 1 : 0;
    }
    resident->count = kept;
}

/* So that there are not many more windows than samples. */
static uint64_t window_bytes_for(const struct rm_resident *resident, uint64_t page_bytes)
{
    uint64_t bytes = CHUNK_PAGES * page_bytes, all = 0;
    for (size_t i = 0; i < resident->count; i++) {
        all += resident->samples[i].bytes;
    }
    while (all / bytes > MOST_WINDOWS) {
        bytes *= 2;
    }
    return bytes;
}

/* If a process ends between two readings, the pages of others read as if they were not there. */
static bool is_alive(struct look *look, const struct rm_resident *resident)
{
    look->chunk = 0;
    return read_chunk(look, resident->samples[0].address / look->page_bytes / CHUNK_PAGES);
}

static resmon_status look_at(struct rm_resident *resident, int pagemap, uint64_t page_bytes)
{
    struct look look = {
        .pagemap = pagemap,
        .page_bytes = page_bytes,
        .window_bytes = window_bytes_for(resident, page_bytes),
        .windows = resident->windows,
        .room = resident->window_room,
    };
    qsort(resident->samples, resident->count, sizeof *resident->samples, compare_addresses);
    bool has_room = list_windows(&look, resident);
    resident->windows = look.windows;
    resident->window_room = look.room;
    if (!has_room) {
        return rm_error(RESMON_ENOMEM, "out of memory for what is still there");
    }
    bool has_pages = read_samples(&look, resident);
    if (has_pages) {
        read_windows(&look);
    }
    if (!has_pages || !is_alive(&look, resident)) {
        return rm_error(RESMON_ESRCH, "its pagemap is empty: the process has ended");
    }
    claim_for_all(&look, resident);
    return RESMON_OK;
}

resmon_status rm_resident_look(struct rm_resident *resident, const struct rm_root *root,
                               const char *path, uint64_t page_bytes)
{
    int pagemap;
    if (resident->count == 0) {
        return RESMON_OK;
    }
    resmon_status status = rm_fd_open(root, path, &pagemap);
    if (status == RESMON_OK) {
        status = look_at(resident, pagemap, page_bytes);
        (void)close(pagemap);
    }
    resident->is_full = false;
    return status;
}

uint64_t rm_resident_bytes(const struct rm_resident *resident)
{
    return resident->room * sizeof *resident->samples +
           resident->window_room * sizeof *resident->windows;
}

void rm_resident_withdraw(struct rm_resident *resident)
{
    for (size_t i = 0; i < resident->count; i++) {
        set_counted(&resident->samples[i], 0);
    }
    resident->count = 0;
}

void rm_resident_free(struct rm_resident *resident)
{
    rm_free(resident->samples);
    rm_free(resident->windows);
    *resident = (struct rm_resident){.count = 0};
}

/* ---- when to look ----------------------------------------------------------------------- */

bool rm_resident_turn_begin(struct rm_resident_turn *turn, int64_t now_ns, int64_t cpu_ns)
{
    turn->begin_ns = now_ns;
    turn->cpu_ns = cpu_ns;
    return now_ns >= turn->next_ns;
}

void rm_resident_turn_end(struct rm_resident_turn *turn, int64_t now_ns, int64_t cpu_ns)
{
    int64_t pause_ns = PAUSES * (cpu_ns - turn->cpu_ns);
    turn->next_ns = now_ns + (pause_ns > LEAST_PAUSE_NS ? pause_ns : LEAST_PAUSE_NS);
}
