/* SPDX-License-Identifier: MIT */
/*
 * The row about the PMU "power" of perf, whose counters of energy are opened and read as a monitor
 * does it: some are there and count nothing.
 */
#include <errno.h>

#include "base/clock.h"
#include "collect/energy_zones.h"
#include "doctor/exam.h"

#define GROUP "energy"
#define PMU   "sys/bus/event_source/devices/power"

/* What the monitor would find, asked as it asks. */
struct pmu {
    bool has_packages; /* that can be opened and count */
    size_t opened, dead;
    int error;       /* errno; 0: none */
    char still[160]; /* which counters do not count */
};

static bool read_pmu(struct rm_doctor_exam *exam, struct rm_energy_zones *zones,
                     struct pmu *ret_pmu)
{
    resmon_status status =
        rm_energy_zones_open_pmu(zones, &exam->root, &exam->scratch, exam->tools->perf_open);
    if (status != RESMON_OK) {
        exam->status = status;
        return false;
    }
    *ret_pmu = (struct pmu){.opened = zones->count, .error = zones->pmu_errno};
    for (int i = 0; i <= RM_DOCTOR_WAITS && zones->count > 0; i++) {
        if (i > 0) {
            exam->tools->wait_for_counters();
        }
        rm_energy_zones_read(zones, &exam->scratch, i, i * RM_NS_PER_MS);
        ret_pmu->dead = rm_energy_zones_describe_dead(zones, RM_ENERGY_DOMAINS, ret_pmu->still,
                                                      sizeof ret_pmu->still);
        if (i > 0 && ret_pmu->dead == 0) {
            break;
        }
    }
    return true;
}

static struct pmu ask_pmu(struct rm_doctor_exam *exam)
{
    struct pmu pmu = {0};
    struct rm_energy_zones zones = {0};
    if (!exam->is_live) {
        bool may_open = rm_doctor_may_count_all(exam);
        pmu.has_packages = may_open && rm_file_exists(&exam->root, PMU "/events/energy-pkg");
        pmu.opened = may_open ? 1 : 0;
        pmu.error = may_open ? 0 : EACCES;
        return pmu;
    }
    if (read_pmu(exam, &zones, &pmu)) {
        pmu.has_packages = rm_energy_zones_measure(&zones, RM_ZONE_PACKAGE) &&
                           rm_energy_zones_life(&zones, RM_ZONE_PACKAGE) == RM_ZONES_LIVE;
    }
    rm_energy_zones_close(&zones);
    return pmu;
}

static void add_closed_pmu(struct rm_doctor_exam *exam, const char *name, const char *why)
{
    rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_NOT_READABLE,
                  exam->has_zones
                      ? ""
                      : "an administrator sets kernel.perf_event_paranoid to 0, which lets every "
                        "user measure the processes of all others; " RM_DOCTOR_ONE_PROGRAM,
                  "the PMU \"power\" of perf needs CAP_PERFMON or kernel.perf_event_paranoid 0%s",
                  exam->is_rapl_enough ? why
                  : exam->has_zones    ? "; better give access to the zones above"
                                       : "");
}

void rm_doctor_pmu_power(struct rm_doctor_exam *exam)
{
    static const char name[] = "PMU power";
    const char *why = exam->is_rapl_enough ? "; it is not needed, as the zones can be read" : "";
    if (!rm_file_exists(&exam->root, PMU "/type")) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_ABSENT, "", "perf has no PMU \"power\"%s",
                      why);
        return;
    }
    const struct pmu pmu = ask_pmu(exam);
    exam->is_pmu_readable = pmu.has_packages;
    if (pmu.opened > 0 && pmu.dead == pmu.opened) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_ABSENT, "",
                      "the PMU \"power\" of perf can be opened, but counts nothing here%s", why);
    } else if (pmu.opened > 0) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_READY, "",
                      "the PMU \"power\" of perf can be opened%s%s%s%s",
                      pmu.has_packages ? "" : ", but does not measure the packages",
                      pmu.dead > 0 ? "; " : "", pmu.still, why);
    } else if (pmu.error == EACCES || pmu.error == EPERM) {
        add_closed_pmu(exam, name, why);
    } else if (pmu.error != 0) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_NOT_READABLE, "",
                      "the PMU \"power\" of perf cannot be opened (errno %d)%s", pmu.error, why);
    } else {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_ABSENT, "",
                      "the PMU \"power\" of perf has no event of energy%s", why);
    }
}
