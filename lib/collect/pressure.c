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
