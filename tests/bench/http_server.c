/* SPDX-License-Identifier: MIT */
#include "http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST_CONNECTIONS 16
#define HEAD_BYTES       16384
#define CHUNK_BYTES      (256 << 10)

/* A request on its way: first its head, then `left` bytes of body. */
struct connection {
    char head[HEAD_BYTES + 1];
    size_t head_length;
    size_t left;
    bool is_in_body;
    struct http_kept now;
};

struct http_server {
    pthread_t thread;
    char url[64];
    struct pollfd polls[MOST_CONNECTIONS + 2]; /* the end, the listener, connections */
    struct connection *connections;
    size_t connection_count;
    int end[2];
    struct http_counts counts;
    long pause_ns;
    bool keeps;
    struct http_kept *kept;
    size_t kept_count;
};

#define RUN                                                               \
    "{\"info\":{\"run_id\":\"0123456789abcdef0123456789abcdef\","         \
    "\"artifact_uri\":\"mlflow-artifacts:/7/0123456789abcdef/artifacts\"" \
    "}}"

static const struct {
    const char *path; /* part of it */
    enum http_call call;
    const char *answer;
} routes[] = {
    {"/runs/log-batch", HTTP_BATCH, "{}"},
    {"/runs/update", HTTP_UPDATE, "{}"},
    {"/runs/create", HTTP_RUN, "{\"run\":" RUN "}"},
    {"/runs/get", HTTP_RUN, "{\"run\":" RUN "}"},
    {"/runs/search", HTTP_RUN, "{\"runs\":[" RUN "]}"},
    {"/experiments/get-by-name", HTTP_EXPERIMENT,
     "{\"experiment\":{\"experiment_id\":\"7\",\"lifecycle_stage\":\"active\"}}"},
    {"/experiments/create", HTTP_EXPERIMENT, "{\"experiment_id\":\"7\"}"},
    {"/", HTTP_OTHER, "{}"},
};

static void need(bool is_fine, const char *what)
{
    if (!is_fine) {
        perror(what);
        exit(2);
    }
}

/* ---- a request -------------------------------------------------------------------------- */

static void answer(struct http_server *server, int fd, const struct connection *connection)
{
    char reply[1024];
    size_t route = 0;
    while (strstr(connection->head, routes[route].path) == NULL) {
        route++;
    }
    server->counts.calls[routes[route].call]++;
    if (server->pause_ns > 0) {
        (void)nanosleep(&(struct timespec){0, server->pause_ns}, NULL);
    }
    int length = snprintf(reply, sizeof reply,
                          "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                          "Content-Length: %zu\r\n\r\n%s",
                          strlen(routes[route].answer), routes[route].answer);
    need(send(fd, reply, (size_t)length, MSG_NOSIGNAL) == length, "bench server: send");
}

static void keep_body(struct connection *connection, const char *bytes, size_t length)
{
    if (connection->now.body != NULL) {
        memcpy(connection->now.body + connection->now.length, bytes, length);
        connection->now.length += length;
    }
}

static void keep_head(struct http_server *server, struct connection *connection)
{
    connection->now = (struct http_kept){0};
    if (server->keeps) {
        const char *path = strchr(connection->head, ' ');
        need(path != NULL, "bench server: no HTTP");
        connection->now.path = strndup(path + 1, strcspn(path + 1, " "));
        connection->now.body = malloc(connection->left + 1);
        connection->now.is_get = strncmp(connection->head, "GET ", 4) == 0;
        need(connection->now.path != NULL && connection->now.body != NULL, "bench server");
    }
}

static void end_request(struct http_server *server, int fd, struct connection *connection)
{
    if (server->keeps) {
        server->kept = realloc(server->kept, (server->kept_count + 1) * sizeof *server->kept);
        need(server->kept != NULL, "bench server");
        server->kept[server->kept_count++] = connection->now;
    }
    answer(server, fd, connection);
    connection->is_in_body = false;
    connection->head_length = 0;
}

/* Whether the head has come to its end, with the start of the body behind it. */
static bool take_head(struct http_server *server, struct connection *connection)
{
    connection->head[connection->head_length] = '\0';
    char *end = strstr(connection->head, "\r\n\r\n");
    if (end == NULL) {
        return false;
    }
    size_t rest = connection->head_length - (size_t)(end + 4 - connection->head);
    const char *length = strcasestr(connection->head, "\r\nContent-Length:");
    connection->left = length != NULL && length < end ? strtoul(length + 17, NULL, 10) : 0;
    connection->is_in_body = true;
    keep_head(server, connection);
    need(rest <= connection->left, "bench server: two requests at once");
    keep_body(connection, end + 4, rest);
    connection->left -= rest;
    return true;
}

/* False: the other side has closed. */
static bool serve(struct http_server *server, int fd, struct connection *connection)
{
    static char chunk[CHUNK_BYTES];
    ssize_t got;
    if (!connection->is_in_body) {
        got = recv(fd, connection->head + connection->head_length,
                   HEAD_BYTES - connection->head_length, 0);
        if (got <= 0) {
            return false;
        }
        connection->head_length += (size_t)got;
        if (!take_head(server, connection)) {
            return true;
        }
    } else {
        got = recv(fd, chunk, connection->left < CHUNK_BYTES ? connection->left : CHUNK_BYTES, 0);
        if (got <= 0) {
            return false;
        }
        keep_body(connection, chunk, (size_t)got);
        connection->left -= (size_t)got;
    }
    if (connection->left == 0) {
        end_request(server, fd, connection);
    }
    return true;
}

/* ---- connections ------------------------------------------------------------------------ */

static void add_connection(struct http_server *server)
{
    int one = 1;
    int fd = accept(server->polls[1].fd, NULL, NULL);
    need(fd >= 0 && server->connection_count < MOST_CONNECTIONS, "bench server: accept");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    server->connections[server->connection_count].head_length = 0;
    server->connections[server->connection_count].is_in_body = false;
    server->polls[2 + server->connection_count++] = (struct pollfd){.fd = fd, .events = POLLIN};
    server->counts.connections++;
}

static void remove_connection(struct http_server *server, size_t index)
{
    (void)close(server->polls[2 + index].fd);
    server->connection_count--;
    server->polls[2 + index] = server->polls[2 + server->connection_count];
    server->connections[index] = server->connections[server->connection_count];
}

static void *run_server(void *context)
{
    struct http_server *server = context;
    while (poll(server->polls, 2 + server->connection_count, -1) > 0 &&
           server->polls[0].revents == 0) {
        for (size_t i = server->connection_count; i-- > 0;) {
            if (server->polls[2 + i].revents != 0 &&
                !serve(server, server->polls[2 + i].fd, &server->connections[i])) {
                remove_connection(server, i);
            }
        }
        if (server->polls[1].revents != 0) {
            add_connection(server);
        }
    }
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------- */

struct http_server *http_server_start(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    struct http_server *server = calloc(1, sizeof *server);
    need(server != NULL, "bench server");
    server->connections = calloc(MOST_CONNECTIONS, sizeof *server->connections);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(fd >= 0 && server->connections != NULL && pipe(server->end) == 0 &&
             bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 16) == 0 &&
             getsockname(fd, (struct sockaddr *)&address, &length) == 0,
         "bench server");
    (void)snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    server->polls[0] = (struct pollfd){.fd = server->end[0], .events = POLLIN};
    server->polls[1] = (struct pollfd){.fd = fd, .events = POLLIN};
    need(pthread_create(&server->thread, NULL, run_server, server) == 0, "bench server: a thread");
    return server;
}

void http_server_stop(struct http_server *server)
{
    need(write(server->end[1], "", 1) == 1, "bench server: its end");
    (void)pthread_join(server->thread, NULL);
    while (server->connection_count > 0) {
        remove_connection(server, server->connection_count - 1);
    }
    for (size_t i = 0; i < server->kept_count; i++) {
        free(server->kept[i].path);
        free(server->kept[i].body);
    }
    (void)close(server->polls[1].fd);
    (void)close(server->end[0]);
    (void)close(server->end[1]);
    free(server->kept);
    free(server->connections);
    free(server);
}

const char *http_server_url(const struct http_server *server)
{
    return server->url;
}

/* The answer to the last request orders these after what the thread did. */
struct http_counts http_server_take_counts(struct http_server *server)
{
    struct http_counts counts = server->counts;
    server->counts = (struct http_counts){0};
    return counts;
}

void http_server_set_pause(struct http_server *server, long pause_ns)
{
    server->pause_ns = pause_ns;
}

void http_server_keep(struct http_server *server, bool keeps)
{
    server->keeps = keeps;
}

const struct http_kept *http_server_kept(const struct http_server *server, size_t *ret_count)
{
    *ret_count = server->kept_count;
    return server->kept;
}
