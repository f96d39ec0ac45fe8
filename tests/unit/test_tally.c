/* SPDX-License-Identifier: MIT */
/*
 * pace, tally: sums over all calls of a scope from a meter that was taken at some of them.
 * Simulated calls with a simulated clock, many times over, the same in every run.
 */
#include "test.h"

#include "random.h"
#include "store/pace.h"
#include "store/scope_records.h"
#include "store/student.h"

#define KIB     UINT64_C(1024)
#define COUNTED (4 * KIB) /* bytes of which each is counted: pages */

/* ---- simulated programs --------------------------------------------------------------------- */

enum order { EACH_TENTH, AT_RANDOM, IN_BURSTS };

/* Calls of which a tenth moves 128 KiB and the others 4 KiB; times in ns, which are the ticks. */
struct program {
    enum order order;
    uint64_t calls, repetitions;
    double small_ns, big_ns, meter_ns;
};

/* What is estimated of a program: I/O, which goes with the calls, and what a counter counts. */
enum figure { IO, COUNT, FIGURES };

struct outcome {
    double truth[FIGURES];
    struct rm_tallies tallies; /* settled, */
    struct rm_tally counted;   /* and so is this */
    struct rm_field count;
    struct rm_pace pace;
    uint64_t ticks;
};

static bool is_big(const struct program *program, uint64_t call, struct random *random)
{
    switch (program->order) {
    case EACH_TENTH:
        return call % 10 == 9;
    case AT_RANDOM:
        return random_below(random, 10) == 0;
    case IN_BURSTS:
    default:
        return call / 50 % 10 == 9;
    }
}

static double about(double ns, struct random *random)
{
    return ns * (0.8 + 0.4 * random_unit(random));
}

static struct rm_tallied counted_of(struct outcome *outcome)
{
    return (struct rm_tallied){&outcome->counted, &outcome->count, 1, RM_EXTENT_TICKS};
}

static void take(struct outcome *outcome, uint64_t calls, uint64_t ticks, uint64_t bytes)
{
    const uint64_t amounts[RM_IO_FIELDS] = {[RM_IO_READ_CHARS] = bytes, [RM_IO_READ_CALLS] = 1};
    /* Three quarters of each call are CPU time: it goes with the time of the call. */
    const uint64_t cpu_ns = ticks / 4 * 3;
    const struct rm_tally_call call = {
        .chance = outcome->pace.chance, .ticks = ticks / 4 * 4, .all = {calls, outcome->ticks}};
    rm_tally_add(rm_tallies_at(&outcome->tallies, RM_TALLY_IO), &call, amounts);
    rm_tally_add(rm_tallies_at(&outcome->tallies, RM_TALLY_CPU), &call, &cpu_ns);
    rm_tally_add(counted_of(outcome), &call, &(uint64_t){bytes / COUNTED});
}

static struct outcome run_program(const struct program *program, uint64_t seed, double share)
{
    const struct rm_pace_terms terms = {.free_ticks = 100000, .share = share};
    struct random random = {.state = 2 * seed + 1};
    struct outcome outcome = {0};
    rm_pace_seed(&outcome.pace, seed);
    for (uint64_t i = 0; i < program->calls; i++) {
        bool big = is_big(program, i, &random);
        uint64_t bytes = big ? 128 * KIB : 4 * KIB;
        uint64_t ticks =
            (uint64_t)about(big ? program->big_ns : program->small_ns, &random) / 4 * 4;
        bool is_due = rm_pace_is_due(&outcome.pace, &terms, i, outcome.ticks);
        outcome.ticks += ticks;
        outcome.truth[IO] += (double)bytes;
        outcome.truth[COUNT] += (double)(bytes / COUNTED);
        if (is_due) {
            take(&outcome, i + 1, ticks, bytes);
            rm_pace_spend(&outcome.pace, (uint64_t)about(program->meter_ns, &random));
        }
    }
    const struct rm_tally_all all = {program->calls, outcome.ticks};
    rm_tallies_settle(&outcome.tallies, all);
    rm_tally_settle(counted_of(&outcome), all);
    return outcome;
}

/* Reads of 20 and 60 us, metered at about 140 of 3000 calls; and from the page cache, 1 and 20 us,
 * metered at 31 of 3000, and at 500 of 100,000. */
static const struct program programs[] = {
    {EACH_TENTH, 3000, 2000, 20e3, 60e3, 6e3}, {AT_RANDOM, 3000, 2000, 20e3, 60e3, 6e3},
    {IN_BURSTS, 3000, 2000, 20e3, 60e3, 6e3},  {EACH_TENTH, 3000, 2000, 1e3, 20e3, 6e3},
    {AT_RANDOM, 3000, 2000, 1e3, 20e3, 6e3},   {IN_BURSTS, 3000, 2000, 1e3, 20e3, 6e3},
    {EACH_TENTH, 100000, 500, 1e3, 20e3, 6e3}, {AT_RANDOM, 100000, 500, 1e3, 20e3, 6e3},
};

/* Of all repetitions of a program. */
struct many {
    double errors, squares; /* of T, in shares of the truth */
    double spent;           /* in shares of what was allowed */
    uint64_t known, covered;
};

static void add_run(struct many *many, const struct outcome *outcome, enum figure figure,
                    uint64_t calls)
{
    const struct rm_tally_all all = {calls, outcome->ticks};
    const struct rm_tally *tally =
        figure == IO ? &outcome->tallies.tallies[RM_TALLY_IO] : &outcome->counted;
    const struct rm_field *field =
        figure == IO ? &outcome->tallies.fields[RM_FIELD_IO + RM_IO_READ_CHARS] : &outcome->count;
    resmon_estimate found =
        rm_tally_estimate(tally, field, figure == IO ? RM_EXTENT_CALLS : RM_EXTENT_TICKS, all);
    double truth = outcome->truth[figure];
    double error = field->total / truth - 1.0;
    many->errors += error;
    many->squares += error * error;
    many->spent += (double)outcome->pace.spent / (100000.0 + 0.01 * (double)outcome->ticks);
    many->known += isnan(found.high) ? 0 : 1;
    many->covered += found.low <= truth && truth <= found.high ? 1 : 0;
}

static void repeat(const struct program *program, struct many many[FIGURES])
{
    for (uint64_t seed = 0; seed < program->repetitions; seed++) {
        struct outcome outcome = run_program(program, seed, 0.01);
        add_run(&many[IO], &outcome, IO, program->calls);
        add_run(&many[COUNT], &outcome, COUNT, program->calls);
    }
}

static void check(const char *what, size_t program, const struct many *many)
{
    const double repetitions = (double)programs[program].repetitions;
    double mean = many->errors / repetitions;
    double error = sqrt((many->squares / repetitions - mean * mean) / repetitions);
    double coverage = (double)many->covered / fmax((double)many->known, 1.0);
    print_message("%s of program %zu: bias %+.2f %% (%+.1f standard errors), off by %.0f %%, %llu "
                  "intervals, %.1f %% right; the meter's share %.2f of what it may cost\n",
                  what, program, 100.0 * mean, mean / error, 100.0 * error * sqrt(repetitions),
                  (unsigned long long)many->known, 100.0 * coverage, many->spent / repetitions);
    assert_true(fabs(mean) <= 4.0 * error);
    assert_true(many->known == 0 || coverage >= 0.90);
    assert_true(many->spent / repetitions >= 0.85 && many->spent / repetitions <= 1.10);
}

TEST(estimates_are_unbiased_and_their_intervals_hold)
{
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        struct many many[FIGURES] = {{0}};
        repeat(&programs[i], many);
        check("I/O", i, &many[IO]);
        check("counts", i, &many[COUNT]);
        /* From the page cache in 3000 calls too few are metered, and say so. */
        assert_true(i != 0 || many[IO].known == programs[i].repetitions);
        assert_true(i != 3 || many[IO].known < programs[i].repetitions / 10);
    }
}

TEST(amounts_that_go_with_their_extents_are_exact)
{
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        struct outcome outcome = run_program(&programs[i], i, 0.01);
        uint64_t calls = programs[i].calls;
        const struct rm_tally_all all = {calls, outcome.ticks};
        assert_true(outcome.tallies.tallies[RM_TALLY_IO].calls < calls / 2);
        resmon_estimate count =
            rm_tallies_estimate(&outcome.tallies, RM_FIELD_IO + RM_IO_READ_CALLS, all);
        assert_near(count.value, (double)calls, 1e-6);
        resmon_estimate cpu = rm_tallies_estimate(&outcome.tallies, RM_FIELD_CPU_NS, all);
        assert_near(cpu.value, 0.75 * (double)outcome.ticks, 1e-6 * (double)outcome.ticks);
        if (outcome.tallies.tallies[RM_TALLY_IO].drawn >= RM_TALLY_FEW) {
            assert_near(count.high - count.low, 0.0, 1e-6);
            assert_false(rm_estimate_is_vague(&cpu));
        }
    }
}

TEST(a_meter_at_each_call_is_a_plain_sum)
{
    struct outcome outcome = run_program(&programs[1], 7, 1e9);
    size_t field = RM_FIELD_IO + RM_IO_READ_CHARS;
    resmon_estimate found = rm_tallies_estimate(
        &outcome.tallies, field, (struct rm_tally_all){programs[1].calls, outcome.ticks});
    assert_int_equal(outcome.tallies.tallies[RM_TALLY_IO].calls, programs[1].calls);
    assert_near(found.value, outcome.truth[IO], 0.0);
    assert_near(found.low, outcome.truth[IO], 0.0);
    assert_near(found.high, outcome.truth[IO], 0.0);
    assert_near(outcome.tallies.fields[field].variance, 0.0, 0.0);
}

/* ---- pace ----------------------------------------------------------------------------------- */

/* Short calls that come first do not keep a meter from the long ones after them. */
TEST(a_meter_follows_calls_that_become_longer)
{
    uint64_t taken = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        const struct rm_pace_terms terms = {.free_ticks = 100000, .share = 0.01};
        struct rm_pace pace = {0};
        rm_pace_seed(&pace, seed);
        uint64_t ticks = 0;
        for (uint64_t i = 0; i < 1020; i++) {
            bool is_due = rm_pace_is_due(&pace, &terms, i, ticks);
            ticks += i < 1000 ? 40 : 2000000;
            if (is_due) {
                rm_pace_spend(&pace, 1000);
                taken += i < 1000 ? 0 : 1;
            }
        }
    }
    assert_true(taken >= 100 * 15); /* of 100 * 20 */
}

TEST(a_chance_is_as_large_as_it_says)
{
    const struct rm_pace_terms terms = {.free_ticks = 0, .share = 0.1};
    struct rm_pace pace = {.random = 4711};
    uint64_t ticks = 0;
    double expected = 0.0, variance = 0.0, taken = 0.0;
    for (uint64_t i = 0; i < 200000; i++) {
        bool is_due = rm_pace_is_due(&pace, &terms, i, ticks);
        assert_true(pace.chance > 0.0 && pace.chance <= 1.0);
        expected += pace.chance;
        variance += pace.chance * (1.0 - pace.chance);
        taken += is_due ? 1.0 : 0.0;
        ticks += i % 1000 < 10 ? 5000 : 100;
        if (is_due) {
            rm_pace_spend(&pace, 300);
        }
    }
    assert_near(taken, expected, 4.0 * sqrt(variance));
    assert_near((double)pace.spent / (double)ticks, 0.1, 0.005);
}

TEST(a_share_of_nothing_and_a_clock_that_stands)
{
    const struct rm_pace_terms terms = {.free_ticks = 10, .share = 0.0};
    struct rm_pace pace = {.random = 1};
    uint64_t taken = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        if (rm_pace_is_due(&pace, &terms, i, 0)) {
            rm_pace_spend(&pace, 6);
            taken++;
        }
    }
    assert_int_equal(taken, 2); /* what is free */
}

/* ---- tallies -------------------------------------------------------------------------------- */

static struct rm_tallies of_two_calls(uint64_t first, uint64_t second)
{
    struct rm_tallies tallies = {0};
    struct rm_tally_call call = {.chance = 1.0, .ticks = 10, .all = {1, 10}};
    uint64_t amounts[RM_IO_FIELDS] = {first};
    rm_tally_add(rm_tallies_at(&tallies, RM_TALLY_IO), &call, amounts);
    call = (struct rm_tally_call){.chance = 0.25, .ticks = 10, .all = {5, 50}};
    amounts[0] = second;
    rm_tally_add(rm_tallies_at(&tallies, RM_TALLY_IO), &call, amounts);
    return tallies;
}

/* By hand: T = 8 + (4 * 8 + (20 - 8) / 0.25) = 88 of 5 calls, then r = 8 + 48 / 5; V = 0.75 * 12^2
 * / 0.25^2 = 1728. */
TEST(the_formula_by_hand)
{
    struct rm_tallies tallies = of_two_calls(8, 20);
    assert_near(tallies.fields[RM_FIELD_IO].total, 88.0, 1e-12);
    assert_near(tallies.fields[RM_FIELD_IO].variance, 1728.0, 1e-9);
    assert_near(tallies.fields[RM_FIELD_IO].rate, 17.6, 1e-12);
    rm_tallies_settle(&tallies, (struct rm_tally_all){10, 100});
    assert_near(tallies.fields[RM_FIELD_IO].total, 88.0 + 5.0 * 17.6, 1e-12);
    resmon_estimate found =
        rm_tallies_estimate(&tallies, RM_FIELD_IO, (struct rm_tally_all){10, 100});
    assert_near(found.value, 176.0, 1e-12);
    assert_near(found.low, 28.0, 0.0); /* what was seen */
    assert_true(isnan(found.high) && rm_estimate_is_vague(&found));
    rm_estimate_clamp(&found, 100.0);
    assert_true(found.value == 100.0 && found.high == 100.0 && found.low == 28.0);
    rm_estimate_clamp(&found, 20.0); /* less than what was seen */
    assert_true(found.value == 28.0 && found.high == 28.0 && found.low == 28.0);
}

TEST(nodes_of_threads_add_up)
{
    struct rm_tallies a = of_two_calls(8, 20), b = of_two_calls(4, 4);
    struct rm_tallies nothing = {0};
    rm_tallies_settle(&a, (struct rm_tally_all){6, 60});
    rm_tallies_settle(&b, (struct rm_tally_all){7, 70});
    struct rm_tallies both = rm_tallies_merge(&a, &b);
    const struct rm_field *x = &a.fields[RM_FIELD_IO], *y = &b.fields[RM_FIELD_IO];
    assert_near(both.fields[RM_FIELD_IO].total, x->total + y->total, 1e-12);
    assert_near(both.fields[RM_FIELD_IO].variance, x->variance + y->variance, 1e-12);
    assert_int_equal(both.fields[RM_FIELD_IO].sum, 36);
    assert_int_equal(both.tallies[RM_TALLY_IO].calls, 4);
    assert_int_equal(both.tallies[RM_TALLY_IO].drawn, 2);
    assert_int_equal(both.tallies[RM_TALLY_IO].seen, 13);
    struct rm_tallies same = rm_tallies_merge(&a, &nothing);
    assert_near(same.fields[RM_FIELD_IO].total, x->total, 0.0);
}

/* 5 of 20 calls: nobody knows what the others had, in nodes where the meter was never taken.  It is
 * so after another merger, too, which settles once more. */
TEST(nodes_without_a_metered_call_go_with_their_extent)
{
    struct rm_tallies counted = of_two_calls(8, 20), nothing = {0};
    counted.tallies[RM_TALLY_IO].drawn = 1000; /* by itself, it would be known well */
    rm_tallies_settle(&counted, (struct rm_tally_all){5, 50});
    rm_tallies_settle(&nothing, (struct rm_tally_all){15, 150});
    struct rm_tallies both = rm_tallies_merge(&counted, &nothing);
    for (int i = 0; i < 2; i++) {
        resmon_estimate found =
            rm_tallies_estimate(&both, RM_FIELD_IO, (struct rm_tally_all){20, 200});
        assert_near(found.value, 88.0 * 20.0 / 5.0, 1e-9);
        assert_near(found.low, 28.0, 0.0);
        assert_true(isnan(found.high));
        rm_tallies_settle(&both, (struct rm_tally_all){20, 200});
    }
    resmon_estimate found =
        rm_tallies_estimate(&counted, RM_FIELD_IO, (struct rm_tally_all){5, 50});
    assert_near(found.value, 88.0, 1e-9);
    assert_false(isnan(found.high));
}

TEST(nothing_metered_is_not_known)
{
    struct rm_tallies nothing = {0};
    rm_tallies_settle(&nothing, (struct rm_tally_all){5, 50});
    resmon_estimate found =
        rm_tallies_estimate(&nothing, RM_FIELD_CPU_NS, (struct rm_tally_all){5, 50});
    assert_true(isnan(found.value) && isnan(found.low) && isnan(found.high));
    assert_true(rm_estimate_is_vague(&found));
    rm_estimate_clamp(&found, 7.0); /* a bound makes no figure of it */
    assert_true(isnan(found.value) && isnan(found.low) && isnan(found.high));
}

/* A thousand calls with chance 1/2, all alike but for the sign: n of the interval is 1000. */
TEST(the_interval_is_students)
{
    struct rm_tallies tallies = {0};
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t amounts[RM_IO_FIELDS] = {i % 2 == 0 ? 90 : 110};
        struct rm_tally_call call = {.chance = 0.5, .ticks = 1, .all = {2 * (i + 1), 2 * (i + 1)}};
        rm_tally_add(rm_tallies_at(&tallies, RM_TALLY_IO), &call, amounts);
    }
    rm_tallies_settle(&tallies, (struct rm_tally_all){2000, 2000});
    const struct rm_field *field = &tallies.fields[RM_FIELD_IO];
    resmon_estimate found =
        rm_tallies_estimate(&tallies, RM_FIELD_IO, (struct rm_tally_all){2000, 2000});
    double matter = field->variance * field->variance / field->squares;
    double half = rm_student_quantile(0.975, matter - 1.0) * sqrt(field->variance);
    assert_near(found.high - found.value, half, 1e-2 * half);
    assert_near(found.value - found.low, half, 1e-2 * half);
    assert_near(found.value, 200e3, half);
}
