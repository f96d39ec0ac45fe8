/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE              /* SOCK_CLOEXEC */
#define CURL_DISABLE_DEPRECATION /* use options that all versions of libcurl have */
#include "net/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <resmon/version.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/fault.h"
#include "base/fork.h"
#include "base/libc.h"
#include "base/status.h"
#include "base/text.h"
#include "base/thread.h"
#include "library_files.inc"
#include "net/address.h"
#include "net/http_program.h"
#include "os/kept.h"
#include "os/library.h"
#include "os/program.h"

#define CONNECT_NS     (10 * RM_NS_PER_S)
#define LOOK_ROUND_MS  100 /* interval between checks for a new deadline or an exit */
#define MOST_REDIRECTS 5
#define LONGEST_WAIT_S 120.0

/* ---- libcurl ---------------------------------------------------------------------------- */

/* Functions of libcurl, with the types of its own declarations. */
static struct {
    CURLcode (*global_init)(long flags);
    CURL *(*easy_init)(void);
    CURL *(*easy_duphandle)(CURL *easy);
    CURLcode (*easy_setopt)(CURL *easy, CURLoption option, ...);
    CURLcode (*easy_getinfo)(CURL *easy, CURLINFO info, ...);
    const char *(*easy_strerror)(CURLcode code);
    void (*easy_cleanup)(CURL *easy);
    CURLM *(*multi_init)(void);
    CURLMcode (*multi_add_handle)(CURLM *multi, CURL *easy);
    CURLMcode (*multi_remove_handle)(CURLM *multi, CURL *easy);
    CURLMcode (*multi_perform)(CURLM *multi, int *running);
    CURLMcode (*multi_poll)(CURLM *multi, struct curl_waitfd fds[], unsigned count, int timeout_ms,
                            int *ready);
    CURLMsg *(*multi_info_read)(CURLM *multi, int *left);
    CURLMcode (*multi_cleanup)(CURLM *multi);
    struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
    void (*slist_free_all)(struct curl_slist *list);
} curl;

static const struct rm_library_function functions[] = {
    {"curl_global_init", &curl.global_init},
    {"curl_easy_init", &curl.easy_init},
    {"curl_easy_duphandle", &curl.easy_duphandle},
    {"curl_easy_setopt", &curl.easy_setopt},
    {"curl_easy_getinfo", &curl.easy_getinfo},
    {"curl_easy_strerror", &curl.easy_strerror},
    {"curl_easy_cleanup", &curl.easy_cleanup},
    {"curl_multi_init", &curl.multi_init},
    {"curl_multi_add_handle", &curl.multi_add_handle},
    {"curl_multi_remove_handle", &curl.multi_remove_handle},
    {"curl_multi_perform", &curl.multi_perform},
    {"curl_multi_poll", &curl.multi_poll},
    {"curl_multi_info_read", &curl.multi_info_read},
    {"curl_multi_cleanup", &curl.multi_cleanup},
    {"curl_slist_append", &curl.slist_append},
    {"curl_slist_free_all", &curl.slist_free_all},
};

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static char load_error[256]; /* "": loaded */

/* Number of exchanges in progress, and whether the program is exiting.  Both are atomic.  Each
 * side writes its own value before it reads the other one, so no exchange begins unseen. */
static int active;
static bool is_exiting;
/* Exchanges in progress on this thread: a signal handler may call exit() during an exchange. */
static RM_THREAD_LOCAL int own_active;

static bool begin_exchange(void)
{
    (void)__atomic_add_fetch(&active, 1, __ATOMIC_SEQ_CST);
    own_active++;
    return !__atomic_load_n(&is_exiting, __ATOMIC_SEQ_CST);
}

static void end_exchange(void)
{
    own_active--;
    (void)__atomic_sub_fetch(&active, 1, __ATOMIC_SEQ_CST);
}

/* In the child of a fork, only exchanges of the forking thread remain. */
static void forget_exchanges(void)
{
    RM_STORE(&active, own_active);
}

static const struct rm_fork_part at_fork = {.in_child = forget_exchanges};

/* The libraries below libcurl clean up in exit handlers.  No exchange may use them from then on.
 * This handler is registered after theirs, and so runs before them. */
static void end_exchanges(void)
{
    const struct timespec pause = {0, 5 * RM_NS_PER_MS};
    __atomic_store_n(&is_exiting, true, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 400 && __atomic_load_n(&active, __ATOMIC_SEQ_CST) > own_active; i++) {
        (void)nanosleep(&pause, NULL);
    }
}

static void load(void)
{
    static const char *const names[] = {RM_CURL_FILE, "libcurl-gnutls.so.4", NULL};
    static const struct rm_library library = {
        .what = "libcurl (7.66 or later; Debian: libcurl4)",
        .names = names,
        .functions = functions,
        .function_count = RM_ARRAY_LEN(functions),
    };
    if (rm_library_load(&library) != RESMON_OK) {
        (void)rm_text_set(load_error, sizeof load_error, resmon_last_error());
        return;
    }
    if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        (void)snprintf(load_error, sizeof load_error, "libcurl cannot be initialized");
        return;
    }
    rm_fork_take_part(RM_FORK_HTTP, &at_fork);
    (void)atexit(end_exchanges);
}

/* ---- connections ------------------------------------------------------------------------ */

#define MOST_CONNECTIONS 16

/* The sockets that libcurl has open.  It writes to sockets and closes them by number, and does
 * not expect that a program closes descriptors of libraries (os/kept.h).  Zeroed: no socket. */
struct connections {
    struct rm_kept sentinel; /* a descriptor whose loss shows that those opened by libcurl itself
                                are lost, too */
    struct rm_kept sockets[MOST_CONNECTIONS];
};

/* The slot of a socket, else a free one; NULL: all are in use.  If a new socket has the number
 * of an open slot, the program has closed the old socket. */
static struct rm_kept *slot_of(struct connections *connections, int fd)
{
    struct rm_kept *free_slot = NULL;
    for (int i = 0; i < MOST_CONNECTIONS; i++) {
        struct rm_kept *socket = &connections->sockets[i];
        if (socket->is_open && socket->fd == fd) {
            return socket;
        }
        free_slot = free_slot == NULL && !socket->is_open ? socket : free_slot;
    }
    return free_slot;
}

static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)purpose;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    struct rm_kept *slot = fd >= 0 ? slot_of(context, fd) : NULL;
    if (slot != NULL) {
        rm_kept_take(slot, fd);
        return slot->fd;
    }
    if (fd >= 0) {
        (void)close(fd);
        errno = EMFILE;
    }
    return CURL_SOCKET_BAD;
}

static int close_socket(void *context, curl_socket_t fd)
{
    struct rm_kept *slot = slot_of(context, fd);
    if (slot != NULL) {
        rm_kept_close(slot);
    }
    return 0;
}

/* Whether the program has closed any of the descriptors. */
static bool are_lost(const struct connections *connections)
{
    const struct rm_kept *sentinel = &connections->sentinel;
    bool is_lost = sentinel->is_open && !rm_kept_is_ours(sentinel);
    for (int i = 0; i < MOST_CONNECTIONS && !is_lost; i++) {
        const struct rm_kept *socket = &connections->sockets[i];
        is_lost = socket->is_open && !rm_kept_is_ours(socket);
    }
    return is_lost;
}

/* Closes the descriptors that are still open and ours, after libcurl has closed its own. */
static void close_connections(struct connections *connections)
{
    for (int i = 0; i < MOST_CONNECTIONS; i++) {
        rm_kept_close(&connections->sockets[i]);
    }
    rm_kept_close(&connections->sentinel);
}

/* ---- a client --------------------------------------------------------------------------- */

#define MOST_SECRET_HEADERS 8
#define SECRETS             (6 + 4 * MOST_SECRET_HEADERS)

struct rm_http {
    struct rm_http_program *program; /* instead of libcurl; NULL: libcurl */
    CURL *easy;
    CURLM *multi; /* with its connections; NULL between a sink's calls */
    struct curl_slist *headers;
    char *extra_headers;    /* each line ends with '\0', the last one with two; NULL: none */
    char *secrets[SECRETS]; /* NULL: none */
    int64_t timeout_ns;
    int64_t lost_ns; /* at the end of the run: since when the server is unreachable; 0: it is
                        reachable */
    unsigned retries;
    double backoff_s, jitter_s;
    bool ignores_retry_after;
    bool is_otlp;
    uint64_t random;
    struct connections connections;
    char route[200]; /* result of rm_http_route() */
    char error[CURL_ERROR_SIZE];
    char trouble[160]; /* why the previous exchange failed; "": it succeeded */
};

#define SET(http, option, value) (curl.easy_setopt((http)->easy, (option), (value)) == CURLE_OK)

/* Appends to the reply.  If the reply exceeds its bound, the transfer is aborted. */
static size_t receive(char *bytes, size_t size, size_t count, void *body)
{
    rm_buffer_add(body, bytes, size * count);
    return ((struct rm_buffer *)body)->status == RESMON_OK ? size * count : 0;
}

/* ---- credentials -------------------------------------------------------------------------- */

#define LEAST_SECRET 4 /* bytes; any text may contain shorter ones by chance */

static bool keep_secret(struct rm_http *http, size_t place, const char *text)
{
    struct rm_buffer buffer;
    size_t length = strlen(text);
    if (length == 0) {
        return true;
    }
    rm_buffer_init(&buffer, 2 * length + 8);
    rm_buffer_base64(&buffer, text, length, false);
    http->secrets[place] = rm_strdup(text);
    http->secrets[place + 1] = buffer.status == RESMON_OK ? rm_strdup(buffer.text) : NULL;
    if (buffer.status == RESMON_OK) {
        rm_wipe(buffer.text, buffer.length);
    }
    rm_buffer_free(&buffer);
    return http->secrets[place] != NULL && http->secrets[place + 1] != NULL;
}

/* Keeps each credential as plain text and in base64, and "user:password" as a request contains
 * it. */
static bool keep_secrets(struct rm_http *http, const struct rm_http_config *config)
{
    bool has_pair = config->user != NULL && config->password != NULL;
    char *pair = NULL;
    bool is_kept = true;
    if (has_pair) {
        size_t room = strlen(config->user) + strlen(config->password) + 2;
        pair = rm_alloc(1, room);
        is_kept = pair != NULL &&
                  snprintf(pair, room, "%s:%s", config->user, config->password) > 0 &&
                  keep_secret(http, 0, pair) && keep_secret(http, 2, config->password);
        if (pair != NULL) {
            rm_wipe(pair, room);
        }
        rm_free(pair);
    }
    return is_kept && (config->bearer == NULL || keep_secret(http, 4, config->bearer));
}

/* Keeps a value, and its token: "TOKEN" of "Bearer TOKEN". */
static bool keep_value(struct rm_http *http, size_t place, const char *value)
{
    const char *token = strchr(value, ' ');
    return keep_secret(http, place, value) &&
           (token == NULL || keep_secret(http, place + 2, token + 1));
}

/* Keeps a copy of the lines.  False: out of memory. */
static bool keep_headers(struct rm_http *http, const struct rm_http_config *config)
{
    size_t length = config->headers != NULL ? strlen(config->headers) : 0;
    bool is_kept = true;
    http->extra_headers = length > 0 ? rm_alloc(1, length + 2) : NULL;
    if (http->extra_headers == NULL) {
        return length == 0;
    }
    size_t place = SECRETS - 4 * MOST_SECRET_HEADERS;
    for (char *line = memcpy(http->extra_headers, config->headers, length); *line != '\0';) {
        size_t line_length = strcspn(line, "\n");
        line[line_length] = '\0';
        const char *value = strstr(line, ": ");
        if (config->has_secret_headers && value != NULL && place < SECRETS) {
            is_kept = is_kept && keep_value(http, place, value + 2);
            place += 4;
        }
        line += line_length + 1;
    }
    return is_kept;
}

static void forget_secrets(struct rm_http *http)
{
    for (size_t i = 0; i < SECRETS; i++) {
        if (http->secrets[i] != NULL) {
            rm_wipe(http->secrets[i], strlen(http->secrets[i]));
        }
        rm_free(http->secrets[i]);
    }
    for (char *line = http->extra_headers; line != NULL && *line != '\0';) {
        size_t length = strlen(line);
        rm_wipe(line, length);
        line += length + 1;
    }
    rm_free(http->extra_headers);
}

void rm_http_strike(const struct rm_http *http, char *text)
{
    for (size_t i = 0; i < SECRETS && text != NULL; i++) {
        size_t length = http->secrets[i] != NULL ? strlen(http->secrets[i]) : 0;
        while (length > 0 && http->secrets[i][length - 1] == '=') {
            length--; /* a text may contain it without the padding */
        }
        for (char *at = text; length >= LEAST_SECRET && *at != '\0'; at++) {
            if (strncmp(at, http->secrets[i], length) == 0) {
                memset(at, '*', length);
            }
        }
    }
}

static bool set_credentials(struct rm_http *http, const struct rm_http_config *config)
{
    if (!keep_secrets(http, config)) {
        return false;
    }
    if (config->user != NULL && config->password != NULL) {
        return SET(http, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC) &&
               SET(http, CURLOPT_USERNAME, config->user) &&
               SET(http, CURLOPT_PASSWORD, config->password);
    }
    if (config->bearer != NULL) {
        return SET(http, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER) &&
               SET(http, CURLOPT_XOAUTH2_BEARER, config->bearer);
    }
    return true;
}

/* RESMON_EINVAL: a file does not exist; the error text has its name. */
static resmon_status set_certificates(struct rm_http *http, const struct rm_http_config *config)
{
    struct stat info;
    bool is_set = true;
    const char *const files[] = {config->ca_path, config->client_cert, config->client_key};
    for (size_t i = 0; i < RM_ARRAY_LEN(files); i++) {
        if (files[i] != NULL && stat(files[i], &info) != 0) {
            return rm_error(RESMON_EINVAL, "the certificate file %s cannot be read", files[i]);
        }
    }
    if (config->ca_path != NULL && stat(config->ca_path, &info) == 0) {
        is_set =
            SET(http, S_ISDIR(info.st_mode) ? CURLOPT_CAPATH : CURLOPT_CAINFO, config->ca_path);
    }
    if (config->client_cert != NULL) {
        is_set = is_set && SET(http, CURLOPT_SSLCERT, config->client_cert) &&
                 SET(http, CURLOPT_SSLKEY,
                     config->client_key != NULL ? config->client_key : config->client_cert);
    }
    if (config->is_insecure) {
        is_set = is_set && SET(http, CURLOPT_SSL_VERIFYPEER, 0L) &&
                 SET(http, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    return is_set ? RESMON_OK : rm_error(RESMON_ENOMEM, "out of memory for an HTTP client");
}

/* The rules for proxies are in net/address.c.  The environment is read here, on the thread of
 * the user. libcurl would read it on a thread of the library, while the program may be changing it.
 */
static bool set_proxy(struct rm_http *http, const char *url)
{
    const struct rm_proxy proxy = rm_proxy_of(url);
    rm_proxy_describe(&proxy, http->route, sizeof http->route);
    return SET(http, CURLOPT_PROXY, proxy.address) && SET(http, CURLOPT_NOPROXY, proxy.except);
}

const char *rm_http_route(const struct rm_http *http)
{
    return http->route;
}

/* A redirect never leads from https to http. */
static bool set_protocols(struct rm_http *http, bool is_tls)
{
    long protocols = CURLPROTO_HTTPS | (is_tls ? 0L : CURLPROTO_HTTP);
    return SET(http, CURLOPT_PROTOCOLS, protocols) && SET(http, CURLOPT_REDIR_PROTOCOLS, protocols);
}

static bool set_manners(struct rm_http *http, const struct rm_http_config *config)
{
    char agent[64];
    (void)snprintf(agent, sizeof agent, "libresmon/%s", resmon_version());
    bool is_set = SET(http, CURLOPT_NOSIGNAL, 1L) && SET(http, CURLOPT_WRITEFUNCTION, receive) &&
                  SET(http, CURLOPT_ERRORBUFFER, http->error) &&
                  SET(http, CURLOPT_USERAGENT, agent) &&
                  SET(http, CURLOPT_FOLLOWLOCATION, config->refuses_redirects ? 0L : 1L) &&
                  SET(http, CURLOPT_MAXREDIRS, (long)MOST_REDIRECTS) &&
                  SET(http, CURLOPT_POSTREDIR, (long)CURL_REDIR_POST_ALL) &&
                  SET(http, CURLOPT_OPENSOCKETFUNCTION, open_socket) &&
                  SET(http, CURLOPT_OPENSOCKETDATA, &http->connections) &&
                  SET(http, CURLOPT_CLOSESOCKETFUNCTION, close_socket) &&
                  SET(http, CURLOPT_CLOSESOCKETDATA, &http->connections) &&
                  SET(http, CURLOPT_TCP_KEEPALIVE, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
    (void)SET(http, CURLOPT_QUICK_EXIT, 1L); /* does not wait for a resolver that hangs */
#endif
    return is_set;
}

static resmon_status set_up(struct rm_http *http, const struct rm_http_config *config)
{
    if (load_error[0] != '\0') {
        http->program = rm_http_program_new(config);
        return http->program != NULL && keep_secrets(http, config) && keep_headers(http, config)
                   ? RESMON_OK
                   : rm_error(RESMON_ENOMEM, "out of memory for an HTTP client");
    }
    http->easy = curl.easy_init();
    if (http->easy == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for an HTTP client");
    }
    bool is_tls = strncmp(config->url, "https:", 6) == 0;
    if (!set_manners(http, config) || !set_protocols(http, is_tls) ||
        !set_proxy(http, config->url) || !set_credentials(http, config) ||
        !keep_headers(http, config)) {
        return rm_error(RESMON_ENOMEM, "out of memory for an HTTP client");
    }
    return set_certificates(http, config);
}

static bool lacks_curl(void)
{
    (void)pthread_once(&load_once, load);
    return load_error[0] != '\0';
}

int32_t resmon_set_http(resmon_http_fn function, void *context)
{
    RM_KEEP_ERRNO;
    rm_http_program_set(function, context);
    return function != NULL && lacks_curl() ? 1 : 0;
}

resmon_status rm_http_open(const struct rm_http_config *config, struct rm_http **ret_http)
{
    if (lacks_curl() && !rm_http_program_is_there()) {
        return rm_error(RESMON_ENOTSUP, "%s", load_error);
    }
    struct rm_http *http = rm_alloc(1, sizeof *http);
    if (http == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for an HTTP client");
    }
    http->timeout_ns = config->timeout_ns;
    http->retries = config->retries;
    http->backoff_s = config->backoff_s;
    http->jitter_s = config->jitter_s;
    http->ignores_retry_after = config->ignores_retry_after;
    http->is_otlp = config->is_otlp;
    http->random = (uint64_t)rm_clock_realtime_ns() ^ (uintptr_t)http;
    resmon_status status = set_up(http, config);
    if (status != RESMON_OK) {
        rm_http_close(http);
        return status;
    }
    *ret_http = http;
    return RESMON_OK;
}

/* Handles of libcurl whose descriptors the program has closed.  Their cleanup would write to
 * servers and close descriptors by numbers that may be files of the program now. */
struct wreck {
    struct wreck *next;
    CURL *easy;
    CURLM *multi;
};

static struct wreck *wrecks; /* atomic; never freed */

/* Replaces the handle by a copy, which has its settings but no connection. */
static void abandon(struct rm_http *http)
{
    struct wreck *wreck = rm_alloc(1, sizeof *wreck);
    if (wreck != NULL) {
        *wreck = (struct wreck){RM_LOAD(&wrecks), http->easy, http->multi};
        while (!__atomic_compare_exchange_n(&wrecks, &wreck->next, wreck, false, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED)) {
        }
    }
    http->easy = curl.easy_duphandle(http->easy);
    http->multi = NULL;
    http->headers = NULL; /* owned by the old handle */
    close_connections(&http->connections);
}

/* Between calls of a sink, no descriptor is open that the program could close and reuse for its
 * own files. */
void rm_http_rest(struct rm_http *http)
{
    struct rm_signal_guard guard;
    if (http == NULL || http->multi == NULL) {
        return;
    }
    if (are_lost(&http->connections)) {
        abandon(http);
        return;
    }
    rm_signal_guard_begin(&guard); /* closing TLS writes to the socket, too */
    (void)curl.multi_cleanup(http->multi);
    rm_signal_guard_end(&guard);
    http->multi = NULL;
    close_connections(&http->connections);
}

void rm_http_close(struct rm_http *http)
{
    if (http == NULL) {
        return;
    }
    rm_http_rest(http);
    if (http->easy != NULL) {
        curl.easy_cleanup(http->easy);
    }
    if (http->headers != NULL) {
        curl.slist_free_all(http->headers);
    }
    rm_http_program_free(http->program);
    forget_secrets(http);
    rm_free(http);
}

void rm_http_reply_free(struct rm_http_reply *reply)
{
    rm_buffer_free(&reply->body);
    *reply = (struct rm_http_reply){0};
}

/* ---- an exchange ------------------------------------------------------------------------ */

/* The request in a message: its method, and its URL without the query. */
#define SHOWN(request) (request)->method, (int)strcspn((request)->url, "?#"), (request)->url

static bool set_body(struct rm_http *http, const struct rm_http_request *request)
{
    bool has_body = request->body != NULL;
    bool is_set = has_body ? SET(http, CURLOPT_POST, 1L) &&
                                 SET(http, CURLOPT_POSTFIELDS, request->body) &&
                                 SET(http, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->length)
                           : SET(http, CURLOPT_HTTPGET, 1L);
    bool is_plain = strcmp(request->method, has_body ? "POST" : "GET") == 0;
    return is_set && SET(http, CURLOPT_CUSTOMREQUEST, is_plain ? NULL : request->method);
}

static bool add_header(struct rm_http *http, const char *line)
{
    size_t length = strlen(line);
    bool is_empty = length > 2 && strcmp(line + length - 2, ": ") == 0;
    char empty[160];
    if (is_empty && length < sizeof empty) { /* "Name;": libcurl would leave "Name: " out */
        (void)snprintf(empty, sizeof empty, "%.*s;", (int)length - 2, line);
        line = empty;
    }
    struct curl_slist *longer = curl.slist_append(http->headers, line);
    http->headers = longer != NULL ? longer : http->headers;
    return longer != NULL;
}

/* Sets the headers, and disables "Expect: 100-continue", which libcurl adds by default.  False:
 * out of memory. */
static bool set_headers(struct rm_http *http, const struct rm_http_request *request)
{
    char type[128];
    (void)snprintf(type, sizeof type, "Content-Type: %s",
                   request->type != NULL ? request->type : "");
    curl.slist_free_all(http->headers);
    http->headers = NULL;
    bool is_set = add_header(http, "Expect:") && (request->type == NULL || add_header(http, type));
    for (const char *line = http->extra_headers; is_set && line != NULL && *line != '\0';
         line += strlen(line) + 1) {
        is_set = add_header(http, line);
    }
    return is_set && SET(http, CURLOPT_HTTPHEADER, http->headers);
}

static bool prepare(struct rm_http *http, const struct rm_http_request *request,
                    struct rm_http_reply *reply, int64_t left_ns)
{
    int64_t connect_ns = left_ns < CONNECT_NS ? left_ns : CONNECT_NS;
    http->error[0] = '\0';
    return SET(http, CURLOPT_URL, request->url) && SET(http, CURLOPT_WRITEDATA, &reply->body) &&
           SET(http, CURLOPT_FRESH_CONNECT, request->is_single ? 1L : 0L) &&
           SET(http, CURLOPT_CONNECTTIMEOUT_MS, (long)(connect_ns / RM_NS_PER_MS) + 1) &&
           set_body(http, request) && set_headers(http, request);
}

/* Runs the transfer.  True: it is complete, with its code.  False: the time is over, the program
 * exits, or a descriptor is lost. */
static bool run(struct rm_http *http, int64_t until_ns, CURLcode *ret_code)
{
    bool is_lost;
    int running = 1;
    int left;
    while (!(is_lost = are_lost(&http->connections)) &&
           curl.multi_perform(http->multi, &running) == CURLM_OK && running > 0) {
        int64_t own_ns = rm_deadline_ns();
        int64_t end_ns = until_ns < own_ns ? until_ns : own_ns;
        int64_t left_ms = (end_ns - rm_clock_monotonic_ns()) / RM_NS_PER_MS;
        if (left_ms <= 0 || RM_LOAD(&is_exiting)) {
            return false;
        }
        (void)curl.multi_poll(http->multi, NULL, 0,
                              left_ms < LOOK_ROUND_MS ? (int)left_ms : LOOK_ROUND_MS, NULL);
    }
    if (is_lost) {
        return false;
    }
    const CURLMsg *message = curl.multi_info_read(http->multi, &left);
    *ret_code =
        message != NULL && message->msg == CURLMSG_DONE ? message->data.result : CURLE_RECV_ERROR;
    return true;
}

static bool is_passing_code(const struct rm_http *http, long code)
{
    bool is_of_otlp = code == 429 || (code >= 502 && code <= 504);
    return is_of_otlp || (!http->is_otlp && (code == 408 || code == 500));
}

static void read_answer(struct rm_http *http, struct rm_http_reply *reply)
{
    long code = 0;
    long sent = 0;
    curl_off_t retry_after_s = 0;
    (void)curl.easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &code);
    (void)curl.easy_getinfo(http->easy, CURLINFO_REQUEST_SIZE, &sent);
    (void)curl.easy_getinfo(http->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
    reply->code = (int)code;
    reply->is_sent = sent > 0;
    if (!http->ignores_retry_after && retry_after_s > 0) {
        reply->retry_after_ns =
            retry_after_s < 86400 ? retry_after_s * RM_NS_PER_S : 86400 * RM_NS_PER_S;
    }
    reply->is_passing =
        is_passing_code(http, code) || (code == 413 && reply->retry_after_ns > 0 && !http->is_otlp);
}

/* Whether a failure is permanent, so that a retry is useless. */
static bool is_lasting(CURLcode code)
{
    static const CURLcode codes[] = {
        CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT,         CURLE_PEER_FAILED_VERIFICATION,
        CURLE_SSL_CERTPROBLEM,      CURLE_SSL_CACERT_BADFILE,    CURLE_TOO_MANY_REDIRECTS,
        CURLE_SSL_CIPHER,           CURLE_SSL_ISSUER_ERROR,      CURLE_SSL_PINNEDPUBKEYNOTMATCH,
        CURLE_WRITE_ERROR,          CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_ENGINE_NOTFOUND,
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(codes); i++) {
        if (codes[i] == code) {
            return true;
        }
    }
    return false;
}

/* libcurl's own text is not used if it has an '@': it quotes an invalid proxy with its
 * credentials. */
static const char *words_of(const struct rm_http *http, CURLcode code)
{
    bool is_clean = http->error[0] != '\0' && strchr(http->error, '@') == NULL;
    return is_clean ? http->error : curl.easy_strerror(code);
}

static resmon_status explain(struct rm_http *http, const struct rm_http_request *request,
                             CURLcode code, struct rm_http_reply *reply)
{
    const char *why = words_of(http, code);
    reply->is_passing = !is_lasting(code);
    reply->is_unreachable = code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
                            code == CURLE_COULDNT_RESOLVE_PROXY;
    reply->is_untrusted = code == CURLE_PEER_FAILED_VERIFICATION ||
                          code == CURLE_SSL_ISSUER_ERROR || code == CURLE_SSL_CACERT_BADFILE;
    reply->code = 0;
    switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL: /* protocol of the URL, of the reply, or of a redirect */
        return reply->is_sent
                   ? rm_error(
                         RESMON_EFORMAT,
                         "%s %.*s%s: not an HTTP answer, or a redirect that is not followed: %s",
                         SHOWN(request), http->route, why)
                   : rm_error(RESMON_EINVAL, "%s %.*s%s: %s", SHOWN(request), http->route, why);
    case CURLE_WRITE_ERROR:
        return rm_error(RESMON_EFORMAT, "%s %.*s: the reply is longer than %zu bytes",
                        SHOWN(request), RM_HTTP_LARGEST_REPLY);
    case CURLE_URL_MALFORMAT:
        return rm_error(RESMON_EINVAL, "%s %.*s: %s", SHOWN(request), why);
    case CURLE_OPERATION_TIMEDOUT:
        return rm_error(RESMON_ETIMEDOUT, "%s %.*s%s: %s", SHOWN(request), http->route, why);
    case CURLE_OUT_OF_MEMORY:
        return rm_error(RESMON_ENOMEM, "%s %.*s: out of memory", SHOWN(request));
    default:
        return rm_error(RESMON_ENET, "%s %.*s%s: %s", SHOWN(request), http->route, why);
    }
}

static void clear(struct rm_http_reply *reply)
{
    *reply = (struct rm_http_reply){.body = reply->body};
    reply->body.bound = RM_HTTP_LARGEST_REPLY + 1;
    rm_buffer_clear(&reply->body);
}

/* CURLOPT_NOSIGNAL stops libcurl from blocking SIGPIPE, so the guard does that. */
static bool run_guarded(struct rm_http *http, int64_t until_ns, CURLcode *ret_code)
{
    struct rm_signal_guard guard;
    rm_signal_guard_begin(&guard);
    bool is_done = run(http, until_ns, ret_code);
    bool is_sound = is_done && *ret_code == CURLE_OK; /* after a failure, the cause may be a lost
                                                         descriptor */
    if (!is_sound && are_lost(&http->connections)) {
        abandon(http);
    } else {
        (void)curl.multi_remove_handle(http->multi, http->easy);
    }
    rm_signal_guard_end(&guard);
    return is_done;
}

/* Creates what rm_http_rest() has closed. */
static bool begin_connections(struct rm_http *http)
{
    if (http->multi == NULL) {
        http->connections = (struct connections){0};
        (void)rm_kept_open_sentinel(&http->connections.sentinel);
        http->multi = curl.multi_init();
    }
    return http->multi != NULL;
}

/* The server may have received the request. */
static resmon_status explain_loss(struct rm_http *http, const struct rm_http_request *request,
                                  struct rm_http_reply *reply)
{
    reply->code = 0;
    reply->is_passing = true;
    reply->is_sent = true;
    (void)rm_text_set(http->trouble, sizeof http->trouble, "the program closed the connection");
    return rm_error(RESMON_ENET, "%s %.*s: %s", SHOWN(request), http->trouble);
}

static resmon_status transfer_by_program(struct rm_http *http,
                                         const struct rm_http_request *request, int64_t left_ns,
                                         struct rm_http_reply *reply)
{
    resmon_status status = rm_http_program_exchange(http->program, request, left_ns, reply);
    http->trouble[0] = '\0';
    if (status != RESMON_OK) {
        (void)rm_text_set(http->trouble, sizeof http->trouble, "no answer");
        return status;
    }
    if (reply->code >= 400) {
        (void)snprintf(http->trouble, sizeof http->trouble, "HTTP %d", reply->code);
    }
    reply->is_passing = is_passing_code(http, reply->code) ||
                        (reply->code == 413 && reply->retry_after_ns > 0 && !http->is_otlp);
    if (reply->code >= 300) {
        rm_http_strike(http, reply->body.text);
    }
    return RESMON_OK;
}

static resmon_status transfer(struct rm_http *http, const struct rm_http_request *request,
                              int64_t deadline_ns, struct rm_http_reply *reply)
{
    CURLcode code = CURLE_OK;
    int64_t now_ns = rm_clock_monotonic_ns();
    int64_t until_ns = now_ns + http->timeout_ns;
    until_ns = until_ns < deadline_ns ? until_ns : deadline_ns;
    if (http->program != NULL) {
        int64_t own_ns = rm_deadline_ns();
        return transfer_by_program(http, request, (until_ns < own_ns ? until_ns : own_ns) - now_ns,
                                   reply);
    }
    if (!begin_connections(http) || !prepare(http, request, reply, until_ns - now_ns) ||
        curl.multi_add_handle(http->multi, http->easy) != CURLM_OK) {
        return rm_error(RESMON_ENOMEM, "out of memory for a request");
    }
    bool is_done = run_guarded(http, until_ns, &code);
    if (http->multi == NULL) {
        return explain_loss(http, request, reply);
    }
    read_answer(http, reply);
    if (!is_done) {
        reply->code = 0;
        reply->is_passing = true;
        (void)snprintf(http->trouble, sizeof http->trouble, "no answer within %.3g s",
                       (double)(rm_clock_monotonic_ns() - now_ns) / 1e9);
        return rm_error(RESMON_ETIMEDOUT, "%s %.*s: %s", SHOWN(request), http->trouble);
    }
    http->trouble[0] = '\0';
    if (code != CURLE_OK) {
        (void)rm_text_set(http->trouble, sizeof http->trouble, words_of(http, code));
    } else if (reply->code >= 400) {
        (void)snprintf(http->trouble, sizeof http->trouble, "HTTP %d", reply->code);
    }
    if (reply->code >= 300) {
        rm_http_strike(http, reply->body.text);
    }
    code = reply->body.status == RESMON_ENOMEM ? CURLE_OUT_OF_MEMORY : code;
    return code == CURLE_OK ? RESMON_OK : explain(http, request, code, reply);
}

resmon_status rm_http_exchange(struct rm_http *http, const struct rm_http_request *request,
                               int64_t deadline_ns, struct rm_http_reply *reply)
{
    clear(reply);
    int64_t own_ns = rm_deadline_ns();
    if (rm_clock_monotonic_ns() >= (deadline_ns < own_ns ? deadline_ns : own_ns)) {
        reply->is_passing = true;
        return rm_error(RESMON_ETIMEDOUT, "%s %.*s: not sent, as no time was left%s%s",
                        SHOWN(request), http->trouble[0] != '\0' ? ", after: " : "", http->trouble);
    }
    if (RM_FAULT(RM_FAULT_NET)) {
        reply->is_passing = true;
        return rm_error(RESMON_ENET, "%s %.*s: injected", SHOWN(request));
    }
    resmon_status status;
    if (begin_exchange()) {
        rm_kept_hold_standard(); /* while its resolver and the TLS library open files */
        status = transfer(http, request, deadline_ns, reply);
        rm_kept_release_standard();
    } else {
        reply->is_passing = true;
        status =
            rm_error(RESMON_ETIMEDOUT, "%s %.*s: not sent, as the program ends", SHOWN(request));
    }
    end_exchange();
    if (status == RESMON_OK) {
        rm_buffer_puts(&reply->body, ""); /* terminates the text, even if the reply is empty */
        status = reply->body.status;
    }
    return status;
}

/* ---- retries ---------------------------------------------------------------------------- */

/* A random number in [0, 1): a thousand ranks must not retry at the same time. */
static double random_share(struct rm_http *http)
{
    http->random = http->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(http->random >> 11) / 9007199254740992.0;
}

static int64_t pause_ns(struct rm_http *http, unsigned attempt, const struct rm_http_reply *reply)
{
    double wait_s = 0.0;
    for (unsigned i = 1; i < attempt && wait_s < LONGEST_WAIT_S; i++) {
        wait_s = i == 1 ? http->backoff_s * 2.0 : wait_s * 2.0;
    }
    wait_s = wait_s < LONGEST_WAIT_S ? wait_s : LONGEST_WAIT_S;
    wait_s += http->jitter_s * random_share(http);
    int64_t wait_ns = (int64_t)(wait_s * 1e9);
    return wait_ns > reply->retry_after_ns ? wait_ns : reply->retry_after_ns;
}

/* The remaining time; 0 if the program is exiting. */
static int64_t left_ns(int64_t deadline_ns)
{
    int64_t own_ns = rm_deadline_ns();
    return RM_LOAD(&is_exiting)
               ? 0
               : (deadline_ns < own_ns ? deadline_ns : own_ns) - rm_clock_monotonic_ns();
}

bool rm_http_pause(int64_t wait_ns, int64_t deadline_ns)
{
    const int64_t step_ns = LOOK_ROUND_MS * RM_NS_PER_MS;
    const int64_t own_ns = rm_deadline_ns();
    int64_t until_ns = rm_clock_monotonic_ns() + wait_ns;
    for (int64_t now_ns; (now_ns = rm_clock_monotonic_ns()) < until_ns;) {
        int64_t pause = until_ns - now_ns < step_ns ? until_ns - now_ns : step_ns;
        if (left_ns(deadline_ns) <= 0 || rm_deadline_ns() != own_ns) {
            return false; /* a new deadline: the requests at the end of the run need its time */
        }
        rm_condition_nap(pause);
    }
    return left_ns(deadline_ns) > 0;
}

/* The remaining time for retries of a failed exchange.  At the end of a run, retries of an
 * unreachable server take one second at most.  A slow server may use all of the time. */
static int64_t patience_ns(struct rm_http *http, const struct rm_http_reply *reply)
{
    if (!reply->is_unreachable || rm_deadline_ns() == RM_DEADLINE_NONE) {
        http->lost_ns = 0;
        return INT64_MAX;
    }
    int64_t now_ns = rm_clock_monotonic_ns();
    http->lost_ns = http->lost_ns != 0 ? http->lost_ns : now_ns;
    return http->lost_ns + RM_NS_PER_S - now_ns;
}

bool rm_http_wait(struct rm_http *http, unsigned attempt, const struct rm_http_reply *reply,
                  int64_t deadline_ns)
{
    int64_t wait_ns = pause_ns(http, attempt, reply);
    int64_t rest_ns = left_ns(deadline_ns);
    int64_t most_ns = patience_ns(http, reply);
    if (most_ns <= 0) {
        return false;
    }
    wait_ns = wait_ns < most_ns ? wait_ns : most_ns;
    if (reply->retry_after_ns == 0 && wait_ns > rest_ns / 2) {
        wait_ns = rest_ns / 2; /* little time is left: an early retry is better than none */
    }
    if (attempt > http->retries || rest_ns <= wait_ns || rest_ns < LOOK_ROUND_MS * RM_NS_PER_MS) {
        return false;
    }
    return rm_http_pause(wait_ns, deadline_ns);
}

resmon_status rm_http_send(struct rm_http *http, const struct rm_http_request *request,
                           int64_t deadline_ns, struct rm_http_reply *reply)
{
    resmon_status status;
    unsigned attempt = 0;
    do {
        status = rm_http_exchange(http, request, deadline_ns, reply);
    } while (reply->is_passing && rm_http_wait(http, ++attempt, reply, deadline_ns));
    return status;
}
