/* SPDX-License-Identifier: MIT */
/*
 * resmon/http.h - HTTP by the program, where libcurl cannot be loaded.
 *
 * The sinks "mlflow", "pushgateway" and "otlp", and queries to a Prometheus, use libcurl.  A
 * program that has an HTTP client of its own (the Python package has one) gives its function here;
 * it is called only if libcurl cannot be loaded.
 *
 *     static resmon_status exchange(void *context, const resmon_http_request *request,
 *                                   resmon_http_reply *reply);
 *     resmon_set_http(exchange, NULL);
 */
#ifndef RESMON_HTTP_H
#define RESMON_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

RESMON_BEGIN_DECLS

/** Do not verify the server's certificate. */
#define RESMON_HTTP_INSECURE_TLS UINT64_C(1)

/** A request.  Texts are valid until the function returns.  Since 0.1. */
typedef struct resmon_http_request {
    size_t struct_size;
    uint64_t flags;          /**< RESMON_HTTP_INSECURE_TLS */
    const char *method;      /**< "GET", "POST", "PUT" */
    const char *url;         /**< http or https, without credentials */
    const char *headers;     /**< "Name: value" lines with '\n' between them, with those of
                                  authorization; they are secret */
    const char *body;        /**< NULL: none */
    size_t length;           /**< of the body (B) */
    const char *ca_path;     /**< file or directory of trusted certificates; NULL: the system's */
    const char *client_cert; /**< PEM file of a certificate; NULL: none */
    const char *client_key;  /**< PEM file of its key; NULL: in client_cert */
    uint64_t timeout_ms;     /**< limit of the whole exchange */
} resmon_http_request;

/** A reply, which the function fills in.  Since 0.1. */
typedef struct resmon_http_reply {
    size_t struct_size;
    int32_t code;           /**< status of HTTP */
    uint64_t retry_after_s; /**< of the header Retry-After; 0: none */
} resmon_http_reply;

/** Appends to the body of the reply, or, before the function returns a failure, to its reason.
 * RESMON_ERANGE: more than 4 MiB; RESMON_ENOMEM.
 * Thread class: the thread in which the function was called.  Since 0.1. */
RESMON_API resmon_status resmon_http_reply_add(resmon_http_reply *reply, const char *bytes,
                                               size_t length);

/**
 * Makes one exchange: no retries, no redirects.  RESMON_OK: there is a reply, with any status;
 * RESMON_ENET: there is none, another attempt may help; RESMON_ETIMEDOUT; RESMON_EACCES: the
 * certificate is not trusted; RESMON_EINVAL: the request is not possible.  Threads of the library
 * call it, one at a time for each sink.  Since 0.1.
 */
typedef resmon_status (*resmon_http_fn)(void *context, const resmon_http_request *request,
                                        resmon_http_reply *reply);

/**
 * Sets the function; NULL: none, and waits until no thread is in it any more, 2 s at most.
 * `context` is passed to each call.  Returns 1 if libcurl cannot be loaded, so that the function is
 * what sinks use that are added from now on; 0: it is not used, as there is libcurl, or the library
 * was built without HTTP.
 * Thread class: any thread, but not in the function.  Since 0.1.
 */
RESMON_API int32_t resmon_set_http(resmon_http_fn function, void *context);

RESMON_END_DECLS

#endif
