/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <stdio.h>
#include <time.h>

#include "screen.h"

#define KEYS "q end  p pause  t tree  w wall  s self  c calls  f fold all  up, down, Enter fold one"

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- lines -------------------------------------------------------------------------------- */

/* The line of the selected scope; past the end: it is not shown. */
static size_t line_of(const struct cli_view *view)
{
    const struct cli_frame *frame = &view->frame;
    size_t at = 0;
    while (at < frame->count && (view->selected == 0 || frame->lines[at].scope != view->selected)) {
        at++;
    }
    return at;
}

/* The next line of any scope; past the end: none. */
static size_t scope_after(const struct cli_frame *frame, size_t at)
{
    do {
        at++;
    } while (at < frame->count && frame->lines[at].scope == 0);
    return at;
}

static void bring_into_view(struct cli_view *view, size_t line)
{
    unsigned rows = cli_screen_rows();
    size_t visible = rows > 2 ? rows - 2 : 1;
    if (line < view->first) {
        view->first = line;
    } else if (line >= view->first + visible) {
        view->first = line - visible + 1;
    }
}

/* Selects the next scope, or scrolls if there is none. */
static void go_down(struct cli_view *view)
{
    const struct cli_frame *frame = &view->frame;
    size_t at = line_of(view);
    size_t next = scope_after(frame, at < frame->count ? at : view->first);
    if (next < frame->count) {
        view->selected = frame->lines[next].scope;
        bring_into_view(view, next);
    } else if (at >= frame->count && view->first + 4 < frame->count) {
        view->first++;
    }
}

static void go_up(struct cli_view *view)
{
    const struct cli_frame *frame = &view->frame;
    size_t at = line_of(view);
    if (at >= frame->count) {
        view->first -= view->first > 0 ? 1 : 0;
        return;
    }
    while (at > 0 && frame->lines[at - 1].scope == 0) {
        at--; /* skips titles */
    }
    view->selected = at > 0 ? frame->lines[at - 1].scope : 0;
    view->first = at > 0 ? view->first : 0;
    bring_into_view(view, at > 0 ? at - 1 : 0);
}

/* ---- keys --------------------------------------------------------------------------------- */

static void sort_by(struct cli_view *view, int key)
{
    static const struct {
        int key;
        enum cli_scope_order order;
    } orders[] = {{'t', CLI_BY_TREE}, {'w', CLI_BY_WALL}, {'s', CLI_BY_SELF}, {'c', CLI_BY_CALLS}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        view->frame.order = key == orders[i].key ? orders[i].order : view->frame.order;
    }
}

static void fold(struct cli_view *view, int key)
{
    if (key == 'f') {
        view->frame.is_folded = !view->frame.is_folded;
        view->frame.folded_count = 0;
    } else if (view->selected != 0) {
        cli_frame_fold(&view->frame, view->selected);
    }
}

/* False: the view closes. */
static bool take_key(struct cli_view *view, int key)
{
    switch (key) {
    case 'q':
    case CLI_KEY_ESCAPE:
        return false;
    case 'p':
        view->is_paused = !view->is_paused;
        break;
    case 'f':
    case '\r':
    case '\n':
    case ' ':
        fold(view, key);
        break;
    case CLI_KEY_DOWN:
    case 'j':
        go_down(view);
        break;
    case CLI_KEY_UP:
    case 'k':
        go_up(view);
        break;
    default:
        sort_by(view, key);
    }
    return true;
}

/* ---- refresh ------------------------------------------------------------------------------ */

static void show(struct cli_view *view)
{
    char bottom[200];
    size_t last = view->frame.count > 0 ? view->frame.count - 1 : 0;
    view->first = view->first < last ? view->first : last;
    (void)snprintf(bottom, sizeof bottom, " %s%s%s", view->note, view->is_paused ? "paused   " : "",
                   KEYS);
    cli_screen_show(&view->frame, view->first, view->selected, bottom);
}

/* A paused or ended view can still be sorted and folded. */
bool cli_view_turn(struct cli_view *view, int fd)
{
    int64_t now = now_ms();
    bool has_page = view->frame.count > 0;
    if (now >= view->next_ms && !((view->is_paused || view->is_over) && has_page)) {
        view->look(view);
        view->next_ms = now + view->every_ms;
    }
    view->frame.columns = cli_screen_columns();
    view->make(view);
    show(view);
    int64_t left = view->next_ms > now ? view->next_ms - now + 1 : view->longest_ms;
    int key = cli_screen_key(fd, left < view->longest_ms ? (int)left : view->longest_ms);
    return take_key(view, key) && cli_screen_is_there();
}
