"""Clocks of processes: off by what a file says, which may change while they run.

process = subprocess.Popen(command, env={**os.environ, **clock_of(file)})
set_clock(file, "-13h")                                                      # within a second its clock is 13 hours behind
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from filelock import FileLock

from tests.servers import compiler

# libfaketime, which does this for others, has timers and CPU time off as well, and the JVM spins
_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int (*real)(clockid_t, struct timespec *);
static volatile long off, asked = -1;

static void show(struct timespec *at) {
    struct timespec now;
    real(CLOCK_MONOTONIC, &now);
    long tenth = now.tv_sec * 10 + now.tv_nsec / 100000000;
    if (tenth != asked) {
        asked = tenth;
        char text[32] = {0};
        const char *path = getenv("TIDEMARK_TEST_CLOCK");
        int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (file >= 0) {
            if (read(file, text, sizeof text - 1) > 0) off = atol(text);
            close(file);
        }
    }
    at->tv_sec += off;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, at);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) show(at);
    return failed;
}

int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
"""
_SECONDS = {"s": 1, "h": 3600, "d": 24 * 3600}


def clock_of(file: Path) -> dict[str, str]:
    """What the environment of a process must have, for it and what it starts to go by a file.

    The times of files stay those of the machine that keeps them, as where several share a disk; so do timers.
    """
    return {"LD_PRELOAD": str(_library()), "TIDEMARK_TEST_CLOCK": str(file)}


def set_clock(file: Path, offset: str) -> None:
    """Have clocks that go by a file be off by so much, such as `-13h` or `+1d`."""
    found = re.fullmatch(r"([+-]\d+)([shd])", offset)
    assert found, offset
    new = file.with_suffix(".new")
    new.write_text(f"{int(found[1]) * _SECONDS[found[2]]}\n")
    new.replace(file)


def _library() -> Path:
    folder = Path(tempfile.gettempdir())
    library = folder / "tidemark-clock.so"
    with FileLock(folder / "tidemark-clock.lock"):
        source = library.with_suffix(".c")
        if not library.exists() or source.read_text() != _SOURCE:
            source.write_text(_SOURCE)
            command = [compiler(), "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"]
            subprocess.run(command, check=True)
    return library
