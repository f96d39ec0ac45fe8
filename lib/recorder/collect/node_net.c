/* SPDX-License-Identifier: MIT */
/*
 * Collector node_net: traffic of the network interfaces of this network namespace.  /proc/net/dev,
 * told apart with /sys/class/net: loopback, all others, and the physical ones counted once.
 */
#include <stdio.h>
#include <string.h>

#include "collect/collect.h"
#include "collect/delta.h"

enum {
    LO_SENT,
    LO_RECV,
    EXT_SENT,
    EXT_RECV,
    PHYS_SENT,
    PHYS_RECV,
    ALL_SENT,
    ALL_RECV,
    PACKETS_SENT,
    PACKETS_RECV,
    ERRORS,
    DROPPED,
    COUNT
};

static const uint16_t metrics[] = {
    [LO_SENT] = RM_NODE_NET_LO_SENT,
    [LO_RECV] = RM_NODE_NET_LO_RECV,
    [EXT_SENT] = RM_NODE_NET_EXT_SENT,
    [EXT_RECV] = RM_NODE_NET_EXT_RECV,
    [PHYS_SENT] = RM_NODE_NET_PHYS_SENT,
    [PHYS_RECV] = RM_NODE_NET_PHYS_RECV,
    [ALL_SENT] = RM_NODE_NET_ALL_SENT,
    [ALL_RECV] = RM_NODE_NET_ALL_RECV,
    [PACKETS_SENT] = RM_NODE_NET_ALL_PACKETS_SENT,
    [PACKETS_RECV] = RM_NODE_NET_ALL_PACKETS_RECV,
    [ERRORS] = RM_NODE_NET_ALL_ERRORS,
    [DROPPED] = RM_NODE_NET_ALL_DROPPED,
};

/* Of an interface: receive bytes, packets, errors, drops; transmit the same. */
enum {
    I_RX_BYTES,
    I_RX_PACKETS,
    I_RX_ERRORS,
    I_RX_DROPS,
    I_TX_BYTES,
    I_TX_PACKETS,
    I_TX_ERRORS,
    I_TX_DROPS,
    I_COUNT
};

_Static_assert(I_COUNT <= RM_DELTA_FIELDS, "an interface has more counters than a thing");

#define CLASS_LOOPBACK 1U
#define CLASS_PHYSICAL \
    2U /* hardware behind it, or a bond of such; members of a bond do not count */

struct state {
    struct rm_file file;
    struct rm_delta_table interfaces;
    double totals[COUNT];
};

static bool has_attribute(const struct rm_collect *collect, const char *name, const char *what)
{
    char path[160];
    (void)snprintf(path, sizeof path, "sys/class/net/%s/%s", name, what);
    return rm_file_exists(&collect->root, path);
}

static bool is_loopback(const char *name)
{
    char lower[RM_DELTA_NAME_BYTES] = "";
    for (size_t i = 0; i + 1 < sizeof lower && name[i] != '\0'; i++) {
        lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
    }
    return strcmp(lower, "lo") == 0 || strstr(lower, "loopback") != NULL;
}

static uint32_t classify(void *context, const char *name)
{
    const struct rm_collect *collect = context;
    if (is_loopback(name)) {
        return CLASS_LOOPBACK;
    }
    bool is_physical = has_attribute(collect, name, "device")
                           ? !has_attribute(collect, name, "bonding_slave")
                           : has_attribute(collect, name, "bonding");
    return is_physical ? CLASS_PHYSICAL : 0;
}

static void add_growth(double totals[COUNT], uint32_t class, const double growth[I_COUNT])
{
    double sent = growth[I_TX_BYTES];
    double received = growth[I_RX_BYTES];
    totals[(class & CLASS_LOOPBACK) != 0 ? LO_SENT : EXT_SENT] += sent;
    totals[(class & CLASS_LOOPBACK) != 0 ? LO_RECV : EXT_RECV] += received;
    if ((class & CLASS_PHYSICAL) != 0) {
        totals[PHYS_SENT] += sent;
        totals[PHYS_RECV] += received;
    }
    totals[ALL_SENT] += sent;
    totals[ALL_RECV] += received;
    totals[PACKETS_SENT] += growth[I_TX_PACKETS];
    totals[PACKETS_RECV] += growth[I_RX_PACKETS];
    totals[ERRORS] += growth[I_RX_ERRORS] + growth[I_TX_ERRORS];
    totals[DROPPED] += growth[I_RX_DROPS] + growth[I_TX_DROPS];
}

/* "  eth0: rx_bytes packets errs drop fifo frame compressed multicast tx_bytes ..." ; aliases such
 * as "eth0:1" hold a colon, so the last one ends the name. */
static bool parse_interface(struct rm_text line, struct rm_text *ret_name,
                            uint64_t ret_now[I_COUNT])
{
    static const int places[I_COUNT] = {0, 1, 2, 3, 8, 9, 10, 11};
    const char *colon = NULL;
    for (const char *p = line.at; p < line.end; p++) {
        colon = *p == ':' ? p : colon;
    }
    if (colon == NULL) {
        return false;
    }
    struct rm_text head = {line.at, colon};
    struct rm_text rest = {colon + 1, line.end};
    uint64_t fields[12];
    if (!rm_parse_word(&head, ret_name)) {
        return false;
    }
    for (size_t f = 0; f < RM_ARRAY_LEN(fields); f++) {
        if (!rm_parse_u64(&rest, &fields[f])) {
            return false;
        }
    }
    for (size_t f = 0; f < I_COUNT; f++) {
        ret_now[f] = fields[places[f]];
    }
    return true;
}

static resmon_status read_interfaces(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    struct rm_text text, line, heading;
    resmon_status status = rm_collect_read(collect, &state->file, &text);
    if (status != RESMON_OK) {
        return status;
    }
    for (int i = 0; i < 2; i++) {
        if (!rm_parse_line(&text, &heading)) {
            return rm_collect_garbled(&state->file);
        }
    }
    rm_delta_begin(&state->interfaces);
    while (rm_parse_line(&text, &line)) {
        struct rm_text name;
        uint64_t now[I_COUNT];
        double growth[I_COUNT];
        if (!parse_interface(line, &name, now)) {
            continue;
        }
        struct rm_delta_thing *thing = rm_delta_find(&state->interfaces, name, classify, collect);
        if (thing != NULL) {
            rm_delta_take(thing, now, NULL, I_COUNT, growth);
            add_growth(state->totals, thing->class, growth);
        }
    }
    rm_delta_end(&state->interfaces);
    memcpy(values, state->totals, sizeof state->totals);
    return RESMON_OK;
}

static resmon_status open_interfaces(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    double values[COUNT];
    resmon_status status = rm_file_open(&state->file, &collect->root, "proc/net/dev");
    return status == RESMON_OK ? read_interfaces(collect, state, values) : status;
}

static void close_interfaces(void *state_)
{
    struct state *state = state_;
    rm_file_close(&state->file);
    rm_delta_free(&state->interfaces);
}

const struct rm_collector rm_collect_node_net = {
    .name = "node_net",
    .domain = RESMON_DOMAIN_NET,
    .own_interval_ns = RM_NS_PER_S,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_interfaces,
    .read = read_interfaces,
    .close = close_interfaces,
};
