# SPDX-License-Identifier: Apache-2.0

"""Opens hierarchies with xarray.open_datatree.

    python datatree.py STORE [STORE ...]

It prints JSON: for every store, with and without consolidated metadata, the shapes of all variables but coordinates by path.
"""

import json
import sys

import xarray


def variables(store, consolidated):
    with xarray.open_datatree(store, engine="zarr", consolidated=consolidated) as tree:
        return {f"{node.path.rstrip('/')}/{name}": v.shape for node in tree.subtree for name, v in node.data_vars.items()}


print(json.dumps([variables(store, consolidated) for store in sys.argv[1:] for consolidated in (False, True)]))
