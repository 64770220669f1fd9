# SPDX-License-Identifier: Apache-2.0

"""Compares frames of the codec blosc with c-blosc, through numcodecs, and frames of Snappy through the c-blosc at LIBBLOSC.

It reads the file cases.json of a folder. A case has options, a content, and a frame. The program prints the faults of
the frame, and writes the frame of c-blosc to the same folder.
"""

import json
import os
import sys

from numcodecs import blosc

from blosc_frames import by_library, by_numcodecs

COPIED = 2  # among the flags


def read(folder, name):
    with open(os.path.join(folder, name), "rb") as f:
        return f.read()


def check(folder, case):
    content, frame = read(folder, case["name"] + ".content"), read(folder, case["name"] + ".frame")
    compress, decompress = by_numcodecs, lambda frame, _: blosc.decompress(frame)
    if case["cname"] == "snappy":
        if "LIBBLOSC" not in os.environ:
            return None
        compress, decompress = by_library(os.environ["LIBBLOSC"])
    theirs = compress(content, case["cname"], case["level"], case["shuffle"], case["block"], case["element"])
    with open(os.path.join(folder, case["name"] + ".theirs"), "wb") as f:
        f.write(theirs)
    a, b = bytearray(frame[:12]), bytearray(theirs[:12])
    if frame[2] & COPIED != theirs[2] & COPIED:  # only one of the two found something to compress
        a[2], b[2] = a[2] & ~COPIED, b[2] & ~COPIED
    if a != b:
        return f"header {a.hex()} instead of {b.hex()}"
    if content and decompress(frame, len(content)) != content:  # numcodecs refuses empty frames, even its own
        return "decodes to other content"
    return None


def main(folder):
    blosc.use_threads = False
    for case in json.loads(read(folder, "cases.json")):
        wrong = check(folder, case)
        if wrong:
            print(case, wrong)


if __name__ == "__main__":
    main(sys.argv[1])
