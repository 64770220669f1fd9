// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"varve.dev/zarr/virtual/internal/fits"
	"varve.dev/zarr/virtual/internal/grib"
	"varve.dev/zarr/virtual/internal/hdf5"
	"varve.dev/zarr/virtual/internal/netcdf3"
	"varve.dev/zarr/virtual/internal/numpy"
	"varve.dev/zarr/virtual/internal/tiff"
	"varve.dev/zarr/virtual/scan"
)

// Scanner finds the arrays of files of a format. [Register] makes it known.
type Scanner struct {
	// Format names the format, such as "NetCDF-3".
	Format string
	// Version is that of what Scan finds. Raise it whenever a scan of the same file has
	// another result: what interrupted collections have kept of other versions is not
	// used ([Collector.Keep]).
	Version int
	// Matches reports whether a file is of the format. It should look at the first
	// bytes only, which are in memory.
	Matches func(*scan.File) bool
	// Scan returns what is in the file. It reads only metadata. Files are hostile until
	// proven otherwise: it checks every offset and count that it reads, and takes no more
	// memory than the metadata that the file really has. Every chunk that it returns is
	// checked to lie within the file.
	Scan func(*scan.File) (*scan.Dataset, error)
}

// builtIn are the formats that this package knows.
var builtIn = []Scanner{
	{"HDF5 and NetCDF-4", scannersVersion, hdf5.Matches, hdf5.Scan},
	{"NetCDF-3", scannersVersion, netcdf3.Matches, netcdf3.Scan},
	{"NumPy", scannersVersion, numpy.Matches, numpy.Scan},
	{"TIFF", scannersVersion, tiff.Matches, tiff.Scan},
	{"FITS", scannersVersion, fits.Matches, fits.Scan},
	{"GRIB2", scannersVersion, grib.Matches, grib.Scan},
}

var registered struct {
	sync.RWMutex
	scanners []Scanner
}

// Register makes a scanner known to all collectors, as init functions of packages do.
// Such scanners are asked for a file in the order of their registration, and before those
// of this package: a format may be a special form of another one. The codecs of its
// chunks have to be registered, too (package codec). It panics if a function is missing,
// or if a format has the name of another one.
func Register(s Scanner) {
	registered.Lock()
	defer registered.Unlock()
	if s.Format == "" || s.Matches == nil || s.Scan == nil {
		panic("virtual: a scanner without a format, Is or Scan")
	}
	for _, o := range slices.Concat(registered.scanners, builtIn) {
		if o.Format == s.Format {
			panic(fmt.Sprintf("virtual: the format %q is registered twice", s.Format))
		}
	}
	registered.scanners = append(registered.scanners, s)
}

// scannersVersion is the version of what scanners find. Raise it whenever a scan of the
// same file has another result than before: a repaired fault, an array or attribute that
// was left out, another codec. Scans of other versions are not used.
const scannersVersion = 4

// scannerOf returns the scanner of a file, and false if its format is not known.
func scannerOf(f *scan.File) (Scanner, bool) {
	for _, s := range scanners() {
		if s.Matches(f) {
			return s, true
		}
	}
	return Scanner{}, false
}

// scanners returns all scanners. The first one that recognizes a file scans it.
func scanners() []Scanner {
	registered.RLock()
	defer registered.RUnlock()
	return slices.Concat(registered.scanners, builtIn)
}

// formats lists the formats that scanners know.
func formats() string {
	var names []string
	for _, s := range scanners() {
		names = append(names, s.Format)
	}
	return strings.Join(names, ", ")
}

// others returns the versions of the scanners of other packages, by their format.
func others() map[string]int {
	registered.RLock()
	defer registered.RUnlock()
	versions := map[string]int{}
	for _, s := range registered.scanners {
		versions[s.Format] = s.Version
	}
	return versions
}
