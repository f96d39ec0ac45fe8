/* SPDX-License-Identifier: MIT */
#include "net/http_program.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/libc.h"
#include "base/status.h"
#include "base/text.h"

/* ---- the program's function ------------------------------------------------------------------ */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all of these */
static resmon_http_fn the_function;
static void *the_context;
static int active; /* calls in progress */

static resmon_http_fn begin_call(void **ret_context)
{
    (void)pthread_mutex_lock(&lock);
    resmon_http_fn function = the_function;
    *ret_context = the_context;
    active += function != NULL ? 1 : 0;
    (void)pthread_mutex_unlock(&lock);
    return function;
}

static void end_call(void)
{
    (void)pthread_mutex_lock(&lock);
    active--;
    (void)pthread_mutex_unlock(&lock);
}

static bool is_active(void)
{
    (void)pthread_mutex_lock(&lock);
    bool is_in = active > 0;
    (void)pthread_mutex_unlock(&lock);
    return is_in;
}

void rm_http_program_set(resmon_http_fn function, void *context)
{
    const struct timespec pause = {.tv_nsec = 5 * RM_NS_PER_MS};
    (void)pthread_mutex_lock(&lock);
    the_function = function;
    the_context = context;
    (void)pthread_mutex_unlock(&lock);
    for (int i = 0; i < 400 && function == NULL && is_active(); i++) {
        (void)nanosleep(&pause, NULL);
    }
}

bool rm_http_program_is_there(void)
{
    (void)pthread_mutex_lock(&lock);
    bool is_there = the_function != NULL;
    (void)pthread_mutex_unlock(&lock);
    return is_there;
}

/* ---- configurations -------------------------------------------------------------------------- */

struct rm_http_program {
    struct rm_buffer headers; /* of each request, without its type */
    char *ca_path, *client_cert, *client_key;
    bool is_insecure;
    bool ignores_retry_after;
};

static void add_line(struct rm_buffer *headers, const char *name, const char *value)
{
    rm_buffer_puts(headers, headers->length > 0 ? "\n" : "");
    rm_buffer_puts(headers, name);
    rm_buffer_puts(headers, value);
}

static void add_credentials(struct rm_buffer *headers, const struct rm_http_config *config)
{
    if (config->user != NULL && config->password != NULL) {
        struct rm_buffer pair;
        rm_buffer_init(&pair, strlen(config->user) + strlen(config->password) + 2);
        rm_buffer_puts(&pair, config->user);
        rm_buffer_puts(&pair, ":");
        rm_buffer_puts(&pair, config->password);
        add_line(headers, "Authorization: Basic ", "");
        if (pair.status == RESMON_OK) {
            rm_buffer_base64(headers, pair.text, pair.length, false);
            rm_wipe(pair.text, pair.length);
        } else {
            headers->status = pair.status;
        }
        rm_buffer_free(&pair);
    } else if (config->bearer != NULL) {
        add_line(headers, "Authorization: Bearer ", config->bearer);
    }
}

static bool copy(char **target, const char *text)
{
    *target = text != NULL ? rm_strdup(text) : NULL;
    return text == NULL || *target != NULL;
}

struct rm_http_program *rm_http_program_new(const struct rm_http_config *config)
{
    struct rm_http_program *program = rm_alloc(1, sizeof *program);
    if (program == NULL) {
        return NULL;
    }
    rm_buffer_init(&program->headers, (size_t)64 << 10);
    program->is_insecure = config->is_insecure;
    program->ignores_retry_after = config->ignores_retry_after;
    add_credentials(&program->headers, config);
    if (config->headers != NULL) {
        add_line(&program->headers, config->headers, "");
    }
    if (program->headers.status != RESMON_OK || !copy(&program->ca_path, config->ca_path) ||
        !copy(&program->client_cert, config->client_cert) ||
        !copy(&program->client_key, config->client_key)) {
        rm_http_program_free(program);
        return NULL;
    }
    return program;
}

void rm_http_program_free(struct rm_http_program *program)
{
    if (program == NULL) {
        return;
    }
    if (program->headers.text != NULL) {
        rm_wipe(program->headers.text, program->headers.length);
    }
    rm_buffer_free(&program->headers);
    rm_free(program->ca_path);
    rm_free(program->client_cert);
    rm_free(program->client_key);
    rm_free(program);
}

/* ---- exchanges --------------------------------------------------------------------------------
 */

/* What the program's function gets as its reply. */
struct answer {
    resmon_http_reply reply; /* first */
    struct rm_buffer *body;
};

resmon_status resmon_http_reply_add(resmon_http_reply *reply, const char *bytes, size_t length)
{
    RM_KEEP_ERRNO;
    if (reply == NULL || (bytes == NULL && length > 0)) {
        return rm_error(RESMON_EINVAL, "%s: an argument is NULL", __func__);
    }
    struct answer *answer = (struct answer *)(void *)reply;
    if (length > 0) {
        rm_buffer_add(answer->body, bytes, length);
    }
    return answer->body->status == RESMON_OK
               ? RESMON_OK
               : rm_error(answer->body->status, "the reply is longer than %zu bytes",
                          RM_HTTP_LARGEST_REPLY);
}

/* The request in a message, without the query of its URL. */
#define SHOWN(request) (request)->method, (int)strcspn((request)->url, "?#"), (request)->url

static resmon_status explain(const struct rm_http_request *request, resmon_status status,
                             struct rm_http_reply *reply)
{
    char why[160];
    const char *text = reply->body.text != NULL ? reply->body.text : "";
    (void)rm_text_copy(why, sizeof why, text, strcspn(text, "\r\n"));
    bool is_known =
        status == RESMON_ETIMEDOUT || status == RESMON_EINVAL || status == RESMON_ENOMEM;
    reply->code = 0;
    reply->is_passing = status == RESMON_ENET || status == RESMON_ETIMEDOUT;
    reply->is_unreachable = status == RESMON_ENET;
    reply->is_untrusted = status == RESMON_EACCES;
    rm_buffer_clear(&reply->body);
    return rm_error(is_known ? status : RESMON_ENET, "%s %.*s: %s", SHOWN(request),
                    why[0] != '\0' ? why : "no answer");
}

static void take(const struct rm_http_program *program, const resmon_http_reply *from,
                 struct rm_http_reply *reply)
{
    uint64_t after_s = from->retry_after_s < 86400 ? from->retry_after_s : 86400;
    reply->code = from->code;
    reply->is_sent = true;
    reply->retry_after_ns = program->ignores_retry_after ? 0 : (int64_t)after_s * RM_NS_PER_S;
}

resmon_status rm_http_program_exchange(const struct rm_http_program *program,
                                       const struct rm_http_request *request, int64_t left_ns,
                                       struct rm_http_reply *reply)
{
    struct rm_buffer headers;
    struct answer answer = {.reply = {.struct_size = sizeof answer.reply}, .body = &reply->body};
    void *context;
    resmon_http_fn function = begin_call(&context);
    if (function == NULL) {
        return rm_error(RESMON_ENOTSUP,
                        "%s %.*s: the program's HTTP client is gone, and libcurl "
                        "cannot be loaded",
                        SHOWN(request));
    }
    rm_buffer_init(&headers, (size_t)64 << 10);
    rm_buffer_puts(&headers, program->headers.text != NULL ? program->headers.text : "");
    if (request->type != NULL) {
        add_line(&headers, "Content-Type: ", request->type);
    }
    const resmon_http_request given = {
        .struct_size = sizeof given,
        .flags = program->is_insecure ? RESMON_HTTP_INSECURE_TLS : 0,
        .method = request->method,
        .url = request->url,
        .headers = headers.text != NULL ? headers.text : "",
        .body = request->body,
        .length = request->length,
        .ca_path = program->ca_path,
        .client_cert = program->client_cert,
        .client_key = program->client_key,
        .timeout_ms = (uint64_t)(left_ns / RM_NS_PER_MS) + 1,
    };
    resmon_status status =
        headers.status == RESMON_OK ? function(context, &given, &answer.reply) : RESMON_ENOMEM;
    end_call();
    if (headers.text != NULL) {
        rm_wipe(headers.text, headers.length);
    }
    rm_buffer_free(&headers);
    if (status == RESMON_OK && reply->body.status != RESMON_OK) {
        return rm_error(RESMON_EFORMAT, "%s %.*s: the reply is longer than %zu bytes",
                        SHOWN(request), RM_HTTP_LARGEST_REPLY);
    }
    take(program, &answer.reply, reply);
    return status == RESMON_OK ? RESMON_OK : explain(request, status, reply);
}
