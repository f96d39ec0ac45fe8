/* SPDX-License-Identifier: MIT */
#include "stack/outside.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "base/status.h"
#include "base/text.h"
#include "os/cgroup.h"
#include "os/proc_pid.h"
#include "stack/follow.h"
#include "stack/images.h"
#include "stack/processes.h"
#include "stack/python_frames.h"
#include "stack/spaces.h"

#define EACH_NS     (20 * RM_NS_PER_MS)  /* interval between checks of each process */
#define MAPPINGS_NS (100 * RM_NS_PER_MS) /* highest age of a process's mappings */
#define LEAST_NS    (10 * RM_NS_PER_MS)  /* shortest interval between readings of them */
/* Clock difference between records of two CPUs; a ring fills in a few milliseconds. */
#define SLACK_NS (RM_NS_PER_MS / 2)

#define MOST_LOOKS_NS (5 * RM_NS_PER_MS)   /* for looks at what is still there, at a time */
#define LAST_LOOKS_NS (500 * RM_NS_PER_MS) /* and at the end */

#define FAULTS_NS RM_NS_PER_MS /* shortest interval between looks at page faults */

/* From a process's end until its usage is complete. */
#define SETTLE_NS  (200 * RM_NS_PER_MS)
#define NAME_BYTES 512
#define WHY_BYTES  160

struct rm_outside {
    struct rm_outside_terms terms;
    struct rm_stack_writer *writer;
    struct rm_perf_tree *tree;
    struct rm_images *images;
    struct rm_spaces *spaces;
    struct rm_follower follower;
    struct rm_unwind_cache *cache;
    struct rm_python_frames python;
    /* looks at what is still there: */
    struct rm_resident_turn turn;
    uint64_t looks;               /* at all processes */
    int64_t most_looks_ns;        /* duration of a turn */
    bool hides_pages, sees_pages; /* of some processes */
    uint64_t resident_bytes;      /* memory for it, at the last turn */
    struct rm_root root;
    struct rm_scratch scratch;
    uint64_t page_bytes;
    bool has_faults;    /* since the last wait */
    int64_t settled_ns; /* time of the last search for ended processes */
    bool has_each;
    struct rm_each each;
    struct rm_hidden hidden;
    int64_t each_ns;   /* time of the last check of each process */
    uint64_t used_ns;  /* CPU time of ended threads */
    uint64_t known_ns; /* CPU time of settled processes, by their accounts or samples */
    bool has_lost_cpu; /* records with CPU time of threads were lost */
    bool has_lost_processes;
    uint32_t settled;     /* number of settled processes */
    struct rm_space rest; /* a process whose end was not reported; number 0: none */
    uint32_t rests;       /* number of them */
    uint32_t opened;      /* processes whose events were opened, not inherited */
    uint32_t tasks;       /* threads that ran at the begin */
    bool has_more_tasks;  /* more than could be observed */
};

/* ---- code -------------------------------------------------------------------------------- */

/* A process, for unwinding its stacks. */
struct place {
    struct rm_outside *outside;
    struct rm_space *space;
};

/* The address in the synthetic space; 0: in no readable file. */
static uint64_t moved(const struct rm_space_map *map, uint64_t address)
{
    if (map->image == NULL || !rm_image_read(map->image)) {
        return 0;
    }
    uint64_t start = rm_image_address(map->image, map->offset, map->end - map->start);
    return start != 0 ? start + (address - map->start) : 0;
}

static bool find_table(const void *context, uint64_t address, struct rm_unwind_table *ret_table)
{
    const struct place *place = context;
    const struct rm_space_map *map = rm_space_find(place->space, address);
    uint64_t there = map != NULL ? moved(map, address) : 0;
    if (there == 0) {
        return false;
    }
    const struct rm_module_entry *entry = rm_image_entry(map->image);
    const struct rm_image_tables tables = rm_image_tables_of(map->image);
    *ret_table = (struct rm_unwind_table){
        .moved = there,
        .start = entry->start,
        .end = entry->end,
        .header = tables.header,
        .rows = tables.rows,
        .row_count = tables.row_count,
    };
    return true;
}

static bool read_word(const void *context, uint64_t address, uint64_t *ret_word)
{
    const struct place *place = context;
    return rm_images_word(place->outside->images, address, ret_word);
}

/* ---- names ------------------------------------------------------------------------------- */

/* Of code that CPython makes for each function with -X perf: "py::work:/home/me/train.py"
 * (Python/perf_trampoline.c).  It belongs to the interpreter. */
#define PYTHON "py::"

/* Finds the name of generated code, if the process has written it. */
static bool find_made(struct rm_outside *outside, struct rm_space *space, uint64_t address,
                      struct rm_perf_map_entry *ret_entry)
{
    if (space->made == NULL) {
        space->made = rm_perf_map_new(space->pid);
    }
    return space->made != NULL && rm_perf_map_find(space->made, address, &outside->root, ret_entry);
}

static bool is_trampoline(const void *context, uint64_t address)
{
    const struct place *place = context;
    struct rm_perf_map_entry entry;
    return find_made(place->outside, place->space, address, &entry) &&
           strncmp(entry.name, PYTHON, sizeof PYTHON - 1) == 0;
}

static uint64_t name_of_made(struct rm_outside *outside, struct rm_space *space, uint64_t address)
{
    struct rm_perf_map_entry entry;
    return find_made(outside, space, address, &entry)
               ? rm_stack_writer_name(outside->writer, entry.name)
               : rm_stack_writer_name(outside->writer, "[unknown]");
}

/* Names the file of code that cannot be read. */
static uint64_t name_of_file(struct rm_outside *outside, const struct rm_image *image)
{
    char text[NAME_BYTES];
    (void)snprintf(text, sizeof text, "[%s]", rm_text_base_name(rm_image_entry(image)->path));
    return rm_stack_writer_name(outside->writer, text);
}

/* The address or name by which the run knows a frame. */
static uint64_t known_as(struct rm_outside *outside, struct rm_space *space, uint64_t address)
{
    const struct rm_space_map *map = rm_space_find(space, address);
    uint64_t there = map != NULL ? moved(map, address) : 0;
    if (there == 0) {
        return map != NULL && map->image != NULL ? name_of_file(outside, map->image)
                                                 : name_of_made(outside, space, address);
    }
    if (rm_image_is_new(map->image) &&
        !rm_stack_writer_add_module(outside->writer, rm_image_entry(map->image))) {
        rm_stack_writer_lose(outside->writer, RM_LOSS_MODULES, 1);
    }
    return there;
}

/* The process's name, as the outermost frame. */
static uint64_t name_of_process(struct rm_outside *outside, const struct rm_space *space)
{
    char text[RM_SPACE_NAME_BYTES + 2];
    (void)snprintf(text, sizeof text, "[%s]", space->name);
    return rm_stack_writer_name(outside->writer, text);
}

/* ---- samples ----------------------------------------------------------------------------- */

/* Adds a frame; equal unknown frames in a row are added once. */
static uint32_t add_frame(uint64_t *addresses, uint32_t depth, uint64_t value)
{
    bool is_again = depth > 0 && (value & RM_STACK_NAME) != 0 && addresses[depth - 1] == value;
    if (is_again || value == 0) {
        return depth;
    }
    addresses[depth] = value;
    return depth + 1;
}

/* Also the code that it makes for each function (-X perf). */
static bool is_interpreter(void *context, uint64_t address)
{
    const struct place *place = context;
    const struct rm_space_map *map = rm_space_find(place->space, address);
    return rm_interpreter_is_at(place->space->python, map) ||
           ((map == NULL || map->image == NULL) && is_trampoline(place, address));
}

static bool is_start(void *context, uint64_t address)
{
    const struct place *place = context;
    const struct rm_space_map *map = rm_space_find(place->space, address);
    return map != NULL && map->image != NULL && rm_image_read(map->image) &&
           rm_python_is_start(rm_image_entry(map->image)->path);
}

static uint64_t value_of(void *context, uint64_t address)
{
    const struct place *place = context;
    return known_as(place->outside, place->space, address);
}

static uint32_t add_native(struct rm_outside *outside, struct rm_space *space,
                           const struct rm_followed *followed, uint64_t *addresses)
{
    uint32_t depth = 0;
    for (uint32_t i = 0; i < followed->unwound.depth; i++) {
        depth = add_frame(addresses, depth, known_as(outside, space, followed->addresses[i]));
    }
    return depth;
}

/* Returns the stack's entry; NULL: no room. */
static struct rm_stack_entry *add_sample(struct rm_outside *outside, struct rm_space *space,
                                         const struct rm_tree_record *record,
                                         struct rm_stack_sample sample)
{
    uint64_t addresses[RM_STACK_DEPTH + 1];
    struct place place = {outside, space};
    const struct rm_view_memory memory = {read_word, &place};
    const struct rm_unwind_foreign foreign = {find_table, &place, outside->cache};
    outside->follower.unwind.foreign = &foreign;
    outside->follower.wants_registers = rm_python_frames_are_in(&outside->python, space);
    const struct rm_followed *followed =
        rm_follow(&outside->follower, &record->sample, space->code, &memory);
    const struct rm_native_stack native = {
        .sample = &record->sample,
        .depth = followed->unwound.depth,
        .is_broken = followed->unwound.is_broken,
        .addresses = followed->addresses,
        .stacks = followed->has_registers ? followed->stacks : NULL,
        .saved = followed->saved,
        .is_interpreter = is_interpreter,
        .is_start = is_start,
        .value = value_of,
        .context = &place,
    };
    sample.is_cut = followed->unwound.is_cut || followed->unwound.is_broken;
    uint32_t depth =
        rm_python_frames_join(&outside->python, space, record, &native, addresses, &sample.is_cut);
    depth = depth > 0 ? depth : add_native(outside, space, followed, addresses);
    depth = add_frame(addresses, depth, name_of_process(outside, space));
    rm_stack_writer_lose(outside->writer, RM_LOSS_DEPTH, followed->unwound.is_cut);
    rm_stack_writer_lose(outside->writer, RM_LOSS_UNWIND, followed->unwound.is_broken);
    sample.addresses = addresses;
    sample.depth = depth < RM_STACK_DEPTH ? depth : RM_STACK_DEPTH;
    return rm_stack_writer_add(outside->writer, &sample);
}

static void take_cpu(struct rm_outside *outside, struct rm_space *space,
                     const struct rm_tree_record *record)
{
    uint64_t weight = (uint64_t)outside->terms.events.cpu_ns;
    const struct rm_stack_sample sample = {
        .kind = RESMON_STACK_CPU,
        .count = 1,
        .weight = weight,
        .square = rm_stack_square(weight, UINT64_MAX),
    };
    space->sampled_ns += weight;
    (void)add_sample(outside, space, record, sample);
}

static bool is_of_file(struct rm_outside *outside, struct rm_space *space, uint64_t address)
{
    char path[64];
    int64_t now_ns = rm_clock_monotonic_ns();
    const struct rm_mapped_range *range = rm_file_mappings_find(&space->mappings, address);
    int64_t age_ns = now_ns - space->mappings_ns;
    if ((range == NULL && age_ns > LEAST_NS) || age_ns > MAPPINGS_NS) {
        (void)snprintf(path, sizeof path, "proc/%u/maps", space->pid);
        rm_file_mappings_read(&space->mappings, path, &outside->root, &outside->scratch);
        space->mappings_ns = now_ns;
        range = rm_file_mappings_find(&space->mappings, address);
    }
    return range != NULL ? range->is_file : rm_space_find(space, address) != NULL;
}

/* A fault in a file mapping maps the pages around it as well, so its growth of RSS is not known. */
static void take_fault(struct rm_outside *outside, struct rm_space *space,
                       const struct rm_tree_record *record)
{
    uint64_t period = outside->terms.events.fault_period;
    uint64_t bytes = record->sample.page_bytes;
    uint64_t weight = period * (bytes > 0 ? bytes : outside->page_bytes);
    const struct rm_stack_sample sample = {
        .kind = RESMON_STACK_MEMORY,
        .count = 1,
        .weight = weight,
        .square = rm_stack_square(weight, period),
    };
    if (is_of_file(outside, space, record->sample.address)) {
        return;
    }
    const struct rm_resident_sample page = {
        .entry = add_sample(outside, space, record, sample),
        .address = record->sample.address,
        .bytes = weight,
        .faults = period,
    };
    if (page.entry != NULL) {
        rm_resident_add(&space->resident, &page);
    }
}

/* ---- processes --------------------------------------------------------------------------- */

static struct rm_space *space_of(struct rm_outside *outside, uint32_t pid)
{
    struct rm_space *space = rm_spaces_find(outside->spaces, pid);
    return space != NULL ? space
                         : rm_spaces_begin(outside->spaces, pid, &outside->root, &outside->scratch);
}

/* Adds the CPU time beyond what is known, if any, as a stack of one frame. */
static void weigh(struct rm_outside *outside, uint64_t frame, uint64_t all_ns, uint64_t known_ns)
{
    if (outside->terms.events.cpu_ns == 0 || all_ns <= known_ns || frame == 0) {
        return;
    }
    const struct rm_stack_sample sample = {
        .kind = RESMON_STACK_CPU,
        .addresses = &frame,
        .depth = 1,
        .weight = all_ns - known_ns,
    };
    (void)rm_stack_writer_add(outside->writer, &sample);
}

/* CPU time without samples: the process was short, or in the kernel. */
static void weigh_rest(struct rm_outside *outside, const struct rm_space *space)
{
    weigh(outside, name_of_process(outside, space), space->used_ns, space->sampled_ns);
}

static void settle(void *context, struct rm_space *space)
{
    struct rm_outside *outside = context;
    rm_hidden_settle(&outside->hidden, space);
    weigh_rest(outside, space);
    outside->settled++;
    outside->known_ns += space->used_ns > space->sampled_ns ? space->used_ns : space->sampled_ns;
    if (outside->has_each) {
        rm_each_settle(&outside->each, space);
    }
}

/* The kernel reports the CPU time of each thread at its end, except for the thread of the opened
 * events: that of the first process, unless the kernel swapped its events with those of the next
 * process (perf_event_context_sched_out()).  That process is kept, and gets the remaining CPU time
 * at the end, if it is the only one. */
static void settle_if_accounted(void *context, struct rm_space *space)
{
    struct rm_outside *outside = context;
    bool is_accounted = rm_space_is_accounted(space) || space->was_hidden;
    outside->rests += is_accounted ? 0 : 1;
    if (is_accounted || outside->rest.pid != 0) {
        settle(outside, space);
        return;
    }
    outside->rest = *space; /* its resources are moved */
    rm_space_disown(&outside->rest);
    space->row = NULL;
    space->watch = -1;
}

static void note(struct rm_outside *outside, const struct rm_tree_record *record)
{
    struct rm_space *before =
        record->kind == RM_TREE_FORK ? rm_spaces_find(outside->spaces, record->pid) : NULL;
    if (before != NULL) {
        if (outside->has_each) {
            rm_each_replace(&outside->each);
        }
        settle_if_accounted(outside, before); /* the pid is reused */
    }
    rm_spaces_note(outside->spaces, record);
    outside->used_ns += record->kind == RM_TREE_USED ? record->count : 0;
    struct rm_space *space = rm_spaces_find(outside->spaces, record->pid);
    if (record->kind == RM_TREE_EXIT && space != NULL && space->ended_ns != 0) {
        rm_hidden_check(&outside->hidden, space);
    }
    if (!outside->has_each) {
        return;
    }
    if (record->kind == RM_TREE_FORK && space != NULL) {
        rm_each_begin(&outside->each, space, record->parent, record->t_ns);
    } else {
        rm_each_note(&outside->each, record);
    }
}

static void take(struct rm_outside *outside, const struct rm_tree_record *record)
{
    struct rm_space *space;
    switch (record->kind) {
    case RM_TREE_CPU:
    case RM_TREE_FAULT:
        space = space_of(outside, record->pid);
        if (space != NULL && record->kind == RM_TREE_CPU) {
            take_cpu(outside, space, record);
        } else if (space != NULL) {
            outside->has_faults = true;
            take_fault(outside, space, record);
        }
        break;
    case RM_TREE_LOST:
        rm_stack_writer_lose(outside->writer, RM_LOSS_RING, record->count);
        outside->hidden.has_lost |= record->is_of_processes;
        outside->has_lost_processes |= record->is_of_processes;
        outside->has_lost_cpu |= record->is_of_cpu;
        break;
    default:
        note(outside, record);
    }
}

static void drain_until(struct rm_outside *outside, int64_t until_ns)
{
    struct rm_tree_record record;
    rm_perf_tree_look(outside->tree);
    while (rm_perf_tree_next(outside->tree, until_ns, &record)) {
        take(outside, &record);
    }
}

static void set_total(struct rm_outside *outside)
{
    if (outside->terms.events.cpu_ns > 0) {
        rm_stack_writer_set_total(outside->writer, RESMON_STACK_CPU,
                                  rm_perf_tree_cpu_ns(outside->tree) + outside->hidden.cpu_ns);
    }
}

/* Of a process that ends meanwhile, the look before counts. */
static void look_at_pages(void *context, struct rm_space *space)
{
    struct rm_outside *outside = context;
    char path[64];
    outside->resident_bytes += rm_resident_bytes(&space->resident);
    rm_stack_writer_lose(outside->writer, RM_LOSS_ROOM,
                         rm_resident_take_left_out(&space->resident));
    if (space->resident.count == 0 || space->ended_ns != 0 || space->looks == outside->looks ||
        rm_clock_monotonic_ns() - outside->turn.begin_ns > outside->most_looks_ns) {
        return;
    }
    (void)snprintf(path, sizeof path, "proc/%u/pagemap", space->pid);
    resmon_status status =
        rm_resident_look(&space->resident, &outside->root, path, outside->page_bytes);
    space->looks = outside->looks;
    outside->sees_pages |= status == RESMON_OK;
    if (status == RESMON_EACCES) {
        outside->hides_pages = true;
        rm_resident_withdraw(&space->resident);
    }
}

/* Rings fill in a few milliseconds.  What a turn has no time for is looked at in the next one. */
static void look_at_all_pages(struct rm_outside *outside, int64_t most_ns)
{
    outside->most_looks_ns = most_ns;
    outside->resident_bytes = 0;
    rm_spaces_visit(outside->spaces, look_at_pages, outside);
    rm_resident_turn_end(&outside->turn, rm_clock_monotonic_ns(),
                         rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID));
    outside->looks += rm_clock_monotonic_ns() - outside->turn.begin_ns <= most_ns ? 1 : 0;
}

void rm_outside_drain(struct rm_outside *outside)
{
    int64_t now_ns = rm_clock_monotonic_ns();
    drain_until(outside, now_ns - SLACK_NS);
    rm_hidden_look(&outside->hidden);
    if (outside->has_each && now_ns - outside->each_ns > EACH_NS) {
        rm_each_look(&outside->each);
        outside->each_ns = now_ns;
    }
    if (outside->terms.events.fault_period > 0 &&
        rm_resident_turn_begin(&outside->turn, rm_clock_monotonic_ns(),
                               rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID))) {
        look_at_all_pages(outside, MOST_LOOKS_NS);
    }
    if (now_ns - outside->settled_ns > SETTLE_NS) {
        rm_spaces_forget(outside->spaces, now_ns - SETTLE_NS, settle_if_accounted, outside);
        outside->settled_ns = now_ns;
        set_total(outside);
    }
}

static void count(void *context, struct rm_space *space)
{
    uint32_t *counted = context;
    (void)space;
    ++*counted;
}

/* Whether all CPU time is of one process: others were neither seen nor missed. */
static bool is_single(const struct rm_outside *outside)
{
    uint32_t processes = outside->settled + (outside->rest.pid != 0 ? 1 : 0);
    rm_spaces_visit(outside->spaces, count, &processes);
    return processes == 1 && !outside->has_lost_processes;
}

/* Adds the sampled CPU time of living processes. */
static void add_living(void *context, struct rm_space *space)
{
    struct rm_outside *outside = context;
    if (space->ended_ns == 0 && space->pid != outside->terms.pid) {
        outside->used_ns += space->sampled_ns;
    }
}

/* At the end: settles processes that ended recently, and living ones. */
static void settle_last(void *context, struct rm_space *space)
{
    if (space->ended_ns != 0) {
        settle_if_accounted(context, space);
    } else {
        rm_hidden_read_clock(space);
        settle(context, space);
    }
}

/* CPU time that neither an account nor a sample assigns to a process, as the ring that had them was
 * full. */
static void weigh_unknown(struct rm_outside *outside)
{
    weigh(outside, rm_stack_writer_name(outside->writer, "[unknown process]"),
          rm_perf_tree_cpu_ns(outside->tree) + outside->hidden.cpu_ns, outside->known_ns);
}

static void settle_all(struct rm_outside *outside)
{
    uint64_t all_ns = rm_perf_tree_cpu_ns(outside->tree);
    struct rm_space *first = rm_spaces_find(outside->spaces, outside->terms.pid);
    rm_spaces_visit(outside->spaces, add_living, outside);
    bool has_lost = (outside->has_lost_cpu || outside->has_lost_processes) && !is_single(outside);
    bool has_rest =
        !has_lost && outside->opened + outside->hidden.opened == 1 && all_ns > outside->used_ns;
    uint64_t rest_ns = has_rest ? all_ns - outside->used_ns : 0;
    if (first != NULL && first->ended_ns == 0 && has_rest) {
        first->used_ns += rest_ns;
        first->accounted = first->threads;
    }
    rm_spaces_visit(outside->spaces, settle_last, outside);
    if (outside->rest.pid != 0) {
        has_rest = has_rest && outside->rests == 1;
        outside->rest.used_ns += has_rest ? rest_ns : 0;
        outside->rest.accounted = has_rest ? outside->rest.threads : 0;
        settle(outside, &outside->rest);
    }
    if (has_lost) {
        weigh_unknown(outside);
    }
}

void rm_outside_finish(struct rm_outside *outside)
{
    drain_until(outside, INT64_MAX);
    drain_until(outside, INT64_MAX);
    rm_hidden_look(&outside->hidden);
    if (outside->has_each) {
        rm_each_look(&outside->each);
    }
    outside->turn.begin_ns = rm_clock_monotonic_ns();
    outside->looks++;
    look_at_all_pages(outside, LAST_LOOKS_NS);
    settle_all(outside);
    set_total(outside);
    rm_outside_write_kinds(outside);
}

/* In a row of page faults, each sample would end the wait at once. */
bool rm_outside_wait(struct rm_outside *outside, int64_t most_ns)
{
    const struct timespec pause = {.tv_nsec = FAULTS_NS};
    if (outside->has_faults) {
        (void)nanosleep(&pause, NULL);
        outside->has_faults = false;
    }
    return rm_perf_tree_wait(outside->tree, most_ns);
}

uint64_t rm_outside_cpu_ns(const struct rm_outside *outside)
{
    const struct rm_python_readers *readers = outside->python.readers;
    return readers != NULL ? rm_python_readers_cpu_ns(readers) : 0;
}

uint64_t rm_outside_bytes(const struct rm_outside *outside)
{
    return sizeof *outside + rm_perf_tree_bytes(outside->tree) + outside->resident_bytes;
}

/* ---- the status of the kinds ------------------------------------------------------------- */

static void tell(const struct rm_outside *outside, int32_t kind, enum rm_tree_record_kind record,
                 const char *remark, const char *lacks_kernel)
{
    char text[512], hidden[160] = "";
    const char *refusal = rm_perf_tree_refusal(outside->tree, record);
    if (refusal != NULL) {
        rm_stack_writer_set_kind(outside->writer, kind, RESMON_EACCES, refusal);
        return;
    }
    const char *rest = outside->has_more_tasks
                           ? "not all of its threads could be observed: too many open files"
                       : rm_perf_tree_sees_kernel(outside->tree, record) ? remark
                                                                         : lacks_kernel;
    if (outside->hidden.total > 0) {
        (void)snprintf(hidden, sizeof hidden,
                       "not sampled, or only in part: %u processes that the kernel hides, as their "
                       "program has other privileges or is not readable%s",
                       outside->hidden.total, rest[0] != '\0' ? "; " : "");
    }
    const char *python = outside->python.why_not;
    bool has_before = hidden[0] != '\0' || rest[0] != '\0';
    (void)snprintf(text, sizeof text, "%s%s%s%s", hidden, rest,
                   has_before && python[0] != '\0' ? "; " : "", python);
    rm_stack_writer_set_kind(outside->writer, kind, RESMON_OK, text);
}

void rm_outside_write_kinds(const struct rm_outside *outside)
{
    static const char not_all_pages[] = "not of all processes: /proc/PID/pagemap may not be read";
    if (outside->terms.events.cpu_ns > 0) {
        tell(outside, RESMON_STACK_CPU, RM_TREE_CPU, "",
             "time in system calls is assigned to the process, not to functions "
             "(kernel.perf_event_paranoid above 1)");
    }
    if (outside->terms.events.fault_period > 0) {
        bool sees_pages = rm_perf_tree_sees_pages(outside->tree);
        tell(outside, RESMON_STACK_MEMORY, RM_TREE_FAULT,
             sees_pages
                 ? "without pages of files"
                 : "without pages of files; a huge page counts as a small one (before Linux 5.11)",
             sees_pages ? "without pages of files, and those that system calls touch first "
                          "(kernel.perf_event_paranoid above 1)"
                        : "without pages of files, and those that system calls touch first "
                          "(kernel.perf_event_paranoid above 1); a huge page counts as a small one "
                          "(before Linux 5.11)");
        rm_stack_writer_set_kind(outside->writer, RESMON_STACK_FILE, RESMON_ESTATE, "");
        const char *pages = outside->hides_pages ? not_all_pages : "";
        tell(outside, RESMON_STACK_RESIDENT, RM_TREE_FAULT, pages, pages);
        if (outside->hides_pages && !outside->sees_pages) {
            rm_stack_writer_set_kind(outside->writer, RESMON_STACK_RESIDENT, RESMON_EACCES,
                                     "its pages (/proc/PID/pagemap) may not be read");
        }
    }
}

/* ---- opening ----------------------------------------------------------------------------- */

struct observing {
    struct rm_outside *outside;
    uint32_t latest; /* last process whose threads were visited */
    resmon_status status;
    char why[WHY_BYTES];
};

/* Threads that end meanwhile are no failure; children of existing threads are observed by
 * inheritance. */
static bool observe_thread(void *context, uint32_t pid, uint32_t thread)
{
    struct observing *observing = context;
    struct rm_outside *outside = observing->outside;
    struct rm_space *space = rm_spaces_find(outside->spaces, pid);
    if (space != NULL && observing->latest != pid) {
        return true; /* observed in a cgroup, as a child */
    }
    resmon_status status = rm_perf_tree_add(outside->tree, thread);
    if (status == RESMON_ESRCH) {
        return true;
    }
    if (status != RESMON_OK) {
        observing->status = outside->tasks == 0 ? status : RESMON_OK;
        (void)rm_text_set(observing->why, sizeof observing->why, resmon_last_error());
        outside->has_more_tasks = true;
        return false;
    }
    outside->tasks++;
    bool is_new = rm_spaces_find(outside->spaces, pid) == NULL;
    space = space_of(outside, pid);
    if (space != NULL && is_new) {
        space->clock_before_ns = (uint64_t)rm_clock_cpu_ns(rm_clock_of_process(pid));
    }
    if (outside->has_each && space != NULL) {
        rm_each_found(&outside->each, space, thread);
    }
    if (observing->latest == pid) {
        if (space != NULL) {
            space->threads++;
            space->living++;
        }
        return true;
    }
    observing->latest = pid;
    outside->opened++;
    if (outside->has_each && space != NULL) {
        rm_each_begin(&outside->each, space, 0, 0);
    }
    return true;
}

/* A process that ends meanwhile is no failure. */
static resmon_status walk_group(struct rm_outside *outside, struct observing *observing)
{
    struct rm_members members = {0};
    resmon_status status = rm_members_read(&members, &outside->terms.group, &outside->root,
                                           &outside->scratch, rm_clock_monotonic_ns());
    for (size_t i = 0; i < members.count && observing->status == RESMON_OK; i++) {
        observing->latest = 0;
        (void)rm_task_walk(&outside->root, (uint32_t)members.pids[i], observe_thread, observing);
    }
    rm_members_free(&members);
    return status;
}

static resmon_status observe(struct rm_outside *outside)
{
    struct observing observing = {.outside = outside, .status = RESMON_OK};
    resmon_status status =
        outside->terms.is_group
            ? walk_group(outside, &observing)
            : rm_task_walk(&outside->root, outside->terms.pid, observe_thread, &observing);
    if (status == RESMON_OK && observing.status == RESMON_OK && outside->tasks == 0) {
        return outside->terms.is_group
                   ? rm_error(RESMON_ESRCH, "there is no process in the observed group")
                   : rm_error(RESMON_ESRCH, "process %u has ended", outside->terms.pid);
    }
    if (observing.status != RESMON_OK) {
        return rm_error(observing.status, "%s", observing.why);
    }
    return status;
}

static resmon_status open_parts(struct rm_outside *outside)
{
    struct rm_perf_tree_terms *events = &outside->terms.events;
    bool has_samples = events->cpu_ns > 0 || events->fault_period > 0;
    resmon_status status = has_samples ? rm_unwind_open() : RESMON_OK;
    if (status == RESMON_OK) {
        status = rm_root_open(&outside->root, NULL);
    }
    if (status == RESMON_OK) {
        status = rm_scratch_init(&outside->scratch);
    }
    if (status == RESMON_OK) {
        events->fault_wakeup =
            rm_python_frames_wakeup(outside->terms.pid, &outside->root, &outside->scratch);
        status = rm_perf_tree_new(events, &outside->tree);
    }
    outside->python.tree = outside->tree;
    outside->python.root = &outside->root;
    outside->python.writer = outside->writer;
    outside->images = rm_images_new();
    outside->spaces = outside->images != NULL ? rm_spaces_new(outside->images) : NULL;
    outside->cache = rm_unwind_cache_new();
    if (status == RESMON_OK && (outside->spaces == NULL || outside->cache == NULL)) {
        status = rm_error(RESMON_ENOMEM, "out of memory for stacks of other processes");
    }
    return status;
}

resmon_status rm_outside_open(const struct rm_outside_terms *terms, struct rm_stack_writer *writer,
                              struct rm_outside **ret_outside)
{
    struct rm_outside *outside = rm_alloc(1, sizeof *outside);
    if (outside == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for stacks of other processes");
    }
    outside->terms = *terms;
    outside->looks = 1;
    outside->writer = writer;
    outside->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    resmon_status status = open_parts(outside);
    if (status == RESMON_OK && terms->has_each) {
        outside->each = (struct rm_each){.block = writer->block,
                                         .root = &outside->root,
                                         .scratch = &outside->scratch,
                                         .spaces = outside->spaces};
        rm_each_open(&outside->each);
        outside->has_each = true;
    }
    outside->hidden = (struct rm_hidden){.tree = outside->tree,
                                         .spaces = outside->spaces,
                                         .root = &outside->root,
                                         .scratch = &outside->scratch,
                                         .each = outside->has_each ? &outside->each : NULL,
                                         .first = terms->is_group ? 0 : terms->pid};
    if (status == RESMON_OK) {
        status = observe(outside);
    }
    if (status != RESMON_OK) {
        rm_outside_close(outside);
        return status;
    }
    *ret_outside = outside;
    return RESMON_OK;
}

void rm_outside_close(struct rm_outside *outside)
{
    if (outside == NULL) {
        return;
    }
    if (outside->has_each) {
        rm_each_close(&outside->each);
    }
    rm_python_frames_close(&outside->python);
    rm_perf_tree_free(outside->tree);
    rm_spaces_free(outside->spaces);
    rm_images_free(outside->images);
    rm_free(outside->cache);
    rm_scratch_free(&outside->scratch);
    rm_root_close(&outside->root);
    rm_free(outside);
}
