/* team.c: ck_parallel_for, the only place that starts threads. Plain C, no Python.

   One team of workers serves the process. A job is a range cut into chunks; the caller and the
   workers take chunks one by one from a ticket that holds (job number, chunks left), and the caller
   returns when every chunk is done. Nobody waits for a worker that took none. That is why this is no
   OpenMP region: its closing barrier waits for all threads, so a worker that has lost its cpu to
   another process costs a time slice per region (softmax 4096 x 1000 on two busy cores: 7.6 ms
   against 2.2 on one thread, 1.1 here). A child of fork starts its own team at its first job. */
#include "ckernels.h"
#include "system/system.h"

#include <stdatomic.h>

#define CHUNKS_PER_THREAD 8        /* of at least `grain` each */
#define SPINS 4000                 /* looks for work before a worker sleeps: about 0.2 ms */
#define MAX_WORKERS 1023

#if defined __x86_64__ || defined __i386__
#define relax() __builtin_ia32_pause()
#elif defined __aarch64__
#define relax() __asm__ volatile("yield")
#else
#define relax() ((void)0)
#endif

static struct {
    _Atomic uint64_t ticket;       /* job << 32 | chunks not yet taken << 16 | the first of them */
    _Atomic int64_t done;          /* chunks finished */
    _Atomic int64_t failed;        /* (chunk << 32 | code) of the first failing chunk */
    ck_fn fn;                      /* the job; does not change while a chunk of it is at work */
    void *const *p;
    const int64_t *dims;
    int64_t n, step, chunks;
    ck_spans *spans;               /* where its chunks are written down, or NULL */
    _Atomic int seats;             /* workers that may take part in the job */
    _Atomic int sleepers;
    int workers;                   /* started; guarded by `owner` */
} team;

static ck_mutex owner = CK_MUTEX;      /* whose job it is */
static ck_mutex sleep_lock = CK_MUTEX;
static ck_condition wake_up = CK_CONDITION;
static _Thread_local int inside;                               /* nested calls run serially */
static _Thread_local int own_seat;                             /* of a worker: from 1 on */

int ck_seat(void)
{
    return own_seat;
}

static int64_t left(uint64_t ticket)
{
    return ticket >> 16 & 0xffff;
}

/* Take one chunk and run it; 0 when there is none. Every other worker starts at the end, so that
   of two threads each gets the same half of all arrays of a program, which its cache may hold. */
static int work_on_one(void)
{
    uint64_t t = atomic_load_explicit(&team.ticket, memory_order_acquire), taken;
    do {
        if (left(t) == 0)
            return 0;
        taken = t - (1 << 16) + (own_seat % 2 == 0);
    } while (!atomic_compare_exchange_weak_explicit(&team.ticket, &t, taken, memory_order_acq_rel,
                                                    memory_order_acquire));
    int64_t chunk = (int64_t)(t & 0xffff) + (own_seat % 2 ? left(t) - 1 : 0);
    int64_t lo = chunk * team.step, hi = lo + team.step < team.n ? lo + team.step : team.n;
    ck_spans *spans = team.spans;
    int64_t start = spans ? ck_now() : 0;
    inside++;
    int code = team.fn(team.p, team.dims, lo, hi);
    inside--;
    if (spans)
        ck_span_add(spans, -1, start);
    if (code) {
        int64_t mine = chunk << 32 | (uint32_t)code, seen = atomic_load(&team.failed);
        while (mine < seen && !atomic_compare_exchange_weak(&team.failed, &seen, mine))
            ;
    }
    atomic_fetch_add_explicit(&team.done, 1, memory_order_release);
    return 1;
}

static int work_waits(int seat)
{
    return left(atomic_load(&team.ticket)) && seat < atomic_load(&team.seats);
}

static void worker(int seat)
{
    own_seat = seat + 1;
    for (;;) {
        for (int spin = 0; spin < SPINS; spin++) {
            if (work_waits(seat) && work_on_one())
                spin = 0;
            relax();
        }
        ck_mutex_lock(&sleep_lock);
        atomic_fetch_add(&team.sleepers, 1);
        while (!work_waits(seat))
            ck_condition_wait(&wake_up, &sleep_lock);
        atomic_fetch_sub(&team.sleepers, 1);
        ck_mutex_unlock(&sleep_lock);
    }
}

/* In a child of fork only the forking thread lives on, and locks may be held by threads that are gone. */
static void in_child(void)
{
    atomic_store(&team.ticket, 0);
    atomic_store(&team.sleepers, 0);
    team.workers = 0;
    ck_mutex_init(&owner);
    ck_mutex_init(&sleep_lock);
    ck_condition_init(&wake_up);
}

static void register_fork(void)
{
    ck_at_fork(NULL, NULL, in_child);
}

/* Workers up to `wanted`, as many as the system grants. */
static void hire(int wanted)
{
    static ck_once once = CK_ONCE;
    ck_do_once(&once, register_fork);
    wanted = wanted < MAX_WORKERS ? wanted : MAX_WORKERS;
    if (team.workers < wanted)
        team.workers = ck_threads_start(worker, team.workers, wanted);
}

static void publish(int64_t chunks, int seats)
{
    uint64_t job = (atomic_load(&team.ticket) >> 32) + 1;
    atomic_store(&team.done, 0);
    atomic_store(&team.failed, INT64_MAX);
    atomic_store(&team.seats, seats);
    atomic_store(&team.ticket, job << 32 | (uint64_t)chunks << 16);
    if (atomic_load(&team.sleepers)) {
        ck_mutex_lock(&sleep_lock);
        ck_condition_wake(&wake_up);
        ck_mutex_unlock(&sleep_lock);
    }
}

static void wait_for_all(int64_t chunks)
{
    for (int spin = 0; atomic_load_explicit(&team.done, memory_order_acquire) < chunks; spin++) {
        if (spin < 1000)
            relax();
        else
            ck_yield();                     /* the worker may want this very cpu */
    }
}

int ck_parallel_for(ck_fn fn, void *const *p, const int64_t *dims, int64_t n, int64_t block,
                    int64_t grain)
{
    if (n <= 0)
        return CK_OK;
    block = block < 1 ? 1 : block;
    grain = grain < 1 ? 1 : grain;
    int64_t worth = n / grain, blocks = (n - 1) / block + 1;
    worth = worth < blocks ? worth : blocks;
    int threads;
    if (worth < 2 || inside || (threads = ck_get_num_threads()) < 2 || !ck_mutex_try(&owner))
        return fn(p, dims, 0, n);              /* another caller has the team: its cpus are busy */
    hire(threads - 1);
    int64_t most = (int64_t)threads * CHUNKS_PER_THREAD;
    int64_t chunks = worth < 2 * threads ? (worth < threads ? worth : threads)
                   : worth < most ? worth : most;
    team.fn = fn, team.p = p, team.dims = dims, team.n = n, team.spans = ck_watched();
    team.step = ((blocks - 1) / chunks + 1) * block;
    team.chunks = chunks = (n - 1) / team.step + 1;
    publish(chunks, threads - 1);
    while (work_on_one())
        ;
    wait_for_all(chunks);
    int64_t failed = atomic_load(&team.failed);
    ck_mutex_unlock(&owner);
    return failed == INT64_MAX ? CK_OK : (int)(uint32_t)failed;
}
