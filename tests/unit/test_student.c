/* SPDX-License-Identifier: MIT */
/*
 * store/student: against printed tables (NIST/SEMATECH e-Handbook of Statistical
 * Methods, 1.3.6.7.2; Pearson and Hartley, Biometrika Tables for Statisticians), and where there is
 * a closed form.
 */
#include "test.h"

#include "store/student.h"

TEST(tables)
{
    static const struct {
        double df, p95, p975, p995;
    } rows[] = {
        {1, 6.314, 12.706, 63.657}, {2, 2.920, 4.303, 9.925},   {3, 2.353, 3.182, 5.841},
        {4, 2.132, 2.776, 4.604},   {5, 2.015, 2.571, 4.032},   {6, 1.943, 2.447, 3.707},
        {8, 1.860, 2.306, 3.355},   {10, 1.812, 2.228, 3.169},  {15, 1.753, 2.131, 2.947},
        {20, 1.725, 2.086, 2.845},  {30, 1.697, 2.042, 2.750},  {60, 1.671, 2.000, 2.660},
        {100, 1.660, 1.984, 2.626}, {1e9, 1.645, 1.960, 2.576},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_near(rm_student_quantile(0.95, rows[i].df), rows[i].p95, 0.00051);
        assert_near(rm_student_quantile(0.975, rows[i].df), rows[i].p975, 0.00051);
        assert_near(rm_student_quantile(0.995, rows[i].df), rows[i].p995, 0.00051);
    }
}

/* df 1 is Cauchy's distribution, t = tan(pi (p - 1/2)); df 2 and 4 have closed forms as well. */
TEST(closed_forms)
{
    for (double p = 0.55; p < 0.9999; p += 0.0125) {
        double u = 2.0 * p - 1.0;
        double a = sqrt(4.0 * p * (1.0 - p));
        double four = 2.0 * sqrt(cos(acos(a) / 3.0) / a - 1.0);
        assert_near(rm_student_quantile(p, 1.0) / tan(3.14159265358979323846 * (p - 0.5)), 1.0,
                    1e-9);
        assert_near(rm_student_quantile(p, 2.0) / (u * sqrt(2.0 / (1.0 - u * u))), 1.0, 1e-9);
        assert_near(rm_student_quantile(p, 4.0) / four, 1.0, 1e-9);
    }
}

/* P(T < t) by Simpson's rule over the density, at degrees of freedom that no table has. */
static double integrate(double t, double df)
{
    enum { STEPS = 20000 };
    double sum = 0.0;
    for (int i = 0; i <= STEPS; i++) {
        double x = t * i / STEPS;
        double weight = i == 0 || i == STEPS ? 1.0 : i % 2 == 1 ? 4.0 : 2.0;
        sum += weight * pow(1.0 + x * x / df, -0.5 * (df + 1.0));
    }
    return 0.5 + sum * t / (3.0 * STEPS) * tgamma(0.5 * (df + 1.0)) /
                     (sqrt(df * 3.14159265358979323846) * tgamma(0.5 * df));
}

TEST(fractions)
{
    for (double df = 1.0; df < 120.0; df *= 1.3) {
        assert_near(integrate(rm_student_quantile(0.975, df), df), 0.975, 1e-8);
    }
    assert_near(rm_student_quantile(0.5, 3.0), 0.0, 1e-9);
}
