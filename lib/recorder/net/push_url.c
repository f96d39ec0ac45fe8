/* SPDX-License-Identifier: MIT */
#include "net/push_url.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/status.h"

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

/* "." and ".." would be resolved on the way. */
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
