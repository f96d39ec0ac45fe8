// SPDX-License-Identifier: MIT
#include "macros.c"

#include <stdexcept>

namespace
{

template <typename T> struct summer {
    T operator()(T a, T b) const
    {
        RESMON_FUNCTION();
        RESMON_LINE();
        return a + b;
    }
};

} // namespace

int use_more(int n);

int use_more(int n)
{
    const uint64_t here = RESMON_HERE();
    const auto lambda = [n, here](int a) {
        RESMON_SCOPE_UNDER(here, "lambda");
        return a + n;
    };
    try {
        RESMON_SCOPE("throws");
        if (n > 0) {
            throw std::runtime_error("left by an exception");
        }
    } catch (const std::exception &) {
        RESMON_SCOPE("catch");
    }
    return lambda(summer<int>()(1, 2));
}
