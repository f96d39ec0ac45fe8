/* SPDX-License-Identifier: MIT */
/*
 * counter/: microarchitectures, formulas, names of events, and the table of groups; its codes
 * against libpfm4, which has them from elsewhere.
 */
#define _GNU_SOURCE
#include "test.h"

#include "base/text.h"
#include "counter/group.h"
#include "os/pfm.h"

/* ---- arch ------------------------------------------------------------------------------------ */

TEST(processors_by_their_numbers)
{
    static const struct {
        const char *vendor;
        int family, model;
        uint32_t arch;
    } known[] = {
        {"GenuineIntel", 6, 0x3f, RM_ARCH_HSW},
        {"GenuineIntel", 6, 0x4f, RM_ARCH_BDW},
        {"GenuineIntel", 6, 0x9e, RM_ARCH_SKL},
        {"GenuineIntel", 6, 85, RM_ARCH_SKX},
        {"GenuineIntel", 6, 167, RM_ARCH_ICL},
        {"GenuineIntel", 6, 0x8c, RM_ARCH_ICL},
        {"GenuineIntel", 6, 0x6a, RM_ARCH_ICX},
        {"GenuineIntel", 6, 0x8f, RM_ARCH_SPR},
        {"GenuineIntel", 6, 0xcf, RM_ARCH_EMR},
        {"GenuineIntel", 6, 0x97, RM_ARCH_ADL},
        {"GenuineIntel", 6, 0x2a, RM_ARCH_SNB},
        {"GenuineIntel", 6, 0x3e, RM_ARCH_IVB},
        {"GenuineIntel", 6, 0x2c, RM_ARCH_WSM},
        {"GenuineIntel", 6, 0x1a, RM_ARCH_INTEL},
        {"GenuineIntel", 15, 0x3f, RM_ARCH_INTEL},
        {"AuthenticAMD", 0x17, 1, RM_ARCH_ZEN},
        {"AuthenticAMD", 0x17, 0x31, RM_ARCH_ZEN2},
        {"AuthenticAMD", 25, 1, RM_ARCH_ZEN3},
        {"AuthenticAMD", 25, 0x21, RM_ARCH_ZEN3},
        {"AuthenticAMD", 25, 17, RM_ARCH_ZEN4},
        {"AuthenticAMD", 25, 0x61, RM_ARCH_ZEN4},
        {"AuthenticAMD", 26, 2, RM_ARCH_ZEN5},
        {"AuthenticAMD", 21, 2, RM_ARCH_AMD},
        {"ARM", 0xd0c, 0, RM_ARCH_ARM},
        {"", 0, 0, RM_ARCH_OTHER},
        {"HygonGenuine", 24, 1, RM_ARCH_OTHER},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t arch = rm_arch_of(known[i].vendor, known[i].family, known[i].model);
        if (arch != known[i].arch) {
            fail_msg("%s %d %d is %s", known[i].vendor, known[i].family, known[i].model,
                     rm_arch_name(arch));
        }
    }
    assert_string_equal(rm_arch_name(RM_ARCH_ZEN4), "Zen 4");
    assert_string_equal(rm_arch_pmu(RM_ARCH_HSW, 0), "hsw_ep");
    assert_null(rm_arch_pmu(RM_ARCH_SKL, 1));
    assert_null(rm_arch_pmu(RM_ARCH_ARM, 0));
}

/* ---- formulas -------------------------------------------------------------------------------- */

static bool value_of(void *context, struct rm_text name, double *ret_value)
{
    (void)context;
    if (rm_text_equals(&name, "a") || rm_text_equals(&name, "A_1")) {
        *ret_value = 6.0;
        return true;
    }
    *ret_value = rm_text_equals(&name, "zero") ? 0.0 : (double)NAN;
    return rm_text_equals(&name, "zero") || rm_text_equals(&name, "missing");
}

static double evaluated(const char *text)
{
    double value = 0.0;
    assert_ok(rm_formula_evaluate(text, value_of, NULL, &value));
    return value;
}

TEST(formulas_are_reckoned)
{
    assert_near(evaluated("1 + 2 * 3"), 7.0, 0.0);
    assert_near(evaluated("(1 + 2) * 3"), 9.0, 0.0);
    assert_near(evaluated("64*(a + A_1)"), 768.0, 0.0);
    assert_near(evaluated("10 - 2 - 3"), 5.0, 0.0);
    assert_near(evaluated("100 / 5 / 4"), 5.0, 0.0);
    assert_near(evaluated("-a + 0.5"), -5.5, 0.0);
    assert_near(evaluated("  a  "), 6.0, 0.0);
    assert_near(evaluated("2 * -3"), -6.0, 0.0);
    assert_true(isnan(evaluated("a / zero")));
    assert_true(isnan(evaluated("zero / zero")));
    assert_true(isnan(evaluated("a + missing")));
}

TEST(what_is_no_formula_is_refused)
{
    static const char *const wrong[] = {"",        " ",   "1 +",    "(a",    "a)",   "a b",
                                        "unknown", "*a",  "a // a", "a + ,", "((a)", "()",
                                        "a-",      "a$b", "1e6 *",  "a(1)"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        double value = 42.0;
        resmon_status status = rm_formula_evaluate(wrong[i], value_of, NULL, &value);
        if (status != RESMON_EINVAL || !(value >= 42.0 && value <= 42.0)) {
            fail_msg("'%s' is taken for a formula", wrong[i]);
        }
    }
    char deep[256];
    memset(deep, '(', 100);
    (void)snprintf(deep + 100, sizeof deep - 100, "a");
    double value;
    assert_status(RESMON_EINVAL, rm_formula_evaluate(deep, value_of, NULL, &value));
    memset(deep, '-', 100);
    assert_status(RESMON_EINVAL, rm_formula_evaluate(deep, value_of, NULL, &value));
}

/* ---- events ---------------------------------------------------------------------------------- */

static struct rm_perf_event parsed(const char *text)
{
    struct rm_perf_event event;
    assert_ok(rm_perf_event_parse(rm_text_of(text, strlen(text)), &event));
    return event;
}

TEST(events_by_name_and_code)
{
    struct rm_perf_event event = parsed("cycles");
    assert_int_equal(event.type, RM_EVENT_HARDWARE);
    assert_int_equal(event.config, 0);
    event = parsed("page_faults");
    assert_string_equal(event.name, "page-faults");
    assert_int_equal(event.type, RM_EVENT_SOFTWARE);
    assert_int_equal(event.config, 2);
    assert_false(event.is_of_kernel);
    assert_true(parsed("context-switches").is_of_kernel);
    event = parsed("r0451");
    assert_int_equal(event.type, RM_EVENT_RAW);
    assert_int_equal(event.config, 0x0451);
    assert_false(event.is_named);
    assert_int_equal(parsed("cpu/event=0x51,umask=0x4/").config, 0x0451);
    assert_int_equal(parsed("cpu/event=0x51:umask=4:cmask=1:inv:edge/").config, 0x1840451);
    assert_true(parsed("cpu/event=0x1c7,umask=0x2/").config == 0x1000002c7);
    event = parsed("skx::FP_ARITH:SCALAR_SINGLE:c=1");
    assert_true(event.is_named);
    assert_string_equal(event.name, "skx::FP_ARITH:SCALAR_SINGLE:c=1");
    assert_true(parsed("retired_instructions").is_named); /* no code, though it begins with an r */
}

TEST(what_cannot_be_an_event_is_refused)
{
    static const char *const wrong[] = {"",
                                        "a b",
                                        "-x",
                                        "cpu/event=0x1000/",
                                        "cpu/event=zz/",
                                        "cpu/evnt=1/",
                                        "cpu/umask=256/",
                                        "cpu/",
                                        "a+b",
                                        "a\nb",
                                        "%s%n"};
    struct rm_perf_event event = {.type = 77};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_status(RESMON_EINVAL,
                      rm_perf_event_parse(rm_text_of(wrong[i], strlen(wrong[i])), &event));
        assert_int_equal(event.type, 77);
    }
    char longest[200];
    memset(longest, 'A', sizeof longest);
    assert_status(RESMON_EINVAL, rm_perf_event_parse(rm_text_of(longest, sizeof longest), &event));
}

TEST(what_is_asked_for)
{
    struct rm_counters_wanted wanted;
    assert_ok(rm_counters_parse("default+l2+INST_RETIRED:ANY_P+page-faults", 16, &wanted));
    assert_int_equal(wanted.groups, RM_COUNTERS_DEFAULT | RM_COUNTERS_L2 | RM_COUNTERS_EVENTS);
    assert_int_equal(wanted.event_count, 2);
    assert_string_equal(wanted.events[0].name, "INST_RETIRED:ANY_P");
    assert_status(RESMON_EINVAL, rm_counters_parse("default+", 16, &wanted));
    assert_status(RESMON_EINVAL, rm_counters_parse("", 16, &wanted));
    assert_string_equal(rm_counters_nearest("defalt"), "default");
    assert_string_equal(rm_counters_nearest("cycels"), "cycles");
    assert_null(rm_counters_nearest("INST_RETIRED"));
    assert_status(RESMON_EINVAL, rm_counters_parse("cycles+instructions+cycles", 16, &wanted));
    assert_non_null(strstr(resmon_last_error(), "cycles is given twice"));
    assert_status(RESMON_EINVAL, rm_counters_parse("cycles+instructions+branches", 2, &wanted));
    assert_non_null(
        strstr(resmon_last_error(), "branches is one event too many: at most 2 are allowed"));
    uint32_t bit;
    for (size_t i = 0; rm_counters_group(i, &bit) != NULL; i++) {
        assert_ok(rm_counters_parse(rm_counters_group(i, &bit), 16, &wanted));
        assert_int_equal(wanted.groups, bit);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Every row of every microarchitecture: a formula whose events it has, or a reason. */
TEST(every_formula_has_its_events)
{
    size_t formulas = 0;
    const struct rm_counter_row *row;
    for (size_t i = 0; (row = rm_counter_row_at(i)) != NULL; i++) {
        assert_true(rm_text_is_terminated(row->group, sizeof row->group));
        assert_true(rm_text_is_terminated(row->metric, sizeof row->metric));
        uint32_t bit;
        size_t g = 0;
        while (rm_counters_group(g, &bit) != NULL &&
               strcmp(rm_counters_group(g, &bit), row->group) != 0) {
            g++;
        }
        assert_non_null(rm_counters_group(g, &bit));
        for (uint32_t arch = 1; arch < RM_ARCH_ANY; arch <<= 1) {
            char names[RM_FORMULA_EVENTS][RM_EVENT_NAME_BYTES];
            struct rm_perf_event event;
            size_t count = 0;
            assert_non_null(rm_counter_row_of(row->metric, arch)); /* nobody is left without */
            if ((row->archs & arch) == 0 || row->formula == NULL) {
                assert_true(row->formula != NULL || row->note != NULL);
                continue;
            }
            assert_ok(rm_counter_names(row->formula, names, &count));
            assert_true(count > 0);
            for (size_t n = 0; n < count; n++) {
                if (!rm_counter_event(names[n], arch, &event)) {
                    fail_msg("%s of %s: no event %s", row->metric, rm_arch_name(arch), names[n]);
                }
            }
            formulas++;
        }
    }
    assert_true(formulas > 90);
}

/* Counters of each thread of a core, beside those of Intel's for instructions and cycles. */
TEST(every_formula_fits_into_the_counters)
{
    const struct rm_counter_row *row;
    for (size_t i = 0; (row = rm_counter_row_at(i)) != NULL; i++) {
        for (uint32_t arch = 1; arch < RM_ARCH_ANY; arch <<= 1) {
            struct rm_perf_event events[RM_FORMULA_EVENTS];
            const struct rm_counter_row *of_arch;
            size_t count = 0, general = 0;
            bool is_amd = (arch & (RM_ARCH_ZEN | RM_ARCH_ZEN2 | RM_ARCH_ZEN3 | RM_ARCH_ZEN4 |
                                   RM_ARCH_ZEN5 | RM_ARCH_AMD)) != 0;
            if (rm_counter_row_find(row->metric, arch, &of_arch, events, &count) != RESMON_OK) {
                continue;
            }
            for (size_t e = 0; e < count; e++) {
                general += events[e].type == RM_EVENT_RAW || is_amd ? 1 : 0;
            }
            if (general > (is_amd ? 5 : 4)) {
                fail_msg("%s of %s: %zu counters", row->metric, rm_arch_name(arch), general);
            }
        }
    }
}

/* An alias means one code in a microarchitecture. */
TEST(no_event_stands_twice)
{
    const struct rm_counter_code *a, *b;
    for (size_t i = 0; (a = rm_counter_code_at(i)) != NULL; i++) {
        assert_true(rm_text_is_terminated(a->alias, sizeof a->alias));
        for (size_t k = i + 1; (b = rm_counter_code_at(k)) != NULL; k++) {
            if (strcmp(a->alias, b->alias) == 0 && (a->archs & b->archs) != 0) {
                fail_msg("%s stands twice", a->alias);
            }
        }
    }
}

TEST(codes_are_those_of_libpfm4)
{
    struct rm_pfm_code code;
    if (rm_pfm_encode("perf::PERF_COUNT_SW_PAGE_FAULTS", &code) == RESMON_ENOTSUP) {
        print_message("skipped: %s\n", resmon_last_error());
        skip();
    }
    size_t checked = 0;
    size_t without = 0;
    const struct rm_counter_code *event;
    for (size_t i = 0; (event = rm_counter_code_at(i)) != NULL; i++) {
        for (uint32_t arch = 1; arch < RM_ARCH_ANY && event->name != NULL; arch <<= 1) {
            const char *pmu;
            for (size_t p = 0; (event->archs & arch) != 0 && (pmu = rm_arch_pmu(arch, p)) != NULL;
                 p++) {
                char name[300];
                (void)snprintf(name, sizeof name, "%s::%s", pmu, event->name);
                if (!rm_pfm_has_pmu(pmu)) {
                    without++;
                    continue;
                }
                resmon_status status = rm_pfm_encode(name, &code);
                bool is_of_one_socket = event->config1 != 0 && p > 0;
                if (is_of_one_socket && (status != RESMON_OK || code.config[1] != event->config1)) {
                    continue; /* a processor without remote memory */
                }
                assert_ok(status);
                if (code.config[0] != event->code || code.config[1] != event->config1 ||
                    code.type != RM_EVENT_RAW) {
                    fail_msg("%s is 0x%llx 0x%llx, not 0x%llx 0x%llx", name,
                             (unsigned long long)code.config[0], (unsigned long long)code.config[1],
                             (unsigned long long)event->code, (unsigned long long)event->config1);
                }
                checked++;
            }
        }
    }
    print_message("%zu codes agree; of %zu this libpfm4 has no tables\n", checked, without);
    assert_true(checked > 150);
}

TEST(names_near_an_unknown_one_are_told)
{
    struct rm_pfm_code code = {.type = 77};
    resmon_status status = rm_pfm_encode("PERF_COUNT_SW_PAGE_FALTS", &code);
    if (status == RESMON_ENOTSUP) {
        print_message("skipped: %s\n", resmon_last_error());
        skip();
    }
    assert_int_equal(status, RESMON_EINVAL);
    assert_int_equal(code.type, 77);
    assert_non_null(strstr(resmon_last_error(), "PERF_COUNT_SW_PAGE_FALTS"));
    assert_non_null(strstr(resmon_last_error(), "; it knows PERF_COUNT_"));
    assert_status(RESMON_EINVAL, rm_pfm_encode("xyzzy::NOTHING", &code));
    assert_status(RESMON_EINVAL, rm_pfm_encode("", &code));
    assert_ok(rm_pfm_encode("perf::PERF_COUNT_SW_PAGE_FAULTS", &code));
    assert_int_equal(code.type, RM_EVENT_SOFTWARE);
    assert_int_equal(code.config[0], 2);
    assert_false(code.skips_user || code.skips_kernel);
    struct rm_perf_event event = parsed("perf::PERF_COUNT_SW_CONTEXT_SWITCHES");
    assert_ok(rm_pfm_encode(event.name, &code));
    rm_perf_event_encode(&event, code.type, code.config);
    assert_true(event.is_of_kernel && rm_perf_event_is_software(&event));
}

FIXTURE(set_up)
{
    return setenv("LIBPFM_ENCODE_INACTIVE", "1", 1); /* tables of other machines */
}

TEST_FILE(.set_up = set_up);
