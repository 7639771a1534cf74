/* threads.c: mutexes, conditions, threads that are never joined, forks, the clock and how many
   cpus this process may use. On Windows nothing forks. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "system/system.h"

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

_Static_assert(sizeof(ck_mutex) == sizeof(SRWLOCK), "a lock is one pointer");
_Static_assert(sizeof(ck_condition) == sizeof(CONDITION_VARIABLE), "a condition is one pointer");

void ck_mutex_init(ck_mutex *m) { InitializeSRWLock((SRWLOCK *)m); }
void ck_mutex_destroy(ck_mutex *m) { (void)m; }
void ck_mutex_lock(ck_mutex *m) { AcquireSRWLockExclusive((SRWLOCK *)m); }
int ck_mutex_try(ck_mutex *m) { return TryAcquireSRWLockExclusive((SRWLOCK *)m) != 0; }
void ck_mutex_unlock(ck_mutex *m) { ReleaseSRWLockExclusive((SRWLOCK *)m); }

void ck_condition_init(ck_condition *c) { InitializeConditionVariable((CONDITION_VARIABLE *)c); }
void ck_condition_wake(ck_condition *c) { WakeAllConditionVariable((CONDITION_VARIABLE *)c); }

void ck_condition_wait(ck_condition *c, ck_mutex *m)
{
    SleepConditionVariableSRW((CONDITION_VARIABLE *)c, (SRWLOCK *)m, INFINITE, 0);
}

void ck_condition_wait_ms(ck_condition *c, ck_mutex *m, int ms)
{
    SleepConditionVariableSRW((CONDITION_VARIABLE *)c, (SRWLOCK *)m, (DWORD)ms, 0);
}

static BOOL CALLBACK once_main(PINIT_ONCE once, PVOID action, PVOID *unused)
{
    (void)once, (void)unused;
    ((void (*)(void))action)();
    return TRUE;
}

void ck_do_once(ck_once *once, void (*action)(void))
{
    InitOnceExecuteOnce((INIT_ONCE *)once, once_main, (void *)action, NULL);
}

static void (*running)(int);             /* what threads run: the team's worker */

static DWORD WINAPI thread_main(LPVOID number)
{
    running((int)(intptr_t)number);
    return 0;
}

int ck_threads_start(void (*run)(int), int first, int end)
{
    if (running != run)                  /* threads that start may be reading it */
        running = run;
    for (; first < end; first++) {
        HANDLE thread = CreateThread(NULL, 0, thread_main, (LPVOID)(intptr_t)first, 0, NULL);
        if (!thread)
            break;
        CloseHandle(thread);
    }
    return first;
}

void ck_yield(void) { SwitchToThread(); }

int ck_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void))
{
    (void)before, (void)parent, (void)child;
    return 0;
}

int64_t ck_now(void)
{
    LARGE_INTEGER ticks, second;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&second);
    int64_t whole = ticks.QuadPart / second.QuadPart, rest = ticks.QuadPart % second.QuadPart;
    return whole * 1000000000 + rest * 1000000000 / second.QuadPart;
}

/* The mask is of one group of at most 64 processors; a process of several groups has none. */
int ck_cpus(void)
{
    DWORD_PTR own = 0, all = 0;
    int n = 0;
    if (GetProcessAffinityMask(GetCurrentProcess(), &own, &all))
        for (; own; own &= own - 1)
            n++;
    if (!n)
        n = (int)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    return n > 0 ? n : 1;
}

#else
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

void ck_mutex_init(ck_mutex *m) { pthread_mutex_init(m, NULL); }
void ck_mutex_destroy(ck_mutex *m) { pthread_mutex_destroy(m); }
void ck_mutex_lock(ck_mutex *m) { pthread_mutex_lock(m); }
int ck_mutex_try(ck_mutex *m) { return pthread_mutex_trylock(m) == 0; }
void ck_mutex_unlock(ck_mutex *m) { pthread_mutex_unlock(m); }

void ck_condition_init(ck_condition *c) { pthread_cond_init(c, NULL); }
void ck_condition_wait(ck_condition *c, ck_mutex *m) { pthread_cond_wait(c, m); }
void ck_condition_wake(ck_condition *c) { pthread_cond_broadcast(c); }

void ck_condition_wait_ms(ck_condition *c, ck_mutex *m, int ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ms % 1000 * 1000000L;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(c, m, &until);
}

void ck_do_once(ck_once *once, void (*action)(void)) { pthread_once(once, action); }

static void (*running)(int);             /* what threads run: the team's worker */

static void *thread_main(void *number)
{
    running((int)(intptr_t)number);
    return NULL;
}

/* They take no signals: handlers run in threads of the program. */
int ck_threads_start(void (*run)(int), int first, int end)
{
    sigset_t all, before;
    if (running != run)                  /* threads that start may be reading it */
        running = run;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; first < end; first++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, thread_main, (void *)(intptr_t)first))
            break;
        pthread_detach(thread);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return first;
}

void ck_yield(void) { sched_yield(); }

int ck_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void))
{
    return pthread_atfork(before, parent, child);
}

int64_t ck_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int ck_cpus(void)
{
#ifdef __linux__
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
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}
#endif
