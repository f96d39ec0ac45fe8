/* SPDX-License-Identifier: MIT */
/*
 * resmon-names: symbolizes addresses for the library, which starts it.  Not for people.
 */
#include "names/names.h"

int main(void)
{
    return rm_names_main();
}
