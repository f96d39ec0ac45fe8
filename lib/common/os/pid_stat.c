/* SPDX-License-Identifier: MIT */
#include "os/pid_stat.h"

#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

/* Position behind the name, counted from 1 with the state's follower; proc(5)'s number less 3. */
static const struct {
    uint8_t position;
    bool is_required;
    size_t offset;
} fields[] = {
#define FIELD(position, is_required, name)                            \
    {                                                                 \
        (position), (is_required), offsetof(struct rm_pid_stat, name) \
    }
    FIELD(1, true, ppid),         FIELD(6, true, flags),         FIELD(7, true, minflt),
    FIELD(9, true, majflt),       FIELD(11, true, utime),        FIELD(12, true, stime),
    FIELD(13, true, cutime),      FIELD(14, true, cstime),       FIELD(17, true, threads),
    FIELD(19, true, starttime),   FIELD(20, true, vsize),        FIELD(21, true, rss),
    FIELD(25, false, startstack), FIELD(39, false, blkio_delay), FIELD(49, false, exit_code),
#undef FIELD
};

bool rm_pid_stat_parse(struct rm_text text, struct rm_pid_stat *ret_stat)
{
    /* The name may hold anything, a ')' too: the fields start after the last one. */
    const char *after = text.end;
    while (after > text.at && after[-1] != ')') {
        after--;
    }
    struct rm_text rest = {after, text.end};
    struct rm_text word;
    struct rm_pid_stat stat = {0};
    if (after == text.at || !rm_parse_word(&rest, &word)) {
        return false;
    }
    stat.state = *word.at;
    size_t next = 0;
    for (uint8_t position = 1; next < RM_ARRAY_LEN(fields); position++) {
        if (!rm_parse_word(&rest, &word)) {
            break;
        }
        if (position == fields[next].position) {
            uint64_t value;
            if (!rm_parse_u64(&word, &value)) {
                return false;
            }
            memcpy((char *)&stat + fields[next].offset, &value, sizeof value);
            next++;
        }
    }
    if (next < RM_ARRAY_LEN(fields) && fields[next].is_required) {
        return false;
    }
    *ret_stat = stat;
    return true;
}

bool rm_pid_statm_parse(struct rm_text text, struct rm_pid_statm *ret_statm)
{
    struct rm_pid_statm statm;
    uint64_t *const numbers[] = {&statm.size, &statm.resident, &statm.shared,
                                 &statm.text, &statm.lib,      &statm.data};
    for (size_t i = 0; i < RM_ARRAY_LEN(numbers); i++) {
        if (!rm_parse_u64(&text, numbers[i])) {
            return false;
        }
    }
    *ret_statm = statm;
    return true;
}
