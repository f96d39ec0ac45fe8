/* SPDX-License-Identifier: MIT */
#include "export/trace_archive.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/status.h"
#include "export/trace.h"
#include "format/json_writer.h"

#define MANIFEST      "perfetto_manifest.json"
#define LARGEST_TRACE ((size_t)1 << 32)
#define NAME_BYTES    48

/* ---- the archive ---------------------------------------------------------------------------- */

#define BLOCK_BYTES 512U

/* A header of ustar: texts, and numbers in octal digits. */
struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
    char link[100], magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155];
    char pad[12];
};

_Static_assert(sizeof(struct header) == BLOCK_BYTES, "a block of ustar");

static void put_octal(char *target, size_t width, uint64_t number)
{
    for (size_t i = width - 1; i-- > 0; number >>= 3) {
        target[i] = (char)('0' + (number & 7));
    }
}

static resmon_status write_header(const struct rm_output *output, const char *name, size_t size,
                                  int64_t realtime_ns)
{
    struct header header = {.type = '0', .magic = "ustar", .version = {'0', '0'}};
    char bytes[BLOCK_BYTES];
    uint64_t sum = 0;
    (void)snprintf(header.name, sizeof header.name, "%s", name);
    put_octal(header.mode, sizeof header.mode, 0644);
    put_octal(header.uid, sizeof header.uid, 0);
    put_octal(header.gid, sizeof header.gid, 0);
    put_octal(header.size, sizeof header.size, size);
    put_octal(header.mtime, sizeof header.mtime,
              realtime_ns > 0 ? (uint64_t)(realtime_ns / RM_NS_PER_S) : 0);
    memset(header.checksum, ' ', sizeof header.checksum);
    memcpy(bytes, &header, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        sum += (unsigned char)bytes[i];
    }
    put_octal(header.checksum, 7, sum);
    header.checksum[6] = '\0';
    memcpy(bytes, &header, sizeof bytes);
    return rm_output_write(output, bytes, sizeof bytes);
}

static resmon_status write_zeros(const struct rm_output *output, size_t length)
{
    static const char zeros[2 * BLOCK_BYTES];
    return length > 0 ? rm_output_write(output, zeros, length) : RESMON_OK;
}

static resmon_status write_member(const struct rm_output *output, const char *name,
                                  const struct rm_buffer *text, int64_t realtime_ns)
{
    resmon_status status = write_header(output, name, text->length, realtime_ns);
    if (status == RESMON_OK) {
        status = rm_output_write(output, text->text, text->length);
    }
    return status == RESMON_OK
               ? write_zeros(output, (BLOCK_BYTES - text->length % BLOCK_BYTES) % BLOCK_BYTES)
               : status;
}

/* ---- machines ------------------------------------------------------------------------------- */

/* Runs of one node, in their order among all. */
struct machine {
    const char *name;
    const struct resmon_run **runs;
    size_t count;
    int64_t epoch_ns;
};

struct archive {
    const struct rm_output *output;
    struct machine *machines;
    size_t count;
    size_t earliest; /* machine, beside whose trace the others are placed */
};

static const char *name_of(const struct resmon_run *run)
{
    const char *name = rm_run_node_name(run);
    return name[0] != '\0' ? name : "a machine without a name";
}

static struct machine *machine_named(struct archive *archive, const char *name)
{
    size_t i = 0;
    while (i < archive->count && strcmp(archive->machines[i].name, name) != 0) {
        i++;
    }
    archive->machines[i].name = name;
    archive->count += i == archive->count ? 1 : 0;
    return &archive->machines[i];
}

/* `sorted` has room for all runs: those of a machine stand together in it. */
static void find_machines(struct archive *archive, const struct resmon_run *const *runs,
                          size_t count, const struct resmon_run **sorted)
{
    for (size_t i = 0; i < count; i++) {
        machine_named(archive, name_of(runs[i]))->count++;
    }
    for (size_t m = 0; m < archive->count; m++) {
        struct machine *machine = &archive->machines[m];
        machine->runs = sorted;
        machine->count = 0;
        for (size_t i = 0; i < count; i++) {
            if (strcmp(name_of(runs[i]), machine->name) == 0) {
                machine->runs[machine->count++] = runs[i];
            }
        }
        machine->epoch_ns = rm_trace_epoch(machine->runs, machine->count);
        if (machine->epoch_ns < archive->machines[archive->earliest].epoch_ns) {
            archive->earliest = m;
        }
        sorted += machine->count;
    }
}

/* "machine-1.json": names of nodes are outside text. */
static void name_file(size_t machine, char name[NAME_BYTES])
{
    (void)snprintf(name, NAME_BYTES, "machine-%zu.json", machine + 1);
}

/* ---- members -------------------------------------------------------------------------------- */

/* Traces in JSON have no clock that Perfetto knows: others are placed behind the earliest, as what
 * came before it would be dropped. */
static void put_clocks(struct rm_json_writer *json, const struct archive *archive, size_t index)
{
    char name[NAME_BYTES];
    name_file(archive->earliest, name);
    rm_json_open_object(json, "clocks");
    rm_json_open_object(json, "sync_to");
    rm_json_put_text(json, "file", name);
    rm_json_close_object(json);
    rm_json_put_i64(json, "offset_ns",
                    archive->machines[index].epoch_ns -
                        archive->machines[archive->earliest].epoch_ns);
    rm_json_close_object(json);
}

static resmon_status make_manifest(const struct archive *archive, struct rm_buffer *text)
{
    struct rm_json_writer json;
    const struct rm_output output = rm_buffer_output(text);
    char name[NAME_BYTES];
    rm_json_start(&json, &output);
    rm_json_open_object(&json, NULL);
    rm_json_open_object(&json, "perfetto_manifest");
    rm_json_put_i64(&json, "version", 1);
    rm_json_open_array(&json, "files");
    for (size_t i = 0; i < archive->count; i++) {
        const struct machine *machine = &archive->machines[i];
        name_file(i, name);
        rm_json_open_object(&json, NULL);
        rm_json_put_text(&json, "path", name);
        rm_json_open_object(&json, "machine");
        rm_json_put_text(&json, "name", machine->name);
        rm_json_close_object(&json);
        if (i != archive->earliest) {
            put_clocks(&json, archive, i);
        }
        rm_json_close_object(&json);
    }
    rm_json_close_array(&json);
    rm_json_close_object(&json);
    rm_json_close_object(&json);
    return rm_json_finish(&json);
}

static resmon_status write_manifest(const struct archive *archive)
{
    struct rm_buffer text;
    rm_buffer_init(&text, LARGEST_TRACE);
    resmon_status status = make_manifest(archive, &text);
    if (status == RESMON_OK) {
        status = write_member(archive->output, MANIFEST, &text, archive->machines[0].epoch_ns);
    }
    rm_buffer_free(&text);
    return status;
}

static resmon_status write_machine(const struct archive *archive, size_t index)
{
    const struct machine *machine = &archive->machines[index];
    char name[NAME_BYTES];
    struct rm_buffer text;
    rm_buffer_init(&text, LARGEST_TRACE);
    const struct rm_output output = rm_buffer_output(&text);
    resmon_status status = rm_trace_write(&output, machine->runs, machine->count);
    name_file(index, name);
    if (status == RESMON_OK) {
        status = write_member(archive->output, name, &text, machine->epoch_ns);
    }
    rm_buffer_free(&text);
    return status;
}

static resmon_status write_all(const struct archive *archive)
{
    resmon_status status = write_manifest(archive);
    for (size_t i = 0; i < archive->count && status == RESMON_OK; i++) {
        status = write_machine(archive, i);
    }
    return status == RESMON_OK ? write_zeros(archive->output, 2 * BLOCK_BYTES) : status;
}

resmon_status rm_trace_archive_write(const struct rm_output *output,
                                     const struct resmon_run *const *runs, size_t count)
{
    struct archive archive = {.output = output,
                              .machines = rm_alloc(count, sizeof *archive.machines)};
    const struct resmon_run **sorted =
        rm_alloc(count, sizeof(struct resmon_run *)); /* NOLINT(bugprone-sizeof-expression) */
    resmon_status status = RESMON_OK;
    if (archive.machines == NULL || sorted == NULL) {
        status = rm_error(RESMON_ENOMEM, "out of memory for an archive of traces");
    } else {
        find_machines(&archive, runs, count, sorted);
        status = write_all(&archive);
    }
    rm_free(archive.machines);
    rm_free(sorted);
    return status;
}
