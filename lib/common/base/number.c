/* SPDX-License-Identifier: MIT */
#include "base/number.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char pairs[201] = "00010203040506070809101112131415161718192021222324"
                               "25262728293031323334353637383940414243444546474849"
                               "50515253545556575859606162636465666768697071727374"
                               "75767778798081828384858687888990919293949596979899";

#define EIGHT_DIGITS 100000000U

/* Eight digits, also zeros.  The steps do not wait for one another. */
static void put_eight(char *text, uint32_t number)
{
    uint32_t high = number / 10000;
    uint32_t low = number % 10000;
    memcpy(text, pairs + high / 100 * 2, 2);
    memcpy(text + 2, pairs + high % 100 * 2, 2);
    memcpy(text + 4, pairs + low / 100 * 2, 2);
    memcpy(text + 6, pairs + low % 100 * 2, 2);
}

/* Writes the digits so that they end before `end`; returns where they begin. */
static char *digits_before(char *end, uint64_t number)
{
    for (; number >= EIGHT_DIGITS; number /= EIGHT_DIGITS) {
        end -= 8;
        put_eight(end, (uint32_t)(number % EIGHT_DIGITS));
    }
    uint32_t rest = (uint32_t)number;
    for (; rest >= 100; rest /= 100) {
        end -= 2;
        memcpy(end, pairs + rest % 100 * 2, 2);
    }
    if (rest >= 10) {
        end -= 2;
        memcpy(end, pairs + rest * 2, 2);
    } else {
        *--end = (char)('0' + rest);
    }
    return end;
}

size_t rm_number_u64(char text[RM_NUMBER_BYTES], uint64_t number)
{
    char digits[20];
    char *begin = digits_before(digits + sizeof digits, number);
    size_t length = (size_t)(digits + sizeof digits - begin);
    memcpy(text, begin, length);
    text[length] = '\0';
    return length;
}

size_t rm_number_i64(char text[RM_NUMBER_BYTES], int64_t number)
{
    size_t sign = number < 0 ? 1 : 0;
    text[0] = '-';
    return sign + rm_number_u64(text + sign, sign ? 0 - (uint64_t)number : (uint64_t)number);
}

/* `digits` with a point before its last `places` digits; zeros at the end go if `strips`. */
static size_t put_fraction(char *text, uint64_t digits, int places, bool strips)
{
    char buffer[48];
    char *end = buffer + sizeof buffer;
    char *begin = digits_before(end, digits);
    while (end - begin <= places) {
        *--begin = '0';
    }
    size_t whole = (size_t)(end - begin) - (size_t)places;
    while (strips && places > 0 && end[-1] == '0') {
        end--;
        places--;
    }
    memcpy(text, begin, whole);
    if (places == 0) {
        text[whole] = '\0';
        return whole;
    }
    text[whole] = '.';
    memcpy(text + whole + 1, begin + whole, (size_t)places);
    text[whole + 1 + (size_t)places] = '\0';
    return whole + 1 + (size_t)places;
}

size_t rm_number_fixed(char text[RM_NUMBER_BYTES], int64_t number, int places)
{
    size_t sign = number < 0 ? 1 : 0;
    text[0] = '-';
    return sign +
           put_fraction(text + sign, sign ? 0 - (uint64_t)number : (uint64_t)number, places, false);
}

/* Beyond this, not every whole number is a double. */
#define WHOLE_LIMIT 9007199254740992.0

static size_t by_printf(char text[RM_NUMBER_BYTES], double number)
{
    (void)snprintf(text, RM_NUMBER_BYTES, "%.15g", number);
    if (strtod(text, NULL) != number) { /* our own text, in the host's locale both ways */
        (void)snprintf(text, RM_NUMBER_BYTES, "%.17g", number);
    }
    rm_text_point(text);
    return strlen(text);
}

static const double powers_of_10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 wide;

static const uint64_t powers_of_5[] = {
    UINT64_C(1),
    UINT64_C(5),
    UINT64_C(25),
    UINT64_C(125),
    UINT64_C(625),
    UINT64_C(3125),
    UINT64_C(15625),
    UINT64_C(78125),
    UINT64_C(390625),
    UINT64_C(1953125),
    UINT64_C(9765625),
    UINT64_C(48828125),
    UINT64_C(244140625),
    UINT64_C(1220703125),
    UINT64_C(6103515625),
    UINT64_C(30517578125),
    UINT64_C(152587890625),
    UINT64_C(762939453125),
    UINT64_C(3814697265625),
    UINT64_C(19073486328125),
    UINT64_C(95367431640625),
};

/* A positive double as mantissa * 2^-shift, below 2^53 and with shift > 0. */
struct parts {
    uint64_t mantissa;
    int shift;
};

/* round(number * 10^places), halves to even, exactly: the product has less than 53 + 47 bits. */
static uint64_t scale(const struct parts *parts, int places)
{
    wide product = (wide)parts->mantissa * powers_of_5[places];
    int shift = parts->shift - places;
    if (shift <= 0) {
        return (uint64_t)(product << -shift);
    }
    wide quotient = product >> shift;
    wide rest = product - (quotient << shift);
    wide half = (wide)1 << (shift - 1);
    bool is_up = rest > half || (rest == half && (quotient & 1) != 0);
    return (uint64_t)quotient + (is_up ? 1 : 0);
}

/* From the least number that %g writes without an exponent on, where 15 digits have 18 places, 17,
 * and so on to none. */
static const double sizes[] = {1e-4, 1e-3, 1e-2, 1e-1, 1e0,  1e1,  1e2,  1e3,  1e4, 1e5,
                               1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14};
enum { MOST_PLACES = sizeof sizes / sizeof *sizes - 1 };

/* How many places 15 digits of it have.  2^e <= number, and 1233/4096 is log10(2) to within 4e-6:
 * this begins at the power of ten, or one or two below. */
static int places_of(double number, int e)
{
    int size = (e * 1233 + 5 * 4096) / 4096 - 1;
    size = size > 0 ? size : 0;
    while (size < MOST_PLACES && number >= sizes[size + 1]) {
        size++;
    }
    return MOST_PLACES - size;
}

/* A fraction in [1e-4, 1e15): a normal number. */
static size_t put_positive(char *text, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    int e = (int)(bits >> 52) - 1023;
    const struct parts parts = {(bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52, 52 - e};
    int places = places_of(number, e);
    uint64_t digits = scale(&parts, places);
    if ((double)digits / powers_of_10[places] == number) {
        return put_fraction(text, digits, places, true);
    }
    return put_fraction(text, scale(&parts, places + 2), places + 2, true);
}
#endif

size_t rm_number_double(char text[RM_NUMBER_BYTES], double number)
{
    if (!isfinite(number)) {
        text[0] = '\0';
        return 0;
    }
    double size = fabs(number);
    if (size < WHOLE_LIMIT && number == floor(number)) {
        return rm_number_i64(text, (int64_t)number);
    }
#ifdef __SIZEOF_INT128__
    if (size >= 1e-4 && size < 1e15) {
        size_t sign = number < 0.0 ? 1 : 0;
        text[0] = '-';
        return sign + put_positive(text + sign, size);
    }
#endif
    return by_printf(text, number);
}

/* ---- reading --------------------------------------------------------------------------------- */

#define EXACT_DIGITS 19 /* of a decimal number, that a uint64_t always holds */

/* mantissa * 10^exponent; `digits` of them were read, the first one not 0. */
struct decimal {
    uint64_t mantissa;
    int digits, exponent;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Each digit adds `step` to the exponent: 0 before the point, -1 after it. */
static const char *take_digits(const char *at, const char *end, struct decimal *decimal, int step)
{
    for (; at < end && is_digit(*at); at++) {
        decimal->mantissa = decimal->mantissa * 10 + (uint64_t)(*at - '0');
        decimal->digits += decimal->mantissa > 0 || decimal->digits > 0 ? 1 : 0;
        decimal->exponent += step;
    }
    return at;
}

/* The end of "e-5", or `at` where there is no exponent. */
static const char *take_exponent(const char *at, const char *end, struct decimal *decimal)
{
    const char *next = at + 1;
    int exponent = 0;
    if (at >= end || (*at != 'e' && *at != 'E')) {
        return at;
    }
    bool is_negative = next < end && *next == '-';
    next += next < end && (*next == '-' || *next == '+') ? 1 : 0;
    if (next >= end || !is_digit(*next)) {
        return at;
    }
    for (; next < end && is_digit(*next); next++) {
        exponent = exponent < 10000 ? exponent * 10 + (*next - '0') : exponent;
    }
    decimal->exponent += is_negative ? -exponent : exponent;
    return next;
}

#ifdef __SIZEOF_INT128__ /* and doubles without more bits in registers */
/* Exact, since one operation on two doubles that are exact rounds once. */
static bool by_double(const struct decimal *decimal, double *ret_number)
{
    int exponent = decimal->exponent;
    const int most = (int)(sizeof powers_of_10 / sizeof *powers_of_10) - 1;
    if (decimal->mantissa > (uint64_t)WHOLE_LIMIT || exponent < -most || exponent > most) {
        return false;
    }
    double mantissa = (double)decimal->mantissa;
    *ret_number =
        exponent < 0 ? mantissa / powers_of_10[-exponent] : mantissa * powers_of_10[exponent];
    return true;
}

static int bits_of(wide number)
{
    uint64_t high = (uint64_t)(number >> 64), low = (uint64_t)number;
    return high != 0 ? 128 - __builtin_clzll(high) : low != 0 ? 64 - __builtin_clzll(low) : 0;
}

/* number * 2^shift, and a part below 1 unless `is_whole`; halves to even. */
static double rounded(wide number, int shift, bool is_whole)
{
    int excess = bits_of(number) - 53;
    if (excess <= 0) {
        return ldexp((double)(uint64_t)number, shift);
    }
    wide quotient = number >> excess;
    wide rest = number - (quotient << excess);
    wide half = (wide)1 << (excess - 1);
    bool is_up = rest > half || (rest == half && (!is_whole || (quotient & 1) != 0));
    return ldexp((double)((uint64_t)quotient + (is_up ? 1 : 0)), excess + shift);
}

/* Up to 10^19 in both directions: exactly, by 128 bits. */
static bool by_wide(const struct decimal *decimal, double *ret_number)
{
    int exponent = decimal->exponent;
    if (exponent < -EXACT_DIGITS || exponent > EXACT_DIGITS) { /* more than 2^53: not 0 */
        return false;
    }
    wide power = (uint64_t)powers_of_10[exponent < 0 ? -exponent : exponent];
    if (exponent >= 0) {
        *ret_number = rounded(decimal->mantissa * power, 0, true);
        return true;
    }
    int shift = 127 - bits_of(decimal->mantissa); /* 63 bits of quotient, at least */
    wide number = (wide)decimal->mantissa << shift;
    wide quotient = number / power;
    *ret_number = rounded(quotient, -shift, quotient * power == number);
    return true;
}

static bool is_exact(const struct decimal *decimal, double *ret_number)
{
    return decimal->digits <= EXACT_DIGITS &&
           (by_double(decimal, ret_number) || by_wide(decimal, ret_number));
}
#else
static bool is_exact(const struct decimal *decimal, double *ret_number)
{
    *ret_number = 0.0;
    return decimal->digits <= EXACT_DIGITS && decimal->mantissa == 0;
}
#endif

/* By strtod(), which is exact; without a point, for the point is the locale's. */
static double by_strtod(const char *text, const char *end, int exponent)
{
    char digits[RM_NUMBER_LONGEST + 16];
    size_t length = 0;
    for (; text < end && *text != 'e' && *text != 'E'; text++) {
        if (is_digit(*text)) {
            digits[length++] = *text;
        }
    }
    (void)snprintf(digits + length, sizeof digits - length, "e%d", exponent);
    return strtod(digits, NULL);
}

size_t rm_number_parse(const char *text, size_t length, double *ret_number)
{
    const char *end = text + length, *at = text;
    struct decimal decimal = {.mantissa = 0};
    at += length > 0 && *at == '-' ? 1 : 0;
    const char *whole = at;
    at = take_digits(at, end, &decimal, 0);
    if (at == whole || (*whole == '0' && at - whole > 1)) {
        return 0;
    }
    if (at + 1 < end && *at == '.' && is_digit(at[1])) {
        at = take_digits(at + 1, end, &decimal, -1);
    }
    at = take_exponent(at, end, &decimal);
    if (at - text > RM_NUMBER_LONGEST) {
        return 0;
    }
    double number;
    if (!is_exact(&decimal, &number)) {
        number = by_strtod(whole, at, decimal.exponent);
    }
    *ret_number = *text == '-' ? -number : number;
    return (size_t)(at - text);
}
