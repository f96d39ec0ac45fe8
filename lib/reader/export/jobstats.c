/* SPDX-License-Identifier: MIT */
#include "export/jobstats.h"

#include <math.h>

#include "base/compiler.h"
#include "format/json_writer.h"
#include "merge/job_use.h"
#include "metric/metric.h"
#include "os/gzip.h"

#define SHORT_S    60.0 /* two sampling intervals of jobstats */
#define MOST_BYTES ((size_t)64 << 20)

static double highest_of(const resmon_column *column)
{
    return column != NULL ? column->max : RM_NAN;
}

/* Unknown values are left out. */
static void put_known(struct rm_json_writer *writer, const char *key, double value)
{
    if (!isnan(value)) {
        rm_json_put_double(writer, key, value);
    }
}

/* Writes a used amount and its capacity.  Readers divide by the capacity, so both are written or
 * none. */
static void put_use(struct rm_json_writer *writer, const char *used_key, double used,
                    const char *of_key, double of)
{
    if (!isnan(used) && of > 0.0) {
        rm_json_put_double(writer, of_key, of);
        rm_json_put_double(writer, used_key, used);
    }
}

/* All GPUs of a node are one entry here: the sum of their memory, the mean of their use. */
static void put_gpu(struct rm_json_writer *writer, const char *key, double value)
{
    rm_json_open_object(writer, key);
    put_known(writer, "0", value);
    rm_json_close_object(writer);
}

/* If the batch system does not report the job's share of a node, the whole node counts. */
static void put_node(struct rm_json_writer *writer, const struct resmon_run *run, size_t index)
{
    const struct rm_node_use use = rm_node_use_of(run, index);
    const resmon_run_node *node = &run->nodes[index];
    const resmon_column *gpu_use = rm_run_node_statistics(run, RM_GPU_UTIL, index);
    rm_json_open_object(writer, node->name);
    put_use(writer, "used_memory", use.used_bytes, "total_memory",
            isnan(use.bytes) ? node->memory_bytes : use.bytes);
    put_use(writer, "total_time", use.cpu_s, "cpus", isnan(use.cpus) ? node->cpus : use.cpus);
    if (gpu_use != NULL) {
        put_gpu(writer, "gpu_total_memory",
                highest_of(rm_run_node_statistics(run, RM_GPU_MEM_TOTAL, index)));
        put_gpu(writer, "gpu_used_memory",
                highest_of(rm_run_node_statistics(run, RM_GPU_MEM_USED, index)));
        put_gpu(writer, "gpu_utilization", gpu_use->mean);
    }
    rm_json_close_object(writer);
}

static resmon_status put_job(struct rm_buffer *json, const struct resmon_run *run)
{
    struct rm_json_writer writer;
    const struct rm_output output = rm_buffer_output(json);
    double gpus = rm_run_fact_number(run, "machine", "gpus");
    rm_json_start(&writer, &output);
    rm_json_open_object(&writer, NULL);
    rm_json_open_object(&writer, "nodes");
    for (size_t i = 0; i < run->node_count; i++) {
        if (run->nodes[i].duration_ns >= 0) {
            put_node(&writer, run, i);
        }
    }
    rm_json_close_object(&writer);
    rm_json_put_double(&writer, "total_time", round((double)run->info.duration_ns * 1e-9));
    rm_json_put_double(&writer, "gpus", isnan(gpus) ? 0.0 : gpus);
    rm_json_close_object(&writer);
    return rm_json_finish(&writer);
}

resmon_status rm_jobstats_write(struct rm_buffer *buffer, const struct resmon_run *run)
{
    struct rm_buffer json, packed;
    rm_buffer_init(&json, MOST_BYTES);
    rm_buffer_init(&packed, MOST_BYTES);
    rm_buffer_puts(buffer, "JS1:");
    if ((double)run->info.duration_ns * 1e-9 < SHORT_S) {
        rm_buffer_puts(buffer, "Short\n");
        return RESMON_OK;
    }
    const struct rm_output output = rm_buffer_output(&packed);
    resmon_status status = put_job(&json, run);
    status = status == RESMON_OK ? rm_gzip(&output, json.text, json.length) : status;
    if (status == RESMON_OK) {
        rm_buffer_base64(buffer, packed.text, packed.length, false);
        rm_buffer_puts(buffer, "\n");
    }
    rm_buffer_free(&json);
    rm_buffer_free(&packed);
    return status;
}
