/* SPDX-License-Identifier: MIT */
#include "stack/debug_files.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"

#define MOST_LINK_BYTES 4096U
#define CHUNK_BYTES     65536U

/* What a file says of another one. */
struct link {
    char build_id[RM_ELF_BUILD_ID_BYTES]; /* "": not known */
    const char *name;                     /* NULL: not known */
    bool has_crc;
    uint32_t crc;
};

/* ---- whether it is the right one -------------------------------------------------------- */

/* CRC-32 of IEEE 802.3, as objcopy writes it. */
static void make_crc_table(uint32_t table[256])
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++) {
            value = (value >> 1U) ^ ((value & 1U) != 0 ? UINT32_C(0xedb88320) : 0);
        }
        table[i] = value;
    }
}

static resmon_status crc_of(const struct rm_infile *file, uint32_t *ret_crc)
{
    uint32_t table[256], crc = UINT32_MAX;
    unsigned char *chunk = rm_alloc(CHUNK_BYTES, 1);
    if (chunk == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for reading %s", file->path);
    }
    resmon_status status = RESMON_OK;
    make_crc_table(table);
    for (uint64_t at = 0; status == RESMON_OK && at < file->bytes; at += CHUNK_BYTES) {
        uint64_t left = file->bytes - at;
        size_t length = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
        status = rm_infile_read(file, at, chunk, length);
        for (size_t i = 0; i < length; i++) {
            crc = table[(crc ^ chunk[i]) & 255U] ^ (crc >> 8U);
        }
    }
    rm_free(chunk);
    *ret_crc = ~crc;
    return status;
}

static resmon_status check(const struct rm_elf *elf, const struct link *link)
{
    char build_id[RM_ELF_BUILD_ID_BYTES];
    uint32_t crc = 0;
    resmon_status status = rm_elf_build_id(elf, build_id);
    if (status != RESMON_OK) {
        return status;
    }
    if (link->build_id[0] != '\0' && build_id[0] != '\0') {
        return strcmp(link->build_id, build_id) == 0 ? RESMON_OK : RESMON_ENOENT;
    }
    if (!link->has_crc || elf->file.bytes > RM_ELF_MOST_READ) {
        return RESMON_ENOENT;
    }
    status = crc_of(&elf->file, &crc);
    return status == RESMON_OK && crc != link->crc ? RESMON_ENOENT : status;
}

/* RESMON_OK, RESMON_ENOMEM, or RESMON_ENOENT for all else. */
static resmon_status try(struct rm_debug_file *file, const struct link *link, int length)
{
    if (length <= 0 || length >= RM_DEBUG_PATH_BYTES) {
        return RESMON_ENOENT;
    }
    resmon_status status = rm_elf_open(&file->elf, file->path);
    if (status == RESMON_OK) {
        status = check(&file->elf, link);
        if (status == RESMON_OK) {
            return RESMON_OK;
        }
        rm_elf_close(&file->elf);
    }
    return status == RESMON_ENOMEM ? RESMON_ENOMEM : RESMON_ENOENT;
}

/* ---- where it may be -------------------------------------------------------------------- */

static resmon_status try_build_id(struct rm_debug_file *file, const struct link *link,
                                  const char *root)
{
    if (strlen(link->build_id) <= 2) {
        return RESMON_ENOENT;
    }
    return try(file, link,
               snprintf(file->path, sizeof file->path, "%s/.build-id/%.2s/%s.debug", root,
                        link->build_id, link->build_id + 2));
}

static resmon_status try_names(struct rm_debug_file *file, const struct link *link,
                               const char *path, const char *root)
{
    const char *slash = strrchr(path, '/');
    int directory = slash != NULL ? (int)(slash - path) : 0;
    const struct {
        const char *before, *after;
    } places[] = {{"", "/"}, {"", "/.debug/"}, {root, "/"}};
    if (slash == NULL || slash - path >= RM_DEBUG_PATH_BYTES) {
        return RESMON_ENOENT;
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(places); i++) {
        resmon_status status =
            try(file, link,
                snprintf(file->path, sizeof file->path, "%s%.*s%s%s", places[i].before, directory,
                         path, places[i].after, link->name));
        if (status != RESMON_ENOENT) {
            return status;
        }
    }
    return RESMON_ENOENT;
}

/* The content of a section that begins with a name; NULL: there is none. */
static resmon_status read_link(const struct rm_elf *elf, const char *name, char **ret_bytes,
                               size_t *ret_length)
{
    const struct rm_elf_section *section = rm_elf_find(elf, name, SHT_PROGBITS);
    *ret_bytes = NULL;
    if (section == NULL) {
        return RESMON_OK;
    }
    resmon_status status = rm_elf_read(elf, section, MOST_LINK_BYTES, ret_bytes);
    *ret_length = (size_t)section->bytes;
    return status == RESMON_ENOMEM ? status : RESMON_OK;
}

resmon_status rm_debug_file_open(struct rm_debug_file *file, const struct rm_elf *elf,
                                 const char *root)
{
    struct link link = {.name = NULL};
    char *bytes = NULL;
    size_t length = 0;
    file->elf = (struct rm_elf){.sections = NULL};
    resmon_status status = rm_elf_build_id(elf, link.build_id);
    if (status == RESMON_OK) {
        status = try_build_id(file, &link, root);
    }
    if (status != RESMON_ENOENT) {
        return status;
    }
    status = read_link(elf, ".gnu_debuglink", &bytes, &length);
    if (status != RESMON_OK || bytes == NULL) {
        return status != RESMON_OK ? status : RESMON_ENOENT;
    }
    size_t crc_at = (strlen(bytes) + 1 + 3) / 4 * 4;
    link.has_crc = crc_at + sizeof link.crc <= length;
    if (link.has_crc) {
        memcpy(&link.crc, bytes + crc_at, sizeof link.crc);
    }
    link.name = bytes;
    /* It is the name of a file, not a path to somewhere else. */
    status = bytes[0] == '\0' || strchr(bytes, '/') != NULL
                 ? RESMON_ENOENT
                 : try_names(file, &link, elf->file.path, root);
    rm_free(bytes);
    return status;
}

static void print_build_id(const char *bytes, size_t length, char build_id[RM_ELF_BUILD_ID_BYTES])
{
    size_t most = (RM_ELF_BUILD_ID_BYTES - 1) / 2;
    build_id[0] = '\0';
    for (size_t i = 0; i < length && i < most; i++) {
        (void)snprintf(build_id + 2 * i, 3, "%02x", (unsigned)(unsigned char)bytes[i]);
    }
}

resmon_status rm_debug_file_open_alternate(struct rm_debug_file *file, const struct rm_elf *elf,
                                           const char *root)
{
    struct link link = {.name = NULL};
    char *bytes = NULL;
    size_t length = 0;
    file->elf = (struct rm_elf){.sections = NULL};
    resmon_status status = read_link(elf, ".gnu_debugaltlink", &bytes, &length);
    if (status != RESMON_OK || bytes == NULL) {
        return status != RESMON_OK ? status : RESMON_ENOENT;
    }
    size_t name = strlen(bytes) + 1;
    if (name < length) {
        print_build_id(bytes + name, length - name, link.build_id);
        status = try_build_id(file, &link, root);
    } else {
        status = RESMON_ENOENT;
    }
    if (status == RESMON_ENOENT && link.build_id[0] != '\0') {
        const char *slash = bytes[0] == '/' ? NULL : strrchr(elf->file.path, '/');
        int directory = slash != NULL ? (int)(slash + 1 - elf->file.path) : 0;
        status = try(
            file, &link,
            snprintf(file->path, sizeof file->path, "%.*s%s", directory, elf->file.path, bytes));
    }
    rm_free(bytes);
    return status;
}

void rm_debug_file_close(struct rm_debug_file *file)
{
    rm_elf_close(&file->elf);
}
