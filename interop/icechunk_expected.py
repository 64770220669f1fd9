# SPDX-License-Identifier: Apache-2.0

"""Writes what the reference finds in the repositories below a folder, as JSON.

Usage: icechunk_expected.py FOLDER > expected.json

For each repository: branches and tags with their snapshots, the commits that lead to
each, and the keys of each tip with the SHA-256 of their values. A value that cannot be
read has the first line of the error.
"""

import asyncio
import hashlib
import json
import pathlib
import sys

import icechunk
from zarr.core.buffer import default_buffer_prototype


async def keys(session):
    """Returns the keys of a snapshot with the hashes of their values."""
    store, found = session.store, {}
    async for key in store.list():
        try:
            value = await store.get(key, default_buffer_prototype())
            found[key] = hashlib.sha256(value.to_bytes()).hexdigest()
        except Exception as e:
            found[key] = "error: " + type(e).__name__
    return found


def commits(repo, **at):
    return [[s.id, s.message, s.written_at.isoformat()] for s in repo.ancestry(**at)]


def describe(path):
    repo = icechunk.Repository.open(icechunk.local_filesystem_storage(str(path)))
    refs = {}
    for kind, names in (("branch", repo.list_branches()), ("tag", repo.list_tags())):
        for name in sorted(names):
            at = {kind: name}
            session = repo.readonly_session(**at)
            refs[f"{kind}:{name}"] = {
                "snapshot": session.snapshot_id,
                "log": commits(repo, **at),
                "keys": asyncio.run(keys(session)),
            }
    return refs


def main():
    found = {}
    for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        if path.is_dir():
            found[path.name] = describe(path)
    json.dump(found, sys.stdout, indent=1, sort_keys=True)
    print()


main()
