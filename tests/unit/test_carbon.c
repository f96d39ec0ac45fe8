/* SPDX-License-Identifier: MIT */
/*
 * carbon: intensities, powers and conversion against vectors that codecarbon 3.3.0 computed.
 */
#include "vectors.h"

#include "carbon/intensity.h"
#include "carbon/power.h"

#define assert_close(a, b) assert_near(a, b, 1e-6 * fabs(b))

TEST(intensities)
{
    struct vectors vectors;
    size_t count = 0;
    for (vectors_open(&vectors, "co2_vectors.csv"); vectors_next(&vectors); count++) {
        const struct rm_place place = {
            .country = vectors_text(&vectors, "country_iso3"),
            .region = vectors_text(&vectors, "region"),
            .cloud_provider = vectors_text(&vectors, "cloud_provider"),
            .cloud_region = vectors_text(&vectors, "cloud_region"),
            .given = vectors_number(&vectors, "forced_g_per_kwh"),
            .is_codecarbon = true,
        };
        struct rm_intensity found = rm_intensity_find(&place);
        double joules = vectors_number(&vectors, "energy_kwh") * 3.6e6;
        double pue = vectors_number(&vectors, "pue");
        resmon_carbon_cost cost = rm_carbon_cost(joules, pue, 0.0, found.g_per_kwh);
        assert_close(found.g_per_kwh, vectors_number(&vectors, "intensity_g_per_kwh"));
        assert_close(cost.gco2eq / 1000.0, vectors_number(&vectors, "emissions_kg"));
    }
    assert_int_equal(count, 53);
}

TEST(places)
{
    static const struct {
        struct rm_place place;
        int32_t basis;
        int year;
        const char *name, *iso3;
    } cases[] = {
        {{.country = "fr"}, RESMON_CARBON_BASIS_COUNTRY, 2024, "France", "FRA"},
        {{.country = "France"}, RESMON_CARBON_BASIS_COUNTRY, 2024, "France", "FRA"},
        {{.country = "UK"}, RESMON_CARBON_BASIS_COUNTRY, 2024, "United Kingdom", "GBR"},
        {{.country = "na"}, RESMON_CARBON_BASIS_COUNTRY, 2022, "Namibia", "NAM"},
        {{.country = "USA", .region = "CA"}, RESMON_CARBON_BASIS_REGION, 2016, "california", "USA"},
        {{.region = "quebec"}, RESMON_CARBON_BASIS_REGION, 2023, "quebec", "CAN"},
        {{.region = "NT"}, RESMON_CARBON_BASIS_WORLD, 2024, "world average", ""}, /* two have one */
        {{.country = "AU", .region = "nt"},
         RESMON_CARBON_BASIS_REGION,
         0,
         "northern territory",
         "AUS"},
        {{.country = "FRA", .region = "texas"}, RESMON_CARBON_BASIS_COUNTRY, 2024, "France", "FRA"},
        {{.cloud_provider = "AWS", .cloud_region = "us-east-1"},
         RESMON_CARBON_BASIS_CLOUD,
         0,
         "us-east-1",
         "USA"},
        {{.cloud_provider = "gcp", .cloud_region = "me-central1"},
         RESMON_CARBON_BASIS_CLOUD,
         2024,
         "me-central1",
         "QAT"},
        {{.cloud_provider = "gcp", .cloud_region = "nowhere1", .country = "NO"},
         RESMON_CARBON_BASIS_COUNTRY,
         2024,
         "Norway",
         "NOR"},
        {{.country = "WORLD"}, RESMON_CARBON_BASIS_WORLD, 2024, "world average", ""},
        {{.country = "Atlantis"}, RESMON_CARBON_BASIS_WORLD, 2024, "world average", ""},
        {{0}, RESMON_CARBON_BASIS_WORLD, 2024, "world average", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rm_place place = cases[i].place;
        place.given = (double)NAN;
        struct rm_intensity found = rm_intensity_find(&place);
        assert_string_equal(found.place, cases[i].name);
        assert_string_equal(found.iso3, cases[i].iso3);
        assert_int_equal(found.basis, cases[i].basis);
        assert_int_equal(found.year, cases[i].year);
        assert_true(found.g_per_kwh >= 0.0 && strlen(found.source) > 10);
    }
    const struct rm_place given = {.country = "FR", .given = 0.0};
    struct rm_intensity found = rm_intensity_find(&given);
    assert_int_equal(found.basis, RESMON_CARBON_BASIS_GIVEN);
    assert_near(found.g_per_kwh, 0.0, 0.0);
    assert_string_equal(found.country, "France");
}

TEST(processors)
{
    struct vectors vectors;
    char name[RM_CPU_NAME_BYTES];
    size_t count = 0;
    for (vectors_open(&vectors, "cpu_match_vectors.csv"); vectors_next(&vectors); count++) {
        const char *model = vectors_text(&vectors, "cpuinfo_model_name");
        double watts = rm_cpu_tdp(model, name);
        double expected = vectors_number(&vectors, "tdp_watts");
        if (isnan(expected)) {
            if (!isnan(watts)) {
                fail_msg("%s is taken for %s", model, name);
            }
            continue;
        }
        assert_string_equal(name, vectors_text(&vectors, "codecarbon_matched_row"));
        assert_near(watts, expected, 0.0);
    }
    assert_int_equal(count, 31);
    assert_true(isnan(rm_cpu_tdp("", name)) && isnan(rm_cpu_tdp("@ ( CPU", name)));
    assert_true(isnan(rm_cpu_tdp("AMD EPYC", name))); /* a part of many */
    assert_true(isnan(rm_cpu_tdp("Intel(R) Xeon(R) Processor", name)));
    static char longest[5000];
    memset(longest, 'a', sizeof longest - 1);
    assert_true(isnan(rm_cpu_tdp(longest, name)));
}

/* codecarbon takes 4 W for each thread of a processor that it does not know, times the sockets,
 * whose threads are counted already: that one is the caller's, and not repeated. */
TEST(powers_by_load)
{
    struct vectors vectors;
    size_t count = 0;
    for (vectors_open(&vectors, "cpu_load_vectors.csv"); vectors_next(&vectors);) {
        const char *mode = vectors_text(&vectors, "mode");
        double tdp = vectors_number(&vectors, "tdp_w");
        double watts = vectors_number(&vectors, "power_w");
        if (strcmp(mode, "machine") == 0) {
            double load = vectors_number(&vectors, "load_percent");
            const struct rm_cpu_power power = rm_cpu_power_of_tdp(tdp);
            if (load == 0.0 || load == 100.0) {
                assert_close(load == 0.0 ? power.idle : power.full, watts);
            } else { /* codecarbon's curve lies below the line */
                assert_true(watts < power.idle + (power.full - power.idle) * load / 100.0);
            }
            count++;
        }
    }
    assert_int_equal(count, 18);
}

TEST(memory)
{
    struct vectors vectors;
    size_t count = 0;
    for (vectors_open(&vectors, "ram_vectors.csv"); vectors_next(&vectors); count++) {
        bool is_arm = strcmp(vectors_text(&vectors, "arch"), "arm") == 0;
        double gib = vectors_number(&vectors, "memory_gib");
        unsigned modules = rm_ram_modules(gib);
        assert_int_equal(modules, (unsigned)vectors_number(&vectors, "dimm_count"));
        assert_close(rm_ram_watts(modules, is_arm), vectors_number(&vectors, "power_w_v3"));
    }
    assert_int_equal(count, 50);
    static const double sizes[][2] = {{0.97, 1},    {1.9, 1.9},   {7.7, 8},      {15.6, 16},
                                      {23.5, 24},   {31.2, 32},   {62.7, 64},    {251.5, 256},
                                      {376.5, 384}, {503.5, 512}, {1007.5, 1024}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_near(rm_ram_installed(sizes[i][0]), sizes[i][1], 0.11);
    }
}

TEST(virtual_processors)
{
    static const struct {
        struct rm_cpu_kind kind;
        const char *name;
    } cases[] = {
        {{"GenuineIntel", 6, 85, 4}, "Skylake"},
        {{"GenuineIntel", 6, 85, 7}, "Cascade Lake"},
        {{"GenuineIntel", 6, 143, 8}, "Sapphire Rapids"},
        {{"AuthenticAMD", 0x17, 49, 0}, "EPYC 2nd Gen"},
        {{"AuthenticAMD", 0x19, 1, 1}, "EPYC 3rd Gen"},
        {{"AuthenticAMD", 0x1a, 2, 1}, "EPYC 5th Gen"},
        {{"ARM", 0xd0c, 1, 1}, "Graviton2"},
        {{"GenuineIntel", 15, 1, 1}, NULL},
        {{"", 0, 0, 0}, NULL},
    };
    struct rm_cpu_power power;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *name = rm_cpu_microarchitecture(&cases[i].kind);
        if (cases[i].name == NULL) {
            assert_null(name);
            continue;
        }
        assert_string_equal(name, cases[i].name);
        assert_true(rm_vcpu_power_find(name, NULL, &power));
        assert_true(power.idle > 0.2 && power.idle < 0.6 * power.full && power.full < 10.0);
    }
    assert_true(rm_vcpu_power_find("Skylake", "gcp", &power));
    assert_near(power.idle, 0.6130, 0.0);
    assert_near(power.full, 3.8679, 0.0);
    assert_true(rm_vcpu_power_find("Skylake", NULL, &power));
    assert_near(power.full, 4.1934, 0.0);
    assert_false(rm_vcpu_power_find("8086", NULL, &power));
    /* All threads of a socket, which may draw so much, in a server: 9965, 9654, 8592+, 7763. */
    static const struct {
        const char *microarchitecture;
        double threads, tdp;
    } sockets[] = {{"EPYC 5th Gen", 384, 500},
                   {"EPYC 4th Gen", 192, 360},
                   {"Emerald Rapids", 128, 350},
                   {"EPYC 3rd Gen", 128, 280}};
    for (size_t i = 0; i < sizeof sockets / sizeof *sockets; i++) {
        assert_true(rm_vcpu_power_find(sockets[i].microarchitecture, "aws", &power));
        double watts = power.full * sockets[i].threads;
        assert_true(watts > 0.5 * sockets[i].tdp && watts < 2.5 * sockets[i].tdp);
    }
}

/* Kepler's three dashboards, for 1 kWh: pounds of CO2. */
TEST(costs)
{
    resmon_carbon_cost cost = rm_carbon_cost(3.6e6, 1.0, 0.2, 500.0);
    assert_close(cost.coal_kg / 0.45359237, 2.23);
    assert_close(cost.natural_gas_kg / 0.45359237, 0.91);
    assert_close(cost.petroleum_kg / 0.45359237, 2.13);
    assert_close(cost.water_l, 0.2);
    cost = rm_carbon_cost(7.2e6, 1.5, 0.2, 500.0);
    assert_close(cost.it_kwh, 2.0);
    assert_close(cost.facility_kwh, 3.0);
    assert_close(cost.gco2eq, 1500.0);
    assert_close(cost.water_l, 0.4); /* of the machines, not of the site */
}
