// SPDX-License-Identifier: Apache-2.0

package numpy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/npy"
	"varve.dev/zarr/internal/test/scanned"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/virtual/scan"
)

func TestFiles(t *testing.T) {
	for _, name := range scanned.Files(t, "npy") {
		t.Run(name, func(t *testing.T) {
			scanned.Check(t, name, Scan)
			data := scanned.Read(t, name)
			d, requests, err := scanned.Bytes(t, data, Scan)
			if err != nil || requests > 2 {
				t.Fatalf("%d requests, %v", requests, err)
			}
			scanned.Consistent(t, d, int64(len(data)))
		})
	}
}

func FuzzScan(f *testing.F) { scanned.Fuzz(f, "npy", Scan) }

// file returns a file of a given version and size.
func file(version byte, dictionary string, size int) []byte {
	b := append([]byte(magic), version, 0)
	if version == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(dictionary)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(dictionary)))
	}
	return append(append(b, dictionary...), make([]byte, size)...)
}

// records has fields of two numbers, in big-endian order.
const records = "{'descr': [('a', '>i2'), ('b', '>f4')], 'fortran_order': True, 'shape': (2, 3), }"

func TestStructures(t *testing.T) {
	for version := range byte(3) {
		data := file(version+1, records, 0)
		values := make([]byte, 36)
		for i := range values {
			values[i] = byte(i)
		}
		data = append(data, values...)
		d, _, err := scanned.Bytes(t, data, Scan)
		if err != nil {
			t.Fatal(err)
		}
		scanned.Consistent(t, d, int64(len(data)))
		got, err := scanned.Values(t, d.Arrays[0], data)
		if err != nil {
			t.Fatal(err)
		}
		// Element (0, 1) is the third one in Fortran order.
		if want := []byte{13, 12, 17, 16, 15, 14}; !bytes.Equal(got[6:12], want) {
			t.Errorf("version %d: %d, want %d", version+1, got[6:12], want)
		}
	}
}

// TestSeveral has several arrays in one file, as several calls of numpy.save write them.
func TestSeveral(t *testing.T) {
	one := npy.Header{Type: dtype.Int32, Shape: []int64{2}}.Append(nil)
	one = append(one, 1, 0, 0, 0, 2, 0, 0, 0)
	empty := npy.Header{Type: dtype.Int8, Shape: []int64{0}}.Append(nil)
	object := file(1, "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", 64)
	for _, c := range []struct {
		data         []byte
		want, refuse int
		left         string
	}{
		{one, 1, 0, ""},
		{slices.Concat(one, one, empty, one), 4, 0, ""},
		{slices.Concat(one, object), 2, 1, ""},
		{slices.Concat(one, one[:len(one)-1]), 1, 0, "behind array"},
		{slices.Concat(one, one, []byte("rest")), 2, 0, "behind array_2"},
	} {
		d, _, err := scanned.Bytes(t, c.data, Scan)
		if err != nil {
			t.Fatal(err)
		}
		scanned.Consistent(t, d, int64(len(c.data)))
		left, refused := "", 0
		for _, o := range d.Omitted {
			left += o.Path
		}
		for i, a := range d.Arrays {
			if a.Refused != nil {
				refused++
			} else if got, err := scanned.Values(t, a, c.data); err != nil || i != 2 && !bytes.Equal(got, one[len(one)-8:]) {
				t.Errorf("%s: %d, %v", a.Path, got, err)
			}
		}
		if len(d.Arrays) != c.want || refused != c.refuse || left != c.left {
			t.Errorf("%d arrays, %d refused, left %q, want %+v", len(d.Arrays), refused, left, c)
		}
	}
}

func TestRefused(t *testing.T) {
	for descr, want := range map[string]string{
		"'|O'": "NumPy type", "'<f16'": "NumPy type", "[('a', '<i2'), ('', '|V2')]": "gaps", "[('a', '<i2', (2,))]": "array",
		"[('a', '<i2'), ('b', '>i2')]": "byte orders",
	} {
		d, _, err := scanned.Bytes(t, file(1, "{'descr': "+descr+", 'fortran_order': False, 'shape': (2,), }", 64), Scan)
		if err != nil {
			t.Errorf("%s: %v", descr, err)
			continue
		}
		if err := d.Arrays[0].Refused; !errors.Is(err, scan.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", descr, err)
		}
	}
}

func TestCorrupt(t *testing.T) {
	whole := npy.Header{Type: dtype.Int32, Shape: []int64{1 << 40}}.Append(nil)
	for n := range len(whole) {
		if _, _, err := scanned.Bytes(t, whole[:n], Scan); !errors.Is(err, scan.ErrCorrupt) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	_, _, err := scanned.Bytes(t, append(whole, 0, 0, 0, 0), Scan)
	if !errors.Is(err, scan.ErrCorrupt) || !strings.Contains(err.Error(), "from 128 on, in a file of 132 bytes") {
		t.Error(err)
	}
	for shape, fails := range map[string]bool{"(2, 0)": false, "()": true, "(9223372036854775807, 2)": true, "(0, 9223372036854775807)": false} {
		data := file(2, "{'descr': '<i8', 'fortran_order': False, 'shape': "+shape+", }", 7)
		d, _, err := scanned.Bytes(t, data, Scan)
		if (err != nil) != fails || err == nil && len(d.Arrays[0].Chunks) != 0 {
			t.Errorf("%s: %v", shape, err)
		}
	}
}

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{magic: true, magic[:5]: false, "": false, "CDF\x01xyz": false} {
		m := memstore.New()
		if _, err := store.Write(t.Context(), m, store.Put(store.MustKey("f"), []byte(text)), store.Flush); err != nil {
			t.Fatal(err)
		}
		f, err := scan.Open(t.Context(), m, store.MustKey("f"))
		if err != nil {
			t.Fatal(err)
		}
		if Matches(f) != want {
			t.Errorf("%q: %t", text, Matches(f))
		}
	}
}
