# SPDX-License-Identifier: Apache-2.0

"""Answers questions about a repository of Icechunk, one line of JSON each.

Usage: icechunk_oracle.py REPOSITORY

REPOSITORY is a folder, or s3://BUCKET/PREFIX?endpoint=URL and the other options of Varve.
"""

import asyncio
import datetime
import json
import os
import sys
import urllib.parse

os.environ.setdefault("ICECHUNK_LOG", "error")

import icechunk  # noqa: E402
import numpy as np  # noqa: E402
import zarr  # noqa: E402

zarr.config.set({"array.rectilinear_chunks": True})


def storage(location):
    """The storage of a repository."""
    url = urllib.parse.urlsplit(location)
    if url.scheme != "s3":
        return icechunk.local_filesystem_storage(location)
    options = dict(urllib.parse.parse_qsl(url.query))
    return icechunk.s3_storage(
        bucket=url.netloc, prefix=url.path.strip("/"), endpoint_url=options.pop("endpoint"), allow_http=True, force_path_style=True, **options
    )


repo = icechunk.Repository.open(storage(sys.argv[1]))


def read(request):
    """The values of all arrays at the tip of a branch, by path."""
    group = zarr.open_group(repo.readonly_session(branch=request["branch"]).store, mode="r")
    return {path: node[...].ravel().tolist() for path, node in group.members(max_depth=None) if isinstance(node, zarr.Array)}


def log(request):
    """The commits of a branch, the last one first."""
    return [[s.id, s.message] for s in repo.ancestry(branch=request["branch"])]


def metadata(request):
    """What the commits of a branch say of themselves, the last one first."""
    return [s.metadata for s in repo.ancestry(branch=request["branch"])]


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


def between(request):
    """What differs between two snapshots."""
    d = repo.diff(from_snapshot_id=request["from"], to_snapshot_id=request["to"])
    return {
        "NewGroups": sorted(d.new_groups),
        "NewArrays": sorted(d.new_arrays),
        "DeletedGroups": sorted(d.deleted_groups),
        "DeletedArrays": sorted(d.deleted_arrays),
        "UpdatedGroups": sorted(d.updated_groups),
        "UpdatedArrays": sorted(d.updated_arrays),
        "Chunks": {path: sorted(list(c) for c in chunks) for path, chunks in d.updated_chunks.items()},
    }


def hashes(request):
    """The shapes and hashes of all arrays at the tip of main, also of virtual chunks in a folder or a bucket, by xarray."""
    import hashlib

    import xarray

    if "bucket" in request:
        prefix = f"s3://{request['bucket']}/"
        access = icechunk.Credentials.S3(icechunk.s3_credentials(access_key_id=request["user"], secret_access_key=request["secret"]))
        place = icechunk.s3_store(region="us-east-1", endpoint_url=request["endpoint"], allow_http=True, s3_compatible=True, force_path_style=True)
    else:
        prefix, access = "file://" + request["folder"] + "/", icechunk.credentials.LocalFileSystemAccess
        place = icechunk.local_filesystem_store(request["folder"])
    prefix = request.get("prefix", prefix)
    config = icechunk.RepositoryConfig.default()
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(prefix, place))
    if request.get("stored"):
        config = None  # the repository has it
    here = icechunk.Repository.open(storage(sys.argv[1]), config=config, authorize_virtual_chunk_access={prefix: access})
    store = here.readonly_session("main").store
    arrays = dict(zarr.open_group(store, path=request["group"], mode="r").arrays())
    # xarray takes all dimensions without a name for one.
    if all(None not in (a.metadata.dimension_names or [None]) or a.ndim == 0 for a in arrays.values()):
        arrays = xarray.open_zarr(store, group=request["group"], consolidated=False, decode_cf=False).variables
    found = {}
    for name, values in arrays.items():
        values = np.ascontiguousarray(values[...])
        values = values.astype(values.dtype.newbyteorder("<"))
        found[name] = {"Shape": list(values.shape), "SHA256": hashlib.sha256(values.tobytes()).hexdigest(), "By": type(arrays).__name__}
    return found


def operations_log(request):
    """The number of updates of the repository."""
    return len(list(repo.ops_log()))


def configure(request):
    """Configures how many updates one object has, and the rest by default."""
    global repo
    repo = repo.reopen(config=icechunk.RepositoryConfig(num_updates_per_repo_info_file=request["updates"]))
    repo.save_config()
    return True


def collect(request):
    """Collects all garbage, whatever its age."""
    repo.garbage_collect(datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1))
    return True


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


def expire(request):
    """Expires commits before a time, and returns their IDs."""
    return sorted(
        repo.expire_snapshots(
            older_than=datetime.datetime.fromisoformat(request["before"]),
            delete_expired_branches=request["branches"],
            delete_expired_tags=request["tags"],
        )
    )


def remove(request):
    """Collects garbage that was stored before a time."""
    s = repo.garbage_collect(datetime.datetime.fromisoformat(request["before"]))
    return [s.snapshots_deleted, s.transaction_logs_deleted, s.manifests_deleted, s.chunks_deleted, s.bytes_deleted]


def stats(_):
    """The bytes of native, inline and virtual chunks."""
    s = repo.chunk_storage_stats()
    return [s.native_bytes, s.inlined_bytes, s.virtual_bytes]


def references(_):
    """The branches and tags, each with the IDs of its commits, the last one first."""
    found = {f"branch:{name}": [s.id for s in repo.ancestry(branch=name)] for name in repo.list_branches()}
    return found | {f"tag:{name}": [s.id for s in repo.ancestry(tag=name)] for name in repo.list_tags()}


def split(request):
    """Configures how manifests are split, from the next commit on."""
    global repo
    condition = icechunk.ManifestSplitCondition.name_matches(request["names"])
    sizes = {condition: {icechunk.ManifestSplitDimCondition.Axis(0): request["chunks"]}}
    manifest = icechunk.ManifestConfig(splitting=icechunk.ManifestSplittingConfig.from_dict(sizes))
    repo = repo.reopen(config=icechunk.RepositoryConfig(manifest=manifest))
    repo.save_config()


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
    how = session.amend if request.get("amend") else session.commit
    return how(request["message"], metadata=request.get("metadata"))


def work(request):
    """Commits elements: an append that begins anew, or a block of an array, rebased or begun anew."""
    kind, values = request["kind"], np.array(request["values"], dtype="int32")
    solver = icechunk.ConflictDetector() if kind == "rebase" else None
    while True:
        session = repo.writable_session("main")
        array = zarr.open_group(session.store, mode="r+")[request["name"]]
        if kind == "append":
            array.append(values)
        else:
            array[request["start"] : request["start"] + len(values)] = values
        try:
            return session.commit(request["message"], metadata=request["metadata"], rebase_with=solver)
        except icechunk.ConflictError:
            if kind == "rebase":
                raise


operations = {
    f.__name__: f
    for f in (
        *(begin, between, change, collect, commit, configure, diff, expire, hashes, log, metadata, operations_log),
        *(read, rebase, references, remove, split, stage, stats, work),
    )
}

print(json.dumps({"ok": icechunk.__version__}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = {"ok": operations[request["op"]](request)}
    except Exception as e:
        answer = {"error": f"{type(e).__name__}: {e}"}
    print(json.dumps(answer), flush=True)
