// SPDX-License-Identifier: Apache-2.0

package grib

import (
	"encoding/binary"

	"varve.dev/zarr/codec/grib2"
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
		return x.bare("latitude", g.Ny), x.bare("longitude", g.Nx)
	}
	before := len(x.arrays)
	lat, lon := corners([]byte(s.key.grid), g.Scanning)
	nx = x.add(floats("longitude", spaced(lon, g.Nx), coordinate("longitude", "degrees_east")))
	if g.Template == gaussian { // its latitudes are not equally spaced
		ny = x.bare("latitude", g.Ny)
	} else {
		ny = x.add(floats("latitude", spaced(lat, g.Ny), coordinate("latitude", "degrees_north")))
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
