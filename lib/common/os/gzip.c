/* SPDX-License-Identifier: MIT */
#define ZLIB_CONST
#include "os/gzip.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"
#include "library_files.inc"
#include "os/library.h"

#define PIECE_BYTES 65536
#define WINDOW_GZIP (15 + 16) /* the largest, in a gzip file */

#ifdef RM_LINKED_ZLIB
#define LINKED                                                                \
    {                                                                         \
        deflateInit2_, deflate, deflateEnd, inflateInit_, inflate, inflateEnd \
    }
#else
#define LINKED       \
    {                \
        .step = NULL \
    }
#endif

/* Linked in, or loaded. */
static struct {
    int (*begin)(z_streamp stream, int level, int method, int window_bits, int memory_level,
                 int strategy, const char *version, int stream_size);
    int (*step)(z_streamp stream, int flush);
    int (*end)(z_streamp stream);
    int (*begin_unpacking)(z_streamp stream, const char *version, int stream_size);
    int (*unpack)(z_streamp stream, int flush);
    int (*end_unpacking)(z_streamp stream);
} zlib = LINKED;

static const char *const library_names[] = {RM_ZLIB_FILE, NULL};

static const struct rm_library_function library_functions[] = {
    {"deflateInit2_", &zlib.begin}, {"deflate", &zlib.step},
    {"deflateEnd", &zlib.end},      {"inflateInit_", &zlib.begin_unpacking},
    {"inflate", &zlib.unpack},      {"inflateEnd", &zlib.end_unpacking}};

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static bool is_loaded;

static void load(void)
{
    const struct rm_library library = {.what = "zlib, for compressed files",
                                       .names = library_names,
                                       .functions = library_functions,
                                       .function_count = RM_ARRAY_LEN(library_functions)};
    is_loaded = zlib.step != NULL || rm_library_load(&library) == RESMON_OK;
}

static voidpf take_memory(voidpf unused, uInt count, uInt size)
{
    (void)unused;
    return rm_alloc(count, size);
}

static void give_memory(voidpf unused, voidpf memory)
{
    (void)unused;
    rm_free(memory);
}

static resmon_status compress_all(z_stream *stream, const struct rm_output *output, size_t left,
                                  char *piece)
{
    int result = Z_OK;
    while (result != Z_STREAM_END) {
        uInt part = left < (size_t)UINT_MAX / 2 ? (uInt)left : UINT_MAX / 2;
        stream->avail_in = part;
        stream->next_out = (Bytef *)piece;
        stream->avail_out = PIECE_BYTES;
        result = zlib.step(stream, left > part ? Z_NO_FLUSH : Z_FINISH);
        if (result != Z_OK && result != Z_STREAM_END) {
            return rm_error(RESMON_EIO, "zlib failed with code %d", result);
        }
        left -= part - stream->avail_in;
        resmon_status status = rm_output_write(output, piece, PIECE_BYTES - stream->avail_out);
        if (status != RESMON_OK) {
            return status;
        }
    }
    return RESMON_OK;
}

resmon_status rm_gzip(const struct rm_output *output, const void *bytes, size_t length)
{
    z_stream stream = {.zalloc = take_memory, .zfree = give_memory, .next_in = bytes};
    (void)pthread_once(&load_once, load);
    if (!is_loaded) {
        return rm_error(RESMON_ENOTSUP, "zlib, which compresses, is not available");
    }
    char *piece = rm_alloc(PIECE_BYTES, 1);
    if (piece == NULL || zlib.begin(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_GZIP, 8,
                                    Z_DEFAULT_STRATEGY, ZLIB_VERSION, (int)sizeof stream) != Z_OK) {
        rm_free(piece);
        return rm_error(RESMON_ENOMEM, "out of memory for compressing %zu bytes", length);
    }
    resmon_status status = compress_all(&stream, output, length, piece);
    (void)zlib.end(&stream);
    rm_free(piece);
    return status;
}

bool rm_gzip_can_unpack(void)
{
    (void)pthread_once(&load_once, load);
    return is_loaded;
}

/* Both sides in parts that zlib can count. */
static int unpack_all(z_stream *stream, size_t left, size_t room)
{
    int result = Z_OK;
    while (result == Z_OK) {
        uInt in = left < (size_t)UINT_MAX / 2 ? (uInt)left : UINT_MAX / 2;
        uInt out = room < (size_t)UINT_MAX / 2 ? (uInt)room : UINT_MAX / 2;
        stream->avail_in = in;
        stream->avail_out = out;
        result = zlib.unpack(stream, Z_NO_FLUSH);
        left -= in - stream->avail_in;
        room -= out - stream->avail_out;
    }
    return result == Z_STREAM_END && room > 0 ? Z_DATA_ERROR : result;
}

resmon_status rm_gzip_unpack(const void *bytes, size_t length, void *unpacked, size_t room)
{
    z_stream stream = {
        .zalloc = take_memory, .zfree = give_memory, .next_in = bytes, .next_out = unpacked};
    if (!rm_gzip_can_unpack()) {
        return rm_error(RESMON_ENOTSUP, "zlib, which unpacks, is not available");
    }
    if (zlib.begin_unpacking(&stream, ZLIB_VERSION, (int)sizeof stream) != Z_OK) {
        return rm_error(RESMON_ENOMEM, "out of memory for unpacking %zu bytes", length);
    }
    int result = unpack_all(&stream, length, room);
    (void)zlib.end_unpacking(&stream);
    if (result == Z_MEM_ERROR) {
        return rm_error(RESMON_ENOMEM, "out of memory for unpacking %zu bytes", length);
    }
    return result == Z_STREAM_END
               ? RESMON_OK
               : rm_error(RESMON_EFORMAT, "the packed data are damaged: zlib error %d", result);
}
