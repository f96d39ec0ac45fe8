/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* getrandom, localtime_r */
#include "sink/emissions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include <resmon/version.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/number.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "carbon/intensity.h"
#include "metric/metric.h"
#include "os/sharedfile.h"
#include "run/energy.h"
#include "run/run.h"
#include "sink/saver.h"
#include "sink/sinks.h"

#define LARGEST_LINE 4096
#define GIB          1073741824.0

enum number {
    N_DURATION,
    N_EMISSIONS,
    N_RATE,
    N_CPU_W,
    N_RAM_W,
    N_GPU_W,
    N_CPU_KWH,
    N_RAM_KWH,
    N_GPU_KWH,
    N_ALL_KWH,
    N_WATER,
    N_CPUS,
    N_GPUS,
    N_RAM_SIZE,
    N_CPU_PERCENT,
    N_RAM_PERCENT,
    N_GPU_PERCENT,
    N_RAM_USED,
    N_PUE,
    N_WUE,
    N_COUNT
};

/* What the columns are made from. */
struct line {
    const struct resmon_run *run;
    resmon_energy energy;
    double numbers[N_COUNT]; /* of the machine, or the process tree */
    bool is_process;
};

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

/* What is not known is empty. */
static void put_number(struct rm_buffer *buffer, double number)
{
    char text[RM_NUMBER_BYTES];
    if (isfinite(number)) {
        rm_buffer_add(buffer, text, rm_number_double(text, number));
    }
}

static const char *fact(const struct line *line, const char *group, const char *key)
{
    return rm_run_fact_text(line->run, group, key);
}

/* codecarbon: local time, without its zone. */
static void put_timestamp(struct rm_buffer *buffer, const struct line *line)
{
    char text[64] = "";
    struct tm parts;
    time_t now = (time_t)(rm_run_realtime_ns(line->run, line->run->info.duration_ns) / RM_NS_PER_S);
    if (localtime_r(&now, &parts) != NULL) {
        (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    }
    rm_buffer_puts(buffer, text);
}

static void put_run_id(struct rm_buffer *buffer, const struct line *line)
{
    unsigned char bytes[16];
    (void)line;
    if (getrandom(bytes, sizeof bytes, GRND_NONBLOCK) != (ssize_t)sizeof bytes) {
        return;
    }
    bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x40); /* RFC 4122, version 4 */
    bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bool is_break = i == 4 || i == 6 || i == 8 || i == 10;
        rm_buffer_printf(buffer, "%s%02x", is_break ? "-" : "", bytes[i]);
    }
}

static void put_project(struct rm_buffer *buffer, const struct line *line)
{
    const char *name = fact(line, "run", "name");
    put_text(buffer, name[0] != '\0' ? name : "resmon");
}

static void put_os(struct rm_buffer *buffer, const struct line *line)
{
    char text[256];
    (void)snprintf(text, sizeof text, "Linux-%s-%s", fact(line, "machine", "kernel"),
                   fact(line, "machine", "architecture"));
    put_text(buffer, text);
}

static void put_version(struct rm_buffer *buffer, const struct line *line)
{
    (void)line;
    rm_buffer_printf(buffer, "libresmon %s", resmon_version());
}

static void put_place(struct rm_buffer *buffer, const struct line *line, int32_t basis)
{
    if (line->energy.basis == basis) {
        put_text(buffer, line->energy.place);
    }
}

static void put_region(struct rm_buffer *buffer, const struct line *line)
{
    put_place(buffer, line, RESMON_CARBON_BASIS_REGION);
}

static void put_cloud_region(struct rm_buffer *buffer, const struct line *line)
{
    put_place(buffer, line, RESMON_CARBON_BASIS_CLOUD);
}

static void put_on_cloud(struct rm_buffer *buffer, const struct line *line)
{
    rm_buffer_puts(buffer, line->energy.basis == RESMON_CARBON_BASIS_CLOUD ? "Y" : "N");
}

static void put_mode(struct rm_buffer *buffer, const struct line *line)
{
    rm_buffer_puts(buffer, line->is_process ? "process" : "machine");
}

/* codecarbon 3.3.0's columns, in the order of its file; one of the three says what is in them, or
 * none: not known here. */
static const struct {
    const char *name;
    void (*put)(struct rm_buffer *buffer, const struct line *line);
    const char *group, *fact;
    int number; /* enum number, plus 1 */
} columns[] = {
    {"timestamp", put_timestamp, NULL, NULL, 0},
    {"project_name", put_project, NULL, NULL, 0},
    {"run_id", put_run_id, NULL, NULL, 0},
    {"experiment_id", NULL, "job", "id", 0},
    {"duration", NULL, NULL, NULL, N_DURATION + 1},
    {"emissions", NULL, NULL, NULL, N_EMISSIONS + 1},
    {"emissions_rate", NULL, NULL, NULL, N_RATE + 1},
    {"cpu_power", NULL, NULL, NULL, N_CPU_W + 1},
    {"gpu_power", NULL, NULL, NULL, N_GPU_W + 1},
    {"ram_power", NULL, NULL, NULL, N_RAM_W + 1},
    {"cpu_energy", NULL, NULL, NULL, N_CPU_KWH + 1},
    {"gpu_energy", NULL, NULL, NULL, N_GPU_KWH + 1},
    {"ram_energy", NULL, NULL, NULL, N_RAM_KWH + 1},
    {"energy_consumed", NULL, NULL, NULL, N_ALL_KWH + 1},
    {"water_consumed", NULL, NULL, NULL, N_WATER + 1},
    {"country_name", NULL, "energy", "country_name", 0},
    {"country_iso_code", NULL, "energy", "country", 0},
    {"region", put_region, NULL, NULL, 0},
    {"cloud_provider", NULL, "energy", "cloud_provider", 0},
    {"cloud_region", put_cloud_region, NULL, NULL, 0},
    {"os", put_os, NULL, NULL, 0},
    {"python_version", NULL, NULL, NULL, 0},
    {"codecarbon_version", put_version, NULL, NULL, 0},
    {"cpu_count", NULL, NULL, NULL, N_CPUS + 1},
    {"cpu_model", NULL, "machine", "cpu_model", 0},
    {"gpu_count", NULL, NULL, NULL, N_GPUS + 1},
    {"gpu_model", NULL, "machine", "gpu_model", 0},
    {"longitude", NULL, NULL, NULL, 0},
    {"latitude", NULL, NULL, NULL, 0},
    {"ram_total_size", NULL, NULL, NULL, N_RAM_SIZE + 1},
    {"tracking_mode", put_mode, NULL, NULL, 0},
    {"cpu_utilization_percent", NULL, NULL, NULL, N_CPU_PERCENT + 1},
    {"gpu_utilization_percent", NULL, NULL, NULL, N_GPU_PERCENT + 1},
    {"ram_utilization_percent", NULL, NULL, NULL, N_RAM_PERCENT + 1},
    {"ram_used_gb", NULL, NULL, NULL, N_RAM_USED + 1},
    {"on_cloud", put_on_cloud, NULL, NULL, 0},
    {"pue", NULL, NULL, NULL, N_PUE + 1},
    {"wue", NULL, NULL, NULL, N_WUE + 1},
};

/* ---- lines ------------------------------------------------------------------------------ */

static void put_heading(struct rm_buffer *buffer)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(columns); i++) {
        rm_buffer_printf(buffer, "%s%s", i > 0 ? "," : "", columns[i].name);
    }
    rm_buffer_puts(buffer, "\n");
}

static void put_line(struct rm_buffer *buffer, const struct line *line)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(columns); i++) {
        rm_buffer_puts(buffer, i > 0 ? "," : "");
        if (columns[i].put != NULL) {
            columns[i].put(buffer, line);
        } else if (columns[i].fact != NULL) {
            put_text(buffer, fact(line, columns[i].group, columns[i].fact));
        } else if (columns[i].number > 0) {
            put_number(buffer, line->numbers[columns[i].number - 1]);
        }
    }
    rm_buffer_puts(buffer, "\n");
}

/* ---- numbers ---------------------------------------------------------------------------- */

static double mean_of(const struct resmon_run *run, enum rm_metric_id metric)
{
    const resmon_column *stats = rm_run_statistics_of(run, metric, NULL);
    return stats != NULL ? stats->mean : RM_NAN;
}

/* Over all instances of a metric. */
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

static struct line line_of(const struct resmon_run *run, bool is_process)
{
    const resmon_energy_part cpu = rm_run_energy_part(run, 0);
    const resmon_energy_part ram = rm_run_energy_part(run, 1);
    const resmon_energy_part gpu = rm_run_energy_part(run, 2);
    const resmon_energy energy = rm_run_energy(run);
    double seconds = (double)run->info.duration_ns / 1e9;
    double cpu_j = is_process ? cpu.tree_j : cpu.node_j;
    double ram_j = is_process ? ram.tree_j : ram.node_j;
    double gpu_j = is_process ? gpu.tree_j : gpu.node_j;
    double emissions_kg = (is_process ? energy.tree_gco2eq : energy.node_gco2eq) / 1000.0;
    double kwh = energy.pue / RM_JOULES_PER_KWH; /* of the facility, as codecarbon has them */
    struct line line = {.run = run, .energy = energy, .is_process = is_process};
    const double numbers[N_COUNT] = {
        [N_DURATION] = seconds,
        [N_EMISSIONS] = emissions_kg,
        [N_RATE] = emissions_kg / seconds,
        [N_CPU_W] = cpu_j / seconds,
        [N_RAM_W] = ram_j / seconds,
        [N_GPU_W] = gpu_j / seconds,
        [N_CPU_KWH] = cpu_j * kwh,
        [N_RAM_KWH] = ram_j * kwh,
        [N_GPU_KWH] = gpu_j * kwh,
        [N_ALL_KWH] = (is_process ? energy.tree_j : energy.node_j) * kwh,
        [N_WATER] = is_process ? energy.tree_water_l : energy.node_water_l,
        [N_CPUS] = rm_run_fact_number(run, "machine", "cpus"),
        [N_GPUS] = rm_run_fact_number(run, "machine", "gpus"),
        [N_RAM_SIZE] = rm_run_fact_number(run, "machine", "memory_bytes") / GIB,
        [N_CPU_PERCENT] = mean_of(run, RM_NODE_CPU_PERCENT),
        [N_RAM_PERCENT] = mean_of(run, RM_NODE_MEM_PERCENT),
        [N_GPU_PERCENT] = mean_of_all(run, RM_GPU_UTIL),
        [N_RAM_USED] = mean_of(run, RM_NODE_MEM_USED) / GIB,
        [N_PUE] = energy.pue,
        [N_WUE] = energy.wue,
    };
    memcpy(line.numbers, numbers, sizeof numbers);
    return line;
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
    const struct line line = line_of(run, (flags & RESMON_EMISSIONS_PROCESS) != 0);
    rm_buffer_init(&heading, LARGEST_LINE);
    rm_buffer_init(&text, LARGEST_LINE);
    put_heading(&heading);
    put_line(&text, &line);
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
