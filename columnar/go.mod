module varve.dev/zarr/columnar

go 1.26.0
