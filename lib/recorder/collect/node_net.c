/* SPDX-License-Identifier: MIT */
/*
 * Collectors node_net and node_ib: traffic of the network interfaces of this network namespace,
 * and of InfiniBand, RoCE and Omni-Path ports.  Interfaces: /proc/net/dev, classified by
 * /sys/class/net into loopback, all others, and physical ones, which are counted once.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "collect/collect.h"
#include "collect/delta.h"
#include "os/file.h"

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

/* Fields of an interface: receive bytes, packets, errors, drops; the same for transmit. */
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
#define CLASS_PHYSICAL 2U /* hardware, or a bond of hardware; members of a bond do not count */

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

/* "  eth0: rx_bytes packets errs drop fifo frame compressed multicast tx_bytes ..."  The name ends
 * at the last colon: aliases such as "eth0:1" have one, too. */
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

/* ---- collector node_ib ---------------------------------------------------------------------- */

/*
 * /sys/class/infiniband/DEV/ports/N/counters; an instance is a port, "mlx5_0:1".
 *
 * Ports that are ACTIVE when the monitor starts are sampled; ports that become active later are
 * not, and ports that go down keep their counts.  A counter that cannot be read is NaN
 * meanwhile, the others are not.  Its file is opened again, since a driver that recovers creates
 * new files.
 */

#define CLASS "sys/class/infiniband"

/* There may be hundreds of virtual functions; a job uses the ports of a few adapters. */
#define MOST_PORTS 64

/* Length of an instance name in a run, with '\0'. */
#define NAME_BYTES 40

/* Counters of 32 bits stop here and do not wrap. */
#define STUCK UINT32_MAX

enum { IB_SENT, IB_RECV, IB_PACKETS_SENT, IB_PACKETS_RECV, IB_COUNT };

static const uint16_t ib_metrics[] = {
    [IB_SENT] = RM_NODE_IB_SENT,
    [IB_RECV] = RM_NODE_IB_RECV,
    [IB_PACKETS_SENT] = RM_NODE_IB_PACKETS_SENT,
    [IB_PACKETS_RECV] = RM_NODE_IB_PACKETS_RECV,
};

/* Data is counted in words of 4 bytes, for any number of lanes (InfiniBand Architecture, 16.1.3.5).
 * The Omni-Path driver hfi1 shows its registers, in flits of 8 bytes; only its ports have a
 * directory sc2vl. */
#define WORD_BYTES 4.0
#define FLIT_BYTES 8.0

static const struct {
    const char *file;
    bool is_data;
} counters[IB_COUNT] = {
    [IB_SENT] = {"port_xmit_data", true},
    [IB_RECV] = {"port_rcv_data", true},
    [IB_PACKETS_SENT] = {"port_xmit_packets", false},
    [IB_PACKETS_RECV] = {"port_rcv_packets", false},
};

struct counter {
    struct rm_file file;
    bool is_known; /* `last` is of an earlier reading */
    uint64_t last;
    double total; /* since the start of the monitor */
};

struct port {
    char name[NAME_BYTES];
    double data_bytes; /* bytes per count of data */
    struct counter counters[IB_COUNT];
};

struct ib_state {
    struct port *ports;
    size_t count;
};

/* ---- which ports ------------------------------------------------------------------------ */

/* Search for ACTIVE ports; `names` is sorted, and has the first MOST_PORTS of them. */
struct search {
    struct rm_collect *collect;
    const char *device; /* device whose ports are listed */
    size_t devices, ports;
    size_t odd;      /* ports whose name is no valid instance name */
    size_t past_end; /* ACTIVE ports beyond MOST_PORTS */
    size_t count;
    char names[MOST_PORTS][NAME_BYTES];
};

/* "mlx5_2" is before "mlx5_10". */
static bool is_before(const char *a, const char *b)
{
    size_t a_length = strlen(a);
    size_t b_length = strlen(b);
    return a_length != b_length ? a_length < b_length : strcmp(a, b) < 0;
}

static void keep(struct search *search, const char *name)
{
    size_t place = search->count;
    while (place > 0 && is_before(name, search->names[place - 1])) {
        place--;
    }
    if (search->count < MOST_PORTS) {
        search->count++;
    } else {
        search->past_end++;
    }
    if (place < search->count) {
        memmove(search->names[place + 1], search->names[place],
                (search->count - 1 - place) * NAME_BYTES);
        memcpy(search->names[place], name, NAME_BYTES);
    }
}

/* "4: ACTIVE" */
static bool is_active(struct rm_collect *collect, const char *device, const char *port)
{
    char path[RM_FILE_PATH_BYTES];
    struct rm_text text, line, word;
    uint64_t number;
    (void)snprintf(path, sizeof path, CLASS "/%s/ports/%s/state", device, port);
    resmon_status status = rm_file_read_once(&collect->root, path, &collect->scratch, &text);
    if (status != RESMON_OK) {
        rm_collect_remark(collect, resmon_last_error());
        return false;
    }
    return rm_parse_line(&text, &line) && rm_parse_u64(&line, &number) &&
           rm_parse_literal(&line, ":") && rm_parse_word(&line, &word) &&
           rm_text_equals(&word, "ACTIVE");
}

static bool visit_port(void *context, const char *port)
{
    struct search *search = context;
    char name[NAME_BYTES] = "";
    char shown[NAME_BYTES];
    uint64_t number;
    struct rm_text digits = rm_text_of(port, strlen(port));
    if (!rm_parse_u64(&digits, &number) || rm_text_left(&digits) > 0) {
        return true;
    }
    search->ports++;
    int length = snprintf(name, sizeof name, "%s:%s", search->device, port);
    (void)rm_text_set(shown, sizeof shown, name);
    if (length < 0 || length >= NAME_BYTES || strcmp(name, shown) != 0) {
        search->odd++;
    } else if (is_active(search->collect, search->device, port)) {
        keep(search, name);
    }
    return true;
}

static bool visit_device(void *context, const char *device)
{
    struct search *search = context;
    char path[RM_FILE_PATH_BYTES];
    search->devices++;
    search->device = device;
    (void)snprintf(path, sizeof path, CLASS "/%s/ports", device);
    if (rm_dir_visit(&search->collect->root, path, visit_port, search) != RESMON_OK) {
        rm_collect_remark(search->collect, resmon_last_error());
    }
    return true;
}

static resmon_status find_ports(struct search *search)
{
    resmon_status status = rm_dir_visit(&search->collect->root, CLASS, visit_device, search);
    if (status == RESMON_ENOENT || (status == RESMON_OK && search->devices == 0)) {
        return rm_error(RESMON_ENODEV, "this machine has no InfiniBand");
    }
    if (status != RESMON_OK) {
        return status;
    }
    char text[sizeof search->collect->remark];
    if (search->past_end > 0) {
        (void)snprintf(text, sizeof text, "%zu more ports are ACTIVE: at most %d are sampled",
                       search->past_end, MOST_PORTS);
        rm_collect_remark(search->collect, text);
    }
    if (search->odd > 0) {
        (void)snprintf(text, sizeof text,
                       "%zu ports are left out: their names are too long or not text", search->odd);
        rm_collect_remark(search->collect, text);
    }
    return RESMON_OK;
}

/* ---- counters --------------------------------------------------------------------------- */

/* Kernels before 4.5 have 32-bit counters in `counters`, and 64-bit ones, if any, in
 * `counters_ext`. */
static resmon_status open_counter(const struct rm_collect *collect, struct port *port, size_t which)
{
    static const struct {
        const char *directory, *suffix;
    } forms[] = {{"counters_ext", "_64"}, {"counters", ""}};
    const char *colon = strrchr(port->name, ':');
    resmon_status status = RESMON_ENOENT;
    for (size_t i = 0; i < RM_ARRAY_LEN(forms) && status == RESMON_ENOENT; i++) {
        char path[RM_FILE_PATH_BYTES];
        (void)snprintf(path, sizeof path, CLASS "/%.*s/ports/%s/%s/%s%s", (int)(colon - port->name),
                       port->name, colon + 1, forms[i].directory, counters[which].file,
                       forms[i].suffix);
        status = rm_file_open(&port->counters[which].file, &collect->root, path);
    }
    return status;
}

static resmon_status read_counter(struct rm_collect *collect, struct port *port, size_t which,
                                  uint64_t *ret_now)
{
    struct rm_file *file = &port->counters[which].file;
    struct rm_text text, line;
    uint64_t now;
    resmon_status status = rm_file_is_open(file) ? RESMON_OK : open_counter(collect, port, which);
    if (status != RESMON_OK) {
        return status;
    }
    status = rm_collect_read(collect, file, &text);
    if (status != RESMON_OK) {
        rm_file_close(file);
        return status;
    }
    if (!rm_parse_line(&text, &line) || !rm_parse_u64(&line, &now) || rm_text_left(&line) > 0) {
        return rm_error(RESMON_EFORMAT, "/%s does not hold a number", file->path);
    }
    *ret_now = now;
    return RESMON_OK;
}

/* A counter that fell was reset: its growth since the last reading is unknown. */
static double take(struct counter *counter, uint64_t now, double unit)
{
    if (counter->is_known && now > counter->last) {
        counter->total += (double)(now - counter->last) * unit;
    }
    counter->last = now;
    counter->is_known = true;
    return counter->total;
}

/* Returns the number of counters that could be read. */
static size_t read_port(struct rm_collect *collect, struct port *port, double *values)
{
    size_t count = 0;
    for (size_t i = 0; i < IB_COUNT; i++) {
        uint64_t now = 0;
        if (read_counter(collect, port, i, &now) != RESMON_OK) {
            rm_collect_remark(collect, resmon_last_error());
            continue;
        }
        count++;
        if (now == STUCK) {
            char text[sizeof collect->remark];
            (void)snprintf(text, sizeof text,
                           "%s of %s is at its limit of 32 bits and counts no more",
                           counters[i].file, port->name);
            rm_collect_remark(collect, text);
        } else {
            values[i] = take(&port->counters[i], now, counters[i].is_data ? port->data_bytes : 1.0);
        }
    }
    return count;
}

/* ---- the source ------------------------------------------------------------------------- */

static resmon_status read_ports(struct rm_collect *collect, void *state_, double *values)
{
    struct ib_state *state = state_;
    size_t count = 0;
    for (size_t i = 0; i < state->count; i++) {
        count += read_port(collect, &state->ports[i], values + i * IB_COUNT);
    }
    /* RESMON_EIO, not the file's own code: RESMON_ESRCH, say, would mean the process. */
    return count > 0 ? RESMON_OK : rm_error(RESMON_EIO, "%s", collect->remark);
}

/* Soft RoCE and some adapters have ports without these counters. */
static void open_port(struct rm_collect *collect, struct ib_state *state, const char *name)
{
    struct port *port = &state->ports[state->count];
    const char *colon = strrchr(name, ':');
    char path[RM_FILE_PATH_BYTES];
    double values[IB_COUNT];
    size_t opened = 0;
    memcpy(port->name, name, NAME_BYTES);
    (void)snprintf(path, sizeof path, CLASS "/%.*s/ports/%s/sc2vl", (int)(colon - name), name,
                   colon + 1);
    port->data_bytes = rm_file_exists(&collect->root, path) ? FLIT_BYTES : WORD_BYTES;
    for (size_t i = 0; i < IB_COUNT; i++) {
        if (open_counter(collect, port, i) == RESMON_OK) {
            opened++;
        } else {
            rm_collect_remark(collect, resmon_last_error());
        }
    }
    if (opened > 0) {
        state->count++;
        (void)read_port(collect, port, values);
    }
}

static resmon_status open_ports(struct rm_collect *collect, void *state_)
{
    struct ib_state *state = state_;
    struct search search = {.collect = collect};
    resmon_status status = find_ports(&search);
    if (status != RESMON_OK) {
        return status;
    }
    if (search.count == 0) {
        return rm_error(RESMON_ENOENT, "none of %zu ports is ACTIVE%s%s", search.ports,
                        collect->remark[0] != '\0' ? ": " : "", collect->remark);
    }
    state->ports = rm_alloc(search.count, sizeof *state->ports);
    if (state->ports == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for %zu ports", search.count);
    }
    for (size_t i = 0; i < search.count; i++) {
        open_port(collect, state, search.names[i]);
    }
    return state->count > 0 ? RESMON_OK : rm_error(RESMON_ENOENT, "%s", collect->remark);
}

static void close_ports(void *state_)
{
    struct ib_state *state = state_;
    for (size_t i = 0; i < state->count; i++) {
        for (size_t c = 0; c < IB_COUNT; c++) {
            rm_file_close(&state->ports[i].counters[c].file);
        }
    }
    rm_free(state->ports);
    *state = (struct ib_state){0};
}

static size_t count_ports(const void *state)
{
    return ((const struct ib_state *)state)->count;
}

static const char *name_of_port(const void *state, size_t index)
{
    return ((const struct ib_state *)state)->ports[index].name;
}

const struct rm_collector rm_collect_node_ib = {
    .name = "node_ib",
    .domain = RESMON_DOMAIN_NET,
    .min_interval_ns = 100 * RM_NS_PER_MS, /* each file is a request to the adapter's firmware */
    RM_METRICS(ib_metrics),
    .state_bytes = sizeof(struct ib_state),
    .open = open_ports,
    .read = read_ports,
    .close = close_ports,
    .instances = count_ports,
    .instance_name = name_of_port,
};
