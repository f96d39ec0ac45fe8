/* SPDX-License-Identifier: MIT */
#include "view/subject.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include <resmon/carbon.h>
#include <resmon/report.h>

#include "run/energy.h"
#include "run/headline.h"

/* Sources that drive the model of a processor, and the shares of a program. */
static const char *const paces[] = {"node_cpu", "proc_cpu", "tree", "energy_cpu", "energy_tree"};

/* Sources whose reasons tell why columns are absent, by how the columns begin. */
static const struct {
    const char *group;
    const char *sources[2];
} sources_of[] = {
    {"proc.cpu", {"proc_cpu"}},   {"tree.cpu", {"tree", "proc_cpu"}},
    {"proc.mem", {"proc_mem"}},   {"tree.mem", {"tree", "proc_mem"}},
    {"proc.io", {"proc_io"}},     {"tree.io", {"tree", "proc_io"}},
    {"node.cpu", {"node_cpu"}},   {"node.mem", {"node_mem"}},
    {"node.disk", {"node_disk"}}, {"node.net", {"node_net"}},
    {"node.fs", {"node_fs"}},     {"gpu.util", {"gpu"}},
};

/* ---- columns ---------------------------------------------------------------------------- */

const resmon_column *rm_subject_column(const struct rm_subject *subject, const char *metric)
{
    int64_t index = rm_run_find_column(subject->run, metric, "");
    const resmon_column *column = index >= 0 ? &subject->run->columns[index] : NULL;
    return column != NULL && column->n > 0 ? column : NULL;
}

double rm_subject_highest(const struct rm_subject *subject, const char *metric)
{
    const resmon_column *column = rm_subject_column(subject, metric);
    return column != NULL && isfinite(column->max) ? column->max : 0.0;
}

const resmon_column *rm_subject_next_instance(const struct rm_subject *subject, const char *metric,
                                              size_t *index)
{
    while (*index < subject->run->column_count) {
        const resmon_column *column = &subject->run->columns[(*index)++];
        if (column->n > 0 && strcmp(column->metric, metric) == 0) {
            return column;
        }
    }
    return NULL;
}

const char *rm_subject_column_name(struct rm_page *page, const resmon_column *column)
{
    const struct rm_column_name name = rm_run_column_name(column);
    return rm_page_print(page, "%s%s%s%s", name.parts[0], name.parts[1], name.parts[2],
                         name.parts[3]);
}

/* ---- reasons ---------------------------------------------------------------------------- */

const resmon_run_source *rm_subject_source(const struct resmon_run *run, const char *name)
{
    for (size_t i = 0; i < run->source_count; i++) {
        if (strcmp(run->sources[i].name, name) == 0) {
            return &run->sources[i];
        }
    }
    return NULL;
}

/* What is said of a source that can be read is about some of its columns. */
static const char *reason_of(const struct resmon_run *run, const char *source, const char *metric)
{
    const resmon_run_source *found = source != NULL ? rm_subject_source(run, source) : NULL;
    bool tells = found != NULL && found->reason[0] != '\0' &&
                 (found->status != RESMON_OK || strstr(found->reason, metric) != NULL);
    return tells ? found->reason : NULL;
}

/* "proc.cpu" of "proc.cpu.percent". */
static bool is_of_group(const char *metric, const char *group)
{
    size_t length = strlen(group);
    return strncmp(metric, group, length) == 0 && (metric[length] == '.' || metric[length] == '\0');
}

static const char *why(const struct rm_subject *subject, const char *metric)
{
    const struct resmon_run *run = subject->run;
    int64_t column = rm_run_find_column(run, metric, "");
    const char *reason = column >= 0 ? reason_of(run, run->columns[column].source, metric) : NULL;
    for (size_t i = 0; i < RM_ARRAY_LEN(sources_of) && reason == NULL; i++) {
        for (size_t s = 0; s < 2 && reason == NULL && is_of_group(metric, sources_of[i].group);
             s++) {
            reason = reason_of(run, sources_of[i].sources[s], metric);
        }
    }
    return reason;
}

const char *rm_subject_why(const struct rm_subject *subject, const char *const *metrics,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *reason = why(subject, metrics[i]);
        if (reason != NULL) {
            return reason;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (rm_run_find_column(subject->run, metrics[i], "") >= 0) {
            return "there was no valid reading";
        }
    }
    return "this run did not record it";
}

const char *rm_subject_why_no_energy(const struct rm_subject *subject)
{
    const struct resmon_run *run = subject->run;
    const char *methods[RM_ENERGY_PARTS];
    if (!subject->has_energy) {
        double domains = rm_run_fact_number(run, "settings", "domains");
        bool was_asked = !(domains > 0.0) || ((uint64_t)domains & RESMON_DOMAIN_ENERGY) != 0;
        return was_asked ? "the energy is not known" : "energy was not requested";
    }
    if (subject->energy.remark[0] != '\0') {
        return subject->energy.remark;
    }
    for (size_t i = 0; i < RM_ENERGY_PARTS; i++) {
        methods[i] = rm_run_energy_part(run, i).method;
    }
    const char *all = rm_page_join(subject->page, "; ", methods, RM_ENERGY_PARTS);
    return all[0] != '\0' ? all : "not known";
}

const char *rm_subject_basis(const struct rm_subject *subject)
{
    static const char *const words[] = {[RESMON_CARBON_BASIS_GIVEN] = "given",
                                        [RESMON_CARBON_BASIS_CLOUD] = "cloud",
                                        [RESMON_CARBON_BASIS_REGION] = "region",
                                        [RESMON_CARBON_BASIS_COUNTRY] = "country",
                                        [RESMON_CARBON_BASIS_WORLD] = "world"};
    int32_t basis = subject->energy.basis;
    bool is_known = basis > 0 && (size_t)basis < RM_ARRAY_LEN(words) && words[basis] != NULL;
    return is_known ? words[basis] : "";
}

/* ---- what it is called ------------------------------------------------------------------ */

const char *rm_subject_host(const struct resmon_run *run)
{
    const char *host = rm_run_fact_text(run, "machine", "host_name");
    const char *node = rm_run_fact_text(run, "job", "node_name");
    return host[0] != '\0' ? host : node[0] != '\0' ? node : "an unknown host";
}

const char *rm_subject_start(struct rm_page *page, const struct resmon_run *run)
{
    char text[64];
    struct tm parts;
    time_t seconds = (time_t)(run->info.start_realtime_ns / 1000000000);
    if (run->info.start_realtime_ns <= 0 || gmtime_r(&seconds, &parts) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0) {
        return NULL;
    }
    return rm_page_print(page, "%s", text);
}

const char *rm_subject_outcome(struct rm_page *page, const struct resmon_run *run)
{
    const resmon_run_end end = rm_run_end(run);
    char state[64];
    rm_end_describe(run, state);
    if (end.reason < RESMON_END_FAILED) {
        return rm_page_print(page, "%s", run->info.state);
    }
    if (end.text[0] != '\0' && !rm_end_is_out_of_memory(&end)) {
        return rm_page_print(page, "%s: %s", state, end.text);
    }
    return end.exit_status != 0 ? rm_page_print(page, "%s: exit status %d", state, end.exit_status)
                                : rm_page_print(page, "%s", state);
}

size_t rm_subject_meta(const struct rm_subject *subject, const char *texts[RM_SUBJECT_META])
{
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    const char *start = rm_subject_start(page, run);
    const char *all[RM_SUBJECT_META] = {
        rm_page_shown(page, rm_subject_host(run)), start != NULL ? start : RM_PAGE_UNKNOWN,
        rm_page_value(page, rm_subject_seconds(run), "s"),
        rm_page_shown(page, rm_subject_outcome(page, run)), rm_page_shown(page, run->info.label)};
    memcpy(texts, all, sizeof all);
    return RM_SUBJECT_META - (run->info.label[0] != '\0' ? 0 : 1);
}

double rm_subject_seconds(const struct resmon_run *run)
{
    return (double)run->info.duration_ns / 1e9;
}

double rm_subject_reach(const struct resmon_run *run)
{
    double last = run->row_count > 0 ? (double)run->t_last[run->row_count - 1] / 1e9 : 0.0;
    return fmax(last, rm_subject_seconds(run));
}

/* ---- all of it -------------------------------------------------------------------------- */

/* Rows of several samples hold now one, now two steps of what is read every so many samples. */
static size_t least_rows(const struct resmon_run *run)
{
    uint64_t stride = run->info.stride > 0 ? run->info.stride : 1, every = 1;
    for (size_t i = 0; i < RM_ARRAY_LEN(paces); i++) {
        const resmon_run_source *source = rm_subject_source(run, paces[i]);
        every = source != NULL && source->every > every ? source->every : every;
    }
    return stride > 1 ? (size_t)((4 * every + stride - 1) / stride) : 1;
}

void rm_subject_open(struct rm_subject *subject, struct rm_page *page, const struct resmon_run *run,
                     const struct rm_source_lines *sources, size_t most_points)
{
    *subject = (struct rm_subject){.page = page,
                                   .run = run,
                                   .sources = sources,
                                   .label = "",
                                   .headline = rm_run_headline(run),
                                   .has_energy = rm_run_has_energy(run),
                                   .most_points = most_points,
                                   .least_rows = least_rows(run)};
    if (subject->has_energy) {
        subject->energy = rm_run_energy(run);
    }
    double cpus = rm_subject_highest(subject, "node.cpu.online");
    double known = rm_run_fact_number(run, "machine", "cpus");
    subject->cpus = cpus > 0.0 ? cpus : known > 0.0 ? known : 0.0;
}
