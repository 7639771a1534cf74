"""src/system: the only files that ask which system they are on, compiled for the others."""

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec

import pytest

from src.native import SOURCES

ASKS = re.compile(r"\b(_WIN32|__linux__|__APPLE__|pthread_\w+|dlopen|mmap|sched_yield)\b")
FILES = sorted((SOURCES / "system").glob("*.c"))
STAND_ON_THEM = [SOURCES / name for name in ("team/team.c", "team/parallel.c", "memory/arena.c")]
FLAGS = ("-O1", "-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{SOURCES}", "-c")


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def test_no_other_file_asks_which_system_it_is_on():
    asking = {
        path.parent.name
        for path in SOURCES.rglob("*.[ch]")
        if ASKS.search(without_comments(path.read_text()))
    }
    assert asking == {"system"}


@pytest.mark.skipif(find_spec("ziglang") is None, reason="there is no Zig")
@pytest.mark.parametrize(
    "target", ["x86_64-windows-gnu", "aarch64-macos.11.0", "aarch64-linux-musl"]
)
def test_branches_of_other_systems_compile_without_a_warning(target, tmp_path):
    for path in [*FILES, *STAND_ON_THEM]:
        command = [sys.executable, "-m", "ziglang", "cc", "-target", target, *FLAGS]
        done = subprocess.run(
            [*command, str(path), "-o", str(tmp_path / "x.o")], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_system_functions_do_what_they_say(tmp_path):
    """Threads, conditions with a limit, pages that grow, libraries: a C program checks each."""
    program = tmp_path / "program.c"
    program.write_text(PROGRAM)
    made = tmp_path / "program"
    command = ["cc", "-O1", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{SOURCES}"]
    subprocess.run([*command, program, *FILES, "-o", made, "-ldl"], check=True)
    done = subprocess.run([made], capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stdout


PROGRAM = r"""
#include "system/system.h"
#include <stdio.h>
#include <string.h>

#define CHECK(what) do { if (!(what)) { printf("wrong: %s\n", #what); return 1; } } while (0)

enum { THREADS = 8, TIMES = 20000 };
static ck_mutex mutex = CK_MUTEX;
static ck_condition all_done = CK_CONDITION;
static ck_once once = CK_ONCE;
static int64_t sum, finished, begun;

static void begin(void) { begun++; }

static void work(int number)
{
    ck_do_once(&once, begin);
    for (int i = 0; i < TIMES; i++) {
        ck_mutex_lock(&mutex);
        sum += number;
        ck_mutex_unlock(&mutex);
        if (i % 1000 == 0)
            ck_yield();
    }
    ck_mutex_lock(&mutex);
    finished++;
    ck_condition_wake(&all_done);
    ck_mutex_unlock(&mutex);
}

static void count(const char *path, void *data) { *(int *)data += path != NULL; }

int main(void)
{
    CHECK(ck_threads_start(work, 1, THREADS + 1) == THREADS + 1);
    ck_mutex_lock(&mutex);
    while (finished < THREADS)
        ck_condition_wait(&all_done, &mutex);
    CHECK(sum == (int64_t)TIMES * THREADS * (THREADS + 1) / 2 && begun == 1);

    int64_t from = ck_now();                       /* nobody wakes us: the limit ends it */
    ck_condition_wait_ms(&all_done, &mutex, 30);
    int64_t waited = ck_now() - from;
    CHECK(waited > 20 * 1000000 && !ck_mutex_try(&mutex));
    ck_mutex_unlock(&mutex);
    CHECK(ck_mutex_try(&mutex));
    ck_mutex_unlock(&mutex);
    CHECK(ck_cpus() >= 1);

    size_t huge = (size_t)2 << 20, size = 3 * huge;
    char *at = ck_pages(size, huge);
    CHECK(at && at[0] == 0 && at[size - 1] == 0);
    at[0] = 1, at[size - 1] = 2;
    char *more = ck_pages_grow(at, size, 2 * size, huge);
    if (more) {
        CHECK(more[0] == 1 && more[size - 1] == 2 && more[2 * size - 1] == 0);
        at = more, size *= 2;
    }
    ck_pages_free(at, size);
    void *small = ck_aligned(64, 100);
    CHECK(small && (uintptr_t)small % 64 == 0);
    memset(small, 1, 100);
    ck_aligned_free(small);
    CHECK(ck_pages((size_t)1 << 60, 0) == NULL);

    int libraries = 0;
    ck_libraries(count, &libraries);
    CHECK(libraries > 0);
    CHECK(ck_library("/no/such/library", 0) == NULL && ck_library("/no/such/library", 1) == NULL);
    CHECK(!strcmp(ck_file_of("/usr/lib/x.so"), "x.so") && !strcmp(ck_file_of("x.so"), "x.so"));
#ifdef _WIN32
    CHECK(!strcmp(ck_file_of("C:\\lib\\x.dll"), "x.dll"));
    void *open = ck_library("kernel32.dll", 1);
    CHECK(open && ck_symbol(open, "GetTickCount") && !ck_symbol(open, "no_such_name"));
    ck_library_close(open);
#endif
    puts("right");
    return 0;
}
"""
