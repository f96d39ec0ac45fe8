/* SPDX-License-Identifier: MIT */
#include "export/trace.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <resmon/version.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/status.h"
#include "base/text.h"
#include "format/json_writer.h"
#include "metric/view.h"
#include "os/outfile.h"

/* Above every process id of Linux (PID_MAX_LIMIT): for runs whose ids collide. */
#define FIRST_FREE_PID 4194305U

/* Two names and two numbers, with the bounds of name_process(). */
#define PROCESS_NAME_BYTES 640

#define LATEST_NS (INT64_C(1) << 61)

/* A process in the trace: a run and its offset on the common clock. */
struct process {
    struct rm_json_writer *json;
    const struct resmon_run *run;
    int64_t offset_ns; /* of its start */
    uint64_t pid;
};

/* ---- pieces ----------------------------------------------------------------------------- */

/* The start of every event, an object: {"ph":"C","pid":1,"tid":2 */
static void begin_event(const struct process *process, const char *phase, uint64_t tid)
{
    rm_json_break(process->json);
    rm_json_open_object(process->json, NULL);
    rm_json_put_text(process->json, "ph", phase);
    rm_json_put_u64(process->json, "pid", process->pid);
    rm_json_put_u64(process->json, "tid", tid);
}

/* A document may contain any time, so times are cut to bounds. */
static int64_t bounded(int64_t t_ns)
{
    return t_ns < 0 ? 0 : t_ns < LATEST_NS ? t_ns : LATEST_NS;
}

/* "ts":12.345 */
static void put_time(const struct process *process, int64_t t_ns)
{
    rm_json_put_fixed(process->json, "ts", process->offset_ns + bounded(t_ns), 3);
}

/* ---- metadata --------------------------------------------------------------------------- */

/* Begins a metadata event of a process or a thread: its name or its sort position.  The event has
 * one argument, whose object is opened here. */
static void begin_metadata(const struct process *process, const char *what, uint64_t tid)
{
    begin_event(process, "M", tid);
    rm_json_put_u64(process->json, "ts", 0);
    rm_json_put_text(process->json, "name", what);
    rm_json_open_object(process->json, "args");
}

static void end_metadata(const struct process *process)
{
    rm_json_close_object(process->json);
    rm_json_close_object(process->json);
}

static void put_name_of(const struct process *process, const char *what, uint64_t tid,
                        const char *name)
{
    begin_metadata(process, what, tid);
    rm_json_put_text(process->json, "name", name);
    end_metadata(process);
}

static void put_place_of(const struct process *process, const char *what, uint64_t tid,
                         size_t index)
{
    begin_metadata(process, what, tid);
    rm_json_put_u64(process->json, "sort_index", index);
    end_metadata(process);
}

static uint64_t pid_of(const struct resmon_run *run)
{
    double pid = rm_run_fact_number(run, "run", "pid");
    return pid >= 1.0 && pid < FIRST_FREE_PID ? (uint64_t)pid : 0;
}

/* "solver rank 3 @ n001": the name of the run or the program, its rank in the job, the machine.
 * Viewers show the process id themselves.  If the id had to be replaced, the name has the original
 * id: "solver (42) @ n001". */
static void name_process(const struct process *process, char name[PROCESS_NAME_BYTES])
{
    const struct resmon_run *run = process->run;
    char number[32] = "";
    uint64_t pid = pid_of(run);
    const char *host = rm_run_node_name(run);
    const char *rank = rm_run_fact_text(run, "job", "rank");
    if (pid != 0 && pid != process->pid) {
        (void)snprintf(number, sizeof number, " (%llu)", (unsigned long long)pid);
    }
    (void)snprintf(name, PROCESS_NAME_BYTES, "%.255s%s%.31s%s%s%.255s", rm_run_title(run),
                   rank[0] != '\0' ? " rank " : "", rank, number, host[0] != '\0' ? " @ " : "",
                   host);
}

static void put_names(const struct process *process, size_t index)
{
    const struct resmon_run *run = process->run;
    char name[PROCESS_NAME_BYTES];
    name_process(process, name);
    put_name_of(process, "process_name", process->pid, name);
    put_place_of(process, "process_sort_index", process->pid, index);
    for (size_t i = 0; i < run->thread_count; i++) {
        const struct rm_run_thread *thread = &run->threads[i];
        char number[48];
        (void)snprintf(number, sizeof number, "thread %llu", (unsigned long long)thread->id);
        put_name_of(process, "thread_name", thread->id,
                    thread->name[0] != '\0' ? thread->name : number);
        put_place_of(process, "thread_sort_index", thread->id, i);
    }
}

/* ---- scopes and tags -------------------------------------------------------------------- */

static void put_slice(const struct process *process, const struct rm_run_event *event)
{
    struct rm_json_writer *json = process->json;
    begin_event(process, "X", process->run->threads[event->thread].id);
    put_time(process, event->start_ns);
    rm_json_put_fixed(json, "dur", bounded(event->duration_ns), 3);
    rm_json_put_text(json, "name", process->run->event_names[event->name]);
    rm_json_put_text(json, "cat", "scope");
    if (event->is_open != 0) {
        rm_json_open_object(json, "args");
        rm_json_put_u64(json, "open", 1);
        rm_json_close_object(json);
    }
    rm_json_close_object(json);
}

static void put_tag(const struct process *process, const resmon_run_tag *tag)
{
    struct rm_json_writer *json = process->json;
    begin_event(process, "i", process->pid);
    put_time(process, tag->t_ns);
    rm_json_put_text(json, "s", "p");
    rm_json_put_text(json, "cat", "tag");
    rm_json_put_text(json, "name", tag->label[0] != '\0' ? tag->label : "tag");
    rm_json_close_object(json);
}

/* ---- counters ----------------------------------------------------------------------------- */

/* Three decimals are enough for a drawing. */
static void put_value(struct rm_json_writer *json, const char *unit, double value)
{
    if (fabs(value) < 1e12) {
        rm_json_put_fixed(json, unit, llround(value * 1000.0), 3);
    } else {
        rm_json_put_double(json, unit, value);
    }
}

/* A viewer holds a value until the next one.  A value over the time since the previous reading is
 * therefore written at the time of that reading. */
static void put_column(const struct process *process, size_t index, const struct rm_view_row *drawn)
{
    struct rm_json_writer *json = process->json;
    const struct resmon_run *run = process->run;
    const resmon_column *column = &run->columns[index];
    const double *values = rm_run_series(run, index, rm_run_series_meant(column, drawn->series));
    bool is_since_last = column->kind == RESMON_COUNTER || (drawn->metric->kind & RM_INTERVAL) != 0;
    char name[128];
    (void)snprintf(name, sizeof name, "%s%s%s", drawn->label,
                   column->instance[0] != '\0' ? " " : "", column->instance);
    for (size_t row = 0; row < run->row_count; row++) {
        double value = values[row] / drawn->divisor;
        if (!isfinite(value)) {
            continue;
        }
        begin_event(process, "C", process->pid);
        put_time(process, is_since_last && row > 0 ? run->t_last[row - 1] : run->t_first[row]);
        rm_json_put_text(json, "name", name);
        rm_json_open_object(json, "args");
        put_value(json, drawn->unit, value);
        rm_json_close_object(json);
        rm_json_close_object(json);
    }
}

static void put_counters(const struct process *process)
{
    const struct resmon_run *run = process->run;
    struct rm_view_row row;
    for (size_t at = 0; rm_view_next(RM_VIEW_TRACE, NULL, &at, &row);) {
        for (size_t c = 0; c < run->column_count; c++) {
            if (strcmp(run->columns[c].metric, rm_metric_name(row.metric)) == 0) {
                put_column(process, c, &row);
            }
        }
    }
}

/* ---- the file --------------------------------------------------------------------------- */

/* The start of the earliest run since 1970, which is 0 in the trace; 0: not known.  A run with an
 * unknown start begins at 0. */
static int64_t rm_trace_epoch(const struct resmon_run *const *runs, size_t count)
{
    int64_t epoch_ns = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        int64_t start_ns = runs[i]->info.start_realtime_ns;
        epoch_ns = start_ns > 0 && start_ns < epoch_ns ? start_ns : epoch_ns;
    }
    return epoch_ns < INT64_MAX ? epoch_ns : 0;
}

/* Processes of different machines, or processes of one machine one after the other, may have the
 * same id. */
static void choose_pids(struct process *processes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t pid = pid_of(processes[i].run);
        bool is_free = pid != 0;
        for (size_t k = 0; k < i && is_free; k++) {
            is_free = processes[k].pid != pid;
        }
        processes[i].pid = is_free ? pid : FIRST_FREE_PID + i;
    }
}

static void put_number_as_text(struct rm_json_writer *json, const char *key, int64_t number)
{
    char text[RM_NUMBER_BYTES];
    (void)rm_number_i64(text, number);
    rm_json_put_text(json, key, text);
}

static void put_head(struct rm_json_writer *json, int64_t epoch_ns, size_t count)
{
    char producer[64];
    (void)snprintf(producer, sizeof producer, "libresmon %s", resmon_version());
    rm_json_open_object(json, NULL);
    rm_json_put_text(json, "displayTimeUnit", "ms");
    rm_json_break(json);
    rm_json_open_object(json, "otherData");
    rm_json_put_text(json, "producer", producer);
    put_number_as_text(json, "start_realtime_ns", epoch_ns);
    put_number_as_text(json, "processes", (int64_t)count);
    rm_json_close_object(json);
    rm_json_break(json);
    rm_json_open_array(json, "traceEvents");
}

static void put_process(const struct process *process)
{
    for (size_t i = 0; i < process->run->event_count; i++) {
        put_slice(process, &process->run->events[i]);
    }
    for (size_t i = 0; i < process->run->tag_count; i++) {
        put_tag(process, &process->run->tags[i]);
    }
    put_counters(process);
}

struct traced {
    struct process *processes;
    size_t count;
    int64_t epoch_ns;
};

static resmon_status write_trace(const struct rm_output *output, const struct traced *traced)
{
    struct rm_json_writer json;
    rm_json_start(&json, output);
    put_head(&json, traced->epoch_ns, traced->count);
    for (size_t i = 0; i < traced->count; i++) {
        traced->processes[i].json = &json;
        put_names(&traced->processes[i], i);
    }
    for (size_t i = 0; i < traced->count && json.pen.status == RESMON_OK; i++) {
        put_process(&traced->processes[i]);
    }
    rm_json_close_array(&json);
    rm_json_close_object(&json);
    return rm_json_finish(&json);
}

/* Writes one trace of `count` runs. */
static resmon_status rm_trace_write(const struct rm_output *output,
                                    const struct resmon_run *const *runs, size_t count)
{
    struct process *processes = rm_alloc(count, sizeof *processes);
    if (processes == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a trace");
    }
    const struct traced traced = {processes, count, rm_trace_epoch(runs, count)};
    for (size_t i = 0; i < count; i++) {
        int64_t start_ns = runs[i]->info.start_realtime_ns;
        processes[i] = (struct process){
            .run = runs[i],
            .offset_ns = start_ns > 0 ? bounded(start_ns - traced.epoch_ns) : 0,
        };
    }
    choose_pids(processes, count);
    resmon_status status = write_trace(output, &traced);
    rm_free(processes);
    return status;
}

/* ---- archives of several machines ------------------------------------------------------------ */

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

/* The runs of one node, in the order of the input. */
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
    size_t earliest; /* index of the machine that starts first */
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

/* `sorted` has capacity for all runs; the runs of a machine are adjacent in it. */
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

/* "machine-1.json": names of nodes come from outside and are not used in file names. */
static void name_file(size_t machine, char name[NAME_BYTES])
{
    (void)snprintf(name, NAME_BYTES, "machine-%zu.json", machine + 1);
}

/* ---- members -------------------------------------------------------------------------------- */

/* Perfetto knows no clock of traces in JSON.  The offsets of all traces are relative to the
 * earliest trace, because Perfetto would drop events before the start of the trace they
 * refer to. */
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

/* Writes the archive; the runs of one node share a trace. */
static resmon_status rm_trace_archive_write(const struct rm_output *output,
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

/* ---- files ----------------------------------------------------------------------------------- */

struct runs_traced {
    const struct resmon_run *const *runs;
    size_t count;
};

static resmon_status write_one(const struct rm_output *output, const void *what)
{
    const struct runs_traced *runs_traced = what;
    return rm_trace_write(output, runs_traced->runs, runs_traced->count);
}

static resmon_status write_archive(const struct rm_output *output, const void *what)
{
    const struct runs_traced *runs_traced = what;
    return rm_trace_archive_write(output, runs_traced->runs, runs_traced->count);
}

resmon_status rm_trace_save(const struct resmon_run *const *runs, size_t count, const char *path)
{
    const struct runs_traced runs_traced = {runs, count};
    const char *ending = strrchr(path, '.');
    bool is_archive = ending != NULL && strcmp(ending, ".tar") == 0;
    return rm_outfile_save(path, 0, is_archive ? write_archive : write_one, &runs_traced);
}
