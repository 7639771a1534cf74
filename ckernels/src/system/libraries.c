/* libraries.c: shared libraries: opened, searched for a name, listed. Paths are UTF-8. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "system/system.h"

#include <string.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#define PSAPI_VERSION 2                   /* what follows is in kernel32.dll */
#include <windows.h>

#include <psapi.h>

#define PATH_WORDS 4096

void *ck_library(const char *path, int open_only)
{
    wchar_t wide[PATH_WORDS];
    HMODULE found = NULL;
    if (!MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, PATH_WORDS))
        return NULL;
    if (open_only)                        /* counted as one more user, as LoadLibrary does */
        return GetModuleHandleExW(0, wide, &found) ? (void *)found : NULL;
    int whole = strchr(path, '/') || strchr(path, '\\');    /* then its own folder has what it needs */
    return (void *)LoadLibraryExW(wide, NULL, whole ? LOAD_WITH_ALTERED_SEARCH_PATH : 0);
}

void ck_library_close(void *library) { FreeLibrary((HMODULE)library); }

void *ck_symbol(void *library, const char *name)
{
    return (void *)GetProcAddress((HMODULE)library, name);
}

void ck_libraries(void (*look)(const char *path, void *data), void *data)
{
    enum { MOST = 1024 };
    HMODULE found[MOST];
    DWORD bytes = 0;
    if (!EnumProcessModules(GetCurrentProcess(), found, sizeof found, &bytes))
        return;
    size_t n = bytes / sizeof *found < MOST ? bytes / sizeof *found : MOST;
    for (size_t i = 0; i < n; i++) {
        wchar_t wide[PATH_WORDS];
        char path[PATH_WORDS];
        DWORD length = GetModuleFileNameW(found[i], wide, PATH_WORDS);
        if (length && length < PATH_WORDS
            && WideCharToMultiByte(CP_UTF8, 0, wide, -1, path, sizeof path, NULL, NULL))
            look(path, data);
    }
}

#else
#include <dlfcn.h>

void *ck_library(const char *path, int open_only)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | (open_only ? RTLD_NOLOAD : 0));
}

void ck_library_close(void *library) { dlclose(library); }

void *ck_symbol(void *library, const char *name) { return dlsym(library, name); }

#ifdef __APPLE__
#include <mach-o/dyld.h>

void ck_libraries(void (*look)(const char *path, void *data), void *data)
{
    for (uint32_t i = 0; i < _dyld_image_count(); i++) {
        const char *path = _dyld_get_image_name(i);
        if (path)                         /* it may have gone since it was counted */
            look(path, data);
    }
}
#elif defined __linux__
#include <link.h>

typedef struct { void (*look)(const char *path, void *data); void *data; } visit;

static int look_at(struct dl_phdr_info *info, size_t size, void *data)
{
    const visit *v = data;
    (void)size;
    v->look(info->dlpi_name, v->data);
    return 0;
}

void ck_libraries(void (*look)(const char *path, void *data), void *data)
{
    visit v = {look, data};
    dl_iterate_phdr(look_at, &v);
}
#else
void ck_libraries(void (*look)(const char *path, void *data), void *data)
{
    (void)look, (void)data;
}
#endif
#endif

const char *ck_file_of(const char *path)
{
    const char *file = path;
    for (; *path; path++)
#ifdef _WIN32
        if (*path == '/' || *path == '\\')
#else
        if (*path == '/')
#endif
            file = path + 1;
    return file;
}
