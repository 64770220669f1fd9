// SPDX-License-Identifier: Apache-2.0

package grib

import (
	"encoding/binary"
	"math"
	"slices"

	"varve.dev/zarr/internal/codecs/grib2"
	"varve.dev/zarr/virtual/scan"
)

// minGrid are the bytes that coordinates of grids may have in a file of any size. Beyond
// them, they may have as many as the file. A short message may claim a grid of any size.
const minGrid = 64 << 10

// The grid definition templates with coordinates (code table 3.1).
const (
	latitudeLongitude = 0
	gaussian          = 40
)

// addGrid adds the axes of the grid to an array. One without known axes has a row of
// points.
func (x *axes) addGrid(a *scan.Array, s *series) {
	g := s.grid
	if g.Nx == 0 {
		a.Shape, a.Chunk = append(a.Shape, g.Points), append(a.Chunk, g.Points)
		a.Names = append(a.Names, x.bare("point", g.Points))
		return
	}
	ny, nx := x.gridNames(s)
	if g.Scanning&grib2.ScansColumns != 0 {
		a.Shape, a.Names = append(a.Shape, g.Nx, g.Ny), append(a.Names, nx, ny)
		a.Chunk = append(a.Chunk, g.Nx, g.Ny)
		return
	}
	a.Shape, a.Names = append(a.Shape, g.Ny, g.Nx), append(a.Names, ny, nx)
	a.Chunk = append(a.Chunk, g.Ny, g.Nx)
}

// gridNames returns the names of the axes of a grid. Those of regular grids have
// coordinates.
func (x *axes) gridNames(s *series) (ny, nx string) {
	g := s.grid
	if g.Template != latitudeLongitude && g.Template != gaussian {
		return x.bare("y", g.Ny), x.bare("x", g.Nx)
	}
	if 8*(g.Nx+g.Ny) > x.left {
		x.omit("latitude and longitude", scan.Unsupportedf("grib: the coordinates of a grid of %d x %d points, in so small a file", g.Ny, g.Nx))
		return x.bare("latitude", g.Ny), x.bare("longitude", g.Nx)
	}
	before := len(x.arrays)
	lat, lon := corners([]byte(s.key.grid), g.Scanning)
	nx = x.add(floats("longitude", spaced(lon, g.Nx), coordinate("longitude", "degrees_east")))
	rows, err := spaced(lat, g.Ny), error(nil)
	if g.Template == gaussian {
		rows, err = x.gaussianRows(s, lat)
	}
	if err != nil {
		x.omit("latitude", err)
		ny = x.bare("latitude", g.Ny)
	} else {
		ny = x.add(floats("latitude", rows, coordinate("latitude", "degrees_north")))
	}
	for _, a := range x.arrays[before:] {
		x.left -= 8 * a.Shape[0]
	}
	return ny, nx
}

func coordinate(name, units string) (list scan.Attributes) {
	list.Set("standard_name", name)
	list.Set("units", units)
	return list
}

// corners returns the coordinates of the first and the last point (template 3.0, octets
// 39 to 63). Longitudes go on beyond 360 where a grid crosses the meridian.
func corners(s []byte, scanning byte) (lat, lon [2]float64) {
	unit := 1e6 // parts of a degree
	const missing = 1<<32 - 1
	angle, parts := binary.BigEndian.Uint32(s[38:]), binary.BigEndian.Uint32(s[42:])
	if angle != 0 && angle != missing && parts != 0 && parts != missing {
		unit = float64(parts) / float64(angle)
	}
	at := func(octet int) float64 { return float64(signed(binary.BigEndian.Uint32(s[octet-1:]), 31)) / unit }
	lat, lon = [2]float64{at(47), at(56)}, [2]float64{at(51), at(60)}
	west := scanning&grib2.ScansWest != 0
	switch {
	case !west && lon[1] < lon[0]:
		lon[1] += 360
	case west && lon[1] > lon[0]:
		lon[1] -= 360
	}
	return lat, lon
}

// spaced returns n equally spaced numbers.
func spaced(ends [2]float64, n int64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = ends[0]
		if i > 0 {
			list[i] = (ends[0]*float64(n-1-int64(i)) + ends[1]*float64(i)) / float64(n-1)
		}
	}
	return list
}

// mostParallels bounds the parallels between a pole and the equator in all Gaussian grids
// of a file together: the time for a grid grows with their square.
const mostParallels = 1 << 12

// gaussianRows returns the latitudes of the rows of a Gaussian grid (template 3.40),
// which may be a part of the globe. ends are the latitudes of the first and the last row,
// which may be rounded.
func (x *axes) gaussianRows(s *series, ends [2]float64) ([]float64, error) {
	n := int64(binary.BigEndian.Uint32([]byte(s.key.grid)[67:]))
	all, known := x.parallels[n]
	if !known {
		if x.spent += n; n == 0 || x.spent > mostParallels {
			return nil, scan.Unsupportedf("grib: the latitudes of Gaussian grids with %d parallels between a pole and the equator", n)
		}
		all = gaussianLatitudes(n)
		x.parallels[n] = all
	}
	const rounded = 1e-3
	at := func(latitude float64) int64 {
		return int64(slices.IndexFunc(all, func(l float64) bool { return math.Abs(l-latitude) <= rounded }))
	}
	first, last, step := at(ends[0]), at(ends[1]), int64(1)
	if last < first {
		step = -1
	}
	if first < 0 || last < 0 || (last-first)*step != s.grid.Ny-1 {
		return nil, scan.Unsupportedf("grib: a Gaussian grid of %d rows from %v to %v degrees, which are not those between %d parallels", s.grid.Ny, ends[0], ends[1], 2*n)
	}
	rows := make([]float64, s.grid.Ny)
	for i := range rows {
		rows[i] = all[first+int64(i)*step]
	}
	return rows, nil
}

// gaussianLatitudes returns the latitudes of a Gaussian grid with n parallels between a
// pole and the equator, from north to south. Their sines are the roots of the Legendre
// polynomial of degree 2n, which Newton's method finds. Conversions of products keep
// processors from rounding them together with sums: all get the same latitudes.
func gaussianLatitudes(n int64) []float64 {
	list, degree := make([]float64, 2*n), float64(2*n)
	for i := range n {
		sine := math.Cos(math.Pi * (float64(i) + 0.75) / (degree + 0.5))
		for i, step := 0, 1.0; i < 8 && math.Abs(step) > 1e-15; i++ {
			p, before := 1.0, 0.0 // the polynomials of two degrees that follow each other
			for k := 1.0; k <= degree; k++ {
				p, before = (float64((2*k-1)*sine*p)-float64((k-1)*before))/k, p
			}
			step = p * (1 - float64(sine*sine)) / (degree * (before - float64(sine*p)))
			sine -= step
		}
		list[i] = math.Asin(sine) * 180 / math.Pi
		list[2*n-1-i] = -list[i]
	}
	return list
}
