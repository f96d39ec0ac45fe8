/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* lgamma_r: lgamma writes a global */
#include "store/student.h"

#include <math.h>

#define LARGEST_DF 1e6 /* above, t equals the normal quantile to a relative 1e-6 */
#define TINY       1e-300

/*
 * The continued fraction of the incomplete beta function, DLMF 8.17.22, by Lentz's method.  It
 * converges within a few dozen steps for x < (a + 1) / (a + b + 2).
 */
static double beta_fraction(double x, double a, double b)
{
    double c = 1.0;
    double d = 1.0 / fmax(1.0 - (a + b) * x / (a + 1.0), TINY);
    double value = d;
    for (int m = 1; m <= 300; m++) {
        double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / (1.0 + even * d);
        c = 1.0 + even / c;
        value *= c * d;
        d = 1.0 / (1.0 + odd * d);
        c = 1.0 + odd / c;
        value *= c * d;
        if (fabs(c * d - 1.0) < 1e-15) {
            break;
        }
    }
    return value;
}

/* I_x(a, b), the regularized incomplete beta function. */
static double beta_share(double x, double a, double b)
{
    int sign; /* sign of the gamma function; positive here */
    double front = exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) +
                       a * log(x) + b * log1p(-x));
    return x < (a + 1.0) / (a + b + 2.0) ? front * beta_fraction(x, a, b) / a
                                         : 1.0 - front * beta_fraction(1.0 - x, b, a) / b;
}

/* DLMF 8.17(iv): P(T > t) = I_x(df / 2, 1 / 2) / 2 at x = df / (df + t^2). */
static double tail(double t, double df)
{
    return t > 0.0 ? 0.5 * beta_share(df / (df + t * t), 0.5 * df, 0.5) : 0.5;
}

double rm_student_quantile(double p, double df)
{
    double low = 0.0, high = 1.0;
    df = fmin(fmax(df, 1.0), LARGEST_DF);
    while (tail(high, df) > 1.0 - p && high < 1e6) {
        high *= 2.0;
    }
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        if (tail(middle, df) > 1.0 - p) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return 0.5 * (low + high);
}
