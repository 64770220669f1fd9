// SPDX-License-Identifier: Apache-2.0

package npy

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"varve.dev/zarr/dtype"
)

func must(t dtype.Type, err error) dtype.Type {
	if err != nil {
		panic(err)
	}
	return t
}

// structures are data types, and the descr that NumPy 2 writes for them.
func structures() map[string]dtype.Type {
	i4, f2 := dtype.Field{Name: "a", Type: dtype.Int32}, dtype.Field{Name: "b", Type: dtype.Of[dtype.Float16]()}
	in := must(dtype.StructOf(i4, f2))
	return map[string]dtype.Type{
		"[('a', '<i4'), ('b', '<f2')]":                         in,
		"[('in', [('a', '<i4'), ('b', '<f2')]), ('c', '|b1')]": must(dtype.StructOf(dtype.Field{Name: "in", Type: in}, dtype.Field{Name: "c", Type: dtype.Bool})),
		"[('t', '<M8[10us]'), ('d', '<m8[D]'), ('s', '|S3'), ('u', '<U2'), ('v', '|V5')]": must(dtype.StructOf(
			dtype.Field{Name: "t", Type: must(dtype.DatetimeOf("us", 10))}, dtype.Field{Name: "d", Type: must(dtype.TimedeltaOf("D", 1))},
			dtype.Field{Name: "s", Type: must(dtype.NullTerminated(3))}, dtype.Field{Name: "u", Type: must(dtype.FixedUTF32(2))}, dtype.Field{Name: "v", Type: must(dtype.RawBytes(5))})),
		`[('it\'s', '<i4'), ('back\\slash', '<i4'), ('\x01', '<i4')]`: must(dtype.StructOf(dtype.Field{Name: "it's", Type: dtype.Int32},
			dtype.Field{Name: `back\slash`, Type: dtype.Int32}, dtype.Field{Name: "\x01", Type: dtype.Int32})),
		"[('höhe', '<f4'), ('日', '<f4')]": must(dtype.StructOf(dtype.Field{Name: "höhe", Type: dtype.Float32}, dtype.Field{Name: "日", Type: dtype.Float32})),
		"'<M8[ns]'":                       must(dtype.DatetimeOf("ns", 1)), "'|S7'": must(dtype.NullTerminated(7)), "'<U3'": must(dtype.FixedUTF32(3)),
	}
}

func TestStructures(t *testing.T) {
	for descr, typ := range structures() {
		for _, big := range []bool{false, true} {
			h := Header{Type: typ, BigEndian: big && typ.Ordered(), Shape: []int64{2}}
			file := h.Append(nil)
			if !big && !strings.Contains(string(file), "{'descr': "+descr+", 'fortran_order'") {
				t.Errorf("%s: %q", descr, file)
			}
			got, err := ReadHeader(bytes.NewReader(file))
			if err != nil || !equal(got, h) || h.Check() != nil || len(file)%alignment != 0 {
				t.Errorf("%s: %+v, want %+v: %v", descr, got, h, err)
			}
		}
	}
}

// TestManyFields has a header that format version 1.0 has no room for.
func TestManyFields(t *testing.T) {
	fields := make([]dtype.Field, 4096)
	for i := range fields {
		fields[i] = dtype.Field{Name: strings.Repeat("x", i%7+1) + string(rune('A'+i%26)) + strings.Repeat("y", i/182), Type: dtype.Uint8}
	}
	h := Header{Type: must(dtype.StructOf(fields...)), Shape: []int64{1}}
	file := h.Append(nil)
	if got, err := ReadHeader(bytes.NewReader(file)); err != nil || !equal(got, h) || file[6] != 2 {
		t.Errorf("version %d: %v", file[6], err)
	}
}

func TestLatin1(t *testing.T) {
	_, err := ReadHeader(bytes.NewReader(header(1, "{'descr': [('h\xf6he', '<f4'), ('\\u65e5', '<f4'[0:0])]")))
	if !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	got, err := ReadHeader(bytes.NewReader(header(1, "{'descr': [('h\xf6he', '<f4'), ('\\u65e5', '<f4')], 'fortran_order': False, 'shape': (3,)}")))
	if want := structures()["[('höhe', '<f4'), ('日', '<f4')]"]; err != nil || got.Type != want {
		t.Errorf("%s, %v", got.Type, err)
	}
}

func TestCheck(t *testing.T) {
	for _, name := range []string{"bfloat16", "int4", "string", "bytes", "float8_e4m3", "complex_float16"} {
		typ := must(dtype.Parse(name, nil))
		if err := (Header{Type: typ}).Check(); !errors.Is(err, dtype.ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if typ.Variable() {
			continue
		}
		in := must(dtype.StructOf(dtype.Field{Name: "x", Type: typ}))
		if err := (Header{Type: in}).Check(); !errors.Is(err, dtype.ErrUnsupported) || !strings.Contains(err.Error(), `field "x"`) {
			t.Errorf("%s in a struct: %v", name, err)
		}
		if h, err := ReadHeader(bytes.NewReader((Header{Type: in, Shape: []int64{1}}).Append(nil))); err != nil || h.Type.Size() != in.Size() {
			t.Errorf("%s: as bytes %s, %v", name, h.Type, err)
		}
	}
}

// TestArrangeStructures turns the byte order of every field.
func TestArrangeStructures(t *testing.T) {
	file, err := os.ReadFile("testdata/records.npy")
	if err != nil {
		t.Fatal(err)
	}
	r := bytes.NewReader(file)
	h, err := ReadHeader(r)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, r.Len())
	r.Read(data)
	if n, _ := h.Bytes(); n != int64(len(data)) {
		t.Fatalf("%d bytes of %s, want %d", len(data), h.Type, n)
	}
	data = h.Arrange(data)
	var text []byte
	for at := 0; at < len(data); at += h.Type.Size() {
		text = append(h.Type.AppendText(text, data[at:at+h.Type.Size()]), '\n')
	}
	want := "(1, (2.5, ab), 2024-02-29T12:00:00, ä)\n(-3, (0.0, c), NaT, )\n"
	if string(text) != want {
		t.Errorf("%s\nwant %s", text, want)
	}
}
