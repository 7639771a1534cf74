/* pages.c: memory by the page, and small memory of an alignment. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "system/system.h"

#include <stdlib.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <malloc.h>

/* Large pages need a right that few users have. */
char *ck_pages(size_t size, size_t huge)
{
    (void)huge;
    return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void ck_pages_free(char *at, size_t size)
{
    (void)size;
    VirtualFree(at, 0, MEM_RELEASE);
}

void *ck_aligned(size_t alignment, size_t size) { return _aligned_malloc(size, alignment); }
void ck_aligned_free(void *at) { _aligned_free(at); }

#else
#include <sys/mman.h>

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

char *ck_pages(size_t size, size_t huge)
{
    char *at = mmap(NULL, size + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    if (huge) {                           /* a huge page starts at a multiple of its size */
        size_t head = (huge - ((uintptr_t)at & (huge - 1))) & (huge - 1);
        if (head)
            munmap(at, head);
        munmap(at + head + size, huge - head);
        at += head;
#ifdef MADV_HUGEPAGE
        madvise(at, size, MADV_HUGEPAGE);
#endif
    }
    return at;
}

void ck_pages_free(char *at, size_t size) { munmap(at, size); }

void *ck_aligned(size_t alignment, size_t size)
{
    void *at;
    return posix_memalign(&at, alignment, size) ? NULL : at;
}

void ck_aligned_free(void *at) { free(at); }
#endif

#ifdef MREMAP_MAYMOVE
char *ck_pages_grow(char *at, size_t old, size_t size, size_t huge)
{
    void *more = mremap(at, old, size, huge ? 0 : MREMAP_MAYMOVE);
    if (more == MAP_FAILED && huge) {     /* a huge page moves as one to where such a one may be */
        char *to = ck_pages(size, huge);
        if (to)
            more = mremap(at, old, size, MREMAP_MAYMOVE | MREMAP_FIXED, to);
        if (to && more == MAP_FAILED)
            munmap(to, size);
    }
    return more == MAP_FAILED ? NULL : more;
}
#else
char *ck_pages_grow(char *at, size_t old, size_t size, size_t huge)
{
    (void)at, (void)old, (void)size, (void)huge;
    return NULL;
}
#endif
