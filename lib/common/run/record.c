/* SPDX-License-Identifier: MIT */
#include "run/record.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "run/energy.h"
#include "run/run.h"

/* ---- the table -------------------------------------------------------------------------- */

/* The C type of each row's record. */
#define RM_RECORD(record, type, ...) typedef type record_##record;
#include "run/records.def"

/* Places of the members in the one list of all, and where each record begins. */
enum {
#define RM_RECORD(record, ...)                    FIRST_##record, BEFORE_##record = FIRST_##record - 1,
#define RM_MEMBER(record, type, member, key, ...) AT_##record##_##member,
#include "run/records.def"
    MEMBERS
};

static const uint16_t firsts[RM_RECORDS + 1] = {
#define RM_RECORD(record, ...) FIRST_##record,
#include "run/records.def"
    MEMBERS,
};

#define TYPE_OF(record, member) \
    _Generic(((record_##record *)0)->member, double : RM_TYPE_NUMBER, uint64_t : RM_TYPE_COUNT)

static const uint8_t bytes_of[] = {
#define BYTES(type, c_type) sizeof(c_type),
    RM_MEMBER_TYPES(BYTES)
#undef BYTES
};

enum {
#define BYTES(type, c_type) BYTES_##type = sizeof(c_type),
    RM_MEMBER_TYPES(BYTES)
#undef BYTES
};

#define RM_MEMBER(record, type, member, ...)                                       \
    _Static_assert(sizeof(((record_##record *)0)->member) == (size_t)BYTES_##type, \
                   #record "." #member " has not the size of its row's type");
#include "run/records.def"

/* The keys of all members, one after the other. A member stores the offset of its key in 16 bits; a
 * pointer would cost a relocation. */
static const struct keys {
#define RM_MEMBER(record, type, member, key, ...) char record##_##member[sizeof(key)];
#include "run/records.def"
} keys = {
#define RM_MEMBER(record, type, member, key, ...) key,
#include "run/records.def"
};

_Static_assert(sizeof keys <= UINT16_MAX, "places of keys have 16 bits");

static const struct rm_member members[] = {
#define RM_MEMBER(record, type, member, key, ...)                                           \
    {offsetof(struct keys, record##_##member), (uint16_t)offsetof(record_##record, member), \
     RM_MEMBER_ALWAYS, RM_TYPE_COUNT, RM_TYPE_##type},
#define RM_MEMBER_WHEN(record, type, member, key, since, unit, when, help)                  \
    {offsetof(struct keys, record##_##member), (uint16_t)offsetof(record_##record, member), \
     (uint16_t)offsetof(record_##record, when), TYPE_OF(record, when), RM_TYPE_##type},
#include "run/records.def"
};

_Static_assert(RM_ARRAY_LEN(members) == MEMBERS, "a place for each member");

struct rm_record rm_record_of(enum rm_record_name name)
{
    size_t first = firsts[name];
    return (struct rm_record){&members[first], firsts[name + 1] - first};
}

const char *rm_member_key(const struct rm_member *member)
{
    return (const char *)&keys + member->key;
}

/* ---- words ------------------------------------------------------------------------------ */

#define WORD_BYTES 16

static const struct {
    enum rm_member_type words;
    int32_t code;
    char word[WORD_BYTES];
} words_of_codes[] = {
#define RM_WORD(words, prefix, token, code, word, help) {RM_TYPE_##words, prefix##token, word},
#include "run/records.def"
};

#define RM_WORD(words, prefix, token, code, word, help) \
    _Static_assert(sizeof(word) <= WORD_BYTES, "a word has its end");
#include "run/records.def"

const char *rm_word_of(enum rm_member_type words, int32_t code)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(words_of_codes); i++) {
        if (words_of_codes[i].words == words && words_of_codes[i].code == code) {
            return words_of_codes[i].word;
        }
    }
    return NULL;
}

int32_t rm_word_code(enum rm_member_type words, const char *word, int32_t fallback)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(words_of_codes) && word != NULL; i++) {
        if (words_of_codes[i].words == words && strcmp(words_of_codes[i].word, word) == 0) {
            return words_of_codes[i].code;
        }
    }
    return fallback;
}

/* ---- records ---------------------------------------------------------------------------- */

/* All kinds of numbers become NaN. */
static void clear_member(const struct rm_member *member, char *at)
{
    static const double unknown[] = {RM_NAN, RM_NAN, RM_NAN, RM_NAN};
    static const char *const no_text = "";
    static const int32_t no_status = RESMON_EFORMAT;
    switch (member->type) {
    case RM_TYPE_TEXT:
        memcpy(at, &no_text, bytes_of[member->type]);
        break;
    case RM_TYPE_NUMBER:
    case RM_TYPE_NUMBERS4:
    case RM_TYPE_ESTIMATE:
        memcpy(at, unknown, bytes_of[member->type]);
        break;
    case RM_TYPE_STATUS:
        memcpy(at, &no_status, sizeof no_status);
        break;
    default:
        memset(at, 0, bytes_of[member->type]);
        break;
    }
}

void rm_record_clear(enum rm_record_name name, void *record)
{
    struct rm_record of = rm_record_of(name);
    for (size_t i = 0; i < of.count; i++) {
        clear_member(&of.members[i], (char *)record + of.members[i].offset);
    }
}

bool rm_record_has(const struct rm_member *member, const void *record)
{
    const char *at = (const char *)record + member->when;
    double number;
    uint64_t count;
    if (member->when == RM_MEMBER_ALWAYS) {
        return true;
    }
    if (member->when_type == RM_TYPE_NUMBER) {
        memcpy(&number, at, sizeof number);
        return !isnan(number);
    }
    memcpy(&count, at, sizeof count);
    return count != 0;
}

struct resmon_run *rm_run_new(void)
{
    struct resmon_run *run = rm_alloc(1, sizeof *run);
    if (run != NULL) {
        run->references = 1;
        rm_record_clear(RM_RECORD_run, &run->info);
        rm_record_clear(RM_RECORD_overhead, &run->info);
        rm_record_clear(RM_RECORD_end, &run->end);
        rm_record_clear(RM_RECORD_usage, &run->usage);
        run->profile = rm_profile_none();
    }
    return run;
}
