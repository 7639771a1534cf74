/* faults.c: an LD_PRELOAD library that makes file operations below one directory fail.

   ck_fault(root, "rename", 28, 1) lets the second rename below root, and every one after it, fail
   with ENOSPC; ck_fault_once only that one. ck_kill(root, 9, 7) sends the process SIGKILL at the
   eighth operation of any kind, just before it is done; signal 0 counts them. Operations on descriptors ask
   /proc which file they are about. Built and used by test_cache_errno.py. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char ck_fault_root[4096];
static char operation[32];
static int code, skip, deadly, times;
static long seen, failed;

void ck_fault(const char *root, const char *name, int error, int after)
{
    snprintf(ck_fault_root, sizeof ck_fault_root, "%s", root);
    snprintf(operation, sizeof operation, "%s", name);
    code = error, skip = after, seen = failed = deadly = 0, times = 1 << 30;
}

void ck_fault_once(const char *root, const char *name, int error, int after)
{
    ck_fault(root, name, error, after);
    times = 1;
}

/* signal 0: only count */
void ck_kill(const char *root, int number, int after)
{
    ck_fault(root, "*", 0, after);
    deadly = 1, code = number;
}

long ck_fault_failed(void) { return failed; }
long ck_fault_seen(void) { return seen; }

static int below(const char *path)
{
    size_t n = strlen(ck_fault_root);
    return n && path && !strncmp(path, ck_fault_root, n) && (path[n] == '/' || !path[n]);
}

static int strikes(const char *name, const char *path)
{
    if ((strcmp(name, operation) && !deadly) || !below(path))
        return 0;
    if (seen++ < skip || failed >= times)
        return 0;
    failed++;
    if (deadly) {
        if (failed == 1 && code)
            raise(code);
        return 0;
    }
    errno = code;
    return 1;
}

static int strikes_fd(const char *name, int fd)
{
    char link[64], path[4096];
    if (strcmp(name, operation) && !deadly)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0)
        return 0;
    path[n] = 0;
    return strikes(name, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* open for reading, or for writing: two operations, since they fail for different reasons */
static const char *kind(int flags) { return flags & (O_WRONLY | O_RDWR) ? "create" : "open"; }

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                    \
        va_end(rest);                                                                              \
        return strikes(kind(flags), path) ? -1 : REAL(name)(path, flags, mode);                    \
    }
OPEN(open)
OPEN(open64)

#define PATH(name, what)                                                                           \
    int name(const char *path) { return strikes(what, path) ? -1 : REAL(name)(path); }
PATH(unlink, "unlink")
PATH(rmdir, "unlink")

#define STAT(name, what, type)                                                                     \
    int name(const char *path, struct type *out)                                                   \
    {                                                                                              \
        return strikes(what, path) ? -1 : REAL(name)(path, out);                                   \
    }
STAT(stat, "stat", stat)
STAT(stat64, "stat", stat64)
STAT(lstat, "stat", stat)
STAT(lstat64, "stat", stat64)

int fstatat(int dir, const char *path, struct stat *out, int flags)
{
    return strikes_fd("stat", dir) || strikes("stat", path) ? -1
                                                            : REAL(fstatat)(dir, path, out, flags);
}
int fstatat64(int dir, const char *path, struct stat64 *out, int flags)
{
    return strikes_fd("stat", dir) || strikes("stat", path)
               ? -1 : REAL(fstatat64)(dir, path, out, flags);
}
int fstat(int fd, struct stat *out) { return strikes_fd("fstat", fd) ? -1 : REAL(fstat)(fd, out); }
int fstat64(int fd, struct stat64 *out)
{
    return strikes_fd("fstat", fd) ? -1 : REAL(fstat64)(fd, out);
}

int mkdir(const char *path, mode_t mode)
{
    return strikes("mkdir", path) ? -1 : REAL(mkdir)(path, mode);
}
int access(const char *path, int mode)
{
    return strikes("access", path) ? -1 : REAL(access)(path, mode);
}
int link(const char *from, const char *to)
{
    return strikes("link", to) ? -1 : REAL(link)(from, to);
}
int linkat(int a, const char *from, int b, const char *to, int flags)
{
    return strikes("link", to) ? -1 : REAL(linkat)(a, from, b, to, flags);
}
int rename(const char *from, const char *to)
{
    return strikes("rename", to) ? -1 : REAL(rename)(from, to);
}
int utimensat(int dir, const char *path, const struct timespec times[2], int flags)
{
    return strikes("utime", path) ? -1 : REAL(utimensat)(dir, path, times, flags);
}
ssize_t write(int fd, const void *data, size_t n)
{
    return strikes_fd("write", fd) ? -1 : REAL(write)(fd, data, n);
}
ssize_t pread(int fd, void *data, size_t n, off_t at)
{
    return strikes_fd("read", fd) ? -1 : REAL(pread)(fd, data, n, at);
}
ssize_t pread64(int fd, void *data, size_t n, off64_t at)
{
    return strikes_fd("read", fd) ? -1 : REAL(pread64)(fd, data, n, at);
}
ssize_t read(int fd, void *data, size_t n)
{
    return strikes_fd("read", fd) ? -1 : REAL(read)(fd, data, n);
}
off_t lseek(int fd, off_t at, int from)
{
    return strikes_fd("seek", fd) ? -1 : REAL(lseek)(fd, at, from);
}
off64_t lseek64(int fd, off64_t at, int from)
{
    return strikes_fd("seek", fd) ? -1 : REAL(lseek64)(fd, at, from);
}
int close(int fd)
{
    if (!strikes_fd("close", fd))
        return REAL(close)(fd);
    int error = errno;                       /* the descriptor is gone all the same, as on NFS */
    REAL(close)(fd);
    errno = error;
    return -1;
}

DIR *opendir(const char *path) { return strikes("opendir", path) ? NULL : REAL(opendir)(path); }
struct dirent *readdir(DIR *dir)
{
    return strikes_fd("readdir", dirfd(dir)) ? NULL : REAL(readdir)(dir);
}
struct dirent64 *readdir64(DIR *dir)
{
    return strikes_fd("readdir", dirfd(dir)) ? NULL : REAL(readdir64)(dir);
}
