/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* secure_getenv */
#include "engine/gpus.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"
#include "base/thread.h"

/* Without persistence mode, the driver starts each GPU at the first access, which takes seconds. */
#define OPEN_NS (20 * RM_NS_PER_S)
/* On an H100, reading all parts takes 7 ms, sometimes 15, and rarely more than 50. */
#define READ_NS (70 * RM_NS_PER_MS)
#define MORE_NS (10 * RM_NS_PER_MS) /* for each further GPU */
#define LATE_NS RM_NS_PER_S
#define STOP_NS (2 * RM_NS_PER_S)

struct rm_gpus {
    pthread_t thread;
    struct rm_nvml *nvml; /* used by the thread; its list of GPUs by all threads, once it is open */
    char driver[80];
    size_t count;
    struct rm_gpu_info *infos;
    int64_t patience_ns; /* for all readings of a sample */

    /* Guards the members below. */
    pthread_mutex_t lock;
    struct rm_condition work_ready;
    struct rm_condition work_done;
    bool is_open, is_stopping, has_ended;
    bool is_left; /* set by rm_gpus_stop(): the thread frees the object */
    resmon_status status;
    char why[256];
    uint64_t requested, served;
    unsigned parts;                  /* requested parts */
    bool is_late;                    /* the deadline of the request has passed */
    int64_t spent_ns;                /* CPU time of `readings` */
    struct rm_gpu_reading *readings; /* results of request `served` */
    struct rm_gpu_reading *fresh;    /* filled by the thread */
    uint64_t cpu_ns;                 /* atomic: of the thread */
};

/* ---- on the thread ---------------------------------------------------------------------- */

static resmon_status open_all(struct rm_gpus *gpus)
{
    resmon_status status = rm_nvml_open(gpus->nvml);
    if (status != RESMON_OK) {
        return status;
    }
    gpus->count = rm_nvml_count(gpus->nvml);
    gpus->infos = rm_alloc(gpus->count, sizeof *gpus->infos);
    gpus->readings = rm_alloc(gpus->count, sizeof *gpus->readings);
    gpus->fresh = rm_alloc(gpus->count, sizeof *gpus->fresh);
    (void)rm_text_set(gpus->driver, sizeof gpus->driver, rm_nvml_driver(gpus->nvml));
    if (gpus->infos == NULL || gpus->readings == NULL || gpus->fresh == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for %zu GPUs", gpus->count);
    }
    gpus->patience_ns = READ_NS - MORE_NS;
    for (size_t i = 0; i < gpus->count; i++) {
        gpus->infos[i] = *rm_nvml_info(gpus->nvml, i);
        gpus->patience_ns += gpus->infos[i].is_slice ? 0 : MORE_NS;
    }
    return RESMON_OK;
}

static void signal_open(struct rm_gpus *gpus, resmon_status status)
{
    (void)pthread_mutex_lock(&gpus->lock);
    gpus->is_open = true;
    gpus->status = status;
    (void)rm_text_set(gpus->why, sizeof gpus->why, status != RESMON_OK ? resmon_last_error() : "");
    rm_condition_signal(&gpus->work_done);
    (void)pthread_mutex_unlock(&gpus->lock);
}

/* False: the thread shall end. */
static bool wait_for_request(struct rm_gpus *gpus, uint64_t *ret_request, unsigned *ret_parts)
{
    (void)pthread_mutex_lock(&gpus->lock);
    while (!gpus->is_stopping && gpus->requested == gpus->served) {
        (void)rm_condition_wait(&gpus->work_ready, &gpus->lock, RM_WAIT_FOR_EVER);
    }
    bool is_stopping = gpus->is_stopping;
    *ret_request = gpus->requested;
    *ret_parts = gpus->parts;
    (void)pthread_mutex_unlock(&gpus->lock);
    return !is_stopping;
}

static void serve(struct rm_gpus *gpus)
{
    uint64_t request;
    unsigned parts;
    while (wait_for_request(gpus, &request, &parts)) {
        int64_t before_ns = rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID);
        for (size_t i = 0; i < gpus->count; i++) {
            rm_nvml_read(gpus->nvml, i, parts, &gpus->fresh[i]);
        }
        int64_t after_ns = rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID);
        RM_STORE(&gpus->cpu_ns, (uint64_t)after_ns);
        (void)pthread_mutex_lock(&gpus->lock);
        gpus->spent_ns = after_ns - before_ns;
        struct rm_gpu_reading *before = gpus->readings;
        gpus->readings = gpus->fresh;
        gpus->fresh = before;
        gpus->served = request;
        rm_condition_signal(&gpus->work_done);
        (void)pthread_mutex_unlock(&gpus->lock);
    }
}

static void free_all(struct rm_gpus *gpus)
{
    (void)pthread_mutex_destroy(&gpus->lock);
    rm_free(gpus->infos);
    rm_free(gpus->readings);
    rm_free(gpus->fresh);
    rm_free(gpus);
}

static void *run_thread(void *context)
{
    struct rm_gpus *gpus = context;
    resmon_status status = open_all(gpus);
    signal_open(gpus, status);
    if (status == RESMON_OK) {
        serve(gpus);
    }
    rm_nvml_close(gpus->nvml);
    (void)pthread_mutex_lock(&gpus->lock);
    gpus->nvml = NULL;
    gpus->has_ended = true;
    bool is_left = gpus->is_left;
    rm_condition_signal(&gpus->work_done);
    (void)pthread_mutex_unlock(&gpus->lock);
    if (is_left) {
        free_all(gpus);
    }
    return NULL;
}

/* ---- on other threads ------------------------------------------------------------------- */

/* Waits, with the lock held; false: the deadline has passed. */
static bool wait_until(struct rm_gpus *gpus, bool (*has_come)(const struct rm_gpus *),
                       int64_t until_ns)
{
    while (!has_come(gpus) && rm_condition_wait(&gpus->work_done, &gpus->lock, until_ns)) {
    }
    return has_come(gpus);
}

static bool wait_for(struct rm_gpus *gpus, bool (*has_come)(const struct rm_gpus *), int64_t ns)
{
    return wait_until(gpus, has_come, rm_clock_monotonic_ns() + ns);
}

static bool is_open(const struct rm_gpus *gpus)
{
    return gpus->is_open;
}

static bool has_ended(const struct rm_gpus *gpus)
{
    return gpus->has_ended;
}

static bool is_served(const struct rm_gpus *gpus)
{
    return gpus->served == gpus->requested;
}

static struct rm_gpus *gpus_new(void)
{
    struct rm_gpus *gpus = rm_alloc(1, sizeof *gpus);
    if (gpus != NULL) {
        (void)pthread_mutex_init(&gpus->lock, NULL);
    }
    return gpus;
}

static void stop(struct rm_gpus *gpus)
{
    pthread_t thread = gpus->thread;
    (void)pthread_mutex_lock(&gpus->lock);
    gpus->is_stopping = true;
    rm_condition_signal(&gpus->work_ready);
    bool is_over = wait_for(gpus, has_ended, STOP_NS);
    gpus->is_left = !is_over;
    (void)pthread_mutex_unlock(&gpus->lock);
    if (is_over) {
        (void)pthread_join(thread, NULL);
        free_all(gpus);
    } else {
        (void)pthread_detach(thread);
    }
}

static resmon_status start(struct rm_gpus **ret_gpus)
{
    const char *library = secure_getenv("RESMON_NVML");
    if (library == NULL && !rm_nvml_may_be_here()) {
        return rm_error(RESMON_ENODEV, "this machine has no NVIDIA driver");
    }
    struct rm_gpus *gpus = gpus_new();
    if (gpus == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for GPUs");
    }
    const struct rm_thread_work work = {"rm-gpus", RM_STACK_LIBRARIES, run_thread, gpus};
    resmon_status status = rm_nvml_load(library, &gpus->nvml);
    if (status == RESMON_OK) {
        status = rm_thread_start(&gpus->thread, &work);
    }
    if (status != RESMON_OK) {
        rm_nvml_close(gpus->nvml);
        free_all(gpus);
        return status;
    }
    (void)pthread_mutex_lock(&gpus->lock);
    bool is_there = wait_for(gpus, is_open, OPEN_NS);
    status = is_there ? gpus->status : RESMON_ETIMEDOUT;
    char why[sizeof gpus->why];
    (void)rm_text_set(why, sizeof why, is_there ? gpus->why : "NVML did not answer in time");
    (void)pthread_mutex_unlock(&gpus->lock);
    if (status != RESMON_OK) {
        stop(gpus);
        return rm_error(status, "%s", why);
    }
    *ret_gpus = gpus;
    return RESMON_OK;
}

/* A thread cancelled in a wait would keep the lock. */
resmon_status rm_gpus_start(struct rm_gpus **ret_gpus)
{
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    resmon_status status = start(ret_gpus);
    (void)pthread_setcancelstate(cancel_state, NULL);
    return status;
}

void rm_gpus_stop(struct rm_gpus *gpus)
{
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    if (gpus != NULL) {
        stop(gpus);
    }
    (void)pthread_setcancelstate(cancel_state, NULL);
}

size_t rm_gpus_count(const struct rm_gpus *gpus)
{
    return gpus->count;
}

const struct rm_gpu_info *rm_gpus_infos(const struct rm_gpus *gpus)
{
    return gpus->infos;
}

const char *rm_gpus_driver(const struct rm_gpus *gpus)
{
    return gpus->driver;
}

uint64_t rm_gpus_cpu_ns(const struct rm_gpus *gpus)
{
    return gpus != NULL ? RM_LOAD(&gpus->cpu_ns) : 0;
}

/* Whether the result of a late request can be used: the same parts, and not too old. */
static bool is_wanted(const struct rm_gpus *gpus, unsigned parts, int64_t since_ns)
{
    return gpus->is_late && gpus->parts == parts && since_ns - gpus->readings[0].t_ns <= LATE_NS;
}

bool rm_gpus_read(struct rm_gpus *gpus, unsigned parts, int64_t since_ns,
                  struct rm_gpu_reading *ret_readings, int64_t *ret_cpu_ns)
{
    int64_t until_ns = since_ns + gpus->patience_ns;
    (void)pthread_mutex_lock(&gpus->lock);
    bool is_there = wait_until(gpus, is_served, until_ns); /* the late request, if any */
    if (is_there && !is_wanted(gpus, parts, since_ns)) {
        gpus->requested++;
        gpus->parts = parts;
        rm_condition_signal(&gpus->work_ready);
        is_there = wait_until(gpus, is_served, until_ns);
    }
    gpus->is_late = !is_there;
    *ret_cpu_ns = is_there ? gpus->spent_ns : 0;
    if (is_there) {
        memcpy(ret_readings, gpus->readings, gpus->count * sizeof *ret_readings);
    }
    (void)pthread_mutex_unlock(&gpus->lock);
    return is_there;
}
