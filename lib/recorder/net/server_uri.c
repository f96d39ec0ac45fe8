/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memrchr */
#include "net/server_uri.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

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

/* How much of a text that has no scheme of ours may be shown: another scheme, or a word that names
 * a kind of store; but of "user:password@host" nothing. */
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
