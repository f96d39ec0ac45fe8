/* SPDX-License-Identifier: MIT */
/*
 * Names of functions as people write them.  Of Rust: of RFC 2603 and of programs of rustc, in both
 * schemes; cut and damaged ones.  Of C++: by the demangler that is there.
 */
#define _GNU_SOURCE
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names/names.h"
#include "random.h"

static const struct {
    const char *symbol, *name;
} known[] = {
    {"_RNvC6_123foo3bar", "123foo::bar"},
    {"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
    {"_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn::{closure#0}::{closure#0}"},
    {"_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_4IterhENuNgNoBb_"
     "4iter8iterator8Iterator9rposition"
     "NCNgNpB9_6memchr7memrchrs_0E0Bb_",
     "<core::slice::Iter<u8> as core::iter::iterator::Iterator>::rposition::"
     "<core::slice::memchr::memrchr::{closure#1}>::{closure#0}"},
    {"_RNvMC0INtC8arrayvec8ArrayVechKj7b_E3new", "<arrayvec::ArrayVec<u8, 123>>::new"},
    {"_RMCs4fqI2P2rA04_13const_genericINtB0_8UnsignedKhb_E", "<const_generic::Unsigned<11>>"},
    {"_RMCs4fqI2P2rA04_13const_genericINtB0_6SignedKanb_E", "<const_generic::Signed<-11>>"},
    {"_RMCs4fqI2P2rA04_13const_genericINtB0_4BoolKb0_E", "<const_generic::Bool<false>>"},
    {"_RNvNvMCs4fqI2P2rA04_13const_genericINtB4_3FooKpE3foo3FOO",
     "<const_generic::Foo<_>>::foo::FOO"},
    {"_RNvMs7_NtCsgEmfK2I1SDS_4core3numy12wrapping_mul", "<u64>::wrapping_mul"},
    {"_RINvC1a1bRShQTmeEPAlj4_E", "a::b::<&[u8], &mut (u32, str), *const [i32; 4]>"},
    {"_RINvC1a1bFUKCEuFhmEbE", "a::b::<unsafe extern fn(), fn(u8, u32) -> bool>"},
};

TEST(known_names)
{
    char text[4096];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!rm_rust_name(known[i].symbol, text, sizeof text)) {
            fail_msg("%s", known[i].symbol);
        }
        assert_string_equal(text, known[i].name);
        for (size_t room = 1; room <= strlen(known[i].name); room++) {
            char *little = malloc(room);
            assert_false(rm_rust_name(known[i].symbol, little, room));
            free(little);
        }
    }
    assert_false(rm_rust_name("_ZN3foo3barE", text, sizeof text));
    assert_false(rm_rust_name("_R", text, sizeof text));
    assert_false(rm_rust_name("_RNvC3foo", text, sizeof text));
    assert_false(rm_rust_name("_RNvB_3foo", text, sizeof text)); /* itself */
}

TEST(the_scheme_before)
{
    static const struct {
        const char *before, *after;
    } names[] = {
        {"r::burn::he364ba59370ac423", "r::burn"},
        {"core::iter::range::_$LT$impl$u20$core..iter..traits..iterator..Iterator$u20$for$u20$core."
         "."
         "ops..range..Range$LT$A$GT$$GT$::next::hd9df686725a0abdd",
         "core::iter::range::<impl core::iter::traits::iterator::Iterator for "
         "core::ops::range::Range<A>>::next"},
        {"std::vector<int>::push_back", "std::vector<int>::push_back"},
        {"a_$u20$b::h0123456789abcdef", "a_ b"},
        {"h0123456789abcdef", "h0123456789abcdef"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[512];
        (void)snprintf(text, sizeof text, "%s", names[i].before);
        rm_rust_name_mend(text);
        assert_string_equal(text, names[i].after);
    }
}

TEST(damaged_names_end)
{
    struct random random = {7};
    static const char letters[] = "RNvCITBMXYKLEsu_0123456789abcGFDpn";
    char symbol[256], text[512];
    for (unsigned round = 0; round < 200000; round++) {
        const char *base = known[random_below(&random, sizeof known / sizeof *known)].symbol;
        (void)snprintf(symbol, sizeof symbol, "%s", base);
        size_t length = strlen(symbol);
        for (unsigned i = 0; i < 1 + random_below(&random, 6); i++) {
            symbol[2 + random_below(&random, length - 2)] =
                letters[random_below(&random, sizeof letters - 1)];
        }
        symbol[random_below(&random, 4) == 0 ? 2 + random_below(&random, length - 2) : length] =
            '\0';
        if (rm_rust_name(symbol, text, sizeof text)) {
            assert_true(strlen(text) < sizeof text);
        }
    }
    /* Twice what was read before, again and again. */
    char twice[2048] = "_RINvC1a1b";
    for (unsigned i = 0; i < 60; i++) {
        char piece[32];
        (void)snprintf(piece, sizeof piece, "TB%x_B%x_E", 8 + i, 8 + i);
        strcat(twice, piece);
    }
    (void)rm_rust_name(twice, text, sizeof text); /* ends soon */
}

TEST(names_of_cxx)
{
    static char long_name[8192], text[4097];
    rm_demangle("plain", text, sizeof text);
    assert_string_equal(text, "plain");
    rm_demangle("_Zwrong", text, sizeof text);
    assert_string_equal(text, "_Zwrong");
    rm_demangle("_RNvC6_123foo3bar", text, sizeof text);
    assert_string_equal(text, "123foo::bar");
    rm_demangle("_ZN3foo3bar17h0123456789abcdefE", text, sizeof text);
    bool is_demangled = text[0] != '_';
    if (!is_demangled) {
        print_message("skipped: there is no library with a demangler here\n");
    } else {
        assert_string_equal(text, "foo::bar");
        rm_demangle("_ZNSt6vectorIiSaIiEE9push_backERKi", text, sizeof text);
        assert_string_equal(text, "std::vector<int, std::allocator<int> >::push_back(int const&)");
    }
    memset(long_name, 'x', sizeof long_name - 1);
    rm_demangle(long_name, text, sizeof text);
    assert_int_equal(strlen(text), sizeof text - 1);
}
