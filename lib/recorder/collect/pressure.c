/* SPDX-License-Identifier: MIT */
#include "collect/pressure.h"

#include "base/compiler.h"

static bool parse_total(struct rm_text line, double *ret_s)
{
    struct rm_text word;
    uint64_t us;
    while (rm_parse_word(&line, &word)) {
        if (rm_parse_literal(&word, "total=") && rm_parse_u64(&word, &us)) {
            *ret_s = (double)us * 1e-6;
            return true;
        }
    }
    return false;
}

bool rm_pressure_parse(struct rm_text text, double *ret_some_s, double *ret_full_s)
{
    struct rm_text line;
    bool has_any = false;
    *ret_some_s = RM_NAN;
    *ret_full_s = RM_NAN;
    while (rm_parse_line(&text, &line)) {
        if (rm_parse_literal(&line, "some ")) {
            has_any |= parse_total(line, ret_some_s);
        } else if (rm_parse_literal(&line, "full ")) {
            has_any |= parse_total(line, ret_full_s);
        }
    }
    return has_any;
}

resmon_status rm_pressure_read(struct rm_collect *collect, void *state, double *values)
{
    static const size_t some_of[RM_PRESSURE_FILES] = {RM_CPU_SOME, RM_MEM_SOME, RM_IO_SOME};
    struct rm_pressure *pressure = state;
    for (size_t i = 0; i < RM_PRESSURE_FILES; i++) {
        struct rm_text text;
        double some, full;
        resmon_status status = rm_collect_read(collect, &pressure->files[i], &text);
        if (status != RESMON_OK) {
            return status;
        }
        if (!rm_pressure_parse(text, &some, &full)) {
            return rm_collect_garbled(&pressure->files[i]);
        }
        values[some_of[i]] = some;
        if (some_of[i] != RM_CPU_SOME) {
            values[some_of[i] + 1] = full;
        }
    }
    return RESMON_OK;
}

void rm_pressure_close(void *state)
{
    struct rm_pressure *pressure = state;
    for (size_t i = 0; i < RM_PRESSURE_FILES; i++) {
        rm_file_close(&pressure->files[i]);
    }
}
