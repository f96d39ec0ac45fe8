/* SPDX-License-Identifier: MIT */
/*
 * Owns the protocol between the library and its helper process resmon-names: one request and one
 * reply, each in a file, which consist of numbers in the byte order of the machine and of texts.
 *
 *   request  REQUEST VERSION pid:u64 mapped_ns:u64 debug_root:text
 *            modules:u32, and for each path:text build_id:text bias:u64 flags:u32
 *            places:u32, and for each module:u32 (an index; or NO_MODULE) address:u64
 *   reply    REPLY VERSION why:text (the reason why there are functions only, by symbol tables;
 *            empty: there are lines, too)
 *            for each module flags:u32 reason:text
 *            for each place frames:u32, and for each frame, innermost first,
 *            function:name file:name line:u32
 *            END
 *   text     bytes:u32, and the bytes
 *   name     u32: 0 is none, n is the n-th text of this reply; the first use of a number is
 * followed by the text
 */
#ifndef RM_NAMES_PROTOCOL_H
#define RM_NAMES_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/parse.h"

#define RM_NAMES_REQUEST 0x51534d52U /* "RMSQ" */
#define RM_NAMES_REPLY   0x41534d52U /* "RMSA" */
#define RM_NAMES_END     0x45534d52U /* "RMSE" */
#define RM_NAMES_VERSION 2U

#define RM_NAMES_MOST_BYTES   ((size_t)64 << 20) /* of a request, and of a reply */
#define RM_NAMES_MOST_TEXT    4096U              /* longer names are cut */
#define RM_NAMES_MOST_REASON  512U
#define RM_NAMES_MOST_INLINED 128U /* frames at one address */

#define RM_NAMES_NO_MODULE UINT32_MAX

/* Flags of a module in a request. */
#define RM_NAMES_LIGHT 1U /* few samples are in it: no lines of a separate debug file */

/* Flags of a module in a reply. */
#define RM_NAMES_NO_NAMES 1U /* nothing could be looked up; `reason` says why */
#define RM_NAMES_NO_LINES 2U /* its lines could not be looked up; `reason` says why */
#define RM_NAMES_STRIPPED 4U /* a place has no function, as there is no .symtab */

static inline void rm_names_put_u32(struct rm_buffer *buffer, uint32_t value)
{
    rm_buffer_add(buffer, (const char *)&value, sizeof value);
}

static inline void rm_names_put_u64(struct rm_buffer *buffer, uint64_t value)
{
    rm_buffer_add(buffer, (const char *)&value, sizeof value);
}

static inline void rm_names_put_text(struct rm_buffer *buffer, const char *text, size_t most)
{
    size_t length = strnlen(text, most);
    rm_names_put_u32(buffer, (uint32_t)length);
    rm_buffer_add(buffer, text, length);
}

static inline bool rm_names_take(struct rm_text *from, void *ret_value, size_t bytes)
{
    if (rm_text_left(from) < bytes) {
        return false;
    }
    memcpy(ret_value, from->at, bytes);
    from->at += bytes;
    return true;
}

static inline bool rm_names_take_u32(struct rm_text *from, uint32_t *ret_value)
{
    return rm_names_take(from, ret_value, sizeof *ret_value);
}

static inline bool rm_names_take_u64(struct rm_text *from, uint64_t *ret_value)
{
    return rm_names_take(from, ret_value, sizeof *ret_value);
}

/** Takes a text, which stays in `from`. */
static inline bool rm_names_take_text(struct rm_text *from, struct rm_text *ret_text)
{
    uint32_t bytes = 0;
    if (!rm_names_take_u32(from, &bytes) || rm_text_left(from) < bytes) {
        return false;
    }
    *ret_text = rm_text_of(from->at, bytes);
    from->at += bytes;
    return true;
}

#endif
