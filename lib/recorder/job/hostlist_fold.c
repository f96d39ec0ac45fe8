/* SPDX-License-Identifier: MIT */
/* Names -> "n[001-003,007],login1". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/hostlist.h"

#define MOST_DIGITS 18

/* A name as a prefix and the digits that it ends in: nothing may stand behind a bracket. */
struct numbered {
    const char *name;
    size_t prefix, digits;
};

static struct numbered parse(const char *name)
{
    size_t end = strlen(name), begin = end;
    while (begin > 0 && end - begin < MOST_DIGITS && name[begin - 1] >= '0' &&
           name[begin - 1] <= '9') {
        begin--;
    }
    return (struct numbered){name, begin, end - begin};
}

static bool is_alike(const struct numbered *one, const struct numbered *other)
{
    return one->digits > 0 && other->digits > 0 && one->prefix == other->prefix &&
           memcmp(one->name, other->name, one->prefix) == 0;
}

/* Whether `other` has the number after that of `last`, as a range would print it that began with
 * so many digits. */
static bool is_next(const struct numbered *first, const struct numbered *last,
                    const struct numbered *other)
{
    char text[MOST_DIGITS + 4];
    uint64_t number = strtoull(last->name + last->prefix, NULL, 10);
    int length = snprintf(text, sizeof text, "%0*" PRIu64, (int)first->digits, number + 1);
    return length > 0 && (size_t)length == other->digits &&
           memcmp(text, other->name + other->prefix, other->digits) == 0;
}

static void add_digits(struct rm_buffer *buffer, const struct numbered *one)
{
    rm_buffer_add(buffer, one->name + one->prefix, one->digits);
}

/* The range that begins at `index`; returns where the next one does. */
static size_t add_range(const struct rm_hosts *hosts, size_t index, struct rm_buffer *buffer)
{
    const struct numbered first = parse(rm_hosts_name(hosts, index));
    struct numbered last = first;
    for (index++; index < hosts->count; index++) {
        const struct numbered next = parse(rm_hosts_name(hosts, index));
        if (!is_alike(&first, &next) || !is_next(&first, &last, &next)) {
            break;
        }
        last = next;
    }
    add_digits(buffer, &first);
    if (last.name != first.name) {
        rm_buffer_puts(buffer, "-");
        add_digits(buffer, &last);
    }
    return index;
}

void rm_hostlist_fold(const struct rm_hosts *hosts, struct rm_buffer *buffer)
{
    for (size_t i = 0; i < hosts->count;) {
        const struct numbered first = parse(rm_hosts_name(hosts, i));
        const struct numbered next =
            i + 1 < hosts->count ? parse(rm_hosts_name(hosts, i + 1)) : (struct numbered){"", 0, 0};
        rm_buffer_puts(buffer, i > 0 ? "," : "");
        if (!is_alike(&first, &next)) {
            rm_buffer_puts(buffer, first.name);
            i++;
            continue;
        }
        rm_buffer_add(buffer, first.name, first.prefix);
        rm_buffer_puts(buffer, "[");
        for (bool is_first = true; i < hosts->count; is_first = false) {
            const struct numbered one = parse(rm_hosts_name(hosts, i));
            if (!is_alike(&first, &one)) {
                break;
            }
            rm_buffer_puts(buffer, is_first ? "" : ",");
            i = add_range(hosts, i, buffer);
        }
        rm_buffer_puts(buffer, "]");
    }
}
