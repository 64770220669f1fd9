# SPDX-License-Identifier: Apache-2.0

"""Writes real hierarchies of programs that follow conventions, and has them judged.

    conventions.py write DIR    writes what the packages that are here can write; prints JSON
    conventions.py judge DIR    prints what the validators say about each hierarchy in DIR

The first prints {"NAME": {"convention": "cf", "broken": ["cf/flags"]}}: what varve check
has to find, which is nothing where programs write by the convention. The second prints
{"NAME": "why not", ...}, with "" for a valid one, and leaves out what no validator that is
here judges.
"""

import importlib
import json
import pathlib
import sys
import warnings

import numpy as np
import zarr

warnings.simplefilter("ignore")

WRITERS = []


def writes(convention, *packages, formats=(2, 3), broken=()):
    """Registers a function that writes one hierarchy in each format."""

    def register(f):
        WRITERS.append((f, convention, packages, formats, broken))
        return f

    return register


# CF, by xarray. No coordinate has a _FillValue there, which CF forbids and xarray adds.


def dataset(**variables):
    import xarray as xr

    n = 6
    ds = xr.Dataset(
        {"t2m": (("time", "lat", "lon"), np.arange(n * 12, dtype="f4").reshape(n, 3, 4), {"units": "K", "standard_name": "air_temperature", "cell_methods": "time: mean area: point"})},
        coords={
            "time": ("time", np.arange(n), {"units": "days since 2000-01-01", "calendar": "standard", "standard_name": "time", "axis": "T"}),
            "lat": ("lat", [10.0, 20.0, 30.0], {"units": "degrees_north", "standard_name": "latitude", "axis": "Y"}),
            "lon": ("lon", [0.0, 1.0, 2.0, 3.0], {"units": "degrees_east", "standard_name": "longitude", "axis": "X"}),
        },
        attrs={"Conventions": "CF-1.8", "title": "a test", "history": "made", "institution": "none", "source": "a model", "references": "none", "comment": "none"},
    )
    return ds.assign(variables)


def save(ds, path, format):
    for name in ds.coords:
        ds[name].encoding["_FillValue"] = None
    ds.to_zarr(path, zarr_format=format, consolidated=True)


@writes("cf", "xarray")
def cf_plain(path, format):
    save(dataset(), path, format)


@writes("cf", "xarray")
def cf_datetimes(path, format):
    import pandas as pd

    ds = dataset()
    ds["time"] = ("time", pd.date_range("2001-01-01", periods=6, freq="6h"), {"standard_name": "time", "axis": "T"})
    save(ds, path, format)


@writes("cf", "xarray")
def cf_calendar(path, format):
    import cftime

    ds = dataset()
    ds["time"] = ("time", [cftime.Datetime360Day(2000, m, 30) for m in range(1, 7)], {"standard_name": "time"})
    save(ds, path, format)


@writes("cf", "xarray")
def cf_packed(path, format):
    ds = dataset()
    ds["t2m"].encoding = {"dtype": "i2", "scale_factor": 0.01, "add_offset": 250.0, "_FillValue": -32768}
    save(ds, path, format)


@writes("cf", "xarray")
def cf_bounds(path, format):
    edges = np.stack([np.arange(6), np.arange(6) + 1], 1).astype("f8")
    ds = dataset(time_bnds=(("time", "nv"), edges))
    ds["time"].attrs["bounds"] = "time_bnds"
    ds["time_bnds"].encoding["_FillValue"] = None
    save(ds, path, format)


@writes("cf", "xarray")
def cf_climatology(path, format):
    ds = dataset(climatology_bnds=(("time", "nv"), np.zeros((6, 2))))
    ds["time"].attrs["climatology"] = "climatology_bnds"
    ds["t2m"].attrs["cell_methods"] = "time: mean within years time: mean over years"
    save(ds, path, format)


@writes("cf", "xarray")
def cf_flags(path, format):
    flags = np.zeros((6, 3, 4), "i1")
    ds = dataset(quality=(("time", "lat", "lon"), flags, {"flag_values": np.array([0, 1, 2], "i1"), "flag_meanings": "good suspect bad", "standard_name": "air_temperature status_flag"}))
    ds["t2m"].attrs["ancillary_variables"] = "quality"
    save(ds, path, format)


@writes("cf", "xarray")
def cf_masks(path, format):
    ds = dataset(bits=(("time", "lat", "lon"), np.zeros((6, 3, 4), "i1"), {"flag_masks": np.array([1, 2, 12, 12], "i1"), "flag_values": np.array([1, 2, 4, 8], "i1"), "flag_meanings": "a b c d", "long_name": "bits"}))
    save(ds, path, format)


@writes("cf", "xarray")
def cf_mapping(path, format):
    import pyproj

    crs = pyproj.CRS.from_epsg(4326).to_cf()
    ds = dataset(crs=((), 0, crs))
    ds["t2m"].attrs["grid_mapping"] = "crs"
    save(ds, path, format)


@writes("cf", "xarray")
def cf_curvilinear(path, format):
    import xarray as xr

    grid = np.add.outer(np.arange(3.0), np.arange(4.0))
    ds = xr.Dataset({"sst": (("y", "x"), grid, {"units": "K", "standard_name": "sea_surface_temperature"})}, attrs={"Conventions": "CF-1.8"})
    ds = ds.assign_coords(
        lat=(("y", "x"), grid, {"units": "degrees_north", "standard_name": "latitude"}),
        lon=(("y", "x"), grid, {"units": "degrees_east", "standard_name": "longitude"}),
        height=((), 2.0, {"units": "m", "standard_name": "height", "positive": "up", "axis": "Z"}),
    )
    save(ds, path, format)


@writes("cf", "xarray")
def cf_labels(path, format):
    import xarray as xr

    ds = xr.Dataset({"flow": (("basin", "time"), np.ones((2, 3)), {"units": "m3 s-1", "long_name": "flow"})}, attrs={"Conventions": "CF-1.8"})
    ds = ds.assign_coords(name=("basin", ["Po", "Elbe"], {"standard_name": "region"}), time=("time", np.arange(3), {"units": "hours since 1990-1-1 0:0:0.0", "calendar": "proleptic_gregorian", "standard_name": "time"}))
    save(ds, path, format)


@writes("cf", "xarray")
def cf_vertical(path, format):
    import xarray as xr

    ds = xr.Dataset({"ta": (("lev", "lat"), np.ones((2, 2)), {"units": "K", "standard_name": "air_temperature"}), "ps": ("lat", np.ones(2), {"units": "Pa", "standard_name": "surface_air_pressure"}), "a": ("lev", np.ones(2), {"units": "Pa", "long_name": "a"}), "b": ("lev", np.ones(2), {"units": "1", "long_name": "b"})}, attrs={"Conventions": "CF-1.8"})
    ds = ds.assign_coords(lev=("lev", [0.1, 0.2], {"units": "1", "positive": "down", "axis": "Z", "standard_name": "atmosphere_hybrid_sigma_pressure_coordinate", "formula_terms": "ap: a b: b ps: ps"}), lat=("lat", [1.0, 2.0], {"units": "degrees_north", "standard_name": "latitude"}))
    save(ds, path, format)


@writes("cf", "xarray")
def cf_measures(path, format):
    ds = dataset(area=(("lat", "lon"), np.ones((3, 4)), {"units": "m2", "standard_name": "cell_area"}))
    ds["t2m"].attrs["cell_measures"] = "area: area volume: elsewhere"
    ds.attrs["external_variables"] = "elsewhere"
    ds["t2m"].attrs["cell_methods"] = "area: mean where land (comment: weighted: by area) time: maximum (interval: 1 hr)"
    save(ds, path, format)


@writes("cf", "xarray")
def cf_profiles(path, format):
    import xarray as xr

    ds = xr.Dataset(
        {
            "row_size": ("station", np.array([2, 3]), {"sample_dimension": "obs", "long_name": "number of observations"}),
            "temp": ("obs", np.ones(5), {"units": "degC", "standard_name": "sea_water_temperature"}),
        },
        attrs={"Conventions": "CF-1.8", "featureType": "timeSeries"},
    )
    ds = ds.assign_coords(
        lat=("station", [1.0, 2.0], {"units": "degrees_north", "standard_name": "latitude"}),
        lon=("station", [1.0, 2.0], {"units": "degrees_east", "standard_name": "longitude"}),
        station_id=("station", ["a", "b"], {"cf_role": "timeseries_id", "long_name": "station"}),
        time=("obs", np.arange(5.0), {"units": "seconds since 1970-01-01T00:00:00Z", "standard_name": "time", "calendar": "gregorian"}),
    )
    save(ds, path, format)


@writes("cf", "xarray")
def cf_tree(path, format):
    import xarray as xr

    tree = xr.DataTree.from_dict({"/": dataset(), "/child": dataset()[["t2m"]].drop_attrs().drop_vars(["time"]), "/child/deep": xr.Dataset({"n": ("k", np.arange(3))})})
    for node in tree.subtree:
        for name in node.coords:
            node[name].encoding["_FillValue"] = None
    tree.to_zarr(path, zarr_format=format)


@writes("cf", "xarray", formats=(3,), broken=["cf/coordinate-missing"])
def cf_bad_fill(path, format):
    ds = dataset()
    ds["lat"].encoding["_FillValue"] = -1.0
    ds.to_zarr(path, zarr_format=format, consolidated=True)


@writes("cf", "xarray", formats=(3,), broken=["cf/axis", "cf/flags", "cf/standard-name", "cf/coordinates", "cf/bounds"])
def cf_bad_attributes(path, format):
    ds = dataset(q=(("time",), np.zeros(6, "i1"), {"flag_values": np.array([0, 1], "i1"), "flag_meanings": "one", "long_name": "q"}))
    ds["lat"].attrs.update(axis="N", bounds="nowhere")
    ds["t2m"].attrs.update(standard_name="Air Temperature High")
    ds["t2m"].encoding["coordinates"] = "nothing"
    save(ds, path, format)


@writes("cf", "xarray", formats=(3,), broken=["cf/calendar", "cf/coordinate-order"])
def cf_bad_times(path, format):
    ds = dataset()
    ds["time"] = ("time", [0, 1, 2, 2, 3, 4], {**ds["time"].attrs, "calendar": "lunar"})
    save(ds, path, format)


@writes("cf", "xarray", formats=(3,), broken=["cf/cell-methods", "cf/positive", "cf/conventions"])
def cf_bad_form(path, format):
    ds = dataset()
    ds.attrs["Conventions"] = "ACDD-1.3"
    ds["t2m"].attrs["cell_methods"] = "mean time"
    ds["lat"].attrs["positive"] = "north"
    save(ds, path, format)


# GDAL, by rasterio.


@writes("cf", "rasterio")
def cf_gdal(path, format):
    import rasterio

    with rasterio.open(path, "w", driver="Zarr", width=4, height=3, count=1, dtype="float32", crs="EPSG:4326", transform=rasterio.Affine(1, 0, 5, 0, -1, 50), FORMAT=f"ZARR_V{format}") as f:
        f.write(np.ones((1, 3, 4), "f4"))


# OME-Zarr, by ome-zarr-py and ngff-zarr.


def ome_format(format):
    from ome_zarr.format import FormatV04, FormatV05

    return FormatV04() if format == 2 else FormatV05()


def ome_group(path, format):
    return zarr.open_group(path, mode="w", zarr_format=format)


def image(*shape, dtype="u2"):
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


def ome_image(shape, axes, **more):
    def write(path, format):
        from ome_zarr.writer import write_image

        write_image(image(*shape), ome_group(path, format), axes=axes, fmt=ome_format(format), **more)

    return write


for name, shape, axes in [("yx", (64, 64), "yx"), ("zyx", (4, 64, 64), "zyx"), ("cyx", (3, 64, 64), "cyx"), ("tczyx", (2, 3, 4, 32, 32), "tczyx"), ("tyx", (2, 64, 64), "tyx")]:
    f = ome_image(shape, axes)
    f.__name__ = "ome_" + name
    writes("ome", "ome_zarr")(f)


def ome_labels(path, format):
    from ome_zarr.writer import write_image, write_labels

    group = ome_group(path, format)
    write_image(image(64, 64), group, axes="yx", fmt=ome_format(format))
    write_labels(image(64, 64, dtype="i4") % 5, group, name="cells", axes="yx", fmt=ome_format(format), label_metadata={"colors": [{"label-value": 1, "rgba": [255, 0, 0, 255]}, {"label-value": 2, "rgba": [0, 255, 0, 255]}]})


# ome-zarr-py 0.21 leaves the version of 0.5 out of the group labels.
writes("ome", "ome_zarr", formats=(2,))(ome_labels)
writes("ome", "ome_zarr", formats=(3,), broken=["ome/version"])(ome_labels)


@writes("ome", "ome_zarr")
def ome_omero(path, format):
    from ome_zarr.writer import write_image

    channel = {"color": "FF0000", "label": "r", "window": {"start": 0, "end": 255, "min": 0, "max": 255}, "active": True}
    group = ome_group(path, format)
    write_image(image(2, 64, 64), group, axes="cyx", fmt=ome_format(format))
    omero = {"channels": [channel, {**channel, "color": "00ff00"}]}
    if format == 2:
        group.attrs["omero"] = omero
    else:
        group.attrs["ome"] = {**group.attrs["ome"], "omero": omero}


@writes("ome", "ome_zarr")
def ome_plate(path, format):
    from ome_zarr.writer import write_image, write_plate_metadata, write_well_metadata

    f, group = ome_format(format), ome_group(path, format)
    write_plate_metadata(group, ["A", "B"], ["1", "2"], ["A/1", "B/2"], fmt=f, acquisitions=[{"id": 1}], field_count=2)
    for at in ("A/1", "B/2"):
        well = group.require_group(at)
        write_well_metadata(well, ["0", "1"], fmt=f)
        for field in ("0", "1"):
            write_image(image(32, 32), well.require_group(field), axes="yx", fmt=f)


@writes("ome", "ome_zarr", broken=["ome/dataset"])
def ome_bad_path(path, format):
    import shutil

    ome_image((64, 64), "yx")(path, format)
    levels = sorted(p for p in pathlib.Path(path).iterdir() if p.is_dir())
    shutil.rmtree(levels[-1])


@writes("ome", "ome_zarr", broken=["ome/transformations"])
def ome_bad_scale(path, format):
    ome_image((64, 64), "yx")(path, format)
    group = zarr.open_group(path)
    attrs = group.attrs.asdict()
    m = attrs if format == 2 else attrs["ome"]
    m["multiscales"][0]["datasets"][0]["coordinateTransformations"] = [{"type": "scale", "scale": [1, 1, 1]}]
    group.attrs.put(attrs)


@writes("ome", "ome_zarr", broken=["ome/axes", "ome/axes-order"])
def ome_bad_axes(path, format):
    ome_image((2, 64, 64), "cyx")(path, format)
    group = zarr.open_group(path)
    attrs = group.attrs.asdict()
    m = attrs if format == 2 else attrs["ome"]
    m["multiscales"][0]["axes"] = [{"name": "c", "type": "space"}, {"name": "y", "type": "time"}, {"name": "x", "type": "space"}][::1]
    m["multiscales"][0]["axes"][2] = {"name": "x", "type": "channel"}
    group.attrs.put(attrs)


def ngff(version, axes, shape, **more):
    def write(path, format):
        import ngff_zarr

        im = ngff_zarr.to_ngff_image(image(*shape), dims=list(axes), scale={a: 0.5 for a in axes if a in "xyz"}, axes_units={a: "micrometer" for a in axes if a in "xyz"})
        ngff_zarr.to_ngff_zarr(path, ngff_zarr.to_multiscales(im, scale_factors=[2], cache=False, **more), version=version)

    write.__name__ = f"ngff_{version.replace('.', '')}_{axes}"
    return write


for version, format in [("0.4", 2), ("0.5", 3)]:
    for axes, shape in [("yx", (64, 64)), ("zyx", (8, 64, 64)), ("czyx", (2, 8, 64, 64))]:
        writes("ome", "ngff_zarr", formats=(format,))(ngff(version, axes, shape))


# anndata.


def cells(**more):
    import anndata
    import pandas as pd
    import scipy.sparse as sp

    obs = pd.DataFrame({"n": [1, 2, 3, 4], "type": pd.Categorical(["a", "b", None, "a"]), "good": [True, False, True, True]}, index=[f"cell{i}" for i in range(4)])
    var = pd.DataFrame({"name": ["x", "y", "z"]}, index=["g1", "g2", "g3"])
    return anndata.AnnData(more.pop("X", np.ones((4, 3), "f4")), obs=obs, var=var, **more), sp


def write_cells(a, path, format):
    import anndata

    with anndata.settings.override(zarr_write_format=format, allow_write_nullable_strings=True):
        a.write_zarr(path)


@writes("anndata", "anndata")
def anndata_dense(path, format):
    write_cells(cells()[0], path, format)


@writes("anndata", "anndata")
def anndata_csr(path, format):
    import scipy.sparse as sp

    write_cells(cells(X=sp.random(4, 3, 0.5, "csr", random_state=1))[0], path, format)


@writes("anndata", "anndata")
def anndata_csc(path, format):
    import scipy.sparse as sp

    a = cells(X=sp.random(4, 3, 0.5, "csc", random_state=1))[0]
    a.layers["counts"] = np.ones((4, 3), "i4")
    a.raw = a.copy()
    write_cells(a, path, format)


@writes("anndata", "anndata")
def anndata_all(path, format):
    import pandas as pd
    import scipy.sparse as sp

    a = cells()[0]
    a.obsm["pca"] = np.ones((4, 2))
    a.obsm["frame"] = pd.DataFrame({"q": np.arange(4)}, index=a.obs_names)
    a.varm["loadings"] = np.ones((3, 2))
    a.obsp["graph"] = sp.eye(4, format="csr")
    a.varp["links"] = np.ones((3, 3))
    a.obs["maybe"] = pd.array([1, None, 3, 4], dtype="Int64")
    a.obs["flag"] = pd.array([True, None, False, True], dtype="boolean")
    a.obs["text"] = pd.array(["a", None, "c", "d"], dtype="string")
    a.uns["params"] = {"n": 3, "name": "x", "list": np.array([1, 2]), "words": np.array(["a", "b"])}
    write_cells(a, path, format)


@writes("anndata", "anndata")
def anndata_empty(path, format):
    import anndata

    write_cells(anndata.AnnData(shape=(0, 0)), path, format)


@writes("anndata", "anndata", broken=["anndata/codes"])
def anndata_bad_codes(path, format):
    write_cells(cells()[0], path, format)
    zarr.open_array(path + "/obs/type/codes", mode="r+")[0] = 7


@writes("anndata", "anndata", broken=["anndata/columns"])
def anndata_bad_columns(path, format):
    import shutil

    write_cells(cells()[0], path, format)
    shutil.rmtree(path + "/obs/n")
    for name in ("zarr.json", ".zmetadata"):  # its copy of the document
        p = pathlib.Path(path) / name
        if p.exists():
            d = json.loads(p.read_text())
            if name == ".zmetadata":
                d["metadata"] = {k: v for k, v in d["metadata"].items() if not k.startswith("obs/n/")}
            elif "consolidated_metadata" in d:
                d.pop("consolidated_metadata")
            p.write_text(json.dumps(d))


@writes("anndata", "anndata", broken=["anndata/shape"])
def anndata_bad_shape(path, format):
    write_cells(cells()[0], path, format)
    zarr.open_array(path + "/X", mode="r+").resize((5, 3))
    for name in (".zmetadata",):
        p = pathlib.Path(path) / name
        if p.exists():
            p.unlink()
    p = pathlib.Path(path) / "zarr.json"
    if p.exists():
        d = json.loads(p.read_text())
        d.pop("consolidated_metadata", None)
        p.write_text(json.dumps(d))


# The registered conventions, by zarr-cm.


def geo(attributes, path, dims=("y", "x")):
    group = zarr.open_group(path, mode="w", zarr_format=3)
    group.attrs.put(attributes)
    a = group.create_array("band", shape=(8, 16), dtype="u2", dimension_names=dims)
    return group, a


def level(group, *names):
    for n in names:
        group.create_array(n, shape=(8, 16), dtype="u2", dimension_names=("y", "x"))


@writes("geozarr", "zarr_cm", formats=(3,))
def geo_proj(path, format):
    from zarr_cm import proj

    geo(dict(proj.create_convention_attrs(code="EPSG:32633")), path)


@writes("geozarr", "zarr_cm", formats=(3,))
def geo_wkt(path, format):
    import pyproj
    from zarr_cm import proj

    geo(dict(proj.create_convention_attrs(wkt2=pyproj.CRS.from_epsg(4326).to_wkt())), path)


@writes("geozarr", "zarr_cm", formats=(3,))
def geo_spatial(path, format):
    from zarr_cm import proj, spatial

    a = dict(spatial.create_convention_attrs(dimensions=["y", "x"], bbox=[0.0, 0.0, 16.0, 8.0], transform=[1.0, 0.0, 0.0, 0.0, -1.0, 8.0], shape=[8, 16]))
    b = dict(proj.create_convention_attrs(code="OGC:CRS84"))
    all = {**a, **b, "zarr_conventions": [*a["zarr_conventions"], *b["zarr_conventions"]]}
    _, band = geo(all, path)
    band.attrs.put(all)


@writes("geozarr", "zarr_cm", formats=(3,))
def geo_multiscales(path, format):
    from zarr_cm import multiscales

    group, _ = geo(dict(multiscales.create_convention_attrs(layout=[{"asset": "r10m"}, {"asset": "r20m", "derived_from": "r10m", "transform": {"scale": [2.0, 2.0], "translation": [0.5, 0.5]}}])), path)
    level(group, "r10m", "r20m")


@writes("geozarr", "zarr_cm", formats=(3,), broken=["geozarr/code", "geozarr/members"])
def geo_bad_code(path, format):
    from zarr_cm import proj

    a = dict(proj.create_convention_attrs(code="EPSG:32633"))
    a["proj:code"] = "32633"
    a["zarr_conventions"] = [{**a["zarr_conventions"][0], "version": "1"}]
    geo(a, path)


@writes("geozarr", "zarr_cm", formats=(3,), broken=["geozarr/bbox", "geozarr/transform", "geozarr/shape"])
def geo_bad_place(path, format):
    from zarr_cm import spatial

    a = dict(spatial.create_convention_attrs(dimensions=["y", "x"], bbox=[0.0, 0.0, 16.0, 8.0], transform=[1.0, 0.0, 0.0, 0.0, -1.0, 8.0], shape=[8, 16]))
    a.update({"spatial:bbox": [0.0, 0.0, 16.0], "spatial:transform": [1.0], "spatial:shape": [0, 16]})
    geo(a, path)


@writes("geozarr", "zarr_cm", formats=(3,), broken=["geozarr/asset", "geozarr/relative"])
def geo_bad_levels(path, format):
    from zarr_cm import multiscales

    a = dict(multiscales.create_convention_attrs(layout=[{"asset": "r10m"}, {"asset": "r20m", "derived_from": "r10m", "transform": {"scale": [2.0, 2.0]}}]))
    a["multiscales"]["layout"][1].pop("transform")
    group, _ = geo(a, path)
    level(group, "r10m")


# After the form of the products of the Earth Observation Processor Framework: a tree of
# groups by resolution, described as STAC at the root.


@writes("cf", "xarray")
def cf_eopf(path, format):
    import xarray as xr

    def band(size):
        b = xr.Dataset({"b02": (("y", "x"), np.ones((size, size), "u2"), {"long_name": "BGR reflectance from MSI acquisition at spectral band b02", "units": "digital_counts", "valid_min": 1, "valid_max": 65535, "grid_mapping": "spatial_ref"})})
        return b.assign_coords(x=("x", np.arange(size) * 10, {"units": "m", "standard_name": "projection_x_coordinate"}), y=("y", -np.arange(size) * 10, {"units": "m", "standard_name": "projection_y_coordinate"}), spatial_ref=((), 0, {"grid_mapping_name": "transverse_mercator", "crs_wkt": "PROJCRS[...]"}))

    tree = xr.DataTree.from_dict({"/measurements/r10m": band(8), "/measurements/r20m": band(4), "/": xr.Dataset(attrs={"Conventions": "CF-1.8", "stac_discovery": {"type": "Feature", "properties": {"proj:epsg": 32633}}, "other_metadata": {}})})
    for node in tree.subtree:
        for name in node.coords:
            node[name].encoding["_FillValue"] = None
    tree.to_zarr(path, zarr_format=format)


def write(folder):
    """Writes all hierarchies whose packages are here."""
    names = {}
    for f, convention, packages, formats, broken in WRITERS:
        try:
            for p in packages:
                importlib.import_module(p)
        except ImportError:
            continue
        for format in formats:
            name = f"{f.__name__}_v{format}"
            f(str(pathlib.Path(folder) / name), format)
            names[name] = {"convention": convention, "broken": sorted(broken)}
    print(json.dumps(names))


# The judges.


def judge_ome(path):
    import ome_zarr_models
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Reader

    ome_zarr_models.open_ome_zarr(zarr.open_group(path, mode="r"))
    if not [float(level.sum()) for node in Reader(parse_url(path))() for level in node.data]:
        raise ValueError("ome-zarr-py finds no image")


def judge_anndata(path):
    import anndata

    a = anndata.read_zarr(path)
    for column in a.obs:
        a.obs[column].tolist()


def judge_geozarr(path):
    import zarr_cm

    document = json.loads((pathlib.Path(path) / "zarr.json").read_text())
    for entry in document["attributes"]["zarr_conventions"]:
        for convention in (zarr_cm.proj, zarr_cm.spatial, zarr_cm.multiscales):
            if entry.get("uuid") == convention.UUID:
                convention.validate_group_metadata(document)


def judge_cf(path):
    """Asks about the same dataset in netCDF, whose integers have 32 bits at most."""
    import tempfile

    import xarray as xr
    from compliance_checker.runner import CheckSuite

    ds = xr.open_zarr(path, decode_cf=False)
    for name in list(ds.variables):
        v = ds.variables[name]
        if v.dtype == "i8":
            ds[name] = ds[name].astype("i4", keep_attrs=True)
            v = ds.variables[name]
        v.encoding = {}
        if v.dtype.kind == "f" and "_FillValue" not in v.attrs:
            v.encoding["_FillValue"] = None
        for a in ("flag_values", "flag_masks", "_FillValue", "missing_value"):
            if a in v.attrs and v.dtype.kind in "iuf":
                v.attrs[a] = np.array(v.attrs[a]).astype(v.dtype)
    ds.attrs = {k: v for k, v in ds.attrs.items() if not isinstance(v, dict)}
    for v in ds.variables.values():
        v.attrs = {k: a for k, a in v.attrs.items() if not isinstance(a, dict)}
    with tempfile.TemporaryDirectory() as d:
        ds.to_netcdf(f"{d}/a.nc")
        suite = CheckSuite()
        suite.load_all_available_checkers()
        results = suite.run_all(suite.load_dataset(f"{d}/a.nc"), ["cf:1.8"])["cf:1.8"][0]
    bad = [f"{r.name}: {m}" for r in results if r.weight == 3 and r.value[0] < r.value[1] for m in r.msgs if "recommended" not in m]
    if bad:
        raise ValueError(" | ".join(bad))


def judge(folder):
    """Asks the validators that are here."""
    found = {}
    for p in sorted(pathlib.Path(folder).iterdir()):
        kind = p.name.split("_")[0]
        ask = {"ome": judge_ome, "ngff": judge_ome, "anndata": judge_anndata, "geo": judge_geozarr, "cf": judge_cf}[kind]
        try:
            ask(str(p))
            found[p.name] = ""
        except ImportError:
            continue
        except Exception as e:
            found[p.name] = f"{type(e).__name__}: {e}"
    print(json.dumps(found))


if __name__ == "__main__":
    {"write": write, "judge": judge}[sys.argv[1]](sys.argv[2])
