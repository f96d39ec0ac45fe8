/* SPDX-License-Identifier: MIT */
/*
 * net/http: what goes over the wire, what an answer means, when one tries again, and for how long.
 */
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fault.h"
#include "made_time.h"
#include "net/http.h"
#include "tiny_server.h"

#define MS RM_NS_PER_MS

static struct tiny_server *server;

static void serve(const struct tiny_answer *list, size_t count)
{
    server = calloc(1, sizeof *server);
    assert_non_null(server);
    server->list = list;
    server->list_count = count;
    TINY_START(server);
}

#define SERVE(...)                                        \
    static const struct tiny_answer list[] = __VA_ARGS__; \
    serve(list, sizeof list / sizeof *list)

static void stop_serving(void)
{
    tiny_stop(server);
    free(server);
}

static struct rm_http_config config_of(unsigned retries)
{
    return (struct rm_http_config){
        .url = server->url, .timeout_ns = 20000 * MS, .retries = retries};
}

static struct rm_http *open_client(const struct rm_http_config *config)
{
    struct rm_http *http = NULL;
    assert_ok(rm_http_open(config, &http));
    return http;
}

static const char *url_of(const char *path)
{
    static char url[256];
    (void)snprintf(url, sizeof url, "%s%s", server->url, path);
    return url;
}

static resmon_status ask(struct rm_http *http, const char *method, const char *path,
                         const char *body, struct rm_http_reply *reply)
{
    const struct rm_http_request request = {.method = method,
                                            .url = url_of(path),
                                            .type = body != NULL ? "text/plain" : NULL,
                                            .body = body,
                                            .length = body != NULL ? strlen(body) : 0};
    return rm_http_send(http, &request, RM_DEADLINE_NONE, reply);
}

static int64_t own_deadline_ns;

/* ---- what is said --------------------------------------------------------------------------- */

TEST(requests)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "DELETE", "GET"};
    static const char *const bodies[] = {NULL, "a body", "", NULL, NULL};
    SERVE({{.body = "one"},
           {.code = 404, .body = "two"},
           {.code = 204},
           {.body = ""},
           {.code = 500}});
    const struct rm_http_config config = config_of(0);
    struct rm_http *http = open_client(&config);
    struct rm_http_reply reply = {0};
    for (size_t i = 0; i < 5; i++) {
        char start[64];
        assert_ok(ask(http, methods[i], "/a/b?c=d%20e", bodies[i], &reply));
        assert_int_equal(reply.code, list[i].code != 0 ? list[i].code : 200);
        assert_string_equal(reply.body.text, list[i].body != NULL ? list[i].body : "");
        assert_int_equal(reply.body.length, strlen(reply.body.text));
        assert_int_equal(reply.is_passing, i == 4);
        assert_true(reply.is_sent);
        const struct tiny_request *request = tiny_request(server, i);
        (void)snprintf(start, sizeof start, "%s /a/b?c=d%%20e HTTP/1.1\r\n", methods[i]);
        assert_true(tiny_is(request, start));
        assert_string_equal(request->body, bodies[i] != NULL ? bodies[i] : "");
        assert_int_equal(tiny_has_header(request, "Content-Type: text/plain\r\n"),
                         bodies[i] != NULL);
        assert_true(tiny_has_header(request, "User-Agent: libresmon/"));
        assert_false(tiny_has_header(request, "Expect:"));
        assert_false(tiny_has_header(request, "Authorization:"));
    }
    assert_int_equal(tiny_connections(server), 1);
    rm_http_reply_free(&reply);
    rm_http_reply_free(&reply);
    rm_http_close(http);
    rm_http_close(NULL);
    stop_serving();
}

TEST(credentials)
{
    SERVE({{.code = 401, .body = "who are you"}});
    struct rm_http_reply reply = {0};
    struct rm_http_config config = config_of(0);
    char user[] = "me", password[] = "p:w", token[] = "T0K", header[] = "X-Mine: yes";
    config.user = user;
    config.password = password;
    config.bearer = token;
    config.headers = header;
    struct rm_http *basic = open_client(&config);
    config.user = NULL;
    struct rm_http *bearer = open_client(&config);
    memset(user, '#', 2); /* none of it is needed any more */
    memset(password, '#', 3);
    memset(token, '#', 3);
    memset(header, '#', 11);
    assert_ok(ask(basic, "GET", "/", NULL, &reply));
    assert_int_equal(reply.code, 401);
    assert_ok(ask(bearer, "POST", "/", "x", &reply));
    assert_true(tiny_has_header(tiny_request(server, 0), "Authorization: Basic bWU6cDp3\r\n"));
    assert_true(tiny_has_header(tiny_request(server, 1), "Authorization: Bearer T0K\r\n"));
    assert_true(tiny_has_header(tiny_request(server, 0), "X-Mine: yes\r\n"));
    assert_true(tiny_has_header(tiny_request(server, 1), "X-Mine: yes\r\n"));
    assert_int_equal(tiny_count(server), 2);
    rm_http_reply_free(&reply);
    rm_http_close(basic);
    rm_http_close(bearer);
    stop_serving();
}

/* A server, or what stands before it, that repeats the request in its answer. */
TEST(no_answer_gives_a_secret_away)
{
    SERVE({{.code = 403, .body = "you said Basic dXNlcjpTRUNSRVRwdw== and SECRETpw"},
           {.code = 200, .body = "SECRETpw is a fine name"},
           {.code = 500, .body = "Bearer SECRETtoken, c2VjcmV0 (U0VDUkVUdG9rZW4)"}});
    struct rm_http_reply reply = {0};
    struct rm_http_config config = config_of(0);
    config.user = "user";
    config.password = "SECRETpw";
    struct rm_http *basic = open_client(&config);
    assert_ok(ask(basic, "GET", "/", NULL, &reply));
    assert_string_equal(reply.body.text, "you said Basic ******************== and ********");
    assert_ok(ask(basic, "GET", "/", NULL, &reply));
    assert_string_equal(reply.body.text, "SECRETpw is a fine name");
    char text[] = "of an answer: user:SECRETpw";
    rm_http_strike(basic, text);
    assert_string_equal(text, "of an answer: *************");
    config.user = config.password = NULL;
    config.bearer = "SECRETtoken";
    struct rm_http *bearer = open_client(&config);
    assert_ok(ask(bearer, "GET", "/", NULL, &reply));
    assert_string_equal(reply.body.text, "Bearer ***********, c2VjcmV0 (***************)");
    rm_http_reply_free(&reply);
    rm_http_close(basic);
    rm_http_close(bearer);
    stop_serving();
}

TEST(certificates_that_are_not_there)
{
    struct rm_http *http = NULL;
    struct rm_http_config config = {.url = "https://h", .ca_path = "/nonexistent/ca.pem"};
    assert_status(RESMON_EINVAL, rm_http_open(&config, &http));
    assert_non_null(strstr(resmon_last_error(), "/nonexistent/ca.pem"));
    config = (struct rm_http_config){.url = "https://h", .client_cert = "/nonexistent/me.pem"};
    assert_status(RESMON_EINVAL, rm_http_open(&config, &http));
    assert_null(http);
}

/* An HTTP/1.1 client with a proxy asks for the whole address. */
TEST(a_proxy_of_the_environment)
{
    SERVE({{.body = "proxied"}, {.body = "direct"}});
    struct rm_http_config config = config_of(0);
    struct rm_http_reply reply = {0};
    const struct rm_http_request request = {.method = "GET", .url = "http://far.invalid/x"};
    assert_int_equal(setenv("http_proxy", server->url, 1), 0);
    config.url = "http://far.invalid";
    struct rm_http *http = open_client(&config);
    assert_int_equal(setenv("no_proxy", "127.0.0.1", 1), 0);
    struct rm_http *direct = open_client(&config);
    assert_int_equal(unsetenv("http_proxy"), 0);
    assert_int_equal(unsetenv("no_proxy"), 0);
    assert_ok(rm_http_send(http, &request, RM_DEADLINE_NONE, &reply));
    assert_string_equal(reply.body.text, "proxied");
    assert_true(tiny_is(tiny_request(server, 0), "GET http://far.invalid/x HTTP/1.1\r\n"));
    assert_ok(ask(direct, "GET", "/y", NULL, &reply));
    assert_true(tiny_is(tiny_request(server, 1), "GET /y HTTP/1.1\r\n"));
    rm_http_reply_free(&reply);
    rm_http_close(http);
    rm_http_close(direct);
    stop_serving();
}

/* Whose address libcurl quotes. */
TEST(a_proxy_that_cannot_be_read)
{
    static const char *const proxies[] = {"htp://u:SECRET@127.0.0.1:1", "http://u:SECRET@h:99999",
                                          "http://u:SECRET@[h"};
    const struct rm_http_config how = {.url = "http://127.0.0.1:1", .timeout_ns = 2000 * MS};
    const struct rm_http_request request = {.method = "GET", .url = "http://127.0.0.1:1/x"};
    for (size_t i = 0; i < sizeof proxies / sizeof *proxies; i++) {
        struct rm_http *http = NULL;
        struct rm_http_reply reply = {0};
        assert_int_equal(setenv("http_proxy", proxies[i], 1), 0);
        assert_ok(rm_http_open(&how, &http));
        assert_status(RESMON_ENET, rm_http_exchange(http, &request, INT64_MAX, &reply));
        assert_non_null(strstr(resmon_last_error(), "GET http://127.0.0.1:1/x by the proxy "));
        assert_non_null(strstr(resmon_last_error(), " (http_proxy): "));
        assert_null(strstr(resmon_last_error(), "SECRET"));
        rm_http_reply_free(&reply);
        rm_http_close(http);
    }
    assert_int_equal(unsetenv("http_proxy"), 0);
}

/* ---- again ---------------------------------------------------------------------------------- */

static void check_code(int code, unsigned retries, size_t expected)
{
    const struct tiny_answer answers[] = {{.code = code}, {.code = code}, {.body = "at last"}};
    struct rm_http_reply reply = {0};
    serve(answers, 3);
    const struct rm_http_config config = config_of(retries);
    struct rm_http *http = open_client(&config);
    assert_ok(ask(http, "POST", "/", "x", &reply));
    assert_int_equal(tiny_count(server), expected);
    assert_int_equal(reply.code, expected == 3 ? 200 : code);
    rm_http_reply_free(&reply);
    rm_http_close(http);
    stop_serving();
}

TEST(what_is_tried_again, IN_MADE_TIME)
{
    static const int passing[] = {408, 429, 500, 502, 503, 504};
    static const int lasting[] = {400, 401, 403, 404, 405, 409, 413, 501, 505, 599};
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++) {
        check_code(passing[i], 0, 1);
        check_code(passing[i], 1, 2);
        check_code(passing[i], 7, 3);
    }
    for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++) {
        check_code(lasting[i], 7, 1);
    }
}

TEST(retry_after, IN_MADE_TIME)
{
    SERVE({{.code = 413, .headers = "Retry-After: 1\r\n"},
           {.body = "then"},
           {.code = 503, .headers = "Retry-After: 3600\r\n"},
           {.body = "soon"},
           {.code = 503, .headers = "Retry-After: 3600\r\n"}});
    struct rm_http_reply reply = {0};
    struct rm_http_config config = config_of(2);
    struct rm_http *http = open_client(&config);
    config.ignores_retry_after = true;
    struct rm_http *hasty = open_client(&config);
    int64_t begin_ns = rm_clock_monotonic_ns();
    assert_ok(ask(http, "GET", "/", NULL, &reply));
    assert_string_equal(reply.body.text, "then");
    assert_int_equal(rm_clock_monotonic_ns(), begin_ns + 1000 * MS);
    assert_ok(ask(hasty, "GET", "/", NULL, &reply));
    assert_string_equal(reply.body.text, "soon");
    /* An hour is more than there is: at once, and not in the end. */
    const struct rm_http_request request = {.method = "GET", .url = url_of("/")};
    begin_ns = rm_clock_monotonic_ns();
    assert_ok(rm_http_send(http, &request, begin_ns + 60000 * MS, &reply));
    assert_int_equal(reply.code, 503);
    assert_true(reply.retry_after_ns == 3600 * RM_NS_PER_S);
    assert_int_equal(rm_clock_monotonic_ns(), begin_ns);
    rm_http_reply_free(&reply);
    rm_http_close(http);
    rm_http_close(hasty);
    stop_serving();
}

/* ---- no answer ------------------------------------------------------------------------------ */

static void check_failure(const struct tiny_answer *answer, resmon_status expected, bool is_passing)
{
    struct rm_http_reply reply = {0};
    serve(answer, 1);
    const struct rm_http_config config = config_of(0);
    struct rm_http *http = open_client(&config);
    resmon_status status = ask(http, "GET", "/path?SECRET", NULL, &reply);
    if (status != expected) {
        fail_msg("'%.40s': %s: %s", answer->raw != NULL ? answer->raw : "",
                 resmon_status_name(status), resmon_last_error());
    }
    assert_int_equal(reply.code, 0);
    assert_int_equal(reply.is_passing, is_passing);
    assert_true(reply.is_sent);
    assert_non_null(strstr(resmon_last_error(), url_of("/path")));
    assert_null(strstr(resmon_last_error(), "SECRET"));
    assert_ok(ask(http, "GET", "/", NULL, &reply)); /* as good as new */
    assert_string_equal(reply.body.text, "{}");
    rm_http_reply_free(&reply);
    rm_http_close(http);
    stop_serving();
}

TEST(answers_that_are_none)
{
    static const struct tiny_answer cut[] = {
        {.hangs = true, .closes = true},
        {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", .closes = true},
        {.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhalf", .closes = true},
        {.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nha", .closes = true},
        {.raw = "HTTP/1.1 ", .closes = true},
    };
    static const struct tiny_answer others[] = {
        {.raw = "\x16\x03\x01\x02", .closes = true},
        {.raw = "no HTTP at all\r\n\r\n", .closes = true},
    };
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        check_failure(&cut[i], RESMON_ENET, true);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        check_failure(&others[i], RESMON_EFORMAT, false);
    }
}

TEST(a_reply_without_end)
{
    size_t length = RM_HTTP_LARGEST_REPLY + 4096;
    char *raw = malloc(length);
    assert_non_null(raw);
    memset(raw, 'x', length);
    int head = snprintf(raw, length, "HTTP/1.1 200 OK\r\n\r\n");
    raw[head] = 'x';
    const struct tiny_answer answer = {.raw = raw, .raw_length = length, .closes = true};
    check_failure(&answer, RESMON_EFORMAT, false);
    free(raw);
}

TEST(bytes_of_any_kind)
{
    SERVE({{.raw = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\na\0b\xff\n", .raw_length = 43}});
    const struct rm_http_config config = config_of(0);
    struct rm_http *http = open_client(&config);
    struct rm_http_reply reply = {0};
    assert_ok(ask(http, "GET", "/", NULL, &reply));
    assert_int_equal(reply.body.length, 5);
    assert_memory_equal(reply.body.text, "a\0b\xff\n", 6);
    rm_http_reply_free(&reply);
    rm_http_close(http);
    stop_serving();
}

TEST(nobody_listens)
{
    /* The port is taken, so that nobody else comes to listen there. */
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int taken = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(taken, (struct sockaddr *)&address, length), 0);
    assert_int_equal(getsockname(taken, (struct sockaddr *)&address, &length), 0);
    char url[64];
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", (int)ntohs(address.sin_port));
    const struct rm_http_config config = {.url = url, .timeout_ns = 20000 * MS};
    struct rm_http *http = open_client(&config);
    struct rm_http_reply reply = {0};
    const struct rm_http_request request = {.method = "GET", .url = url};
    assert_status(RESMON_ENET, rm_http_send(http, &request, RM_DEADLINE_NONE, &reply));
    assert_false(reply.is_sent);
    assert_true(reply.is_passing);
    const struct rm_http_request others[] = {{.method = "GET", .url = "file:///etc/passwd"},
                                             {.method = "GET", .url = "http://"},
                                             {.method = "GET", .url = "http://a b/"}};
    for (size_t i = 0; i < 3; i++) {
        assert_status(RESMON_EINVAL, rm_http_send(http, &others[i], RM_DEADLINE_NONE, &reply));
        assert_false(reply.is_passing);
    }
    rm_http_reply_free(&reply);
    rm_http_close(http);
    (void)close(taken);
}

/* While a run goes on a server may come back; at its end nobody waits for one that is not there. */
TEST(nobody_listens_at_the_end, IN_MADE_TIME)
{
    const struct rm_http_config config = {
        .url = "http://127.0.0.1:1", .timeout_ns = 20000 * MS, .retries = 7, .backoff_s = 2};
    const struct rm_http_request request = {.method = "GET", .url = config.url};
    struct rm_http *http = open_client(&config);
    struct rm_http_reply reply = {0};
    int64_t before_ns = rm_clock_monotonic_ns();
    assert_status(RESMON_ENET, rm_http_send(http, &request, before_ns + 30000 * MS, &reply));
    assert_true(reply.is_unreachable);
    assert_true(rm_clock_monotonic_ns() - before_ns > 5000 * MS);
    before_ns = rm_clock_monotonic_ns();
    own_deadline_ns = before_ns + 30000 * MS;
    rm_deadline_follow(&own_deadline_ns);
    assert_status(RESMON_ENET, rm_http_send(http, &request, RM_DEADLINE_NONE, &reply));
    assert_true(rm_clock_monotonic_ns() - before_ns <= 1100 * MS);
    before_ns = rm_clock_monotonic_ns();
    assert_status(RESMON_ENET, rm_http_send(http, &request, RM_DEADLINE_NONE, &reply));
    assert_true(rm_clock_monotonic_ns() - before_ns <= 100 * MS); /* not a second for each */
    rm_deadline_follow(NULL);
    rm_http_reply_free(&reply);
    rm_http_close(http);
}

/* ---- time ----------------------------------------------------------------------------------- */

TEST(limits_of_time)
{
    SERVE({{.hangs = true}, {.hangs = true}, {.hangs = true}});
    struct rm_http_config config = config_of(7);
    config.timeout_ns = 150 * MS;
    struct rm_http *http = open_client(&config);
    struct rm_http_reply reply = {0};
    const struct rm_http_request request = {.method = "GET", .url = url_of("/")};
    int64_t begin_ns = rm_clock_monotonic_ns();
    assert_status(RESMON_ETIMEDOUT, rm_http_exchange(http, &request, RM_DEADLINE_NONE, &reply));
    int64_t took_ns = rm_clock_monotonic_ns() - begin_ns;
    assert_true(took_ns >= 140 * MS && took_ns < 60000 * MS);
    assert_true(reply.is_passing);
    assert_non_null(strstr(resmon_last_error(), "no answer within"));
    assert_status(RESMON_ETIMEDOUT, rm_http_exchange(http, &request, 1, &reply));
    assert_non_null(strstr(resmon_last_error(), "no time was left"));
    assert_false(reply.is_sent);
    assert_in_range(tiny_count(server), 0, 1); /* the first, if it came so far in its time */
    rm_http_reply_free(&reply);
    rm_http_close(http);
    stop_serving();
}

static void *set_deadline(void *unused)
{
    (void)unused;
    while (tiny_count(server) == 0) {
        (void)sched_yield();
    }
    __atomic_store_n(&own_deadline_ns, rm_clock_monotonic_ns() + 100 * MS, __ATOMIC_RELAXED);
    return NULL;
}

static void *set_late_deadline(void *unused)
{
    (void)rm_http_pause(300 * MS, RM_DEADLINE_NONE);
    __atomic_store_n(&own_deadline_ns, rm_clock_monotonic_ns() + 200000 * MS, __ATOMIC_RELAXED);
    return unused;
}

/* The monitor stops while a request waits for its answer. */
TEST(a_deadline_that_comes_meanwhile)
{
    SERVE({{.hangs = true}});
    const struct rm_http_config config = config_of(7);
    struct rm_http *http = open_client(&config);
    struct rm_http_reply reply = {0};
    pthread_t other;
    own_deadline_ns = RM_DEADLINE_NONE;
    rm_deadline_follow(&own_deadline_ns);
    assert_int_equal(pthread_create(&other, NULL, set_deadline, NULL), 0);
    int64_t begin_ns = rm_clock_monotonic_ns();
    assert_status(RESMON_ETIMEDOUT, ask(http, "GET", "/", NULL, &reply));
    assert_true(rm_clock_monotonic_ns() - begin_ns < 60000 * MS);
    assert_true(reply.is_passing && reply.is_sent);
    assert_int_equal(tiny_count(server), 1);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_false(rm_http_pause(1000 * MS, RM_DEADLINE_NONE));
    assert_false(rm_http_wait(http, 1, &reply, RM_DEADLINE_NONE));
    rm_deadline_follow(NULL);
    assert_true(rm_http_pause(MS, RM_DEADLINE_NONE));
    assert_true(rm_http_wait(http, 1, &reply, RM_DEADLINE_NONE));
    assert_true(rm_http_wait(http, 7, &reply, RM_DEADLINE_NONE));
    assert_false(rm_http_wait(http, 8, &reply, RM_DEADLINE_NONE));
    rm_http_reply_free(&reply);
    rm_http_close(http);
    stop_serving();
}

/* A pause for a server that wants one must not use up what the end needs. */
TEST(a_new_deadline_ends_a_pause)
{
    pthread_t other;
    own_deadline_ns = RM_DEADLINE_NONE;
    rm_deadline_follow(&own_deadline_ns);
    assert_int_equal(pthread_create(&other, NULL, set_late_deadline, NULL), 0);
    int64_t begin_ns = rm_clock_monotonic_ns();
    assert_false(rm_http_pause(300000 * MS, RM_DEADLINE_NONE));
    assert_true(rm_clock_monotonic_ns() - begin_ns < 60000 * MS);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_true(rm_http_pause(MS, RM_DEADLINE_NONE)); /* and in the end there is time */
    rm_deadline_follow(NULL);
}

/* Between the calls of a sink there is no descriptor that a program could close and use. */
TEST(nothing_is_kept_open)
{
    SERVE({{.body = "one"}, {.body = "two"}});
    int before = dup(0);
    const struct rm_http_config config = config_of(0);
    struct rm_http *http = open_client(&config);
    struct rm_http_reply reply = {0};
    for (int i = 0; i < 2; i++) {
        int now = dup(0); /* the lowest that is free */
        assert_int_equal(now, before + 1);
        assert_int_equal(close(now), 0);
        assert_ok(ask(http, "GET", "/", NULL, &reply));
        rm_http_rest(http);
    }
    rm_http_reply_free(&reply);
    rm_http_close(http);
    assert_int_equal(close(before), 0);
    stop_serving();
}

/* ---- a program that closes what it does not know -------------------------------------------- */

#define MOST_FDS 256

static bool was_open[MOST_FDS], is_taken[MOST_FDS];
static int own_file = -1;

/* The server's ends of connections: they are of its port. */
static bool is_of_server(int fd)
{
    struct sockaddr_in address = {0};
    socklen_t length = sizeof address;
    return getsockname(fd, (struct sockaddr *)&address, &length) == 0 &&
           address.sin_family == AF_INET &&
           ntohs(address.sin_port) == strtoul(strrchr(server->url, ':') + 1, NULL, 10);
}

/* In the middle of an exchange all that the client has open becomes a file of the program. */
static void take_all(void *context, const struct tiny_request *request, struct tiny_answer *answer)
{
    size_t *taken = context;
    (void)request;
    answer->body = "done";
    for (int fd = 0; fd < MOST_FDS && *taken == 0; fd++) {
        if (!was_open[fd] && fcntl(fd, F_GETFD) >= 0 && !is_of_server(fd)) {
            is_taken[fd] = dup2(own_file, fd) == fd;
        }
    }
    (*taken)++;
}

static size_t count_taken(void)
{
    size_t count = 0;
    struct stat theirs, found;
    bool taken[MOST_FDS];
    assert_int_equal(fstat(own_file, &theirs), 0);
    (void)pthread_mutex_lock(&server->lock);
    memcpy(taken, is_taken, sizeof taken);
    (void)pthread_mutex_unlock(&server->lock);
    for (int fd = 0; fd < MOST_FDS; fd++) {
        if (taken[fd]) {
            assert_int_equal(fstat(fd, &found), 0); /* it is open, and the program's */
            assert_int_equal(found.st_ino, theirs.st_ino);
            assert_int_equal(found.st_size, 0);
            count++;
        }
    }
    return count;
}

TEST(what_the_program_closed_meanwhile)
{
    char path[] = "http-XXXXXX";
    size_t taken = 0;
    SERVE({{.body = "unused"}});
    server->answer = take_all;
    server->context = &taken;
    own_file = mkstemp(path);
    assert_true(own_file >= 0 && unlink(path) == 0);
    for (int fd = 0; fd < MOST_FDS; fd++) {
        was_open[fd] = fcntl(fd, F_GETFD) >= 0;
        is_taken[fd] = false;
    }
    const struct rm_http_config config = config_of(0);
    struct rm_http *http = open_client(&config);
    struct rm_http_reply reply = {0};
    assert_status(RESMON_ENET, ask(http, "POST", "/", "a body", &reply));
    if (strstr(resmon_last_error(), "the program closed the connection") == NULL) {
        fail_msg("no connection was closed: %s", resmon_last_error());
    }
    assert_true(reply.is_passing && reply.is_sent && reply.code == 0);
    assert_true(count_taken() >= 2);
    assert_ok(ask(http, "POST", "/", "a body", &reply)); /* over a new one */
    assert_string_equal(reply.body.text, "done");
    assert_true(count_taken() >= 2);
    rm_http_reply_free(&reply);
    rm_http_close(http);
    assert_true(count_taken() >= 2);
    for (int fd = 0; fd < MOST_FDS; fd++) {
        if (is_taken[fd]) {
            (void)close(fd);
        }
    }
    (void)close(own_file);
    stop_serving();
}

/* ---- redirects ------------------------------------------------------------------------------ */

static void go_round(void *context, const struct tiny_request *request, struct tiny_answer *answer)
{
    (void)request;
    answer->code = 302;
    answer->headers = context;
}

TEST(redirects_that_are_refused)
{
    static char *const headers[] = {"Location: /again\r\n", "Location: file:///etc/passwd\r\n",
                                    "Location: ftp://127.0.0.1/x\r\n"};
    for (size_t i = 0; i < 3; i++) {
        struct rm_http_reply reply = {0};
        server = calloc(1, sizeof *server);
        server->answer = go_round;
        server->context = headers[i];
        TINY_START(server);
        const struct rm_http_config config = config_of(3);
        struct rm_http *http = open_client(&config);
        assert_true(ask(http, "GET", "/", NULL, &reply) < RESMON_OK);
        assert_false(reply.is_passing);
        assert_int_equal(tiny_count(server), i == 0 ? 6 : 1);
        assert_true(reply.body.length <= 2); /* of an answer: nothing else was read */
        rm_http_reply_free(&reply);
        rm_http_close(http);
        stop_serving();
    }
}

/* ---- what must not be repeated unasked ------------------------------------------------------ */

/* The server closes a kept connection; libcurl would send the request once more on its own. */
TEST(a_single_request_has_its_own_connection)
{
    serve(NULL, 0);
    const struct rm_http_config config = config_of(0);
    struct rm_http *http = open_client(&config);
    struct rm_http_reply reply = {0};
    const struct rm_http_request single = {
        .method = "POST", .url = url_of("/"), .body = "x", .length = 1, .is_single = true};
    for (int i = 0; i < 3; i++) {
        assert_ok(rm_http_exchange(http, &single, RM_DEADLINE_NONE, &reply));
    }
    assert_int_equal(tiny_connections(server), 3);
    assert_int_equal(tiny_count(server), 3);
    rm_http_reply_free(&reply);
    rm_http_close(http);
    stop_serving();
}

/* ---- faults --------------------------------------------------------------------------------- */

TEST(a_net_that_fails)
{
    serve(NULL, 0);
    const struct rm_http_config config = config_of(2);
    struct rm_http *http = open_client(&config);
    struct rm_http_reply reply = {0};
    rm_fault_arm(RM_FAULT_NET, 0);
    assert_ok(ask(http, "GET", "/", NULL, &reply)); /* the second time */
    assert_int_equal(rm_fault_calls(RM_FAULT_NET), 2);
    rm_fault_arm(RM_FAULT_NET, -1);
    assert_int_equal(tiny_count(server), 1);
    rm_http_reply_free(&reply);
    rm_http_close(http);
    stop_serving();
}

TEST(any_allocation_may_fail)
{
    serve(NULL, 0);
    struct rm_http_config config = config_of(0);
    config.headers = "X-Mine: yes";
    int64_t live = rm_fault_live(0);
    resmon_status status = RESMON_ENOMEM;
    int64_t k = 0;
    for (; status != RESMON_OK && k < 100; k++) {
        struct rm_http *http = NULL;
        struct rm_http_reply reply = {0};
        rm_fault_arm(RM_FAULT_ALLOC, k);
        status = rm_http_open(&config, &http);
        status = status == RESMON_OK ? ask(http, "GET", "/", NULL, &reply) : status;
        rm_fault_arm(RM_FAULT_ALLOC, -1);
        if (status != RESMON_OK) {
            assert_status(RESMON_ENOMEM, status);
        }
        if (http != NULL) {
            assert_ok(ask(http, "GET", "/", NULL, &reply));
            assert_string_equal(reply.body.text, "{}");
        }
        rm_http_reply_free(&reply);
        rm_http_close(http);
        assert_int_equal(rm_fault_live(0), live);
    }
    assert_true(k > 2 && status == RESMON_OK);
    stop_serving();
}

TEST_FILE(.missing = missing_http);
