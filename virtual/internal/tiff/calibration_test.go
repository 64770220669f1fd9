// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"strings"
	"testing"
)

// TestCalibration reads what ImageJ says about values: a straight line becomes a scale
// and an offset, and any other curve is named.
func TestCalibration(t *testing.T) {
	for _, c := range []struct {
		lines         string
		others        []field
		scale, offset any // nil for none
		units         any
		left          string
	}{
		{"cf=0\nc0=-32768.0\nc1=1.0\nvunit=Gray Value\n", nil, 1.0, -32768.0, "Gray Value", ""},
		{"images=1\ncf=0\r\nc0=5\r\nc1=0.25\r\n", nil, 0.25, 5.0, nil, ""},
		{"cf=0\nc0=0\nc1=1\nvunit=\\u00B0C\n", nil, nil, nil, "\u00b0C", ""},
		{"unit=um\nmin=0\n", nil, nil, nil, nil, ""},
		{"c0=5\nc1=2\n", nil, nil, nil, nil, ""},
		{"cf=20\nvunit=x\n", nil, nil, nil, nil, ""},
		{"cf=1\nc0=5\nc1=2\nc2=1\nvunit=x\n", nil, nil, nil, nil, "cf=1, c0=5, c1=2"},
		{"cf=21\n", nil, nil, nil, nil, "no straight line"},
		{"cf=0\nc0=5\n", nil, nil, nil, nil, "no two numbers"},
		{"cf=0\nc0=NaN\nc1=2\n", nil, nil, nil, nil, "no two numbers"},
		{"cf=0\nc0=5\nc1=2\n", []field{short(samplesPerPixel, 3), long(stripByteCounts, 48)}, nil, nil, nil, "no single numbers"},
	} {
		d, _, err := scanBytes(t, describedAs("ImageJ=1.54f\n"+c.lines, 32, c.others...))
		if err != nil {
			t.Errorf("%q: %v", c.lines, err)
			continue
		}
		a := d.Arrays[0].Attributes
		if a.Get("scale_factor") != c.scale || a.Get("add_offset") != c.offset || a.Get("units") != c.units {
			t.Errorf("%q: scale %v, offset %v, units %v", c.lines, a.Get("scale_factor"), a.Get("add_offset"), a.Get("units"))
		}
		left := ""
		for _, o := range d.Omitted {
			left += o.Path + ": " + o.Reason.Error()
		}
		if (left != "") != (c.left != "") || !strings.Contains(left, c.left) {
			t.Errorf("%q: left out %q, want %q", c.lines, left, c.left)
		}
	}
}

// TestCalibrationOfPages applies the description of the first image to all pages, and
// names a curve once.
func TestCalibrationOfPages(t *testing.T) {
	for text, left := range map[string]int{"cf=0\nc0=-32768\nc1=1\n": 0, "cf=4\nc0=1\nc1=2\n": 1} {
		w := begin()
		w.b = append(w.b, make([]byte, 32)...)
		next := w.add(4, gray(field{tag: imageDescription, typ: typeText, text: "ImageJ=1.54f\nimages=2\n" + text + "\x00"})...)
		w.add(next, gray(long(stripOffsets, 24))...)
		d, _, err := scanBytes(t, w.b)
		if err != nil || len(d.Arrays) != 2 || len(d.Omitted) != left {
			t.Fatalf("%q: %d left out: %v", text, len(d.Omitted), err)
		}
		for _, a := range d.Arrays {
			if (a.Attributes.Get("add_offset") == -32768.0) != (left == 0) {
				t.Errorf("%s: %v", a.Path, a.Attributes)
			}
		}
	}
}
