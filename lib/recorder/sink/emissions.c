/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* localtime_r */
/*
 * Owns lines of codecarbon's emissions.csv, and the sink that adds one.
 */
#include "sink/sinks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <resmon/version.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/libc.h"
#include "base/number.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "carbon/intensity.h"
#include "metric/metric.h"
#include "os/outfile.h"
#include "run/energy.h"
#include "run/run.h"

#define LARGEST_LINE 4096
#define GIB          1073741824.0

/* ---- cells ------------------------------------------------------------------------------ */

static void put_text(struct rm_buffer *buffer, const char *text)
{
    bool is_plain = strpbrk(text, ",\"\r\n") == NULL;
    if (!is_plain) {
        rm_buffer_add(buffer, "\"", 1);
    }
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '"') {
            rm_buffer_add(buffer, "\"", 1);
        }
        rm_buffer_add(buffer, *p == '\n' || *p == '\r' ? " " : p, 1);
    }
    if (!is_plain) {
        rm_buffer_add(buffer, "\"", 1);
    }
}

/* Unknown numbers are empty. */
static void put_number(struct rm_buffer *buffer, double number)
{
    char text[RM_NUMBER_BYTES];
    if (isfinite(number)) {
        rm_buffer_add(buffer, text, rm_number_double(text, number));
    }
}

/* ---- texts ------------------------------------------------------------------------------ */

/* Texts of a line that are not facts of the run. */
struct texts {
    char timestamp[64], run_id[40], os[256], version[64];
};

/* As codecarbon: local time, without the time zone. */
static void set_timestamp(char timestamp[64], const struct resmon_run *run)
{
    struct tm parts;
    time_t end = (time_t)(rm_run_realtime_ns(run, run->info.duration_ns) / RM_NS_PER_S);
    if (localtime_r(&end, &parts) != NULL) {
        (void)strftime(timestamp, 64, "%Y-%m-%dT%H:%M:%S", &parts);
    }
}

static void set_run_id(char run_id[40])
{
    unsigned char bytes[16];
    char *at = run_id;
    if (!rm_random(bytes, sizeof bytes)) {
        return;
    }
    bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x40); /* RFC 4122, version 4 */
    bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bool is_break = i == 4 || i == 6 || i == 8 || i == 10;
        at += snprintf(at, sizeof "-00", "%s%02x", is_break ? "-" : "", bytes[i]);
    }
}

static struct texts texts_of(const struct resmon_run *run)
{
    struct texts texts = {.timestamp = ""};
    set_timestamp(texts.timestamp, run);
    set_run_id(texts.run_id);
    (void)snprintf(texts.os, sizeof texts.os, "Linux-%s-%s",
                   rm_run_fact_text(run, "machine", "kernel"),
                   rm_run_fact_text(run, "machine", "architecture"));
    (void)snprintf(texts.version, sizeof texts.version, "libresmon %s", resmon_version());
    return texts;
}

/* ---- means ------------------------------------------------------------------------------ */

static double mean_of(const struct resmon_run *run, enum rm_metric_id metric)
{
    const resmon_column *stats = rm_run_statistics_of(run, metric, NULL);
    return stats != NULL ? stats->mean : RM_NAN;
}

/* The mean over all instances of a metric. */
static double mean_of_all(const struct resmon_run *run, enum rm_metric_id id)
{
    const char *metric = rm_metric_name(rm_metric_of(id));
    double sum = 0.0;
    size_t count = 0;
    for (size_t i = 0; i < run->column_count; i++) {
        if (strcmp(run->columns[i].metric, metric) == 0 && !isnan(run->columns[i].mean)) {
            sum += run->columns[i].mean;
            count++;
        }
    }
    return count > 0 ? sum / (double)count : RM_NAN;
}

/* ---- lines ------------------------------------------------------------------------------ */

/* Energy and emissions of the machine, or of the process tree. */
struct use {
    double cpu_j, ram_j, gpu_j, all_j, emissions_kg, water_l;
};

static struct use use_of(const struct resmon_run *run, const resmon_energy *energy, bool is_process)
{
    const resmon_energy_part cpu = rm_run_energy_part(run, 0);
    const resmon_energy_part ram = rm_run_energy_part(run, 1);
    const resmon_energy_part gpu = rm_run_energy_part(run, 2);
    const struct use machine = {
        cpu.node_j,          ram.node_j, gpu.node_j, energy->node_j, energy->node_gco2eq / 1000.0,
        energy->node_water_l};
    const struct use process = {
        cpu.tree_j,          ram.tree_j, gpu.tree_j, energy->tree_j, energy->tree_gco2eq / 1000.0,
        energy->tree_water_l};
    return is_process ? process : machine;
}

/* A label that the run was given. */
static const char *label_or(const struct resmon_run *run, const char *name, const char *otherwise)
{
    const char *label = rm_run_fact_text(run, RM_FACT_LABELS, name);
    return label[0] != '\0' ? label : otherwise;
}

struct cell {
    const char *column;
    const char *text; /* NULL: the cell has the number */
    double number;
};

static void put_row(struct rm_buffer *heading, struct rm_buffer *line, const struct cell *cells,
                    size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rm_buffer_printf(heading, "%s%s", i > 0 ? "," : "", cells[i].column);
        rm_buffer_puts(line, i > 0 ? "," : "");
        if (cells[i].text != NULL) {
            put_text(line, cells[i].text);
        } else {
            put_number(line, cells[i].number);
        }
    }
    rm_buffer_puts(heading, "\n");
    rm_buffer_puts(line, "\n");
}

/* Writes the columns of codecarbon 3.3.0, in the order of its file. */
static void put_cells(struct rm_buffer *heading, struct rm_buffer *line,
                      const struct resmon_run *run, bool is_process)
{
    const struct texts texts = texts_of(run);
    const resmon_energy energy = rm_run_energy(run);
    const struct use use = use_of(run, &energy, is_process);
    const double s = (double)run->info.duration_ns / 1e9;
    const double kwh = energy.pue / RM_JOULES_PER_KWH; /* includes the overhead of the facility,
                                                          as in codecarbon */
    const char *name = rm_run_fact_text(run, "run", "name");
    bool is_cloud = energy.basis == RESMON_CARBON_BASIS_CLOUD;
    const struct cell cells[] = {
        {"timestamp", texts.timestamp, 0},
        {"project_name", name[0] != '\0' ? name : "resmon", 0},
        {"run_id", label_or(run, "run_id", texts.run_id), 0},
        {"experiment_id", label_or(run, "experiment_id", rm_run_fact_text(run, "job", "id")), 0},
        {"duration", NULL, s},
        {"emissions", NULL, use.emissions_kg},
        {"emissions_rate", NULL, use.emissions_kg / s},
        {"cpu_power", NULL, use.cpu_j / s},
        {"gpu_power", NULL, use.gpu_j / s},
        {"ram_power", NULL, use.ram_j / s},
        {"cpu_energy", NULL, use.cpu_j * kwh},
        {"gpu_energy", NULL, use.gpu_j * kwh},
        {"ram_energy", NULL, use.ram_j * kwh},
        {"energy_consumed", NULL, use.all_j * kwh},
        {"water_consumed", NULL, use.water_l},
        {"country_name", rm_run_fact_text(run, "energy", "country_name"), 0},
        {"country_iso_code", rm_run_fact_text(run, "energy", "country"), 0},
        {"region", energy.basis == RESMON_CARBON_BASIS_REGION ? energy.place : "", 0},
        {"cloud_provider", rm_run_fact_text(run, "energy", "cloud_provider"), 0},
        {"cloud_region", is_cloud ? energy.place : "", 0},
        {"os", texts.os, 0},
        {"python_version", "", 0},
        {"codecarbon_version", texts.version, 0},
        {"cpu_count", NULL, rm_run_fact_number(run, "machine", "cpus")},
        {"cpu_model", rm_run_fact_text(run, "machine", "cpu_model"), 0},
        {"gpu_count", NULL, rm_run_fact_number(run, "machine", "gpus")},
        {"gpu_model", rm_run_fact_text(run, "machine", "gpu_model"), 0},
        {"longitude", "", 0},
        {"latitude", "", 0},
        {"ram_total_size", NULL, rm_run_fact_number(run, "machine", "memory_bytes") / GIB},
        {"tracking_mode", is_process ? "process" : "machine", 0},
        {"cpu_utilization_percent", NULL, mean_of(run, RM_NODE_CPU_PERCENT)},
        {"gpu_utilization_percent", NULL, mean_of_all(run, RM_GPU_UTIL)},
        {"ram_utilization_percent", NULL, mean_of(run, RM_NODE_MEM_PERCENT)},
        {"ram_used_gb", NULL, mean_of(run, RM_NODE_MEM_USED) / GIB},
        {"on_cloud", is_cloud ? "Y" : "N", 0},
        {"pue", NULL, energy.pue},
        {"wue", NULL, energy.wue},
    };
    put_row(heading, line, cells, RM_ARRAY_LEN(cells));
}

resmon_status rm_emissions_append(const struct resmon_run *run, uint64_t flags, const char *path)
{
    struct rm_buffer heading, text;
    if (!rm_run_has_energy(run)) {
        return rm_error(RESMON_ENOENT, "%s", rm_run_energy_lack(run));
    }
    if ((flags & RESMON_EMISSIONS_PROCESS) == 0 && !rm_run_reports_host(run)) {
        return rm_error(RESMON_ENOENT,
                        "another process of this host reports the machine's energy: use "
                        "RESMON_EMISSIONS_PROCESS for the share of this process");
    }
    rm_buffer_init(&heading, LARGEST_LINE);
    rm_buffer_init(&text, LARGEST_LINE);
    put_cells(&heading, &text, run, (flags & RESMON_EMISSIONS_PROCESS) != 0);
    resmon_status status = heading.status == RESMON_OK ? text.status : heading.status;
    status = status == RESMON_OK ? rm_sharedfile_append(path, heading.text, text.text)
                                 : rm_error(status, "out of memory for a line of %s", path);
    rm_buffer_free(&heading);
    rm_buffer_free(&text);
    return status;
}

/* One line for each host of a job. */
static resmon_status append_machine(const resmon_run *run, const char *path)
{
    return rm_run_reports_host(run) ? rm_emissions_append(run, 0, path) : RESMON_OK;
}

static resmon_status append_process(const resmon_run *run, const char *path)
{
    return rm_emissions_append(run, RESMON_EMISSIONS_PROCESS, path);
}

resmon_status rm_emissions_sink_new(const resmon_emissions_options *options,
                                    struct rm_sink *ret_sink)
{
    const struct rm_saver saver = {
        .name = "emissions",
        .pattern = options->path,
        .save = options->flags != 0 ? append_process : append_machine,
    };
    return rm_saver_new(&saver, ret_sink);
}
