/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memrchr, secure_getenv */
#include "net/address.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/status.h"

/* ---- servers, and credentials --------------------------------------------------------------- */

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *found = c != '\0' ? strchr(digits, c) : NULL;
    return found != NULL ? (int)((found - digits) & 15) : -1;
}

static resmon_status percent_decode(const char *text, size_t length, char target[RM_SECRET_BYTES])
{
    size_t out = 0;
    for (size_t i = 0; i < length; i++) {
        bool is_code = text[i] == '%' && i + 2 < length && hex_digit(text[i + 1]) >= 0 &&
                       hex_digit(text[i + 2]) >= 0;
        char byte = text[i];
        if (is_code) {
            byte = (char)(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
            i += 2;
        }
        if (out + 1 >= RM_SECRET_BYTES) {
            return rm_error(RESMON_EINVAL, "the credentials in a URI are too long");
        }
        target[out++] = byte;
    }
    target[out] = '\0';
    return RESMON_OK;
}

/* "http://user:password@host/..." : the part before '@' goes to the secrets. */
static resmon_status split_credentials(const char *authority, const char *end, const char *what,
                                       struct rm_secrets *secrets, const char **ret_host)
{
    const char *at = memrchr(authority, '@', (size_t)(end - authority));
    if (at == NULL && authority[0] != '[' && memchr(authority, ':', (size_t)(end - authority)) &&
        strchr(end, '@') != NULL) {
        return rm_error(RESMON_EINVAL,
                        "%s has an '@' after a '/': in a user name, a password or a path, they are "
                        "written %%40 and %%2F",
                        what);
    }
    if (at == NULL) {
        *ret_host = authority;
        return RESMON_OK;
    }
    const char *colon = memchr(authority, ':', (size_t)(at - authority));
    const char *user_end = colon != NULL ? colon : at;
    resmon_status status = percent_decode(authority, (size_t)(user_end - authority), secrets->user);
    if (status == RESMON_OK && colon != NULL) {
        status = percent_decode(colon + 1, (size_t)(at - colon - 1), secrets->password);
    }
    *ret_host = at + 1;
    return status;
}

/* Number of characters of a text without http:// or https:// that a message may show: another
 * scheme, or a word that names a kind of store.  A text with '@' and no scheme may hold a password:
 * 0. */
static int shown_length(const char *text)
{
    size_t length = strcspn(text, ":/@");
    bool is_scheme = strncmp(text + length, "://", 3) == 0;
    return is_scheme || strchr(text, '@') == NULL ? (int)length : 0;
}

resmon_status rm_server_uri_take(const char *text, const char *what, char *uri, size_t room,
                                 struct rm_secrets *secrets)
{
    bool is_tls = strncmp(text, "https://", 8) == 0;
    if (!is_tls && strncmp(text, "http://", 7) != 0) {
        return rm_error(RESMON_EINVAL, "%s must begin with http:// or https://, not with '%.*s'",
                        what, shown_length(text), text);
    }
    const char *authority = text + (is_tls ? 8 : 7);
    const char *end = authority + strcspn(authority, "/?#");
    const char *host = authority;
    resmon_status status = split_credentials(authority, end, what, secrets, &host);
    if (status != RESMON_OK) {
        return status;
    }
    if (host == end || strpbrk(host, "?# \t\r\n\"<>\\^`{|}") != NULL) {
        return rm_error(RESMON_EINVAL,
                        "%s names no host, or has a query, a fragment or characters that no URI "
                        "has",
                        what);
    }
    size_t length = strlen(host);
    length -= length > 0 && host[length - 1] == '/' ? 1 : 0;
    int wanted = snprintf(uri, room, "%s%.*s", is_tls ? "https://" : "http://", (int)length, host);
    return wanted >= 0 && (size_t)wanted < room
               ? RESMON_OK
               : rm_error(RESMON_EINVAL, "%s is longer than %zu bytes", what, room - 1);
}

/* ---- groups on a Pushgateway --------------------------------------------------------------- */

static bool has_host(const char *base)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < RM_ARRAY_LEN(schemes); i++) {
        size_t length = strlen(schemes[i]);
        if (strncmp(base, schemes[i], length) == 0) {
            return base[length] != '\0' && base[length] != '/';
        }
    }
    return false;
}

static resmon_status check_base(const char *base)
{
    if (base == NULL || !has_host(base)) {
        return rm_error(RESMON_EINVAL,
                        "the URL of the Pushgateway must be http://HOST... or https://HOST...");
    }
    for (const char *p = base; *p != '\0'; p++) {
        if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7F || strchr("?#\"<>\\^`{|}", *p)) {
            return rm_error(RESMON_EINVAL,
                            "the URL of the Pushgateway has a byte 0x%02x at %zu: no query, "
                            "fragment, space or unusual character is allowed",
                            (unsigned)(unsigned char)*p, (size_t)(p - base));
        }
    }
    return RESMON_OK;
}

/* Whether a value can be a path segment as it is.  Clients and proxies resolve "." and "..". */
static bool is_segment(const char *value)
{
    return value[0] != '\0' && strchr(value, '/') == NULL && strcmp(value, ".") != 0 &&
           strcmp(value, "..") != 0;
}

static void add_pair(struct rm_buffer *url, const char *name, const char *value)
{
    bool is_plain = is_segment(value);
    rm_buffer_puts(url, "/");
    rm_buffer_puts(url, name);
    rm_buffer_puts(url, is_plain ? "/" : "@base64/");
    if (is_plain) {
        rm_buffer_percent(url, value);
    } else {
        rm_buffer_base64(url, value, strlen(value), true);
        rm_buffer_puts(url, value[0] == '\0' ? "=" : ""); /* a segment must not be empty */
    }
}

resmon_status rm_push_url(const char *base, const char *job, const struct rm_labels *grouping,
                          struct rm_buffer *ret_url)
{
    char clean_job[RM_LABEL_VALUE_BYTES];
    resmon_status status = check_base(base);
    if (status != RESMON_OK) {
        return status;
    }
    if (job == NULL || job[0] == '\0' || strlen(job) >= sizeof clean_job) {
        return rm_error(RESMON_EINVAL, "the job of a Pushgateway needs a name of 1 ... %d bytes",
                        RM_LABEL_VALUE_BYTES - 1);
    }
    if (rm_labels_find(grouping, "job") != NULL) {
        return rm_error(RESMON_EINVAL, "a grouping label cannot be called 'job': set job instead");
    }
    rm_label_value_set(clean_job, job);
    rm_buffer_init(ret_url, RM_PUSH_URL_BYTES);
    size_t length = strlen(base);
    while (base[length - 1] == '/') {
        length--;
    }
    rm_buffer_add(ret_url, base, length);
    rm_buffer_puts(ret_url, "/metrics");
    add_pair(ret_url, "job", clean_job);
    for (size_t i = 0; i < grouping->count; i++) {
        add_pair(ret_url, grouping->items[i].name, grouping->items[i].value);
    }
    status = ret_url->status;
    if (status != RESMON_OK) {
        rm_buffer_free(ret_url);
    }
    return status;
}

/* ---- proxies -------------------------------------------------------------------------------- */

/* Both spellings of a variable.  The lower-case one takes precedence, even if its value is
 * empty.  A non-empty variable of a scheme takes precedence over all_proxy. */
struct pair {
    const char *small, *large;
};

static const struct pair for_http[] = {{"http_proxy", "HTTP_PROXY"}, {"all_proxy", "ALL_PROXY"}};
static const struct pair for_https[] = {{"https_proxy", "HTTPS_PROXY"}, {"all_proxy", "ALL_PROXY"}};
static const struct pair for_none = {"no_proxy", "NO_PROXY"};

/* In a CGI program, a client can set HTTP_PROXY with the header "Proxy:" (CVE-2016-5385).  The
 * variable is ignored there, as in Python. */
static const char *look_up(const struct pair *pair, const char **ret_name)
{
    const char *value = secure_getenv(pair->small);
    *ret_name = pair->small;
    if (value == NULL &&
        (strcmp(pair->large, "HTTP_PROXY") != 0 || secure_getenv("REQUEST_METHOD") == NULL)) {
        value = secure_getenv(pair->large);
        *ret_name = pair->large;
    }
    return value != NULL ? value : "";
}

/* Finds the host of "http://host:80/path"; an IPv6 address is returned without its brackets. */
static const char *host_of(const char *url, size_t *ret_length)
{
    const char *at = strstr(url, "://");
    at = at != NULL ? at + 3 : url;
    bool is_bracketed = at[0] == '[';
    at += is_bracketed ? 1 : 0;
    *ret_length = strcspn(at, is_bracketed ? "]" : ":/?#");
    return at;
}

/* Whether a host is a domain or belongs to it.  "cluster.org" and ".cluster.org" both match
 * "cluster.org" and "node.cluster.org". */
static bool is_within(const char *host, size_t length, const char *part, size_t part_length)
{
    size_t dots = strspn(part, ".");
    if (dots >= part_length) {
        return false;
    }
    part += dots;
    part_length -= dots;
    return length >= part_length &&
           strncasecmp(host + length - part_length, part, part_length) == 0 &&
           (length == part_length || host[length - part_length - 1] == '.');
}

static bool is_excepted(const char *url, const char *except)
{
    size_t length, part_length;
    const char *host = host_of(url, &length);
    if (strcmp(except, "*") == 0) {
        return true;
    }
    for (const char *part = except; *part != '\0'; part += part_length) {
        part += strspn(part, ", \t");
        part_length = strcspn(part, ", \t");
        if (part_length > 0 && is_within(host, length, part, part_length)) {
            return true;
        }
    }
    return false;
}

struct rm_proxy rm_proxy_of(const char *url)
{
    const char *unused;
    struct rm_proxy proxy = {.address = "", .except = look_up(&for_none, &unused)};
    const struct pair *pairs = strncasecmp(url, "https:", 6) == 0 ? for_https : for_http;
    for (size_t i = 0; i < RM_ARRAY_LEN(for_http) && proxy.address[0] == '\0'; i++) {
        proxy.address = look_up(&pairs[i], &proxy.variable);
    }
    proxy.is_excepted = is_excepted(url, proxy.except);
    return proxy;
}

void rm_proxy_describe(const struct rm_proxy *proxy, char *text, size_t room)
{
    text[0] = '\0';
    if (proxy->address[0] != '\0' && !proxy->is_excepted) {
        const char *rest = strstr(proxy->address, "://");
        int scheme = rest != NULL ? (int)(rest + 3 - proxy->address) : 0;
        /* The host follows the last '@': a password may contain a '/' that should be %2F. */
        const char *last = strrchr(proxy->address, '@');
        const char *host = last != NULL ? last + 1 : proxy->address + scheme;
        (void)snprintf(text, room, " by the proxy %.*s%.*s (%s)", scheme < 16 ? scheme : 0,
                       proxy->address, (int)strcspn(host, "/?#"), host, proxy->variable);
    }
}
