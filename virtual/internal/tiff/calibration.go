// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"math"
	"strconv"
	"strings"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/virtual/scan"
)

// calibration is what ImageJ says about the values of samples, in lines of the
// description of the first image such as cf=0. It holds for all images of the file.
type calibration struct {
	function string // the number of a curve (ij.measure.Calibration), "" for none
	c        map[string]string
	unit     string
	noted    bool // that it could not be said; once is enough
}

// The functions of ImageJ: a straight line is c0 + c1 x, and none means that values are
// the samples.
const (
	straightLine = "0"
	noFunction   = "20"
)

// calibrationOf parses the description of the first image.
func calibrationOf(first *scan.Array) (c calibration) {
	text := firstText(first.Attributes.Get(imageDescription.String()))
	if !strings.HasPrefix(text, "ImageJ=") {
		return c
	}
	c.c = map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		switch key {
		case "cf":
			c.function = strings.TrimSpace(value)
		case "c0", "c1":
			c.c[key] = strings.TrimSpace(value)
		case "vunit":
			c.unit = unescaped(value)
		}
	}
	return c
}

// unescaped returns a text in which ImageJ has written characters beyond ASCII as \u00b0.
func unescaped(text string) string {
	if plain, err := strconv.Unquote(`"` + text + `"`); err == nil {
		return plain
	}
	return text
}

// set says in the words of CF what the values of an image are. It returns an error if
// that is not possible: samples are not the values then.
func (c calibration) set(a *scan.Array) error {
	if c.function == "" || c.function == noFunction {
		return nil
	}
	unsupported := func(why string) error {
		return scan.Unsupportedf("an attribute: the calibration of ImageJ (cf=%.10s, c0=%.40s, c1=%.40s): %s", c.function, c.c["c0"], c.c["c1"], why)
	}
	offset, err := strconv.ParseFloat(c.c["c0"], 64)
	scale, also := strconv.ParseFloat(c.c["c1"], 64)
	switch kind := a.Type.Kind(); {
	case c.function != straightLine:
		return unsupported("it is no straight line, and values are those before it")
	case err != nil || also != nil || math.IsNaN(scale-scale) || math.IsNaN(offset-offset):
		return unsupported("the line has no two numbers")
	case samplesOf(a) > 1 || kind != dtype.KindInt && kind != dtype.KindUint && kind != dtype.KindFloat:
		return unsupported("the samples are no single numbers")
	case a.Attributes.Get("scale_factor") != nil || a.Attributes.Get("add_offset") != nil:
		return unsupported("GDAL gives another scale")
	}
	if scale != 1 || offset != 0 {
		a.Attributes.Set("scale_factor", scale)
		a.Attributes.Set("add_offset", offset)
	}
	if c.unit != "" && a.Attributes.Get("units") == nil {
		a.Attributes.Set("units", c.unit)
	}
	return nil
}
