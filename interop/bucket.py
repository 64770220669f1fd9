# SPDX-License-Identifier: Apache-2.0

"""Reads an array of a bucket, and prints its shape and its elements.

The first argument names the client. The other arguments are the URL of the server, the bucket and the path. The environment has the credentials.
"""

import json
import os
import sys

import numpy as np


def zarr_python(store):
    import zarr

    return zarr.open_array(store, mode="r")[...]


def s3fs(endpoint, bucket, path):
    from zarr.storage import FsspecStore

    return zarr_python(FsspecStore.from_url(f"s3://{bucket}/{path}", storage_options={"endpoint_url": endpoint}, read_only=True))


def obstore(endpoint, bucket, path):
    from obstore.store import S3Store
    from zarr.storage import ObjectStore

    client = S3Store(bucket, prefix=path, endpoint=endpoint, client_options={"allow_http": True}, virtual_hosted_style_request=False)
    return zarr_python(ObjectStore(client, read_only=True))


def tensorstore(endpoint, bucket, path):
    import tensorstore as ts

    store = {
        "driver": "s3", "bucket": bucket, "path": path + "/", "endpoint": endpoint,
        "aws_region": os.environ["AWS_REGION"], "aws_credentials": {"type": "environment"},
    }
    return ts.open({"driver": "zarr3", "kvstore": store}, open=True).result().read().result()


client, *place = sys.argv[1:]
found = {"s3fs": s3fs, "obstore": obstore, "tensorstore": tensorstore}[client](*place)
print(json.dumps({"shape": found.shape, "data": np.ascontiguousarray(found).astype("<i4").tobytes().hex()}))
