/* SPDX-License-Identifier: MIT */
#include "record/settling.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "store/scope_records.h"

#define TRIES 16 /* a scope may end all the time */

/* Where the versions of a record stand, one behind the other. */
struct versions {
    size_t bytes; /* of the record */
    size_t first;
    size_t count;
};

static const struct versions of_nodes = {sizeof(struct rm_scope_node),
                                         offsetof(struct rm_scope_node, wall_version), 2};

uint32_t rm_settled_section(size_t index)
{
    return index < RM_FACETS ? rm_facets[index].section : RM_SECTION_NODES;
}

static struct versions versions_of(uint32_t section)
{
    for (size_t i = 0; i < RM_FACETS; i++) {
        if (rm_facets[i].section == section) {
            return (struct versions){rm_facets[i].record_bytes, rm_facets[i].version, 1};
        }
    }
    return of_nodes;
}

/* As rm_published_read(), through a file: versions stand before what they name, and reads go up. */
resmon_status rm_settle_record(const struct rm_infile *live, uint32_t section, uint64_t offset,
                               void *record)
{
    const struct versions versions = versions_of(section);
    const uint64_t at = offset + versions.first;
    uint32_t before[2] = {0, 0}, after[2];
    const size_t bytes = versions.count * sizeof before[0];
    resmon_status status = rm_infile_read(live, at, before, bytes);
    for (int tries = 0; tries < TRIES && status == RESMON_OK; tries++) {
        status = rm_infile_read(live, offset, record, versions.bytes);
        memcpy((unsigned char *)record + versions.first, before, bytes);
        if (status == RESMON_OK) {
            status = rm_infile_read(live, at, after, bytes);
        }
        if (status != RESMON_OK || memcmp(before, after, bytes) == 0) {
            break;
        }
        memcpy(before, after, bytes);
    }
    return status;
}
