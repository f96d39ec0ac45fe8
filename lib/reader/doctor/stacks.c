/* SPDX-License-Identifier: MIT */
/*
 * Rows about stacks: what follows them and names their lines, the signal for the timers of CPU
 * time, and rings of page faults for the growth of memory.
 */
#include "doctor/exam.h"

#include <string.h>
#include <unistd.h>

#include "base/feature.h"
#include "base/status.h"
#include "os/perf_ring.h"

#define GROUP "stacks"
#define LOCK  "proc/sys/kernel/perf_event_mlock_kb"

/* Of any: the kernel is only asked whether it would. */
#define TRIED_PERIOD 64
#define TRIED_STACK  1024

resmon_status rm_doctor_try_faults(bool *ret_has_kernel)
{
    struct rm_perf_ring ring;
    const struct rm_perf_ring_terms terms = {
        .kind = RM_RING_MINOR, .stack_bytes = TRIED_STACK, .period = TRIED_PERIOD};
    resmon_status status = rm_perf_ring_open(&ring, &terms);
    if (status == RESMON_OK) {
        *ret_has_kernel = ring.has_kernel;
        rm_perf_ring_close(&ring);
    }
    return status;
}

/* A library is of no use to a build without it. */
static const char *remedy(enum rm_feature feature, const char *if_built, const char *if_not)
{
    return rm_feature_row(feature)->is_built ? if_built : if_not;
}

static void add_unwinding(struct rm_doctor_exam *exam)
{
    static const char name[] = "unwinding";
    resmon_status status = exam->tools->open_unwinding();
    int32_t verdict = rm_doctor_status(status);
    if (status == RESMON_OK) {
        rm_doctor_add(
            exam, GROUP, name, verdict, "",
            "stacks can be unwound: libunwind is available, and process_vm_readv() works");
    } else if (verdict == RESMON_DOCTOR_ABSENT) {
        rm_doctor_add(exam, GROUP, name, verdict,
                      remedy(RM_FEATURE_UNWIND,
                             "install libunwind (libunwind8 of Debian and Ubuntu)",
                             "build libresmon with libunwind (libunwind-dev of Debian and Ubuntu)"),
                      "%s", resmon_last_error());
    } else {
        rm_doctor_add(exam, GROUP, name, verdict,
                      "start the container with a seccomp profile that allows process_vm_readv, "
                      "as Docker's does from Linux 4.8 on",
                      "%s", resmon_last_error());
    }
}

static void add_lines(struct rm_doctor_exam *exam)
{
    static const char name[] = "lines";
    resmon_status status = exam->tools->open_lines();
    if (status == RESMON_OK) {
        rm_doctor_add(
            exam, GROUP, name, RESMON_DOCTOR_READY, "",
            "libdw is available to resmon-names: functions are named, with lines and inlined "
            "functions where a program has debug information");
    } else {
        rm_doctor_add(exam, GROUP, name, rm_doctor_status(status),
                      remedy(RM_FEATURE_DW,
                             "install libdw (libdw1 of Debian and Ubuntu), and resmon-names beside "
                             "the library",
                             "build libresmon with libdw (libdw-dev of Debian and Ubuntu)"),
                      "%s: stacks have addresses, which are symbolized where the run is loaded",
                      resmon_last_error());
    }
}

static void add_signal(struct rm_doctor_exam *exam)
{
    static const char name[] = "signal";
    const char *signal = exam->tools->find_signal();
    if (signal != NULL) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_READY, "",
                      "%s is free for samples of CPU time and of a peak", signal);
    } else {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_NOT_READABLE,
                      "the program must leave one of them unused",
                      "this program handles SIGURG, SIGSTKFLT and SIGPROF itself: there are no "
                      "samples of CPU time, and none of a peak");
    }
}

/* ---- page faults ------------------------------------------------------------------------ */

static void add_faults_here(struct rm_doctor_exam *exam, const char *name)
{
    bool has_kernel = false;
    resmon_status status = exam->tools->try_faults(&has_kernel);
    if (status == RESMON_OK) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_READY, "",
                      "page faults can be sampled with their stacks%s",
                      has_kernel ? ", those in system calls too"
                                 : "; those in system calls are left out");
    } else {
        rm_doctor_add(exam, GROUP, name, rm_doctor_status(status), "", "%s", resmon_last_error());
    }
}

static void add_faults(struct rm_doctor_exam *exam)
{
    static const char name[] = "page faults";
    if (exam->root.is_live) {
        add_faults_here(exam, name);
    } else if (!rm_file_exists(&exam->root, "proc/sys/kernel/perf_event_paranoid")) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_ABSENT, "",
                      "this kernel has no perf events: there are no stacks of memory's growth");
    } else if (rm_doctor_may_count(exam)) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_READY, "",
                      "kernel.perf_event_paranoid lets page faults be sampled");
    } else {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_NOT_READABLE, "",
                      "page faults may not be sampled, see perf_event_paranoid above");
    }
}

/* With the kernel's own page. */
static uint64_t ring_kib(uint64_t bytes)
{
    return (bytes + (uint64_t)sysconf(_SC_PAGESIZE)) / 1024;
}

static void add_lock(struct rm_doctor_exam *exam)
{
    static const char name[] = "perf_event_mlock_kb";
    char line[64];
    uint64_t kib = 0;
    uint64_t most = ring_kib(RM_PERF_RING_MOST_BYTES) + ring_kib(RM_PERF_RING_MAJOR_BYTES);
    resmon_status status = rm_doctor_line(exam, LOCK, line, sizeof line);
    struct rm_text text = rm_text_of(line, strlen(line));
    if (status == RESMON_ENOENT) {
        return; /* a kernel without perf events: said above */
    }
    if (status != RESMON_OK) {
        rm_doctor_add(exam, GROUP, name, rm_doctor_status(status), "",
                      "kernel.perf_event_mlock_kb cannot be read");
    } else if (!rm_parse_u64(&text, &kib) || rm_text_left(&text) > 0) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_GARBLED, "",
                      "kernel.perf_event_mlock_kb is '%s', which is not a number", line);
    } else if (kib < ring_kib(RM_PERF_RING_LEAST_BYTES)) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_NOT_READABLE,
                      "an administrator sets kernel.perf_event_mlock_kb to 516, or more",
                      "%llu KiB for each CPU are too few for a ring buffer of page faults, unless "
                      "\"ulimit -l\" or privileges allow more",
                      (unsigned long long)kib);
    } else {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_READY, "",
                      "%llu KiB for each CPU may be ring buffers of page faults; a thread needs "
                      "%llu KiB, at least %llu; \"ulimit -l\" and privileges allow more",
                      (unsigned long long)kib, (unsigned long long)most,
                      (unsigned long long)ring_kib(RM_PERF_RING_LEAST_BYTES));
    }
}

void rm_doctor_stacks(struct rm_doctor_exam *exam)
{
    if (exam->root.is_live) { /* of another machine, nobody knows what is installed */
        add_unwinding(exam);
        add_lines(exam);
        add_signal(exam);
    }
    add_faults(exam);
    add_lock(exam);
}
