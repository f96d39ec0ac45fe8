/* SPDX-License-Identifier: MIT */
/* <resmon/stack.h>. */
#include <resmon/stack.h>

#include <math.h>

#include "base/status.h"
#include "base/struct_size.h"
#include "run/run.h"
#include "stack/named_sources.h"

_Static_assert(RESMON_STACK_LOSS_RING_FULL == (int)RM_LOSS_RING &&
                   RESMON_STACK_LOSS_NO_ROOM == (int)RM_LOSS_ROOM &&
                   RESMON_STACK_LOSS_TOO_DEEP == (int)RM_LOSS_DEPTH &&
                   RESMON_STACK_LOSS_NOT_UNWOUND == (int)RM_LOSS_UNWIND &&
                   RESMON_STACK_LOSS_BLOCKED == (int)RM_LOSS_BLOCKED &&
                   RESMON_STACK_LOSS_THREADS == (int)RM_LOSS_THREADS &&
                   RESMON_STACK_LOSS_MODULES == (int)RM_LOSS_MODULES,
               "losses have public numbers");

static resmon_status null_run(void)
{
    return rm_error(RESMON_EINVAL, "the run is NULL");
}

static resmon_status check(const resmon_run *run, const char *what, size_t index, size_t count)
{
    if (run == NULL) {
        return null_run();
    }
    return index < count
               ? RESMON_OK
               : rm_error(RESMON_ENOENT, "there is no %s %zu: there are %zu", what, index, count);
}

resmon_status resmon_run_keep_frames(resmon_run *run, int32_t kind)
{
    if (run == NULL || (kind != RESMON_FRAMES_PYTHON && kind != RESMON_FRAMES_NATIVE)) {
        return run == NULL ? null_run()
                           : rm_error(RESMON_EINVAL, "resmon_run_keep_frames: kind %d", kind);
    }
    rm_profile_keep(&run->profile, kind == RESMON_FRAMES_PYTHON);
    return RESMON_OK;
}

/* ---- sources ---------------------------------------------------------------------------- */

resmon_status resmon_name_source(const char *file, const char *name, const char *text)
{
    RM_KEEP_ERRNO;
    bool is_good = file != NULL && name != NULL && file[0] != '\0' && name[0] != '\0';
    for (const char *at = is_good ? name : ""; *at != '\0'; at++) {
        is_good = is_good && (unsigned char)*at >= ' ';
    }
    return is_good ? rm_named_source_add(file, name, text)
                   : rm_error(RESMON_EINVAL, "resmon_name_source: file or name is NULL, empty or "
                                             "has a control character");
}

/* ---- stacks ----------------------------------------------------------------------------- */

static resmon_status give_frame(const resmon_run *run, size_t first, uint32_t depth, size_t frame,
                                resmon_run_frame *ret_frame)
{
    const struct rm_run_profile *profile = &run->profile;
    resmon_status status = check(run, "frame", frame, depth);
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_run_place *place = &profile->places[profile->frames[first + frame]];
    const resmon_run_frame result = {
        .function = place->function,
        .file = place->file,
        .module = place->module >= 0 ? profile->modules[place->module].path : "",
        .line = place->line,
        .address = place->address,
        .is_inlined = place->is_inlined,
        .module_offset =
            place->module >= 0 ? place->address - profile->modules[place->module].bias : 0,
    };
    return rm_struct_give(&result, RM_STRUCT_SIZE(resmon_run_frame), ret_frame);
}

size_t resmon_run_stack_count(const resmon_run *run)
{
    return run != NULL ? run->profile.stack_count : 0;
}

resmon_status resmon_run_get_stack(const resmon_run *run, size_t index, resmon_run_stack *ret_stack)
{
    resmon_status status = check(run, "stack", index, resmon_run_stack_count(run));
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_run_stack *stack = &run->profile.stacks[index];
    resmon_run_stack result = {
        .scope = stack->scope, .frames = stack->depth, .is_cut = stack->is_cut};
    for (int kind = 0; kind < RM_STACK_KINDS; kind++) {
        result.samples[kind] = stack->samples[kind];
        result.weight[kind] = stack->weight[kind];
        result.error[kind] = stack->error[kind];
    }
    return rm_struct_give(&result, RM_STRUCT_SIZE(resmon_run_stack), ret_stack);
}

resmon_status resmon_run_get_frame(const resmon_run *run, size_t stack, size_t frame,
                                   resmon_run_frame *ret_frame)
{
    resmon_status status = check(run, "stack", stack, resmon_run_stack_count(run));
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_run_stack *one = &run->profile.stacks[stack];
    return give_frame(run, one->first, one->depth, frame, ret_frame);
}

resmon_status resmon_run_get_stack_info(const resmon_run *run, int32_t kind,
                                        resmon_run_stack_info *ret_info)
{
    if (run == NULL) {
        return null_run();
    }
    if (kind < 0 || kind >= RM_STACK_KINDS) {
        return rm_error(RESMON_EINVAL, "there is no kind %d of stacks", kind);
    }
    const struct rm_run_profile *profile = &run->profile;
    const struct rm_run_stack_kind *known = &profile->kinds[kind];
    resmon_run_stack_info result = {
        .status = known->status,
        .reason = known->reason,
        .period = known->period,
        .total = known->total,
        .first_bytes = known->first_bytes,
        .last_bytes = known->last_bytes,
        .lost = profile->lost[RM_LOSS_RING] + profile->lost[RM_LOSS_ROOM],
    };
    double square = 0.0;
    for (size_t i = 0; i < profile->stack_count; i++) {
        result.samples += profile->stacks[i].samples[kind];
        result.weight += profile->stacks[i].weight[kind];
        square += profile->stacks[i].error[kind] * profile->stacks[i].error[kind];
    }
    result.error = sqrt(square);
    struct rm_stack_interval interval =
        rm_stack_interval_of(result.weight, result.error, rm_profile_most(profile, kind));
    result.low_weight = interval.low;
    result.high_weight = interval.high;
    return rm_struct_give(&result, RM_STRUCT_SIZE(resmon_run_stack_info), ret_info);
}

resmon_status resmon_stack_interval(double weight, double error, double most, double *ret_low,
                                    double *ret_high)
{
    RM_KEEP_ERRNO;
    if (ret_low == NULL || ret_high == NULL) {
        return rm_error(RESMON_EINVAL, "%s: an argument is NULL", __func__);
    }
    struct rm_stack_interval interval = rm_stack_interval_of(weight, error, most);
    *ret_low = interval.low;
    *ret_high = interval.high;
    return RESMON_OK;
}

resmon_status resmon_run_stack_loss(const resmon_run *run, int32_t loss, uint64_t *ret_count)
{
    if (run == NULL || ret_count == NULL) {
        return rm_error(RESMON_EINVAL, "%s: an argument is NULL", __func__);
    }
    if (loss < 0 || loss >= (int32_t)RM_LOSS_COUNT) {
        return rm_error(RESMON_EINVAL, "there is no loss %d of stacks", loss);
    }
    *ret_count = run->profile.lost[loss];
    return RESMON_OK;
}

/* ---- the peak --------------------------------------------------------------------------- */

size_t resmon_run_peak_stack_count(const resmon_run *run)
{
    return run != NULL ? run->profile.peak.stack_count : 0;
}

resmon_status resmon_run_get_peak_stack(const resmon_run *run, size_t index,
                                        resmon_run_peak_stack *ret_stack)
{
    resmon_status status =
        check(run, "thread at the peak", index, resmon_run_peak_stack_count(run));
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_run_peak *peak = &run->profile.peak;
    const struct rm_run_peak_stack *stack = &peak->stacks[index];
    const resmon_run_peak_stack result = {
        .t_ns = peak->t_ns,
        .rss_bytes = peak->rss_bytes,
        .headroom_bytes = peak->headroom_bytes,
        .highest_rss_bytes = peak->highest_rss_bytes,
        .highest_t_ns = peak->highest_t_ns,
        .life_rss_bytes = rm_run_life_rss(run),
        .thread_id = stack->thread,
        .thread_name = stack->thread_name,
        .scope = stack->scope,
        .frames = stack->depth,
        .is_cut = stack->is_cut,
    };
    return rm_struct_give(&result, RM_STRUCT_SIZE(resmon_run_peak_stack), ret_stack);
}

resmon_status resmon_run_get_peak_frame(const resmon_run *run, size_t stack, size_t frame,
                                        resmon_run_frame *ret_frame)
{
    resmon_status status =
        check(run, "thread at the peak", stack, resmon_run_peak_stack_count(run));
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_run_peak_stack *one = &run->profile.peak.stacks[stack];
    return give_frame(run, one->first, one->depth, frame, ret_frame);
}
