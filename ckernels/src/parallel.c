/* parallel.c: the only parallel region of the runtime, and how many threads it gets.

   Kernels and gemm panels are ranges; ck_parallel_for cuts a range into contiguous chunks and
   gives each to a thread of one OpenMP team. Chunks are the unit of work, never thread ids, so
   a team smaller than asked (OMP_THREAD_LIMIT, OMP_DYNAMIC) only takes longer. Without OpenMP
   everything is serial.

   Measured with gcc's libgomp, 2 threads, an empty body: 0.5 us when the worker still spins
   from the last region (within ~3 ms), 10 us when it sleeps. OMP_WAIT_POLICY=passive makes
   every region cost 4 to 12 us; active spins for ever. The default is the one to keep. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ckernels.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

static atomic_int degraded;        /* this process was forked out of a region: stay serial */

/* ---- how many threads ---- */

typedef struct { int threads; char rule[64]; } choice;

static choice chosen = {INT_MAX, ""};
static pthread_once_t choose_once = PTHREAD_ONCE_INIT;
static atomic_int explicit_threads;       /* ck_set_num_threads; 0: the default rules */

static void at_most(choice *c, int n, const char *rule)
{
    if (n >= 1 && n < c->threads) {
        c->threads = n;
        snprintf(c->rule, sizeof c->rule, "%s (%d)", rule, n);
    }
}

static int affinity_count(void)
{
    for (int cpus = 1024; cpus <= 1 << 20; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        size_t size = CPU_ALLOC_SIZE(cpus);
        if (!set)
            break;
        int n = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (n)
            return n;
    }
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

/* Quota in cpus written in one control group's directory; 0: none. */
static double quota_in(const char *dir)
{
    char path[PATH_MAX];
    double quota = 0, period = 0;
    FILE *f;
    int fits = snprintf(path, sizeof path, "%s/cpu.max", dir) < (int)sizeof path;
    if (fits && (f = fopen(path, "r"))) {
        int got = fscanf(f, "%lf %lf", &quota, &period);      /* "max 100000" reads nothing */
        fclose(f);
        return got == 2 && quota > 0 && period > 0 ? quota / period : 0;
    }
    const char *names[2] = {"cpu.cfs_quota_us", "cpu.cfs_period_us"};
    double values[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        if (snprintf(path, sizeof path, "%s/%s", dir, names[i]) >= (int)sizeof path)
            return 0;
        if (!(f = fopen(path, "r")))
            return 0;
        if (fscanf(f, "%lf", &values[i]) != 1)
            values[i] = 0;
        fclose(f);
    }
    return values[0] > 0 && values[1] > 0 ? values[0] / values[1] : 0;
}

/* The smallest quota of a group and all groups around it. In a container the path in /proc is
   often not visible below the mount: then only the parents that exist count, the mount itself
   at last. */
static double quota_up(const char *base, const char *group, double best)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s%s", base, group) >= (int)sizeof path)
        return best;
    size_t root = strlen(base);
    for (;;) {
        double q = quota_in(path);
        if (q > 0 && (best == 0 || q < best))
            best = q;
        char *slash = strrchr(path + root, '/');
        if (!slash)
            return best;
        *slash = 0;
    }
}

static int has_controller(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += n)
        if ((at == list || at[-1] == ',') && (at[n] == ',' || at[n] == 0))
            return 1;
    return 0;
}

/* CPUs the control groups (v1 and v2) allow, from /proc/self/cgroup and the mount; 0: no limit. */
double ck_cgroup_cpus(const char *self_cgroup, const char *mount)
{
    static const char *const v1[] = {"cpu", "cpu,cpuacct", "cpuacct,cpu"};
    char line[PATH_MAX], base[PATH_MAX];
    double best = 0;
    FILE *f = fopen(self_cgroup, "r");
    if (!f)
        return 0;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        char *list = strchr(line, ':'), *group = list ? strchr(list + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        list++;
        if (!strcmp(group, "/"))
            group = "";
        if (!*list) {                                  /* v2, alone or in hybrid mode */
            best = quota_up(mount, group, best);
            snprintf(base, sizeof base, "%s/unified", mount);
            best = quota_up(base, group, best);
        }
        else if (has_controller(list, "cpu"))
            for (size_t i = 0; i < sizeof v1 / sizeof *v1; i++) {
                snprintf(base, sizeof base, "%s/%s", mount, v1[i]);
                best = quota_up(base, group, best);
            }
    }
    fclose(f);
    return best;
}

static void choose(void)
{
    at_most(&chosen, affinity_count(), "cpu affinity");
    double quota = ck_cgroup_cpus("/proc/self/cgroup", "/sys/fs/cgroup");
    if (quota > 0 && quota < INT_MAX)
        at_most(&chosen, (int)quota + (quota > (int)quota), "cgroup cpu quota");
#ifdef _OPENMP
    const char *text = getenv("OMP_NUM_THREADS");      /* may be a list, one number per level */
    at_most(&chosen, text ? (int)strtol(text, NULL, 10) : 0, "OMP_NUM_THREADS");
    at_most(&chosen, omp_get_thread_limit(), "OMP_THREAD_LIMIT");
    const char *threading = getenv("CKERNELS_THREADING");
    if (threading && !strcmp(threading, "serial"))
        at_most(&chosen, 1, "CKERNELS_THREADING");
#else
    at_most(&chosen, 1, "built without OpenMP");
#endif
}

static int default_threads(void)
{
    pthread_once(&choose_once, choose);
    int n = chosen.threads;
#ifdef _OPENMP
    int limit = omp_get_max_threads();     /* per thread: lets threadpoolctl's limits take part */
    n = limit < n ? limit : n;
#endif
    return n;
}

int ck_get_num_threads(void)
{
    if (atomic_load_explicit(&degraded, memory_order_relaxed))
        return 1;
    int n = atomic_load_explicit(&explicit_threads, memory_order_relaxed);
    return n ? n : default_threads();
}

int ck_set_num_threads(int n)
{
    int old = ck_get_num_threads();
#ifdef _OPENMP
    atomic_store(&explicit_threads, n < 1 ? 0 : n > 4096 ? 4096 : n);
#else
    (void)n;
#endif
    return old;
}

int ck_threads_rule(char *text, size_t size)
{
    int n = atomic_load(&explicit_threads), d = default_threads();
    if (ck_fork_degraded())
        return snprintf(text, size, "forked while threads were at work (1)");
    if (n)
        return snprintf(text, size, "set_num_threads (%d)", n);
    if (d < chosen.threads)
        return snprintf(text, size, "OpenMP limit of this thread (%d)", d);
    return snprintf(text, size, "%s", chosen.rule);
}

/* ---- fork ---- libgomp's workers do not survive a fork, and the child's first region would
   wait for them for ever. Ending the forking thread's pool before the fork cures that: parent
   and child start a new one when they need it. Regions of other threads cannot be ended: then
   the child stays serial. */

int ck_fork_degraded(void)
{
    return atomic_load_explicit(&degraded, memory_order_relaxed);
}

#ifdef _OPENMP
static atomic_int active;          /* regions at work right now, over all calling threads */
static _Thread_local int inside;   /* nested calls run serially */

#define CHUNKS_PER_THREAD 8        /* of at least `grain` each */

static void before_fork(void)
{
    if (atomic_load(&active) == 0)
        omp_pause_resource_all(omp_pause_hard);
}

static void in_child(void)
{
    if (atomic_exchange(&active, 0) > 0)
        atomic_store(&degraded, 1);
}

static void register_fork(void)
{
    pthread_atfork(before_fork, NULL, in_child);
}

/* ---- the region ---- */

typedef struct {
    ck_fn fn;
    void *const *p;
    const int64_t *dims;
    int64_t n, step, chunks;
    _Atomic int64_t next;              /* first chunk nobody has taken */
    _Atomic int64_t failed;            /* (chunk << 32 | code) of the first failing chunk */
} job;

/* Chunks are taken one by one: with fixed halves, a worker that has lost its cpu to another process
   made two threads three times slower than one (softmax 4096 x 1000: 7.6 ms against 2.2). */
static void run_chunks(job *j)
{
    int64_t c;
    inside++;
    while ((c = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed)) < j->chunks) {
        int64_t lo = c * j->step, hi = lo + j->step < j->n ? lo + j->step : j->n;
        int code = j->fn(j->p, j->dims, lo, hi);
        if (code) {
            int64_t mine = c << 32 | (uint32_t)code, seen = atomic_load(&j->failed);
            while (mine < seen && !atomic_compare_exchange_weak(&j->failed, &seen, mine))
                ;
            break;
        }
    }
    inside--;
}

/* Every region asks for the whole team even when it has fewer chunks: libgomp ends the workers
   a smaller team leaves over, and starting them again costs ~20 us each. */
static int run_team(job *j, int team)
{
    static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
    pthread_once(&fork_once, register_fork);
#pragma omp parallel num_threads(team)
    run_chunks(j);
    return j->failed == INT64_MAX ? CK_OK : (int)(uint32_t)j->failed;
}
#endif

int ck_parallel_for(ck_fn fn, void *const *p, const int64_t *dims, int64_t n, int64_t block,
                    int64_t grain)
{
    if (n <= 0)
        return CK_OK;
#ifdef _OPENMP
    block = block < 1 ? 1 : block;
    grain = grain < 1 ? 1 : grain;
    int64_t worth = n / grain, blocks = (n - 1) / block + 1;
    worth = worth < blocks ? worth : blocks;
    int threads;
    if (worth < 2 || inside || (threads = ck_get_num_threads()) < 2 || omp_in_parallel())
        return fn(p, dims, 0, n);
    /* Callers at work at the same time share the cpus instead of taking them all each. */
    int team = threads / (atomic_fetch_add(&active, 1) + 1);
    if (team < 2) {
        atomic_fetch_sub(&active, 1);
        return fn(p, dims, 0, n);
    }
    int64_t most = (int64_t)team * CHUNKS_PER_THREAD;
    int64_t chunks = worth < 2 * team ? (worth < team ? worth : team) : worth < most ? worth : most;
    int64_t step = ((blocks - 1) / chunks + 1) * block;
    job j = {fn, p, dims, n, step, (n - 1) / step + 1, 0, INT64_MAX};
    int code = run_team(&j, team);
    atomic_fetch_sub(&active, 1);
    return code;
#else
    (void)block, (void)grain;
    return fn(p, dims, 0, n);
#endif
}
