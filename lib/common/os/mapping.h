/* SPDX-License-Identifier: MIT */
/*
 * Owns memory that is mapped, as that of run blocks: anonymous, or a file mapping that was
 * allocated in full first, so that a full disk is an error at start and never a SIGBUS later.
 */
#ifndef RM_OS_MAPPING_H
#define RM_OS_MAPPING_H

#include <stdint.h>

#include <resmon/status.h>

#include "os/kept.h"

struct rm_outfile;

struct rm_mapping {
    void *memory;
    uint64_t bytes;
    struct rm_outfile *pending; /* the file behind it has not got its name yet */
};

/** Zeroed private memory. */
resmon_status rm_mapping_anonymous(struct rm_mapping *mapping, uint64_t bytes);

/** Reserves `bytes` of an open file, so that no page of it can lack a block later.  0, or an errno:
 * EBADF where the program has closed the descriptor. */
int rm_mapping_reserve(const struct rm_kept *kept, uint64_t bytes);

/** Reserves and maps them, shared.  0, or an errno. */
int rm_mapping_of(struct rm_mapping *mapping, const struct rm_kept *kept, uint64_t bytes);

/**
 * A new file of `bytes` zeroes (mode 0600), mapped shared, that rm_mapping_publish() will rename to
 * `path` once its content makes sense: a recording that is there, and may still be mapped by
 * another process, stays whole for that process.
 */
resmon_status rm_mapping_file(struct rm_mapping *mapping, const char *path, uint64_t bytes);

/** Gives the file its name; does nothing for memory without a file. */
resmon_status rm_mapping_publish(struct rm_mapping *mapping);

/** Bytes of it that are in memory; 0: not known. */
uint64_t rm_mapping_resident(const struct rm_mapping *mapping);

void rm_mapping_free(struct rm_mapping *mapping);

#endif
