/* SPDX-License-Identifier: MIT */
#include "say.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <resmon/report.h>

#include "command.h"

/* Control characters of one and two bytes, and Unicode's controls of text direction. */
void cli_clean(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at != '\0'; at++) {
        bool is_control = *at < ' ' || *at == 0x7f;
        bool is_long_control = at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f;
        bool is_direction = at[0] == 0xe2 && ((at[1] == 0x80 && at[2] >= 0xaa && at[2] <= 0xae) ||
                                              (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9));
        size_t bytes = is_direction ? 3 : is_long_control ? 2 : is_control ? 1 : 0;
        if (bytes > 0) {
            *at = '?';
            memmove(at + 1, at + bytes, strlen((char *)at + bytes) + 1);
        }
    }
}

sigset_t cli_block_ttou(void)
{
    sigset_t blocked, before;
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGTTOU);
    (void)sigprocmask(SIG_BLOCK, &blocked, &before);
    return before;
}

void cli_say(const char *verb, const char *format, ...)
{
    char line[2048];
    va_list values;
    int length = snprintf(line, sizeof line, "resmon%s%s: ", verb != NULL ? " " : "",
                          verb != NULL ? verb : "");
    va_start(values, format);
    int more = vsnprintf(line + length, sizeof line - (size_t)length - 1, format, values);
    va_end(values);
    cli_clean(line);
    size_t end = strlen(line);
    line[end] = '\n';
    const sigset_t before = cli_block_ttou();
    ssize_t unused = more >= 0 ? write(STDERR_FILENO, line, end + 1) : 0;
    (void)unused; /* stderr may be closed */
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

bool cli_check(const char *verb, resmon_status status)
{
    if (status != RESMON_OK) {
        cli_say(verb, "%s", resmon_last_error());
    }
    return status == RESMON_OK;
}

const char *cli_reason(const char *path)
{
    const char *text = resmon_last_error();
    size_t length = strlen(path);
    bool has_path = strncmp(text, path, length) == 0 && strncmp(text + length, ": ", 2) == 0;
    return text + (has_path ? length + 2 : 0);
}

void *cli_grow(void *memory, unsigned long bytes)
{
    void *grown = realloc(memory, bytes);
    if (grown == NULL) {
        cli_say(NULL, "out of memory");
        _exit(CLI_RUN_FAILED);
    }
    return grown;
}

bool cli_write(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, bytes, length);
        struct pollfd writable = {.fd = fd, .events = POLLOUT};
        if (written < 0 && errno == EAGAIN) {
            (void)poll(&writable, 1, -1);
        } else if (written < 0 && errno != EINTR) {
            return false;
        }
        bytes += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

bool cli_print(const char *verb, const char *text)
{
    if (fputs(text, stdout) == EOF || fflush(stdout) != 0) {
        cli_say(verb, "cannot write to stdout: %s", strerror(errno));
        return false;
    }
    return true;
}

bool cli_print_made(const char *verb, resmon_status status, char *text)
{
    bool is_printed = cli_check(verb, status) && cli_print(verb, text);
    resmon_text_free(status == RESMON_OK ? text : NULL);
    return is_printed;
}

unsigned cli_columns(int fd)
{
    struct winsize size = {0};
    const char *given = getenv("COLUMNS"); /* without a terminal */
    unsigned long columns = given != NULL && given[0] != '\0' ? strtoul(given, NULL, 10) : 0;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        columns = size.ws_col;
    }
    if (columns == 0 || columns > 10000) {
        return 0;
    }
    return columns < RESMON_REPORT_LEAST_WIDTH ? RESMON_REPORT_LEAST_WIDTH : (unsigned)columns;
}
