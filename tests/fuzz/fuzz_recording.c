/* SPDX-License-Identifier: MIT */
/*
 * Recordings: flipped, cut and made up.  What begins with the magic is taken as a file; anything
 * else is poured into a block of sizes that its first bytes choose, so that the fuzzer need not
 * find a hash to get past the table of contents.
 */
#include "fuzz.h"
#include "report_in_full.h"

#include <unistd.h>

#include <resmon/resmon.h>

#include "arrow_consumer.h"
#include "base/compiler.h"
#include "format/document.h"
#include "format/json.h"
#include "run/run.h"
#include "store/layout.h"

#define ALIGNMENT 64

static void use(resmon_run *run)
{
    char path[96];
    char *text = NULL;
    resmon_run *again = NULL;
    resmon_status status = report_in_full(run, &text);
    PROMISE(status == RESMON_OK || status == RESMON_ENOMEM || status == RESMON_ERANGE);
    resmon_text_free(text);
    for (size_t i = 0; i < resmon_run_scope_count(run); i++) {
        resmon_run_scope scope = {.struct_size = sizeof scope};
        PROMISE(resmon_run_get_scope(run, i, &scope) == RESMON_OK);
        PROMISE(scope.parent < (int64_t)i && scope.depth <= 256);
    }
    for (size_t i = 0; i < resmon_run_event_count(run); i++) {
        resmon_run_event event = {.struct_size = sizeof event};
        PROMISE(resmon_run_get_event(run, i, &event) == RESMON_OK);
        PROMISE(strlen(event.name) < 64 && strlen(event.thread_name) < 17);
        PROMISE(event.depth < 256 && event.is_open <= 1);
        PROMISE(event.start_ns >= 0 && event.duration_ns >= 0);
    }
    resmon_run_end end = {.struct_size = sizeof end};
    PROMISE(resmon_run_get_end(run, &end) == RESMON_OK && strlen(end.text) < 256);
    PROMISE(end.reason >= RESMON_END_UNKNOWN && end.reason <= RESMON_END_KILLED);
    PROMISE(end.exit_status >= 0 && end.signal_number >= 0);
    struct arrow_verdict verdict;
    PROMISE(arrow_check_run(&verdict, run, RESMON_SERIES_VALUE));
    (void)snprintf(path, sizeof path, "%s/run.json", fuzz_directory());
    PROMISE(rm_document_save(run, path) == RESMON_OK);
    if (rm_json_check() == RESMON_OK) {
        PROMISE(resmon_run_load(path, &again) == RESMON_OK);
        PROMISE(resmon_run_scope_count(again) == resmon_run_scope_count(run));
        PROMISE(resmon_run_event_count(again) == resmon_run_event_count(run));
        resmon_run_free(again);
    }
    (void)unlink(path);
}

static void decode(void *memory, uint64_t bytes)
{
    struct rm_block block;
    struct rm_decode how = {.parts = RM_PART_ALL};
    resmon_run *run = NULL;
    if (rm_block_attach(&block, memory, bytes) != RESMON_OK) {
        PROMISE(resmon_last_error()[0] != '\0');
        return;
    }
    if (rm_run_decode(&block, &how, &run) == RESMON_OK) {
        use(run);
        resmon_run_free(run);
    }
}

static void *aligned_copy(const void *data, size_t size)
{
    void *memory = NULL;
    PROMISE(posix_memalign(&memory, ALIGNMENT, size > 0 ? size : 1) == 0);
    if (size > 0) {
        memcpy(memory, data, size);
    }
    return memory;
}

static void pour(const uint8_t *data, size_t size)
{
    const struct rm_block_sizes sizes = {
        .columns = 1 + data[0] % 3,
        .rows = 2 + 2 * (data[1] % 3),
        .sources = 1 + data[2] % 2,
        .tags = 1 + data[3] % 4,
        .sites = 2 + data[4] % 4,
        .nodes = 2 + data[5] % 16,
        .threads = 1 + data[6] % 3,
        .depth = 1 + data[7] % 4,
        .fact_bytes = 1 + data[8] % 64U,
        .events = data[9] % 4,
        .scope_energy = 1,
        .scope_counters = data[9] / 4 % 3,
        .scope_tallies = data[9] / 12 % 2,
    };
    uint64_t bytes = 0;
    struct rm_block block;
    PROMISE(rm_block_measure(&sizes, &bytes) == RESMON_OK);
    void *memory = NULL;
    PROMISE(posix_memalign(&memory, ALIGNMENT, (size_t)bytes) == 0);
    memset(memory, 0, (size_t)bytes);
    rm_block_format(&block, memory, &sizes);
    struct rm_block_header *header = block.header;
    unsigned char *from = (unsigned char *)&header->start;
    size_t head = sizeof *header - offsetof(struct rm_block_header, start);
    data += 10;
    size -= 10;
    size_t length = size < head ? size : head;
    memcpy(from, data, length);
    data += length;
    size -= length;
    /* The sketches are most of the block, and nothing but counts: they stay out. */
    for (int id = 0; id < RM_SECTION_COUNT && size > 0; id++) {
        const struct rm_section *section = &header->sections[id];
        uint64_t room = id == RM_SECTION_SKETCHES ? 64 : section->record_bytes * section->count;
        length = size < room ? size : (size_t)room;
        memcpy(block.base + section->offset, data, length);
        data += length;
        size -= length;
    }
    decode(memory, bytes);
    free(memory);
}

static void parse(const uint8_t *data, size_t size)
{
    resmon_run *run = NULL;
    resmon_status status = resmon_run_parse(data, size, &run);
    PROMISE((run != NULL) == (status == RESMON_OK));
    PROMISE(status == RESMON_OK || resmon_last_error()[0] != '\0');
    resmon_run_free(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    parse(data, size);
    if (size >= 8 && memcmp(data, RM_BLOCK_MAGIC, 8) == 0) {
        void *memory = aligned_copy(data, size);
        decode(memory, size);
        free(memory);
    } else if (size > 10) {
        pour(data, size);
    }
    return 0;
}
