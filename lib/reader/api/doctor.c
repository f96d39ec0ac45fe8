/* SPDX-License-Identifier: MIT */
/* <resmon/doctor.h>: checks arguments and calls down. */
#include <resmon/doctor.h>

#include "base/buffer.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "doctor/doctor.h"
#include "format/json_writer.h"

/* A bound for the report: it grows with the number of zones, each with its remedy. */
#define LARGEST_TEXT ((size_t)1024 * 1024)

resmon_status resmon_doctor_examine(const resmon_doctor_options *options,
                                    resmon_doctor **ret_doctor)
{
    RM_KEEP_ERRNO;
    resmon_doctor_options known = {.struct_size = sizeof known};
    resmon_status status = RESMON_OK;
    if (ret_doctor == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_doctor_examine: an argument is NULL");
    }
    if (options != NULL) {
        status = rm_struct_take(options, RM_STRUCT_SIZE(resmon_doctor_options), &known);
    }
    return status == RESMON_OK ? rm_doctor_examine(&known, &rm_doctor_own_tools, ret_doctor)
                               : status;
}

size_t resmon_doctor_entry_count(const resmon_doctor *doctor)
{
    return doctor != NULL ? doctor->count : 0;
}

resmon_status resmon_doctor_get_entry(const resmon_doctor *doctor, size_t index,
                                      resmon_doctor_entry *ret_entry)
{
    if (doctor == NULL) {
        return rm_error(RESMON_EINVAL, "the doctor is NULL");
    }
    return index < doctor->count ? rm_struct_give(&doctor->entries[index],
                                                  RM_STRUCT_SIZE(resmon_doctor_entry), ret_entry)
                                 : rm_error(RESMON_ENOENT, "there is no finding %zu", index);
}

resmon_status resmon_doctor_report(const resmon_doctor *doctor, char **ret_text)
{
    RM_KEEP_ERRNO;
    struct rm_buffer buffer;
    if (doctor == NULL || ret_text == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_doctor_report: an argument is NULL");
    }
    rm_buffer_init(&buffer, LARGEST_TEXT);
    rm_doctor_write(&buffer, doctor->heading, doctor->entries, doctor->count);
    return rm_buffer_give(&buffer, buffer.status, ret_text);
}

resmon_status resmon_doctor_document(const resmon_doctor *doctor, char **ret_text)
{
    static const char *const statuses[] = {[RESMON_DOCTOR_READY] = "ready",
                                           [RESMON_DOCTOR_NOT_READABLE] = "not readable",
                                           [RESMON_DOCTOR_ABSENT] = "absent",
                                           [RESMON_DOCTOR_GARBLED] = "garbled"};
    RM_KEEP_ERRNO;
    struct rm_buffer buffer;
    struct rm_json_writer json;
    if (doctor == NULL || ret_text == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_doctor_document: an argument is NULL");
    }
    rm_buffer_init(&buffer, LARGEST_TEXT);
    const struct rm_output output = rm_buffer_output(&buffer);
    rm_json_start(&json, &output);
    rm_json_open_array(&json, NULL);
    for (size_t i = 0; i < doctor->count; i++) {
        const resmon_doctor_entry *entry = &doctor->entries[i];
        rm_json_open_object(&json, NULL);
        rm_json_put_text(&json, "group", entry->group);
        rm_json_put_text(&json, "name", entry->name);
        rm_json_put_text(&json, "status", statuses[entry->status]);
        rm_json_put_text(&json, "what", entry->what);
        rm_json_put_text(&json, "remedy", entry->remedy);
        rm_json_close_object(&json);
    }
    rm_json_close_array(&json);
    resmon_status status = rm_json_finish(&json);
    rm_buffer_puts(&buffer, "\n");
    return rm_buffer_give(&buffer, status == RESMON_OK ? buffer.status : status, ret_text);
}

resmon_status resmon_doctor_rule(const resmon_doctor *doctor, int32_t file, char **ret_text)
{
    RM_KEEP_ERRNO;
    struct rm_buffer buffer;
    if (doctor == NULL || ret_text == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_doctor_rule: an argument is NULL");
    }
    const struct rm_doctor_rule rule = {
        .group = doctor->user_group,
        .has_level = doctor->has_level,
        .level = doctor->level,
    };
    rm_buffer_init(&buffer, LARGEST_TEXT);
    return rm_buffer_give(&buffer, rm_doctor_rule_write(&buffer, &rule, file), ret_text);
}

void resmon_doctor_free(resmon_doctor *doctor)
{
    RM_KEEP_ERRNO;
    rm_doctor_free(doctor);
}
