// SPDX-License-Identifier: Apache-2.0

// Package virtual shows foreign files as Zarr, without copying their bytes: NetCDF, HDF5,
// TIFF, FITS, GRIB2 and NumPy files, and the chunks of other Zarr arrays. Importing it
// lets every function that opens a location open a manifest of references:
//
//	import _ "varve.dev/zarr/virtual"
//
//	a, err := zarr.OpenArray(ctx, "archive.vz/t2m", nil)
//
// To make one, scan files and join them. Files may be of unequal length, such as months:
//
//	j, err := virtual.NewJoined(virtual.Join{Concat: "time"})
//	c, err := virtual.NewCollector("archive.vz")
//	err = c.Collect(ctx, j, []string{"2026-01.nc", "2026-02.nc"})
//	m, err := j.Finish()
//	err = m.Create(ctx, s, path) // the folder archive.vz in a store
//
// A single foreign file is a location by itself, if [IsForeign] knows its name:
//
//	a, err := zarr.OpenArray(ctx, "2026-01.nc/t2m", nil)
//
// [Extend] adds files to a manifest that exists, and [Vacuum] deletes what such changes
// have replaced. [Collector.Keep] lets an interrupted collection continue.
//
// # Safety
//
// A manifest says where bytes are, and its reader says where it may lead: into the
// folder that it is in and below, and to what [WithAllowed] names. A source whose size,
// time or version is not the one that was scanned is [zarr.ErrSourceChanged], and so is
// one that is gone. The stored form is described in docs/virtual.md.
package virtual
