/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* secure_getenv */
#include "job/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/text.h"

/* ---- batch systems ---------------------------------------------------------------------- */

static const struct rm_job_system slurm = {
    .name = "slurm",
    .detect = {{"SLURM_JOB_ID", "SLURM_JOBID"}},
    .fields =
        {
            [RM_JOB_ID] = {"SLURM_JOB_ID", "SLURM_JOBID"},
            [RM_JOB_STEP] = {"SLURM_STEP_ID"},
            [RM_JOB_ARRAY_ID] = {"SLURM_ARRAY_JOB_ID"},
            [RM_JOB_ARRAY_INDEX] = {"SLURM_ARRAY_TASK_ID"},
            [RM_JOB_RESTARTS] = {"SLURM_RESTART_COUNT"},
            [RM_JOB_NAME] = {"SLURM_JOB_NAME"},
            [RM_JOB_QUEUE] = {"SLURM_JOB_PARTITION"},
            [RM_JOB_CLUSTER] = {"SLURM_CLUSTER_NAME"},
            [RM_JOB_USER] = {"SLURM_JOB_USER"},
            [RM_JOB_NODE_NAME] = {"SLURMD_NODENAME"},
            [RM_JOB_NODE_INDEX] = {"SLURM_NODEID"},
            [RM_JOB_NODE_COUNT] = {"SLURM_STEP_NUM_NODES", "SLURM_JOB_NUM_NODES", "SLURM_NNODES"},
            [RM_JOB_RANK] = {"SLURM_PROCID"},
            [RM_JOB_RANK_COUNT] = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"},
            [RM_JOB_LOCAL_RANK] = {"SLURM_LOCALID"},
            [RM_JOB_NODE_CPUS] = {"SLURM_CPUS_ON_NODE"},
            [RM_JOB_NODE_MEGABYTES] = {"SLURM_MEM_PER_NODE"},
            [RM_JOB_CPU_MEGABYTES] = {"SLURM_MEM_PER_CPU"},
            [RM_JOB_START] = {"SLURM_JOB_START_TIME"},
            [RM_JOB_END] = {"SLURM_JOB_END_TIME"},
        },
    .hosts = {{RM_HOSTS_SLURM, "SLURM_STEP_NODELIST"}, {RM_HOSTS_SLURM, "SLURM_JOB_NODELIST"}},
    .tasks_of_nodes = {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"},
    .step_prefix = "SLURM_STEP_",
};

static const struct rm_job_system torque = {
    .name = "torque",
    .detect = {{"PBS_JOBID"}, {"PBS_NUM_NODES", "PBS_VERSION=TORQUE-"}},
    .fields =
        {
            [RM_JOB_ID] = {"PBS_JOBID"},
            [RM_JOB_ARRAY_INDEX] = {"PBS_ARRAYID"},
            [RM_JOB_NAME] = {"PBS_JOBNAME"},
            [RM_JOB_QUEUE] = {"PBS_QUEUE"},
            [RM_JOB_USER] = {"PBS_O_LOGNAME"},
            [RM_JOB_NODE_INDEX] = {"PBS_NODENUM"},
            [RM_JOB_NODE_COUNT] = {"PBS_NUM_NODES"},
            [RM_JOB_RANK] = {"PBS_VNODENUM"},
            [RM_JOB_RANK_COUNT] = {"PBS_NP"},
            [RM_JOB_NODE_CPUS] = {"PBS_NUM_PPN"},
            [RM_JOB_TIME_LIMIT] = {"PBS_WALLTIME"},
        },
    .hosts = {{RM_HOSTS_FILE, "PBS_NODEFILE"}},
};

/* PBS_TASKNUM is the number of a task of the task manager, not a rank. */
static const struct rm_job_system pbs = {
    .name = "pbs",
    .detect = {{"PBS_JOBID"}},
    .fields =
        {
            [RM_JOB_ID] = {"PBS_JOBID"},
            [RM_JOB_ARRAY_ID] = {"PBS_ARRAY_ID"},
            [RM_JOB_ARRAY_INDEX] = {"PBS_ARRAY_INDEX"},
            [RM_JOB_NAME] = {"PBS_JOBNAME"},
            [RM_JOB_QUEUE] = {"PBS_QUEUE"},
            [RM_JOB_USER] = {"PBS_O_LOGNAME"},
            [RM_JOB_NODE_INDEX] = {"PBS_NODENUM"},
            [RM_JOB_NODE_CPUS] = {"NCPUS"},
        },
    .hosts = {{RM_HOSTS_FILE, "PBS_NODEFILE"}},
    .counts_slots = true,
};

static const struct rm_job_system oar = {
    .name = "oar",
    .detect = {{"OAR_JOB_ID", "OAR_JOBID"}},
    .fields =
        {
            [RM_JOB_ID] = {"OAR_JOB_ID", "OAR_JOBID"},
            [RM_JOB_ARRAY_ID] = {"OAR_ARRAY_ID", "OAR_ARRAYID"},
            [RM_JOB_ARRAY_INDEX] = {"OAR_JOB_INDEX"},
            [RM_JOB_NAME] = {"OAR_JOB_NAME"},
            [RM_JOB_USER] = {"OAR_USER"},
        },
    .hosts = {{RM_HOSTS_FILE, "OAR_NODEFILE"},
              {RM_HOSTS_FILE, "OAR_NODE_FILE"},
              {RM_HOSTS_FILE, "OAR_FILE_NODES"}},
    .counts_slots = true,
};

static const struct rm_job_system lsf = {
    .name = "lsf",
    .detect = {{"LSB_JOBID"}},
    .fields =
        {
            [RM_JOB_ID] = {"LSB_JOBID"},
            [RM_JOB_ARRAY_INDEX] = {"LSB_JOBINDEX"},
            [RM_JOB_NAME] = {"LSB_JOBNAME"},
            [RM_JOB_QUEUE] = {"LSB_QUEUE"},
            [RM_JOB_USER] = {"LSFUSER"},
            [RM_JOB_RANK] = {"JSM_NAMESPACE_RANK"},
            [RM_JOB_RANK_COUNT] = {"JSM_NAMESPACE_SIZE"},
            [RM_JOB_LOCAL_RANK] = {"JSM_NAMESPACE_LOCAL_RANK"},
        },
    .hosts = {{RM_HOSTS_FILE, "LSB_DJOB_HOSTFILE"},
              {RM_HOSTS_PAIRS, "LSB_MCPU_HOSTS"},
              {RM_HOSTS_WORDS, "LSB_HOSTS"}},
    .counts_arrays_from_1 = true,
};

/* The list of hosts is available by a command only. */
static const struct rm_job_system flux = {
    .name = "flux",
    .detect = {{"FLUX_JOB_ID"}},
    .fields =
        {
            [RM_JOB_ID] = {"FLUX_JOB_ID"},
            [RM_JOB_NODE_COUNT] = {"FLUX_JOB_NNODES"},
            [RM_JOB_RANK] = {"FLUX_TASK_RANK"},
            [RM_JOB_RANK_COUNT] = {"FLUX_JOB_SIZE"},
            [RM_JOB_LOCAL_RANK] = {"FLUX_TASK_LOCAL_ID"},
        },
};

/* ---- launchers -------------------------------------------------------------------------- */

/* A process started by torchrun has the environment of its node's agent. */
static const struct rm_job_system torchrun = {
    .name = "torchrun",
    .detect = {{"TORCHELASTIC_RUN_ID"}},
    .fields =
        {
            [RM_JOB_ID] = {"TORCHELASTIC_RUN_ID"},
            [RM_JOB_RESTARTS] = {"TORCHELASTIC_RESTART_COUNT"},
            [RM_JOB_NODE_INDEX] = {"GROUP_RANK"},
            [RM_JOB_RANK] = {"RANK"},
            [RM_JOB_RANK_COUNT] = {"WORLD_SIZE"},
            [RM_JOB_LOCAL_RANK] = {"LOCAL_RANK"},
            [RM_JOB_LOCAL_RANK_COUNT] = {"LOCAL_WORLD_SIZE"},
        },
    .has_even_nodes = true,
    .keeps_node = true,
    .keeps_step = true,
};

/*
 * Open MPI 4 and 5.  OMPI_COMM_WORLD_NODE_RANK is the rank on the node, not the number of the
 * node.  Its daemons are a step of their own, without the node where mpirun runs, and number the
 * other nodes from 0.  If srun is the launcher (--mpi=pmix), the step is not Open MPI's.
 */
static const struct rm_job_system openmpi = {
    .name = "openmpi",
    .detect = {{"OMPI_COMM_WORLD_RANK"}, {"PMIX_NAMESPACE!slurm"}},
    .fields =
        {
            [RM_JOB_ID] = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"},
            [RM_JOB_NODE_NAME] = {"PMIX_HOSTNAME"},
            [RM_JOB_NODE_COUNT] = {"OMPI_MCA_orte_num_nodes"},
            [RM_JOB_RANK] = {"OMPI_COMM_WORLD_RANK"},
            [RM_JOB_RANK_COUNT] = {"OMPI_COMM_WORLD_SIZE"},
            [RM_JOB_LOCAL_RANK] = {"OMPI_COMM_WORLD_LOCAL_RANK"},
            [RM_JOB_LOCAL_RANK_COUNT] = {"OMPI_COMM_WORLD_LOCAL_SIZE"},
        },
    .keeps_node = true,
};

/* Open MPI's launcher for a program without MPI.  PMIX_RANK without that name space may be Slurm's,
 * under srun --mpi=pmix. */
static const struct rm_job_system prrte = {
    .name = "prrte",
    .detect = {{"PMIX_RANK"}, {"PMIX_NAMESPACE=prte", "PMIX_NAMESPACE=prun"}},
    .fields =
        {
            [RM_JOB_ID] = {"PMIX_NAMESPACE"},
            [RM_JOB_NODE_NAME] = {"PMIX_HOSTNAME"},
            [RM_JOB_RANK] = {"PMIX_RANK"},
        },
    .keeps_node = true,
};

static const struct rm_job_system mvapich2 = {
    .name = "mvapich2",
    .detect = {{"MV2_COMM_WORLD_RANK"}},
    .fields =
        {
            [RM_JOB_RANK] = {"MV2_COMM_WORLD_RANK"},
            [RM_JOB_RANK_COUNT] = {"MV2_COMM_WORLD_SIZE"},
            [RM_JOB_LOCAL_RANK] = {"MV2_COMM_WORLD_LOCAL_RANK"},
        },
};

/* The mpiexec of MPICH and Intel MPI passes its whole environment to every rank, including the
 * batch system's variables of the first node. */
static const struct rm_job_system hydra = {
    .name = "hydra",
    .detect = {{"PMI_RANK"}, {"MPI_LOCALRANKID"}},
    .fields =
        {
            [RM_JOB_RANK] = {"PMI_RANK"},
            [RM_JOB_RANK_COUNT] = {"PMI_SIZE"},
            [RM_JOB_LOCAL_RANK] = {"MPI_LOCALRANKID"},
            [RM_JOB_LOCAL_RANK_COUNT] = {"MPI_LOCALNRANKS"},
        },
};

static const struct rm_job_system pals = {
    .name = "pals",
    .detect = {{"PALS_RANKID"}},
    .fields =
        {
            [RM_JOB_ID] = {"PALS_APID"},
            [RM_JOB_NODE_INDEX] = {"PALS_NODEID"},
            [RM_JOB_RANK] = {"PALS_RANKID"},
            [RM_JOB_LOCAL_RANK] = {"PALS_LOCAL_RANKID"},
        },
};

static const struct rm_job_system alps = {
    .name = "alps",
    .detect = {{"ALPS_APP_PE"}},
    .fields = {[RM_JOB_RANK] = {"ALPS_APP_PE"}},
};

/* ---- precedence ------------------------------------------------------------------------- */

/* Torque is before PBS, whose variables it sets, too; Flux is last, as it runs inside the others.
 */
const struct rm_job_system *const rm_job_batches[] = {&slurm, &torque, &pbs, &oar,
                                                      &lsf,   &flux,   NULL};

/* MVAPICH2 is before Hydra, which may have started it. */
const struct rm_job_system *const rm_job_launchers[] = {
    &torchrun, &openmpi, &prrte, &mvapich2, &hydra, &pals, &alps, &flux, NULL,
};

const struct rm_job_system rm_job_overrides = {
    .name = "resmon",
    .detect = {{"RESMON_JOB_ID", "RESMON_RANK"}},
    .fields =
        {
            [RM_JOB_ID] = {"RESMON_JOB_ID"},
            [RM_JOB_NODE_NAME] = {"RESMON_NODE_NAME"},
            [RM_JOB_NODE_INDEX] = {"RESMON_NODE_ID"},
            [RM_JOB_NODE_COUNT] = {"RESMON_NODES"},
            [RM_JOB_RANK] = {"RESMON_RANK"},
            [RM_JOB_RANK_COUNT] = {"RESMON_RANKS"},
            [RM_JOB_LOCAL_RANK] = {"RESMON_LOCAL_RANK"},
        },
};

/* ---- names ---------------------------------------------------------------------------------- */

/* Compares a variable's name with an entry that may have a value: "PBS_VERSION" of
 * "PBS_VERSION=TORQUE-". */
static bool is_named(const char *name, const char *wanted)
{
    size_t length = strcspn(name, "=");
    return wanted != NULL && strcspn(wanted, "=!") == length && strncmp(name, wanted, length) == 0;
}

static bool is_one_of(const char *name, const char *const wanted[RM_JOB_ALTERNATIVES])
{
    bool is_found = false;
    for (size_t i = 0; i < RM_JOB_ALTERNATIVES; i++) {
        is_found |= is_named(name, wanted[i]);
    }
    return is_found;
}

/* Whether the field identifies a node or process. */
static bool is_of_one(enum rm_job_field field)
{
    return field == RM_JOB_NODE_NAME || field == RM_JOB_NODE_INDEX || field == RM_JOB_RANK ||
           field == RM_JOB_LOCAL_RANK || field == RM_JOB_LOCAL_RANK_COUNT;
}

static bool is_shared_by(const struct rm_job_system *system, const char *name)
{
    bool is_found = is_one_of(name, system->tasks_of_nodes), is_own = false;
    for (size_t i = 0; i < RM_JOB_FIELDS; i++) {
        bool is_named_so = is_one_of(name, system->fields[i]);
        is_own |= is_named_so && is_of_one((enum rm_job_field)i);
        is_found |= is_named_so;
    }
    for (size_t i = 0; i < RM_JOB_GROUPS; i++) {
        is_found |= is_one_of(name, system->detect[i]);
    }
    for (size_t i = 0; i < RM_JOB_ALTERNATIVES; i++) {
        is_found |= is_named(name, system->hosts[i].name);
    }
    return is_found && !is_own;
}

bool rm_job_is_shared_variable(const char *name)
{
    bool is_found = is_shared_by(&rm_job_overrides, name);
    for (size_t i = 0; rm_job_batches[i] != NULL; i++) {
        is_found |= is_shared_by(rm_job_batches[i], name);
    }
    for (size_t i = 0; rm_job_launchers[i] != NULL; i++) {
        is_found |= is_shared_by(rm_job_launchers[i], name);
    }
    return is_found;
}

/* ---- variables ------------------------------------------------------------------------------ */

#define NAME_BYTES 64

/* secure_getenv(): the caller of a set-user-id program must not choose the files that it reads. */
static const char *own_variable(void *context, const char *name)
{
    (void)context;
    return secure_getenv(name);
}

const struct rm_job_environment rm_job_own_environment = {.get = own_variable};

const char *rm_job_variable(const struct rm_job_environment *environment, const char *name)
{
    const char *value = environment->get(environment->context, name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

void rm_job_host_name(const struct rm_job_environment *environment, char *name, size_t capacity)
{
    char own[256] = "";
    const char *given = environment->host_name;
    if (given == NULL && gethostname(own, sizeof own - 1) == 0) {
        given = own;
    }
    (void)rm_text_set(name, capacity, given);
}

static bool is_skipped(const char *name, const char *skipped)
{
    return skipped != NULL && strncmp(name, skipped, strlen(skipped)) == 0;
}

const char *rm_job_text(const struct rm_job_environment *environment,
                        const char *const names[RM_JOB_ALTERNATIVES], const char *skipped)
{
    for (size_t i = 0; i < RM_JOB_ALTERNATIVES && names[i] != NULL; i++) {
        const char *value =
            is_skipped(names[i], skipped) ? NULL : rm_job_variable(environment, names[i]);
        if (value != NULL) {
            return value;
        }
    }
    return NULL;
}

static int64_t number_of(const char *value)
{
    struct rm_text text = rm_text_of(value, strlen(value));
    uint64_t number;
    bool is_number = value[0] >= '0' && value[0] <= '9' && rm_parse_u64(&text, &number) &&
                     text.at == text.end && number <= INT64_MAX;
    return is_number ? (int64_t)number : -1;
}

int64_t rm_job_number(const struct rm_job_environment *environment,
                      const char *const names[RM_JOB_ALTERNATIVES], const char *skipped)
{
    for (size_t i = 0; i < RM_JOB_ALTERNATIVES && names[i] != NULL; i++) {
        const char *value =
            is_skipped(names[i], skipped) ? NULL : rm_job_variable(environment, names[i]);
        int64_t number = value != NULL ? number_of(value) : -1;
        if (number >= 0) {
            return number;
        }
    }
    return -1;
}

void rm_job_entries(const char *id, char entries[RM_JOB_ENTRIES_BYTES])
{
    const struct rm_job_system *systems[16] = {&rm_job_overrides};
    size_t count = 1, length = 0;
    for (size_t i = 0; rm_job_batches[i] != NULL && count < RM_ARRAY_LEN(systems); i++) {
        systems[count++] = rm_job_batches[i];
    }
    for (size_t i = 0; i < count; i++) {
        const char *const *names = systems[i]->fields[RM_JOB_ID];
        for (size_t k = 0; k < RM_JOB_ALTERNATIVES && names[k] != NULL; k++) {
            size_t bytes = strlen(names[k]) + strlen(id) + sizeof "=";
            if (length + bytes < RM_JOB_ENTRIES_BYTES) {
                (void)snprintf(entries + length, bytes, "%s=%s", names[k], id);
                length += bytes;
            }
        }
    }
    entries[length] = '\0';
}

/* Whether a condition "NAME", "NAME=START" or "NAME!START" is true. */
static bool holds(const struct rm_job_environment *environment, const char *condition)
{
    char name[NAME_BYTES];
    size_t length = strcspn(condition, "=!");
    (void)rm_text_copy(name, sizeof name, condition, length);
    const char *value = rm_job_variable(environment, name);
    if (condition[length] == '\0') {
        return value != NULL;
    }
    const char *start = condition + length + 1;
    bool starts_so = value != NULL && strncmp(value, start, strlen(start)) == 0;
    return starts_so == (condition[length] == '=');
}

bool rm_job_system_is_there(const struct rm_job_environment *environment,
                            const struct rm_job_system *system)
{
    for (size_t group = 0; group < RM_JOB_GROUPS && system->detect[group][0] != NULL; group++) {
        bool is_met = false;
        for (size_t i = 0; i < RM_JOB_ALTERNATIVES && system->detect[group][i] != NULL; i++) {
            is_met = is_met || holds(environment, system->detect[group][i]);
        }
        if (!is_met) {
            return false;
        }
    }
    return true;
}
