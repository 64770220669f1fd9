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
	ome := func(pixels, below string) string {
		return `<?xml version="1.0" encoding="UTF-8"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" UUID="urn:uuid:1"><Image><Pixels SizeX="4" SizeY="4" ` +
			pixels + ">" + below + "</Pixels></Image></OME>"
	}
	const z4, tiffData = `DimensionOrder="XYCZT" SizeZ="4" SizeC="1" SizeT="1"`, `<TiffData IFD="0" PlaneCount="4"/>`
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
		{"OME", describedAs(ome(z4, tiffData), 48), []int64{4, 4, 4}, "z y x", ""},
		{"OME, order", describedAs(ome(`DimensionOrder="XYZTC" SizeZ="2" SizeC="3" SizeT="5"`, "<TiffData/>"), 464), []int64{3, 5, 2, 4, 4}, "c t z y x", ""},
		{"OME, own file", describedAs(ome(z4, `<TiffData PlaneCount="4"><UUID FileName="a.tif">urn:uuid:1</UUID></TiffData>`), 48), []int64{4, 4, 4}, "z y x", ""},
		{"OME, one plane", describedAs(ome(`SizeZ="1" SizeC="1" SizeT="1"`, tiffData), 48), []int64{4, 4}, "y x", ""},
		{"OME, samples", describedAs(ome(`SizeZ="1" SizeC="3" SizeT="1"`, tiffData), 32, short(samplesPerPixel, 3), long(stripByteCounts, 48)), []int64{4, 4, 3}, "y x band", ""},
		{"OME, compressed", describedAs(ome(z4, tiffData), 48, short(compression, 8)), []int64{4, 4}, "y x", "compressed"},
		{"OME, too short", describedAs(ome(`SizeZ="400" SizeC="1" SizeT="1"`, `<TiffData/>`), 16), []int64{4, 4}, "y x", "the file ends before"},
		{"OME, other files", describedAs(ome(z4, `<TiffData IFD="0"/><TiffData IFD="0"><UUID FileName="b.tif">urn:uuid:2</UUID></TiffData>`), 48), []int64{4, 4}, "y x", `"b.tif"`},
		{"OME, described elsewhere", describedAs(`<OME UUID="1"><BinaryOnly MetadataFile="m.tif" UUID="2"/></OME>`, 48), []int64{4, 4}, "y x", `"m.tif"`},
		{"OME, one of four", describedAs(ome(z4, `<TiffData IFD="0" PlaneCount="1"/>`), 48), []int64{4, 4}, "y x", "4 planes in 1 image"},
		{"OME, damaged", describedAs(ome(z4, "<TiffData"), 48), []int64{4, 4}, "y x", "cannot be parsed"},
		{"OME, overflow", describedAs(ome(`SizeZ="9223372036854775807" SizeC="9" SizeT="1"`, tiffData), 48), []int64{4, 4}, "y x", "planes of the shape"},
		{"OME, negative", describedAs(ome(`SizeZ="-4" SizeC="1" SizeT="1"`, tiffData), 48), []int64{4, 4}, "y x", "planes of the shape"},
		{"OME, another image", describedAs(strings.Replace(ome(z4, tiffData), `SizeX="4"`, `SizeX="5"`, 1), 48), []int64{4, 4}, "y x", "4 × 5"},
		{"OME, two images", describedAs(strings.Replace(ome(z4, tiffData), "<Image>", `<Image><Pixels SizeX="4" SizeY="4" SizeZ="2" SizeC="1" SizeT="1"/></Image><Image>`, 1), 80), []int64{4, 4}, "y x", "6 planes in 2 images"},
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

// TestMissingPages names the images that ImageJ and OME-XML count and that have no IFD,
// if others have one.
func TestMissingPages(t *testing.T) {
	for images, want := range map[int]int{2: 0, 3: 1} {
		for _, said := range []string{
			fmt.Sprintf("ImageJ=1.54f\nimages=%d\n", images),
			fmt.Sprintf(`<OME><Image><Pixels SizeX="4" SizeY="4" SizeZ="%d" SizeC="1" SizeT="1"><TiffData/></Pixels></Image></OME>`, images),
		} {
			w := begin()
			w.b = append(w.b, make([]byte, 64)...)
			text := field{tag: imageDescription, typ: typeText, text: said + "\x00"}
			w.add(w.add(4, gray(text)...), gray()...)
			if d, _, err := scanBytes(t, w.b); err != nil || len(d.Omitted) != want || len(d.Arrays) != 2 {
				t.Errorf("%s: %+v, %v", said, d, err)
			}
		}
	}
}
