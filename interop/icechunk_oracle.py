# SPDX-License-Identifier: Apache-2.0

"""Answers questions about a repository of Icechunk, one line of JSON each.

Usage: icechunk_oracle.py REPOSITORY
"""

import asyncio
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


sessions = {}


def begin(request):
    """Begins a session with a name."""
    sessions[request["session"]] = repo.writable_session(request["branch"])
    return True


def stage(request):
    """Sets and deletes keys in a session. A value of none deletes the key."""
    store = sessions[request["session"]].store

    async def apply():
        for key, value in request["changes"]:
            if value is None:
                await store.delete(key)
            else:
                await store.set(key, zarr.core.buffer.cpu.Buffer.from_bytes(value.encode()))

    asyncio.run(apply())
    return True


def rebase(request):
    """Rebases a session, and returns the conflicts, which may be none."""
    solver = icechunk.ConflictDetector()
    if "chunks" in request:
        solver = icechunk.BasicConflictSolver(on_chunk_conflict=getattr(icechunk.VersionSelection, request["chunks"]))
    try:
        sessions[request["session"]].rebase(solver)
    except icechunk.RebaseFailedError as e:
        return [
            [str(c.conflict_type).title().replace(" ", ""), c.path, sorted(list(i) for i in c.conflicted_chunks or [])]
            for c in e.conflicts
        ]
    return []


def commit(request):
    """Commits a session, or amends the commit that it began with."""
    session = sessions.pop(request["session"])
    return session.amend(request["message"]) if request.get("amend") else session.commit(request["message"])


operations = {f.__name__: f for f in (read, log, diff, change, begin, stage, rebase, commit)}

print(json.dumps({"ok": icechunk.__version__}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = {"ok": operations[request["op"]](request)}
    except Exception as e:
        answer = {"error": f"{type(e).__name__}: {e}"}
    print(json.dumps(answer), flush=True)
