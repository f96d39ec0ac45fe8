/* SPDX-License-Identifier: MIT */
/*
 * An HTTP server in a thread of the test: it keeps what it was asked, and answers by a function of
 * the test, or from a list; any bytes, none at all, or never.
 * TINY_START() starts one in a test, which is skipped where this machine has no loopback.
 */
#ifndef RESMON_TESTS_TINY_SERVER_H
#define RESMON_TESTS_TINY_SERVER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/http.h"

/* Why nothing can be asked over HTTP. */
static inline const char *missing_http(void)
{
    struct rm_http *http = NULL;
    const struct rm_http_config how = {.url = "http://h"};
    if (rm_http_open(&how, &http) != RESMON_OK) {
        return resmon_last_error();
    }
    rm_http_close(http);
    return NULL;
}

#define TINY_REQUESTS    512 /* that are kept: the last ones */
#define TINY_CONNECTIONS 32

struct tiny_request {
    char *text; /* as it came, with a '\0' behind */
    char *body;
    size_t length; /* of the body */
};

struct tiny_answer {
    int code;            /* 0: 200 */
    const char *headers; /* more of them, each with its "\r\n" */
    const char *body;
    const char *raw; /* instead of all that */
    size_t raw_length;
    bool closes; /* the connection, behind the answer */
    bool hangs;  /* there is no answer; with `closes`: nor a wait */
};

struct tiny_connection {
    int fd;
    char *text;
    size_t length, room;
};

struct tiny_server {
    char url[64];
    int listener, wake[2];
    pthread_t thread;
    void (*answer)(void *context, const struct tiny_request *request, struct tiny_answer *answer);
    void *context;
    const struct tiny_answer *list; /* without `answer`: one by one; then code 200 and "{}" */
    size_t list_count;

    pthread_mutex_t lock; /* guards what follows */
    struct tiny_request requests[TINY_REQUESTS];
    size_t count, connections;

    struct tiny_connection connected[TINY_CONNECTIONS]; /* the thread's own */
};

/* ---- inside ----------------------------------------------------------------------------- */

static inline void tiny_write(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t done = send(fd, bytes, length, MSG_NOSIGNAL);
        if (done <= 0) {
            return;
        }
        bytes += done;
        length -= (size_t)done;
    }
}

static inline void tiny_drop(struct tiny_connection *connection)
{
    (void)close(connection->fd);
    free(connection->text);
    *connection = (struct tiny_connection){.fd = -1};
}

static inline void tiny_say(struct tiny_connection *connection, const struct tiny_answer *answer)
{
    char head[1024];
    if (answer->raw != NULL) {
        size_t length = answer->raw_length > 0 ? answer->raw_length : strlen(answer->raw);
        tiny_write(connection->fd, answer->raw, length);
    } else if (!answer->hangs) {
        const char *body = answer->body != NULL ? answer->body : "";
        int length =
            snprintf(head, sizeof head, "HTTP/1.1 %d Said\r\nContent-Length: %zu\r\n%s\r\n",
                     answer->code != 0 ? answer->code : 200, strlen(body),
                     answer->headers != NULL ? answer->headers : "");
        tiny_write(connection->fd, head, (size_t)length);
        tiny_write(connection->fd, body, strlen(body));
    }
    if (answer->closes) {
        tiny_drop(connection);
    }
}

/* Keeps a request, and finds out what is answered. */
static inline struct tiny_answer tiny_take(struct tiny_server *server, struct tiny_request request)
{
    struct tiny_answer answer = {.body = "{}"};
    (void)pthread_mutex_lock(&server->lock);
    size_t number = server->count;
    if (server->answer != NULL) {
        server->answer(server->context, &request, &answer);
    } else if (number < server->list_count) {
        answer = server->list[number];
    }
    free(server->requests[number % TINY_REQUESTS].text);
    server->requests[number % TINY_REQUESTS] = request;
    server->count++;
    (void)pthread_mutex_unlock(&server->lock);
    return answer;
}

static inline size_t tiny_body_length(const char *head)
{
    for (const char *at = strchr(head, '\n'); at != NULL; at = strchr(at + 1, '\n')) {
        if (strncasecmp(at + 1, "Content-Length:", 15) == 0) {
            return (size_t)strtoul(at + 16, NULL, 10);
        }
    }
    return 0;
}

/* True while there may be another whole request. */
static inline bool tiny_next(struct tiny_server *server, struct tiny_connection *connection)
{
    char *end =
        connection->fd >= 0 && connection->length > 0 ? strstr(connection->text, "\r\n\r\n") : NULL;
    if (end == NULL) {
        return false;
    }
    size_t head = (size_t)(end - connection->text) + 4;
    size_t body = tiny_body_length(connection->text);
    if (connection->length < head + body) {
        return false;
    }
    struct tiny_request request = {.text = malloc(head + body + 1), .length = body};
    memcpy(request.text, connection->text, head + body);
    request.text[head + body] = '\0';
    request.body = request.text + head;
    connection->length -= head + body;
    memmove(connection->text, connection->text + head + body, connection->length + 1);
    struct tiny_answer answer = tiny_take(server, request);
    tiny_say(connection, &answer);
    return connection->fd >= 0;
}

static inline void tiny_read(struct tiny_server *server, struct tiny_connection *connection)
{
    if (connection->room < connection->length + 65536 + 1) {
        connection->room = 2 * connection->room + 65536 + 1;
        connection->text = realloc(connection->text, connection->room);
    }
    ssize_t done = recv(connection->fd, connection->text + connection->length, 65536, 0);
    if (done <= 0) {
        tiny_drop(connection);
        return;
    }
    connection->length += (size_t)done;
    connection->text[connection->length] = '\0';
    while (tiny_next(server, connection)) {
    }
}

static inline void tiny_accept(struct tiny_server *server)
{
    int on = 1;
    int fd = accept(server->listener, NULL, NULL);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (size_t i = 0; i < TINY_CONNECTIONS; i++) {
        if (fd >= 0 && server->connected[i].fd < 0) {
            server->connected[i].fd = fd;
            (void)pthread_mutex_lock(&server->lock);
            server->connections++;
            (void)pthread_mutex_unlock(&server->lock);
            return;
        }
    }
    (void)close(fd);
}

static inline void *tiny_run(void *context)
{
    struct tiny_server *server = context;
    for (;;) {
        struct pollfd fds[TINY_CONNECTIONS + 2];
        for (size_t i = 0; i < TINY_CONNECTIONS; i++) {
            fds[i] = (struct pollfd){.fd = server->connected[i].fd, .events = POLLIN};
        }
        fds[TINY_CONNECTIONS] = (struct pollfd){.fd = server->listener, .events = POLLIN};
        fds[TINY_CONNECTIONS + 1] = (struct pollfd){.fd = server->wake[0], .events = POLLIN};
        if (poll(fds, TINY_CONNECTIONS + 2, -1) < 0) {
            continue;
        }
        if (fds[TINY_CONNECTIONS + 1].revents != 0) {
            return NULL;
        }
        for (size_t i = 0; i < TINY_CONNECTIONS; i++) {
            if (fds[i].fd >= 0 && fds[i].revents != 0) {
                tiny_read(server, &server->connected[i]);
            }
        }
        if (fds[TINY_CONNECTIONS].revents != 0) {
            tiny_accept(server);
        }
    }
}

/* ---- for tests -------------------------------------------------------------------------- */

/* With `answer` or `list` set, or none of them; false: there is no network here. */
static inline bool tiny_start(struct tiny_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (size_t i = 0; i < TINY_CONNECTIONS; i++) {
        server->connected[i].fd = -1;
    }
    (void)pthread_mutex_init(&server->lock, NULL);
    if (server->listener < 0 || pipe(server->wake) != 0 ||
        bind(server->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(server->listener, 64) != 0 ||
        getsockname(server->listener, (struct sockaddr *)&address, &length) != 0) {
        return false;
    }
    (void)snprintf(server->url, sizeof server->url, "http://127.0.0.1:%u",
                   (unsigned)ntohs(address.sin_port));
    return pthread_create(&server->thread, NULL, tiny_run, server) == 0;
}

static inline void tiny_stop(struct tiny_server *server)
{
    (void)!write(server->wake[1], "x", 1);
    (void)pthread_join(server->thread, NULL);
    for (size_t i = 0; i < TINY_CONNECTIONS; i++) {
        if (server->connected[i].fd >= 0) {
            tiny_drop(&server->connected[i]);
        }
    }
    for (size_t i = 0; i < TINY_REQUESTS; i++) {
        free(server->requests[i].text);
    }
    (void)close(server->listener);
    (void)close(server->wake[0]);
    (void)close(server->wake[1]);
    (void)pthread_mutex_destroy(&server->lock);
}

static inline size_t tiny_count(struct tiny_server *server)
{
    (void)pthread_mutex_lock(&server->lock);
    size_t count = server->count;
    (void)pthread_mutex_unlock(&server->lock);
    return count;
}

static inline size_t tiny_connections(struct tiny_server *server)
{
    (void)pthread_mutex_lock(&server->lock);
    size_t count = server->connections;
    (void)pthread_mutex_unlock(&server->lock);
    return count;
}

/* A request that was answered already; it stays as it is while no other is made. */
static inline const struct tiny_request *tiny_request(struct tiny_server *server, size_t index)
{
    (void)pthread_mutex_lock(&server->lock);
    const struct tiny_request *request =
        index < server->count ? &server->requests[index % TINY_REQUESTS] : NULL;
    (void)pthread_mutex_unlock(&server->lock);
    return request;
}

/* Whether it begins so: "POST /a/b". */
static inline bool tiny_is(const struct tiny_request *request, const char *start)
{
    return strncmp(request->text, start, strlen(start)) == 0;
}

/* Whether there is such a line in its head: "Content-Type: text/plain"; with any value: "Expect:".
 */
static inline bool tiny_has_header(const struct tiny_request *request, const char *line)
{
    char wanted[8192];
    (void)snprintf(wanted, sizeof wanted, "\r\n%s", line);
    const char *found = strstr(request->text, wanted);
    return found != NULL && found < request->body;
}

/* Whether there is a way to it: asked without sending anything. */
static inline bool tiny_has_loopback(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool has = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    (void)close(fd);
    return has;
}

#define TINY_START(server)                                                      \
    do {                                                                        \
        if (!tiny_has_loopback()) {                                             \
            print_message("skipped: this machine has no loopback interface\n"); \
            skip();                                                             \
        }                                                                       \
        assert_true(tiny_start(server));                                        \
    } while (0)

#endif
