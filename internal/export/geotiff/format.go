// SPDX-License-Identifier: Apache-2.0

// Package geotiff writes an array as a GeoTIFF: a plane, or bands of planes along a third
// axis, in compressed tiles. With overviews the file is a Cloud Optimized GeoTIFF (COG).
//
// Section numbers in comments are those of "TIFF Revision 6.0" (Adobe, 1992) and of the
// OGC GeoTIFF standard (19-008r4). The order of a file is that of the COG driver of GDAL:
// header, a note that readers may rely on the order, all IFDs, and then the tiles, those
// of the smallest overview first. The places of tiles are known last, so the head of the
// file is written twice.
package geotiff

import (
	"context"
	"fmt"

	"varve.dev/zarr/internal/export"
)

// Format writes GeoTIFF files. It implements [export.FileFormat].
type Format struct {
	// Overviews adds smaller versions of the image, each of half the size, until one tile
	// holds it.
	Overviews bool
	// CRS is the coordinate reference system, as EPSG:4326. "" finds it in the metadata,
	// and "none" writes an image without a place on the Earth.
	CRS string
	// Deflate is the level of compression from 1 to 9; 0 is none.
	Deflate int
	// Zstd is the level of zstd from 1 to 22, which replaces Deflate unless it is 0.
	Zstd int
	// Folder is where a temporary file with overviews is.
	Folder string

	edge int64 // the rows and columns of a tile in tests; 0 is the usual number
}

var _ export.FileFormat = Format{}

// Check implements [export.FileFormat].
func (f Format) Check(ctx context.Context, d *export.Dataset) error {
	_, err := f.plan(ctx, d)
	return err
}

// Write implements [export.FileFormat].
func (f Format) Write(ctx context.Context, d *export.Dataset, to export.File) error {
	p, err := f.plan(ctx, d)
	if err != nil {
		return err
	}
	return newWriter(p, to).write(ctx)
}

// unfit returns an error for what a file cannot hold.
func unfit(format string, args ...any) error { return export.Unfit(fmt.Sprintf(format, args...)) }
