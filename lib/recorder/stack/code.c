/* SPDX-License-Identifier: MIT */
#include "stack/code.h"

#include <stddef.h>

#include "base/alloc.h"

static struct rm_code *now; /* atomic */
static struct rm_code *retired;
static uint64_t latest_number;

static void free_one(struct rm_code *code)
{
    if (code != NULL) {
        rm_free(code->modules);
        rm_free(code->recipes);
        rm_free(code);
    }
}

static resmon_status list(struct rm_code **ret_code)
{
    struct rm_code *code = rm_alloc(1, sizeof *code);
    resmon_status status = code != NULL ? rm_modules_list(&code->modules) : RESMON_ENOMEM;
    if (status != RESMON_OK) {
        rm_free(code);
        return status;
    }
    code->number = ++latest_number;
    code->recipes = rm_recipes_new();
    *ret_code = code;
    return RESMON_OK;
}

const struct rm_code *rm_code_now(void)
{
    return __atomic_load_n(&now, __ATOMIC_SEQ_CST);
}

bool rm_code_refresh(bool is_quiet)
{
    struct rm_code *fresh = NULL;
    if (retired != NULL && is_quiet) {
        free_one(retired);
        retired = NULL;
    }
    if (retired != NULL || !rm_modules_are_old(now != NULL ? now->modules : NULL) ||
        list(&fresh) != RESMON_OK) {
        return false;
    }
    retired = now;
    __atomic_store_n(&now, fresh, __ATOMIC_SEQ_CST);
    return true;
}

void rm_code_free(void)
{
    free_one(now);
    free_one(retired);
    rm_code_forget();
}

void rm_code_forget(void)
{
    __atomic_store_n(&now, NULL, __ATOMIC_SEQ_CST);
    retired = NULL;
}
