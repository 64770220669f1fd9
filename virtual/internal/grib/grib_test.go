// SPDX-License-Identifier: Apache-2.0

package grib

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/test/scanned"
	"varve.dev/zarr/virtual/scan"
)

const testdata = "../../testdata"

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(testdata, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// scanBytes scans a file in memory.
func scanBytes(t testing.TB, b []byte) (*scan.Dataset, *scanned.Counted, error) {
	t.Helper()
	f, counted := scanned.Memory(t, b)
	d, err := Scan(f)
	return d, counted, err
}

// found is what a data set says about a chunk.
type found struct {
	short             string
	level, time, step float64
	offset, size      int64
	values            []byte // little-endian doubles
	refused           error
}

// fields returns what a data set says about all chunks of fields.
func fields(t *testing.T, d *scan.Dataset, file []byte) (list []found) {
	t.Helper()
	coordinates := map[string][]float64{}
	for _, a := range d.Arrays {
		if len(a.Chunks) == 1 && a.Chunks[0].Data != nil {
			coordinates[a.Path] = numbers(t, a, file)
		}
	}
	for _, a := range d.Arrays {
		short, ok := a.Attributes.Get("short_name").(string)
		if !ok {
			continue
		}
		if a.Refused != nil {
			list = append(list, found{short: short, refused: a.Refused})
			continue
		}
		all, err := scanned.Values(t, a, file)
		if err != nil {
			t.Fatalf("%s: %v", a.Path, err)
		}
		for _, c := range a.Chunks {
			f := found{short: short, offset: c.Offset, size: c.Length}
			placeOf(t, &f, a, c.Number, coordinates)
			size := int64(8)
			for _, n := range a.Chunk {
				size *= n
			}
			f.values = all[c.Number*size:][:size]
			list = append(list, f)
		}
	}
	return list
}

// numbers returns the values of a coordinate.
func numbers(t *testing.T, a *scan.Array, file []byte) (list []float64) {
	t.Helper()
	b, err := scanned.Values(t, a, file)
	if err != nil {
		t.Fatalf("%s: %v", a.Path, err)
	}
	for ; len(b) > 0; b = b[8:] {
		x := binary.LittleEndian.Uint64(b)
		if a.Type == dtype.Int64 {
			list = append(list, float64(int64(x)))
		} else {
			list = append(list, math.Float64frombits(x))
		}
	}
	return list
}

// placeOf sets the coordinates of a chunk.
func placeOf(t *testing.T, f *found, a *scan.Array, number int64, coordinates map[string][]float64) {
	t.Helper()
	if text, ok := a.Attributes.Get("time").(string); ok {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		f.time = float64(at.Unix())
	}
	if x, ok := a.Attributes.Get("step_seconds").(int64); ok {
		f.step = float64(x)
	}
	if x, ok := a.Attributes.Get("level").(float64); ok {
		f.level = x
	}
	count := a.Count()
	for i := len(count) - 1; i >= 0; i-- {
		index := number % count[i]
		number /= count[i]
		switch values := coordinates[a.Names[i]]; strings.TrimRight(a.Names[i], "_0123456789") {
		case "time":
			f.time = values[index]
		case "step":
			f.step = values[index]
		case "level":
			f.level = values[index]
		}
	}
}

// TestFields compares the fields of all files with what ecCodes says.
func TestFields(t *testing.T) {
	for _, name := range scanned.Files(t, "grib2") {
		t.Run(name, func(t *testing.T) {
			file := fixture(t, name)
			d, _, err := scanBytes(t, file)
			if err != nil {
				t.Fatal(err)
			}
			got := fields(t, d, file)
			want := scanned.Expected(t, name).Fields
			if len(got) != len(want) {
				t.Errorf("%d fields, want %d", len(got), len(want))
			}
			for _, f := range want {
				checkField(t, got, f)
			}
		})
	}
}

func checkField(t *testing.T, got []found, f scanned.Field) {
	t.Helper()
	date := time.Date(f.Date/10000, time.Month(f.Date/100%100), f.Date%100, 0, 0, 0, 0, time.UTC).Unix()
	refused := f.Packing == "grid_jpeg"
	i := slices.IndexFunc(got, func(g found) bool {
		return g.short == f.ShortName &&
			(refused || g.level == 100*f.Level && g.time == float64(date) && g.step == float64(3600*f.Step))
	})
	switch {
	case i < 0:
		t.Errorf("%s at %v hPa of %d +%d is not found", f.ShortName, f.Level, f.Date, f.Step)
	case refused && (!errors.Is(got[i].refused, scan.ErrUnsupported) || !strings.Contains(got[i].refused.Error(), "template 5.4")):
		t.Errorf("%s: %v, want ErrUnsupported", f.Packing, got[i].refused)
	case refused:
	case got[i].offset != f.Stored[0] || got[i].size != f.Stored[1]:
		t.Errorf("%s at %v hPa is at %d, want %d", f.ShortName, f.Level, got[i].offset, f.Stored)
	case !same(got[i].values, f.Values):
		t.Errorf("%s at %v hPa of %d +%d has other values", f.ShortName, f.Level, f.Date, f.Step)
	}
}

// same compares doubles of which NaN equals NaN.
func same(a, b []byte) bool {
	for i := 0; i < len(a) && len(a) == len(b); i += 8 {
		x, y := math.Float64frombits(binary.LittleEndian.Uint64(a[i:])), math.Float64frombits(binary.LittleEndian.Uint64(b[i:]))
		if x != y && !(math.IsNaN(x) && math.IsNaN(y)) {
			return false
		}
	}
	return len(a) == len(b)
}

// describe returns the names, shapes and chunks of arrays.
func describe(d *scan.Dataset) string {
	var b strings.Builder
	for _, a := range d.Arrays {
		fmt.Fprintf(&b, "%s%d%s", a.Path, a.Shape, a.Names)
		for _, c := range a.Chunks {
			if c.Data == nil {
				fmt.Fprintf(&b, " %d@%d", c.Number, c.Offset)
			}
		}
		if a.Refused != nil {
			b.WriteString(" refused")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestArrays(t *testing.T) {
	d, _, err := scanBytes(t, fixture(t, "grib_simple.grib2"))
	if err != nil {
		t.Fatal(err)
	}
	want := `t_isobaric[2 2 5 7][time level latitude longitude] 1@0 0@249 3@996 2@1245
u_isobaric[2 2 5 7][time level latitude longitude] 1@498 0@747 3@1494 2@1743
time[2][time]
level[2][level]
longitude[7][longitude]
latitude[5][latitude]
`
	if got := describe(d); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for name, want := range map[string][]float64{
		"latitude": {60, 59, 58, 57, 56}, "longitude": {0, 1, 2, 3, 4, 5, 6}, "level": {50000, 100000},
	} {
		i := slices.IndexFunc(d.Arrays, func(a *scan.Array) bool { return a.Path == name })
		if got := numbers(t, d.Arrays[i], nil); !slices.Equal(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// The places of sections in messages of the files that have regular grids.
const (
	section1 = 16
	section3 = section1 + 21
	section4 = section3 + 72
)

// messageOf returns the first message of a file, with bytes replaced: pairs of a place
// and a value.
func messageOf(t testing.TB, name string, changes ...int) []byte {
	t.Helper()
	b := fixture(t, name)
	b = b[:binary.BigEndian.Uint64(b[8:])]
	for ; len(changes) > 0; changes = changes[2:] {
		b[changes[0]] = byte(changes[1])
	}
	return b
}

// with returns a message with another section 4 and a further one before its end.
func assembled(msg, product []byte, fields ...[]byte) []byte {
	old := int(binary.BigEndian.Uint32(msg[section4:]))
	out := slices.Concat(msg[:section4], product, msg[section4+old:len(msg)-4])
	for _, f := range fields {
		out = append(out, f...)
	}
	out = append(out, "7777"...)
	binary.BigEndian.PutUint64(out[8:], uint64(len(out)))
	return out
}

// productOf returns section 4 with other octets: the template, and pairs of an octet
// and a value.
func productOf(n, template int, octets ...int) []byte {
	b := make([]byte, n)
	binary.BigEndian.PutUint32(b, uint32(n))
	b[4], b[8] = 4, byte(template)
	b[17], b[22], b[28] = 1, 1, 255
	for ; len(octets) > 0; octets = octets[2:] {
		b[octets[0]-1] = byte(octets[1])
	}
	return b
}

// interval are the octets of an interval that ends on 1 January 2020 at an hour.
func interval(octet, hour int) []int {
	return []int{octet, 0x07, octet + 1, 0xe4, octet + 2, 1, octet + 3, 1, octet + 4, hour}
}

// TestIntervals describes the interval of statistics, if all fields have the same.
func TestIntervals(t *testing.T) {
	m := messageOf(t, "grib_simple.grib2")
	accumulated := func(from, to int) []byte {
		return assembled(m, productOf(58, 8, slices.Concat(interval(35, to), []int{10, 1, 11, 8, 47, 1, 22, from})...))
	}
	for name, tt := range map[string]struct {
		messages [][]byte
		want     any
	}{
		"one":       {[][]byte{accumulated(3, 9)}, int64(6 * 3600)},
		"equal":     {[][]byte{accumulated(0, 6), accumulated(6, 12)}, int64(6 * 3600)},
		"different": {[][]byte{accumulated(0, 6), accumulated(0, 12)}, nil},
		"none":      {[][]byte{m}, nil},
	} {
		d, _, err := scanBytes(t, slices.Concat(tt.messages...))
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Arrays[0].Attributes.Get("interval_seconds"); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestProducts(t *testing.T) {
	const simple = "grib_simple.grib2"
	m := messageOf(t, simple)
	size := len(m)
	second := m[section4 : size-4] // sections 4 to 7 again
	changed := bytes.Clone(second)
	changed[10] = 6
	for name, tt := range map[string]struct {
		messages [][]byte
		want     string
	}{
		"members": {
			[][]byte{assembled(m, productOf(37, 1, 36, 2)), assembled(m, productOf(37, 1, 36, 1)), assembled(m, productOf(34, 0))},
			"t_surface[2 5 7][number latitude longitude] 1@0 0@252\nt_surface_2[5 7][latitude longitude] 0@504\n",
		},
		"percentiles": {
			[][]byte{assembled(m, productOf(35, 6, 35, 10)), assembled(m, productOf(35, 6, 35, 90)), assembled(m, productOf(35, 6, 35, 10, 22, 6))},
			"t_surface[2 5 7][step latitude longitude] 0@0 1@500\nt_surface_2[5 7][latitude longitude] 0@250\n",
		},
		"accumulations": {
			[][]byte{assembled(m, productOf(58, 8, slices.Concat(interval(35, 6), []int{10, 1, 11, 8, 47, 1})...)),
				assembled(m, productOf(58, 8, slices.Concat(interval(35, 12), []int{10, 1, 11, 8, 47, 1})...))},
			"tp_surface_accumulation[2 5 7][step latitude longitude] 0@0 1@273\n",
		},
		"the same place": {
			[][]byte{m, m, m},
			"t_isobaric[5 7][latitude longitude] 0@0\nt_isobaric_2[5 7][latitude longitude] 0@249\nt_isobaric_3[5 7][latitude longitude] 0@498\n",
		},
		"two fields": {
			[][]byte{assembled(m, second[:34], changed)},
			"t_isobaric[5 7][latitude longitude] 0@0\ndpt_isobaric[5 7][latitude longitude] 0@0\n",
		},
		"gaps between messages": {
			[][]byte{m, []byte("\r\r\nbulletin"), messageOf(t, simple, section4+27, 9), make([]byte, 100)},
			"t_isobaric[2 5 7][level latitude longitude] 1@0 0@260\n",
		},
		"an unknown template": {
			[][]byte{assembled(m, productOf(60, 99)), m, assembled(m, productOf(60, 99))},
			"t_template_99[][] refused\nt_isobaric[5 7][latitude longitude] 0@275\n",
		},
		"an unknown parameter": {
			[][]byte{assembled(m, productOf(34, 0, 10, 1, 11, 222, 23, 77))},
			"d0_c1_p222_level_type_77[5 7][latitude longitude] 0@0\n",
		},
		"edition 1": {
			[][]byte{m, []byte("GRIB\x00\x00\x14\x01xxxxxxxx7777")},
			"t_isobaric[5 7][latitude longitude] 0@0\ngrib1[][] refused\n",
		},
		"columns": {
			[][]byte{messageOf(t, simple, section3+71, 0x20)},
			"t_isobaric[7 5][longitude latitude] 0@0\n",
		},
		"Lambert": {
			[][]byte{messageOf(t, simple, section3+13, 30)},
			"t_isobaric[5 7][y x] 0@0\n",
		},
		"a row of points": {
			[][]byte{messageOf(t, simple, section3+13, 101)},
			"t_isobaric[35][point] 0@0\n",
		},
		"quasi-regular": {
			[][]byte{messageOf(t, simple, section3+10, 2), m},
			"t_isobaric[][] refused\nt_isobaric_2[5 7][latitude longitude] 0@249\n",
		},
	} {
		d, _, err := scanBytes(t, slices.Concat(tt.messages...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		d.Arrays = slices.DeleteFunc(d.Arrays, func(a *scan.Array) bool { return len(a.Chunks) == 1 && a.Chunks[0].Data != nil })
		if got := describe(d); got != tt.want {
			t.Errorf("%s:\n%swant\n%s", name, got, tt.want)
		}
	}
}

// TestGaussian computes the latitudes of Gaussian grids, also of a part of the globe and
// from south to north. The numbers are those of NumPy and, for N32 and N320, of ECMWF.
func TestGaussian(t *testing.T) {
	for n, want := range map[int64][]float64{
		4: {73.79921362856322, 52.81294318999426, 31.70409174500795, 10.569882312576091}, 32: {87.86379883923263, 85.0965269883173},
		320: {89.78487690721863, 89.50620273820637}, 640: {89.89239644559007},
	} {
		got := gaussianLatitudes(n)
		for i, x := range want {
			if math.Abs(got[i]-x) > 1e-11 || got[len(got)-1-i] != -got[i] {
				t.Errorf("N%d: latitude %d is %v, want %v", n, i, got[i], x)
			}
		}
	}
	grid := func(n int, first, last float64, scanning byte) []byte {
		b := messageOf(t, "grib_simple.grib2", section3+13, gaussian, section3+71, int(scanning))
		put := func(octet int, latitude float64) {
			x := uint32(math.Round(math.Abs(latitude) * 1e6))
			if latitude < 0 {
				x |= 1 << 31
			}
			binary.BigEndian.PutUint32(b[section3+octet-1:], x)
		}
		put(47, first)
		put(56, last)
		binary.BigEndian.PutUint32(b[section3+67:], uint32(n))
		return b
	}
	part := []float64{73.79921362856322, 52.81294318999426, 31.70409174500795, 10.569882312576091, -10.569882312576091}
	north := slices.Clone(part)
	slices.Reverse(north)
	for name, c := range map[string]struct {
		file []byte
		want []float64
	}{
		"south":          {grid(4, 73.799, -10.57, 0), part},
		"north":          {grid(4, -10.569882, 73.799214, 0x40), north},
		"other rows":     {grid(4, 73.799, -31.704, 0), nil},
		"between rows":   {grid(4, 73.7, -10.57, 0), nil},
		"no parallels":   {grid(0, 73.799, -10.57, 0), nil},
		"many parallels": {grid(1<<20, 73.799, -10.57, 0), nil},
	} {
		d, _, err := scanBytes(t, c.file)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(d.Arrays, func(a *scan.Array) bool { return a.Path == "latitude" })
		if (i >= 0) != (c.want != nil) || (len(d.Omitted) == 1) != (c.want == nil) {
			t.Errorf("%s: latitude is array %d, omitted %v", name, i, d.Omitted)
		}
		if i < 0 {
			continue
		}
		if got := numbers(t, d.Arrays[i], c.file); !slices.EqualFunc(got, c.want, func(x, y float64) bool { return math.Abs(x-y) < 1e-12 }) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestDamagedBeginning names a message whose first bytes are damaged. What is between
// messages of bulletins is none.
func TestDamagedBeginning(t *testing.T) {
	whole := fixture(t, "grib_simple.grib2")
	damaged := bytes.Replace(whole, []byte("GRIB"), []byte("GRUB"), 1)
	for name, c := range map[string]struct {
		data []byte
		want int
	}{
		"after":    {slices.Concat(whole, damaged), 1},
		"between":  {slices.Concat(whole, damaged, whole), 1},
		"bulletin": {slices.Concat(whole, []byte("\r\r\nHTXA11 EGRR 120000\r\r\n"), whole), 0},
		"padding":  {slices.Concat(whole, make([]byte, 3000)), 0},
		"first":    {slices.Concat(damaged, whole), 1},
		"heading":  {slices.Concat([]byte("****0000000700****\nYTAZ98 KWBN 010000\n\n"), whole), 0},
		"word":     {slices.Concat([]byte("\x01\r\r\n123 \r\r\nGRIB DATA OF KWBC 010000\r\r\n"), whole), 0},
	} {
		d, _, err := scanBytes(t, c.data)
		if err != nil || len(d.Omitted) != c.want {
			t.Errorf("%s: omitted %v, want %d: %v", name, d.Omitted, c.want, err)
			continue
		}
		for _, chunk := range d.Arrays[0].Chunks {
			if got := c.data[chunk.Offset:][:headBytes]; !bytes.HasPrefix(got, whole[:8]) {
				t.Errorf("%s: a message begins with %q", name, got)
			}
		}
	}
}

// TestSecondField checks that the second field of a message is decoded.
func TestSecondField(t *testing.T) {
	m := messageOf(t, "grib_simple.grib2")
	second := bytes.Clone(m[section4 : len(m)-4])
	second[10] = 6
	second[len(second)-1] ^= 1 // the last value
	file := assembled(m, bytes.Clone(second[:34]), second)
	file[section4+10] = 0
	d, _, err := scanBytes(t, file)
	if err != nil {
		t.Fatal(err)
	}
	a, err := scanned.Values(t, d.Arrays[0], file)
	if err != nil {
		t.Fatal(err)
	}
	b, err := scanned.Values(t, d.Arrays[1], file)
	if err != nil || bytes.Equal(a, b) || !bytes.Equal(a[:34*8], b[:34*8]) {
		t.Errorf("%v, %v, %v", err, a, b)
	}
}

func TestHostile(t *testing.T) {
	whole := fixture(t, "grib_simple.grib2")
	for n := range len(whole) {
		_, _, err := scanBytes(t, whole[:n])
		if between := n%249 < 16 && n > 248; between != (err == nil) || err != nil && !errors.Is(err, scan.ErrCorrupt) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	for name, b := range map[string][]byte{
		"nothing follows":  append(messageOf(t, "grib_simple.grib2"), bytes.Repeat([]byte("x"), 1<<17)...),
		"month 13":         messageOf(t, "grib_simple.grib2", section1+14, 13),
		"a short section":  messageOf(t, "grib_simple.grib2", section1+3, 4),
		"a long section":   messageOf(t, "grib_simple.grib2", section1+2, 4),
		"another end":      messageOf(t, "grib_simple.grib2", 248, 0),
		"section 9":        messageOf(t, "grib_simple.grib2", section4+4, 9),
		"a false grid":     messageOf(t, "grib_simple.grib2", section3+33, 9),
		"edition 3 behind": append(messageOf(t, "grib_simple.grib2"), messageOf(t, "grib_simple.grib2", 7, 3)...),
	} {
		if _, _, err := scanBytes(t, b); !errors.Is(err, scan.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
	if _, _, err := scanBytes(t, []byte("GRIB\x00\x00\x14\x01xxxxxxxx7777")); !errors.Is(err, scan.ErrUnsupported) || !strings.Contains(err.Error(), "edition 1") {
		t.Errorf("edition 1: %v", err)
	}
}

// TestClaims checks that grids of any size take no memory.
func TestClaims(t *testing.T) {
	m := messageOf(t, "grib_constant.grib2", section3+6, 0xff, section3+7, 0xff, section3+8, 0, section3+9, 0,
		section3+30, 0, section3+31, 0, section3+32, 0xff, section3+33, 0xff,
		section3+34, 0, section3+35, 1, section3+36, 0, section3+37, 0)
	d, _, err := scanBytes(t, m)
	if err != nil || len(d.Arrays) != 1 || d.Arrays[0].Refused != nil {
		t.Fatal(err, describe(d))
	}
	if a := d.Arrays[0]; !slices.Equal(a.Shape, []int64{65536, 65535}) {
		t.Errorf("%d", a.Shape)
	}
}

// TestRequests checks that data are not read: a file of large messages takes few requests
// for each, and one of small messages two.
func TestRequests(t *testing.T) {
	const data = 4 << 20
	m := messageOf(t, "grib_simple.grib2")
	large := append(bytes.Clone(m[:len(m)-4-75]), make([]byte, data)...)
	binary.BigEndian.PutUint32(large[len(large)-data:], data)
	large[len(large)-data+4] = 7
	large = append(large, "7777"...)
	binary.BigEndian.PutUint64(large[8:], uint64(len(large)))
	for _, tt := range []struct {
		file  []byte
		n     int
		most  int
		bytes int64
	}{
		{m, 1000, 2, 300000},
		{large, 8, 1 + 2*8, 2 << 20},
	} {
		// The parameters differ, and with them the places.
		var file []byte
		for i := range tt.n {
			binary.BigEndian.PutUint16(tt.file[section4+26:], uint16(i))
			file = append(file, tt.file...)
		}
		d, counted, err := scanBytes(t, file)
		if err != nil || counted.Gets > tt.most || counted.Bytes > tt.bytes || len(d.Arrays[0].Chunks) != tt.n && d.Arrays[0].Refused == nil {
			t.Errorf("%d messages of %d bytes: %d requests for %d bytes: %v", tt.n, len(tt.file), counted.Gets, counted.Bytes, err)
		}
	}
}

func FuzzScan(f *testing.F) {
	names, err := filepath.Glob(filepath.Join(testdata, "*.grib2"))
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		f.Add(fixture(f, filepath.Base(name)))
	}
	m := messageOf(f, "grib_simple.grib2")
	f.Add(assembled(m, m[section4:section4+34], m[section4:len(m)-4]))
	f.Add(assembled(m, productOf(58, 8, interval(35, 6)...)))
	f.Add(assembled(m, productOf(37, 1, 36, 2)))
	f.Fuzz(func(t *testing.T, data []byte) { scanned.Sound(t, data, Scan) })
}

// TestOrigins scans fields of one file that came about in other ways: analyses and
// forecasts become one array, and errors of the analysis another one.
func TestOrigins(t *testing.T) {
	field := func(hour, process, data int) []byte {
		return messageOf(t, "grib_ieee.grib2", section1+15, 11, section1+16, hour, section1+20, data, section4+11, process)
	}
	d, _, err := scanBytes(t, slices.Concat(field(0, 0, 0), field(6, 2, 1), field(0, 7, 0), field(6, 7, 0)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range d.Arrays {
		if process, ok := a.Attributes.Get("generating_process").(string); ok {
			got = append(got, fmt.Sprintf("%s %d chunks: %s; %v", a.Path, len(a.Chunks), process, a.Attributes.Get("type_of_data")))
		}
	}
	want := []string{"t_isobaric 2 chunks: analysis, forecast; analysis, forecast", "t_isobaric_2 2 chunks: analysis error; analysis"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
