/* SPDX-License-Identifier: MIT */
/*
 * Owns the order in which collectors are opened and read: by their domains, so that the process
 * comes first and its figures are nearest to the sample's time; within one as they are listed; and
 * each after those that it names (rm_collector.after), whatever their domains.  Pure.
 */
#ifndef RM_COLLECT_ORDER_H
#define RM_COLLECT_ORDER_H

#include "collect/collect.h"

/**
 * Writes `count` collectors (RM_MOST_COLLECTORS at most) in that order.  RESMON_EINVAL: one names
 * itself, a collector that is not among them, or they wait for each other in a circle; ret_order is
 * then not to be used.
 */
resmon_status rm_collect_order(const struct rm_collector *const *collectors, size_t count,
                               const struct rm_collector **ret_order);

#endif
