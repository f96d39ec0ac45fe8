/* SPDX-License-Identifier: MIT */
/*
 * sink/emissions, os/sharedfile: lines of codecarbon's table, whole, below the heading that fits.
 */
#include "test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <resmon/emissions.h>

#include "base/fault.h"
#include "os/outfile.h"

static char content[1 << 20];

static size_t read_file(const char *name)
{
    FILE *file = fopen(path_of(name), "r");
    assert_non_null(file);
    size_t length = fread(content, 1, sizeof content - 1, file);
    (void)fclose(file);
    content[length] = '\0';
    return length;
}

TEST(lines_below_their_heading)
{
    assert_ok(rm_sharedfile_append(path_of("t.csv"), "a,b\n", "1,2\n"));
    assert_ok(rm_sharedfile_append(path_of("t.csv"), "a,b\n", "3,4\n"));
    (void)read_file("t.csv");
    assert_string_equal(content, "a,b\n1,2\n3,4\n");
    put_text(path_of("t.csv"), "a,b\r\n1,2\r\n3,"); /* of a spreadsheet; and cut */
    assert_ok(rm_sharedfile_append(path_of("t.csv"), "a,b\n", "5,6\n"));
    (void)read_file("t.csv");
    assert_string_equal(content, "a,b\r\n1,2\r\n3,\n5,6\n");
    assert_int_equal(unlink(path_of("t.csv")), 0);
}

TEST(another_heading_is_kept)
{
    put_text(path_of("t.csv"), "a,b,c\n1,2,3\n");
    put_text(path_of("t.csv.1"), "a,bc\n");
    assert_ok(rm_sharedfile_append(path_of("t.csv"), "a,b\n", "1,2\n"));
    assert_ok(rm_sharedfile_append(path_of("t.csv"), "a,b\n", "3,4\n"));
    (void)read_file("t.csv");
    assert_string_equal(content, "a,b,c\n1,2,3\n");
    (void)read_file("t.csv.2");
    assert_string_equal(content, "a,b\n1,2\n3,4\n");
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"t.csv", "t.csv.1", "t.csv.2"};
        assert_int_equal(unlink(path_of(names[i])), 0);
    }
}

TEST(many_processes)
{
    char line[256], path[256];
    (void)snprintf(path, sizeof path, "%s", path_of("many.csv"));
    for (int child = 0; child < 8; child++) {
        if (fork() == 0) {
            memset(line, 'a' + child, 200);
            (void)snprintf(line + 200, sizeof line - 200, "\n");
            for (int i = 0; i < 50; i++) {
                if (rm_sharedfile_append(path, "heading\n", line) != RESMON_OK) {
                    _exit(1);
                }
            }
            _exit(0);
        }
    }
    for (int child = 0; child < 8; child++) {
        int status = 1;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(read_file("many.csv"), 8 + 8 * 50 * 201);
    assert_memory_equal(content, "heading\n", 8);
    for (size_t i = 0; i < 400; i++) {
        const char *at = content + 8 + i * 201;
        assert_true(strspn(at, (char[]){at[0], '\0'}) == 200 && at[200] == '\n');
    }
    assert_int_equal(unlink(path), 0);
}

TEST(what_is_in_the_way)
{
    assert_int_equal(symlink("/etc/passwd", path_of("link.csv")), 0);
    assert_status(RESMON_EINVAL, rm_sharedfile_append(path_of("link.csv"), "a\n", "1\n"));
    assert_int_equal(unlink(path_of("link.csv")), 0);
    assert_int_equal(mkfifo(path_of("fifo.csv"), 0600), 0);
    assert_status(RESMON_EINVAL, rm_sharedfile_append(path_of("fifo.csv"), "a\n", "1\n"));
    assert_int_equal(unlink(path_of("fifo.csv")), 0);
    assert_status(RESMON_ENOENT, rm_sharedfile_append("/nonexistent/t.csv", "a\n", "1\n"));
    put_text(path_of("t.csv"), "a\n1\n");
    rm_fault_arm(RM_FAULT_WRITE, 0);
    assert_status(RESMON_ENOSPC, rm_sharedfile_append(path_of("t.csv"), "a\n", "2\n"));
    rm_fault_arm(RM_FAULT_WRITE, -1);
    (void)read_file("t.csv");
    assert_string_equal(content, "a\n1\n");
    assert_int_equal(unlink(path_of("t.csv")), 0);
}

/* Field `index` of a line, which has no quotes there. */
static double number_at(const char *line, int index)
{
    for (int i = 0; i < index; i++) {
        line = strchr(line, ',');
        assert_non_null(line);
        line++;
    }
    return strtod(line, NULL);
}

TEST(a_run)
{
    const resmon_carbon_options carbon = {
        .struct_size = sizeof carbon, .country = "BOL", .pue = 2.0, .flags = RESMON_CARBON_NO_SITE};
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .carbon = &carbon,
                                            .interval_ms = 10,
                                            .name = "a \"name\", of two\nlines"};
    const resmon_emissions_options emissions = {.struct_size = sizeof emissions,
                                                .path = path_of("emissions.csv")};
    resmon_emissions_options process = emissions;
    resmon_monitor *monitor = NULL;
    resmon_run *run = NULL;
    resmon_energy energy = {.struct_size = sizeof energy};
    resmon_run_info info = {.struct_size = sizeof info};
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_add_emissions(monitor, &emissions));
    assert_ok(resmon_monitor_start(monitor));
    const struct timespec life = {0, 300000000};
    (void)nanosleep(&life, NULL);
    assert_ok(resmon_monitor_stop(monitor));
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    assert_ok(resmon_run_get_energy(run, &energy));
    assert_ok(resmon_run_get_info(run, &info));
    process.flags = RESMON_EMISSIONS_PROCESS;
    assert_ok(resmon_run_append_emissions(run, &process));
    (void)read_file("emissions.csv");
    char *first = strchr(content, '\n') + 1;
    char *second = strchr(first, '\n') + 1;
    assert_memory_equal(content, "timestamp,project_name,run_id,experiment_id,duration,", 53);
    assert_non_null(strstr(first, ",\"a \"\"name\"\", of two?lines\","));
    assert_non_null(strstr(first, ",Bolivia,BOL,"));
    assert_non_null(strstr(second, ",process,"));
    const char *rest = strstr(first, "lines\",") + 7; /* run_id is field 0 of it */
    assert_near(number_at(rest, 2), (double)info.duration_ns / 1e9, 1e-9);
    if (isnan(energy.node_j)) {
        print_message("not checked here: the energy of the machine is not known\n");
    } else {
        assert_near(number_at(rest, 3), energy.node_gco2eq / 1000.0, 1e-15);
        assert_near(number_at(rest, 11), energy.node_j / 3.6e6 * 2.0, 1e-15);
    }
    int fields = 1;
    bool is_quoted = false; /* as names of processors with commas are */
    for (const char *p = rest; p < second; p++) {
        is_quoted = is_quoted != (*p == '"');
        fields += *p == ',' && !is_quoted ? 1 : 0;
    }
    assert_int_equal(fields + 2, 38);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    assert_int_equal(unlink(path_of("emissions.csv")), 0);
}

TEST_FILE(.tear_down = is_left_empty);
