// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"varve.dev/zarr/virtual/fits"
	"varve.dev/zarr/virtual/grib"
	"varve.dev/zarr/virtual/hdf5"
	"varve.dev/zarr/virtual/netcdf3"
	"varve.dev/zarr/virtual/numpy"
	"varve.dev/zarr/virtual/tiff"

	// Codecs of the chunks of files.
	_ "varve.dev/zarr/codec/grib2"
	_ "varve.dev/zarr/codec/numcodecs"
)

// scanners are the known formats. The first one that recognizes a file scans it.
var scanners = []Scanner{
	{"HDF5 and NetCDF-4", hdf5.Is, hdf5.Scan},
	{"NetCDF-3", netcdf3.Is, netcdf3.Scan},
	{"NumPy", numpy.Is, numpy.Scan},
	{"TIFF", tiff.Is, tiff.Scan},
	{"FITS", fits.Is, fits.Scan},
	{"GRIB2", grib.Is, grib.Scan},
}
