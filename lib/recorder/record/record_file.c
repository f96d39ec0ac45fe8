/* SPDX-License-Identifier: MIT */
#include "record/record_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/status.h"
#include "os/outfile.h"
#include "os/own_io.h"

#define PAGE_BYTES  4096U
#define ROOM_PAGES  32U
#define ROOM_BYTES  ((uint64_t)ROOM_PAGES * PAGE_BYTES)
#define HEAD_BYTES  ((sizeof(struct rm_block_header) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES)
#define MAGIC_BYTES 8U

_Static_assert(HEAD_BYTES <= ROOM_BYTES, "the header has room");

/* Size of a place, in whole pages: the block, and in the last word the image number again.  If the
 * file was copied while an image was written, the two numbers of that image in the copy differ. */
static uint64_t stride_of(uint64_t block_bytes)
{
    return (block_bytes + sizeof(uint64_t) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

uint64_t rm_record_file_bytes(uint64_t block_bytes)
{
    return 2 * stride_of(block_bytes);
}

/* Hashes four lanes of words, which is fast: all pages of a block are hashed every few seconds. */
static uint64_t hash_page(const unsigned char *page)
{
    uint64_t lanes[4] = {1, 2, 3, 4};
    for (size_t i = 0; i < PAGE_BYTES; i += sizeof lanes) {
        for (size_t k = 0; k < 4; k++) {
            uint64_t word;
            memcpy(&word, page + i + k * sizeof word, sizeof word);
            lanes[k] = (lanes[k] ^ word) * UINT64_C(0x9e3779b97f4a7c15);
            lanes[k] ^= lanes[k] >> 29;
        }
    }
    return (lanes[0] * 31 + lanes[1]) * 31 * 31 + lanes[2] * 31 + (lanes[3] ^ lanes[3] >> 32);
}

resmon_status rm_record_file_open(struct rm_record_file *file, const struct rm_kept *kept,
                                  const char *path, uint64_t block_bytes, bool is_new)
{
    const size_t pages = (size_t)(stride_of(block_bytes) / PAGE_BYTES);
    *file = (struct rm_record_file){.kept = kept, .path = path, .bytes = block_bytes};
    file->room = rm_alloc(ROOM_PAGES, PAGE_BYTES);
    file->hashes[0] = rm_alloc(pages, sizeof(uint64_t));
    file->hashes[1] = rm_alloc(pages, sizeof(uint64_t));
    if (file->room == NULL || file->hashes[0] == NULL || file->hashes[1] == NULL) {
        rm_record_file_close(file);
        return rm_error(RESMON_ENOMEM, "out of memory for the recording %s", path);
    }
    file->zeroes = hash_page(file->room);
    for (size_t i = 0; i < pages; i++) {
        file->hashes[0][i] = file->hashes[1][i] = is_new ? file->zeroes : 0;
    }
    return RESMON_OK;
}

void rm_record_file_close(struct rm_record_file *file)
{
    rm_free(file->room);
    rm_free(file->hashes[0]);
    rm_free(file->hashes[1]);
    *file = (struct rm_record_file){.kept = NULL};
}

/* ---- writing ------------------------------------------------------------------------------ */

static resmon_status write_at(struct rm_record_file *file, uint64_t offset, const void *bytes,
                              uint64_t length)
{
    int error = rm_write_at(file->kept, bytes, (size_t)length, (int64_t)offset);
    if (error == EBADF) {
        return rm_error(RESMON_EIO, "the program has closed the descriptor of the recording %s",
                        file->path);
    }
    if (error != 0) {
        return rm_error_errno(error, "cannot write to the recording %s", file->path);
    }
    file->written += length;
    return RESMON_OK;
}

/* Writes the pages in `room` that differ from the pages in place `which`.  Adjacent pages are
 * written together. */
static resmon_status write_changed(struct rm_record_file *file, size_t which, uint64_t offset,
                                   uint64_t length)
{
    const uint64_t base = which * stride_of(file->bytes) + offset;
    uint64_t *hashes = file->hashes[which] + offset / PAGE_BYTES;
    const size_t pages = (size_t)(length / PAGE_BYTES);
    size_t first = 0; /* first of the adjacent changed pages before `i` */
    for (size_t i = 0; i <= pages; i++) {
        uint64_t hash = i < pages ? hash_page(file->room + i * PAGE_BYTES) : 0;
        if (i < pages && hash != hashes[i]) {
            hashes[i] = hash;
            continue;
        }
        resmon_status status =
            first < i ? write_at(file, base + first * PAGE_BYTES, file->room + first * PAGE_BYTES,
                                 (i - first) * PAGE_BYTES)
                      : RESMON_OK;
        if (status != RESMON_OK) {
            memset(file->hashes[which], 0, (size_t)(stride_of(file->bytes) / PAGE_BYTES) * 8);
            return status; /* the content of the place is not known */
        }
        first = i + 1;
    }
    return RESMON_OK;
}

/* ---- an image ------------------------------------------------------------------------------ */

/* Writes the header after the rest of the image, and the magic after the header: only a complete
 * image has the magic of a block. */
static resmon_status write_head(struct rm_record_file *file, const struct rm_infile *still,
                                size_t which, uint64_t image)
{
    const uint64_t base = which * stride_of(file->bytes);
    struct rm_block_header *header = (void *)file->room;
    resmon_status status = rm_infile_read(still, 0, file->room, HEAD_BYTES);
    if (status != RESMON_OK) {
        return status;
    }
    header->image = image;
    if (image == 0) {
        header->memory_name[0] = '\0';
    }
    status = write_at(file, base + MAGIC_BYTES, file->room + MAGIC_BYTES, HEAD_BYTES - MAGIC_BYTES);
    return status == RESMON_OK ? write_at(file, base, RM_BLOCK_MAGIC, MAGIC_BYTES) : status;
}

/* Whether a range has no data in the block, and only zeroes in place `which`. */
static bool is_empty(const struct rm_record_file *file, const struct rm_infile *still, size_t which,
                     uint64_t offset, uint64_t length)
{
    const uint64_t *hashes = file->hashes[which] + offset / PAGE_BYTES;
    bool is_so = rm_infile_next_data(still, offset) >= offset + length;
    for (uint64_t i = 0; i < length / PAGE_BYTES && is_so; i++) {
        is_so = hashes[i] == file->zeroes;
    }
    return is_so;
}

static resmon_status write_parts(struct rm_record_file *file, const struct rm_infile *still,
                                 size_t which, uint64_t image)
{
    const uint64_t stride = stride_of(file->bytes);
    resmon_status status = write_at(file, which * stride, RM_BLOCK_PART_MAGIC, MAGIC_BYTES);
    for (uint64_t at = HEAD_BYTES; at < stride && status == RESMON_OK; at += ROOM_BYTES) {
        uint64_t length = stride - at < ROOM_BYTES ? stride - at : ROOM_BYTES;
        if (at + length < stride && is_empty(file, still, which, at, length)) {
            continue;
        }
        status = rm_infile_read(still, at, file->room, length);
        if (at + length == stride) {
            memcpy(file->room + length - sizeof image, &image, sizeof image);
        }
        if (status == RESMON_OK) {
            status = write_changed(file, which, at, length);
        }
    }
    /* The last copy has no image number, so a partial write by the disk would not be detected.
     * Therefore the data is synced before the header is written. */
    if (status == RESMON_OK && image == 0 && rm_kept_is_ours(file->kept) &&
        fdatasync(rm_kept_fd(file->kept)) != 0) {
        status = rm_error_errno(errno, "cannot sync the recording %s", file->path);
    }
    return status == RESMON_OK ? write_head(file, still, which, image) : status;
}

static resmon_status write_image(struct rm_record_file *file, const struct rm_infile *still,
                                 size_t which, uint64_t image)
{
    struct rm_own_io_part part;
    rm_own_io_begin(&part);
    resmon_status status = write_parts(file, still, which, image);
    rm_own_io_end(&part);
    return status;
}

resmon_status rm_record_file_write(struct rm_record_file *file, const struct rm_infile *still)
{
    resmon_status status = write_image(file, still, file->image % 2, file->image + 1);
    file->image += status == RESMON_OK ? 1 : 0;
    return status;
}

/* If the newest image is in the first place, an image is written to the second place before: at
 * every instant, one image is complete. */
resmon_status rm_record_file_end(struct rm_record_file *file, const struct rm_infile *still)
{
    resmon_status status = file->image % 2 == 1 ? rm_record_file_write(file, still) : RESMON_OK;
    if (status == RESMON_OK) {
        status = write_image(file, still, 0, 0);
    }
    if (status == RESMON_OK && (!rm_kept_is_ours(file->kept) ||
                                ftruncate(rm_kept_fd(file->kept), (off_t)file->bytes) != 0)) {
        status = rm_error_errno(errno, "cannot cut the recording %s", file->path);
    }
    return status;
}

/* ---- reading ------------------------------------------------------------------------------ */

static bool is_magic(const struct rm_block_header *header, const char *magic)
{
    return memcmp(header->magic, magic, sizeof header->magic) == 0;
}

/* Whether the image at `base` is complete; reads its header. */
static bool is_whole(const struct rm_infile *file, uint64_t base, uint64_t bytes,
                     struct rm_block_header *ret_header)
{
    const uint64_t stamp = base + stride_of(bytes) - sizeof(uint64_t);
    uint64_t number = 0;
    return rm_infile_read(file, base, ret_header, sizeof *ret_header) == RESMON_OK &&
           is_magic(ret_header, RM_BLOCK_MAGIC) && ret_header->image != 0 &&
           ret_header->total_bytes == bytes &&
           rm_infile_read(file, stamp, &number, sizeof number) == RESMON_OK &&
           number == ret_header->image;
}

/* The header of the first place has the size that locates the second place, also while the first
 * image is written. */
resmon_status rm_record_file_choose(struct rm_infile *file, struct rm_block_header *ret_header)
{
    struct rm_block_header second;
    resmon_status status = rm_infile_read(file, 0, ret_header, sizeof *ret_header);
    const uint64_t bytes = ret_header->total_bytes;
    if (status != RESMON_OK || (is_magic(ret_header, RM_BLOCK_MAGIC) && ret_header->image == 0)) {
        return status;
    }
    if (bytes < sizeof *ret_header || bytes > file->bytes || stride_of(bytes) > file->bytes) {
        return rm_error(RESMON_EFORMAT, "the recording is truncated: %llu bytes",
                        (unsigned long long)file->bytes);
    }
    bool has_first = is_whole(file, 0, bytes, ret_header);
    bool has_second = is_whole(file, stride_of(bytes), bytes, &second);
    if (!has_first && !has_second) {
        ret_header->image = 0;
        return rm_error(RESMON_EFORMAT, "the recording has no whole copy of the run");
    }
    if (has_second && (!has_first || second.image > ret_header->image)) {
        *ret_header = second;
        file->base = stride_of(bytes);
    }
    file->bytes = bytes;
    return RESMON_OK;
}
