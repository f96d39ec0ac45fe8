/* SPDX-License-Identifier: MIT */
#include "os/host.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/text.h"
#include "os/proc_pid.h"

/* ---- what people call a program --------------------------------------------------------- */

/* What runs scripts, by the beginning of its file's name; its options of one letter whose value is
 * the next argument, those after which the program's text follows, and that of a module. */
static const struct interpreter {
    char name[8];
    char valued[8], code[4], module;
} interpreters[] = {
    {"python", "WXQ", "c", 'm'},   {"pypy", "WXQ", "c", 'm'},  {"Rscript", "", "e", '\0'},
    {"perl", "IM", "eE", '\0'},    {"ruby", "rIC", "e", '\0'}, {"node", "r", "ep", '\0'},
    {"julia", "LJtp", "eE", '\0'}, {"bash", "oO", "c", '\0'},  {"dash", "o", "c", '\0'},
    {"zsh", "o", "c", '\0'},       {"sh", "o", "c", '\0'},
};

/* "python3.11" and "python3", but not "pythonic": what follows the name is a version. */
static const struct interpreter *interpreter_of(const char *file)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(interpreters); i++) {
        size_t length = strlen(interpreters[i].name);
        if (strncmp(file, interpreters[i].name, length) == 0 &&
            file[length + strspn(file + length, "0123456789.-d")] == '\0') {
            return &interpreters[i];
        }
    }
    return NULL;
}

/* The next argument; NULL: there is no further argument. */
static const char *next_of(const char *argument, const char *end)
{
    const char *next = argument + strnlen(argument, (size_t)(end - argument)) + 1;
    return next < end ? next : NULL;
}

static bool has(const char *letters, char letter)
{
    return letter != '\0' && strchr(letters, letter) != NULL;
}

/* What the letters of an argument say: "-Bm", "-Xdev".  Of what follows a letter with a value, that
 * is the value. */
enum meaning { MEANS_NOTHING, MEANS_VALUE, MEANS_CODE, MEANS_MODULE };

static enum meaning read_letters(const struct interpreter *interpreter, const char *letters)
{
    for (; *letters != '\0'; letters++) {
        bool is_valued = has(interpreter->valued, *letters);
        if (is_valued || has(interpreter->code, *letters)) {
            return !is_valued ? MEANS_CODE : letters[1] == '\0' ? MEANS_VALUE : MEANS_NOTHING;
        }
        if (*letters == interpreter->module) {
            return MEANS_MODULE;
        }
    }
    return MEANS_NOTHING;
}

/* The script or module; NULL: neither is given, as in "python3 -c ...". */
static const char *script_of(const struct interpreter *interpreter, const char *argument,
                             const char *end)
{
    while (argument != NULL && argument[0] == '-' && argument[1] != '\0') {
        enum meaning meaning =
            argument[1] != '-' ? read_letters(interpreter, argument + 1) : MEANS_NOTHING;
        if (meaning == MEANS_CODE) {
            return NULL;
        }
        if (meaning == MEANS_MODULE) {
            const char *module = strchr(argument, interpreter->module) + 1;
            return module[0] != '\0' ? module : next_of(argument, end);
        }
        argument = next_of(argument, end);
        if (meaning == MEANS_VALUE && argument != NULL) {
            argument = next_of(argument, end);
        }
    }
    return argument != NULL && argument[0] != '-' ? argument : NULL;
}

void rm_program_name(const char *executable, const char *arguments, size_t length, char *name,
                     size_t capacity)
{
    const char *file = rm_text_base_name(executable);
    const struct interpreter *interpreter = interpreter_of(file);
    char bounded[4096];
    size_t kept = length < sizeof bounded - 1 ? length : sizeof bounded - 1;
    memcpy(bounded, arguments, kept);
    bounded[kept] = '\0';
    const char *script =
        interpreter != NULL && kept > 0
            ? script_of(interpreter, next_of(bounded, bounded + kept), bounded + kept)
            : NULL;
    (void)rm_text_set(name, capacity, rm_text_base_name(script != NULL ? script : file));
}

/* ---- the machine and this process ------------------------------------------------------- */

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
