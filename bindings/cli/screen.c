/* SPDX-License-Identifier: MIT */
#include "screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "say.h"

/* ECMA-48, and private modes of xterm: 1049 is the alternate screen, 25 the cursor, 7 automatic
 * wrapping of lines. */
#define TAKE      "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
#define GIVE_BACK "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
#define CLEAR     "\x1b[2J"

#define ESCAPE_MS 25 /* timeout for the rest of a key's escape sequence */

static struct {
    int input, output; /* -1: none */
    struct termios before;
    bool has_colors;
    volatile sig_atomic_t is_taken; /* the page is shown, and our modes are set */
    volatile sig_atomic_t is_stale; /* another program may have changed the screen or the modes */
    unsigned rows, columns;
    char *page, *shown; /* output for this frame, and for the last one */
    size_t length, shown_length, capacity;
    char keys[64]; /* input that was read and not processed */
    size_t key_count;
} screen = {.input = -1, .output = -1};

/* ---- the terminal ------------------------------------------------------------------------- */

/* Ignores errors: the terminal may be gone. */
static void send(const char *bytes, size_t length)
{
    (void)cli_write(screen.output, bytes, length);
}

static void set_modes(const struct termios *modes)
{
    const sigset_t before = cli_block_ttou();
    (void)tcsetattr(screen.input, TCSANOW, modes);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

void cli_screen_pause(void)
{
    int error = errno;
    if (screen.is_taken != 0) {
        screen.is_taken = 0;
        send(GIVE_BACK, sizeof GIVE_BACK - 1);
        set_modes(&screen.before);
    }
    errno = error;
}

/* Restores the terminal, then applies the default action of the signal, which takes effect when the
 * handler returns. */
static void give_back(int number)
{
    cli_screen_pause();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

/* After SIGCONT: another program may have used the terminal. */
static void take_again(int number)
{
    (void)number;
    screen.is_stale = 1;
}

/* SIGWINCH interrupts poll(2); the size is read with each page. */
static void note_size(int number)
{
    (void)number;
}

/* Signals with the default action restore the terminal first.  Handlers and ignored signals are not
 * changed. */
static void take_signals(void)
{
    static const struct {
        int number;
        void (*handler)(int);
    } signals[] = {
        {SIGINT, give_back},  {SIGTERM, give_back}, {SIGHUP, give_back},   {SIGQUIT, give_back},
        {SIGTSTP, give_back}, {SIGPIPE, give_back}, {SIGSEGV, give_back},  {SIGBUS, give_back},
        {SIGABRT, give_back}, {SIGFPE, give_back},  {SIGILL, give_back},   {SIGALRM, give_back},
        {SIGUSR1, give_back}, {SIGUSR2, give_back}, {SIGCONT, take_again}, {SIGWINCH, note_size}};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction before;
        struct sigaction action = {.sa_flags = 0};
        action.sa_handler = signals[i].handler;
        if (sigaction(signals[i].number, NULL, &before) == 0 && before.sa_handler == SIG_DFL) {
            (void)sigaction(signals[i].number, &action, NULL);
        }
    }
}

/* A copy of the first terminal in the list, else the terminal of the session. */
static int open_one_of(const int *fds, size_t count)
{
    int fd = -1;
    for (size_t i = 0; i < count && fd < 0; i++) {
        fd = isatty(fds[i]) != 0 ? fcntl(fds[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
    }
    return fd >= 0 ? fd : open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
}

/* A background process would be stopped when it reads from the terminal. */
static bool open_terminal(const char *verb, const char *instead)
{
    static const int inputs[] = {STDIN_FILENO}, outputs[] = {STDOUT_FILENO, STDERR_FILENO};
    screen.input = open_one_of(inputs, 1);
    screen.output = open_one_of(outputs, 2);
    if (screen.output < 0 || tcgetattr(screen.input, &screen.before) != 0) {
        cli_say(verb, "a terminal is needed: %s", instead);
        return false;
    }
    pid_t foreground = tcgetpgrp(screen.input);
    if (foreground >= 0 && foreground != getpgrp()) {
        cli_say(verb, "the live view must run in the foreground of the terminal: %s", instead);
        return false;
    }
    const char *kind = getenv("TERM");
    if (kind == NULL || kind[0] == '\0' || strcmp(kind, "dumb") == 0) {
        cli_say(verb, "the live view does not work on a terminal with TERM=%.64s: %s",
                kind != NULL ? kind : "", instead);
        return false;
    }
    return true;
}

static void take(void)
{
    struct termios modes = screen.before;
    modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    modes.c_cc[VMIN] = 0; /* read(2) does not block */
    modes.c_cc[VTIME] = 0;
    take_signals();
    set_modes(&modes);
    screen.is_taken = 1;
    screen.is_stale = 0;
    send(TAKE, sizeof TAKE - 1);
    screen.shown_length = 0;
}

/* The size of a VT100, if the terminal does not report its own. */
static void measure(void)
{
    struct winsize size = {0};
    bool is_known =
        ioctl(screen.output, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
    unsigned rows = is_known ? size.ws_row : 24, columns = is_known ? size.ws_col : 80;
    if (rows != screen.rows || columns != screen.columns) {
        screen.rows = rows;
        screen.columns = columns;
        screen.shown_length = 0;
    }
}

bool cli_screen_open(const char *verb, const char *instead)
{
    static bool is_registered;
    if (!open_terminal(verb, instead)) {
        cli_screen_close();
        return false;
    }
    const char *no_color = getenv("NO_COLOR");
    screen.has_colors = no_color == NULL || no_color[0] == '\0';
    is_registered = is_registered || atexit(cli_screen_pause) == 0;
    take();
    measure();
    return true;
}

void cli_screen_close(void)
{
    cli_screen_pause();
    if (screen.input >= 0) {
        (void)close(screen.input);
    }
    if (screen.output >= 0) {
        (void)close(screen.output);
    }
    screen.input = screen.output = -1;
    free(screen.page);
    free(screen.shown);
    screen.page = screen.shown = NULL;
    screen.length = screen.shown_length = screen.capacity = screen.key_count = 0;
}

bool cli_screen_is_there(void)
{
    struct pollfd terminal = {.fd = screen.input, .events = POLLIN};
    return poll(&terminal, 1, 0) <= 0 || (terminal.revents & (POLLHUP | POLLERR | POLLNVAL)) == 0;
}

unsigned cli_screen_columns(void)
{
    return screen.columns;
}

unsigned cli_screen_rows(void)
{
    return screen.rows;
}

/* ---- the page ----------------------------------------------------------------------------- */

static void put(const char *bytes, size_t length)
{
    if (screen.length + length > screen.capacity) {
        screen.capacity = 2 * (screen.length + length);
        screen.page = cli_grow(screen.page, screen.capacity);
        screen.shown = cli_grow(screen.shown, screen.capacity);
    }
    memcpy(screen.page + screen.length, bytes, length);
    screen.length += length;
}

/* The length of the text that fits into the columns; UTF-8 continuation bytes take none. */
static size_t bytes_of(const char *text, unsigned columns)
{
    size_t bytes = 0;
    for (unsigned seen = 0; text[bytes] != '\0'; bytes++) {
        seen += ((unsigned char)text[bytes] & 0xc0U) != 0x80U ? 1 : 0;
        if (seen > columns) {
            break;
        }
    }
    return bytes;
}

static const char *attributes_of(enum cli_style style)
{
    switch (style) {
    case CLI_BOLD:
        return "\x1b[1m";
    case CLI_DIM:
        return "\x1b[2m";
    case CLI_WARNING:
        return screen.has_colors ? "\x1b[1;31m" : "\x1b[1m";
    default:
        return "";
    }
}

/* Erases the row first: after a full row, some terminals would erase its last column. */
static void put_row(unsigned row, const char *text, enum cli_style style, bool is_marked)
{
    char clean[CLI_FRAME_BYTES], place[32];
    const char *attributes = attributes_of(style);
    (void)snprintf(clean, sizeof clean, "%s", text);
    cli_clean(clean);
    put(place, (size_t)snprintf(place, sizeof place, "\x1b[%u;1H\x1b[2K", row + 1));
    put(attributes, strlen(attributes));
    put("\x1b[7m", is_marked ? 4 : 0);
    put(clean, bytes_of(clean, screen.columns));
    put("\x1b[0m", 4);
}

/* Does nothing if the page is unchanged. */
static void send_page(void)
{
    bool is_same = screen.length == screen.shown_length &&
                   memcmp(screen.page, screen.shown, screen.length) == 0;
    if (is_same) {
        return;
    }
    if (screen.shown_length == 0) {
        send(CLEAR, sizeof CLEAR - 1);
    }
    send(screen.page, screen.length);
    memcpy(screen.shown, screen.page, screen.length);
    screen.shown_length = screen.length;
}

void cli_screen_show(const struct cli_frame *frame, size_t first, uint64_t selected,
                     const char *bottom)
{
    if (screen.is_taken == 0 || screen.is_stale != 0) {
        take();
    }
    measure();
    screen.length = 0;
    for (unsigned row = 0; row + 1 < screen.rows; row++) {
        bool is_line = first + row < frame->count;
        const struct cli_line *line = is_line ? &frame->lines[first + row] : NULL;
        bool is_marked = is_line && selected != 0 && line->scope == selected;
        put_row(row, is_line ? line->text : "", is_line ? line->style : CLI_PLAIN, is_marked);
    }
    put_row(screen.rows - 1, bottom, CLI_DIM, false);
    send_page();
}

/* ---- keys --------------------------------------------------------------------------------- */

static void read_keys(void)
{
    ssize_t got =
        read(screen.input, screen.keys + screen.key_count, sizeof screen.keys - screen.key_count);
    screen.key_count += got > 0 ? (size_t)got : 0;
}

static void drop_keys(size_t count)
{
    screen.key_count -= count;
    memmove(screen.keys, screen.keys + count, screen.key_count);
}

/* ESC [ A, or ESC O A in application mode.  A letter ends the parameters. */
static int take_sequence(void)
{
    size_t length = 2;
    while (length < screen.key_count && (screen.keys[length] < '@' || screen.keys[length] > '~')) {
        length++;
    }
    char last = length < screen.key_count ? screen.keys[length] : '\0';
    drop_keys(length < screen.key_count ? length + 1 : screen.key_count);
    return last == 'A' ? CLI_KEY_UP : last == 'B' ? CLI_KEY_DOWN : CLI_KEY_NONE;
}

int cli_screen_key(int fd, int milliseconds)
{
    struct pollfd files[] = {{.fd = screen.input, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    if (screen.key_count == 0 && poll(files, 2, milliseconds) > 0 && files[0].revents != 0) {
        read_keys();
    }
    if (screen.key_count == 0) {
        return CLI_KEY_NONE;
    }
    if (screen.keys[0] == CLI_KEY_ESCAPE && screen.key_count == 1 &&
        poll(files, 1, ESCAPE_MS) > 0) {
        read_keys();
    }
    if (screen.keys[0] == CLI_KEY_ESCAPE && screen.key_count > 1 &&
        (screen.keys[1] == '[' || screen.keys[1] == 'O')) {
        return take_sequence();
    }
    int key = (unsigned char)screen.keys[0];
    drop_keys(1);
    return key;
}
