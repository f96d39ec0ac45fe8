/* SPDX-License-Identifier: MIT */
#include "doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/text.h"
#include "doctor/exam.h"
#include "os/file.h"
#include "os/perf.h"
#include "os/program.h"
#include "stack/unwind.h"
#include "symbols/symbolizer.h"

#define DEFAULT_GROUP "resmon"
#define LONGEST_TEXT  512

static void wait_for_counters(void)
{
    const struct timespec pause = {0, 1000000};
    (void)nanosleep(&pause, NULL);
}

const struct rm_doctor_tools rm_doctor_own_tools = {
    .can_read = rm_access_read,
    .perf_open = rm_perf_open,
    .perf_open_least = rm_perf_open_least,
    .wait_for_counters = wait_for_counters,
    .open_unwinding = rm_unwind_open,
    .open_lines = rm_symbolizer_check,
    .try_faults = rm_doctor_try_faults,
    .find_signal = rm_claimed_signal_find,
    .hear_forks = rm_fork_events_open,
    .environment = &rm_job_own_environment,
};

/* ---- findings --------------------------------------------------------------------------- */

static const char *keep(struct rm_doctor_exam *exam, const char *text)
{
    const char *copy = rm_arena_text(&exam->doctor->strings, text, strlen(text));
    if (copy == NULL) {
        exam->status = rm_error(RESMON_ENOMEM, "out of memory for findings");
    }
    return copy;
}

static resmon_doctor_entry *next_entry(struct rm_doctor_exam *exam)
{
    struct resmon_doctor *doctor = exam->doctor;
    resmon_doctor_entry *entries =
        rm_grow(doctor->entries, doctor->count, &doctor->room, sizeof *entries);
    if (entries == NULL) {
        exam->status = rm_error(RESMON_ENOMEM, "out of memory for findings");
        return NULL;
    }
    doctor->entries = entries;
    return &doctor->entries[doctor->count];
}

void rm_doctor_add(struct rm_doctor_exam *exam, const char *group, const char *name, int32_t status,
                   const char *remedy, const char *format, ...)
{
    char what[LONGEST_TEXT];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    resmon_doctor_entry *entry = next_entry(exam);
    if (entry != NULL) {
        *entry = (resmon_doctor_entry){
            .struct_size = sizeof *entry,
            .status = status,
            .group = keep(exam, group),
            .name = keep(exam, name),
            .what = keep(exam, what),
            .remedy = keep(exam, remedy),
        };
        exam->doctor->count++;
    }
}

int32_t rm_doctor_status(resmon_status status)
{
    switch (status) {
    case RESMON_OK:
        return RESMON_DOCTOR_READY;
    case RESMON_ENOENT:
    case RESMON_ENOTSUP: /* such as PSI that was switched off */
        return RESMON_DOCTOR_ABSENT;
    case RESMON_EFORMAT:
        return RESMON_DOCTOR_GARBLED;
    default:
        return RESMON_DOCTOR_NOT_READABLE;
    }
}

resmon_status rm_doctor_line(struct rm_doctor_exam *exam, const char *path, char *line,
                             size_t capacity)
{
    struct rm_text text, first;
    line[0] = '\0';
    resmon_status status = exam->tools->can_read(&exam->root, path);
    if (status == RESMON_OK) {
        status = rm_file_read_once(&exam->root, path, &exam->scratch, &text);
    }
    if (status == RESMON_OK && rm_parse_line(&text, &first)) {
        (void)rm_text_copy(line, capacity, first.at, rm_text_left(&first));
    }
    return status;
}

/* ---- life ------------------------------------------------------------------------------- */

/* It goes into files of root: nothing but what groupadd(8) takes everywhere. */
static bool is_group_name(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length < RM_DOCTOR_GROUP_BYTES &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == length &&
           strspn(name, "0123456789-") == 0;
}

static void write_heading(struct resmon_doctor *doctor, const char *fs_root)
{
    char below[96] = "";
    if (fs_root != NULL) {
        (void)snprintf(below, sizeof below, ", below %.80s", fs_root);
    }
    (void)snprintf(doctor->heading, sizeof doctor->heading,
                   "resmon doctor: what user id %lu can measure here%s", (unsigned long)geteuid(),
                   below);
    rm_text_clean(doctor->heading);
}

static resmon_status run_rows(struct rm_doctor_exam *exam)
{
    static void (*const rows[])(struct rm_doctor_exam *) = {
        rm_doctor_look_round, rm_doctor_energy, rm_doctor_counters, rm_doctor_stacks,
        rm_doctor_gpu,        rm_doctor_site,   rm_doctor_kernel,   rm_doctor_build,
    };
    resmon_status status = rm_root_open(&exam->root, exam->fs_root);
    if (status != RESMON_OK) {
        return status;
    }
    exam->is_live = exam->root.is_live || exam->tools->is_live;
    status = rm_scratch_init(&exam->scratch);
    for (size_t i = 0; i < RM_ARRAY_LEN(rows) && status == RESMON_OK; i++) {
        rows[i](exam);
        status = exam->status;
    }
    rm_scratch_free(&exam->scratch);
    rm_root_close(&exam->root);
    return status;
}

resmon_status rm_doctor_examine(const resmon_doctor_options *options,
                                const struct rm_doctor_tools *tools, resmon_doctor **ret_doctor)
{
    const char *group = options->group != NULL ? options->group : DEFAULT_GROUP;
    if (!is_group_name(group)) {
        return rm_error(RESMON_EINVAL,
                        "'%.40s' is not the name of a group: a lower-case letter or '_', then "
                        "these, digits and '-', at most %d",
                        group, RM_DOCTOR_GROUP_BYTES - 1);
    }
    struct rm_doctor_exam exam = {
        .doctor = rm_alloc(1, sizeof *exam.doctor),
        .tools = tools,
        .fs_root = options->fs_root,
    };
    if (exam.doctor == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for findings");
    }
    (void)rm_text_set(exam.doctor->user_group, sizeof exam.doctor->user_group, group);
    write_heading(exam.doctor, options->fs_root);
    resmon_status status = run_rows(&exam);
    if (status != RESMON_OK) {
        rm_doctor_free(exam.doctor);
        return status;
    }
    *ret_doctor = exam.doctor;
    return RESMON_OK;
}

void rm_doctor_free(resmon_doctor *doctor)
{
    if (doctor != NULL) {
        rm_arena_free(&doctor->strings);
        rm_free(doctor->entries);
        rm_free(doctor);
    }
}
