# SPDX-License-Identifier: Apache-2.0

"""Measures all programs in turns, and writes the results as JSON and as a report."""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import processes
import report
import tools

HERE = os.path.dirname(os.path.abspath(__file__))
PLANE = 256  # elements along each of the last two axes
CASES = {
    "space": ([64, PLANE, PLANE], [0, 16, 16], True),  # 0 is the whole axis; compressed by zstd
    "uneven": ([100, PLANE, PLANE], [99, PLANE, PLANE], True),
    "plain": ([64, PLANE, PLANE], [0, 16, 16], False),
}


def arguments():
    p = argparse.ArgumentParser(prog="bench/engines/run", description=__doc__)
    p.add_argument("--size", default="2GB", type=size, help="bytes of elements of each array (2GB)")
    p.add_argument("--workers", default="1,2,4,8", type=lambda s: [int(n) for n in s.split(",")], help="numbers of workers (1,2,4,8)")
    p.add_argument("--repeat", default=3, type=int, help="rounds (3)")
    p.add_argument("--beyond", default=1, type=int, help="rounds of numbers of workers above that of the cores (1)")
    p.add_argument("--memory", default="512MB", type=size, help="bytes that each worker may use (512MB)")
    p.add_argument("--cases", default=",".join(CASES), help="cases (space,uneven,plain)")
    p.add_argument("--add", action="store_true", help="keep the results of other cases, which were measured before")
    p.add_argument("--tools", default="", help="only programs whose name contains one of these words")
    p.add_argument("--slow", default=60, type=float, help="a program whose run takes more seconds runs once (60)")
    p.add_argument("--limit", default=300, type=float, help="seconds after which a run is stopped (300)")
    p.add_argument("--most", default="8GB", type=size, help="bytes of all processes of a run at once, above which it is stopped (8GB)")
    p.add_argument("--out", default=os.path.join(HERE, "..", "ENGINES"), help="path of the results without .json and .md")
    p.add_argument("--commit", default="of unknown state", help=argparse.SUPPRESS)
    p.add_argument("--cache", required=True, help=argparse.SUPPRESS)
    return p.parse_args()


def size(text):
    """Returns a number of bytes. 1 MB has 2^20, and 1 GB has 2^30."""
    for unit, shift in [("MB", 20), ("GB", 30)]:
        if text.upper().endswith(unit):
            return int(float(text[: -len(unit)]) * (1 << shift))
    return int(text)


class Case:
    """An array, in both formats, and how it is cut anew."""

    def __init__(self, name, options):
        length = max(1, options.size // (4 * PLANE * PLANE * 64)) * 64
        self.name, self.shape = name, [length, PLANE, PLANE]
        self.old, new, self.compressed = CASES[name]
        self.new = [n or length for n in new]
        self.folder = os.path.join(options.cache, "data", f"{name}-{length}")

    def source(self, format):
        return os.path.join(self.folder, f"v{format}.zarr")

    def make(self, options):
        for format in (3, 2):
            if not os.path.exists(self.source(format)):
                arrays(options, "make", source=self.source(format) + "+", shape=self.shape, chunks=self.old, format=format, compressed=self.compressed)
                os.rename(self.source(format) + "+", self.source(format))


class Empty(Case):
    """An array of two chunks with four elements each: a run of it takes the time that a program needs to start and end."""

    def __init__(self, options):
        self.name, self.shape, self.old, self.new, self.compressed = "empty", [2, 2, 2], [1, 2, 2], [2, 1, 1], True
        self.folder = os.path.join(options.cache, "data", "empty")


def arrays(options, work, **request):
    python = os.path.join(options.cache, "dask", "bin", "python")
    r = subprocess.run([python, os.path.join(HERE, "arrays.py"), json.dumps({"work": work} | request)], text=True, capture_output=True)
    if r.returncode:
        raise processes.Failed(f"{work} failed: {r.stderr.strip().splitlines()[-1]}")


def warm(folder):
    """Reads all files of a folder, so that every program finds them in the system's cache."""
    for root, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(root, name), "rb") as f:
                while f.read(1 << 20):
                    pass


def once(options, tool, case, workers, check):
    """Runs a program once on an empty folder, and returns what it took."""
    scratch = os.path.join(options.cache, "scratch")
    shutil.rmtree(scratch, ignore_errors=True)
    work = os.path.join(scratch, "work")
    os.makedirs(work)
    job = tools.Job(case.source(3), case.source(2), os.path.join(scratch, "out"), work, case.new, workers, options.memory, case.compressed)
    warm(case.source(2) if tool.environment == "rechunker" else case.source(3))
    subprocess.run(["sync", "-f", scratch], check=True)  # of what was written before
    log = os.path.join(scratch, "log")
    try:
        taken = processes.run(tool.steps(tool, job), log, options.limit, options.most, tool.coordinated)
    except processes.Failed as e:
        raise processes.Failed(f"{e}{reason(log)}") from None
    shutil.rmtree(work)  # intermediate arrays need not become durable
    begin = time.perf_counter()
    subprocess.run(["sync", "-f", scratch], check=True)
    taken["sync"] = time.perf_counter() - begin
    taken["stored"] = int(subprocess.run(["du", "-sb", job.target], text=True, check=True, capture_output=True).stdout.split()[0])
    if check:
        arrays(options, "check", source=case.source(3), result=job.target, wanted=case.new, compressed=case.compressed)
    return taken


def reason(log):
    """Returns the last line of a log that names an error, as the end of a message."""
    with open(log, errors="replace") as f:
        lines = [line.strip() for line in f if ("Error" in line or "Exception" in line or "Killed" in line) and not line.startswith("WARNING")]
    return ": " + lines[-1][:200] if lines else ""


def measure(options, case, candidates):
    """Yields the results of all candidates after each round. Candidates are pairs of a program and a number of workers."""
    case.make(options)
    load = os.getloadavg()[0]
    results = [{"tool": t.name, "workers": w, "coordinated": t.coordinated, "runs": [], "empty": [], "why": ""} for t, w in candidates]
    empty = Empty(options)
    empty.make(options)
    for turn in range(options.repeat):
        for k in range(len(candidates)):
            # Rotate the order, so that no program always follows the same one.
            i = (k + turn * len(candidates) // options.repeat) % len(candidates)
            (tool, workers), r = candidates[i], results[i]
            rounds = options.repeat if workers <= os.cpu_count() else options.beyond
            if turn >= rounds or r["why"] or (r["runs"] and r["runs"][0]["seconds"] > options.slow):
                continue
            try:
                taken = once(options, tool, empty, workers, False)
                r["empty"].append({"seconds": taken["seconds"], "worker": taken["worker"]})
                r["runs"].append(once(options, tool, case, workers, turn == 0))
            except processes.Failed as e:
                r["why"] = str(e).replace(options.cache, "…")
            say(case, r)
        yield {"name": case.name, "compressed": case.compressed, "shape": case.shape, "old": case.old, "new": case.new, "load": load, "repeat": options.repeat, "slow": options.slow, "results": results}


def say(case, r):
    done = f"{r['runs'][-1]['seconds']:.2f} s" if r["runs"] and not r["why"] else r["why"]
    print(f"{time.strftime('%H:%M:%S')} {case.name}: {r['tool']} on {r['workers']}: {done}", file=sys.stderr, flush=True)


def machine(options):
    def field(file, name):
        with open(file) as f:
            return next((line.split(":")[1].strip() for line in f if line.startswith(name)), "unknown")

    return {
        "date": time.strftime("%Y-%m-%d"), "cores": os.cpu_count(), "processor": field("/proc/cpuinfo", "model name"),
        "memory": field("/proc/meminfo", "MemTotal"), "system": f"{os.uname().sysname.lower()} {os.uname().release}",
        "versions": [f"Varve {options.commit}", *pinned()], "limit": options.memory, "beyond": options.beyond,
    }


def pinned():
    """Returns the versions of the packages that matter, by environment."""
    matter = ["apache-beam", "cubed", "dask", "distributed", "numcodecs", "numpy", "rechunker", "xarray-beam", "zarr"]
    for name in ["cubed", "rechunker", "dask", "beam"]:
        with open(os.path.join(HERE, name + ".txt")) as f:
            lines = [line.strip().replace("==", " ") for line in f]
        yield f"{name} ({', '.join(line for line in lines if line.split(' ')[0] in matter)})"


def keep(options, results):
    """Stores what is known so far: a run of all cases takes hours, and may be stopped."""
    with open(options.out + ".json", "w") as f:
        json.dump(results, f, indent="\t")
        f.write("\n")
    report.write(results, options.out + ".md")


def earlier(options):
    """Returns the results of the cases that are not measured again, with --add."""
    if not options.add or not os.path.exists(options.out + ".json"):
        return []
    with open(options.out + ".json") as f:
        return [c for c in json.load(f)["cases"] if c["name"] not in options.cases.split(",")]


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that processes.run ends what runs
    words = [w for w in options.tools.split(",") if w] or [""]
    chosen = [t for t in tools.all_tools(options.cache) if any(w in t.name for w in words)]
    present = [t for t in chosen if t.installed(options.cache)]
    candidates = [(t, w) for w in options.workers for t in present if not t.most or w <= t.most]
    results = {"machine": machine(options), "missing": [t.name for t in chosen if t not in present], "cases": []}
    done = earlier(options)
    for name in options.cases.split(","):
        for case in measure(options, Case(name, options), candidates):
            keep(options, results | {"cases": [*done, case]})
        done.append(case)
    shutil.rmtree(os.path.join(options.cache, "scratch"), ignore_errors=True)


main()
