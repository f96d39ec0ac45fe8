/* SPDX-License-Identifier: MIT */
#include "compare/gate.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/human.h"
#include "base/status.h"
#include "base/text.h"

const char rm_gate_default[] = "wall>5%+10ms, cpu>5%+10ms, peak>5%+1MiB";

/* ---- rules -------------------------------------------------------------------------------- */

static resmon_status refuse(const struct rm_gate_rule *rule, const char *why)
{
    return rm_error(RESMON_EINVAL,
                    "the rule '%s' %s; a rule is FIGURE>SHARE%%+AMOUNT, as wall>5%%+10ms, "
                    "peak>1MiB or scope:train/step wall>3%%",
                    rule->text, why);
}

static void skip_spaces(const char **at)
{
    *at += strspn(*at, " \t");
}

/* "5%", "10ms" */
static resmon_status take_threshold(struct rm_gate_rule *rule, const char **at)
{
    double number;
    skip_spaces(at);
    if (!rm_amount_take_number(at, &number)) {
        return refuse(rule, "has no number after '>' or '+'");
    }
    skip_spaces(at);
    if (**at == '%') {
        (*at)++;
        rule->share = number / 100.0;
    } else {
        size_t length = strcspn(*at, " \t+");
        double factor = rm_amount_factor(*at, length, rm_figures[rule->figure].unit);
        if (isnan(factor)) {
            return refuse(rule, "has an amount in a unit that this value does not have");
        }
        rule->amount = number * factor;
        *at += length;
    }
    skip_spaces(at);
    return RESMON_OK;
}

static resmon_status take_figure(struct rm_gate_rule *rule, const char **at)
{
    size_t length = strcspn(*at, " \t>");
    rule->figure = rm_figure_find(*at, length);
    if (rule->figure == RM_FIGURE_COUNT) {
        return refuse(rule, "names no value (wall, self, cpu, user, system, peak, energy, read, "
                            "written, calls, instructions, ...)");
    }
    *at += length;
    skip_spaces(at);
    if (**at != '>') {
        return refuse(rule, "has no '>' after the value");
    }
    (*at)++;
    return RESMON_OK;
}

static resmon_status read_rule(struct rm_gate_rule *rule)
{
    static const char of_scope[] = "scope:";
    const char *at = rule->text;
    if (strncmp(at, of_scope, sizeof of_scope - 1) == 0) {
        at += sizeof of_scope - 1;
        const char *figure = strrchr(at, ' '); /* names of scopes may have spaces */
        const char *mark = strrchr(at, '>');
        while (figure != NULL && mark != NULL && figure > mark) {
            do {
                figure--;
            } while (figure > at && *figure != ' ');
        }
        if (figure == NULL || figure <= at) {
            return refuse(rule, "has no value after the scope");
        }
        (void)rm_text_copy(rule->scope, sizeof rule->scope, at, (size_t)(figure - at));
        at = figure + 1;
    }
    resmon_status status = take_figure(rule, &at);
    status = status == RESMON_OK ? take_threshold(rule, &at) : status;
    if (status == RESMON_OK && *at == '+') {
        at++;
        status = take_threshold(rule, &at);
    }
    return status == RESMON_OK && *at != '\0' ? refuse(rule, "has unexpected text at its end")
                                              : status;
}

static resmon_status add_rule(struct rm_gate *gate, const char *text, size_t length)
{
    if (gate->count == RM_GATE_RULES) {
        return rm_error(RESMON_ENOSPC, "there are more than %u rules", RM_GATE_RULES);
    }
    struct rm_gate_rule *rules =
        rm_grow(gate->rules, gate->count, &gate->room, sizeof *gate->rules);
    if (rules == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the rules of a gate");
    }
    gate->rules = rules;
    struct rm_gate_rule *rule = &rules[gate->count];
    *rule = (struct rm_gate_rule){.share = 0.0};
    (void)rm_text_copy(rule->text, sizeof rule->text, text, length);
    resmon_status status = read_rule(rule);
    gate->count += status == RESMON_OK ? 1 : 0;
    return status;
}

/* A rule ends at the next line or comma.  Spaces around it and comments are skipped. */
resmon_status rm_gate_read(struct rm_gate *gate, const char *text)
{
    resmon_status status = RESMON_OK;
    while (*text != '\0' && status == RESMON_OK) {
        text += strspn(text, " \t\r\n,");
        if (*text == '#') {
            text += strcspn(text, "\n");
            continue;
        }
        size_t end = strcspn(text, "\r\n,#"), length = end;
        while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) {
            length--;
        }
        status = length > 0 ? add_rule(gate, text, length) : RESMON_OK;
        text += end;
    }
    return status;
}

void rm_gate_free(struct rm_gate *gate)
{
    rm_free(gate->rules);
    *gate = (struct rm_gate){.rules = NULL};
}

const struct rm_gate_rule *rm_gate_find(const struct rm_gate *gate, const char *path,
                                        enum rm_figure_id figure)
{
    for (size_t i = 0; i < gate->count; i++) {
        const struct rm_gate_rule *rule = &gate->rules[i];
        bool is_of_run = rule->scope[0] == '\0';
        if (rule->figure == figure &&
            (is_of_run ? path[0] == '\0' : path[0] != '\0' && fnmatch(rule->scope, path, 0) == 0)) {
            return rule;
        }
    }
    return NULL;
}

double rm_gate_allowance(const struct rm_gate_rule *rule, double before)
{
    double share = rule->share * fabs(before);
    return share > rule->amount ? share : rule->amount;
}
