module varve.dev/zarr/codec/extra

go 1.26.0

require (
	github.com/dsnet/compress v0.0.2-0.20230904184137-39efe44ab707
	github.com/ulikunitz/xz v0.5.17
	pgregory.net/rapid v1.3.0
	varve.dev/zarr v0.0.0
)

require (
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/pierrec/lz4/v4 v4.1.33 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace varve.dev/zarr => ../..
