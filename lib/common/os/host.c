/* SPDX-License-Identifier: MIT */
#include "os/host.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/text.h"
#include "os/program.h"
#include "os/task_walk.h"

static void set(char *target, size_t capacity, struct rm_text text)
{
    (void)rm_text_copy(target, capacity, text.at, rm_text_left(&text));
}

static void trim_line(struct rm_text *text)
{
    struct rm_text line;
    if (rm_parse_line(text, &line)) {
        *text = line;
    }
}

static void read_one_line(const struct rm_root *root, struct rm_scratch *scratch, const char *path,
                          char *target, size_t capacity)
{
    struct rm_text text;
    if (rm_file_read_once(root, path, scratch, &text) == RESMON_OK) {
        trim_line(&text);
        set(target, capacity, text);
    }
}

/* PRETTY_NAME="Debian GNU/Linux 12 (bookworm)" */
static void read_os(struct rm_host *host, const struct rm_root *root, struct rm_scratch *scratch)
{
    struct rm_text text, line;
    if (rm_file_read_once(root, "etc/os-release", scratch, &text) != RESMON_OK) {
        return;
    }
    while (rm_parse_line(&text, &line)) {
        if (rm_parse_literal(&line, "PRETTY_NAME=")) {
            (void)rm_parse_literal(&line, "\"");
            if (line.end > line.at && line.end[-1] == '"') {
                line.end--;
            }
            set(host->os, sizeof host->os, line);
            return;
        }
    }
}

/* Arguments end in '\0'; shown with spaces between.  The executable is known, unless it is hidden
 * (of another user's process): then the first argument names the program. */
static void read_command_line(struct rm_host *host, const struct rm_root *root,
                              struct rm_scratch *scratch, const char *proc_dir)
{
    char path[96];
    struct rm_text text;
    (void)snprintf(path, sizeof path, "%s/cmdline", proc_dir);
    if (rm_file_read_once(root, path, scratch, &text) != RESMON_OK) {
        return;
    }
    size_t length = rm_text_left(&text);
    char first[sizeof host->executable];
    (void)rm_text_copy(first, sizeof first, text.at, strnlen(text.at, length));
    const char *executable = host->executable[0] != '\0' ? host->executable : first;
    rm_program_name(executable, text.at, length, host->program, sizeof host->program);
    length = length < sizeof host->command_line ? length : sizeof host->command_line - 1;
    char joined[sizeof host->command_line];
    for (size_t i = 0; i < length; i++) {
        joined[i] = text.at[i] != '\0' ? text.at[i] : ' ';
    }
    while (length > 0 && joined[length - 1] == ' ') {
        length--;
    }
    (void)rm_text_copy(host->command_line, sizeof host->command_line, joined, length);
}

void rm_host_set_command(struct rm_host *host, const char *command)
{
    char arguments[sizeof host->command_line];
    size_t length = rm_text_set(arguments, sizeof arguments, command);
    size_t first = strcspn(command, " ");
    (void)rm_text_set(host->command_line, sizeof host->command_line, command);
    (void)rm_text_copy(host->executable, sizeof host->executable, command, first);
    for (size_t i = 0; i < length; i++) {
        arguments[i] = (char)(arguments[i] != ' ' ? arguments[i] : '\0');
    }
    rm_program_name(host->executable, arguments, length, host->program, sizeof host->program);
}

static void read_executable(struct rm_host *host, const struct rm_root *root, const char *proc_dir)
{
    char path[96];
    char target[RM_HOST_TEXT_BYTES];
    (void)snprintf(path, sizeof path, "%s/exe", proc_dir);
    ssize_t length = readlinkat(rm_kept_fd(&root->kept), path, target, sizeof target);
    if (length > 0) {
        (void)rm_text_copy(host->executable, sizeof host->executable, target, (size_t)length);
    }
}

void rm_host_read(struct rm_host *host, const struct rm_root *root, struct rm_scratch *scratch,
                  const char *proc_dir)
{
    struct utsname name;
    *host = (struct rm_host){0};
    if (uname(&name) == 0) {
        (void)rm_text_set(host->host_name, sizeof host->host_name, name.nodename);
        (void)rm_text_set(host->kernel, sizeof host->kernel, name.release);
        (void)rm_text_set(host->architecture, sizeof host->architecture, name.machine);
    }
    if (!root->is_live) {
        read_one_line(root, scratch, "proc/sys/kernel/hostname", host->host_name,
                      sizeof host->host_name);
        read_one_line(root, scratch, "proc/sys/kernel/osrelease", host->kernel,
                      sizeof host->kernel);
    }
    read_os(host, root, scratch);
    read_one_line(root, scratch, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
                  host->cpu_governor, sizeof host->cpu_governor);
    read_one_line(root, scratch, "proc/sys/kernel/random/boot_id", host->boot_id,
                  sizeof host->boot_id);
    read_executable(host, root, proc_dir);
    uint64_t thread = host->executable[0] == '\0' ? rm_task_living(root, proc_dir) : 0;
    char task_dir[64];
    if (thread != 0) { /* the main one has ended */
        (void)snprintf(task_dir, sizeof task_dir, "%s/task/%llu", proc_dir,
                       (unsigned long long)thread);
        proc_dir = task_dir;
        read_executable(host, root, proc_dir);
    }
    read_command_line(host, root, scratch, proc_dir);
}
