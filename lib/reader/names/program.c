/* SPDX-License-Identifier: MIT */
/*
 * The program resmon-names, which the library runs to symbolize addresses.
 */
#include "names/names.h"

int main(void)
{
    return rm_names_main();
}
