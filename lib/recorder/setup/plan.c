/* SPDX-License-Identifier: MIT */
#include "setup/plan.h"

#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"

#define LARGEST_TEXT ((size_t)1 << 20) /* upper bound of a sink's options */

/* Option sets with keys without a '.', and whether the text may use them. */
#define SETS 2

static size_t sets_of(const struct rm_plan_terms *terms)
{
    return terms->is_environment ? SETS : SETS - 1;
}

static const struct rm_option_set *set_at(size_t index)
{
    return index == 0 ? &rm_monitor_options : &rm_environment_options;
}

static struct rm_option_target target_of(struct rm_plan *plan, size_t index)
{
    return index == 0 ? (struct rm_option_target){&plan->options, plan->labels}
                      : (struct rm_option_target){.options = &plan->environment};
}

/* The error of an unknown key suggests the nearest name of all that are valid. */
static resmon_status refuse(const struct rm_plan_terms *terms, const struct rm_option_part *part)
{
    struct rm_nearest nearest = rm_nearest_new(part->key, strlen(part->key));
    for (size_t i = 0; i < sets_of(terms); i++) {
        rm_option_near(set_at(i), &nearest);
    }
    rm_nearest_try(&nearest, rm_carbon_options.name);
    for (size_t i = 0; i < terms->sink_count; i++) {
        rm_nearest_try(&nearest, terms->sinks[i]->name);
    }
    return rm_option_unknown("", part, &nearest, "RESMON=help shows all keys");
}

/* ---- "owner", "owner=value", "owner.key", "owner.key=value" ------------------------------- */

/* The part as a key of the option set; false: not one of its keys. */
static bool is_of(const struct rm_option_set *owner, const struct rm_option_part *part,
                  struct rm_option_part *ret_own)
{
    size_t length = strlen(owner->name);
    if (strncmp(part->key, owner->name, length) != 0) {
        return false;
    }
    *ret_own = *part;
    ret_own->key = part->key[length] == '.' ? part->key + length + 1 : owner->main;
    return part->key[length] == '.' || part->key[length] == '\0';
}

static resmon_status read_carbon(struct rm_plan *plan, const struct rm_option_part *part)
{
    const struct rm_option_target target = {.options = &plan->carbon};
    const struct rm_option *option = rm_option_find(&rm_carbon_options, part->key);
    plan->carbon.struct_size = sizeof plan->carbon;
    plan->options.carbon = &plan->carbon;
    return option != NULL ? rm_option_set(&rm_carbon_options, option, part, &target)
                          : rm_option_refuse(&rm_carbon_options, part);
}

/* Appends the part to the sink's text. */
static resmon_status read_sink(struct rm_plan *plan, size_t index,
                               const struct rm_option_part *part, bool is_bare)
{
    struct rm_buffer *text = &plan->sinks[index].text;
    const struct rm_option *option = rm_option_find(plan->sinks[index].set, part->key);
    if (option == NULL) {
        return rm_option_refuse(plan->sinks[index].set, part);
    }
    plan->has_secret |= option->type == RM_OPTION_SECRET;
    if (part->value != NULL && part->value[0] == '\0' && !part->is_quoted) {
        return rm_error(RESMON_EINVAL, "%s%s%s=: a value is wanted after '='",
                        plan->sinks[index].set->name, is_bare ? "" : ".", is_bare ? "" : part->key);
    }
    plan->sinks[index].is_wanted = true;
    if (is_bare && part->value == NULL) {
        return RESMON_OK;
    }
    rm_buffer_puts(text, text->length > 0 ? "," : "");
    rm_buffer_puts(text, part->key);
    if (part->value != NULL) {
        rm_buffer_puts(text, "=");
        rm_option_quote(text, part->value);
    }
    return text->status;
}

/* ---- the text ----------------------------------------------------------------------------- */

static resmon_status read_part(struct rm_plan *plan, const struct rm_plan_terms *terms,
                               const struct rm_option_part *part)
{
    struct rm_option_part own;
    for (size_t i = 0; i < sets_of(terms); i++) {
        const struct rm_option *option = rm_option_find(set_at(i), part->key);
        const struct rm_option_target target = target_of(plan, i);
        if (option != NULL) {
            return rm_option_set(set_at(i), option, part, &target);
        }
    }
    if (is_of(&rm_carbon_options, part, &own)) {
        return read_carbon(plan, &own);
    }
    for (size_t i = 0; i < plan->sink_count; i++) {
        if (is_of(plan->sinks[i].set, part, &own)) {
            return read_sink(plan, i, &own, strchr(part->key, '.') == NULL);
        }
    }
    return refuse(terms, part);
}

/* A bad part of an environment is left out, and noted. */
static resmon_status note_refusal(struct rm_plan *plan, const struct rm_plan_terms *terms,
                                  resmon_status status)
{
    bool is_wrong = status == RESMON_EINVAL || status == RESMON_ERANGE;
    if (!terms->is_environment || !is_wrong) {
        return status;
    }
    rm_buffer_puts(&plan->refused, resmon_last_error());
    rm_buffer_puts(&plan->refused, "\n");
    return plan->refused.status;
}

static resmon_status read_parts(struct rm_plan *plan, const struct rm_plan_terms *terms,
                                const char *text)
{
    struct rm_option_text options = {.rest = text, .room = plan->room};
    struct rm_option_part part;
    resmon_status status = RESMON_OK;
    do {
        while (status == RESMON_OK && rm_option_next(&options, &part)) {
            status = note_refusal(plan, terms, read_part(plan, terms, &part));
            options.had_secret = options.had_secret || plan->has_secret;
        }
        status = status == RESMON_OK ? note_refusal(plan, terms, options.status) : status;
    } while (status == RESMON_OK && rm_option_resume(&options));
    return status;
}

static void settle(struct rm_plan *plan)
{
    bool has_output = plan->options.record != NULL || plan->environment.lines != NULL;
    for (size_t i = 0; i < plan->sink_count; i++) {
        has_output = has_output || plan->sinks[i].is_wanted;
    }
    const uint64_t summary = RM_ENVIRONMENT_SUMMARY | RM_ENVIRONMENT_FULL;
    plan->wants_summary = (plan->environment.flags & summary) != 0 || !has_output;
}

resmon_status rm_plan_parse(const char *text, const struct rm_plan_terms *terms,
                            struct rm_plan *ret_plan)
{
    *ret_plan = (struct rm_plan){.options = {.struct_size = sizeof ret_plan->options}};
    for (size_t i = 0; i < terms->sink_count; i++) {
        ret_plan->sinks[i].set = terms->sinks[i];
        rm_buffer_init(&ret_plan->sinks[i].text, LARGEST_TEXT);
    }
    ret_plan->sink_count = terms->sink_count;
    rm_buffer_init(&ret_plan->refused, LARGEST_TEXT);
    ret_plan->room = rm_alloc(1, strlen(text) + 1);
    if (ret_plan->room == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the options of a monitor");
    }
    resmon_status status = read_parts(ret_plan, terms, text);
    if (status == RESMON_OK) {
        settle(ret_plan);
    }
    return status;
}

void rm_plan_free(struct rm_plan *plan)
{
    for (size_t i = 0; i < plan->sink_count; i++) {
        rm_buffer_free(&plan->sinks[i].text);
    }
    rm_buffer_free(&plan->refused);
    rm_free(plan->room);
    plan->room = NULL;
    plan->sink_count = 0;
}
