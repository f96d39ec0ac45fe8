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
#include "os/file.h"
#include "os/perf.h"
#include "os/proc_pid.h"
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
    case RESMON_ENOTSUP: /* such as disabled PSI */
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

/* ---- an examination --------------------------------------------------------------------- */

/* The name is written to files of root: only what groupadd(8) accepts on all systems. */
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
        rm_doctor_look_round, rm_doctor_machine, rm_doctor_energy,
        rm_doctor_counters,   rm_doctor_stacks,  rm_doctor_gpu,
        rm_doctor_site,       rm_doctor_kernel,  rm_doctor_build,
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

/* ---- the report ------------------------------------------------------------------------------ */

#define WIDTH      100
#define MARK_WIDTH 8
#define INDENT     2

/* Words on lines of at most WIDTH columns; lines after the first begin at `margin`. */
struct lines {
    struct rm_buffer *buffer;
    size_t margin, column;
};

static void add_word(struct lines *lines, const char *word, size_t length)
{
    if (lines->column > lines->margin && lines->column + 1 + length > WIDTH) {
        rm_buffer_printf(lines->buffer, "\n%*s", (int)lines->margin, "");
        lines->column = lines->margin;
    } else if (lines->column > lines->margin) {
        rm_buffer_add(lines->buffer, " ", 1);
        lines->column++;
    }
    rm_buffer_add(lines->buffer, word, length);
    lines->column += length;
}

static void add_words(struct lines *lines, const char *text)
{
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        if (length > 0) {
            add_word(lines, text, length);
        }
        text += length + (text[length] == ' ');
    }
}

static const char *mark_of(int32_t status)
{
    static const char *const marks[] = {
        [RESMON_DOCTOR_READY] = "ok",
        [RESMON_DOCTOR_NOT_READABLE] = "DENIED",
        [RESMON_DOCTOR_ABSENT] = "absent",
        [RESMON_DOCTOR_GARBLED] = "BROKEN",
    };
    return status > 0 && status < (int32_t)RM_ARRAY_LEN(marks) ? marks[status] : "?";
}

static size_t widest_name(const resmon_doctor_entry *entries, size_t count)
{
    size_t widest = 0;
    for (size_t i = 0; i < count; i++) {
        size_t width = strlen(entries[i].name);
        widest = width > widest ? width : widest;
    }
    return widest < WIDTH / 2 ? widest : WIDTH / 2;
}

static void write_findings(struct rm_buffer *buffer, const resmon_doctor_entry *entries,
                           size_t count)
{
    size_t name_width = widest_name(entries, count);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(entries[i].group, entries[i - 1].group) != 0) {
            rm_buffer_printf(buffer, "\n%s\n", entries[i].group);
        }
        rm_buffer_printf(buffer, "%*s%-*s%-*s  ", INDENT, "", MARK_WIDTH,
                         mark_of(entries[i].status), (int)name_width, entries[i].name);
        size_t margin = INDENT + MARK_WIDTH + name_width + 2;
        struct lines lines = {buffer, margin, margin};
        add_words(&lines, entries[i].what);
        rm_buffer_puts(buffer, "\n");
    }
}

static bool is_repeated(const resmon_doctor_entry *entries, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (strcmp(entries[i].remedy, entries[index].remedy) == 0) {
            return true;
        }
    }
    return false;
}

/* "powercap intel-rapl:0, powercap intel-rapl:1:" and their common remedy. */
static void write_remedy(struct rm_buffer *buffer, const resmon_doctor_entry *entries, size_t count,
                         size_t index)
{
    struct lines lines = {buffer, 5, 5};
    const char *remedy = entries[index].remedy;
    add_word(&lines, entries[index].name, strlen(entries[index].name));
    for (size_t i = index + 1; i < count; i++) {
        if (strcmp(entries[i].remedy, remedy) == 0) {
            rm_buffer_add(buffer, ",", 1);
            lines.column++;
            add_word(&lines, entries[i].name, strlen(entries[i].name));
        }
    }
    rm_buffer_printf(buffer, ":\n%*s", (int)lines.margin, "");
    lines.column = lines.margin;
    add_words(&lines, remedy);
    rm_buffer_puts(buffer, "\n");
}

static void write_remedies(struct rm_buffer *buffer, const resmon_doctor_entry *entries,
                           size_t count)
{
    unsigned number = 0;
    for (size_t i = 0; i < count; i++) {
        if (entries[i].remedy[0] != '\0' && !is_repeated(entries, i)) {
            rm_buffer_printf(buffer, "%s%3u. ", number == 0 ? "\nWhat can be done\n" : "",
                             number + 1);
            number++;
            write_remedy(buffer, entries, count, i);
        }
    }
    if (number == 0) {
        rm_buffer_puts(buffer, "\nNo action is needed.\n");
    }
}

void rm_doctor_write(struct rm_buffer *buffer, const char *heading,
                     const resmon_doctor_entry *entries, size_t count)
{
    rm_buffer_printf(buffer, "%s\n", heading);
    write_findings(buffer, entries, count);
    write_remedies(buffer, entries, count);
}

/* ---- files that an administrator installs ---------------------------------------------------- */

/* The level at which users may count in their own processes. */
#define LEVEL_OWN 2

static void write_sysusers(struct rm_buffer *buffer, const struct rm_doctor_rule *rule)
{
    rm_buffer_printf(buffer,
                     "# The group that may read the energy counters (libresmon).\n"
                     "g %s -\n",
                     rule->group);
}

static void write_risk(struct rm_buffer *buffer, const struct rm_doctor_rule *rule)
{
    rm_buffer_printf(buffer,
                     "# Group %s may read the energy counters of RAPL (libresmon).\n"
                     "#\n"
                     "# Since 2020 only root may read them (CVE-2020-8694, \"PLATYPUS\"): frequent "
                     "readings reveal\n# data that other programs work on, such as their keys.  So "
                     "add only trusted users to the\n# group.  0444 in place of 0440 lets "
                     "everybody read: for machines where all users trust\n# each other.\n"
                     "#\n",
                     rule->group);
}

/*
 * The rule tests for the counter, not for names: so it covers zones of every driver and depth.  The
 * group is changed first, so that the file is never readable for its old group.
 */
static void write_udev(struct rm_buffer *buffer, const struct rm_doctor_rule *rule)
{
    write_risk(buffer, rule);
    rm_buffer_printf(
        buffer,
        "# Each zone, when it appears and at boot: every socket and die, their parts (core,\n"
        "# uncore, dram) and the platform (psys), of every driver (MSR, MMIO, TPMI).\n"
        "# Everybody can read name and range already, except on some kernels (Ubuntu's 5.4).\n"
        "ACTION!=\"remove\", SUBSYSTEM==\"powercap\", TEST==\"energy_uj\", \\\n"
        "  RUN+=\"/bin/chgrp %s %%S%%p/energy_uj\", \\\n"
        "  RUN+=\"/bin/chmod 0440 %%S%%p/energy_uj\", \\\n"
        "  RUN+=\"/bin/chmod 0444 %%S%%p/name %%S%%p/max_energy_range_uj\"\n",
        rule->group);
}

/* The paths are not the links in /sys/class.  Zones are one or two levels below their driver. */
static void write_tmpfiles(struct rm_buffer *buffer, const struct rm_doctor_rule *rule)
{
    static const char *const levels[] = {"*/*", "*/*/*"};
    write_risk(buffer, rule);
    rm_buffer_puts(buffer,
                   "# The zones that are there when systemd-tmpfiles runs: sockets, dies and "
                   "platform, then\n"
                   "# their parts (core, uncore, dram).  Where the driver is a module, that may be "
                   "too early\n"
                   "# at boot: the rule of udev covers it.\n");
    for (size_t i = 0; i < RM_ARRAY_LEN(levels); i++) {
        rm_buffer_printf(buffer, "z /sys/devices/virtual/powercap/%s/energy_uj 0440 root %s -\n",
                         levels[i], rule->group);
    }
    rm_buffer_puts(
        buffer,
        "# Everybody can read name and range already, except on some kernels (Ubuntu's 5.4).\n");
    for (size_t i = 0; i < RM_ARRAY_LEN(levels); i++) {
        rm_buffer_printf(buffer,
                         "z /sys/devices/virtual/powercap/%s/name 0444 root root -\n"
                         "z /sys/devices/virtual/powercap/%s/max_energy_range_uj 0444 root root "
                         "-\n",
                         levels[i], levels[i]);
    }
}

static void write_sysctl(struct rm_buffer *buffer, const struct rm_doctor_rule *rule)
{
    bool is_open =
        rule->has_level && rule->level < LEVEL_OWN; /* the file must not raise the level */
    rm_buffer_puts(
        buffer,
        "# Users may count cycles, instructions and cache misses of their own processes, in user\n"
        "# space (libresmon).  2 is what the kernel comes with; Debian has 3, Ubuntu 4: nothing.\n"
        "#\n"
        "# The energy counters do not need this.  0 would open the PMU \"power\" too, and let "
        "every\n"
        "# user count what all others do.\n"
        "#\n"
        "# In place of this file, one program can be given the right (Linux 5.8 and later; 0 and\n"
        "# the PMU \"power\" included):\n"
        "#     setcap cap_perfmon=ep PROGRAM\n"
        "# Such a program looks at no environment variable of libresmon, and at no "
        "LD_LIBRARY_PATH.\n");
    if (is_open) {
        rm_buffer_printf(
            buffer,
            "#\n# On this machine it is %lld already, which allows more: no action is needed.\n"
            "#kernel.perf_event_paranoid = %d\n",
            (long long)rule->level, LEVEL_OWN);
    } else {
        rm_buffer_printf(buffer, "kernel.perf_event_paranoid = %d\n", LEVEL_OWN);
    }
}

struct file {
    const char *key, *path;
    void (*write)(struct rm_buffer *buffer, const struct rm_doctor_rule *rule);
};

static const struct file files[] = {
    [RESMON_DOCTOR_FILE_SYSUSERS] = {"sysusers", "/etc/sysusers.d/resmon.conf", write_sysusers},
    [RESMON_DOCTOR_FILE_UDEV] = {"udev", "/etc/udev/rules.d/70-resmon.rules", write_udev},
    [RESMON_DOCTOR_FILE_TMPFILES] = {"tmpfiles", "/etc/tmpfiles.d/resmon.conf", write_tmpfiles},
    [RESMON_DOCTOR_FILE_SYSCTL] = {"sysctl", "/etc/sysctl.d/70-resmon.conf", write_sysctl},
};

static void write_all_files(struct rm_buffer *buffer, const struct rm_doctor_rule *rule)
{
    rm_buffer_printf(buffer,
                     "# For the administrator: %zu files that let group %s read the energy "
                     "counters, and\n"
                     "# users count in their own processes.  Each begins below its name.  "
                     "As root:\n#\n",
                     RM_ARRAY_LEN(files) - 1, rule->group);
    for (size_t i = 1; i < RM_ARRAY_LEN(files); i++) {
        rm_buffer_printf(buffer, "#     resmon doctor --group %s --rule %-8s > %s\n", rule->group,
                         files[i].key, files[i].path);
    }
    rm_buffer_printf(buffer,
                     "#\n"
                     "# and then, this once, as the next boot does it by itself:\n"
                     "#\n"
                     "#     systemd-sysusers                    (or: groupadd --system %s)\n"
                     "#     udevadm control --reload\n"
                     "#     udevadm trigger --subsystem-match=powercap\n"
                     "#     systemd-tmpfiles --create /etc/tmpfiles.d/resmon.conf\n"
                     "#     sysctl -p /etc/sysctl.d/70-resmon.conf\n"
                     "#\n"
                     "# and for each user who is to measure energy, who then logs in again:\n"
                     "#\n"
                     "#     usermod -aG %s USER\n",
                     rule->group, rule->group);
    for (size_t i = 1; i < RM_ARRAY_LEN(files); i++) {
        rm_buffer_printf(buffer, "\n# ======== %s ========\n", files[i].path);
        files[i].write(buffer, rule);
    }
}

resmon_status rm_doctor_rule_write(struct rm_buffer *buffer, const struct rm_doctor_rule *rule,
                                   int32_t file)
{
    if (file < RESMON_DOCTOR_FILE_ALL || (size_t)file >= RM_ARRAY_LEN(files)) {
        return rm_error(RESMON_EINVAL, "there is no file %d; use RESMON_DOCTOR_FILE_*", (int)file);
    }
    if (file == RESMON_DOCTOR_FILE_ALL) {
        write_all_files(buffer, rule);
    } else {
        files[file].write(buffer, rule);
    }
    return buffer->status;
}
