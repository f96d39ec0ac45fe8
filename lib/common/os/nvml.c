/* SPDX-License-Identifier: MIT */
#include "os/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"
#include "os/kept.h"
#include "os/library.h"

#define LIBRARY "libnvidia-ml.so.1"

/* ---- NVML's declarations, as far as they are used --------------------------------------- */

typedef void *device;

enum {
    NVML_SUCCESS = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_LIBRARY_NOT_FOUND = 12,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_GPU_IS_LOST = 15
};

struct memory_v2 {
    unsigned version;
    uint64_t total, reserved, free, used;
};

struct process_info {
    unsigned pid;
    uint64_t used_bytes; /* all ones: not available */
    unsigned gpu_instance, compute_instance;
};

struct process_sample {
    unsigned pid;
    uint64_t time_us;
    unsigned sm, memory, encoder, decoder;
};

enum { VALUE_DOUBLE, VALUE_UINT, VALUE_ULONG, VALUE_ULLONG, VALUE_LLONG, VALUE_INT };

struct field_value {
    unsigned field, scope;
    int64_t time_us, latency_us;
    int type, status;
    union {
        double real;
        uint32_t u32;
        uint64_t u64;
        int64_t i64;
        int32_t i32;
    } value;
};

_Static_assert(sizeof(struct memory_v2) == 40 && sizeof(struct process_info) == 24 &&
                   sizeof(struct process_sample) == 32 && sizeof(struct field_value) == 40,
               "as NVML lays them out");

/* Entry points by name; NULL: the version lacks the function. */
#define ENTRIES(X)                                                                       \
    X(init, "nvmlInit_v2", (void))                                                       \
    X(shutdown, "nvmlShutdown", (void))                                                  \
    X(driver_version, "nvmlSystemGetDriverVersion", (char *, unsigned))                  \
    X(count_gpus, "nvmlDeviceGetCount_v2", (unsigned *))                                 \
    X(by_index, "nvmlDeviceGetHandleByIndex_v2", (unsigned, device *))                   \
    X(by_uuid, "nvmlDeviceGetHandleByUUID", (const char *, device *))                    \
    X(uuid, "nvmlDeviceGetUUID", (device, char *, unsigned))                             \
    X(name, "nvmlDeviceGetName", (device, char *, unsigned))                             \
    X(mig_mode, "nvmlDeviceGetMigMode", (device, unsigned *, unsigned *))                \
    X(mig_count, "nvmlDeviceGetMaxMigDeviceCount", (device, unsigned *))                 \
    X(mig_by_index, "nvmlDeviceGetMigDeviceHandleByIndex", (device, unsigned, device *)) \
    X(memory_v2, "nvmlDeviceGetMemoryInfo_v2", (device, struct memory_v2 *))             \
    X(fields, "nvmlDeviceGetFieldValues", (device, int, struct field_value *))           \
    X(processes, "nvmlDeviceGetComputeRunningProcesses_v3",                              \
      (device, unsigned *, struct process_info *))                                       \
    X(utilization, "nvmlDeviceGetProcessUtilization",                                    \
      (device, struct process_sample *, unsigned *, uint64_t))

/* ---- values ----------------------------------------------------------------------------- */

/* The form of a call: its arguments, and its result. */
enum shape {
    GIVES_U32,           /* (device, unsigned *) */
    GIVES_U32_OF,        /* (device, int which, unsigned *) */
    GIVES_U32S,          /* (device, struct of unsigned *) */
    GIVES_U32_AND_OTHER, /* (device, unsigned *, unsigned *other) */
    GIVES_U64,           /* (device, uint64_t *) */
    GIVES_U64S,          /* (device, struct of uint64_t *) */
    GIVES_U64S_OF,       /* (device, int which, struct of uint64_t *) */
    GIVES_U64_OF_TWO,    /* (device, int which, int other, uint64_t *) */
};

enum { NOW = RM_NVML_NOW, TOTALS = RM_NVML_TOTALS, JOULES = RM_NVML_JOULES };

/* `which` and `other` are arguments of the call; `part` is the index of the value in the result. */
static const struct call {
    enum rm_nvml_figure figure;
    unsigned of; /* the parts of a reading that include the value */
    const char *name;
    enum shape shape;
    int which, other;
    unsigned part;
    double scale;
} calls[] = {
    {RM_NVML_UTIL, NOW, "nvmlDeviceGetUtilizationRates", GIVES_U32S, 0, 0, 0, 1.0},
    {RM_NVML_MEM_UTIL, NOW, "nvmlDeviceGetUtilizationRates", GIVES_U32S, 0, 0, 1, 1.0},
    {RM_NVML_MEM_TOTAL, NOW, "nvmlDeviceGetMemoryInfo", GIVES_U64S, 0, 0, 0, 1.0},
    {RM_NVML_MEM_USED, NOW, "nvmlDeviceGetMemoryInfo", GIVES_U64S, 0, 0, 2, 1.0},
    {RM_NVML_BAR1_USED, TOTALS, "nvmlDeviceGetBAR1MemoryInfo", GIVES_U64S, 0, 0, 2, 1.0},
    {RM_NVML_CLOCK_GRAPHICS, NOW, "nvmlDeviceGetClockInfo", GIVES_U32_OF, 0, 0, 0, 1e6},
    {RM_NVML_CLOCK_SM, NOW, "nvmlDeviceGetClockInfo", GIVES_U32_OF, 1, 0, 0, 1e6},
    {RM_NVML_CLOCK_MEM, NOW, "nvmlDeviceGetClockInfo", GIVES_U32_OF, 2, 0, 0, 1e6},
    {RM_NVML_CLOCK_VIDEO, NOW, "nvmlDeviceGetClockInfo", GIVES_U32_OF, 3, 0, 0, 1e6},
    {RM_NVML_TEMP, NOW, "nvmlDeviceGetTemperature", GIVES_U32_OF, 0, 0, 0, 1.0},
    {RM_NVML_FAN, TOTALS, "nvmlDeviceGetFanSpeed", GIVES_U32, 0, 0, 0, 1.0},
    {RM_NVML_POWER, NOW | JOULES, "nvmlDeviceGetPowerUsage", GIVES_U32, 0, 0, 0, 1e-3},
    {RM_NVML_POWER_LIMIT, NOW, "nvmlDeviceGetEnforcedPowerLimit", GIVES_U32, 0, 0, 0, 1e-3},
    {RM_NVML_ENERGY, TOTALS | JOULES, "nvmlDeviceGetTotalEnergyConsumption", GIVES_U64, 0, 0, 0,
     1e-3},
    /* Policy 10, NVML_PERF_POLICY_TOTAL_APP_CLOCKS: below the application's clocks, for any reason;
     * violationTime is the second member. */
    {RM_NVML_THROTTLE_ANY, TOTALS, "nvmlDeviceGetViolationStatus", GIVES_U64S_OF, 10, 0, 1, 1e-9},
    {RM_NVML_THROTTLE_REASONS, NOW, "nvmlDeviceGetCurrentClocksEventReasons", GIVES_U64, 0, 0, 0,
     1.0},
    {RM_NVML_THROTTLE_REASONS, NOW, "nvmlDeviceGetCurrentClocksThrottleReasons", GIVES_U64, 0, 0, 0,
     1.0},
    /* Corrected errors are of one bit, uncorrected ones of two; since the driver was loaded (0:
     * volatile). */
    {RM_NVML_ECC_CORRECTED, TOTALS, "nvmlDeviceGetTotalEccErrors", GIVES_U64_OF_TWO, 0, 0, 0, 1.0},
    {RM_NVML_ECC_UNCORRECTED, TOTALS, "nvmlDeviceGetTotalEccErrors", GIVES_U64_OF_TWO, 1, 0, 0,
     1.0},
    {RM_NVML_ENC, NOW, "nvmlDeviceGetEncoderUtilization", GIVES_U32_AND_OTHER, 0, 0, 0, 1.0},
    {RM_NVML_DEC, NOW, "nvmlDeviceGetDecoderUtilization", GIVES_U32_AND_OTHER, 0, 0, 0, 1.0},
};

/* NVML_FI_DEV_*: read with one call for each part.  The two PCIe fields are counters.  The calls
 * that measure PCIe traffic take 20 ms each, and are not used. */
static const struct field {
    enum rm_nvml_figure figure;
    unsigned of;
    unsigned id;
    double scale;
} fields[] = {
    {RM_NVML_MEM_TEMP, NOW, 82, 1.0},
    {RM_NVML_POWER_NOW, NOW, 186, 1e-3},
    {RM_NVML_THROTTLE_POWER, TOTALS, 74, 1e-9},
    {RM_NVML_THROTTLE_SYNC_BOOST, TOTALS, 76, 1e-9},
    {RM_NVML_THROTTLE_THERMAL_SW, TOTALS, 269, 1e-9},
    {RM_NVML_THROTTLE_THERMAL_HW, TOTALS, 270, 1e-9},
    {RM_NVML_THROTTLE_BRAKE, TOTALS, 271, 1e-9},
    {RM_NVML_PCIE_SENT, NOW, 197, 1.0},
    {RM_NVML_PCIE_RECV, NOW, 198, 1.0},
};

#define CALLS  RM_ARRAY_LEN(calls)
#define FIELDS RM_ARRAY_LEN(fields)

/* ---- the library ------------------------------------------------------------------------ */

#define RETRY_NS (10 * RM_NS_PER_S)

/* The maximum age of the use by processes.  The driver keeps samples for longer, and a query takes
 * milliseconds. */
#define USE_NS (900 * RM_NS_PER_MS)

struct use {
    unsigned pid;
    unsigned count;   /* the number of samples */
    double sm;        /* the sum of the samples, % */
    bool was_running; /* the process was running at the query */
};

struct gpu {
    struct rm_gpu_info info;
    device handle;
    bool is_lost;
    int64_t tried_ns;       /* time of the last attempt to find a lost GPU */
    bool lacks_call[CALLS]; /* unsupported: not called again */
    bool lacks_field[FIELDS];
    uint64_t sampled_us; /* time of the newest sample of the use by processes */
    int64_t asked_ns;    /* time of the last query for the use by processes; 0: never */
    size_t use_count;
    struct use uses[RM_MOST_GPU_PROCESSES];
};

struct rm_nvml {
    void *library;
#define MEMBER(member, symbol, arguments) int(*member) arguments;
    ENTRIES(MEMBER)
#undef MEMBER
    const char *(*error_text)(int);
    void *entries[CALLS];
    char driver[80];
    unsigned inits; /* NVML counts initialisations and needs as many shutdowns */
    /* Opened after the device files.  NVML keeps those open, and uses them by descriptor number. */
    struct rm_kept sentinel;
    struct process_info running[RM_MOST_GPU_PROCESSES];
    struct process_sample samples[RM_MOST_GPU_PROCESSES * 4];
    size_t count;
    struct gpu gpus[RM_MOST_GPUS];
};

/* ISO C has no cast from an object pointer to a function pointer; POSIX guarantees equal
 * representation. */
static void look_up(struct rm_nvml *nvml, void *member, const char *name)
{
    void *symbol = dlsym(nvml->library, name);
    memcpy(member, &symbol, sizeof symbol);
}

static void load_entries(struct rm_nvml *nvml)
{
#define LOAD(member, symbol, arguments) look_up(nvml, &nvml->member, symbol);
    ENTRIES(LOAD)
#undef LOAD
    look_up(nvml, &nvml->error_text, "nvmlErrorString");
    if (nvml->processes == NULL) {
        look_up(nvml, &nvml->processes, "nvmlDeviceGetComputeRunningProcesses_v2");
    }
    for (size_t i = 0; i < CALLS; i++) {
        look_up(nvml, &nvml->entries[i], calls[i].name);
    }
}

static resmon_status failed(const struct rm_nvml *nvml, const char *what, int code)
{
    const char *why = nvml->error_text != NULL ? nvml->error_text(code) : NULL;
    resmon_status status = RESMON_EIO;
    if (code == NVML_DRIVER_NOT_LOADED || code == NVML_LIBRARY_NOT_FOUND ||
        code == NVML_NOT_FOUND) {
        status = RESMON_ENODEV;
    } else if (code == NVML_NO_PERMISSION) {
        status = RESMON_EACCES;
    }
    return rm_error(status, "NVML: %s: %.80s (%d)", what, why != NULL ? why : "failed", code);
}

bool rm_nvml_may_be_here(void)
{
    static const char *const signs[] = {"/dev/nvidiactl", "/proc/driver/nvidia/version",
                                        "/dev/dxg"};
    for (size_t i = 0; i < RM_ARRAY_LEN(signs); i++) {
        if (access(signs[i], F_OK) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- which GPUs ------------------------------------------------------------------------- */

static void describe(const struct rm_nvml *nvml, struct gpu *gpu)
{
    char text[sizeof gpu->info.name] = "";
    if (nvml->name != NULL && nvml->name(gpu->handle, text, sizeof text) == NVML_SUCCESS) {
        text[sizeof text - 1] = '\0';
        (void)rm_text_set(gpu->info.name, sizeof gpu->info.name, text);
    }
    memset(text, 0, sizeof text);
    if (nvml->uuid != NULL && nvml->uuid(gpu->handle, text, sizeof text) == NVML_SUCCESS) {
        text[sizeof text - 1] = '\0';
        (void)rm_text_set(gpu->info.uuid, sizeof gpu->info.uuid, text);
    }
}

static struct gpu *add_gpu(struct rm_nvml *nvml, device handle)
{
    if (nvml->count == RM_MOST_GPUS) {
        return NULL;
    }
    struct gpu *gpu = &nvml->gpus[nvml->count++];
    *gpu = (struct gpu){.handle = handle};
    describe(nvml, gpu);
    return gpu;
}

static void add_slices(struct rm_nvml *nvml, device whole, unsigned number)
{
    unsigned mode = 0;
    unsigned pending;
    unsigned most = 0;
    if (nvml->mig_mode == NULL || nvml->mig_count == NULL || nvml->mig_by_index == NULL ||
        nvml->mig_mode(whole, &mode, &pending) != NVML_SUCCESS || mode != 1 ||
        nvml->mig_count(whole, &most) != NVML_SUCCESS) {
        return;
    }
    for (unsigned i = 0; i < most && i < RM_MOST_GPUS; i++) {
        device slice = NULL;
        if (nvml->mig_by_index(whole, i, &slice) == NVML_SUCCESS) {
            struct gpu *gpu = add_gpu(nvml, slice);
            if (gpu != NULL) {
                gpu->info.is_slice = true;
                (void)snprintf(gpu->info.instance, sizeof gpu->info.instance, "%u:%u",
                               number % 1000, i % 1000);
            }
        }
    }
}

static resmon_status find_gpus(struct rm_nvml *nvml)
{
    unsigned count = 0;
    int last = NVML_NOT_FOUND;
    int code = nvml->count_gpus(&count);
    if (code != NVML_SUCCESS) {
        return failed(nvml, "the GPUs cannot be counted", code);
    }
    for (unsigned i = 0; i < count && i < RM_MOST_GPUS; i++) {
        device handle = NULL;
        code = nvml->by_index(i, &handle);
        if (code != NVML_SUCCESS) {
            last = code; /* no permission for this user, or a lost GPU */
            continue;
        }
        struct gpu *gpu = add_gpu(nvml, handle);
        if (gpu != NULL) {
            (void)snprintf(gpu->info.instance, sizeof gpu->info.instance, "%u", i);
            add_slices(nvml, handle, i);
        }
    }
    return nvml->count > 0 ? RESMON_OK : failed(nvml, "there is no GPU", last);
}

/* ---- life ------------------------------------------------------------------------------- */

static resmon_status load(struct rm_nvml *nvml, const char *name)
{
    /* The library stays loaded: some versions leave destructors of threads behind. */
    const char *why = "";
    nvml->library = rm_library_open(name != NULL ? name : LIBRARY, RTLD_NODELETE, &why);
    if (nvml->library == NULL) {
        return rm_error(RESMON_ENODEV, "NVML cannot be loaded: %.160s", why);
    }
    load_entries(nvml);
    if (nvml->init == NULL || nvml->shutdown == NULL || nvml->count_gpus == NULL ||
        nvml->by_index == NULL) {
        return rm_error(RESMON_ENOTSUP,
                        "%s is not NVML: it lacks nvmlInit_v2 or a related function",
                        name != NULL ? name : LIBRARY);
    }
    return RESMON_OK;
}

resmon_status rm_nvml_load(const char *library, struct rm_nvml **ret_nvml)
{
    struct rm_nvml *nvml = rm_alloc(1, sizeof *nvml);
    if (nvml == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for NVML");
    }
    resmon_status status = load(nvml, library);
    if (status != RESMON_OK) {
        rm_free(nvml);
        return status;
    }
    *ret_nvml = nvml;
    return RESMON_OK;
}

resmon_status rm_nvml_open(struct rm_nvml *nvml)
{
    int code = nvml->init();
    if (code != NVML_SUCCESS) {
        return failed(nvml, "it does not start", code);
    }
    nvml->inits = 1;
    (void)rm_kept_open_sentinel(&nvml->sentinel);
    if (nvml->driver_version != NULL &&
        nvml->driver_version(nvml->driver, sizeof nvml->driver) == NVML_SUCCESS) {
        nvml->driver[sizeof nvml->driver - 1] = '\0';
    }
    return find_gpus(nvml);
}

/* Whether the program has closed NVML's descriptors: their numbers may be the program's files now.
 */
static bool has_lost_files(const struct rm_nvml *nvml)
{
    return nvml->sentinel.is_open && !rm_kept_is_ours(&nvml->sentinel);
}

void rm_nvml_close(struct rm_nvml *nvml)
{
    if (nvml != NULL) {
        for (; !has_lost_files(nvml) && nvml->inits > 0; nvml->inits--) {
            (void)nvml->shutdown();
        }
        rm_kept_close(&nvml->sentinel);
        rm_free(nvml);
    }
}

size_t rm_nvml_count(const struct rm_nvml *nvml)
{
    return nvml->count;
}

const struct rm_gpu_info *rm_nvml_info(const struct rm_nvml *nvml, size_t index)
{
    return &nvml->gpus[index].info;
}

const char *rm_nvml_driver(const struct rm_nvml *nvml)
{
    return nvml->driver;
}

/* ---- reading ---------------------------------------------------------------------------- */

/* Makes the call; the value goes to `ret_value`.  Returns NVML's code. */
static int ask(const struct call *call, void *entry, device handle, double *ret_value)
{
    unsigned u32[4] = {0};
    uint64_t u64[4] = {0};
    bool is_u64 = false;
    int code;
    union {
        void *entry;
        int (*u32)(device, unsigned *);
        int (*u32_of)(device, int, unsigned *);
        int (*u32_and_other)(device, unsigned *, unsigned *);
        int (*u64)(device, uint64_t *);
        int (*u64_of)(device, int, uint64_t *);
        int (*u64_of_two)(device, int, int, uint64_t *);
    } as = {.entry = entry};
    switch (call->shape) {
    case GIVES_U32:
    case GIVES_U32S:
        code = as.u32(handle, u32);
        break;
    case GIVES_U32_OF:
        code = as.u32_of(handle, call->which, u32);
        break;
    case GIVES_U32_AND_OTHER:
        code = as.u32_and_other(handle, &u32[0], &u32[1]);
        break;
    case GIVES_U64:
    case GIVES_U64S:
        is_u64 = true;
        code = as.u64(handle, u64);
        break;
    case GIVES_U64S_OF:
        is_u64 = true;
        code = as.u64_of(handle, call->which, u64);
        break;
    default:
        is_u64 = true;
        code = as.u64_of_two(handle, call->which, call->other, u64);
        break;
    }
    *ret_value = (is_u64 ? (double)u64[call->part] : (double)u32[call->part]) * call->scale;
    return code;
}

/* These codes are permanent: the GPU, its driver or its slice does not support the call. */
static bool is_lacking(int code)
{
    return code == NVML_NOT_SUPPORTED || code == NVML_INVALID_ARGUMENT ||
           code == NVML_NO_PERMISSION || code == NVML_FUNCTION_NOT_FOUND;
}

/* Whether a slice has this value of its own.  Power, energy and clocks would be the values of its
 * GPU. */
static bool is_of_slices(enum rm_nvml_figure figure)
{
    return figure == RM_NVML_MEM_USED || figure == RM_NVML_MEM_TOTAL ||
           figure == RM_NVML_MEM_RESERVED || figure == RM_NVML_BAR1_USED ||
           figure == RM_NVML_ECC_CORRECTED || figure == RM_NVML_ECC_UNCORRECTED;
}

/* Records what a code means for the GPU as a whole, or for NVML.  NVML_UNINITIALIZED: other code
 * has shut NVML down.  Then no initialisation of ours is left to undo, and no handle is valid. */
static void note(struct rm_nvml *nvml, struct gpu *gpu, int code)
{
    gpu->is_lost = gpu->is_lost || code == NVML_GPU_IS_LOST;
    for (size_t i = 0; i < nvml->count && code == NVML_UNINITIALIZED; i++) {
        nvml->inits = 0;
        nvml->gpus[i].is_lost = true;
        nvml->gpus[i].tried_ns = 0;
    }
}

static void read_calls(struct rm_nvml *nvml, struct gpu *gpu, unsigned parts,
                       struct rm_gpu_reading *reading)
{
    for (size_t i = 0; i < CALLS && !gpu->is_lost; i++) {
        double value;
        double *figure = &reading->figures[calls[i].figure];
        if ((calls[i].of & parts) == 0 || nvml->entries[i] == NULL || gpu->lacks_call[i] ||
            !isnan(*figure) || (gpu->info.is_slice && !is_of_slices(calls[i].figure))) {
            continue;
        }
        int code = ask(&calls[i], nvml->entries[i], gpu->handle, &value);
        if (code == NVML_SUCCESS) {
            *figure = value;
        }
        gpu->lacks_call[i] = is_lacking(code);
        note(nvml, gpu, code);
    }
}

/* Reads the memory with the driver's reserved part separate, where NVML supports that; `used`
 * excludes the reserved part. */
static void read_memory(struct rm_nvml *nvml, struct gpu *gpu, struct rm_gpu_reading *reading)
{
    struct memory_v2 memory = {.version = sizeof memory | 2U << 24};
    if (nvml->memory_v2 == NULL || gpu->is_lost) {
        return;
    }
    int code = nvml->memory_v2(gpu->handle, &memory);
    note(nvml, gpu, code);
    if (code != NVML_SUCCESS) {
        return;
    }
    reading->figures[RM_NVML_MEM_TOTAL] = (double)memory.total;
    reading->figures[RM_NVML_MEM_USED] = (double)memory.used;
    reading->figures[RM_NVML_MEM_RESERVED] = (double)memory.reserved;
}

static double number_of(const struct field_value *value)
{
    switch (value->type) {
    case VALUE_DOUBLE:
        return value->value.real;
    case VALUE_UINT:
        return (double)value->value.u32;
    case VALUE_ULONG:
    case VALUE_ULLONG:
        return (double)value->value.u64;
    case VALUE_LLONG:
        return (double)value->value.i64;
    case VALUE_INT:
        return (double)value->value.i32;
    default:
        return RM_NAN;
    }
}

static void read_fields(struct rm_nvml *nvml, struct gpu *gpu, unsigned parts,
                        struct rm_gpu_reading *reading)
{
    struct field_value values[FIELDS];
    size_t which[FIELDS];
    int count = 0;
    if (nvml->fields == NULL || gpu->info.is_slice || gpu->is_lost) {
        return;
    }
    for (size_t i = 0; i < FIELDS; i++) {
        if ((fields[i].of & parts) != 0 && !gpu->lacks_field[i]) {
            values[count] = (struct field_value){.field = fields[i].id};
            which[count++] = i;
        }
    }
    int code = count > 0 ? nvml->fields(gpu->handle, count, values) : NVML_SUCCESS;
    note(nvml, gpu, code);
    for (int k = 0; k < count && code == NVML_SUCCESS; k++) {
        if (values[k].status == NVML_SUCCESS) {
            reading->figures[fields[which[k]].figure] =
                number_of(&values[k]) * fields[which[k]].scale;
        }
        gpu->lacks_field[which[k]] = is_lacking(values[k].status);
        note(nvml, gpu, values[k].status);
    }
}

/* ---- processes -------------------------------------------------------------------------- */

static struct rm_gpu_process *process_of(struct rm_gpu_reading *reading, unsigned pid)
{
    for (size_t i = 0; i < reading->process_count; i++) {
        if (reading->processes[i].pid == (int64_t)pid) {
            return &reading->processes[i];
        }
    }
    if (reading->process_count == RM_MOST_GPU_PROCESSES) {
        return NULL;
    }
    struct rm_gpu_process *process = &reading->processes[reading->process_count++];
    *process = (struct rm_gpu_process){.pid = pid, .sm = RM_NAN, .bytes = RM_NAN};
    return process;
}

static void read_running(struct rm_nvml *nvml, struct gpu *gpu, struct rm_gpu_reading *reading)
{
    unsigned count = RM_MOST_GPU_PROCESSES;
    if (nvml->processes == NULL || gpu->is_lost ||
        nvml->processes(gpu->handle, &count, nvml->running) != NVML_SUCCESS) {
        return;
    }
    count = count < RM_MOST_GPU_PROCESSES ? count : RM_MOST_GPU_PROCESSES;
    reading->figures[RM_NVML_PROCESSES] = (double)count;
    for (unsigned i = 0; i < count; i++) {
        struct rm_gpu_process *process = process_of(reading, nvml->running[i].pid);
        if (process != NULL && nvml->running[i].used_bytes != UINT64_MAX) {
            double before = isnan(process->bytes) ? 0.0 : process->bytes;
            process->bytes = before + (double)nvml->running[i].used_bytes;
        }
    }
}

static struct use *use_of(struct gpu *gpu, unsigned pid)
{
    for (size_t i = 0; i < gpu->use_count; i++) {
        if (gpu->uses[i].pid == pid) {
            return &gpu->uses[i];
        }
    }
    if (gpu->use_count == RM_MOST_GPU_PROCESSES) {
        return NULL;
    }
    gpu->uses[gpu->use_count] = (struct use){.pid = pid};
    return &gpu->uses[gpu->use_count++];
}

/* Sums each process's samples that are newer than the last query.  The first query returns the
 * driver's history, which is skipped.  The driver has no samples of processes that run but are
 * idle. */
static void ask_for_use(struct rm_nvml *nvml, struct gpu *gpu, const struct rm_gpu_reading *reading)
{
    unsigned count = RM_ARRAY_LEN(nvml->samples);
    uint64_t newest = 0;
    bool is_first = gpu->asked_ns == 0;
    gpu->use_count = 0;
    if (nvml->utilization(gpu->handle, nvml->samples, &count, gpu->sampled_us) != NVML_SUCCESS) {
        return;
    }
    for (unsigned i = 0; i < count && i < RM_ARRAY_LEN(nvml->samples); i++) {
        const struct process_sample *sample = &nvml->samples[i];
        bool is_seen = is_first || sample->time_us <= gpu->sampled_us;
        newest = sample->time_us > newest ? sample->time_us : newest;
        struct use *use = is_seen || sample->sm > 100 ? NULL : use_of(gpu, sample->pid);
        if (use != NULL) {
            use->sm += (double)sample->sm;
            use->count++;
        }
    }
    /* Also to an earlier time: a clock may be set back. */
    gpu->sampled_us = newest != 0 ? newest : gpu->sampled_us;
    for (size_t i = 0; i < reading->process_count && gpu->use_count > 0; i++) {
        struct use *use = use_of(gpu, (unsigned)reading->processes[i].pid);
        if (use != NULL) {
            use->was_running = true;
        }
    }
}

static bool is_running(const struct rm_gpu_reading *reading, unsigned pid)
{
    for (size_t i = 0; i < reading->process_count; i++) {
        if (reading->processes[i].pid == (int64_t)pid) {
            return true;
        }
    }
    return false;
}

/* Reports running processes, and processes with samples that the driver never listed as running
 * (graphics).  Leaves out ended processes. */
static void tell_use(const struct gpu *gpu, struct rm_gpu_reading *reading)
{
    for (size_t i = 0; i < gpu->use_count; i++) {
        const struct use *use = &gpu->uses[i];
        bool has_ended = use->was_running && !is_running(reading, use->pid);
        struct rm_gpu_process *process = has_ended ? NULL : process_of(reading, use->pid);
        if (process != NULL) {
            process->sm = use->count > 0 ? use->sm / (double)use->count : 0.0;
        }
    }
}

/* Whether the last query includes all processes of this reading: newer processes are missing in it.
 */
static bool is_of_all(const struct gpu *gpu, const struct rm_gpu_reading *reading)
{
    for (size_t k = 0; k < reading->process_count; k++) {
        size_t i = 0;
        while (i < gpu->use_count && (int64_t)gpu->uses[i].pid != reading->processes[k].pid) {
            i++;
        }
        if (i == gpu->use_count) {
            return false;
        }
    }
    return true;
}

/* The mean of each process's samples. */
static void read_use(struct rm_nvml *nvml, struct gpu *gpu, unsigned parts,
                     struct rm_gpu_reading *reading)
{
    bool is_known = gpu->use_count > 0 && is_of_all(gpu, reading);
    if (nvml->utilization == NULL || gpu->is_lost || gpu->info.is_slice) {
        return;
    }
    if ((parts & RM_NVML_USE) != 0 && (!is_known || reading->t_ns - gpu->asked_ns >= USE_NS)) {
        ask_for_use(nvml, gpu, reading);
        gpu->asked_ns = reading->t_ns;
        is_known = true;
    }
    if (is_known) {
        tell_use(gpu, reading);
    }
}

/* ---- a reading -------------------------------------------------------------------------- */

/* Finds the GPU again, after the driver was loaded again or other code shut NVML down. */
static void find_again(struct rm_nvml *nvml, struct gpu *gpu)
{
    int64_t now_ns = rm_clock_monotonic_ns();
    device handle = NULL;
    if (gpu->tried_ns != 0 && now_ns - gpu->tried_ns < RETRY_NS) {
        return;
    }
    gpu->tried_ns = now_ns;
    if (nvml->inits == 0 && nvml->init() == NVML_SUCCESS) {
        nvml->inits = 1;
    }
    if (nvml->by_uuid != NULL && gpu->info.uuid[0] != '\0' &&
        nvml->by_uuid(gpu->info.uuid, &handle) == NVML_SUCCESS) {
        gpu->handle = handle;
        gpu->is_lost = false;
    }
}

void rm_nvml_read(struct rm_nvml *nvml, size_t index, unsigned parts,
                  struct rm_gpu_reading *ret_reading)
{
    struct gpu *gpu = &nvml->gpus[index];
    for (size_t i = 0; i < RM_NVML_FIGURES; i++) {
        ret_reading->figures[i] = RM_NAN;
    }
    ret_reading->process_count = 0;
    ret_reading->is_closed = has_lost_files(nvml);
    if (ret_reading->is_closed) {
        ret_reading->t_ns = rm_clock_monotonic_ns();
        ret_reading->is_lost = true;
        return;
    }
    if (gpu->is_lost) {
        find_again(nvml, gpu);
    }
    ret_reading->t_ns = rm_clock_monotonic_ns();
    if ((parts & RM_NVML_NOW) != 0) {
        read_memory(nvml, gpu, ret_reading);
    }
    read_calls(nvml, gpu, parts, ret_reading);
    read_fields(nvml, gpu, parts, ret_reading);
    if ((parts & (RM_NVML_NOW | RM_NVML_USE)) != 0) {
        read_running(nvml, gpu, ret_reading);
        read_use(nvml, gpu, parts, ret_reading);
    }
    ret_reading->is_lost = gpu->is_lost;
}
