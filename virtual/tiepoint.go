// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"math"
	"slices"

	"varve.dev/zarr/cf"
	"varve.dev/zarr/internal/strictjson"
)

// The attributes that say where a GeoTIFF image lies (OGC 19-008r4, 7.4): the point of
// the raster i, j, k is at x, y, z of the model, and pixels have a size.
const (
	tiepoint   = "ModelTiepoint"
	pixelScale = "ModelPixelScale"
)

// continues reports whether an image goes on where another one ends, that has n pixels
// along an axis named y or x: then the tie point of that one holds for both.
func continues(s, o cf.Statements, axis string, n int64) bool {
	was, is := numbersIn(s[tiepoint]), numbersIn(o[tiepoint])
	scale := numbersIn(s[pixelScale])
	if len(was) != 6 || len(is) != 6 || len(scale) != 3 || !slices.Equal(scale, numbersIn(o[pixelScale])) {
		return false
	}
	x, y := origin(was, scale)
	switch axis {
	case "x":
		x += float64(n) * scale[0]
	case "y": // rows go down, against the axis of the model
		y -= float64(n) * scale[1]
	default:
		return false
	}
	atX, atY := origin(is, scale)
	const part = 1e-3 // of a pixel: positions are rounded
	return math.Abs(atX-x) <= part*math.Abs(scale[0]) && math.Abs(atY-y) <= part*math.Abs(scale[1])
}

// origin returns where the first corner of an image is.
func origin(tie, scale []float64) (x, y float64) {
	return tie[3] - tie[0]*scale[0], tie[4] + tie[1]*scale[1]
}

// numbersIn returns a list of numbers, nil if it is none.
func numbersIn(v strictjson.Value) (list []float64) {
	if v.Kind() != strictjson.Array {
		return nil
	}
	for _, e := range v.Elements() {
		x, err := e.Float64()
		if err != nil {
			return nil
		}
		list = append(list, x)
	}
	return list
}
