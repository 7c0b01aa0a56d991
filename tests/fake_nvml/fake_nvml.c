/*
 * A driver library for tests: the real header's functions, answered from a text time line on a virtual clock.
 *
 * The file named by FAKE_NVML_TIMELINE holds lines `T_MS GPU KEY=VALUE ...`, in order of time; `*` is every GPU.
 * A line holds from its time on. GPUs 8 to 15 are slices (MIG instances) of the GPU that `parent` names.
 *   who         uuid bus name; of a slice: parent gi slices, gone=1 (somebody took it away)
 *   busy        util memutil (%), graphics sm tensor dram (%, hardware counters; -1 is not told), gpm=1 (has them)
 *   memory      total reserved used (MiB), procs=PID:MIB,PID:- or procs=-, psm=PID:PERCENT,... or psm=-
 *   power       power limit (mW), scoped average module (mW by scope; 0 is not told), energy (mJ)
 *   links       pcie_tx pcie_rx (kB/s), nvlink_tx nvlink_rx (KiB)
 *   mig         1: the card is cut, and tells neither its own load nor its processes'
 *   xid         a critical error at that instant
 *   fail.F=CODE (0 mends it), hang.F=1 (0 lets it return), cost.F=MICROSECONDS of function F, or of `all`
 * For GPU `*` also: init=CODE (nvmlInit fails), order=1,0 (another order: old handles are void).
 * fake_nvml_at(T_MS) sets the clock; without a call it stands at 0, with FAKE_NVML_REAL=1 it runs by itself.
 */
#include <nvml.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Static_assert(sizeof(nvmlUtilization_t) == 8, "nvmlUtilization_t");
_Static_assert(sizeof(nvmlMemory_t) == 24, "nvmlMemory_t");
_Static_assert(sizeof(nvmlMemory_v2_t) == 40, "nvmlMemory_v2_t");
_Static_assert(sizeof(nvmlProcessInfo_t) == 24, "nvmlProcessInfo_t");
_Static_assert(sizeof(nvmlPciInfo_t) == 68, "nvmlPciInfo_t");
_Static_assert(sizeof(nvmlSample_t) == 16, "nvmlSample_t");
_Static_assert(sizeof(nvmlProcessUtilizationSample_t) == 32, "nvmlProcessUtilizationSample_t");
_Static_assert(sizeof(nvmlFieldValue_t) == 40, "nvmlFieldValue_t");
_Static_assert(sizeof(nvmlEventData_t) == 32, "nvmlEventData_t");
_Static_assert(sizeof(nvmlDeviceAttributes_t) == 40, "nvmlDeviceAttributes_t");
_Static_assert(sizeof(nvmlGpmMetric_t) == 40, "nvmlGpmMetric_t");
_Static_assert(sizeof(nvmlGpmSupport_t) == 8, "nvmlGpmSupport_t");

#define GPUS 16
#define FIRST_SLICE 8
#define RULES 24
#define PROCS 8
#define CHANGES 64
#define EVENTS 32
#define PERIOD_US 166667ll
#define MIB 1048576ull

enum { UTIL, GRAPHICS, SM, TENSOR, DRAM, LEVELS };
static const char *level_names[LEVELS] = {"util", "graphics", "sm", "tensor", "dram"};

typedef struct { char call[64]; int code, hang, cost; } rule_t;
typedef struct {
    char uuid[96], bus[32], name[96];
    unsigned memutil, power, limit, mig, nprocs, nloads, nrules, gpm, gi, slices, gone;
    unsigned scoped, average, module, pcie_tx, pcie_rx;
    int parent;
    unsigned long long total, reserved, used, energy, nvlink_tx, nvlink_rx;
    nvmlProcessInfo_t procs[PROCS];
    nvmlProcessUtilizationSample_t loads[PROCS];
    rule_t rules[RULES];
} gpu_t;
/* What a level is from a time on; kept over time, because the driver's record and counters look back. */
typedef struct { int number; long long t_ms[CHANGES]; int value[CHANGES]; } history_t;
typedef struct { long long t_ms; int gpu; unsigned xid, told; } event_t;
struct nvmlGpmSample_st { int gpu; long long t_us; };

static gpu_t gpus[GPUS];
static history_t histories[GPUS][LEVELS];
static event_t events[EVENTS];
static int order[GPUS], count, generation = 1, started, init_code, nevents, is_read, marks, registered[GPUS];
static long long now_ms, start_us, registered_ms;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static long long real_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000ll + now.tv_nsec / 1000;
}
static int is_real(void) { return getenv("FAKE_NVML_REAL") != NULL; }
static long long clock_us(void) { return is_real() ? real_us() : now_ms * 1000; }

static int level(int gpu, int which, long long t_us) {
    history_t *history = &histories[gpu][which];
    int value = 0;
    for (int i = 0; i < history->number && history->t_ms[i] * 1000 <= t_us - start_us; i++) value = history->value[i];
    return value;
}

static void set_procs(gpu_t *gpu, char *list) {
    char *save = NULL;
    gpu->nprocs = 0;
    for (char *item = strtok_r(list, ",", &save); item && gpu->nprocs < PROCS; item = strtok_r(NULL, ",", &save)) {
        char *colon = strchr(item, ':');
        if (!colon) continue;
        nvmlProcessInfo_t *proc = &gpu->procs[gpu->nprocs++];
        proc->pid = (unsigned)atoi(item);
        proc->usedGpuMemory = colon[1] == '-' ? (unsigned long long)NVML_VALUE_NOT_AVAILABLE : strtoull(colon + 1, NULL, 10) * MIB;
        proc->gpuInstanceId = proc->computeInstanceId = 0xFFFFFFFFu;
    }
}

static void set_loads(gpu_t *gpu, char *list) {
    char *save = NULL;
    gpu->nloads = 0;
    for (char *item = strtok_r(list, ",", &save); item && gpu->nloads < PROCS; item = strtok_r(NULL, ",", &save)) {
        char *colon = strchr(item, ':');
        if (!colon) continue;
        nvmlProcessUtilizationSample_t *load = &gpu->loads[gpu->nloads++];
        load->pid = (unsigned)atoi(item);
        load->smUtil = (unsigned)atoi(colon + 1);
    }
}

static rule_t *rule(gpu_t *gpu, const char *call) {
    for (unsigned i = 0; i < gpu->nrules; i++)
        if (!strcmp(gpu->rules[i].call, call)) return &gpu->rules[i];
    if (gpu->nrules == RULES) abort();
    rule_t *made = &gpu->rules[gpu->nrules++];
    snprintf(made->call, sizeof made->call, "%s", call);
    return made;
}

static void set_key(int number, const char *key, char *value) {
    static const struct { const char *key; size_t offset; } words[] = {
        {"memutil", offsetof(gpu_t, memutil)}, {"power", offsetof(gpu_t, power)}, {"limit", offsetof(gpu_t, limit)},
        {"mig", offsetof(gpu_t, mig)}, {"gpm", offsetof(gpu_t, gpm)}, {"gi", offsetof(gpu_t, gi)},
        {"slices", offsetof(gpu_t, slices)}, {"gone", offsetof(gpu_t, gone)}, {"scoped", offsetof(gpu_t, scoped)},
        {"average", offsetof(gpu_t, average)}, {"module", offsetof(gpu_t, module)},
        {"pcie_tx", offsetof(gpu_t, pcie_tx)}, {"pcie_rx", offsetof(gpu_t, pcie_rx)}, {"parent", offsetof(gpu_t, parent)},
    };
    gpu_t *gpu = &gpus[number];
    unsigned long long amount = strtoull(value, NULL, 10);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(key, words[i].key)) { *(unsigned *)((char *)gpu + words[i].offset) = (unsigned)amount; return; }
    for (int i = 0; i < LEVELS; i++)
        if (!strcmp(key, level_names[i])) return;
    if (!strcmp(key, "uuid")) snprintf(gpu->uuid, sizeof gpu->uuid, "%s", value);
    else if (!strcmp(key, "bus")) snprintf(gpu->bus, sizeof gpu->bus, "%s", value);
    else if (!strcmp(key, "name")) snprintf(gpu->name, sizeof gpu->name, "%s", value);
    else if (!strcmp(key, "total")) gpu->total = amount * MIB;
    else if (!strcmp(key, "reserved")) gpu->reserved = amount * MIB;
    else if (!strcmp(key, "used")) gpu->used = amount * MIB;
    else if (!strcmp(key, "energy")) gpu->energy = amount;
    else if (!strcmp(key, "nvlink_tx")) gpu->nvlink_tx = amount;
    else if (!strcmp(key, "nvlink_rx")) gpu->nvlink_rx = amount;
    else if (!strcmp(key, "procs")) set_procs(gpu, value);
    else if (!strcmp(key, "psm")) set_loads(gpu, value);
    else if (!strncmp(key, "fail.", 5)) rule(gpu, key + 5)->code = (int)amount;
    else if (!strncmp(key, "hang.", 5)) rule(gpu, key + 5)->hang = (int)amount;
    else if (!strncmp(key, "cost.", 5)) rule(gpu, key + 5)->cost = (int)amount;
    else if (strcmp(key, "xid")) { fprintf(stderr, "fake_nvml: no key %s\n", key); abort(); }
}

/* What has a past is read once, all of it. */
static void remember(int gpu, const char *key, const char *value, long long t_ms) {
    if (!strcmp(key, "xid")) {
        if (nevents == EVENTS) abort();
        events[nevents++] = (event_t){t_ms, gpu, (unsigned)atoi(value), 0};
    }
    for (int i = 0; i < LEVELS; i++) {
        if (strcmp(key, level_names[i])) continue;
        history_t *history = &histories[gpu][i];
        if (history->number == CHANGES) abort();
        history->t_ms[history->number] = t_ms;
        history->value[history->number++] = atoi(value);
    }
}

static void set_order(char *list) {
    char *save = NULL;
    count = 0;
    for (char *item = strtok_r(list, ",", &save); item && count < GPUS; item = strtok_r(NULL, ",", &save))
        order[count++] = atoi(item);
    generation++;
}

static void apply(char *line, long long until_ms, int first) {
    char *save = NULL, *time = strtok_r(line, " \t\n", &save);
    if (!time || *time == '#') return;
    long long t_ms = atoll(time);
    char *who = strtok_r(NULL, " \t\n", &save);
    for (char *pair = strtok_r(NULL, " \t\n", &save); pair; pair = strtok_r(NULL, " \t\n", &save)) {
        char *value = strchr(pair, '=');
        if (!value) abort();
        *value++ = 0;
        int from = *who == '*' ? 0 : atoi(who), to = *who == '*' ? count : from + 1;
        if (first) for (int gpu = from; gpu < to; gpu++) remember(gpu, pair, value, t_ms);
        if (t_ms > until_ms) continue;
        if (!strcmp(pair, "init")) { init_code = atoi(value); continue; }
        if (!strcmp(pair, "order")) { set_order(value); continue; }
        while (*who != '*' && from < FIRST_SLICE && count <= from) { order[count] = count; count++; }
        if (*who == '*') to = count;
        for (int gpu = from; gpu < to; gpu++) { char copy[256]; snprintf(copy, sizeof copy, "%s", value); set_key(gpu, pair, copy); }
    }
}

/* The state at a time is all lines up to it, from the first: simple, and going back in time works too. */
static void settle(void) {
    char line[1024];
    pthread_mutex_lock(&guard);
    FILE *file = fopen(getenv("FAKE_NVML_TIMELINE"), "r");
    if (!file) abort();
    memset(gpus, 0, sizeof gpus);
    count = init_code = 0;
    generation = 1;
    if (!is_read && is_real()) start_us = real_us();
    while (fgets(line, sizeof line, file)) apply(line, now_ms, !is_read);
    is_read = 1;
    fclose(file);
    pthread_mutex_unlock(&guard);
}

void fake_nvml_at(long long t_ms) { now_ms = t_ms; settle(); }
/* Snapshots of counters that were taken and not given back. */
int fake_nvml_marks(void) { return marks; }

unsigned long fake_nvml_sizeof(const char *name) {
#define SIZE(type) if (!strcmp(name, #type)) return sizeof(type)
    SIZE(nvmlUtilization_t); SIZE(nvmlMemory_t); SIZE(nvmlMemory_v2_t); SIZE(nvmlProcessInfo_t); SIZE(nvmlPciInfo_t);
    SIZE(nvmlProcessInfo_v2_t); SIZE(nvmlSample_t); SIZE(nvmlProcessUtilizationSample_t); SIZE(nvmlFieldValue_t);
    SIZE(nvmlEventData_t); SIZE(nvmlDeviceAttributes_t); SIZE(nvmlGpmMetric_t); SIZE(nvmlGpmMetricsGet_t);
    SIZE(nvmlGpmSupport_t); SIZE(nvmlValue_t);
    return 0;
}

/* The rule of this call on this GPU, and how to leave it: an error, a hang, or the time that the call takes. */
static nvmlReturn_t obey(int number, const char *call) {
    int code = 0, hang, cost;
    do {
        hang = cost = 0;
        pthread_mutex_lock(&guard);
        for (unsigned i = 0; i < gpus[number].nrules; i++) {
            rule_t *found = &gpus[number].rules[i];
            if (strcmp(found->call, call) && strcmp(found->call, "all")) continue;
            if (found->code) code = found->code;
            hang |= found->hang;
            cost += found->cost;
        }
        pthread_mutex_unlock(&guard);
        struct timespec pause = {0, hang ? 5000000 : cost * 1000l};
        if (hang || cost) nanosleep(&pause, NULL);
    } while (hang);
    return (nvmlReturn_t)code;
}

static nvmlReturn_t look(nvmlDevice_t device, const char *call, gpu_t **gpu) {
    size_t handle = (size_t)device;
    if (!started) return NVML_ERROR_UNINITIALIZED;
    if ((int)(handle >> 8) != generation) return NVML_ERROR_INVALID_ARGUMENT;
    *gpu = &gpus[(handle & 0xff) - 1];
    if ((*gpu)->gone) return NVML_ERROR_INVALID_ARGUMENT;
    return obey((int)(handle & 0xff) - 1, call);
}
static int number_of(gpu_t *gpu) { return (int)(gpu - gpus); }
static int is_slice(gpu_t *gpu) { return number_of(gpu) >= FIRST_SLICE; }
static nvmlDevice_t handle_of(int gpu) { return (nvmlDevice_t)(size_t)((generation << 8) | (gpu + 1)); }

#define LOOK gpu_t *gpu; nvmlReturn_t code = look(device, __func__, &gpu); if (code) return code
#define NOT_CUT if (gpu->mig || is_slice(gpu)) return NVML_ERROR_NOT_SUPPORTED
#define WHOLE if (is_slice(gpu)) return NVML_ERROR_NOT_SUPPORTED

nvmlReturn_t nvmlInitWithFlags(unsigned int flags) {
    (void)flags;
    settle();
    if (init_code) return (nvmlReturn_t)init_code;
    started = 1;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
nvmlReturn_t nvmlShutdown(void) { if (!started) return NVML_ERROR_UNINITIALIZED; started = 0; return NVML_SUCCESS; }
const char *nvmlErrorString(nvmlReturn_t result) { (void)result; return "an error of the test's library"; }

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *number) {
    if (!started) return NVML_ERROR_UNINITIALIZED;
    *number = (unsigned)count;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
    gpu_t *gpu;
    if (!started) return NVML_ERROR_UNINITIALIZED;
    if ((int)index >= count) return NVML_ERROR_INVALID_ARGUMENT;
    *device = handle_of(order[index]);
    return look(*device, __func__, &gpu);
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length) { LOOK; snprintf(uuid, length, "%s", gpu->uuid); return code; }
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length) { LOOK; snprintf(name, length, "%s", gpu->name); return code; }
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci) {
    LOOK;
    memset(pci, 0, sizeof *pci);
    snprintf(pci->busId, sizeof pci->busId, "%s", gpu->bus);
    return code;
}
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *util) {
    LOOK; NOT_CUT;
    util->gpu = (unsigned)level(number_of(gpu), UTIL, clock_us());
    util->memory = gpu->memutil;
    return code;
}
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power) { LOOK; WHOLE; *power = gpu->power; return code; }
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *limit) { LOOK; WHOLE; *limit = gpu->limit; return code; }
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *energy) { LOOK; WHOLE; *energy = gpu->energy; return code; }

/* The record: one entry each sixth of a second, with the level of that time. */
nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, nvmlSamplingType_t type, unsigned long long seen, nvmlValueType_t *kind, unsigned int *size, nvmlSample_t *samples) {
    LOOK; NOT_CUT;
    if (type != NVML_GPU_UTILIZATION_SAMPLES) return NVML_ERROR_NOT_SUPPORTED;
    long long now_us = clock_us(), from = (long long)seen / PERIOD_US + 1, to = now_us / PERIOD_US;
    if (to - from > 119) from = to - 119;
    if (from > to) return NVML_ERROR_NOT_FOUND;
    *kind = NVML_VALUE_TYPE_UNSIGNED_INT;
    unsigned found = (unsigned)(to - from + 1);
    if (!samples) { *size = found; return code; }
    for (unsigned i = 0; i < found && i < *size; i++) {
        samples[i].timeStamp = (unsigned long long)((from + i) * PERIOD_US);
        samples[i].sampleValue.uiVal = (unsigned)level(number_of(gpu), UTIL, (from + i) * PERIOD_US);
    }
    *size = found < *size ? found : *size;
    return code;
}

/* The first struct counts the driver's reserve as used, as the real one does. */
#undef nvmlDeviceGetMemoryInfo
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory) {
    LOOK;
    memory->total = gpu->total;
    memory->used = gpu->used + gpu->reserved;
    memory->free = memory->total - memory->used;
    return code;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory) {
    LOOK;
    if (memory->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    memory->total = gpu->total;
    memory->used = gpu->used;
    memory->reserved = gpu->reserved;
    memory->free = gpu->total - gpu->used - gpu->reserved;
    return code;
}

/* MIG */
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending) {
    LOOK; WHOLE;
    *current = *pending = gpu->mig;
    return code;
}
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *number) { LOOK; *number = gpu->mig ? 7 : 0; return code; }
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *slice) {
    LOOK;
    int number = FIRST_SLICE + (int)index;
    if (number >= GPUS || !*gpus[number].uuid || gpus[number].gone || gpus[number].parent != number_of(gpu)) return NVML_ERROR_NOT_FOUND;
    *slice = handle_of(number);
    return code;
}
nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id) { LOOK; *id = gpu->gi; return code; }
nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes) {
    LOOK;
    memset(attributes, 0, sizeof *attributes);
    attributes->computeInstanceSliceCount = gpu->slices;
    attributes->gpuInstanceSliceCount = gpu->slices + 1; /* never the figure that is wanted */
    return code;
}

/* Processes */
static nvmlReturn_t list(gpu_t *gpu, unsigned number, unsigned int *size, nvmlProcessInfo_t *infos) {
    unsigned room = *size;
    *size = number;
    if (number > room) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < number; i++) infos[i] = gpu->procs[i];
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *size, nvmlProcessInfo_t *infos) { LOOK; return list(gpu, gpu->nprocs, size, infos); }
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int *size, nvmlProcessInfo_v2_t *infos) { LOOK; return list(gpu, gpu->nprocs, size, infos); }
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int *size, nvmlProcessInfo_t *infos) { LOOK; return list(gpu, 0, size, infos); }
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *size, nvmlProcessInfo_t *infos) { LOOK; return list(gpu, 0, size, infos); }
nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t *samples, unsigned int *size, unsigned long long seen) {
    LOOK; NOT_CUT;
    unsigned room = *size;
    if (!gpu->nloads || clock_us() <= (long long)seen) return NVML_ERROR_NOT_FOUND;
    *size = gpu->nloads;
    if (!samples || room < gpu->nloads) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < gpu->nloads; i++) { samples[i] = gpu->loads[i]; samples[i].timeStamp = (unsigned long long)clock_us(); }
    return code;
}

/* Hardware counters: the mean level between two snapshots, in steps of a millisecond. */
nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *support) {
    LOOK;
    if (support->version != NVML_GPM_SUPPORT_VERSION) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    support->isSupportedDevice = gpu->gpm;
    return code;
}
nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *sample) { *sample = calloc(1, sizeof **sample); marks++; return NVML_SUCCESS; }
nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample) { free(sample); marks--; return NVML_SUCCESS; }
nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample) {
    LOOK; NOT_CUT;
    *sample = (struct nvmlGpmSample_st){number_of(gpu), clock_us()};
    return code;
}
nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t device, unsigned int gi, nvmlGpmSample_t sample) {
    LOOK;
    for (int i = FIRST_SLICE; i < GPUS; i++) {
        if (!*gpus[i].uuid || gpus[i].gone || gpus[i].gi != gi || gpus[i].parent != number_of(gpu)) continue;
        *sample = (struct nvmlGpmSample_st){i, clock_us()};
        return obey(i, __func__);
    }
    return NVML_ERROR_NOT_FOUND;
}
nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *asked) {
    struct nvmlGpmSample_st *before = asked->sample1, *after = asked->sample2;
    if (asked->version != NVML_GPM_METRICS_GET_VERSION) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (before->gpu != after->gpu || after->t_us - before->t_us <= 100000) return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned i = 0; i < asked->numMetrics; i++) {
        nvmlGpmMetric_t *metric = &asked->metrics[i];
        int which = metric->metricId == 1 ? GRAPHICS : metric->metricId == 2 ? SM : metric->metricId == 5 ? TENSOR : DRAM;
        double sum = 0;
        long long steps = 0;
        for (long long t_us = before->t_us + 1000; t_us <= after->t_us; t_us += 1000, steps++) sum += level(before->gpu, which, t_us - 1000);
        metric->nvmlReturn = sum < 0 ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
        metric->value = sum / (double)steps;
    }
    return NVML_SUCCESS;
}

/* Fields by scope */
static unsigned long long field(gpu_t *gpu, unsigned id, unsigned scope) {
    unsigned alone = gpu->scoped ? gpu->scoped : gpu->power;
    if (id == NVML_FI_DEV_POWER_AVERAGE && scope == NVML_POWER_SCOPE_GPU) return gpu->average;
    if (id == NVML_FI_DEV_POWER_INSTANT && scope == NVML_POWER_SCOPE_GPU) return alone;
    if (id == NVML_FI_DEV_POWER_INSTANT && scope == NVML_POWER_SCOPE_MODULE) return gpu->module;
    if (id == NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX && scope == 0xFFFFFFFFu) return gpu->nvlink_tx;
    if (id == NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX && scope == 0xFFFFFFFFu) return gpu->nvlink_rx;
    return 0;
}
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int number, nvmlFieldValue_t *values) {
    LOOK; WHOLE;
    for (int i = 0; i < number; i++) {
        unsigned long long value = field(gpu, values[i].fieldId, values[i].scopeId);
        values[i].nvmlReturn = value ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
        if (values[i].fieldId >= NVML_FI_DEV_POWER_AVERAGE) values[i].value.uiVal = (unsigned)value;
        else values[i].value.ullVal = value;
    }
    return code;
}
nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, nvmlPcieUtilCounter_t counter, unsigned int *value) {
    LOOK; WHOLE;
    *value = counter == NVML_PCIE_UTIL_TX_BYTES ? gpu->pcie_tx : gpu->pcie_rx;
    return *value ? code : NVML_ERROR_NOT_SUPPORTED;
}

/* Faults: what happened before anybody listened is lost, and each is told once. */
nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set) { memset(registered, 0, sizeof registered); *set = (nvmlEventSet_t)(size_t)1; return NVML_SUCCESS; }
nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) { (void)set; return started ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED; }
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set) {
    LOOK; WHOLE;
    (void)set;
    registered[number_of(gpu)] = (types & nvmlEventTypeXidCriticalError) != 0;
    registered_ms = now_ms;
    return code;
}
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout) {
    (void)set; (void)timeout;
    for (int i = 0; i < nevents; i++) {
        event_t *event = &events[i];
        if (event->told || event->t_ms > now_ms || event->t_ms < registered_ms || !registered[event->gpu]) continue;
        event->told = 1;
        memset(data, 0, sizeof *data);
        data->device = handle_of(event->gpu);
        data->eventType = nvmlEventTypeXidCriticalError;
        data->eventData = event->xid;
        data->gpuInstanceId = data->computeInstanceId = 0xFFFFFFFFu;
        return NVML_SUCCESS;
    }
    return NVML_ERROR_TIMEOUT;
}
