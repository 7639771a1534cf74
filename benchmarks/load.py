"""How much of the machine other processes use while a peer is being timed (Linux; else unknown).

On a shared machine a thread barrier next to a busy neighbour costs a scheduler slice, up to 8 ms:
such a turn says nothing about the peer and is better repeated.
"""

import os
import time

TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def machine_ticks():
    """Ticks all processes (and other guests of the host) have used so far."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return user + nice + system + irq + softirq + steal


def process_ticks(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


class Watch:
    """Between creation and `others()`: cores in use by anyone but process `pid`."""

    def __init__(self, pid):
        self.pid = pid
        self.start = self.now()

    def now(self):
        try:
            return time.perf_counter(), machine_ticks() - process_ticks(self.pid)
        except OSError:
            return None

    def others(self):
        end = self.now()
        if end is None or self.start is None:
            return 0.0
        return (end[1] - self.start[1]) / TICKS / max(end[0] - self.start[0], 1e-3)
