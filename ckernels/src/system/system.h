/* system.h: what differs between operating systems: threads and clocks (threads.c), memory by the
   page (pages.c), shared libraries (libraries.c). Each file has a part for POSIX and one for
   Windows; no other file of the runtime asks which system it is on. Plain C, no Python. */
#ifndef CK_SYSTEM_H
#define CK_SYSTEM_H

#include "ckernels.h"

#ifdef _WIN32
typedef struct { void *word; } ck_mutex;         /* an SRWLOCK */
typedef struct { void *word; } ck_condition;     /* a CONDITION_VARIABLE */
typedef struct { void *word; } ck_once;          /* an INIT_ONCE */
#define CK_MUTEX {NULL}
#define CK_CONDITION {NULL}
#define CK_ONCE {NULL}
#else
#include <pthread.h>
typedef pthread_mutex_t ck_mutex;
typedef pthread_cond_t ck_condition;
typedef pthread_once_t ck_once;
#define CK_MUTEX PTHREAD_MUTEX_INITIALIZER
#define CK_CONDITION PTHREAD_COND_INITIALIZER
#define CK_ONCE PTHREAD_ONCE_INIT
#endif

/* ---- threads.c ---- */
void ck_mutex_init(ck_mutex *m);
void ck_mutex_destroy(ck_mutex *m);
void ck_mutex_lock(ck_mutex *m);
int ck_mutex_try(ck_mutex *m);                   /* whether it is ours now */
void ck_mutex_unlock(ck_mutex *m);
void ck_condition_init(ck_condition *c);
void ck_condition_wait(ck_condition *c, ck_mutex *m);
void ck_condition_wait_ms(ck_condition *c, ck_mutex *m, int ms);
void ck_condition_wake(ck_condition *c);         /* all that wait */
void ck_do_once(ck_once *once, void (*action)(void));
int ck_threads_start(void (*run)(int), int first, int end);     /* one for each number: the number
                                                    of the first that the system did not grant */
int ck_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void));   /* 0: done */
int64_t ck_now(void);                            /* ns from some moment on, never back */
int ck_cpus(void);                               /* that this process may use, at least 1 */

/* ---- pages.c ---- */
char *ck_pages(size_t size, size_t huge);        /* zeros; huge: its pages are to be of this size,
                                                    0: any. NULL: there are none */
void ck_pages_free(char *at, size_t size);
char *ck_pages_grow(char *at, size_t old, size_t size, size_t huge);   /* NULL: cannot; `at` stays */
void *ck_aligned(size_t alignment, size_t size);
void ck_aligned_free(void *at);

/* ---- libraries.c ---- */
void *ck_library(const char *path, int open_only);      /* open_only: if the process has it open */
void ck_library_close(void *library);
void *ck_symbol(void *library, const char *name);
void ck_libraries(void (*look)(const char *path, void *data), void *data);   /* all that are open,
                                                    where the system tells */
const char *ck_file_of(const char *path);        /* the last part of a path */

#endif
