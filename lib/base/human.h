/* SPDX-License-Identifier: MIT */
/*
 * Owns numbers as people read them: "687.5 MiB", "1.234 ms", "12.3 %".  For text only; data keeps
 * SI units without prefix.  Independent of the locale's decimal point.
 */
#ifndef RM_BASE_HUMAN_H
#define RM_BASE_HUMAN_H

#define RM_HUMAN_BYTES 32

/** Each writes at most RM_HUMAN_BYTES; NaN becomes "-". */
void rm_human_bytes(char text[RM_HUMAN_BYTES], double bytes);
void rm_human_seconds(char text[RM_HUMAN_BYTES], double seconds);
void rm_human_joules(char text[RM_HUMAN_BYTES], double joules); /* from 1 kWh on in kWh */
void rm_human_watt_hours(char text[RM_HUMAN_BYTES], double watt_hours);
void rm_human_watts(char text[RM_HUMAN_BYTES], double watts);
void rm_human_grams(char text[RM_HUMAN_BYTES], double grams);
void rm_human_count(char text[RM_HUMAN_BYTES], double count);
void rm_human_percent(char text[RM_HUMAN_BYTES], double percent);

/** With that many decimals, and no unit. */
void rm_human_fixed(char text[RM_HUMAN_BYTES], double value, int decimals);

#endif
