/* SPDX-License-Identifier: MIT */
#include "stack/frame_index.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* How pointers are written (Linux Standard Base, "DWARF Exception Header Encoding"). */
#define PE_ABSOLUTE 0x00
#define PE_U4       0x03
#define PE_U8       0x04
#define PE_S4       0x0b
#define PE_S8       0x0c
#define PE_RELATIVE 0x10 /* to where it stands */

struct section {
    const char *data;
    uint64_t bytes, address;
};

/* A record: a CIE, or an FDE, which begins with where its CIE is. */
struct entry {
    uint64_t at;   /* of its length */
    uint64_t body; /* behind that */
    uint64_t past;
    uint32_t cie; /* 0: it is one */
};

static bool read_u32(const struct section *section, uint64_t at, uint32_t *ret_value)
{
    if (at > section->bytes || section->bytes - at < sizeof *ret_value) {
        return false;
    }
    memcpy(ret_value, section->data + at, sizeof *ret_value);
    return true;
}

/* A length of 0 ends the section; those of 64 bits nobody writes. */
static bool next_entry(const struct section *section, uint64_t at, struct entry *ret_entry)
{
    uint32_t length;
    if (!read_u32(section, at, &length) || length < sizeof(uint32_t) || length == UINT32_MAX ||
        length > section->bytes - at - sizeof length) {
        return false;
    }
    *ret_entry = (struct entry){.at = at, .body = at + 4, .past = at + 4 + length};
    return read_u32(section, ret_entry->body, &ret_entry->cie);
}

static bool skip_leb128(const struct section *section, uint64_t *at, uint64_t past)
{
    while (*at < past) {
        if ((section->data[(*at)++] & 0x80) == 0) {
            return true;
        }
    }
    return false;
}

/* The letters of the augmentation tell what its data has, in the same order; `at` goes to what 'R'
 * has. false: not understood. */
static bool find_encoding(const struct section *section, const char *letters, uint64_t *at,
                          uint64_t past)
{
    for (const char *letter = letters; *letter != '\0' && *letter != 'R'; letter++) {
        unsigned char kind = *at < past ? (unsigned char)section->data[*at] & 0x0fU : 0;
        if (*letter == 'P') { /* how the personality routine is written, and it */
            *at += kind == PE_U4 || kind == PE_S4 ? 5 : 9;
        } else if (*letter == 'L') {
            *at += 1;
        } else if (*letter != 'S' && *letter != 'B') {
            return false;
        }
    }
    return true;
}

/* version, augmentation, two factors, return register, bytes of augmentation data, these.  false:
 * not understood. */
static bool read_encoding(const struct section *section, const struct entry *cie,
                          unsigned char *ret_encoding)
{
    uint64_t at = cie->body + sizeof(uint32_t) + 1;
    const char *letters = section->data + at;
    uint64_t length = at < cie->past ? strnlen(letters, (size_t)(cie->past - at)) : 0;
    bool is_whole = at + length < cie->past;
    *ret_encoding = PE_ABSOLUTE;
    if (!is_whole || letters[0] != 'z') {
        return is_whole && length == 0;
    }
    at += length + 1;
    for (int i = 0; i < 4 && is_whole; i++) {
        is_whole = skip_leb128(section, &at, cie->past);
    }
    if (!is_whole || !find_encoding(section, letters + 1, &at, cie->past)) {
        return false;
    }
    if (strchr(letters, 'R') != NULL) {
        is_whole = at < cie->past;
        *ret_encoding = is_whole ? (unsigned char)section->data[at] : 0;
    }
    return is_whole;
}

/* Where the function begins; false: written in a way that linkers do not use. */
static bool read_function(const struct section *section, uint64_t at, unsigned char encoding,
                          uint64_t *ret_address)
{
    uint32_t low = 0, high = 0;
    unsigned char kind = encoding & 0x0f;
    bool is_short = kind == PE_U4 || kind == PE_S4;
    if ((encoding & ~0x1fU) != 0 || !read_u32(section, at, &low) ||
        (!is_short && !read_u32(section, at + 4, &high))) {
        return false;
    }
    switch (kind) {
    case PE_U4:
        *ret_address = low;
        break;
    case PE_S4:
        *ret_address = (uint64_t)(int64_t)(int32_t)low;
        break;
    case PE_ABSOLUTE:
    case PE_U8:
    case PE_S8:
        *ret_address = (uint64_t)high << 32 | low;
        break;
    default:
        return false;
    }
    *ret_address += (encoding & PE_RELATIVE) != 0 ? section->address + at : 0;
    return true;
}

/* Version 1, a pointer and a count of 4 bytes, rows of two offsets from the header (Linux Standard
 * Base, "Exception Frame Header"). */
uint32_t rm_frame_index_rows_of(const void *header, uint64_t bytes)
{
    static const unsigned char usual[4] = {1, 0x1b, 0x03, 0x3b};
    uint32_t count;
    if (bytes < RM_FRAME_INDEX_HEADER || memcmp(header, usual, sizeof usual) != 0) {
        return 0;
    }
    memcpy(&count, (const char *)header + 8, sizeof count);
    return count <= (bytes - RM_FRAME_INDEX_HEADER) / sizeof(struct rm_frame_row) ? count : 0;
}

/* ---- the index --------------------------------------------------------------------------- */

static bool add_row(struct rm_frame_index *index, uint64_t function, uint64_t entry)
{
    int64_t to_function = (int64_t)(function - index->origin);
    int64_t to_entry = (int64_t)(entry - index->origin);
    struct rm_frame_row *rows = rm_grow(index->rows, index->count, &index->room, sizeof *rows);
    if (rows == NULL) {
        return false;
    }
    index->rows = rows;
    if (to_function >= INT32_MIN && to_function <= INT32_MAX && to_entry >= INT32_MIN &&
        to_entry <= INT32_MAX) {
        rows[index->count++] = (struct rm_frame_row){(int32_t)to_function, (int32_t)to_entry};
    }
    return true;
}

static bool add_entry(struct rm_frame_index *index, const struct section *section,
                      const struct entry *entry)
{
    struct entry cie;
    unsigned char encoding;
    uint64_t function;
    if (entry->cie == 0 || entry->cie > entry->body ||
        !next_entry(section, entry->body - entry->cie, &cie) || cie.cie != 0 ||
        !read_encoding(section, &cie, &encoding) ||
        !read_function(section, entry->body + 4, encoding, &function)) {
        return true; /* it is one less */
    }
    return add_row(index, function, section->address + entry->at);
}

bool rm_frame_index_add(struct rm_frame_index *index, const char *data, uint64_t bytes,
                        uint64_t address)
{
    const struct section section = {data, bytes, address};
    struct entry entry;
    bool has_room = true;
    for (uint64_t at = 0; has_room && next_entry(&section, at, &entry); at = entry.past) {
        has_room = add_entry(index, &section, &entry);
    }
    return has_room;
}

static int by_function(const void *left, const void *right)
{
    const struct rm_frame_row *a = left, *b = right;
    return (a->function > b->function) - (a->function < b->function);
}

void rm_frame_index_sort(struct rm_frame_index *index)
{
    if (index->count > 0) {
        qsort(index->rows, index->count, sizeof *index->rows, by_function);
    }
}

void rm_frame_index_free(struct rm_frame_index *index)
{
    rm_free(index->rows);
    *index = (struct rm_frame_index){.rows = NULL};
}

/* There, a CIE has the number -1, and an FDE has where its CIE is in the section, and addresses of
 * 8 bytes (DWARF 4, 6.4.1). */
void rm_frame_index_convert(char *data, uint64_t bytes, uint64_t bias)
{
    const struct section section = {data, bytes, 0};
    struct entry entry;
    for (uint64_t at = 0; next_entry(&section, at, &entry); at = entry.past) {
        uint64_t function;
        uint32_t back = (uint32_t)(entry.body - entry.cie);
        if (entry.cie == UINT32_MAX) {
            back = 0;
        } else if (entry.past - entry.body >= sizeof back + sizeof function) {
            memcpy(&function, data + entry.body + sizeof back, sizeof function);
            function += bias;
            memcpy(data + entry.body + sizeof back, &function, sizeof function);
        }
        memcpy(data + entry.body, &back, sizeof back);
    }
}
