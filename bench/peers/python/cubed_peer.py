# SPDX-License-Identifier: Apache-2.0

"""Rechunks arrays with cubed, within its budget and with its default executor."""

import os
import shutil
import tempfile

import protocol


def rechunk(request):
    wanted = request["rechunking"]
    if not wanted.get("chunks") or wanted.get("inner"):
        raise protocol.Unsupported("only chunks without shards are compared")
    timer = protocol.Timer()
    import cubed
    import zarr

    work = tempfile.mkdtemp(dir=os.path.dirname(request["target"]))
    shutil.rmtree(request["target"])
    # What the libraries themselves need is not part of the budget.
    reserved = 128 << 20
    spec = cubed.Spec(work_dir=work, allowed_mem=wanted["memory"] + reserved, reserved_mem=reserved)
    a = cubed.from_zarr(request["store"], spec=spec)
    cubed.to_zarr(a.rechunk(tuple(wanted["chunks"])), request["target"])
    answer = timer.stop() | {"bytes": zarr.open_array(request["store"], mode="r").nbytes}
    shutil.rmtree(work)
    return answer


if __name__ == "__main__":
    protocol.serve({"rechunk": rechunk})
