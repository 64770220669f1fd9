// SPDX-License-Identifier: Apache-2.0

package netcdf3

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"varve.dev/zarr/internal/test/scanned"
	"varve.dev/zarr/virtual/scan"
)

// builder builds a header of a CDF-1 file.
type builder []byte

func (b *builder) number(n uint32) { *b = binary.BigEndian.AppendUint32(*b, n) }

func (b *builder) name(s string) {
	b.number(uint32(len(s)))
	*b = append(*b, s...)
	*b = append(*b, make([]byte, -len(s)&3)...)
}

// start begins a file with the dimensions time (of records) and x (of length x), and n
// variables.
func start(records, x, variables uint32) *builder {
	b := builder("CDF\x01")
	for _, n := range []uint32{records, dimensionTag, 2} {
		b.number(n)
	}
	b.name("time")
	b.number(0)
	b.name("x")
	b.number(x)
	for _, n := range []uint32{0, 0, variableTag, variables} {
		b.number(n)
	}
	return &b
}

// variable adds a variable without attributes.
func (b *builder) variable(name string, typ, begin uint32, dimensions ...uint32) {
	b.name(name)
	b.number(uint32(len(dimensions)))
	for _, d := range dimensions {
		b.number(d)
	}
	for _, n := range []uint32{0, 0, typ, 0, begin} {
		b.number(n)
	}
}

// file returns the header and zeros, size bytes in all.
func (b *builder) file(size int) []byte { return append(*b, make([]byte, size-len(*b))...) }

func scanBytes(t *testing.T, data []byte) (*scan.Dataset, error) {
	t.Helper()
	d, _, err := scanned.Bytes(t, data, Scan)
	if err == nil {
		scanned.Consistent(t, d, int64(len(data)))
	}
	return d, err
}

// TestRecords has files that lack records, or do not say how many there are.
func TestRecords(t *testing.T) {
	for _, c := range []struct {
		records uint32
		size    int
		shape   int64
		chunks  int
		fails   string
	}{
		{2, 1000 + 2*12, 2, 2, ""},
		{2, 1000 + 2*12 - 2, 2, 2, ""}, // the last padding is missing
		{5, 1000 + 2*12, 5, 2, ""},     // partly written
		{5, 1000 + 2*12 + 3, 5, 2, "1024, in a file of 1027"},
		{1<<32 - 1, 1000 + 2*12, 2, 2, ""}, // streaming
		{1<<32 - 1, 1000 + 2*12 - 2, 2, 2, ""},
		{1<<32 - 1, 1000 + 2*12 - 3, 1, 1, ""},
		{1<<32 - 1, 1000, 0, 0, ""},
		{0, 900, 0, 0, ""},
		{1, 900, 1, 0, ""},
		{1<<32 - 2, 900, 1<<32 - 2, 0, ""},
	} {
		b := start(c.records, 3, 2)
		b.variable("a", 4, 1000, 0)
		b.variable("b", 3, 1004, 0, 1)
		d, err := scanBytes(t, b.file(c.size))
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		a := d.Arrays[0]
		if c.fails != "" {
			if !errors.Is(a.Refused, scan.ErrCorrupt) || !strings.Contains(a.Refused.Error(), c.fails) {
				t.Errorf("%+v: %v", c, a.Refused)
			}
			continue
		}
		if b := d.Arrays[1]; a.Shape[0] != c.shape || b.Shape[0] != c.shape || len(b.Chunks) != c.chunks || b.Refused != nil {
			t.Errorf("%+v: the shape %d and %d chunks: %v", c, b.Shape, len(b.Chunks), b.Refused)
		}
	}
}

// TestMissing reads a record that the file lacks.
func TestMissing(t *testing.T) {
	b := start(2, 3, 1)
	b.variable("v", 3, 1000, 0, 1)
	file := b.file(1006)
	d, err := scanBytes(t, file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := scanned.Values(t, d.Arrays[0], file)
	if want := []byte("\x00\x00\x00\x00\x00\x00\x01\x80\x01\x80\x01\x80"); !bytes.Equal(got, want) || err != nil {
		t.Errorf("%x, want %x: %v", got, want, err)
	}
}

func TestFill(t *testing.T) {
	d, err := scanned.Scan(t, "nc3_cdf5.nc", Scan)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"255", "65535", "4294967295", "-9223372036854775806", "18446744073709551614"} {
		if got, err := d.Arrays[i].Type.FormatFill(d.Arrays[i].Fill); string(got) != want || err != nil {
			t.Errorf("%s: %s, want %s: %v", d.Arrays[i].Path, got, want, err)
		}
	}
	if d, err = scanned.Scan(t, "nc3_classic.nc", Scan); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"9.969209968386869e+36", "9.96921e+36", "-999.0", "-32767", "-127", `""`, `""`, "-2147483647"} {
		if got, err := d.Arrays[i].Type.FormatFill(d.Arrays[i].Fill); string(got) != want || err != nil {
			t.Errorf("%s: %s, want %s: %v", d.Arrays[i].Path, got, want, err)
		}
	}
}

// TestRefused has variables that cannot be arrays, and one that can.
func TestRefused(t *testing.T) {
	b := start(1, 1, 6)
	b.variable("a/b", 1, 2000, 1)
	b.variable("..", 1, 2000, 1)
	b.variable("many", 1, 2000, xs()...)
	b.variable("early", 1, 8, 1)
	b.variable("late", 1, 3000, 1)
	b.variable("good", 1, 2000, 1)
	d, err := scanBytes(t, b.file(2003))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"the name is not", "the name is not", "65 dimensions", "in a header of", "in a file of 2003", ""} {
		a := d.Arrays[i]
		if (a.Refused == nil) != (want == "") || a.Refused != nil && !strings.Contains(a.Refused.Error(), want) {
			t.Errorf("%s: %v, want %s", a.Path, a.Refused, want)
		}
	}
}

// xs returns 65 times the dimension x.
func xs() (list []uint32) {
	for range 65 {
		list = append(list, 1)
	}
	return list
}

// TestCorrupt has headers that make no sense.
func TestCorrupt(t *testing.T) {
	for want, change := range map[string]func(b *builder){
		"the dimension 7 of 2":                 func(b *builder) { b.variable("v", 1, 2000, 7) },
		`of records, "time", is not the first`: func(b *builder) { b.variable("v", 1, 2000, 1, 0) },
		"the type 7":                           func(b *builder) { b.variable("v", 7, 2000, 1) },
		"the type 0":                           func(b *builder) { b.variable("v", 0, 2000, 1) },
		"more than 2^63 bytes":                 func(b *builder) { b.variable("v", 1, 2000, 1, 1, 1, 1, 1) },
		`no name or that of another, "v"`:      func(b *builder) { b.variable("v", 1, 2000, 1); b.variable("v", 1, 2000, 1) },
		`variable at`:                          func(b *builder) { b.number(1 << 31) },
		"where that of attributes is":          func(b *builder) { b.name("v"); b.number(0); b.number(dimensionTag) },
		`attribute "a": not supported: a header of more than`: func(b *builder) { b.attribute("a", 6, 1<<31) },
		`attribute "a": damaged file: 400 bytes`:              func(b *builder) { b.attribute("a", 1, 400) },
	} {
		b := start(1, 1<<14, 2)
		change(b)
		_, err := scanBytes(t, b.file(300))
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "scan: ", ""), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// attribute adds the beginning of a variable with an attribute.
func (b *builder) attribute(name string, typ, n uint32) {
	b.name("v")
	for _, n := range []uint32{0, attributeTag, 1} {
		b.number(n)
	}
	b.name(name)
	b.number(typ)
	b.number(n)
}

// TestCut cuts a file at every byte of its header.
func TestCut(t *testing.T) {
	data := scanned.Read(t, "nc3_classic.nc")
	for n := range 860 {
		if _, err := scanBytes(t, data[:n]); !errors.Is(err, scan.ErrCorrupt) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
}

// TestRequests reads headers of many variables.
func TestRequests(t *testing.T) {
	for n, want := range map[int]int{4000: 1, 40000: 20} {
		b := start(0, 3, uint32(n))
		for i := range n {
			b.variable(name(i), 1, 1<<30, 0, 1)
		}
		file := bytes.Join([][]byte{*b, make([]byte, 300<<10)}, nil)
		d, requests, err := scanned.Bytes(t, file, Scan)
		if err != nil || len(d.Arrays) != n || requests > want {
			t.Errorf("%d variables of %d: %d requests, %v", len(d.Arrays), n, requests, err)
		}
	}
}

// name returns a name of five letters.
func name(i int) string {
	b := []byte("aaaaa")
	for k := range b {
		b[k] += byte(i % 26)
		i /= 26
	}
	return string(b)
}

// TestIs has files that begin like one, and others.
func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		"CDF\x01": true, "CDF\x02xyz": true, "CDF\x05": true, "CDF\x03": false, "CDF": false, "": false, "\x89HDF\r\n\x1a\n": false,
	} {
		is := false
		_, _, err := scanned.Bytes(t, []byte(text), func(f *scan.File) (*scan.Dataset, error) {
			is = Matches(f)
			return Scan(f)
		})
		if is != want || !errors.Is(err, scan.ErrCorrupt) {
			t.Errorf("%q: %t, %v", text, is, err)
		}
	}
}
