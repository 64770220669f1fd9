# SPDX-License-Identifier: Apache-2.0

"""Measures the codec blosc beside c-blosc, which numcodecs brings, in one run, and prints a table.

    python bench/codecs/blosc.py [ROUNDS [PATTERN]]

Both encode the same float32 field, and both decode what c-blosc wrote, in one thread, whose own time is taken. A figure is the best of
all rounds, in which the two take turns, because other programs may run meanwhile.
"""

import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.pop(0)  # this folder has a file with the name of the package
import numpy as np  # noqa: E402
from numcodecs import blosc  # noqa: E402

NAMES = ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]
SHUFFLES = ["noshuffle", "shuffle", "bitshuffle"]
SIZES = [16 << 10, 16 << 20]
LEVEL = 5
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def field(n):
    i = np.arange(n // 4)
    x, y = i % 512, i // 512
    v = 280 + 15 * np.sin(x / 40) * np.cos(y / 55) + 3 * np.sin(x / 7 + y / 9)
    v += np.random.default_rng(1).normal(0, 0.05, len(v))
    return np.round(v, 2).astype("<f4").tobytes()


def best(f, seconds=0.1):
    end, least = time.perf_counter() + seconds, 1e9
    while time.perf_counter() < end:
        begin = time.thread_time()
        f()
        least = min(least, time.thread_time() - begin)
    return least


def measure_c(folder, speeds, ratios, pattern):
    for n in SIZES:
        src = open(os.path.join(folder, f"{n}.field"), "rb").read()
        for name in NAMES:
            for number, shuffle in enumerate(SHUFFLES):
                if not re.search(pattern, f"{name}/{shuffle}/{n}"):
                    continue
                frame = blosc.compress(src, name.encode(), LEVEL, number, 0, 4)
                ways = {
                    "encode": lambda: blosc.compress(src, name.encode(), LEVEL, number, 0, 4),
                    "decode": lambda: blosc.decompress(frame, out),
                }
                out = np.empty(n, np.uint8)
                ratios[name, shuffle, n] = n / len(frame)
                for way, f in ways.items():
                    key = name, shuffle, n, way
                    speeds[key] = max(speeds.get(key, 0), n / best(f) / 1e6)


def measure_go(folder, speeds, ratios, pattern):
    command = ["go", "test", "-run", "^$", "-bench", "/" + (pattern or "."), "-benchtime", "100ms", "-timeout", "20m", "./internal/codecs/blosc"]
    env = dict(os.environ, VARVE_BLOSC=folder)
    text = subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, text=True).stdout
    line = r"^Benchmark/(\w+)/(\w+)/(\d+)/(\w+?)(?:-\d+)?\s.*?([\d.]+) best-MB/s(?:\s+([\d.]+) ratio)?"
    for name, shuffle, n, way, speed, ratio in re.findall(line, text, re.M):
        key = name, shuffle, int(n), way
        speeds[key] = max(speeds.get(key, 0), float(speed))
        if ratio:
            ratios[name, shuffle, int(n)] = float(ratio)


def main(rounds=3, pattern=""):
    blosc.use_threads = False
    c, go, c_ratio, go_ratio = {}, {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for n in SIZES:
            src = field(n)
            open(os.path.join(folder, f"{n}.field"), "wb").write(src)
            for name in NAMES:
                for number, shuffle in enumerate(SHUFFLES):
                    frame = blosc.compress(src, name.encode(), LEVEL, number, 0, 4)
                    open(os.path.join(folder, f"{n}-{name}-{shuffle}.blosc"), "wb").write(frame)
        for _ in range(int(rounds)):
            measure_c(folder, c, c_ratio, pattern)
            measure_go(folder, go, go_ratio, pattern)
    print("| compressor | filter | bytes | encode MB/s: Go, C | Go/C | decode MB/s: Go, C | Go/C | size: Go, C |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for name, shuffle, n in c_ratio:
        row = f"| {name} | {shuffle} | {n} |"
        for way in ["encode", "decode"]:
            a, b = go.get((name, shuffle, n, way), 0), c[name, shuffle, n, way]
            row += f" {a:.0f}, {b:.0f} | {a / b:.2f} |"
        print(row + f" {go_ratio.get((name, shuffle, n), 0):.2f}, {c_ratio[name, shuffle, n]:.2f} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
