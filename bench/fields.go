// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"math"
)

// The fields of this file change their character from part to part, which ordinary fields
// of a benchmark do not. Their generators depend on the index alone.

// noFill is the fill value of the ocean, as of netCDF floats.
const noFill = 9.969209968386869e36

// ocean is the temperature of the sea at [time, lat, lon], as a model computes it: it is
// smooth, with all bits of a float32 in use. Land has the fill value.
func ocean(begin, end []int64, dst []byte) {
	rows(begin, end, 4, dst, func(at []int64, row []byte) {
		t, y, x := float64(at[0]), float64(at[1]), at[2]
		for i := 0; i < len(row); i += 4 {
			v := float64(float32(noFill))
			if !land(at[1], x) {
				v = 14 + 12*math.Cos((y-256)/200) + 2*math.Sin(float64(x)/37+t/9)*math.Cos(y/29) +
					0.002*noise(uint64(at[0])<<40|uint64(at[1])<<20|uint64(x))
			}
			binary.LittleEndian.PutUint32(row[i:], math.Float32bits(float32(v)))
			x++
		}
	})
}

// continents are the centre, and half of the height and width, of ellipses of land.
var continents = [][4]float64{{150, 200, 130, 110}, {330, 320, 150, 90}, {160, 640, 140, 190}, {350, 880, 90, 80}}

// land reports whether a point of the ocean is land. Coasts are not smooth.
func land(y, x int64) bool {
	for _, c := range continents {
		dy, dx := (float64(y)-c[0])/c[2], (float64(x)-c[1])/c[3]
		coast := 1 + 0.15*math.Sin(float64(x)/11)*math.Cos(float64(y)/13)
		if dy*dy+dx*dx < coast {
			return true
		}
	}
	return false
}

// Bounds of what the microscope sees, along each axis.
var seenFrom, seenTo = []int64{37, 83, 71}, []int64{219, 331, 305}

// microscopy is an image of a microscope at [z, y, x]: zero around what it sees, and
// noise on a faint pattern within.
func microscopy(begin, end []int64, dst []byte) {
	rows(begin, end, 2, dst, func(at []int64, row []byte) {
		z, y, x := at[0], at[1], at[2]
		for i := 0; i < len(row); i += 2 {
			var v uint16
			if inside(0, z) && inside(1, y) && inside(2, x) {
				level := 400 + 120*math.Sin(float64(x)/23)*math.Sin(float64(y)/19)*math.Cos(float64(z)/17)
				n := noise(uint64(z)<<40 | uint64(y)<<20 | uint64(x))
				v = uint16(level + 90*n)
			}
			binary.LittleEndian.PutUint16(row[i:], v)
			x++
		}
	})
}

func inside(axis int, k int64) bool { return k >= seenFrom[axis] && k < seenTo[axis] }

// kindsFrom are the first stations of each kind, and the end of the last.
var kindsFrom = []int64{0, 611, 1814, 1901, 3401, 4096}

// stations are measurements at [station, time], sorted by the kind of station: the
// temperature in tenths, rain that rarely falls, a code that hardly changes, radiation
// that is zero at night, and turbulence.
func stations(begin, end []int64, dst []byte) {
	rows(begin, end, 4, dst, func(at []int64, row []byte) {
		s, t := at[0], at[1]
		kind := 0
		for s >= kindsFrom[kind+1] {
			kind++
		}
		for i := 0; i < len(row); i += 4 {
			v := measure[kind](s, t, noise(uint64(s)<<32|uint64(t)))
			binary.LittleEndian.PutUint32(row[i:], math.Float32bits(float32(v)))
			t++
		}
	})
}

// measure has the values of a station s at time t, in hours, by kind. n is noise.
var measure = [...]func(s, t int64, n float64) float64{
	func(s, t int64, n float64) float64 {
		v := 10 + 0.01*float64(s) + 6*math.Sin(float64(t)*math.Pi/12) + 8*math.Sin(float64(t)/1400) + n
		return math.Round(10*v) / 10
	},
	func(s, t int64, n float64) float64 {
		if noise(uint64(t/6)<<20|uint64(s/8)) < 0.44 {
			return 0
		}
		return math.Round(50*(n+0.5)) / 10
	},
	func(s, t int64, n float64) float64 { return float64(s%7) + float64(t/700) },
	func(s, t int64, n float64) float64 {
		return max(0, math.Sin(float64(t)*math.Pi/12)) * (800 + 0.1*float64(s) + 5*n)
	},
	func(_, _ int64, n float64) float64 { return n },
}

// floatBytes returns a float32, little endian.
func floatBytes(v float64) []byte {
	return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v)))
}
