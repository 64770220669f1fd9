# SPDX-License-Identifier: Apache-2.0

"""Answers questions about a repository of Icechunk, one line of JSON each.

Usage: icechunk_oracle.py REPOSITORY
"""

import json
import os
import sys

os.environ.setdefault("ICECHUNK_LOG", "error")

import icechunk  # noqa: E402
import numpy as np  # noqa: E402
import zarr  # noqa: E402

zarr.config.set({"array.rectilinear_chunks": True})
repo = icechunk.Repository.open(icechunk.local_filesystem_storage(sys.argv[1]))


def read(request):
    """The values of all arrays at the tip of a branch, by path."""
    group = zarr.open_group(repo.readonly_session(branch=request["branch"]).store, mode="r")
    return {path: node[...].ravel().tolist() for path, node in group.members(max_depth=None) if isinstance(node, zarr.Array)}


def log(request):
    """The commits of a branch, the last one first."""
    return [[s.id, s.message] for s in repo.ancestry(branch=request["branch"])]


def diff(request):
    """What the last commit of a branch has changed."""
    ids = [s.id for s in repo.ancestry(branch=request["branch"])][:2]
    d = repo.diff(from_snapshot_id=ids[1], to_snapshot_id=ids[0])
    return {
        "new": sorted(d.new_arrays | d.new_groups),
        "deleted": sorted(d.deleted_arrays | d.deleted_groups),
        "updated": sorted(d.updated_arrays | d.updated_groups),
        "chunks": {path: sorted(list(c) for c in chunks) for path, chunks in d.updated_chunks.items()},
    }


def change(request):
    """Commits one change: create, write, append, or delete an array."""
    session = repo.writable_session(request["branch"])
    group = zarr.open_group(session.store, mode="a")
    name, values = request["name"], np.array(request["values"], dtype="int32")
    if request["kind"] == "create":
        group.create_array(name, data=values, chunks=request["chunks"], overwrite=True, compressors=None)
    elif request["kind"] == "write":
        group[name][request["start"] : request["start"] + len(values)] = values
    elif request["kind"] == "append":
        group[name].append(values)
    else:
        del group[name]
    return session.commit(request["message"])


def split(request):
    """Configures how manifests are split, from the next commit on."""
    global repo
    condition = icechunk.ManifestSplitCondition.name_matches(request["names"])
    sizes = {condition: {icechunk.ManifestSplitDimCondition.Axis(0): request["chunks"]}}
    manifest = icechunk.ManifestConfig(splitting=icechunk.ManifestSplittingConfig.from_dict(sizes))
    repo = repo.reopen(config=icechunk.RepositoryConfig(manifest=manifest))
    repo.save_config()


operations = {f.__name__: f for f in (read, log, diff, change, split)}

print(json.dumps({"ok": icechunk.__version__}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = {"ok": operations[request["op"]](request)}
    except Exception as e:
        answer = {"error": f"{type(e).__name__}: {e}"}
    print(json.dumps(answer), flush=True)
