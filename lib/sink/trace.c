/* SPDX-License-Identifier: MIT */
/*
 * What each consumer asks for: Perfetto knows the file by its first two characters; the Firefox
 * profiler wants a name in every event; speedscope reads slices only, and all want escaped strings.
 * Times are microseconds with three places: exact.
 */
#include "sink/trace.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "base/text.h"
#include "sink/saver.h"

/* Above every id that Linux gives (PID_MAX_LIMIT): for runs whose ids collide. */
#define FIRST_FREE_PID 4194305U

#define LATEST_NS (INT64_C(1) << 61)

/* ---- pieces ----------------------------------------------------------------------------- */

void rm_trace_begin(const struct rm_trace_process *process, const char *phase, uint64_t tid)
{
    struct rm_pen *pen = process->pen;
    rm_pen_puts(pen, *process->has_begun ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    *process->has_begun = true;
    rm_pen_puts(pen, phase);
    rm_pen_puts(pen, "\",\"pid\":");
    rm_pen_u64(pen, process->pid);
    rm_pen_puts(pen, ",\"tid\":");
    rm_pen_u64(pen, tid);
}

/* A loaded run may say anything. */
static int64_t bounded(int64_t t_ns)
{
    return t_ns < 0 ? 0 : t_ns < LATEST_NS ? t_ns : LATEST_NS;
}

void rm_trace_put_time(const struct rm_trace_process *process, int64_t t_ns)
{
    rm_pen_puts(process->pen, ",\"ts\":");
    rm_pen_fixed(process->pen, process->offset_ns + bounded(t_ns), 3);
}

static void put_name(struct rm_pen *pen, const char *key, const char *name)
{
    char text[RM_TRACE_TEXT_BYTES];
    rm_pen_puts(pen, key);
    rm_pen_add(pen, text, rm_text_json(text, sizeof text, name));
    rm_pen_puts(pen, "\"");
}

/* ---- metadata --------------------------------------------------------------------------- */

static void put_name_of(const struct rm_trace_process *process, const char *what, uint64_t tid,
                        const char *name)
{
    rm_trace_begin(process, "M", tid);
    rm_pen_puts(process->pen, ",\"ts\":0,\"name\":\"");
    rm_pen_puts(process->pen, what);
    put_name(process->pen, "\",\"args\":{\"name\":\"", name);
    rm_pen_puts(process->pen, "}}");
}

static void put_place_of(const struct rm_trace_process *process, const char *what, uint64_t tid,
                         size_t index)
{
    rm_trace_begin(process, "M", tid);
    rm_pen_puts(process->pen, ",\"ts\":0,\"name\":\"");
    rm_pen_puts(process->pen, what);
    rm_pen_puts(process->pen, "\",\"args\":{\"sort_index\":");
    rm_pen_u64(process->pen, index);
    rm_pen_puts(process->pen, "}}");
}

static const char *text_fact(const struct resmon_run *run, const char *group, const char *key)
{
    const struct rm_fact *fact = rm_run_fact(run, group, key);
    return fact != NULL ? fact->value : "";
}

static uint64_t pid_of(const struct resmon_run *run)
{
    const struct rm_fact *fact = rm_run_fact(run, "run", "pid");
    double pid = fact != NULL ? rm_fact_number(fact) : 0.0;
    return pid >= 1.0 && pid < FIRST_FREE_PID ? (uint64_t)pid : 0;
}

/* "solver rank 3 @ n001": the name of the run or the program, its place in the job, the machine.
 * Viewers show the process id themselves, unless it had to be another: "solver (42) @ n001". */
static void name_process(const struct rm_trace_process *process, char name[RM_TRACE_TEXT_BYTES])
{
    const struct resmon_run *run = process->run;
    char number[32] = "";
    uint64_t pid = pid_of(run);
    const char *own = text_fact(run, "run", "name");
    const char *program = text_fact(run, "run", "executable");
    const char *slash = strrchr(program, '/');
    const char *host = rm_run_node_name(run);
    const char *rank = text_fact(run, "job", "rank");
    program = slash != NULL ? slash + 1 : program;
    own = own[0] != '\0' ? own : program;
    if (pid != 0 && pid != process->pid) {
        (void)snprintf(number, sizeof number, " (%llu)", (unsigned long long)pid);
    }
    (void)snprintf(name, RM_TRACE_TEXT_BYTES, "%.255s%s%.31s%s%s%.255s",
                   own[0] != '\0' ? own : "process", rank[0] != '\0' ? " rank " : "", rank, number,
                   host[0] != '\0' ? " @ " : "", host);
}

static void put_names(const struct rm_trace_process *process, size_t index)
{
    const struct resmon_run *run = process->run;
    char name[RM_TRACE_TEXT_BYTES];
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

struct piece {
    const char *text;
    size_t length;
};

/* ,"name":"phase \"one\"","cat":"scope": escaped once for all instances. */
static struct piece name_piece(struct rm_arena *arena, const char *name)
{
    char text[RM_TRACE_TEXT_BYTES];
    char whole[RM_TRACE_TEXT_BYTES + 32];
    (void)rm_text_json(text, sizeof text, name);
    int length = snprintf(whole, sizeof whole, ",\"name\":\"%s\",\"cat\":\"scope\"", text);
    char *copy = rm_arena_alloc(arena, (size_t)length, 1);
    if (copy != NULL) {
        memcpy(copy, whole, (size_t)length);
    }
    return (struct piece){copy, (size_t)length};
}

static void put_slice(const struct rm_trace_process *process, const struct rm_run_event *event,
                      const struct piece *name)
{
    struct rm_pen *pen = process->pen;
    rm_trace_begin(process, "X", process->run->threads[event->thread].id);
    rm_trace_put_time(process, event->start_ns);
    rm_pen_puts(pen, ",\"dur\":");
    rm_pen_fixed(pen, bounded(event->duration_ns), 3);
    rm_pen_add(pen, name->text, name->length);
    rm_pen_puts(pen, event->is_open != 0 ? ",\"args\":{\"open\":1}}" : "}");
}

static resmon_status put_slices(const struct rm_trace_process *process)
{
    const struct resmon_run *run = process->run;
    struct rm_arena arena = {0};
    struct piece *names = rm_arena_alloc(&arena, run->event_name_count, sizeof *names);
    bool is_whole = names != NULL;
    for (size_t i = 0; i < run->event_name_count && is_whole; i++) {
        names[i] = name_piece(&arena, run->event_names[i]);
        is_whole = names[i].text != NULL;
    }
    for (size_t i = 0; i < run->event_count && is_whole; i++) {
        put_slice(process, &run->events[i], &names[run->events[i].name]);
    }
    rm_arena_free(&arena);
    return is_whole ? RESMON_OK : rm_error(RESMON_ENOMEM, "out of memory for a trace");
}

static void put_tags(const struct rm_trace_process *process)
{
    for (size_t i = 0; i < process->run->tag_count; i++) {
        const struct rm_run_tag *tag = &process->run->tags[i];
        rm_trace_begin(process, "i", process->pid);
        rm_trace_put_time(process, tag->t_ns);
        put_name(process->pen, ",\"s\":\"p\",\"cat\":\"tag\",\"name\":\"",
                 tag->label[0] != '\0' ? tag->label : "tag");
        rm_pen_puts(process->pen, "}");
    }
}

/* ---- the file --------------------------------------------------------------------------- */

/* The earliest start; a run that does not know its own stands at the front. */
static int64_t epoch_of(const struct resmon_run *const *runs, size_t count)
{
    int64_t epoch_ns = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        int64_t start_ns = runs[i]->start_realtime_ns;
        epoch_ns = start_ns > 0 && start_ns < epoch_ns ? start_ns : epoch_ns;
    }
    return epoch_ns < INT64_MAX ? epoch_ns : 0;
}

/* Processes of different machines, or one after the other, may have had the same id. */
static void choose_pids(struct rm_trace_process *processes, size_t count)
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

static void put_head(struct rm_pen *pen, int64_t epoch_ns, size_t count)
{
    rm_pen_puts(pen, "{\"displayTimeUnit\":\"ms\",\n\"otherData\":{\"producer\":\"libresmon ");
    rm_pen_puts(pen, resmon_version());
    rm_pen_puts(pen, "\",\"start_realtime_ns\":\"");
    rm_pen_u64(pen, (uint64_t)epoch_ns);
    rm_pen_puts(pen, "\",\"processes\":\"");
    rm_pen_u64(pen, count);
    rm_pen_puts(pen, "\"},\n\"traceEvents\":[");
}

static resmon_status write_trace(struct rm_pen *pen, struct rm_trace_process *processes,
                                 size_t count, int64_t epoch_ns)
{
    resmon_status status = RESMON_OK;
    put_head(pen, epoch_ns, count);
    for (size_t i = 0; i < count; i++) {
        put_names(&processes[i], i);
    }
    for (size_t i = 0; i < count && status == RESMON_OK && pen->status == RESMON_OK; i++) {
        status = put_slices(&processes[i]);
        put_tags(&processes[i]);
        rm_trace_put_counters(&processes[i]);
    }
    rm_pen_puts(pen, "]}\n");
    return status;
}

resmon_status rm_trace_save(const struct resmon_run *const *runs, size_t count, const char *path)
{
    struct rm_pen pen;
    struct rm_trace_process *processes = rm_alloc(count, sizeof *processes);
    if (processes == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a trace");
    }
    resmon_status status = rm_pen_open(&pen, path);
    if (status != RESMON_OK) {
        rm_free(processes);
        return status;
    }
    bool has_begun = false;
    int64_t epoch_ns = epoch_of(runs, count);
    for (size_t i = 0; i < count; i++) {
        int64_t start_ns = runs[i]->start_realtime_ns;
        processes[i] = (struct rm_trace_process){
            .pen = &pen,
            .run = runs[i],
            .offset_ns = start_ns > 0 ? bounded(start_ns - epoch_ns) : 0,
            .has_begun = &has_begun,
        };
    }
    choose_pids(processes, count);
    status = write_trace(&pen, processes, count, epoch_ns);
    if (status != RESMON_OK) {
        pen.status = status;
    }
    status = rm_pen_close(&pen);
    rm_free(processes);
    return status;
}

/* ---- the sink --------------------------------------------------------------------------- */

static resmon_status save_one(const resmon_run *run, const char *path)
{
    return rm_trace_save(&run, 1, path);
}

resmon_status rm_trace_sink_new(const resmon_trace_options *options, struct rm_sink *ret_sink)
{
    resmon_trace_options known;
    resmon_status status = rm_struct_take(options, RM_STRUCT_SIZE(resmon_trace_options), &known);
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_saver saver = {
        .name = "trace", .pattern = known.path, .interval_ms = known.interval_ms, .save = save_one};
    return rm_saver_new(&saver, ret_sink);
}
