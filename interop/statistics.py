# SPDX-License-Identifier: Apache-2.0

"""Statistics of chunks, as docs/statistics.md describes them.

statistics.py names DIR        prints the names that readers of the group at DIR find
statistics.py read REQUEST     prints the entries of an array, and what they have to be by the elements
statistics.py write REQUEST    makes the array of the entries anew

A request has the path of the array, the texts of the versions of its stored chunks by their keys, the lines of the
meaning of its elements, and the missing numbers.
"""

import hashlib
import itertools
import json
import shutil
import sys
import warnings

import numpy as np
import xarray
import zarr

warnings.simplefilter("ignore")


def number(data):
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "little") | 1


def names(path):
    group = zarr.open_group(path, mode="r")
    tree = xarray.open_datatree(path, engine="zarr", consolidated=False)
    return {
        "zarr": sorted(group.array_keys()) + sorted(group.group_keys()),
        "xarray": sorted(xarray.open_zarr(path, consolidated=False).variables),
        "tree": sorted(node.path for node in tree.subtree),
    }


def entries(request):
    """What the entries of an array have to be: of each cell of a stored chunk, by the index of the cell."""
    array = zarr.open_array(request["path"], mode="r")
    elements = array[...]
    inner, outer = array.chunks, array.shards or array.chunks
    meaning = hashlib.sha256("".join(line + "\n" for line in request["meaning"]).encode()).digest()
    fill = array.fill_value
    for cell in itertools.product(*(range(-(-n // c)) for n, c in zip(array.shape, inner))):
        start = [k * c for k, c in zip(cell, inner)]
        stop = [min(s + c, n) for s, c, n in zip(start, inner, array.shape)]
        key = array.metadata.encode_chunk_key(tuple(s // c for s, c in zip(start, outer)))
        if key not in request["versions"]:
            continue
        digest = number(request["versions"][key].encode())
        place = "".join(f"{a}:{b} " for a, b in zip(start, stop))
        mark = number(f"varve statistics 1\n{digest:016x}\n{key}\n{place}\n".encode() + meaning)
        part = elements[tuple(slice(a, b) for a, b in zip(start, stop))].ravel()
        missing = np.isin(part, request["missing"]) | (part != part)
        least, largest = (part[~missing].min(), part[~missing].max()) if not missing.all() else (0, 0)
        filled = np.count_nonzero((part == fill) | (part != part) & (fill != fill))
        yield cell, (mark, least, largest, int(missing.sum()), int(filled))


def plain(entry):
    return [int(entry[0]), float(entry[1]), float(entry[2]), int(entry[3]), int(entry[4])]


def main():
    command, argument = sys.argv[1:]
    if command == "names":
        print(json.dumps(names(argument)))
        return
    request = json.loads(argument)
    place = request["path"] + "/__varve/statistics"
    kept = zarr.open_array(place, mode="r")
    want = dict(entries(request))
    if command == "read":
        found = {cell: kept[cell].item() for cell in np.ndindex(kept.shape) if kept[cell]["version"] != 0}
        print(json.dumps({"want": {str(k): plain(v) for k, v in want.items()}, "found": {str(k): plain(v) for k, v in found.items()}}))
        return
    shutil.rmtree(place)
    made = zarr.create_array(place, shape=kept.shape, chunks=tuple(max(1, n // 2) for n in kept.shape), dtype=kept.dtype)
    for cell, entry in want.items():
        made[cell] = np.array(entry, dtype=kept.dtype)


main()
