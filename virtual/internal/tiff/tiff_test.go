// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/scanned"
	"varve.dev/zarr/virtual/scan"
)

const testdata = "../../testdata"

func TestFiles(t *testing.T) {
	for _, name := range scanned.Files(t, "tiff") {
		t.Run(name, func(t *testing.T) {
			scanned.Check(t, name, scanned.Labelled(t, name, Scan))
		})
	}
}

// fixture returns a file of the folder.
func fixture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(testdata, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// scanBytes scans a file in memory.
func scanBytes(t *testing.T, b []byte) (*scan.Dataset, *scanned.Counted, error) {
	t.Helper()
	f, counted := scanned.Memory(t, b)
	d, err := Scan(f)
	return d, counted, err
}

func TestHostile(t *testing.T) {
	for name, b := range hostile() {
		if _, _, err := scanBytes(t, b); !errors.Is(err, scan.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
	// A file cut anywhere is refused, or its data are beyond its end.
	whole := fixture(t, "cog_deflate.tif")
	for n := range len(whole) - 4 { // GDAL repeats the last four bytes of a tile
		if _, _, err := scanBytes(t, whole[:n]); !errors.Is(err, scan.ErrCorrupt) {
			t.Fatalf("%d bytes of %d: %v, want ErrCorrupt", n, len(whole), err)
		}
	}
}

// TestRefused checks that what cannot be expressed is refused by name, and that an image
// beside it is not.
func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		want   string
		fields []field
	}{
		{"BitsPerSample 1 ", []field{short(bitsPerSample, 1)}},
		{"BitsPerSample 12 ", []field{short(bitsPerSample, 12)}},
		{"JPEG, for which there is no codec; write the file again", []field{short(compression, 7)}},
		{"LERC", []field{short(compression, 34887)}},
		{"WebP", []field{short(compression, 50001)}},
		{"CCITT Group 4", []field{short(compression, 4)}},
		{"compression 999", []field{short(compression, 999)}},
		{"BitsPerSample 8 of float", []field{short(sampleFormat, 3)}},
		{"BitsPerSample 24 of float", []field{short(sampleFormat, 3), short(bitsPerSample, 24)}},
		{"SampleFormat 5", []field{short(sampleFormat, 5)}},
		{"FillOrder", []field{short(fillOrder, 2)}},
		{"YCbCr", []field{short(photometric, 6)}},
		{"ImageDepth", []field{short(imageDepth, 2)}},
		{"predictor 2, horizontal differencing, of complex64 samples", []field{
			short(compression, 5), short(predictor, 2), short(sampleFormat, complexSamples), short(bitsPerSample, 64),
		}},
		{"predictor 3, of floating point, with uint8 samples", []field{short(compression, 5), short(predictor, 3)}},
		{"predictor 34892", []field{short(compression, 8), short(predictor, 34892)}},
	} {
		w := begin()
		w.b = append(w.b, "0123456789abcdef"...)
		w.add(w.add(4, gray(tt.fields...)...), gray()...)
		d, _, err := scanBytes(t, w.b)
		if err != nil || len(d.Arrays) != 2 {
			t.Fatalf("%s: %v", tt.want, err)
		}
		if a := d.Arrays[0]; !errors.Is(a.Refused, scan.ErrUnsupported) || !strings.Contains(a.Refused.Error(), tt.want) {
			t.Errorf("%v, want %s", a.Refused, tt.want)
		}
		if a := d.Arrays[1]; a.Refused != nil || len(a.Chunks) != 1 {
			t.Errorf("beside %s: %v, %d chunks", tt.want, a.Refused, len(a.Chunks))
		}
	}
}

// TestGeoTIFF checks the attributes of a file of GDAL.
func TestGeoTIFF(t *testing.T) {
	d, _, err := scanBytes(t, fixture(t, "cog_deflate.tif"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := d.Arrays[0].Attributes.JSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"ModelPixelScale":[0.25,0.25,0.0]`, `"ModelTiepoint":[0.0,0.0,0.0,5.0,50.0,0.0]`,
		`"GeoKeyDirectory":[1,1,0,7,1024,`, `"GeoAsciiParams":"WGS 84|"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
}

// TestNoData checks that missing tiles read as GDAL's value for no data.
func TestNoData(t *testing.T) {
	missing := []field{long(stripOffsets, 0), long(stripByteCounts, 0)}
	for _, tt := range []struct {
		text         string
		bits, format uint64
		want         string
	}{
		{"7", 8, unsignedSamples, "7"},
		{"-9999", 16, signedSamples, "-9999"},
		{"nan", 32, floatSamples, "nan"},
		{"-3.4028234663852886e+38", 32, floatSamples, "-3.4028235e+38"},
		{"7", 64, complexSamples, "7.0+0.0j"},
		{"-1", 8, unsignedSamples, ""}, // which no sample is
	} {
		more := append(missing, short(bitsPerSample, tt.bits), short(sampleFormat, tt.format),
			field{tag: gdalNoData, typ: typeText, text: tt.text + "\x00"})
		d, _, err := scanBytes(t, single(gray(more...)...))
		if err != nil || d.Arrays[0].Refused != nil {
			t.Fatal(err, d.Arrays[0].Refused)
		}
		a, got := d.Arrays[0], ""
		if a.Fill != nil {
			got = string(a.Type.AppendText(nil, a.Fill))
		}
		if len(a.Chunks) != 0 || got != tt.want || a.Attributes.Get("GDAL_NODATA") != tt.text {
			t.Errorf("%s: %d chunks, fill value %s, GDAL_NODATA %v", tt.text, len(a.Chunks), got, a.Attributes.Get("GDAL_NODATA"))
		}
	}
}

// TestSurplus checks that bytes behind the samples of a plain strip do not count.
func TestSurplus(t *testing.T) {
	fields := gray(long(imageLength, 3), long(rowsPerStrip, 2), long(stripOffsets, 8, 16), long(stripByteCounts, 8, 8))
	d, _, err := scanBytes(t, single(fields...))
	if err != nil || len(d.Arrays[0].Chunks) != 2 {
		t.Fatal(err, d.Arrays[0])
	}
	if a, b := d.Arrays[0].Chunks[0], d.Arrays[0].Chunks[1]; a.Length != 8 || b.Length != 4 {
		t.Errorf("%d and %d bytes, want 8 and 4", a.Length, b.Length)
	}
}

// TestPredicted checks that the images of a file, most of which kerchunk refuses, are
// read: those with LZW, PackBits and predictors.
func TestPredicted(t *testing.T) {
	d, _, err := scanBytes(t, fixture(t, "tiff_refused.tif"))
	if err != nil || len(d.Arrays) != 5 {
		t.Fatal(d, err)
	}
	for _, a := range d.Arrays {
		if a.Refused != nil {
			t.Error(a.Refused)
		}
	}
}

// TestDamagedStrip reads an image of which a byte was changed. What LZW notices is an
// error that says where, and never a missing chunk.
func TestDamagedStrip(t *testing.T) {
	const inSecondStrip = 780
	data := fixture(t, "geotiff_lzw_floats.tif")
	data[inSecondStrip] ^= 0xff
	d, _, err := scanBytes(t, data)
	if err != nil {
		t.Fatal(err)
	}
	_, err = scanned.Values(t, d.Arrays[0], data)
	if !errors.Is(err, zarr.ErrCorrupt) {
		t.Fatalf("%v, want ErrCorrupt", err)
	}
	for _, want := range []string{"chunk [1 0]", "imagecodecs_lzw", "at bit"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

// TestPredictor checks the codecs of images with predictors.
func TestPredictor(t *testing.T) {
	tile := []field{
		short(bitsPerSample, 32), short(sampleFormat, floatSamples), long(tileWidth, 16), long(tileLength, 32),
		long(tileOffsets, 8), long(tileByteCounts, 16), short(compression, 5),
	}
	three := []field{short(bitsPerSample, 8), short(sampleFormat, unsignedSamples), short(samplesPerPixel, 3), short(compression, 8)}
	const little = ` bytes{"endian":"little"}`
	for _, tt := range []struct {
		fields []field
		want   string
	}{
		{[]field{short(compression, 5)}, "bytes imagecodecs_lzw"},
		{[]field{short(compression, 5), short(predictor, 1)}, "bytes imagecodecs_lzw"},
		{[]field{short(compression, 5), short(predictor, 2)}, `imagecodecs_delta{"axis":-1,"dist":1} bytes imagecodecs_lzw`},
		// Only some compressions have a predictor.
		{[]field{short(compression, 32773), short(predictor, 2)}, "bytes imagecodecs_packbits"},
		{[]field{short(predictor, 2)}, "bytes"},
		{append(three, short(predictor, 2)), `imagecodecs_delta{"axis":-2,"dist":1} bytes numcodecs.zlib{"level":6}`},
		{append(three, short(predictor, 2), short(planarConfig, 2), long(stripOffsets, 8, 8, 8), long(stripByteCounts, 1, 1, 1)),
			`imagecodecs_delta{"axis":-1,"dist":1} bytes numcodecs.zlib{"level":6}`},
		{append(tile, short(predictor, 2)), `imagecodecs_delta{"axis":-1,"dist":1}` + little + " imagecodecs_lzw"},
		{append(tile, short(predictor, 3)), `imagecodecs_floatpred{"shape":[32,16],"dtype":"<f4","axis":-1,"dist":1}` + little + " imagecodecs_lzw"},
		{append(tile, short(predictor, 3), short(samplesPerPixel, 2)),
			`imagecodecs_floatpred{"shape":[32,16,2],"dtype":"<f4","axis":-2,"dist":1}` + little + " imagecodecs_lzw"},
		// The last strip may be short.
		{[]field{short(compression, 50000), short(predictor, 3), short(bitsPerSample, 64), short(sampleFormat, floatSamples)},
			`imagecodecs_floatpred{"dtype":"<f8","axis":-1,"dist":1}` + little + ` zstd{"level":0,"checksum":false}`},
	} {
		d, _, err := scanBytes(t, single(gray(tt.fields...)...))
		if err != nil || d.Arrays[0].Refused != nil {
			t.Fatal(tt.want, err, d.Arrays[0].Refused)
		}
		var got []string
		for _, c := range d.Arrays[0].Codecs {
			got = append(got, c.Name+string(c.Configuration))
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s, want %s", text, tt.want)
		}
	}
}

// TestNames checks the paths of images.
func TestNames(t *testing.T) {
	reduced, masking := long(newSubfileType, 1), long(newSubfileType, 4)
	w := begin()
	w.b = append(w.b, "0123456789abcdef"...)
	link := 4
	for _, f := range [][]field{gray(reduced), gray(), gray(reduced), gray(masking), gray(), gray(reduced)} {
		link = w.add(link, f...)
	}
	d, _, err := scanBytes(t, w.b)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range d.Arrays {
		names = append(names, a.Path)
	}
	want := []string{"page_1_overview_1", "page_1", "page_1_overview_2", "page_1_mask_1", "page_2", "page_2_overview_1"}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

// TestRequests checks that a file whose IFDs are at its beginning takes one request.
func TestRequests(t *testing.T) {
	for _, more := range []int{0, 1 << 20} {
		b := append(fixture(t, "cog_deflate.tif"), make([]byte, more)...)
		_, counted, err := scanBytes(t, b)
		if want := 2 - min(1, more); err != nil || counted.Gets > want {
			t.Errorf("%d bytes: %d requests, want %d: %v", len(b), counted.Gets, want, err)
		}
	}
}

// TestShared checks that IFDs that share long values do not take memory out of
// proportion.
func TestShared(t *testing.T) {
	w := begin()
	w.b = append(w.b, make([]byte, 1<<16)...)
	next := 4
	for range 10 {
		next = w.add(next, gray(long(imageLength, 1<<14), long(rowsPerStrip, 1),
			field{tag: stripOffsets, typ: typeLong, shared: [2]uint32{1 << 14, 8}},
			field{tag: stripByteCounts, typ: typeShort, shared: [2]uint32{1 << 14, 8}})...)
	}
	if _, _, err := scanBytes(t, w.b); !errors.Is(err, scan.ErrCorrupt) || !strings.Contains(err.Error(), "overlap") {
		t.Errorf("%v, want ErrCorrupt", err)
	}
}
