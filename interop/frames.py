# SPDX-License-Identifier: Apache-2.0

"""Frames of numcodecs' bytes-to-bytes codecs.

    python frames.py write ARCHIVE [SEED [CODEC...]]   writes a zip archive of frames, by all codecs or those named
    python frames.py read ARCHIVE                      decodes the frames of an archive

An archive has plain/<n>, frame/<n>, and manifest.json: a list of {"id", "configuration", "plain", "frame"}, where the last two are
names in the archive. Those in internal/codecs/numcodecs/testdata, of all codecs but lzma, and in codec/extra/testdata, of lzma, were written with
numcodecs 0.17.1 and seed 1.
"""

import json
import lzma
import sys
import zipfile

import numcodecs
import numpy as np

DELTA = {"id": lzma.FILTER_DELTA, "dist": 4}
LZMA1 = {"id": lzma.FILTER_LZMA1, "preset": 6}
LZMA2 = {"id": lzma.FILTER_LZMA2, "preset": 6}
ODD = {"id": lzma.FILTER_LZMA2, "dict_size": 1 << 16, "lc": 1, "lp": 2, "pb": 0}

CONFIGURATIONS = [
    ("zlib", [{}, {"level": 0}, {"level": 9}, {"level": -1}]),
    ("gzip", [{}, {"level": 0}, {"level": 9}]),
    ("bz2", [{}, {"level": 5}, {"level": 9}]),
    ("lz4", [{}, {"acceleration": 1}, {"acceleration": 50}]),
    ("zstd", [{}, {"level": 0}, {"level": 22, "checksum": True}, {"level": -100}]),
    ("shuffle", [{"elementsize": n} for n in (0, 1, 2, 4, 5, 8, 16)]),
    ("adler32", [{}, {"location": "start"}, {"location": "end"}]),
    ("crc32", [{}, {"location": "start"}, {"location": "end"}]),
    ("crc32c", [{}, {"location": "start"}, {"location": "end"}]),
    ("fletcher32", [{}]),
    ("jenkins_lookup3", [{}, {"initval": 3735928559}]),
    ("base64", [{}]),
    (
        "blosc",
        [{}, {"cname": "zstd", "clevel": 3, "shuffle": 2, "blocksize": 0}, {"cname": "blosclz", "clevel": 9, "shuffle": -1}]
        + [{"cname": c, "clevel": 1, "shuffle": 0} for c in ("lz4hc", "zlib")],
    ),
    (
        "lzma",
        [
            {},
            {"preset": 0},
            {"preset": 9},
            {"format": 1, "check": -1, "preset": None, "filters": None},
            {"format": 1, "check": 0},
            {"format": 1, "check": 1},
            {"format": 1, "check": 10},
            {"format": 1, "filters": [DELTA, LZMA2]},
            {"format": 1, "filters": [ODD]},
            {"format": 2},
            {"format": 2, "filters": [LZMA1 | {"lc": 0, "lp": 3, "pb": 1}]},
            {"format": 3, "filters": [LZMA1]},
            {"format": 3, "filters": [LZMA2]},
            {"format": 3, "filters": [DELTA, LZMA2]},
            {"format": 3, "filters": [ODD]},
        ],
    ),
]


def inputs(seed):
    """Byte strings of several kinds; their lengths are multiples of 80, which has all sizes of elements as divisors."""
    r = np.random.default_rng(seed)
    field = np.cumsum(r.normal(0, 0.1, 1000)).astype("<f4").round(2)
    return [
        b"",
        bytes(80),
        np.arange(-400, 400, dtype="<i2").tobytes(),
        field.tobytes(),
        r.integers(0, 256, 400, dtype="u1").tobytes(),
        bytes(800_000),
        np.repeat(r.integers(0, 4, 200, dtype="<i8"), 10).tobytes(),
    ]


def decoded(codec, frame):
    """The content of a frame. numcodecs cannot read its own containers with filters, but the library can."""
    if codec.codec_id == "lzma" and codec.format != lzma.FORMAT_RAW:
        return lzma.decompress(frame)
    return bytes(codec.decode(frame))


def encoded(codec, plain):
    try:
        frame = bytes(codec.encode(np.frombuffer(plain, "u1")))
        return frame if decoded(codec, frame) == plain else None
    except Exception:
        return None  # the codec refuses this input, as several refuse no bytes


def write(path, seed, names):
    rows = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:

        def add(name, data):
            z.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)

        plains = inputs(seed)
        for n, plain in enumerate(plains):
            add(f"plain/{n}", plain)
        for name, configurations in CONFIGURATIONS:
            for configuration in configurations if not names or name in names else []:
                codec = numcodecs.get_codec({"id": name} | configuration)
                for n, plain in enumerate(plains):
                    if (frame := encoded(codec, plain)) is not None:
                        row = {"id": name, "configuration": configuration, "plain": f"plain/{n}", "frame": f"frame/{len(rows)}"}
                        rows.append(row)
                        add(row["frame"], frame)
        add("manifest.json", json.dumps(rows, indent=1))
    print(len(rows))


def read(path):
    """Prints the number of decoded frames. The first wrong frame ends the program with an error."""
    with zipfile.ZipFile(path) as z:
        rows = json.loads(z.read("manifest.json"))
        for row in rows:
            codec = numcodecs.get_codec({"id": row["id"]} | row["configuration"])
            try:
                right = decoded(codec, z.read(row["frame"])) == z.read(row["plain"])
            except Exception as e:
                sys.exit(f"{row}: {e}")
            if not right:
                sys.exit(f"{row}: decodes to other bytes")
    print(len(rows))


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1, sys.argv[4:])
    else:
        read(sys.argv[2])
