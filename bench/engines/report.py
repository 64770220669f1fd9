# SPDX-License-Identifier: Apache-2.0

"""Writes the report from the results: report.py RESULTS.json REPORT.md."""

import json
import statistics
import sys

BUSY = 1.5  # load of other programs from which on times are hints
AIM = 3  # times as fast as the fastest peer
THREADS = ("cubed, threads", "xarray-beam, prism")  # one process has the memory of all workers
OURS = ("varve, processes", "varve, one process")

EXPLANATION = """
The programs take turns on the same arrays, which are in the system's cache, and write to the same file system. Times are in seconds from
the start of the first process to the end of the last one, so they include the start of Python and of a cluster; "empty" is the time of the
same program for an array of eight elements. Figures are medians of all rounds, and ± is half of the difference between the slowest and the
fastest round. A slow program runs once. Numbers of workers above that of the cores have {beyond} round(s). The first result of each was
compared with the source by zarr-python: all elements, the chunks and the codec.

- **Durable.** Varve syncs what it writes, and the peers do not. "durable" is the time with a `sync -f` of the file system after it, for all.
  Intermediate arrays are deleted before that.
- **Memory.** "worker" is the peak of the largest worker process as the kernel counts it (VmHWM, which includes shared pages), "together" the
  most of all processes at once, also of those that only coordinate. Each worker may use {limit} MiB. That is `--memory` of Varve and 32 MiB
  beside it, `allowed_mem` of cubed with 80 MiB of it reserved, and `memory_limit` of the workers of dask, whose chunks in between may have a
  sixteenth and whose buffers for p2p an eighth each: with its defaults, dask kills its workers here. `max_mem` of rechunker and xarray-beam
  counts elements only, and not Python or the copies of each step, so it is a quarter. A run whose processes together take more than
  --most (8 GiB) is stopped.
- **Workers.** Each has one thread. Those of "varve, processes" share the tasks of a plan, as machines of a cluster do: `varve rechunk --plan`,
  then `varve run --stage --task`, then `varve run --publish`. "varve, one process" and "rechunker, python" are one process with {limit} MiB
  as a whole. "cubed, threads" and "xarray-beam, prism" are one with {limit} MiB for each thread. This machine has {cores} cores: more workers
  than that cannot be faster, and show what they cost.
- **Formats.** The arrays have format 3. rechunker does not run with zarr-python 3 ("module 'zarr' has no attribute 'hierarchy'"), so it
  reads and writes format 2, on zarr-python 2.
  Intermediate arrays of cubed and rechunker are not compressed, as cubed advises for local files.
- **Beam.** "xarray-beam, python" is Beam's runner for Python in the mode multi_processing. It holds what it shuffles in the memory of the
  coordinating process. "xarray-beam, prism" is its newer one, a program in Go, with the workers as threads of one Python process.

Read and written are bytes of system calls, also from the cache, to scratch and between processes. CPU is processor time in seconds. Compare
times only with those beside them.
"""


def write(results, path):
    with open(path, "w") as f:
        f.write("\n".join(lines(results)) + "\n")


def lines(results):
    m = results["machine"]
    yield "# Rechunking beside engines of Python\n"
    yield f"{m['date']}, {m['cores']} cores of {m['processor']}, {m['memory']} of memory, {m['system']}, cache warm."
    yield f"{'; '.join(m['versions'])}."
    if any(c["load"] > BUSY for c in results["cases"]):
        loads = ", ".join(f"{c['load']:.1f} when {c['name']} began" for c in results["cases"])
        yield f"\n**The machine was busy with other work: its load was {loads}. Take times as hints; CPU, memory and bytes depend on it much less.**"
    yield EXPLANATION.format(limit=m["limit"] >> 20, cores=m["cores"], beyond=m["beyond"])
    if results["missing"]:
        yield f"Not installed: {'; '.join(results['missing'])}.\n"
    yield "`bench/engines/run` repeats all of this.\n\n## Overview\n"
    yield f"Times are those of the fastest peer divided by those of the faster Varve, on as many workers; the aim is {AIM}. Ratios are those of the"
    yield "runs of one round, with the lowest and the highest one. CPU is that of the same two programs.\n"
    yield "| case | workers | varve | beside | ratio | durable | CPU | aim | varve's worker | within the limit |\n|---|--:|---|---|--:|--:|--:|---|--:|---|"
    for c in results["cases"]:
        for w in sorted({r["workers"] for r in c["results"]}):
            yield overview(c, [r for r in c["results"] if r["workers"] == w], str(w), m["limit"])
        yield overview(c, c["results"], "any", m["limit"])
    for c in results["cases"]:
        yield from table(c, m["limit"])


def overview(case, rows, workers, limit):
    """Returns the line that compares the fastest of both sides."""
    done = [r for r in rows if r["runs"] and not r["why"]]
    ours = min((r for r in done if r["tool"] in OURS), key=median, default=None)
    peer = min((r for r in done if r["tool"] not in OURS), key=median, default=None)
    if not ours or not peer:
        return f"| {case['name']} | {workers} | no figure | – | – | – | – | – | – | – |"
    lasting = min((r for r in done if r["tool"] not in OURS), key=lambda r: median(r, durable))
    peak = max(x["worker"] for x in ours["runs"])
    names = [r["tool"] + (f" on {r['workers']}" if workers == "any" else "") for r in (ours, peer)]
    reached = mark(statistics.median(ratios(peer, ours, took)) >= AIM)
    cells = [names[0], names[1], spread(peer, ours, took), spread(lasting, ours, durable), spread(peer, ours, processor), reached, mib(peak), mark(peak <= limit)]
    return f"| {case['name']} | {workers} | " + " | ".join(cells) + " |"


def took(run):
    return run["seconds"]


def durable(run):
    return run["seconds"] + run["sync"]


def processor(run):
    return run["cpu"]


def median(result, of=took):
    return statistics.median(of(x) for x in result["runs"])


def ratios(a, b, of):
    return sorted(of(x) / of(y) for x, y in zip(a["runs"], b["runs"]))


def spread(a, b, of):
    r = ratios(a, b, of)
    return f"{statistics.median(r):.2f}" + (f" ({r[0]:.2f}–{r[-1]:.2f})" if len(r) > 1 else "")


def mark(good):
    return "✓" if good else "✗"


def mib(bytes):
    return f"{bytes / (1 << 20):.0f} MiB"


def table(case, limit):
    """Yields the table of a case. The column ÷ compares with Varve on as many processes."""
    shape, old, new = (" × ".join(map(str, case[k])) for k in ("shape", "old", "new"))
    plain = "" if case.get("compressed", True) else ", not compressed"
    yield f"\n## {case['name']}: {shape} float32, chunks of {old} to chunks of {new}{plain}\n"
    yield "| program | workers | time | ± | ÷ varve | durable | empty | CPU | worker | together | read | written |\n|---|" + "--:|" * 11
    notes = []
    for r in sorted(case["results"], key=lambda r: r["workers"]):
        if r["why"]:
            notes.append(f"{r['tool']} on {r['workers']}: {r['why'].rstrip('.')}.")
            continue
        times = [took(x) for x in r["runs"]]
        half = f"{50 * (max(times) - min(times)) / median(r):.0f} %" if len(times) > 1 else "–"
        worker = max(x["worker"] for x in r["runs"])
        allowed = limit * (r["workers"] if r["tool"] in THREADS else 1)
        cells = [
            f"{median(r):.3g}", half, beside(case, r), f"{median(r, durable):.3g}", f"{statistics.median(e['seconds'] for e in r['empty']):.2f}", f"{median(r, lambda x: x['cpu']):.3g}",
            f"{mib(worker)} {mark(worker <= allowed)}", mib(max(x["together"] for x in r["runs"])),
            mib(median(r, lambda x: x["read"])), mib(median(r, lambda x: x["written"])),
        ]
        yield f"| {r['tool']} | {r['workers']} | " + " | ".join(cells) + " |"
    if notes:
        yield "\nWithout a figure: " + " ".join(notes)


def beside(case, r):
    ours = next((o for o in case["results"] if o["tool"] == OURS[0] and o["workers"] == r["workers"] and o["runs"] and not o["why"]), None)
    return f"{statistics.median(ratios(r, ours, took)):.2f}" if ours else "–"


if __name__ == "__main__":
    with open(sys.argv[1]) as results:
        write(json.load(results), sys.argv[2])
