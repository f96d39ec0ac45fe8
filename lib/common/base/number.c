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

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 wide;

static const double powers_of_10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

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
