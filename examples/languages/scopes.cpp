// SPDX-License-Identifier: MIT
// The phases of a program in C++:
//
//     g++ scopes.cpp -lresmon -o scopes && ./scopes && resmon report run.json
#include <cmath>
#include <cstdio>

#include <resmon/resmon.hpp>

static double step(double x)
{
    static resmon::site stepping("step");
    resmon::scope scope(stepping);
    for (int i = 0; i < 1000000; i++) {
        x = std::cos(x);
    }
    return x;
}

int main()
{
    try {
        resmon::monitor monitor("json=run.json");
        double x = 1.0;
        {
            resmon::scope scope("solve");
            for (int i = 0; i < 3; i++) {
                x = step(x);
            }
        }
        monitor.stop();
        std::printf("%.6f\n", x);
    } catch (const resmon::error &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
