/* SPDX-License-Identifier: MIT */
#include "collect/cpu_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/status.h"
#include "os/file.h"

#define CPUS "sys/devices/system/cpu"

#define MOST_CPUS 16384U /* the kernel's NR_CPUS is at most 8192 */

/* The CPUs that have the file. */
struct search {
    const struct rm_root *root;
    const char *name;
    uint16_t *cpus;
    size_t count, room;
    bool is_out_of_memory;
};

static void path_of(char path[RM_FILE_PATH_BYTES], unsigned cpu, const char *name)
{
    (void)snprintf(path, RM_FILE_PATH_BYTES, CPUS "/cpu%u/%s", cpu, name);
}

static bool add(struct search *search, uint16_t cpu)
{
    if (search->count == search->room) {
        size_t room = 2 * search->room + 8;
        uint16_t *cpus = rm_realloc(search->cpus, room, sizeof *cpus);
        if (cpus == NULL) {
            search->is_out_of_memory = true;
            return false;
        }
        search->cpus = cpus;
        search->room = room;
    }
    search->cpus[search->count++] = cpu;
    return true;
}

/* "cpu12", and not "cpufreq". */
static bool visit(void *context, const char *entry)
{
    struct search *search = context;
    char path[RM_FILE_PATH_BYTES];
    struct rm_text text = rm_text_of(entry, strlen(entry));
    uint64_t cpu;
    if (!rm_parse_literal(&text, "cpu") || !rm_parse_u64(&text, &cpu) || rm_text_left(&text) > 0 ||
        cpu >= MOST_CPUS) {
        return true;
    }
    path_of(path, (unsigned)cpu, search->name);
    return !rm_file_exists(search->root, path) || add(search, (uint16_t)cpu);
}

static int compare_cpus(const void *left, const void *right)
{
    const uint16_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Those that are read, of all that were found. */
static resmon_status open_found(struct rm_cpu_files *files, const struct search *search)
{
    char path[RM_FILE_PATH_BYTES];
    size_t count = search->count < RM_MOST_CPU_FILES ? search->count : RM_MOST_CPU_FILES;
    resmon_status status = RESMON_OK;
    files->files = rm_alloc(count, sizeof *files->files);
    if (files->files == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the files of CPUs");
    }
    qsort(search->cpus, search->count, sizeof *search->cpus, compare_cpus);
    while (files->count < count && status == RESMON_OK) {
        path_of(path, search->cpus[files->count * search->count / count], files->name);
        status = rm_file_open(&files->files[files->count++], search->root, path);
    }
    return status;
}

resmon_status rm_cpu_files_open(struct rm_cpu_files *files, const struct rm_root *root,
                                const char *name)
{
    struct search search = {.root = root, .name = name};
    files->name = name;
    (void)rm_dir_visit(root, CPUS, visit, &search);
    resmon_status status = RESMON_OK;
    if (search.is_out_of_memory) {
        status = rm_error(RESMON_ENOMEM, "out of memory for the files of CPUs");
    } else if (search.count == 0) {
        status = rm_error(RESMON_ENODEV, "no CPU has a file /" CPUS "/cpuN/%s", name);
    } else {
        status = open_found(files, &search);
    }
    rm_free(search.cpus);
    return status;
}

/* A CPU that comes back has a new file. */
bool rm_cpu_files_read(struct rm_cpu_files *files, size_t index, struct rm_scratch *scratch,
                       uint64_t *ret_number)
{
    struct rm_file *file = &files->files[index];
    struct rm_text text;
    if (rm_file_read(file, scratch, &text) != RESMON_OK &&
        (rm_file_reopen(file) != RESMON_OK || rm_file_read(file, scratch, &text) != RESMON_OK)) {
        return false;
    }
    return rm_parse_u64(&text, ret_number);
}

void rm_cpu_files_close(struct rm_cpu_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        rm_file_close(&files->files[i]);
    }
    rm_free(files->files);
    *files = (struct rm_cpu_files){.count = 0};
}
