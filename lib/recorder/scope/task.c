/* SPDX-License-Identifier: MIT */
/*
 * Instances of scopes without a frame: what one measures is kept in an object of its own, and goes,
 * at its end, to the node of its path in the tree of the thread that ends it.  That it is open
 * stands as one more in the node where it began, and as one less where it ended.
 */
#include <stdbool.h>
#include <stddef.h>

#include <resmon/monitor.h>
#include <resmon/scope.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/fork.h"
#include "base/status.h"
#include "scope/scope.h"
#include "scope/site.h"
#include "store/scope_tree.h"

/* Meters of a thread mean nothing of a task, which goes from one to another. */
#define METERS_OF_THREADS ((uint32_t)(RESMON_METER_CPU | RESMON_METER_PERF))

struct resmon_task {
    uint32_t session; /* number */
    uint32_t forks;
    resmon_site *site;
    uint32_t above; /* path that it lies below */
    uint32_t kind;  /* RM_NODE_* */
    uint32_t own;   /* path; that of `above` where there is no room, or it is a part of that */
    bool is_part;   /* of what is around it: not counted */
    bool has_failed;
    uint64_t start; /* ticks */
    struct rm_meter_frame meters;
};

static void place(struct resmon_task *task, struct rm_scope_session *session, uint64_t under,
                  uint64_t flags)
{
    uint32_t path = rm_session_path(session, under);
    bool is_inside = (flags & RESMON_INSIDE) != 0 && path != 0;
    task->kind = is_inside ? RM_NODE_TASK_INSIDE : RM_NODE_TASK;
    task->above = rm_session_path_above(session, path, rm_site_number(task->site));
    task->is_part = is_inside && task->above != path;
    task->own = path;
}

/* The node for it in this thread's tree; NULL: there is none, which is counted. */
static struct rm_scope_node *node_for(const struct resmon_task *task,
                                      struct rm_scope_thread *thread)
{
    struct rm_block_header *header = thread->session->block.header;
    if (thread->record == NULL) {
        (void)RM_FETCH_ADD(&header->dropped_scopes, 1);
        return NULL;
    }
    struct rm_scope_node *parent = rm_session_follow(thread, task->above);
    return parent != NULL ? rm_session_child_of_kind(thread, parent, task->site,
                                                     rm_site_number(task->site), task->kind)
                          : NULL;
}

resmon_status resmon_task_begin(resmon_site *site, uint64_t under, uint64_t flags,
                                resmon_task **ret_task)
{
    RM_KEEP_ERRNO;
    if (site == NULL || ret_task == NULL || (flags & ~(uint64_t)RESMON_INSIDE) != 0) {
        return rm_error(RESMON_EINVAL,
                        "a task needs a site, known flags and a place for the result");
    }
    struct rm_scope_thread *thread = rm_scope_attached();
    if (thread == NULL) {
        *ret_task = NULL;
        return RESMON_OK;
    }
    struct rm_scope_session *session = thread->session;
    struct resmon_task *task = rm_alloc(1, sizeof *task);
    if (task == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the task '%s'", site->name);
    }
    task->session = session->number;
    task->forks = rm_forks();
    task->site = site;
    task->meters.without = METERS_OF_THREADS;
    place(task, session, under, flags);
    struct rm_scope_node *node = task->is_part ? NULL : node_for(task, thread);
    if (node != NULL) {
        uint32_t own = rm_session_path_of(session, node);
        task->own = own != 0 ? own : task->own;
        uint64_t now = rm_meters_begin(&session->metering, node, &task->meters, 0);
        task->start = now != 0 ? now : rm_clock_ticks();
        rm_node_open_task(node, task->start);
    }
    task->is_part = node == NULL;
    *ret_task = task;
    return RESMON_OK;
}

uint64_t resmon_task_here(const resmon_task *task)
{
    return task != NULL && task->own != 0 ? (uint64_t)task->session << 32 | task->own : 0;
}

static void count(struct resmon_task *task, struct rm_scope_thread *thread, uint64_t now)
{
    struct rm_scope_node *node = node_for(task, thread);
    if (node == NULL) {
        rm_meters_abandon(&task->meters);
        return; /* it stays open */
    }
    uint64_t ticks = now > task->start ? now - task->start : 0;
    rm_node_add_instance(node, ticks);
    rm_node_close_task(node, task->start);
    if (task->has_failed) {
        rm_node_count_failure(node);
    }
    rm_meters_end(&thread->session->metering, node, &task->meters, ticks);
}

void resmon_task_fail(resmon_task *task)
{
    if (task != NULL) {
        task->has_failed = true;
    }
}

void resmon_task_end(resmon_task *task)
{
    RM_KEEP_ERRNO;
    uint64_t now = rm_clock_ticks();
    if (task == NULL) {
        return;
    }
    struct rm_scope_thread *thread = rm_scope_attached();
    bool is_of_session = thread != NULL && thread->session->number == task->session;
    if (!task->is_part && is_of_session) {
        count(task, thread, now);
    } else if (!task->is_part && task->forks == rm_forks()) {
        rm_meters_abandon(&task->meters); /* its monitor has stopped */
        rm_session_count_stale_end();
    }
    rm_free(task);
}
