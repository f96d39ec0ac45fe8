/* SPDX-License-Identifier: MIT */
/*
 * net/http in a process that goes on to other things while a request is on its way: that forks,
 * executes, and exits.
 */
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/http.h"
#include "tiny_server.h"

/* A server that never answers. */
static int listener;
static char url[64];
static in_port_t port;

static void listen_on_loopback(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    port = address.sin_port;
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d/", (int)ntohs(port));
}

static resmon_status open_client(struct rm_http **ret_http)
{
    const struct rm_http_config how = {.url = url, .timeout_ns = 20 * RM_NS_PER_S};
    return rm_http_open(&how, ret_http);
}

static resmon_status ask(struct rm_http *http)
{
    const struct rm_http_request request = {.method = "GET", .url = url};
    struct rm_http_reply reply = {0};
    resmon_status status = rm_http_exchange(http, &request, INT64_MAX, &reply);
    rm_http_reply_free(&reply);
    return status;
}

/* ---- exit ------------------------------------------------------------------------------- */

static struct rm_http *late;

/* Registered before libcurl is loaded, and so run after what ends the exchanges. */
static void ask_late(void)
{
    _exit(late != NULL && ask(late) == RESMON_ETIMEDOUT ? 0 : 1);
}

static int status_of(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The libraries below libcurl may have tidied up by then. */
TEST(nothing_is_asked_once_the_program_has_ended)
{
    pid_t child = fork();
    if (child == 0) {
        (void)atexit(ask_late);
        resmon_status status = open_client(&late);
        exit(status == RESMON_OK ? 0 : 1);
    }
    int status = status_of(child);
    assert_int_equal(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(accept(listener, NULL, NULL), -1);
    assert_int_equal(fcntl(listener, F_SETFL, 0), 0);
    assert_int_equal(status, 0);
}

/* ---- a request on its way --------------------------------------------------------------- */

static void *ask_on_a_thread(void *http)
{
    resmon_status status = ask(http);
    return status == RESMON_ENET ? http : NULL;
}

/* Of this process, to the server. */
static int find_connection(void)
{
    for (int fd = 3; fd < 256; fd++) {
        struct sockaddr_in peer;
        socklen_t length = sizeof peer;
        if (getpeername(fd, (struct sockaddr *)&peer, &length) == 0 && peer.sin_family == AF_INET &&
            peer.sin_port == port) {
            return fd;
        }
    }
    return -1;
}

TEST(a_request_does_not_bind_children)
{
    struct rm_http *http = NULL;
    pthread_t thread;
    void *result;
    assert_ok(open_client(&http));
    assert_int_equal(pthread_create(&thread, NULL, ask_on_a_thread, http), 0);
    int connection = accept(listener, NULL, NULL);
    char byte;
    assert_int_equal(read(connection, &byte, 1), 1);
    assert_true((fcntl(find_connection(), F_GETFD) & FD_CLOEXEC) != 0);
    /* One that is bound waits for 2 s each time; on a busy machine others may take as long now and
     * then. */
    int64_t least_ns = INT64_MAX;
    for (int i = 0; i < 8 && least_ns >= 3 * RM_NS_PER_S / 2; i++) {
        int64_t begin_ns = rm_clock_monotonic_ns();
        pid_t child = fork();
        if (child == 0) {
            exit(0);
        }
        assert_int_equal(status_of(child), 0);
        int64_t took_ns = rm_clock_monotonic_ns() - begin_ns;
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    assert_true(least_ns < 3 * RM_NS_PER_S / 2);
    (void)close(connection);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, http);
    rm_http_close(http);
}

/* A listener on loopback and libcurl, of which a child learns: here it would stay loaded. */
static const char *missing(void)
{
    struct rm_http *none = NULL;
    const struct rm_http_config how = {.url = "http://h", .client_cert = "/nonexistent"};
    if (!tiny_has_loopback()) {
        return "there is no loopback interface";
    }
    listen_on_loopback();
    pid_t child = fork();
    if (child == 0) {
        _exit(rm_http_open(&how, &none) == RESMON_ENOTSUP ? 77 : 0);
    }
    return status_of(child) == 77 ? "there is no libcurl" : NULL;
}

TEST_FILE(.missing = missing);
