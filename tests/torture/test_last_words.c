/* SPDX-License-Identifier: MIT */
/*
 * What a program under RESMON prints at its end: also when the program has closed its stderr by
 * then, into no other file, and with no descriptor left over in the children of a fork.
 */
#include "again.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#define SUMMARY    " took "
#define OTHER_FILE "test_last_words.tmp"
#define MOST_FILES 256

/* ---- the program ------------------------------------------------------------------------ */

/* As coreutils' close_stdout() does, to know whether all was written. */
static void close_stderr(void)
{
    (void)fclose(stderr);
}

/* Daemons do the first half, and then the numbers are given to files of their own. */
static void fill_all_numbers(void)
{
    for (int fd = 2; fd < MOST_FILES; fd++) {
        (void)close(fd);
    }
    for (int fd = 0; fd >= 0 && fd < MOST_FILES - 1;) {
        fd = open(OTHER_FILE, O_WRONLY | O_CREAT | O_APPEND, 0666);
    }
}

/* Whether a descriptor but 2 is the file that stderr is. */
static bool has_another_stderr(void)
{
    struct stat wanted, found;
    if (fstat(STDERR_FILENO, &wanted) != 0) {
        _exit(2);
    }
    for (int fd = 0; fd < MOST_FILES; fd++) {
        if (fd != STDERR_FILENO && fstat(fd, &found) == 0 && found.st_ino == wanted.st_ino &&
            found.st_dev == wanted.st_dev) {
            return true;
        }
    }
    return false;
}

static int fork_and_look(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        _exit(has_another_stderr() ? 3 : 0);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

static int run_program(char **words)
{
    const char *how = words[0];
    if (strcmp(how, "close") == 0) {
        return atexit(close_stderr);
    }
    if (strcmp(how, "fill") == 0) {
        return atexit(fill_all_numbers);
    }
    return strcmp(how, "fork") == 0 ? fork_and_look() : 0;
}

/* ---- the tests -------------------------------------------------------------------------- */

static struct again again;

static void run_with(const char *resmon, const char *how)
{
    again = (struct again){.resmon = resmon, .words = {how}};
    again_run(&again);
    assert_int_equal(again.exit_status, 0);
}

TEST(the_program_closes_stderr_at_its_end)
{
    run_with("summary", "close");
    assert_non_null(strstr(again.text, SUMMARY));
    assert_non_null(strstr(again.text, " of CPU time for observing"));
}

TEST(never_into_another_file)
{
    struct stat info;
    run_with("summary", "fill");
    assert_string_equal(again.text, "");
    assert_int_equal(stat(OTHER_FILE, &info), 0);
    assert_int_equal(info.st_size, 0);
    (void)unlink(OTHER_FILE);
}

/* One who reads a daemon's stderr to its end would wait for the daemon's. */
TEST(children_of_a_fork_have_no_copy)
{
    run_with("summary", "fork");
    assert_non_null(strstr(again.text, SUMMARY));
}

TEST(an_empty_variable_is_off)
{
    static const char *const texts[] = {"", " ", " \t\n "};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        run_with(texts[i], "plain");
        assert_string_equal(again.text, "");
    }
    run_with(",", "plain");
    assert_non_null(strstr(again.text, SUMMARY));
}

TEST_FILE(.program = run_program);
