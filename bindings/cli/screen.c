/* SPDX-License-Identifier: MIT */
#include "screen.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "say.h"

/* As version 6 of its interface has them (curses.h). */
#define A_DIM  0x100000
#define A_BOLD 0x200000
#define RED    1
#define PAIR_1 0x100

static struct {
    void *(*initscr)(void);
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
    FUNCTION(initscr),    FUNCTION(endwin),      FUNCTION(cbreak),
    FUNCTION(noecho),     FUNCTION(curs_set),    FUNCTION(keypad),
    FUNCTION(wtimeout),   FUNCTION(wgetch),      FUNCTION(werase),
    FUNCTION(wmove),      FUNCTION(waddnstr),    FUNCTION(wattrset),
    FUNCTION(wrefresh),   FUNCTION(getmaxx),     FUNCTION(getmaxy),
    FUNCTION(has_colors), FUNCTION(start_color), FUNCTION(use_default_colors),
    FUNCTION(init_pair),
#undef FUNCTION
};

static void *page; /* the whole terminal; NULL: not ours */
static bool has_red;

static bool load(const char *verb)
{
    void *library = dlopen("libncursesw.so.6", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        cli_say(verb, "there is no ncurses, which makes full pages (libncursesw6 of Debian and "
                      "Ubuntu): --once prints one");
        return false;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(library, functions[i].name);
        if (function == NULL) {
            cli_say(verb, "libncursesw.so.6 has no %s: --once prints a page", functions[i].name);
            return false;
        }
        memcpy(functions[i].function, &function, sizeof function);
    }
    return true;
}

bool cli_screen_open(const char *verb)
{
    if (isatty(STDOUT_FILENO) == 0 || isatty(STDIN_FILENO) == 0) {
        cli_say(verb, "a terminal is needed: --once prints one page");
        return false;
    }
    if (getenv("TERM") == NULL || !load(verb)) {
        return false;
    }
    page = curses.initscr(); /* ends the program where TERM is nothing that it knows */
    (void)curses.cbreak();
    (void)curses.noecho();
    (void)curses.curs_set(0);
    (void)curses.keypad(page, true);
    const char *no_color = getenv("NO_COLOR");
    if ((no_color == NULL || no_color[0] == '\0') && curses.has_colors()) {
        (void)curses.start_color();
        (void)curses.use_default_colors();
        has_red = curses.init_pair(1, RED, -1) == 0;
    }
    return true;
}

void cli_screen_close(void)
{
    if (page != NULL) {
        (void)curses.endwin();
        page = NULL;
    }
}

unsigned cli_screen_columns(void)
{
    return (unsigned)curses.getmaxx(page);
}

unsigned cli_screen_rows(void)
{
    return (unsigned)curses.getmaxy(page);
}

static int attributes_of(enum cli_style style)
{
    switch (style) {
    case CLI_BOLD:
        return A_BOLD;
    case CLI_DIM:
        return A_DIM;
    case CLI_WARNING:
        return A_BOLD | (has_red ? PAIR_1 : 0);
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
    (void)curses.wmove(page, (int)row, 0);
    (void)curses.wattrset(page, attributes);
    (void)curses.waddnstr(page, text, bytes_of(text, cli_screen_columns()));
}

void cli_screen_show(const struct cli_frame *frame, size_t first, const char *bottom)
{
    unsigned rows = cli_screen_rows();
    (void)curses.werase(page);
    for (unsigned row = 0; row + 1 < rows && first + row < frame->count; row++) {
        const struct cli_line *line = &frame->lines[first + row];
        show_line(row, line->text, attributes_of(line->style));
    }
    if (rows > 0) {
        show_line(rows - 1, bottom, A_DIM);
    }
    (void)curses.wrefresh(page);
}

int cli_screen_key(int milliseconds)
{
    curses.wtimeout(page, milliseconds);
    return curses.wgetch(page);
}
