# SPDX-License-Identifier: Apache-2.0

"""Rechunks an array with cubed. The mode is the executor: threads or processes."""

import json
import os
import sys

# RESERVED is what a worker of cubed 0.28 needs without data: 65 MiB in an empty run.
RESERVED = 80 << 20


def main(request):
    import cubed
    import zarr
    from cubed.runtime.create import create_executor

    # Intermediate arrays are not compressed, as cubed advises for local files.
    spec = cubed.Spec(work_dir=request["work"], allowed_mem=request["memory"], reserved_mem=RESERVED, zarr_compressor=None)
    a = cubed.from_zarr(os.path.join(request["source"], "values"), spec=spec)
    target = zarr.create_array(
        request["target"], shape=a.shape, chunks=request["chunks"], dtype=a.dtype, fill_value=0, compressors=zarr.codecs.ZstdCodec(level=1) if request["compressed"] else None
    )
    executor = create_executor(request["mode"], {"max_workers": request["workers"]})
    cubed.to_zarr(a.rechunk(tuple(request["chunks"])), target, executor=executor)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
