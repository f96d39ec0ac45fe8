/* SPDX-License-Identifier: MIT */
/*
 * job/detect: each batch system and launcher by the variables that it sets, who wins where several
 * are there, and that garbage in a variable is a variable that is not set.
 */
#include "faults.h"
#include "test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job_environment.h"

struct expected {
    const char *system, *launcher, *id, *node_name, *key;
    int64_t node_index, node_count, rank, rank_count, local_rank, local_rank_count;
};

struct job_case {
    const char *what;
    const char *variables[MOST_VARIABLES];
    const char *host_name; /* NULL: "n2" */
    struct expected expected;
};

static resmon_job *detect(const char *const *variables, const char *host_name)
{
    struct made_environment made;
    resmon_job *job = NULL;
    (void)make_environment(&made, variables, host_name);
    made.view.root = test_directory;
    assert_ok(rm_job_detect(&made.view, &job));
    return job;
}

static resmon_job_info info_of(const resmon_job *job)
{
    resmon_job_info info = {.struct_size = sizeof info};
    assert_ok(resmon_job_get_info(job, &info));
    return info;
}

static void same_text(const char *what, const char *field, const char *got, const char *wanted)
{
    if (strcmp(got, wanted != NULL ? wanted : "") != 0) {
        fail_msg("%s: %s is '%s', not '%s'", what, field, got, wanted != NULL ? wanted : "");
    }
}

static void same_number(const char *what, const char *field, int64_t got, int64_t wanted)
{
    if (got != wanted) {
        fail_msg("%s: %s is %lld, not %lld", what, field, (long long)got, (long long)wanted);
    }
}

static void check_case(const struct job_case *c)
{
    resmon_job *job = detect(c->variables, c->host_name != NULL ? c->host_name : "n2");
    resmon_job_info info = info_of(job);
    const struct expected *e = &c->expected;
    same_text(c->what, "system", info.system, e->system);
    same_text(c->what, "launcher", info.launcher, e->launcher);
    same_text(c->what, "id", info.id, e->id);
    same_text(c->what, "node_name", info.node_name, e->node_name != NULL ? e->node_name : "n2");
    same_text(c->what, "key", info.key, e->key);
    same_number(c->what, "node_index", info.node_index, e->node_index);
    same_number(c->what, "node_count", info.node_count, e->node_count);
    same_number(c->what, "rank", info.rank, e->rank);
    same_number(c->what, "rank_count", info.rank_count, e->rank_count);
    same_number(c->what, "local_rank", info.local_rank, e->local_rank);
    same_number(c->what, "local_rank_count", info.local_rank_count, e->local_rank_count);
    resmon_job_free(job);
}

static void check_cases(const struct job_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check_case(&cases[i]);
    }
}

#define CHECK_CASES(cases) check_cases(cases, sizeof(cases) / sizeof((cases)[0]))

/* What srun gives rank 5 of 8 on the third of four nodes. */
#define SLURM_JOB                                                                \
    "SLURM_JOB_ID=4711", "SLURM_CLUSTER_NAME=prod", "SLURM_JOB_NODELIST=n[1-4]", \
        "SLURM_JOB_NUM_NODES=4", "SLURM_NTASKS=8", "SLURM_TASKS_PER_NODE=2(x4)"
#define SRUN                                                                                \
    SLURM_JOB, "SLURM_STEP_ID=0", "SLURM_STEP_NODELIST=n[1-4]", "SLURM_STEP_NUM_NODES=4",   \
        "SLURM_STEP_NUM_TASKS=8", "SLURMD_NODENAME=n3", "SLURM_NODEID=2", "SLURM_PROCID=5", \
        "SLURM_LOCALID=1"
#define BATCH_SCRIPT \
    SLURM_JOB, "SLURMD_NODENAME=n1", "SLURM_NODEID=0", "SLURM_PROCID=0", "SLURM_LOCALID=0"
#define MPIRUN(rank, local)                                                                      \
    "OMPI_COMM_WORLD_RANK=" rank, "OMPI_COMM_WORLD_SIZE=6", "OMPI_COMM_WORLD_LOCAL_RANK=" local, \
        "OMPI_COMM_WORLD_LOCAL_SIZE=2", "OMPI_COMM_WORLD_NODE_RANK=" local,                      \
        "PMIX_NAMESPACE=1472790529", "PMIX_HOSTNAME=n2", "PMIX_RANK=" rank

/* ---- each system ------------------------------------------------------------------------ */

TEST(every_batch_system)
{
    static const struct job_case cases[] = {
        {"slurm", {SRUN}, NULL, {"slurm", "", "4711", "n3", "slurm:prod:4711.0", 2, 4, 5, 8, 1, 2}},
        {"slurm, old names",
         {"SLURM_JOBID=12", "SLURM_NNODES=2", "SLURM_NPROCS=3", "SLURM_PROCID=1",
          "SLURM_STEP_ID=7"},
         NULL,
         {"slurm", "", "12", NULL, "slurm:12.7", -1, 2, 1, 3, -1, -1}},
        {"pbs",
         {"PBS_JOBID=123.server", "PBS_NODENUM=1", "PBS_TASKNUM=7", "PBS_NODEFILE=/pbs.nodes",
          "PBS_JOBNAME=j", "PBS_QUEUE=q"},
         NULL,
         {"pbs", "", "123.server", NULL, "pbs:123.server", 1, 3, -1, 6, -1, -1}},
        {"pbs array",
         {"PBS_JOBID=123[4].server", "PBS_ARRAY_INDEX=4", "PBS_ARRAY_ID=123[].server"},
         NULL,
         {"pbs", "", "123[4].server", NULL, "pbs:123[4].server", -1, -1, -1, -1, -1, -1}},
        {"torque by a number",
         {"PBS_JOBID=9.t", "PBS_NUM_NODES=2", "PBS_NODENUM=1", "PBS_VNODENUM=3", "PBS_NP=4"},
         NULL,
         {"torque", "", "9.t", NULL, "torque:9.t", 1, 2, 3, 4, -1, -1}},
        {"torque by its version",
         {"PBS_JOBID=9.t", "PBS_VERSION=TORQUE-6.1.2", "PBS_ARRAYID=5"},
         NULL,
         {"torque", "", "9.t", NULL, "torque:9.t_5", -1, -1, -1, -1, -1, -1}},
        {"oar",
         {"OAR_JOBID=77", "OAR_ARRAYID=70", "OAR_JOB_INDEX=8", "OAR_NODE_FILE=/pbs.nodes"},
         NULL,
         {"oar", "", "77", NULL, "oar:77_8", 2, 3, -1, 6, -1, -1}},
        {"lsf with jsrun",
         {"LSB_JOBID=55", "LSB_JOBINDEX=0", "LSB_MCPU_HOSTS=h9 4 n2 4 n10 4",
          "JSM_NAMESPACE_RANK=4", "JSM_NAMESPACE_SIZE=12", "JSM_NAMESPACE_LOCAL_RANK=0"},
         NULL,
         {"lsf", "", "55", NULL, "lsf:55", 2, 3, 4, 12, 0, -1}},
        {"lsf array",
         {"LSB_JOBID=55", "LSB_JOBINDEX=3", "LSB_HOSTS=n2 n2 n1"},
         NULL,
         {"lsf", "", "55", NULL, "lsf:55_3", 1, 2, -1, -1, -1, -1}},
        {"flux",
         {"FLUX_JOB_ID=\xc6\x92"
          "2oLkTLb",
          "FLUX_JOB_NNODES=2", "FLUX_TASK_RANK=1", "FLUX_JOB_SIZE=2", "FLUX_TASK_LOCAL_ID=0"},
         NULL,
         {"flux", "",
          "\xc6\x92"
          "2oLkTLb",
          NULL,
          "flux:\xc6\x92"
          "2oLkTLb",
          -1, 2, 1, 2, 0, -1}},
    };
    CHECK_CASES(cases);
}

TEST(every_launcher)
{
    static const struct job_case cases[] = {
        {"openmpi 4",
         {MPIRUN("3", "1"), "OMPI_MCA_orte_num_nodes=3"},
         NULL,
         {"openmpi", "openmpi", "1472790529", NULL, "openmpi:1472790529", -1, 3, 3, 6, 1, 2}},
        {"openmpi 4 without PMIx",
         {"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=1", "OMPI_MCA_ess_base_jobid=17"},
         NULL,
         {"openmpi", "openmpi", "17", NULL, "openmpi:17", -1, -1, 0, 1, -1, -1}},
        {"openmpi 5",
         {"OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=4", "PMIX_RANK=2",
          "PMIX_NAMESPACE=prterun-n2-99@1", "OMPI_COMM_WORLD_LOCAL_RANK=0"},
         NULL,
         {"openmpi", "openmpi", "prterun-n2-99@1", NULL, "openmpi:prterun-n2-99@1", -1, -1, 2, 4, 0,
          -1}},
        {"prrte",
         {"PMIX_RANK=2", "PMIX_NAMESPACE=prterun-n2-99@1", "PMIX_HOSTNAME=n5"},
         NULL,
         {"prrte", "prrte", "prterun-n2-99@1", "n5", "prrte:prterun-n2-99@1", -1, -1, 2, -1, -1,
          -1}},
        {"hydra",
         {"PMI_RANK=1", "PMI_SIZE=3", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=3"},
         NULL,
         {"hydra", "hydra", "", NULL, "", 0, 1, 1, 3, 1, 3}},
        {"mvapich2",
         {"MV2_COMM_WORLD_RANK=1", "MV2_COMM_WORLD_SIZE=3", "MV2_COMM_WORLD_LOCAL_RANK=0",
          "PMI_RANK=1", "MPI_LOCALRANKID=0"},
         NULL,
         {"mvapich2", "mvapich2", "", NULL, "", -1, -1, 1, 3, 0, -1}},
        {"pals",
         {"PALS_RANKID=6", "PALS_APID=a-b-c", "PALS_NODEID=1", "PALS_LOCAL_RANKID=2"},
         NULL,
         {"pals", "pals", "a-b-c", NULL, "pals:a-b-c", 1, -1, 6, -1, 2, -1}},
        {"alps", {"ALPS_APP_PE=6"}, NULL, {"alps", "alps", "", NULL, "", -1, -1, 6, -1, -1, -1}},
        {"torchrun",
         {"TORCHELASTIC_RUN_ID=r1", "TORCHELASTIC_RESTART_COUNT=2", "GROUP_RANK=1", "RANK=5",
          "WORLD_SIZE=8", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=4"},
         NULL,
         {"torchrun", "torchrun", "r1", NULL, "torchrun:r1", 1, 2, 5, 8, 1, 4}},
    };
    CHECK_CASES(cases);
}

/* ---- several at once -------------------------------------------------------------------- */

#define TORCHRUN                                                                           \
    "TORCHELASTIC_RUN_ID=none", "GROUP_RANK=0", "RANK=9", "WORLD_SIZE=16", "LOCAL_RANK=1", \
        "LOCAL_WORLD_SIZE=4"

TEST(job_of_the_batch_system_and_rank_of_the_launcher)
{
    static const struct job_case cases[] = {
        {"torchrun inside srun",
         {SRUN, TORCHRUN},
         NULL,
         {"slurm", "torchrun", "4711", "n3", "slurm:prod:4711.0/torchrun:none", 2, 4, 9, 16, 1, 4}},
        /* One mpirun: its first node has the script's variables, the others those of a step of
         * daemons that does not count the first. */
        {"mpirun in a script, first node",
         {BATCH_SCRIPT, MPIRUN("0", "0")},
         "n1",
         {"slurm", "openmpi", "4711", "n1", "slurm:prod:4711/openmpi:1472790529", 0, 4, 0, 6, 0,
          2}},
        {"mpirun in a script, second node",
         {SLURM_JOB, MPIRUN("2", "0"), "SLURM_STEP_ID=1", "SLURM_STEP_NODELIST=n[2-4]",
          "SLURM_STEP_NUM_NODES=3", "SLURM_NODEID=0", "SLURM_PROCID=0", "SLURMD_NODENAME=n2"},
         NULL,
         {"slurm", "openmpi", "4711", "n2", "slurm:prod:4711/openmpi:1472790529", 1, 4, 2, 6, 0,
          2}},
        {"mpirun inside srun, nodes that share a host name",
         {SRUN, MPIRUN("4", "0")},
         "localhost",
         {"slurm", "openmpi", "4711", "n3", "slurm:prod:4711/openmpi:1472790529", 2, 4, 4, 6, 0,
          2}},
        /* It carries the script's environment to the second node. */
        {"mpiexec of MPICH in a script, second node",
         {BATCH_SCRIPT, "PMI_RANK=2", "PMI_SIZE=4", "MPI_LOCALRANKID=0", "MPI_LOCALNRANKS=2"},
         "n2.cluster.local",
         {"slurm", "hydra", "4711", "n2", "slurm:prod:4711", 1, 4, 2, 4, 0, 2}},
        {"srun --mpi=pmi2 is no Hydra",
         {SRUN, "PMI_RANK=5", "PMI_SIZE=8", "PMI_JOBID=4711.0"},
         NULL,
         {"slurm", "", "4711", "n3", "slurm:prod:4711.0", 2, 4, 5, 8, 1, 2}},
        {"srun --mpi=pmix is no mpirun",
         {SRUN, "PMIX_RANK=5", "PMIX_NAMESPACE=slurm.pmix.4711.0", "OMPI_COMM_WORLD_RANK=5"},
         NULL,
         {"slurm", "", "4711", "n3", "slurm:prod:4711.0", 2, 4, 5, 8, 1, 2}},
        {"flux inside an allocation of slurm",
         {SRUN, "FLUX_JOB_ID=f7", "FLUX_TASK_RANK=1", "FLUX_JOB_SIZE=2", "FLUX_TASK_LOCAL_ID=1"},
         NULL,
         {"slurm", "flux", "4711", "n2", "slurm:prod:4711/flux:f7", 1, 4, 1, 2, 1, -1}},
        {"torchrun before mpirun",
         {MPIRUN("3", "1"), TORCHRUN},
         NULL,
         {"torchrun", "torchrun", "none", NULL, "torchrun:none", 0, 4, 9, 16, 1, 4}},
        {"bare RANK and WORLD_SIZE say nothing",
         {"RANK=3", "WORLD_SIZE=4", "LOCAL_RANK=1"},
         NULL,
         {"", "", "", NULL, "", -1, -1, -1, -1, -1, -1}},
        {"pals under pbs",
         {"PBS_JOBID=1.p", "PBS_NODENUM=0", "PBS_NODEFILE=/pbs.nodes", "PALS_RANKID=6",
          "PALS_APID=ap", "PALS_NODEID=1", "PALS_LOCAL_RANKID=2"},
         NULL,
         {"pbs", "pals", "1.p", NULL, "pbs:1.p/pals:ap", 1, 3, 6, -1, 2, -1}},
    };
    CHECK_CASES(cases);
}

TEST(a_batch_script_is_rank_0_of_1)
{
    static const struct job_case cases[] = {
        {"script",
         {BATCH_SCRIPT},
         "n1",
         {"slurm", "", "4711", "n1", "slurm:prod:4711", 0, 4, 0, 1, 0, 1}},
        {"array task that was started again",
         {BATCH_SCRIPT, "SLURM_ARRAY_JOB_ID=4700", "SLURM_ARRAY_TASK_ID=0",
          "SLURM_RESTART_COUNT=2"},
         "n1",
         {"slurm", "", "4711", "n1", "slurm:prod:4711_0+2", 0, 4, 0, 1, 0, 1}},
        {"shell of salloc, elsewhere",
         {SLURM_JOB},
         "login1",
         {"slurm", "", "4711", "login1", "slurm:prod:4711", -1, 4, 0, 1, 0, 1}},
    };
    CHECK_CASES(cases);
}

TEST(overrides_win)
{
    static const struct job_case cases[] = {
        {"over slurm",
         {SRUN, "RESMON_JOB_ID=mine", "RESMON_NODE_NAME=rack", "RESMON_NODE_ID=1", "RESMON_NODES=3",
          "RESMON_RANK=4", "RESMON_RANKS=6", "RESMON_LOCAL_RANK=0"},
         NULL,
         {"slurm", "", "mine", "rack", "resmon:mine", 1, 3, 4, 6, 0, 2}},
        {"without a system",
         {"RESMON_JOB_ID=ssh-loop", "RESMON_RANK=4", "RESMON_RANKS=6"},
         NULL,
         {"resmon", "", "ssh-loop", NULL, "resmon:ssh-loop", -1, -1, 4, 6, -1, -1}},
        {"a name alone is no job",
         {"RESMON_NODE_NAME=desk"},
         NULL,
         {"", "", "", "desk", "", -1, -1, -1, -1, -1, -1}},
        {"garbage in them",
         {SRUN, "RESMON_RANK=-1", "RESMON_NODE_ID=", "RESMON_LOCAL_RANK=1x"},
         NULL,
         {"slurm", "", "4711", "n3", "slurm:prod:4711.0", 2, 4, 5, 8, 1, 2}},
        {"the node's name finds its place",
         {SRUN, "RESMON_NODE_NAME=n4"},
         NULL,
         {"slurm", "", "4711", "n4", "slurm:prod:4711.0", 2, 4, 5, 8, 1, 2}},
    };
    CHECK_CASES(cases);
}

TEST(no_job_is_a_plain_process)
{
    static const struct job_case cases[] = {
        {"nothing", {NULL}, NULL, {"", "", "", NULL, "", -1, -1, -1, -1, -1, -1}},
        {"empty",
         {"SLURM_JOB_ID=", "OMPI_COMM_WORLD_RANK=", "PBS_JOBID="},
         NULL,
         {"", "", "", NULL, "", -1, -1, -1, -1, -1, -1}},
    };
    CHECK_CASES(cases);
}

/* ---- garbage ---------------------------------------------------------------------------- */

TEST(a_garbled_number_is_not_set)
{
    static const char *const garbage[] = {"",
                                          "-1",
                                          "+1",
                                          " 1",
                                          "1 ",
                                          "1.0",
                                          "0x1",
                                          "1e3",
                                          "NaN",
                                          "\n",
                                          "9223372036854775808",
                                          "99999999999999999999999",
                                          "\xff"};
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        char rank[64], nodes[64], local[64];
        (void)snprintf(rank, sizeof rank, "SLURM_PROCID=%s", garbage[i]);
        (void)snprintf(nodes, sizeof nodes, "SLURM_STEP_NUM_NODES=%s", garbage[i]);
        (void)snprintf(local, sizeof local, "SLURM_LOCALID=%s", garbage[i]);
        const char *const variables[] = {
            "SLURM_JOB_ID=1", "SLURM_STEP_ID=0", rank, nodes, "SLURM_JOB_NUM_NODES=2", local, NULL};
        resmon_job *job = detect(variables, "n2");
        resmon_job_info info = info_of(job);
        same_number(garbage[i], "rank", info.rank, -1);
        same_number(garbage[i], "local_rank", info.local_rank, -1);
        same_number(garbage[i], "node_count", info.node_count, 2); /* the next name counts */
        resmon_job_free(job);
    }
}

TEST(garbage_of_launchers_and_contradictions)
{
    static const struct job_case cases[] = {
        {"a launcher without a rank",
         {SRUN, "OMPI_COMM_WORLD_RANK=x"},
         NULL,
         {"slurm", "", "4711", "n3", "slurm:prod:4711.0", 2, 4, 5, 8, 1, 2}},
        {"the largest number",
         {"OMPI_COMM_WORLD_RANK=9223372036854775807", "OMPI_COMM_WORLD_SIZE=2"},
         NULL,
         {"openmpi", "openmpi", "", NULL, "", -1, -1, INT64_MAX, -1, -1, -1}},
        {"rank 7 of 4, node 3 of 0",
         {"SLURM_JOB_ID=1", "SLURM_STEP_ID=0", "SLURM_PROCID=7", "SLURM_NTASKS=4", "SLURM_NODEID=3",
          "SLURM_NNODES=0"},
         NULL,
         {"slurm", "", "1", NULL, "slurm:1.0", 3, -1, 7, -1, -1, -1}},
        {"tasks of nodes",
         {"SLURM_JOB_ID=1", "SLURM_STEP_ID=0", "SLURM_NODEID=3", "SLURM_TASKS_PER_NODE=2(x3),1"},
         NULL,
         {"slurm", "", "1", NULL, "slurm:1.0", 3, -1, -1, -1, -1, 1}},
        {"tasks of nodes, garbled",
         {"SLURM_JOB_ID=1", "SLURM_STEP_ID=0", "SLURM_NODEID=3", "SLURM_TASKS_PER_NODE=2(x3,1"},
         NULL,
         {"slurm", "", "1", NULL, "slurm:1.0", 3, -1, -1, -1, -1, -1}},
    };
    CHECK_CASES(cases);
}

/* Those that are looked at, and none of the others, of which some are secrets. */
TEST(names_of_variables)
{
    static const char *const ours[] = {
        "SLURM_JOB_ID",         "SLURM_JOB_ID=4711", "PBS_VERSION",       "PBS_NODEFILE=/x",
        "OMPI_COMM_WORLD_SIZE", "RESMON_JOB_ID",     "LSB_DJOB_HOSTFILE", "SLURM_TASKS_PER_NODE=2"};
    static const char *const others[] = {
        "SLURM_JWT=secret", "PBS_JOBCOOKIE",  "SLURM_JOB", "SLURM_JOB_IDX", "", "=",
        "PATH=/bin",        "RESMON=summary", "HOME"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        assert_true(resmon_job_is_shared_variable(ours[i]));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_false(resmon_job_is_shared_variable(others[i]));
    }
    assert_false(resmon_job_is_shared_variable(NULL));
}

TEST(long_and_dirty_texts)
{
    char name[5000] = "SLURM_JOB_NAME=", id[5000] = "SLURM_JOB_ID=", step[5000] = "SLURM_STEP_ID=";
    memset(name + strlen(name), 'n', 4000);
    memset(id + strlen(id), 'i', 4000);
    memset(step + strlen(step), 's', 4000);
    const char *const variables[] = {
        name, id, step, "SLURM_JOB_PARTITION=a\nb\x7f\xffz", "SLURM_JOB_USER=alice", NULL};
    resmon_job *job = detect(variables, "n2");
    resmon_job_info info = info_of(job);
    assert_int_equal(strlen(info.name), 255);
    assert_int_equal(strlen(info.id), 255);
    assert_int_equal(strlen(info.key), 255);
    assert_string_equal(info.queue, "a?b??z");
    assert_string_equal(info.user, "alice");
    /* What is cut off the key still tells jobs apart. */
    step[100] = 't';
    resmon_job *other = detect(variables, "n2");
    assert_string_not_equal(info_of(other).key, info.key);
    resmon_job_free(other);
    resmon_job_free(job);
}

/* ---- hosts ------------------------------------------------------------------------------ */

TEST(hosts_are_listed_once_and_in_order)
{
    static const char *const variables[] = {"PBS_JOBID=1", "PBS_NODEFILE=/pbs.nodes", NULL};
    static const char *const hosts[] = {"n10", "n1", "n2"};
    resmon_job *job = detect(variables, "n2");
    assert_int_equal(resmon_job_host_count(job), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(resmon_job_host(job, i), hosts[i]);
    }
    assert_null(resmon_job_host(job, 3));
    assert_int_equal(info_of(job).node_index, 2); /* n1, n10, n2 */
    resmon_job_free(job);
}

static int64_t index_among(const char *hosts, const char *host_name)
{
    char list[256];
    (void)snprintf(list, sizeof list, "LSB_HOSTS=%s", hosts);
    const char *const variables[] = {"LSB_JOBID=1", list, NULL};
    resmon_job *job = detect(variables, host_name);
    int64_t index = info_of(job).node_index;
    resmon_job_free(job);
    return index;
}

TEST(a_host_is_found_by_its_full_or_short_name)
{
    assert_int_equal(index_among("b a c", "b"), 1);
    assert_int_equal(index_among("b a c", "b.cluster.local"), 1);
    assert_int_equal(index_among("b.x a.x c.x", "c"), 2);
    assert_int_equal(index_among("b.x b.y", "b.y"), 1);
    assert_int_equal(index_among("b.x b.y", "b"), -1); /* which of the two? */
    assert_int_equal(index_among("b a c", "d"), -1);
    assert_int_equal(index_among("10.0.0.1 10.0.0.2", "10.0.0.2"), 1);
    assert_int_equal(index_among("10.0.0.1", "10.0.0.2"), -1);
    assert_int_equal(index_among("a", ""), -1);
}

static void assert_unread(const char *variable, const char *reason)
{
    const char *const variables[] = {"PBS_JOBID=1", variable, NULL};
    resmon_job *job = detect(variables, "n2");
    resmon_job_info info = info_of(job);
    assert_int_equal(resmon_job_host_count(job), 0);
    assert_int_equal(info.node_index, -1);
    assert_int_equal(info.rank_count, -1);
    if (strstr(info.remark, "PBS_NODEFILE") == NULL || strstr(info.remark, reason) == NULL) {
        fail_msg("%s: the remark is '%s'", variable, info.remark);
    }
    resmon_job_free(job);
}

TEST(a_node_file_that_cannot_be_read_is_a_remark)
{
    char path[128];
    put_text(path_of("empty"), "");
    put_text(path_of("blank"), "\n \n\t\n");
    put_text(path_of("binary"), "n1\n\x01\x02\nn2\n");
    (void)snprintf(path, sizeof path, "%s/fifo", test_directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    (void)snprintf(path, sizeof path, "%s/huge", test_directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
    (void)close(fd);
    assert_unread("PBS_NODEFILE=/nowhere", "No such file");
    assert_unread("PBS_NODEFILE=/", "not a regular file");
    assert_unread("PBS_NODEFILE=/fifo", "not a regular file");
    assert_unread("PBS_NODEFILE=/huge", "bytes");
    assert_unread("PBS_NODEFILE=/empty", "names none");
    assert_unread("PBS_NODEFILE=/blank", "names none");
    assert_unread("PBS_NODEFILE=/binary", "control character");
}

TEST(the_next_list_is_tried)
{
    static const char *const variables[] = {"LSB_JOBID=1", "LSB_DJOB_HOSTFILE=/nowhere",
                                            "LSB_MCPU_HOSTS=h1 four h2 4", "LSB_HOSTS=h1 h2 h2",
                                            NULL};
    resmon_job *job = detect(variables, "h2");
    assert_int_equal(resmon_job_host_count(job), 2);
    assert_string_equal(info_of(job).remark, "");
    resmon_job_free(job);
}

/* One line for each core of a large machine: more lines than hosts are allowed. */
TEST(many_slots_are_few_hosts)
{
    static char text[1 << 20];
    static const char *const variables[] = {"OAR_JOB_ID=1", "OAR_NODEFILE=/slots", NULL};
    size_t length = 0;
    for (int i = 0; i < 100000; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "n%d\n", i % 1000);
    }
    put_text(path_of("slots"), text);
    resmon_job *job = detect(variables, "n999");
    assert_int_equal(resmon_job_host_count(job), 1000);
    assert_int_equal(info_of(job).rank_count, 100000);
    assert_int_equal(info_of(job).node_index, 999);
    resmon_job_free(job);
}

/* ---- the interface ---------------------------------------------------------------------- */

TEST(bad_arguments)
{
    resmon_job_info info = {.struct_size = 8};
    resmon_job *job = NULL;
    assert_status(RESMON_EINVAL, resmon_job_detect(NULL));
    assert_status(RESMON_EINVAL, resmon_job_get_info(NULL, &info));
    assert_ok(resmon_job_detect(&job));
    assert_status(RESMON_EINVAL, resmon_job_get_info(job, &info));
    assert_status(RESMON_EINVAL, resmon_job_get_info(job, NULL));
    resmon_job_free(job);
    resmon_job_free(NULL);
    assert_int_equal(resmon_job_host_count(NULL), 0);
    assert_null(resmon_job_host(NULL, 0));
}

static resmon_status detect_and_free(void *environment)
{
    resmon_job *job = NULL;
    resmon_status status = rm_job_detect(environment, &job);
    assert_true((status == RESMON_OK) == (job != NULL));
    rm_job_free(job);
    return status;
}

TEST(no_memory)
{
    static const char *const variables[] = {SRUN, "PBS_JOBID=1", NULL};
    static const char *const with_file[] = {"PBS_JOBID=1", "PBS_NODEFILE=/slots", NULL};
    const char *const *const environments[] = {variables, with_file};
    for (size_t e = 0; e < 2; e++) {
        struct made_environment made;
        (void)make_environment(&made, environments[e], "n2");
        made.view.root = test_directory;
        fail_each(RM_FAULT_ALLOC, detect_and_free, &made.view, 2);
    }
}

FIXTURE(set_up)
{
    put_text(path_of("pbs.nodes"), "n10\nn10\r\nn1\n\n  n1\nn2 slots=2\nn2");
    return 0;
}

/* What batch systems say of CPUs, memory and time: of Slurm by node, or for each CPU. */
TEST(what_the_job_may_use)
{
    static const struct {
        const char *variables[8];
        int64_t cpus, bytes, seconds;
    } cases[] = {
        {{"SLURM_JOB_ID=1", "SLURM_CPUS_ON_NODE=16", "SLURM_MEM_PER_NODE=2000",
          "SLURM_JOB_START_TIME=1764000000", "SLURM_JOB_END_TIME=1764003600"},
         16,
         2000 * INT64_C(1048576),
         3600},
        {{"SLURM_JOB_ID=1", "SLURM_CPUS_ON_NODE=4", "SLURM_MEM_PER_CPU=100"},
         4,
         400 * INT64_C(1048576),
         -1},
        {{"SLURM_JOB_ID=1", "SLURM_MEM_PER_CPU=100"}, -1, -1, -1},
        {{"SLURM_JOB_ID=1", "SLURM_MEM_PER_NODE=0", "SLURM_JOB_START_TIME=7",
          "SLURM_JOB_END_TIME=7"},
         -1,
         -1,
         -1},
        {{"SLURM_JOB_ID=1", "SLURM_CPUS_ON_NODE=9000000000",
          "SLURM_MEM_PER_CPU=9223372036854775807"},
         INT64_C(9000000000),
         -1,
         -1},
        {{"PBS_JOBID=1", "PBS_NUM_NODES=1", "PBS_NUM_PPN=8", "PBS_WALLTIME=600"}, 8, -1, 600},
        {{"PBS_JOBID=1", "NCPUS=8"}, 8, -1, -1},
        {{"OMPI_COMM_WORLD_RANK=1"}, -1, -1, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        resmon_job_info info = {.struct_size = sizeof info};
        resmon_job *job = detect(cases[i].variables, NULL);
        assert_ok(resmon_job_get_info(job, &info));
        assert_int_equal(info.node_cpus, cases[i].cpus);
        assert_int_equal(info.node_memory_bytes, cases[i].bytes);
        assert_int_equal(info.time_limit_s, cases[i].seconds);
        resmon_job_free(job);
    }
}

TEST_FILE(.set_up = set_up);
