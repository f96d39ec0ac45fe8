/* SPDX-License-Identifier: MIT */
/*
 * collect/order: collectors are read after those whose findings they use, however the build lists
 * them.
 */
#include "test.h"

#include "base/compiler.h"
#include "collect/collect.h"

/* At file scope, where the names in RM_AFTER() live as long as the collector. */
static const struct rm_collector machine = {.name = "machine", .domain = RESMON_DOMAIN_CPU};
static const struct rm_collector second = {.name = "second", .domain = RESMON_DOMAIN_PROCESS};
static const struct rm_collector first = {.name = "first", .domain = RESMON_DOMAIN_PROCESS};
static const struct rm_collector share = {
    .name = "share", .domain = RESMON_DOMAIN_PROCESS, .after = RM_AFTER("whole", "used")};
static const struct rm_collector used = {
    .name = "used", .domain = RESMON_DOMAIN_PROCESS, .after = RM_AFTER("list")};
static const struct rm_collector list_ = {.name = "list", .domain = RESMON_DOMAIN_PROCESS};
static const struct rm_collector whole = {.name = "whole", .domain = RESMON_DOMAIN_ENERGY};
static const struct rm_collector other = {.name = "other", .domain = RESMON_DOMAIN_CPU};
static const struct rm_collector one = {.name = "one", .after = RM_AFTER("onee")};
static const struct rm_collector self = {.name = "self", .after = RM_AFTER("self")};
static const struct rm_collector free_ = {.name = "free"};
static const struct rm_collector a = {.name = "a", .after = RM_AFTER("c")};
static const struct rm_collector b = {.name = "b", .after = RM_AFTER("a", "free")};
static const struct rm_collector c = {.name = "c", .after = RM_AFTER("b")};

static size_t place_of(const struct rm_collector *const *order, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(order[i]->name, name) == 0) {
            return i;
        }
    }
    fail_msg("there is no %s", name);
    return 0;
}

static void assert_order(const struct rm_collector *const *order, const char *const *names,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(order[i]->name, names[i]);
    }
}

TEST(domains_then_the_list)
{
    const struct rm_collector *const list[] = {&machine, &second, &first};
    static const char *const wanted[] = {"second", "first", "machine"};
    const struct rm_collector *order[3];
    assert_int_equal(rm_collect_order(list, 3, order), RESMON_OK);
    assert_order(order, wanted, 3);
    assert_int_equal(rm_collect_order(list, 0, order), RESMON_OK);
}

TEST(each_after_those_that_it_names)
{
    const struct rm_collector *const list[] = {&share, &used, &list_, &whole, &other};
    static const char *const wanted[] = {"list", "used", "other", "whole", "share"};
    const struct rm_collector *order[5];
    assert_int_equal(rm_collect_order(list, 5, order), RESMON_OK);
    assert_order(order, wanted, 5);
}

TEST(unknown_names)
{
    const struct rm_collector *const list[] = {&one};
    const struct rm_collector *order[1];
    assert_int_equal(rm_collect_order(list, 1, order), RESMON_EINVAL);
    assert_non_null(strstr(resmon_last_error(), "collector one must come after onee"));
}

TEST(circles)
{
    const struct rm_collector *const alone[] = {&self};
    const struct rm_collector *const round[] = {&free_, &a, &b, &c};
    const struct rm_collector *order[4];
    assert_int_equal(rm_collect_order(alone, 1, order), RESMON_EINVAL);
    assert_non_null(strstr(resmon_last_error(), "collector self depends on itself"));
    assert_int_equal(rm_collect_order(round, 4, order), RESMON_EINVAL);
    assert_non_null(strstr(resmon_last_error(), "collector a depends on itself"));
}

/* The library's collectors, listed the other way round: only what they say of each other holds. */
TEST(own_collectors_do_not_need_the_list)
{
    const struct rm_collector *list[RM_MOST_COLLECTORS] = {NULL};
    const struct rm_collector *order[RM_MOST_COLLECTORS];
    size_t count = rm_collector_count;
    for (size_t i = 0; i < count; i++) {
        list[i] = rm_collectors[count - 1 - i];
    }
    assert_int_equal(rm_collect_order(list, count, order), RESMON_OK);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; order[i]->after != NULL && order[i]->after[k] != NULL; k++) {
            assert_true(place_of(order, count, order[i]->after[k]) < i);
        }
    }
    /* Of the counters, what has a set of hardware events comes before its share of the time. */
    size_t running = place_of(order, count, "perf_running");
    for (size_t i = running + 1; i < count; i++) {
        assert_string_equal(order[i]->name, "perf_software");
    }
    assert_true(place_of(order, count, "node_cpu") < place_of(order, count, "energy_cpu"));
    assert_true(place_of(order, count, "tree") < place_of(order, count, "energy_tree"));
}
