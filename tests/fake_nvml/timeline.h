/* The time line of the test's driver library: what it says of each GPU at a time, and what it said before. */
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
