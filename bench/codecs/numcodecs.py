# SPDX-License-Identifier: Apache-2.0

"""Measures the codecs of bytes beside the C libraries, which numcodecs brings, in one run, and prints a table.

    python bench/codecs/numcodecs.py [ROUNDS [PATTERN]]

Both encode the same float32 field, as it is and shuffled, and both decode what numcodecs wrote, in one thread. A figure is the
best of all rounds, in which the two take turns, because other programs may run meanwhile. Codec blosc has a script of its own.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.pop(0)  # this folder has a file with the name of the package
import numcodecs  # noqa: E402
import numpy as np  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SIZES = [16 << 10, 16 << 20]
CODECS = [
    ("zstd", {"level": 3, "checksum": False}),
    ("gzip", {"level": 5}),
    ("zlib", {"level": 1}),
    ("lz4", {"acceleration": 1}),
    ("bz2", {"level": 5}),
    ("lzma", {"preset": 1}),
    ("shuffle", {"elementsize": 4}),
    ("crc32", {}),
    ("crc32c", {}),
    ("adler32", {}),
    ("fletcher32", {}),
    ("jenkins_lookup3", {}),
]


def field(n):
    i = np.arange(n // 4)
    x, y = i % 512, i // 512
    v = 280 + 15 * np.sin(x / 40) * np.cos(y / 55) + 3 * np.sin(x / 7 + y / 9)
    v += np.random.default_rng(1).normal(0, 0.05, len(v))
    return np.round(v, 2).astype("<f4").view("u1")


def best(f, seconds=0.1):
    end, least = time.perf_counter() + seconds, 1e9
    while time.perf_counter() < end:
        begin = time.perf_counter()
        f()
        least = min(least, time.perf_counter() - begin)
    return least


def prepare(folder, pattern):
    """Writes what both code, and returns it: rows with the bytes and the codec."""
    rows = []
    for n in SIZES:
        for shuffled in [False, True]:
            src = field(n)
            if shuffled:
                src = np.ascontiguousarray(src.reshape(-1, 4).T).ravel()
            plain = f"{n}-{shuffled}"
            open(os.path.join(folder, plain), "wb").write(src.tobytes())
            for name, configuration in CODECS:
                row = f"{name}/{'shuffled' if shuffled else 'plain'}/{n}"
                if not re.search(pattern, row):
                    continue
                codec = numcodecs.get_codec({"id": name} | configuration)
                frame = bytes(codec.encode(src))
                open(os.path.join(folder, f"frame-{len(rows)}"), "wb").write(frame)
                written = {"row": row, "name": "numcodecs." + name, "plain": plain, "frame": f"frame-{len(rows)}"}
                rows.append((written | {"configuration": configuration}, codec, src, frame))
    json.dump([r[0] for r in rows], open(os.path.join(folder, "manifest.json"), "w"))
    return rows


def measure_c(rows, speeds, ratios):
    for row, codec, src, frame in rows:
        name = row["row"]
        ratios[name] = len(src) / len(frame)
        for way, f in {"encode": lambda: codec.encode(src), "decode": lambda: codec.decode(frame)}.items():
            key = f"{name}/{way}"
            speeds[key] = max(speeds.get(key, 0), len(src) / best(f) / 1e6)


def measure_go(folder, speeds, ratios):
    command = ["go", "test", "-run", "^$", "-bench", "^BenchmarkBeside$", "-benchtime", "100ms", "-timeout", "20m", "."]
    env = dict(os.environ, VARVE_FRAMES=folder)
    where = os.path.join(ROOT, "codec", "extra")
    text = subprocess.run(command, cwd=where, env=env, check=True, capture_output=True, text=True).stdout
    line = r"^BenchmarkBeside/(\w+/\w+/\d+)/(\w+?)(?:-\d+)?\s.*?([\d.]+) best-MB/s\s+([\d.]+) ratio"
    for name, way, speed, ratio in re.findall(line, text, re.M):
        key = f"{name}/{way}"
        speeds[key] = max(speeds.get(key, 0), float(speed))
        if way == "encode":
            ratios[name] = float(ratio)


def main(rounds=3, pattern=""):
    c, go, c_ratio, go_ratio = {}, {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        rows = prepare(folder, pattern)
        for _ in range(int(rounds)):
            measure_c(rows, c, c_ratio)
            measure_go(folder, go, go_ratio)
    print("| codec | field | bytes | encode MB/s: Go, C | Go/C | decode MB/s: Go, C | Go/C | ratio: Go, C |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for name in c_ratio:
        text = "| " + " | ".join(name.split("/")) + " |"
        for way in ["encode", "decode"]:
            a, b = go.get(f"{name}/{way}", 0), c[f"{name}/{way}"]
            text += f" {a:.0f}, {b:.0f} | {a / b:.2f} |"
        print(text + f" {go_ratio.get(name, 0):.2f}, {c_ratio[name]:.2f} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
