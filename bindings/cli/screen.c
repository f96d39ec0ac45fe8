/* SPDX-License-Identifier: MIT */
#include "screen.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "say.h"

/* As version 6 of its interface has them (curses.h). */
#define A_REVERSE 0x040000
#define A_DIM     0x100000
#define A_BOLD    0x200000
#define RED       1
#define PAIR_1    0x100

static struct {
    void *(*newterm)(const char *, FILE *, FILE *);
    void *(*newwin)(int, int, int, int);
    int (*resizeterm)(int, int);
    void (*delscreen)(void *);
    int (*endwin)(void);
    int (*cbreak)(void);
    int (*noecho)(void);
    int (*curs_set)(int);
    int (*keypad)(void *, bool);
    void (*wtimeout)(void *, int);
    int (*wgetch)(void *);
    int (*werase)(void *);
    int (*wmove)(void *, int, int);
    int (*waddnstr)(void *, const char *, int);
    int (*wattrset)(void *, int);
    int (*wrefresh)(void *);
    int (*getmaxx)(const void *);
    int (*getmaxy)(const void *);
    bool (*has_colors)(void);
    int (*start_color)(void);
    int (*use_default_colors)(void);
    int (*init_pair)(short, short, short);
} curses;

static const struct {
    const char *name;
    void *function; /* where it goes */
} functions[] = {
#define FUNCTION(name)      \
    {                       \
#name, &curses.name \
    }
    FUNCTION(newterm),    FUNCTION(newwin),      FUNCTION(resizeterm),
    FUNCTION(delscreen),  FUNCTION(endwin),      FUNCTION(cbreak),
    FUNCTION(noecho),     FUNCTION(curs_set),    FUNCTION(keypad),
    FUNCTION(wtimeout),   FUNCTION(wgetch),      FUNCTION(werase),
    FUNCTION(wmove),      FUNCTION(waddnstr),    FUNCTION(wattrset),
    FUNCTION(wrefresh),   FUNCTION(getmaxx),     FUNCTION(getmaxy),
    FUNCTION(has_colors), FUNCTION(start_color), FUNCTION(use_default_colors),
    FUNCTION(init_pair),
#undef FUNCTION
};

static struct {
    FILE *input, *output;
    void *terminal; /* as ncurses has it */
    void *page;     /* all of it; NULL: not ours */
    bool has_red;
} screen;

/* ---- the terminal ------------------------------------------------------------------------- */

static bool load(const char *verb, const char *instead)
{
    void *library = dlopen("libncursesw.so.6", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        cli_say(verb, "the live view needs ncurses (libncursesw6 of Debian and Ubuntu): %s",
                instead);
        return false;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(library, functions[i].name);
        if (function == NULL) {
            cli_say(verb, "libncursesw.so.6 has no %s: %s", functions[i].name, instead);
            return false;
        }
        memcpy(functions[i].function, &function, sizeof function);
    }
    return true;
}

/* A copy of the first of these that is a terminal, or the terminal of the session. */
static FILE *open_one_of(const int *fds, size_t count, const char *mode)
{
    int fd = -1;
    for (size_t i = 0; i < count && fd < 0; i++) {
        fd = isatty(fds[i]) != 0 ? fcntl(fds[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
    }
    fd = fd >= 0 ? fd : open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, mode) : NULL;
    if (file == NULL && fd >= 0) {
        (void)close(fd);
    }
    return file;
}

static void close_files(void)
{
    if (screen.input != NULL) {
        (void)fclose(screen.input);
    }
    if (screen.output != NULL) {
        (void)fclose(screen.output);
    }
    screen.input = screen.output = NULL;
}

/* What is in the background would be stopped by the terminal. */
static bool open_files(const char *verb, const char *instead)
{
    static const int inputs[] = {STDIN_FILENO}, outputs[] = {STDOUT_FILENO, STDERR_FILENO};
    screen.input = open_one_of(inputs, 1, "r");
    screen.output = open_one_of(outputs, 2, "w");
    if (screen.input == NULL || screen.output == NULL) {
        cli_say(verb, "a terminal is needed: %s", instead);
        return false;
    }
    pid_t foreground = tcgetpgrp(fileno(screen.input));
    if (foreground >= 0 && foreground != getpgrp()) {
        cli_say(verb, "the live view must run in the foreground of the terminal: %s", instead);
        return false;
    }
    return true;
}

static void take_colours(void)
{
    const char *no_color = getenv("NO_COLOR");
    if ((no_color == NULL || no_color[0] == '\0') && curses.has_colors()) {
        (void)curses.start_color();
        (void)curses.use_default_colors();
        screen.has_red = curses.init_pair(1, RED, -1) == 0;
    }
}

bool cli_screen_open(const char *verb, const char *instead)
{
    if (!open_files(verb, instead) || !load(verb, instead)) {
        close_files();
        return false;
    }
    const char *kind = getenv("TERM");
    screen.terminal = kind != NULL ? curses.newterm(kind, screen.output, screen.input) : NULL;
    screen.page = screen.terminal != NULL ? curses.newwin(0, 0, 0, 0) : NULL;
    if (screen.page == NULL) {
        cli_say(verb, "the live view does not work on a terminal with TERM=%.64s: %s",
                kind != NULL ? kind : "", instead);
        cli_screen_close();
        return false;
    }
    (void)curses.cbreak();
    (void)curses.noecho();
    (void)curses.curs_set(0);
    (void)curses.keypad(screen.page, true);
    take_colours();
    return true;
}

void cli_screen_pause(void)
{
    if (screen.terminal != NULL) {
        (void)curses.endwin();
    }
}

void cli_screen_close(void)
{
    if (screen.terminal != NULL) {
        (void)curses.endwin();
        curses.delscreen(screen.terminal);
    }
    screen.terminal = screen.page = NULL;
    close_files();
}

bool cli_screen_is_there(void)
{
    struct pollfd terminal = {.fd = fileno(screen.input), .events = POLLIN};
    return poll(&terminal, 1, 0) <= 0 || (terminal.revents & (POLLHUP | POLLERR | POLLNVAL)) == 0;
}

/* ---- the page ----------------------------------------------------------------------------- */

unsigned cli_screen_columns(void)
{
    return (unsigned)curses.getmaxx(screen.page);
}

unsigned cli_screen_rows(void)
{
    return (unsigned)curses.getmaxy(screen.page);
}

static int attributes_of(enum cli_style style)
{
    switch (style) {
    case CLI_BOLD:
        return A_BOLD;
    case CLI_DIM:
        return A_DIM;
    case CLI_WARNING:
        return A_BOLD | (screen.has_red ? PAIR_1 : 0);
    default:
        return 0;
    }
}

/* As much of a text as has that many columns: bytes that go on with a letter take none. */
static int bytes_of(const char *text, unsigned columns)
{
    int bytes = 0;
    for (unsigned seen = 0; text[bytes] != '\0'; bytes++) {
        seen += ((unsigned char)text[bytes] & 0xc0U) != 0x80U ? 1 : 0;
        if (seen > columns) {
            break;
        }
    }
    return bytes;
}

static void show_line(unsigned row, const char *text, int attributes)
{
    (void)curses.wmove(screen.page, (int)row, 0);
    (void)curses.wattrset(screen.page, attributes);
    (void)curses.waddnstr(screen.page, text, bytes_of(text, cli_screen_columns()));
}

/* Whoever handles SIGWINCH itself is not told by ncurses. */
static void fit(void)
{
    struct winsize size = {0};
    if (ioctl(fileno(screen.output), TIOCGWINSZ, &size) == 0 && size.ws_row > 0 &&
        size.ws_col > 0 &&
        (size.ws_row != cli_screen_rows() || size.ws_col != cli_screen_columns())) {
        (void)curses.resizeterm(size.ws_row, size.ws_col);
    }
}

void cli_screen_show(const struct cli_frame *frame, size_t first, uint64_t selected,
                     const char *bottom)
{
    fit();
    unsigned rows = cli_screen_rows();
    (void)curses.werase(screen.page);
    for (unsigned row = 0; row + 1 < rows && first + row < frame->count; row++) {
        const struct cli_line *line = &frame->lines[first + row];
        bool is_marked = selected != 0 && line->scope == selected;
        show_line(row, line->text, attributes_of(line->style) | (is_marked ? A_REVERSE : 0));
    }
    if (rows > 0) {
        show_line(rows - 1, bottom, A_DIM);
    }
    (void)curses.wrefresh(screen.page);
}

/* What ncurses has read already is no longer in the terminal. */
int cli_screen_key(int fd, int milliseconds)
{
    struct pollfd files[] = {{.fd = fileno(screen.input), .events = POLLIN},
                             {.fd = fd, .events = POLLIN}};
    curses.wtimeout(screen.page, 0);
    int key = curses.wgetch(screen.page);
    if (key == CLI_KEY_NONE && poll(files, 2, milliseconds) > 0 && files[0].revents != 0) {
        key = curses.wgetch(screen.page);
    }
    return key;
}
