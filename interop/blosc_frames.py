# SPDX-License-Identifier: Apache-2.0

"""Writes the frames in internal/codecs/blosc/testdata/frames, with numcodecs, and with the c-blosc at LIBBLOSC.

    python interop/blosc_frames.py internal/codecs/blosc/testdata/frames

numcodecs lacks Snappy. Its frames need a c-blosc with Snappy at the path LIBBLOSC, such as that of Debian. A name
has the content (see content in the test) and the options:

    <element>-<elements>-<cname>-<shuffle>-<level>-<blocksize>.blosc
"""
import ctypes
import os
import sys

import numpy as np
from numcodecs import blosc

NAMES = ["blosclz", "lz4", "lz4hc", "zlib", "zstd", "snappy"]
SHUFFLES = [0, 1, 2]
# element, elements, level, blocksize
CASES = [
    (1, 5000, 5, 0),
    (2, 20011, 1, 0),
    (4, 5003, 5, 4096),
    (4, 40000, 9, 0),
    (8, 3000, 5, 8192),
    (16, 2100, 3, 16384),
    (3, 3001, 6, 1536),
    (17, 500, 5, 1700),
    (255, 60, 5, 0),
]
FEW = [(4, 0, 5, 0), (4, 31, 5, 0), (4, 32, 5, 0), (4, 500, 0, 0), (8, 1, 9, 0), (300, 40, 5, 0)]


def content(element, elements):
    """Elements are squares in runs of 64; all but the lowest 8 bytes of large ones are zeros."""
    i = np.arange(elements, dtype=np.uint64)
    v = ((i // 64) ** 2 + i % 2).astype("<u8")
    out = np.zeros((elements, max(element, 8)), np.uint8)
    out[:, :8] = v.view(np.uint8).reshape(-1, 8)
    return out[:, :element].tobytes()


def by_numcodecs(src, name, level, shuffle, block, element):
    return blosc.compress(src, name.encode(), level, shuffle, block, element)


def by_library(path):
    lib = ctypes.CDLL(path)
    lib.blosc_compress_ctx.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_char_p,
                                       ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    lib.blosc_decompress_ctx.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]

    def compress(src, name, level, shuffle, block, element):
        dst = ctypes.create_string_buffer(len(src) + 16)
        n = lib.blosc_compress_ctx(level, shuffle, element, len(src), src, dst, len(src) + 16, name.encode(), block, 1)
        assert n > 0
        return dst.raw[:n]

    def decompress(frame, size):
        dst = ctypes.create_string_buffer(size + 1)
        n = lib.blosc_decompress_ctx(frame, dst, size, 1)
        return dst.raw[:n] if n >= 0 else None

    return compress, decompress


def main(folder):
    os.makedirs(folder, exist_ok=True)
    blosc.use_threads = False
    for name in NAMES:
        compress = by_numcodecs
        if name == "snappy":
            if "LIBBLOSC" not in os.environ:
                continue
            compress, _ = by_library(os.environ["LIBBLOSC"])
        for shuffle in SHUFFLES:
            for element, elements, level, block in CASES + (FEW if name == "lz4" else []):
                frame = compress(content(element, elements), name, level, shuffle, block, element)
                file = f"{element}-{elements}-{name}-{shuffle}-{level}-{block}.blosc"
                with open(os.path.join(folder, file), "wb") as f:
                    f.write(frame)


if __name__ == "__main__":
    main(sys.argv[1])
