/* parallel.c: how many threads to use, and which rule decided. Plain C, no Python.

   The number is the least of the cpu affinity, the cgroup quota (v1 and v2), OMP_NUM_THREADS and
   OMP_THREAD_LIMIT, unless ck_set_num_threads says otherwise. The threads themselves are in team.c. */
#include "ckernels.h"
#include "system/system.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- how many threads ---- */

typedef struct { int threads; char rule[64]; } choice;

static choice chosen = {INT_MAX, ""};
static ck_once choose_once = CK_ONCE;
static atomic_int explicit_threads;       /* ck_set_num_threads; 0: the default rules */

static void at_most(choice *c, int n, const char *rule)
{
    if (n >= 1 && n < c->threads) {
        c->threads = n;
        snprintf(c->rule, sizeof c->rule, "%s (%d)", rule, n);
    }
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

/* The first number of a list of numbers of 1 or more, as OpenMP has one per level of nesting; 0
   where the text is anything else. `base/native.py` warns of the same. */
static int first_number(const char *text)
{
    static const char spaces[] = " \t\n\v\f\r";
    long first = 0;
    while (text) {
        text += strspn(text, spaces);
        if (*text < '0' || *text > '9')
            return 0;
        char *end;
        long n = strtol(text, &end, 10);
        if (n < 1)
            return 0;
        first = first ? first : n;
        end += strspn(end, spaces);
        if (*end && *end != ',')
            return 0;
        text = *end ? end + 1 : NULL;
    }
    return first < INT_MAX ? (int)first : INT_MAX;
}

static void choose(void)
{
    at_most(&chosen, ck_cpus(), "cpu affinity");
    double quota = ck_cgroup_cpus("/proc/self/cgroup", "/sys/fs/cgroup");
    if (quota > 0 && quota < INT_MAX)
        at_most(&chosen, (int)quota + (quota > (int)quota), "cgroup cpu quota");
    at_most(&chosen, first_number(getenv("OMP_NUM_THREADS")), "OMP_NUM_THREADS");
    at_most(&chosen, first_number(getenv("OMP_THREAD_LIMIT")), "OMP_THREAD_LIMIT");
    const char *threading = getenv("CKERNELS_THREADING");
    if (threading && !strcmp(threading, "serial"))
        at_most(&chosen, 1, "CKERNELS_THREADING");
}

static int default_threads(void)
{
    ck_do_once(&choose_once, choose);
    return chosen.threads;
}

int ck_get_num_threads(void)
{
    int n = atomic_load_explicit(&explicit_threads, memory_order_relaxed);
    return n ? n : default_threads();
}

int ck_set_num_threads(int n)
{
    int old = ck_get_num_threads();
    atomic_store(&explicit_threads, n < 1 ? 0 : n > 1024 ? 1024 : n);
    return old;
}

int ck_threads_rule(char *text, size_t size)
{
    int n = atomic_load(&explicit_threads);
    default_threads();
    if (n)
        return snprintf(text, size, "set_num_threads (%d)", n);
    return snprintf(text, size, "%s", chosen.rule);
}
