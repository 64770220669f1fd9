// SPDX-License-Identifier: Apache-2.0

package grib2_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/codecs/grib2"
	"varve.dev/zarr/internal/test/scanned"
)

const testdata = "../../../virtual/testdata"

// message returns bytes of a file of the folder.
func message(t testing.TB, name string, stored [2]int64) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(testdata, name))
	if err != nil {
		t.Fatal(err)
	}
	if stored[1] == 0 {
		return b
	}
	return b[stored[0]:][:stored[1]]
}

// decode decodes a field of a message.
func decode(t testing.TB, field int, msg []byte, shape ...int64) ([]float64, error) {
	t.Helper()
	made, err := grib2.New(grib2.Extension(field).Configuration)
	if err != nil {
		t.Fatal(err)
	}
	c := made.(codec.ArrayBytes)
	if err := c.Bind(codec.Spec{Type: dtype.Float64, Rank: len(shape)}); err != nil {
		t.Fatal(err)
	}
	n := int64(1)
	for _, s := range shape {
		n *= s
	}
	b := codec.Block{Shape: shape, Data: make([]byte, 8*n)}
	before := bytes.Clone(msg)
	err = c.Decode(&b, msg)
	if !bytes.Equal(before, msg) {
		t.Error("Decode changes the message")
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Float64frombits(binary.NativeEndian.Uint64(b.Data[8*i:]))
	}
	return out, err
}

// same compares numbers of which NaN equals NaN.
func same(a, b []float64) bool {
	for i := range a {
		if a[i] != b[i] && !(math.IsNaN(a[i]) && math.IsNaN(b[i])) {
			return false
		}
	}
	return len(a) == len(b)
}

// refusedPackings are those of ecCodes that this package does not decode.
var refusedPackings = map[string]string{"grid_jpeg": "JPEG 2000"}

// TestFields compares all fields of the files with what ecCodes decodes.
func TestFields(t *testing.T) {
	for _, name := range scanned.Files(t, "grib2") {
		for i, f := range scanned.Expected(t, name).Fields {
			got, err := decode(t, 0, message(t, name, f.Stored), f.Shape...)
			if why := refusedPackings[f.Packing]; why != "" {
				if !errors.Is(err, codec.ErrUnsupported) || !strings.Contains(err.Error(), why) {
					t.Errorf("%s: field %d: %v, want ErrUnsupported of %s", name, i, err, why)
				}
				continue
			}
			if want := floats(f.Values); err != nil || !same(got, want) {
				t.Errorf("%s: field %d, %s: %v, values %v, want %v", name, i, f.Packing, err, got, want)
			}
		}
	}
}

// floats returns little-endian doubles.
func floats(b []byte) []float64 {
	out := make([]float64, len(b)/8)
	for i := range out {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return out
}

func TestConfiguration(t *testing.T) {
	for _, text := range []string{`{"field":-1}`, `{"field":1.5}`, `{"fields":1}`, `[]`} {
		if _, err := grib2.New([]byte(text)); !errors.Is(err, codec.ErrConfiguration) {
			t.Errorf("%s: %v, want ErrConfiguration", text, err)
		}
	}
	made, err := grib2.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := made.(codec.ArrayBytes)
	if err := c.Bind(codec.Spec{Type: dtype.Float32}); !errors.Is(err, codec.ErrConfiguration) {
		t.Errorf("float32: %v, want ErrConfiguration", err)
	}
	if _, err := c.Encode(nil, codec.Block{}); !errors.Is(err, codec.ErrUnsupported) {
		t.Errorf("encode: %v, want ErrUnsupported", err)
	}
	if n, fixed := c.EncodedSize(nil, math.MaxInt64); n < 1<<20 || fixed {
		t.Errorf("messages have up to %d bytes", n)
	}
}

// TestDamage checks that messages that are cut, extended or altered are ErrCorrupt, or
// decode to something.
func TestDamage(t *testing.T) {
	for _, name := range []string{"grib_bitmap.grib2", "grib_complex.grib2", "grib_png.grib2", "grib_ieee.grib2", "grib_ccsds.grib2"} {
		f := scanned.Expected(t, name).Fields[0]
		msg := message(t, name, f.Stored)
		for n := range len(msg) {
			if _, err := decode(t, 0, msg[:n], f.Shape...); !errors.Is(err, codec.ErrCorrupt) {
				t.Fatalf("%s: %d of %d bytes: %v, want ErrCorrupt", name, n, len(msg), err)
			}
		}
		if _, err := decode(t, 0, append(bytes.Clone(msg), 0), f.Shape...); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%s: a byte more: %v, want ErrCorrupt", name, err)
		}
		if _, err := decode(t, 0, msg, f.Shape[0], f.Shape[1]+1); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%s: a larger chunk: %v, want ErrCorrupt", name, err)
		}
		if _, err := decode(t, 1, msg, f.Shape...); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%s: a second field: %v, want ErrCorrupt", name, err)
		}
		for i := range msg {
			for _, x := range []byte{0, 0x80, 0xff} {
				bad := bytes.Clone(msg)
				bad[i] = x
				if _, err := decode(t, 0, bad, f.Shape...); err != nil && !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, codec.ErrUnsupported) {
					t.Fatalf("%s: byte %d is %d: %v", name, i, x, err)
				}
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	names, err := filepath.Glob(filepath.Join(testdata, "*.grib2"))
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		all := message(f, filepath.Base(name), [2]int64{})
		first := all[:binary.BigEndian.Uint64(all[8:])]
		f.Add(first, uint16(35), uint8(0))
		f.Add(first, uint16(16*31), uint8(0))
	}
	for _, w := range readWritten(f) {
		f.Add(w.Message, uint16(w.Shape[0]*w.Shape[1]), uint8(0))
	}
	for _, b := range built() {
		f.Add(b.bytes(), uint16(6), uint8(1))
	}
	f.Fuzz(func(t *testing.T, msg []byte, n uint16, field uint8) {
		_, err := decode(t, int(field), msg, int64(n))
		if err != nil && !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, codec.ErrUnsupported) {
			t.Errorf("%v, want ErrCorrupt or ErrUnsupported", err)
		}
	})
}
