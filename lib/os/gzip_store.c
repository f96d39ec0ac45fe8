/* SPDX-License-Identifier: MIT */
/* RFC 1952 around RFC 1951's blocks of bytes as they are. */
#include <stdint.h>

#include "os/gzip.h"

#define BLOCK_BYTES ((size_t)65535)

static uint32_t crc32_of(const unsigned char *bytes, size_t length)
{
    uint32_t table[256];
    uint32_t crc = UINT32_MAX;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t rest = i;
        for (int bit = 0; bit < 8; bit++) {
            rest = (rest & 1) != 0 ? rest >> 1 ^ UINT32_C(0xedb88320) : rest >> 1;
        }
        table[i] = rest;
    }
    for (size_t i = 0; i < length; i++) {
        crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
    }
    return ~crc;
}

static void put_u32(char bytes[4], uint32_t number)
{
    for (int i = 0; i < 4; i++) {
        bytes[i] = (char)(number >> (8 * i));
    }
}

static resmon_status write_block(const struct rm_output *output, const char *bytes, size_t length,
                                 int is_last)
{
    const char head[5] = {(char)is_last, (char)length, (char)(length >> 8), (char)~length,
                          (char)(~length >> 8)};
    resmon_status status = rm_output_write(output, head, sizeof head);
    return status == RESMON_OK && length > 0 ? rm_output_write(output, bytes, length) : status;
}

resmon_status rm_gzip_store(const struct rm_output *output, const void *bytes, size_t length)
{
    static const char head[10] = {0x1f, (char)0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    char tail[8];
    size_t done = 0;
    resmon_status status = rm_output_write(output, head, sizeof head);
    do {
        size_t part = length - done < BLOCK_BYTES ? length - done : BLOCK_BYTES;
        if (status == RESMON_OK) {
            status = write_block(output, (const char *)bytes + done, part, done + part == length);
        }
        done += part;
    } while (done < length);
    put_u32(tail, crc32_of(bytes, length));
    put_u32(tail + 4, (uint32_t)length);
    return status == RESMON_OK ? rm_output_write(output, tail, sizeof tail) : status;
}
