/* SPDX-License-Identifier: MIT */
/*
 * job/site, setup/place and <resmon/carbon.h>: options over environment over the site's file, and
 * what each says when it is wrong.
 */
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "job_environment.h"
#include "setup/options.h"

static void write_site(const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/etc/resmon/site.conf", test_directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static resmon_status find(const resmon_carbon_options *options, const char *const *variables,
                          struct rm_terms_of_place *ret_terms)
{
    struct made_environment made;
    (void)make_environment(&made, variables, NULL);
    made.view.root = test_directory;
    return rm_place_find(options, &made.view, ret_terms);
}

static const char *const nothing[] = {NULL};

static int warnings;

static void note(void *context, int32_t level, const char *text)
{
    (void)context;
    warnings += level == RESMON_LOG_WARNING && strstr(text, "world average") != NULL ? 1 : 0;
}

/* First: once in a process. */
TEST(an_unknown_place_is_said_once)
{
    resmon_carbon_cost cost = {.struct_size = sizeof cost};
    resmon_carbon_intensity intensity = {.struct_size = sizeof intensity};
    const resmon_carbon_options options = {
        .struct_size = sizeof options, .country = "Atlantis", .flags = RESMON_CARBON_NO_SITE};
    resmon_set_log(note, NULL, RESMON_LOG_WARNING);
    for (int i = 0; i < 3; i++) {
        assert_ok(resmon_carbon_find(&options, &intensity));
        assert_int_equal(intensity.basis, RESMON_CARBON_BASIS_WORLD);
        assert_near(intensity.g_per_kwh, 445.0, 0.0);
        assert_string_equal(intensity.country, "");
    }
    assert_int_equal(warnings, 1);
    assert_ok(resmon_carbon_convert(3.6e6, &options, &cost));
    assert_near(cost.gco2eq, 445.0, 1e-9);
    resmon_set_log(NULL, NULL, 0);
}

TEST(who_is_over_whom)
{
    struct rm_terms_of_place terms;
    write_site("# the machine room\n\n country = DE \r\npue=1.3\n\twue = 0.5\ncpu_watts = 300\n");
    assert_ok(find(NULL, nothing, &terms));
    assert_string_equal(terms.intensity.place, "Germany");
    assert_near(terms.pue, 1.3, 0.0);
    assert_near(terms.wue, 0.5, 0.0);
    assert_near(terms.cpu_watts, 300.0, 0.0);
    assert_true(isnan(terms.ram_watts));

    static const char *const codecarbon[] = {"CODECARBON_COUNTRY_ISO_CODE=FRA",
                                             "CODECARBON_PUE=1.5", "CODECARBON_FORCE_RAM_POWER=20",
                                             NULL};
    assert_ok(find(NULL, codecarbon, &terms));
    assert_string_equal(terms.intensity.place, "France");
    assert_near(terms.pue, 1.5, 0.0);
    assert_near(terms.ram_watts, 20.0, 0.0);

    static const char *const both[] = {"CODECARBON_COUNTRY_ISO_CODE=FRA", "RESMON_COUNTRY=se",
                                       "RESMON_REGION=SE4", NULL};
    assert_ok(find(NULL, both, &terms));
    assert_string_equal(terms.intensity.iso3, "SWE");
    assert_int_equal(terms.intensity.basis, RESMON_CARBON_BASIS_REGION);

    const resmon_carbon_options options = {
        .struct_size = sizeof options, .country = "no", .pue = 2.0};
    assert_ok(find(&options, both, &terms)); /* and no region of another country */
    assert_string_equal(terms.intensity.place, "Norway");
    assert_near(terms.pue, 2.0, 0.0);
    assert_near(terms.wue, 0.5, 0.0);

    resmon_carbon_options alone = {.struct_size = sizeof alone, .flags = RESMON_CARBON_NO_SITE};
    assert_ok(find(&alone, both, &terms));
    assert_int_equal(terms.intensity.basis, RESMON_CARBON_BASIS_WORLD);
    assert_near(terms.pue, 1.0, 0.0);
    alone.flags |= RESMON_CARBON_ZERO | RESMON_CARBON_CODECARBON;
    assert_ok(find(&alone, both, &terms));
    assert_int_equal(terms.intensity.basis, RESMON_CARBON_BASIS_GIVEN);
    assert_near(terms.intensity.g_per_kwh, 0.0, 0.0);
}

TEST(a_cloud_brings_its_pue)
{
    struct rm_terms_of_place terms;
    write_site("cloud_provider = aws\ncloud_region = us-east-1\n");
    assert_ok(find(NULL, nothing, &terms));
    assert_near(terms.pue, 1.15, 0.0);
    assert_near(terms.wue, 0.12, 0.0);
    write_site("cloud_provider = aws\ncloud_region = us-east-1\npue = 1.0\n");
    assert_ok(find(NULL, nothing, &terms));
    assert_near(terms.pue, 1.0, 0.0);
}

TEST(what_is_wrong_is_named)
{
    static const struct {
        const char *site;
        const char *variable;
        const char *says; /* in the error */
    } cases[] = {
        {"country = FR\npue = 0.9\n", NULL, "line 2: pue is '0.9'"},
        {"pue = -1\n", NULL, "line 1: pue"},
        {"pue = nan\n", NULL, "line 1: pue is 'nan'"},
        {"g_per_kwh = 1e400\n", NULL, "g_per_kwh"},
        {"\n\npue = 1.2 # of 2025\n", NULL, "line 3"},
        {"country France\n", NULL, "line 1: 'country France' is not of the form"},
        {"Country = FR\n", NULL, "no setting 'Country'"},
        {"region = 1234567890123456789012345678901234567890123456789012345678901234\n", NULL,
         "more than 63 bytes"},
        {"region = a\x01z\n", NULL, "control character"},
        {"country = FR\n", "RESMON_PUE=zero", "RESMON_PUE: pue is 'zero'"},
        {"country = FR\n", "CODECARBON_WUE=-3", "CODECARBON_WUE: wue is '-3'"},
        {"country = FR\n", "RESMON_SITE_CONF=/nowhere.conf", "nowhere.conf"},
    };
    struct rm_terms_of_place terms;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const variables[] = {cases[i].variable, NULL};
        write_site(cases[i].site);
        assert_true(find(NULL, variables, &terms) < RESMON_OK);
        if (strstr(resmon_last_error(), cases[i].says) == NULL) {
            fail_msg("'%s' lacks '%s'", resmon_last_error(), cases[i].says);
        }
        assert_true(terms.intensity.g_per_kwh > 0.0 && terms.pue >= 1.0); /* what there is */
    }
    write_site("");
    assert_ok(find(NULL, nothing, &terms)); /* an empty file says nothing */
    write_site("#\n");
    assert_ok(find(NULL, nothing, &terms));
}

TEST(options_are_checked)
{
    const double bad[] = {-1.0, 0.5, (double)NAN, (double)INFINITY, 1e9};
    resmon_carbon_cost cost = {.struct_size = sizeof cost};
    resmon_carbon_intensity intensity = {.struct_size = sizeof intensity};
    resmon_carbon_options options = {.struct_size = sizeof options, .flags = RESMON_CARBON_NO_SITE};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        options.pue = bad[i];
        assert_status(RESMON_EINVAL, resmon_carbon_find(&options, &intensity));
        options.pue = 0.0;
        options.g_per_kwh = bad[i] == 0.5 ? -0.5 : bad[i];
        assert_status(RESMON_EINVAL, resmon_carbon_find(&options, &intensity));
        options.g_per_kwh = 0.0;
        options.wue = bad[i] == 0.5 ? -0.5 : bad[i];
        assert_status(RESMON_EINVAL, resmon_carbon_find(&options, &intensity));
        options.wue = 0.0;
    }
    assert_status(RESMON_EINVAL, resmon_carbon_convert(-1.0, &options, &cost));
    assert_status(RESMON_EINVAL, resmon_carbon_convert((double)NAN, &options, &cost));
    assert_status(RESMON_EINVAL, resmon_carbon_convert((double)INFINITY, &options, &cost));
    assert_status(RESMON_EINVAL, resmon_carbon_convert(1.0, &options, NULL));
    options.flags = 8;
    assert_status(RESMON_EINVAL, resmon_carbon_find(&options, &intensity));
    options.struct_size = 3;
    assert_status(RESMON_EINVAL, resmon_carbon_find(&options, &intensity));
}

FIXTURE(set_up)
{
    return mkdir(path_of("etc"), 0700) == 0 ? mkdir(path_of("etc/resmon"), 0700) : -1;
}

TEST_FILE(.set_up = set_up);
