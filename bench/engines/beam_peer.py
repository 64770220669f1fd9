# SPDX-License-Identifier: Apache-2.0

"""Rechunks an array with xarray-beam. The mode is that of Beam's runner for Python, such as multi_processing, or prism."""

import json
import sys


def main(request):
    import apache_beam as beam
    import xarray_beam
    import zarr
    from apache_beam.options.pipeline_options import PipelineOptions

    dataset, chunks = xarray_beam.open_zarr(request["source"], consolidated=False)
    wanted = dict(zip("tyx", request["chunks"]))
    template = xarray_beam.make_template(dataset)
    template["values"].encoding = {}
    encoding = {"values": {"compressors": [zarr.codecs.ZstdCodec(level=1)] if request["compressed"] else None}}
    if request["mode"] == "prism":
        options = PipelineOptions([], runner="PrismRunner", prism_location=request["prism"], sdk_worker_parallelism=request["workers"])
    else:
        options = PipelineOptions([], runner="FnApiRunner", direct_running_mode=request["mode"], direct_num_workers=request["workers"])
    with beam.Pipeline(options=options) as p:
        _ = (
            p
            | xarray_beam.DatasetToChunks(dataset, chunks)
            | xarray_beam.Rechunk(dataset.sizes, chunks, wanted, itemsize=4, min_mem=request["elements"] // 100, max_mem=request["elements"])
            | xarray_beam.ChunksToZarr(request["target"], template, wanted, zarr_format=3, encoding=encoding)
        )


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
