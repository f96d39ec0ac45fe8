/* SPDX-License-Identifier: MIT */
/*
 * job/leader: one process of a job leads on a host, whatever lies in the lock's place, and hands on
 * when it ends.
 */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/leader.h"
#include "job_environment.h"

static resmon_job *job_of(const char *first, const char *second)
{
    const char *const variables[] = {first, second, NULL};
    struct made_environment made;
    resmon_job *job = NULL;
    assert_ok(rm_job_detect(make_environment(&made, variables, "n1"), &job));
    return job;
}

/* In a job, without a local rank: the lock decides. */
static resmon_job *locked_job(void)
{
    return job_of("PBS_JOBID=1.server", "PBS_NODENUM=0");
}

static struct rm_leader take(const resmon_job *job)
{
    struct rm_leader leader;
    rm_leader_take(&leader, job, test_directory);
    assert_true(rm_leader_leads(&leader) == (leader.reason[0] == '\0'));
    return leader;
}

static bool is_empty(void)
{
    DIR *dir = opendir(test_directory);
    size_t count = 0;
    while (readdir(dir) != NULL) {
        count++;
    }
    (void)closedir(dir);
    return count == 2;
}

TEST(local_rank_0_leads)
{
    static const struct {
        const char *local_rank;
        bool leads;
    } cases[] = {{"RESMON_LOCAL_RANK=0", true}, {"RESMON_LOCAL_RANK=1", false}};
    for (size_t i = 0; i < 2; i++) {
        resmon_job *job = job_of("RESMON_JOB_ID=j", cases[i].local_rank);
        struct rm_leader leader = take(job);
        assert_true(rm_leader_leads(&leader) == cases[i].leads);
        rm_leader_free(&leader);
        assert_true(is_empty());
        resmon_job_free(job);
    }
}

TEST(without_a_job_each_leads)
{
    resmon_job *job = job_of("NOTHING=1", NULL);
    struct rm_leader first = take(job);
    struct rm_leader second = take(job);
    assert_true(rm_leader_leads(&first) && rm_leader_leads(&second));
    rm_leader_free(&first);
    rm_leader_free(&second);
    resmon_job_free(job);
}

TEST(a_job_without_an_id_has_no_leader)
{
    resmon_job *job = job_of("ALPS_APP_PE=1", NULL);
    struct rm_leader leader = take(job);
    assert_false(rm_leader_leads(&leader));
    assert_non_null(strstr(leader.reason, "no id"));
    rm_leader_free(&leader);
    resmon_job_free(job);
}

/* What a process that comes now finds. */
static bool other_process_leads(const resmon_job *job)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        struct rm_leader leader;
        rm_leader_take(&leader, job, test_directory);
        bool leads = rm_leader_leads(&leader);
        bool is_said = leads || strstr(leader.reason, "another process") != NULL;
        rm_leader_free(&leader);
        _exit(!is_said ? 2 : leads ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 1;
}

TEST(one_lock_one_process)
{
    resmon_job *job = locked_job();
    resmon_job *other = job_of("PBS_JOBID=2.server", NULL);
    struct rm_leader first = take(job);
    struct rm_leader second = take(job);
    struct rm_leader of_other = take(other);
    struct stat info;
    assert_true(rm_leader_leads(&first) && rm_leader_leads(&of_other));
    assert_true(rm_leader_leads(&second)); /* of the same process */
    assert_false(other_process_leads(job));
    assert_int_equal(stat(first.path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    rm_leader_free(&first);
    assert_false(other_process_leads(job)); /* the second one still does */
    rm_leader_free(&second);
    assert_true(other_process_leads(job));
    struct rm_leader third = take(job);
    assert_true(rm_leader_leads(&third));
    rm_leader_free(&third);
    rm_leader_free(&third); /* harmless */
    rm_leader_free(&of_other);
    assert_true(is_empty());
    resmon_job_free(job);
    resmon_job_free(other);
}

/* ---- two processes ---------------------------------------------------------------------- */

/* A process that leads, says so through the pipe, and waits to be killed. */
static pid_t start_leader(const resmon_job *job)
{
    int ends[2];
    char byte = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct rm_leader leader;
        rm_leader_take(&leader, job, test_directory);
        byte = rm_leader_leads(&leader) ? 'y' : 'n';
        (void)!write(ends[1], &byte, 1);
        for (;;) {
            (void)pause();
        }
    }
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    (void)close(ends[0]);
    assert_int_equal(byte, 'y');
    return child;
}

TEST(another_process_takes_over_after_a_kill)
{
    resmon_job *job = locked_job();
    pid_t child = start_leader(job);
    struct rm_leader leader = take(job);
    assert_false(rm_leader_leads(&leader));
    rm_leader_free(&leader);
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    leader = take(job); /* the file is still there */
    assert_true(rm_leader_leads(&leader));
    rm_leader_free(&leader);
    assert_true(is_empty());
    resmon_job_free(job);
}

TEST(a_child_does_not_inherit_the_leadership)
{
    resmon_job *job = locked_job();
    struct rm_leader leader = take(job);
    pid_t child = fork();
    if (child == 0) {
        bool leads = rm_leader_leads(&leader);
        rm_leader_free(&leader); /* the parent's lock and file stay */
        _exit(leads ? 1 : 0);
    }
    assert_exits(child, 0);
    assert_true(rm_leader_leads(&leader));
    assert_false(other_process_leads(job));
    rm_leader_free(&leader);
    resmon_job_free(job);
}

/* Of many that come at once, and go, there is never more than one. */
/* It has the same environment, and so have the programs that it starts. */
TEST(a_child_of_local_rank_0_does_not_lead)
{
    resmon_job *job = job_of("PBS_JOBID=1.server", "RESMON_LOCAL_RANK=0");
    struct rm_leader leader = take(job);
    assert_true(rm_leader_leads(&leader));
    for (int round = 0; round < 2; round++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct rm_leader other = take(job);
            _exit(rm_leader_leads(&other) ? 1 : 0);
        }
        int ended;
        assert_int_equal(waitpid(child, &ended, 0), child);
        assert_int_equal(ended, round << 8); /* the second time nobody else leads */
        if (round == 0) {
            rm_leader_free(&leader);
        }
    }
    resmon_job_free(job);
}

TEST(never_two_at_once)
{
    resmon_job *job = locked_job();
    char flag[128];
    pid_t children[8];
    (void)snprintf(flag, sizeof flag, "%s/flag", test_directory);
    for (size_t c = 0; c < 8; c++) {
        children[c] = fork();
        if (children[c] == 0) {
            for (int i = 0; i < 2000; i++) {
                struct rm_leader leader;
                rm_leader_take(&leader, job, test_directory);
                if (rm_leader_leads(&leader) && (mkdir(flag, 0700) != 0 || rmdir(flag) != 0)) {
                    _exit(1);
                }
                rm_leader_free(&leader);
            }
            _exit(0);
        }
    }
    for (size_t c = 0; c < 8; c++) {
        int status;
        assert_int_equal(waitpid(children[c], &status, 0), children[c]);
        assert_int_equal(status, 0);
    }
    resmon_job_free(job);
}

/* ---- what may lie there ----------------------------------------------------------------- */

static void lock_path(const resmon_job *job, char path[RM_LEADER_PATH_BYTES])
{
    struct rm_leader leader = take(job);
    assert_true(rm_leader_leads(&leader));
    (void)snprintf(path, RM_LEADER_PATH_BYTES, "%s", leader.path);
    rm_leader_free(&leader);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void assert_declined(const resmon_job *job, const char *why)
{
    struct rm_leader leader = take(job);
    assert_false(rm_leader_leads(&leader));
    if (strstr(leader.reason, why) == NULL || strstr(leader.reason, "RESMON_LOCAL_RANK") == NULL) {
        fail_msg("the reason is '%s'", leader.reason);
    }
    assert_null(leader.lock);
    rm_leader_free(&leader);
}

TEST(planted_files_are_left_alone)
{
    char path[RM_LEADER_PATH_BYTES], target[128];
    resmon_job *job = locked_job();
    lock_path(job, path);
    (void)snprintf(target, sizeof target, "%s/target", test_directory);
    assert_int_equal(symlink(target, path), 0);
    assert_declined(job, "cannot open");
    assert_int_not_equal(access(target, F_OK), 0); /* nothing was made through it */
    assert_int_equal(unlink(path), 0);

    int fd = open(target, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(link(target, path), 0);
    assert_declined(job, "other hard links");
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(target), 0);
    (void)close(fd);

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_declined(job, "not a regular file");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_declined(job, "cannot open");
    assert_int_equal(rmdir(path), 0);
    resmon_job_free(job);
}

TEST(a_file_of_somebody_else)
{
    char path[RM_LEADER_PATH_BYTES];
    if (geteuid() != 0) {
        printf("skipped here: only root can make a file of another user\n");
        return;
    }
    resmon_job *job = locked_job();
    lock_path(job, path);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
    if (fchown(fd, 12345, 12345) != 0) {
        printf("skipped here: this root may not make a file of another user\n");
        (void)unlink(path);
        (void)close(fd);
        resmon_job_free(job);
        return;
    }
    assert_declined(job, "belongs to user 12345");
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(unlink(path), 0);
    (void)close(fd);
    resmon_job_free(job);
}

TEST(directories_that_will_not_do)
{
    resmon_job *job = locked_job();
    static char longest[2000];
    memset(longest, 'd', sizeof longest - 1);
    const char *const directories[] = {"/nonexistent/directory", "/dev/null", longest};
    for (size_t i = 0; i < 3; i++) {
        struct rm_leader leader;
        rm_leader_take(&leader, job, directories[i]);
        assert_false(rm_leader_leads(&leader));
        assert_non_null(strstr(leader.reason, "cannot find out"));
        rm_leader_free(&leader);
    }
    resmon_job_free(job);
}

TEST_FILE(.tear_down = is_left_empty);
