/* SPDX-License-Identifier: MIT */
#include "export/diff_document.h"

#include "format/json_writer.h"

const char *rm_diff_word(enum rm_verdict verdict)
{
    static const char *const words[] = {"none", "not_worse", "cannot_tell", "worse"};
    return words[verdict];
}

static void put_side(struct rm_json_writer *writer, const char *key, const struct rm_group *group)
{
    rm_json_open_object(writer, key);
    rm_json_put_text(writer, "name", group->name);
    rm_json_put_u64(writer, "runs", group->run_count);
    rm_json_put_text(writer, "host_name", group->machine.host);
    rm_json_put_text(writer, "cpu_model", group->machine.cpu_model);
    rm_json_put_text(writer, "kernel", group->machine.kernel);
    rm_json_close_object(writer);
}

static void put_between(struct rm_json_writer *writer, const char *key,
                        const struct rm_between *between, size_t runs)
{
    rm_json_open_object(writer, key);
    rm_json_put_double(writer, "value", between->value);
    rm_json_put_double(writer, "low", between->low);
    rm_json_put_double(writer, "high", between->high);
    if (runs > 0) {
        rm_json_put_u64(writer, "runs", runs);
    }
    rm_json_close_object(writer);
}

static void put_row(struct rm_json_writer *writer, const struct rm_diff_row *row)
{
    rm_json_break(writer);
    rm_json_open_object(writer, NULL);
    rm_json_put_text(writer, "scope", row->path);
    rm_json_put_text(writer, "figure", rm_figures[row->figure].key);
    rm_json_put_text(writer, "unit", rm_figures[row->figure].unit);
    rm_json_put_u64(writer, "is_counted", row->is_counted ? 1 : 0);
    put_between(writer, "before", &row->before, row->before_count);
    put_between(writer, "after", &row->after, row->after_count);
    put_between(writer, "shift", &row->shift, 0);
    rm_json_put_double(writer, "p", row->p);
    rm_json_put_double(writer, "p_of_all_rules", row->p_of_all);
    if (row->rule != NULL) {
        rm_json_put_text(writer, "rule", row->rule->text);
        rm_json_put_double(writer, "allowance", row->allowance);
        rm_json_put_text(writer, "verdict", rm_diff_word(row->verdict));
        rm_json_put_u64(writer, "runs_wanted", row->runs_wanted);
    }
    rm_json_close_object(writer);
}

static void put_paths(struct rm_json_writer *writer, const char *key, const char *const *paths,
                      size_t count)
{
    rm_json_open_array(writer, key);
    for (size_t i = 0; i < count; i++) {
        rm_json_put_text(writer, NULL, paths[i]);
    }
    rm_json_close_array(writer);
}

resmon_status rm_diff_document_write(const struct rm_diff *diff, const struct rm_output *output)
{
    struct rm_json_writer writer;
    rm_json_start(&writer, output);
    rm_json_open_object(&writer, NULL);
    rm_json_put_text(&writer, "verdict", rm_diff_word(diff->verdict));
    put_side(&writer, "before", diff->before);
    put_side(&writer, "after", diff->after);
    rm_json_put_text(&writer, "machines_differ", diff->machines);
    put_paths(&writer, "scopes_gone", diff->gone, diff->gone_count);
    put_paths(&writer, "scopes_new", diff->fresh, diff->fresh_count);
    rm_json_open_array(&writer, "rules_without_figures");
    for (size_t i = 0; i < diff->gate->count; i++) {
        if (!diff->is_used[i]) {
            rm_json_put_text(&writer, NULL, diff->gate->rules[i].text);
        }
    }
    rm_json_close_array(&writer);
    rm_json_open_array(&writer, "figures");
    for (size_t i = 0; i < diff->row_count; i++) {
        put_row(&writer, &diff->rows[i]);
    }
    rm_json_close_array(&writer);
    rm_json_close_object(&writer);
    return rm_json_finish(&writer);
}
