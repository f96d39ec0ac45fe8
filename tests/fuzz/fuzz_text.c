/* SPDX-License-Identifier: MIT */
/*
 * The parsers of kernel text that are functions of a text alone.  The first byte chooses one.
 */
#include "fuzz.h"

#include <math.h>

#include "base/compiler.h"
#include "base/human.h"
#include "base/parse.h"
#include "base/text.h"
#include "collect/pressure.h"
#include "job/path_pattern.h"
#include "os/proc_pid.h"

static void parse_stat(struct rm_text text)
{
    struct rm_pid_stat stat;
    struct rm_pid_statm statm;
    (void)rm_pid_stat_parse(text, &stat);
    (void)rm_pid_statm_parse(text, &statm);
}

static void parse_keys(struct rm_text text)
{
    static const struct rm_key keys[] = {
        RM_KEY("MemTotal:", 0),  RM_KEY("MemFree:", 1), RM_KEY("VmHWM:", 2),
        RM_KEY("nr_periods", 3), RM_KEY("rchar:", 63),
    };
    uint64_t values[64];
    uint64_t found = rm_parse_keys(text, keys, RM_ARRAY_LEN(keys), values);
    for (size_t i = 0; i < RM_ARRAY_LEN(keys); i++) {
        /* MemorySanitizer, or valgrind, sees a number that is said to be there and is not. */
        PROMISE((found >> keys[i].slot & 1) == 0 || values[keys[i].slot] + 1 > 0 ||
                values[keys[i].slot] == UINT64_MAX);
    }
}

static void parse_pressure(struct rm_text text)
{
    double some, full;
    if (rm_pressure_parse(text, &some, &full)) {
        PROMISE(!isnan(some) || !isnan(full));
    }
}

static void parse_numbers(struct rm_text text)
{
    struct rm_text word;
    while (rm_parse_word(&text, &word)) {
        struct rm_text rest = word;
        uint64_t number;
        int64_t signed_number;
        double decimal;
        if (rm_parse_u64(&rest, &number)) {
            PROMISE(rest.at > word.at && rest.at <= rest.end);
        }
        rest = word;
        (void)rm_parse_i64(&rest, &signed_number);
        rest = word;
        if (rm_parse_decimal(&rest, &decimal)) {
            PROMISE(isfinite(decimal) && decimal >= 0.0);
        }
        (void)rm_parse_line(&text, &word);
    }
}

static void copy_text(struct rm_text text)
{
    char target[24];
    for (size_t capacity = 1; capacity <= sizeof target; capacity++) {
        size_t length = rm_text_copy(target, capacity, text.at, rm_text_left(&text));
        PROMISE(length < capacity && strlen(target) == length);
        for (size_t i = 0; i < length; i++) {
            PROMISE((unsigned char)target[i] >= 0x20 && target[i] != 0x7f);
        }
    }
}

static void print_numbers(struct rm_text text)
{
    char human[RM_HUMAN_BYTES];
    double value;
    while (rm_text_left(&text) >= sizeof value) {
        memcpy(&value, text.at, sizeof value);
        text.at += sizeof value;
        rm_human_bytes(human, value);
        rm_human_seconds(human, value);
        rm_human_value(human, value, "", false);
        rm_human_value(human, value, "%", false);
        PROMISE(rm_text_is_terminated(human, sizeof human));
    }
}

static void expand_path(struct rm_text text)
{
    static char path[RM_PATH_BYTES];
    size_t length = rm_text_left(&text);
    char *pattern = malloc(length + 1);
    PROMISE(pattern != NULL);
    memcpy(pattern, text.at, length);
    pattern[length] = '\0';
    if (rm_path_expand(pattern, path) == RESMON_OK) {
        PROMISE(path[0] != '\0' && rm_text_is_terminated(path, sizeof path));
    }
    free(pattern);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const parsers[])(struct rm_text text) = {
        parse_stat, parse_keys,    parse_pressure, parse_numbers,
        copy_text,  print_numbers, expand_path,
    };
    if (size > 0) {
        parsers[data[0] % RM_ARRAY_LEN(parsers)](rm_text_of((const char *)data + 1, size - 1));
    }
    return 0;
}
