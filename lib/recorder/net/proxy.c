/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* secure_getenv */
#include "net/proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"

/* Two names of one variable.  The name in small letters hides the other, also where its value is
 * empty; variables of a scheme hold before those of all schemes. */
struct pair {
    const char *small, *large;
};

static const struct pair for_http[] = {{"http_proxy", "HTTP_PROXY"}, {"all_proxy", "ALL_PROXY"}};
static const struct pair for_https[] = {{"https_proxy", "HTTPS_PROXY"}, {"all_proxy", "ALL_PROXY"}};
static const struct pair for_none = {"no_proxy", "NO_PROXY"};

/* A CGI program gets HTTP_PROXY from whoever asks it, as the header "Proxy:" (CVE-2016-5385): there
 * it does not count, for Python neither. */
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

/* Where the host of "http://host:80/path" begins, and how long it is: an address of IPv6 without
 * its brackets. */
static const char *host_of(const char *url, size_t *ret_length)
{
    const char *at = strstr(url, "://");
    at = at != NULL ? at + 3 : url;
    bool is_bracketed = at[0] == '[';
    at += is_bracketed ? 1 : 0;
    *ret_length = strcspn(at, is_bracketed ? "]" : ":/?#");
    return at;
}

/* A name, or one that it ends with behind a dot: "cluster.org" and ".cluster.org" are the same. */
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
        /* Behind the last "@" of all: a password may have a slash, which ought to be %2F. */
        const char *last = strrchr(proxy->address, '@');
        const char *host = last != NULL ? last + 1 : proxy->address + scheme;
        (void)snprintf(text, room, " by the proxy %.*s%.*s (%s)", scheme < 16 ? scheme : 0,
                       proxy->address, (int)strcspn(host, "/?#"), host, proxy->variable);
    }
}
