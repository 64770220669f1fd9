// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// describedAs returns a file of one image of 4 x 4 bytes with a description, and so many
// bytes behind it.
func describedAs(text string, behind int, others ...field) []byte {
	w := begin()
	w.b = append(w.b, make([]byte, 16+behind)...)
	w.add(4, gray(append(others, field{tag: imageDescription, typ: typeText, text: text + "\x00"})...)...)
	return w.b
}

// TestStack finds the planes that have no IFD, or says why it does not.
func TestStack(t *testing.T) {
	imageJ := func(lines string) string { return "ImageJ=1.54f\n" + lines }
	for _, c := range []struct {
		name  string
		file  []byte
		shape []int64
		names string
		left  string // a part of the reason why planes are left out
	}{
		{"slices", describedAs(imageJ("images=3\nslices=3\n"), 32), []int64{3, 4, 4}, "z y x", ""},
		{"hyperstack", describedAs(imageJ("images=12\nchannels=2\nslices=3\nframes=2\nhyperstack=true\n"), 176), []int64{2, 3, 2, 4, 4}, "t z c y x", ""},
		{"no axes", describedAs(imageJ("images=3\n"), 32), []int64{3, 4, 4}, "plane y x", ""},
		{"axes that do not agree", describedAs(imageJ("images=3\nslices=2\n"), 32), []int64{3, 4, 4}, "plane y x", ""},
		{"another order", describedAs(imageJ("images=4\nslices=2\nchannels=2\norder=zct\n"), 48), []int64{4, 4, 4}, "plane y x", ""},
		{"one image", describedAs(imageJ("images=1\n"), 32), []int64{4, 4}, "y x", ""},
		{"no count", describedAs(imageJ("unit=um\n"), 32), []int64{4, 4}, "y x", ""},
		{"two strips", describedAs(imageJ("images=2\n"), 16, long(stripOffsets, 8, 16), long(stripByteCounts, 8, 8), long(rowsPerStrip, 2)), []int64{2, 4, 4}, "plane y x", ""},
		{"strips apart", describedAs(imageJ("images=2\n"), 32, long(stripOffsets, 8, 24), long(stripByteCounts, 8, 8), long(rowsPerStrip, 2)), []int64{4, 4}, "y x", "one piece"},
		{"compressed", describedAs(imageJ("images=2\n"), 32, short(compression, 8)), []int64{4, 4}, "y x", "compressed"},
		{"too short", describedAs(imageJ("images=2000\n"), 16), []int64{4, 4}, "y x", "the file ends before"},
		{"too many", describedAs(imageJ("images=9223372036854775807\nslices=9223372036854775807\n"), 16), []int64{4, 4}, "y x", "more than 4194304 chunks"},
		{"too many axes", describedAs(imageJ("images=4\nslices=9223372036854775807\nframes=3\n"), 48), []int64{4, 4, 4}, "plane y x", ""},
		{"tifffile", describedAs(`{"shape": [2, 3, 4, 4], "truncated": true}`, 80), []int64{2, 3, 4, 4}, " y x", ""},
		{"tifffile, with axes", describedAs(`{"shape": [2, 4, 4], "axes": "ZYX", "truncated": true}`, 16), []int64{2, 4, 4}, "z y x", ""},
		{"tifffile, another image", describedAs(`{"shape": [2, 5, 4], "truncated": true}`, 80), []int64{4, 4}, "y x", "does not fit"},
		{"tifffile, no elements", describedAs(`{"shape": [0, 4, 4], "truncated": true}`, 80), []int64{4, 4}, "y x", "does not fit"},
		{"tifffile, all there", describedAs(`{"shape": [2, 4, 4]}`, 80), []int64{4, 4}, "y x", ""},
		{"MetaMorph", describedAs("", 16, field{tag: 33629, typ: typeRational, values: []uint64{1, 2}}), []int64{2, 4, 4}, "plane y x", ""},
	} {
		d, _, err := scanBytes(t, c.file)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		a, left := d.Arrays[0], ""
		for _, o := range d.Omitted {
			left += o.Path + " " + o.Reason.Error()
		}
		if names := strings.TrimLeft(strings.Join(a.Names, " "), " "); !slices.Equal(a.Shape, c.shape) || names != strings.TrimLeft(c.names, " ") {
			t.Errorf("%s: the shape %d and the axes %q, want %d and %q", c.name, a.Shape, names, c.shape, c.names)
		}
		if left != "" != (c.left != "") || !strings.Contains(left, c.left) {
			t.Errorf("%s: left out: %q, want %q", c.name, left, c.left)
		}
		// All planes follow each other.
		for i, x := range a.Chunks {
			if i > 0 && c.left == "" && x.Offset != a.Chunks[i-1].Offset+a.Chunks[i-1].Length {
				t.Errorf("%s: chunk %d is at %d", c.name, i, x.Offset)
			}
		}
	}
}

// TestMissingPages names the images that ImageJ counts and that have no IFD, if others
// have one.
func TestMissingPages(t *testing.T) {
	for images, want := range map[int]int{2: 0, 3: 1} {
		w := begin()
		w.b = append(w.b, make([]byte, 64)...)
		text := field{tag: imageDescription, typ: typeText, text: fmt.Sprintf("ImageJ=1.54f\nimages=%d\n\x00", images)}
		w.add(w.add(4, gray(text)...), gray()...)
		if d, _, err := scanBytes(t, w.b); err != nil || len(d.Omitted) != want || len(d.Arrays) != 2 {
			t.Errorf("%d images: %+v, %v", images, d, err)
		}
	}
}
