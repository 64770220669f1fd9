# SPDX-License-Identifier: Apache-2.0

"""Runs commands and measures the processes that they start: wall time, processor time, bytes and peak memory."""

import contextlib
import os
import signal
import subprocess
import time

# PERIOD is the time in seconds between two looks at the memory of all processes.
PERIOD = 0.05


class Failed(Exception):
    """A command failed or took too long. The text says why."""


class Watch:
    """Memory of the processes of one run. Peaks are those that the kernel keeps, VmHWM, as of the last look."""

    def __init__(self):
        self.peaks = {}  # process -> bytes
        self.roots = set()  # processes that the run started itself
        self.sessions = set()
        self.together = 0  # most bytes of all processes at once
        self.looks = 0

    def add(self, pid):
        """Adds a process that the run started itself, with a session of its own."""
        self.peaks[pid] = 0
        self.roots.add(pid)
        self.sessions.add(pid)

    def look(self):
        # Every second look also looks for new descendants, which reads much of /proc.
        if self.looks % 2 == 0:
            for pid in members(self.sessions):
                self.peaks.setdefault(pid, 0)
        self.looks += 1
        now = 0
        for pid in self.peaks:
            peak, size = memory(pid)
            self.peaks[pid] = max(self.peaks[pid], peak)
            now += size
        self.together = max(self.together, now)

    def workers(self, coordinated):
        """Returns the peak of the largest worker. The process that coordinates the others is none."""
        return max((peak for pid, peak in self.peaks.items() if not (coordinated and pid in self.roots)), default=0)


def members(sessions):
    """Returns the processes of some sessions. Descendants stay in the session also if their parent has ended."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError), open(f"/proc/{name}/stat") as f:
                # After the name, which may have any characters: state, parent, group.
                state, _, _, session = f.read().rpartition(")")[2].split()[:4]
                if state != "Z" and int(session) in sessions:
                    found.append(int(name))
    return found


def memory(pid):
    """Returns the peak and the present resident memory of a process in bytes, or zeros if it has ended."""
    peak = size = 0
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as f:
        for line in f:
            if line.startswith("VmHWM:"):
                peak = int(line.split()[1]) << 10
            elif line.startswith("VmRSS:"):
                size = int(line.split()[1]) << 10
                break
    return peak, size


def transferred():
    """Returns the bytes that ended descendants of this process have read and written, from the cache or not."""
    with open("/proc/self/io") as f:
        fields = dict(line.split(": ") for line in f.read().splitlines())
    return int(fields["rchar"]), int(fields["wchar"])


def run(steps, log, limit, most, coordinated):
    """Runs steps, one after the other, and returns what they took.

    A step is a list of commands that run at the same time; steps may be a generator. A command is a pair of arguments and
    environment. limit is in seconds, for all of them, and most is the most memory in bytes of all processes at once. What the
    commands print goes into the file log.
    """
    watch, used = Watch(), []
    read, written = transferred()
    begin = time.perf_counter()
    try:
        for commands in steps:
            used += together(commands, log, begin + limit, most, watch)
        seconds = time.perf_counter() - begin
    finally:
        stop(watch.sessions)
    end = transferred()
    # The kernel's own count of an ended process includes its last moments. It is that of
    # the largest descendant, so it says nothing about workers if there is a coordinator.
    workers, root = watch.workers(coordinated), max(u.ru_maxrss << 10 for u in used)
    return {
        "seconds": seconds, "cpu": sum(u.ru_utime + u.ru_stime for u in used), "read": end[0] - read, "written": end[1] - written,
        "worker": workers if coordinated else max(workers, root), "largest": max(watch.workers(False), root), "together": watch.together,
    }


def together(commands, log, deadline, most, watch):
    """Runs commands at the same time, and returns the usage of each with its descendants."""
    running, used = set(), []
    with open(log, "ab") as out:
        for args, env in commands:
            p = subprocess.Popen(args, env=os.environ | env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
            # wait4 reaps it, which Popen must not try again.
            p.returncode = 0
            running.add(p.pid)
            watch.add(p.pid)
    look = 0.0
    while running:
        if (now := time.perf_counter()) > look:
            watch.look()
            look = now + PERIOD
        if now > deadline:
            raise Failed("it took too long")
        if watch.together > most:
            raise Failed(f"all processes together took more than {most >> 20} MiB of memory")
        for pid in list(running):
            done, status, usage = os.wait4(pid, os.WNOHANG)
            if done:
                running.remove(pid)
                used.append(usage)
            if done and status:
                raise Failed(f"exit status {os.waitstatus_to_exitcode(status)}")
        time.sleep(0.002)
    return used


def stop(sessions):
    """Ends what still runs in the sessions of a run: a failed cluster leaves workers."""
    deadline = time.monotonic() + 10
    while (left := members(sessions)) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    for pid in sessions:
        with contextlib.suppress(OSError):
            os.waitpid(pid, os.WNOHANG)
