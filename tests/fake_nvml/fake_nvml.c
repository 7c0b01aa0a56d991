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

#include "timeline.h"

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
