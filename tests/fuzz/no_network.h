/* SPDX-License-Identifier: MIT */
/*
 * net/http as a fuzz target wants it: no network, and answers made of the fuzzer's bytes.  These
 * take the place of the library's own, as the linker finds them first.
 */
#ifndef RESMON_TESTS_NO_NETWORK_H
#define RESMON_TESTS_NO_NETWORK_H

#include "fuzz.h"

#include "net/http.h"

/* What the next exchanges come to; each begins with a byte that says of which kind it is. */
static const uint8_t *answers_at;
static size_t answers_left;

/* What a client was opened with, for those who want to look at it. */
static struct {
    char user[8192], password[8192], bearer[8192];
} opened;

static inline void take_text(char target[8192], const char *text)
{
    (void)snprintf(target, 8192, "%s", text != NULL ? text : "");
}

resmon_status rm_http_open(const struct rm_http_config *config, struct rm_http **ret_http)
{
    static char client;
    take_text(opened.user, config->user);
    take_text(opened.password, config->password);
    take_text(opened.bearer, config->bearer);
    *ret_http = (struct rm_http *)(void *)&client;
    return RESMON_OK;
}

void rm_http_close(struct rm_http *http)
{
    (void)http;
}

void rm_http_reply_free(struct rm_http_reply *reply)
{
    free(reply->body.text);
    *reply = (struct rm_http_reply){0};
}

/* An answer ends with a byte 0x1e, and is a copy of its size, so that a byte too many is seen. */
resmon_status rm_http_exchange(struct rm_http *http, const struct rm_http_request *request,
                               int64_t deadline_ns, struct rm_http_reply *reply)
{
    static const int codes[] = {200, 200, 200, 400, 401, 403, 404, 413, 500, 503, 0};
    (void)http, (void)deadline_ns;
    PROMISE(strncmp(request->url, "http", 4) == 0);
    PROMISE(strpbrk(request->url, " \r\n") == NULL);
    PROMISE(request->body == NULL || strlen(request->body) == request->length);
    rm_http_reply_free(reply);
    uint8_t kind = 0;
    const uint8_t *end = NULL;
    if (answers_left > 0) {
        kind = *answers_at++;
        answers_left--;
        end = memchr(answers_at, 0x1e, answers_left);
    }
    reply->body.length = end != NULL ? (size_t)(end - answers_at) : answers_left;
    reply->body.text = malloc(reply->body.length + 1);
    PROMISE(reply->body.text != NULL);
    if (reply->body.length > 0) {
        memcpy(reply->body.text, answers_at, reply->body.length);
    }
    reply->body.text[reply->body.length] = '\0';
    reply->body.capacity = reply->body.length + 1;
    answers_at += reply->body.length + (end != NULL ? 1 : 0);
    answers_left -= reply->body.length + (end != NULL ? 1 : 0);
    reply->code = codes[kind % (sizeof codes / sizeof *codes)];
    reply->is_sent = true;
    reply->is_passing = reply->code == 0 || reply->code >= 500;
    return reply->code == 0 ? RESMON_ENET : RESMON_OK;
}

resmon_status rm_http_send(struct rm_http *http, const struct rm_http_request *request,
                           int64_t deadline_ns, struct rm_http_reply *reply)
{
    return rm_http_exchange(http, request, deadline_ns, reply);
}

void rm_http_strike(const struct rm_http *http, char *text)
{
    (void)http, (void)text;
}

const char *rm_http_route(const struct rm_http *http)
{
    (void)http;
    return "";
}

void rm_http_rest(struct rm_http *http)
{
    (void)http;
}

bool rm_http_wait(struct rm_http *http, unsigned attempt, const struct rm_http_reply *reply,
                  int64_t deadline_ns)
{
    (void)http, (void)reply, (void)deadline_ns;
    return attempt < 2 && answers_left > 0;
}

bool rm_http_pause(int64_t wait_ns, int64_t deadline_ns)
{
    (void)wait_ns, (void)deadline_ns;
    return answers_left > 0;
}

#endif
