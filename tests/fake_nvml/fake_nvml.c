/*
 * A driver library for tests: the real header's functions, answered from a text time line on a virtual clock.
 *
 * The file named by FAKE_NVML_TIMELINE holds lines `T_MS GPU KEY=VALUE ...`, in order of time; `*` is every GPU.
 * A line holds from its time on. Keys: uuid bus name util memutil total reserved used (MiB) power limit (mW)
 * energy (mJ) mig procs=PID:MIB,PID:- (or procs=-), fail.FUNCTION=CODE (0 mends it), fail.all=CODE.
 * For GPU `*` also: init=CODE (nvmlInit fails), order=1,0 (another order: old handles are void).
 * fake_nvml_at(T_MS) sets the clock; without a call it stands at 0.
 */
#include <nvml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(nvmlUtilization_t) == 8, "nvmlUtilization_t");
_Static_assert(sizeof(nvmlMemory_t) == 24, "nvmlMemory_t");
_Static_assert(sizeof(nvmlMemory_v2_t) == 40, "nvmlMemory_v2_t");
_Static_assert(sizeof(nvmlProcessInfo_t) == 24, "nvmlProcessInfo_t");
_Static_assert(sizeof(nvmlPciInfo_t) == 68, "nvmlPciInfo_t");

#define GPUS 16
#define FAILS 16
#define PROCS 8
#define MIB 1048576ull

typedef struct {
    char uuid[96], bus[32], name[96];
    unsigned util, memutil, power, limit, mig, nprocs, nfails;
    unsigned long long total, reserved, used, energy;
    nvmlProcessInfo_t procs[PROCS];
    struct { char call[64]; int code; } fails[FAILS];
} gpu_t;

static gpu_t gpus[GPUS];
static int order[GPUS], count, generation = 1, started, init_code;
static long long now_ms;

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

static void set_fail(gpu_t *gpu, const char *call, int code) {
    for (unsigned i = 0; i < gpu->nfails; i++)
        if (!strcmp(gpu->fails[i].call, call)) { gpu->fails[i].code = code; return; }
    if (gpu->nfails == FAILS) abort();
    snprintf(gpu->fails[gpu->nfails].call, sizeof gpu->fails[0].call, "%s", call);
    gpu->fails[gpu->nfails++].code = code;
}

static void set_key(gpu_t *gpu, const char *key, char *value) {
    unsigned long long number = strtoull(value, NULL, 10);
    if (!strcmp(key, "uuid")) snprintf(gpu->uuid, sizeof gpu->uuid, "%s", value);
    else if (!strcmp(key, "bus")) snprintf(gpu->bus, sizeof gpu->bus, "%s", value);
    else if (!strcmp(key, "name")) snprintf(gpu->name, sizeof gpu->name, "%s", value);
    else if (!strcmp(key, "util")) gpu->util = (unsigned)number;
    else if (!strcmp(key, "memutil")) gpu->memutil = (unsigned)number;
    else if (!strcmp(key, "power")) gpu->power = (unsigned)number;
    else if (!strcmp(key, "limit")) gpu->limit = (unsigned)number;
    else if (!strcmp(key, "mig")) gpu->mig = (unsigned)number;
    else if (!strcmp(key, "total")) gpu->total = number * MIB;
    else if (!strcmp(key, "reserved")) gpu->reserved = number * MIB;
    else if (!strcmp(key, "used")) gpu->used = number * MIB;
    else if (!strcmp(key, "energy")) gpu->energy = number;
    else if (!strcmp(key, "procs")) set_procs(gpu, value);
    else if (!strncmp(key, "fail.", 5)) set_fail(gpu, key + 5, (int)number);
    else { fprintf(stderr, "fake_nvml: no key %s\n", key); abort(); }
}

static void set_order(char *list) {
    char *save = NULL;
    count = 0;
    for (char *item = strtok_r(list, ",", &save); item && count < GPUS; item = strtok_r(NULL, ",", &save))
        order[count++] = atoi(item);
    generation++;
}

static void apply(char *line) {
    char *save = NULL, *time = strtok_r(line, " \t\n", &save);
    if (!time || *time == '#' || atoll(time) > now_ms) return;
    char *who = strtok_r(NULL, " \t\n", &save);
    for (char *pair = strtok_r(NULL, " \t\n", &save); pair; pair = strtok_r(NULL, " \t\n", &save)) {
        char *value = strchr(pair, '=');
        if (!value) abort();
        *value++ = 0;
        if (!strcmp(pair, "init")) init_code = atoi(value);
        else if (!strcmp(pair, "order")) set_order(value);
        else if (*who == '*')
            for (int gpu = 0; gpu < count; gpu++) { char copy[256]; snprintf(copy, sizeof copy, "%s", value); set_key(&gpus[gpu], pair, copy); }
        else {
            while (count <= atoi(who)) { order[count] = count; count++; }
            set_key(&gpus[atoi(who)], pair, value);
        }
    }
}

/* The state at a time is all lines up to it, from the first: simple, and going back in time works too. */
static void settle(void) {
    char line[1024];
    FILE *file = fopen(getenv("FAKE_NVML_TIMELINE"), "r");
    if (!file) abort();
    memset(gpus, 0, sizeof gpus);
    count = init_code = 0;
    generation = 1;
    while (fgets(line, sizeof line, file)) apply(line);
    fclose(file);
}

void fake_nvml_at(long long t_ms) { now_ms = t_ms; settle(); }

static nvmlReturn_t look(nvmlDevice_t device, const char *call, gpu_t **gpu) {
    size_t handle = (size_t)device;
    if (!started) return NVML_ERROR_UNINITIALIZED;
    if ((int)(handle >> 8) != generation) return NVML_ERROR_INVALID_ARGUMENT;
    *gpu = &gpus[(handle & 0xff) - 1];
    for (unsigned i = 0; i < (*gpu)->nfails; i++)
        if ((*gpu)->fails[i].code && (!strcmp((*gpu)->fails[i].call, call) || !strcmp((*gpu)->fails[i].call, "all")))
            return (nvmlReturn_t)(*gpu)->fails[i].code;
    return NVML_SUCCESS;
}

#define LOOK gpu_t *gpu; nvmlReturn_t code = look(device, __func__, &gpu); if (code) return code

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
    *device = (nvmlDevice_t)(size_t)((generation << 8) | (order[index] + 1));
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
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *util) { LOOK; util->gpu = gpu->util; util->memory = gpu->memutil; return code; }
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power) { LOOK; *power = gpu->power; return code; }
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *limit) { LOOK; *limit = gpu->limit; return code; }
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *energy) { LOOK; *energy = gpu->energy; return code; }

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
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending) {
    LOOK;
    *current = *pending = gpu->mig;
    return code;
}

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
