// SPDX-License-Identifier: Apache-2.0

package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/dtype"
)

// header returns a header of the given version around a dictionary.
func header(version byte, dictionary string) []byte {
	b := append([]byte(magic), version, 0)
	if version == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(dictionary)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(dictionary)))
	}
	return append(b, dictionary...)
}

func TestReadHeader(t *testing.T) {
	for _, c := range []struct {
		version    byte
		dictionary string
		want       Header
	}{
		{1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n", Header{Type: dtype.Float32, Shape: []int64{3, 4}}},
		{1, "{'descr': '|b1', 'fortran_order': False, 'shape': (), }\n", Header{Type: dtype.Bool, Shape: []int64{}}},
		{2, "{'descr': '>i8', 'fortran_order': True, 'shape': (3,), }\n", Header{Type: dtype.Int64, BigEndian: true, Fortran: true, Shape: []int64{3}}},
		{3, `{"shape":(2L,0),"fortran_order":False,"descr":"|u1"}`, Header{Type: dtype.Uint8, Shape: []int64{2, 0}}},
		{1, "{'descr': '<c16', 'fortran_order': False, 'shape': (1, 2, 3)}", Header{Type: dtype.Complex128, Shape: []int64{1, 2, 3}}},
	} {
		r := bytes.NewReader(append(header(c.version, c.dictionary), "data"...))
		got, err := ReadHeader(r)
		if err != nil {
			t.Errorf("%s: %v", c.dictionary, err)
			continue
		}
		if !equal(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.dictionary, got, c.want)
		}
		if rest, _ := io.ReadAll(r); string(rest) != "data" {
			t.Errorf("%s: %q is left", c.dictionary, rest)
		}
	}
}

func equal(a, b Header) bool {
	return a.Type == b.Type && a.BigEndian == b.BigEndian && a.Fortran == b.Fortran && slices.Equal(a.Shape, b.Shape)
}

func TestReadHeaderRefuses(t *testing.T) {
	good := "'descr': '<f4', 'fortran_order': False, 'shape': (3,)"
	for name, c := range map[string]struct {
		file []byte
		want error
	}{
		"nothing":         {nil, ErrInvalid},
		"another file":    {[]byte("PK\x03\x04 and so on"), ErrInvalid},
		"version 9":       {header(9, "{"+good+"}"), ErrInvalid},
		"truncated":       {header(1, "{"+good+"}")[:30], ErrInvalid},
		"huge header":     {append([]byte(magic), 2, 0, 0xff, 0xff, 0xff, 0xff), ErrInvalid},
		"no dictionary":   {header(1, "[]"), ErrInvalid},
		"missing key":     {header(1, "{'descr': '<f4', 'shape': (3,)}"), ErrInvalid},
		"key twice":       {header(1, "{"+good+", 'shape': (4,)}"), ErrInvalid},
		"unknown key":     {header(1, "{"+good+", 'x': 1}"), ErrInvalid},
		"text after":      {header(1, "{"+good+"} x"), ErrInvalid},
		"negative":        {header(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}"), ErrInvalid},
		"no comma":        {header(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3)}"), ErrInvalid},
		"too long":        {header(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"), ErrInvalid},
		"many axes":       {header(1, "{'descr': '<f4', 'fortran_order': False, 'shape': ("+strings.Repeat("1,", 65)+")}"), ErrInvalid},
		"escape":          {header(1, `{'descr': '\q3cf4', 'fortran_order': False, 'shape': (3,)}`), ErrInvalid},
		"one":             {header(1, "{'descr': '<f4', 'fortran_order': 1, 'shape': (3,)}"), ErrInvalid},
		"no byte order":   {header(1, "{'descr': 'f4', 'fortran_order': False, 'shape': (3,)}"), dtype.ErrInvalid},
		"objects":         {header(1, "{'descr': '|O', 'fortran_order': False, 'shape': (3,)}"), dtype.ErrUnsupported},
		"text":            {header(1, "{'descr': '<U0', 'fortran_order': False, 'shape': (3,)}"), dtype.ErrUnsupported},
		"gaps":            {header(1, "{'descr': [('a', '|u1'), ('', '|V3'), ('b', '<f4')], 'fortran_order': False, 'shape': (3,)}"), dtype.ErrUnsupported},
		"mixed order":     {header(1, "{'descr': [('a', '<i4'), ('b', '>f4')], 'fortran_order': False, 'shape': (3,)}"), dtype.ErrUnsupported},
		"array field":     {header(1, "{'descr': [('a', '<i4', (2,))], 'fortran_order': False, 'shape': (3,)}"), dtype.ErrUnsupported},
		"title":           {header(1, "{'descr': [(('t', 'a'), '<i4')], 'fortran_order': False, 'shape': (3,)}"), ErrInvalid},
		"no name":         {header(1, "{'descr': [(3, '<i4')], 'fortran_order': False, 'shape': (3,)}"), ErrInvalid},
		"no fields":       {header(1, "{'descr': [], 'fortran_order': False, 'shape': (3,)}"), dtype.ErrInvalid},
		"field twice":     {header(1, "{'descr': [('a', '<i4'), ('a', '<i4')], 'fortran_order': False, 'shape': (3,)}"), dtype.ErrInvalid},
		"deep":            {header(2, "{'descr': "+strings.Repeat("[('a', ", 50000)), dtype.ErrUnsupported},
		"object field":    {header(1, "{'descr': [('a', '|O')], 'fortran_order': False, 'shape': (3,)}"), dtype.ErrUnsupported},
		"unended list":    {header(1, "{'descr': [('a', '<i4')"), ErrInvalid},
		"half an escape":  {header(1, `{'descr': '\x3`), ErrInvalid},
		"unended string":  {header(1, "{'descr"), ErrInvalid},
		"unended mapping": {header(1, "{"+good), ErrInvalid},
	} {
		if _, err := ReadHeader(bytes.NewReader(c.file)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestBytesOverflows(t *testing.T) {
	h := Header{Type: dtype.Float64, Shape: []int64{1 << 31, 1 << 31}}
	if n, ok := h.Bytes(); ok {
		t.Error(n)
	}
}

// TestAppendAsNumPy compares with what NumPy 2 writes for np.zeros((3, 4), '<f4').
func TestAppendAsNumPy(t *testing.T) {
	got := Header{Type: dtype.Float32, Shape: []int64{3, 4}}.Append(nil)
	want := "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" + strings.Repeat(" ", 58) + "\n"
	if string(got) != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestAppendAndReadHeader(t *testing.T) {
	types := slices.DeleteFunc(dtype.All(), func(t dtype.Type) bool {
		descr, ok := t.NumPy()
		back, _, _ := dtype.FromNumPy(descr)
		return !ok || back != t
	})
	rapid.Check(t, func(t *rapid.T) {
		h := Header{
			Type:    rapid.SampledFrom(types).Draw(t, "type"),
			Fortran: rapid.Bool().Draw(t, "fortran"),
			Shape:   rapid.SliceOfN(rapid.Int64Min(0), 0, 64).Draw(t, "shape"),
		}
		h.BigEndian = h.Type.Unit() > 1 && rapid.Bool().Draw(t, "big")
		b := h.Append([]byte("before"))[len("before"):]
		if len(b)%alignment != 0 {
			t.Fatalf("%d bytes", len(b))
		}
		got, err := ReadHeader(bytes.NewReader(b))
		if err != nil || !equal(got, h) {
			t.Fatalf("got %+v, %v, want %+v", got, err, h)
		}
	})
}

func TestArrange(t *testing.T) {
	host := binary.NativeEndian.AppendUint16
	h := Header{Type: dtype.Uint16, BigEndian: true, Fortran: true, Shape: []int64{2, 3}}
	got := h.Arrange([]byte{0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6})
	var want []byte
	for i := range uint16(6) {
		want = host(want, i+1)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func FuzzReadHeader(f *testing.F) {
	f.Add(Header{Type: dtype.Float32, Shape: []int64{3, 4}}.Append(nil))
	f.Add(header(3, "{'descr': [('a', '<f4')], 'fortran_order': True, 'shape': (2,)}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ReadHeader(bytes.NewReader(data))
		if err != nil {
			return
		}
		again, err := ReadHeader(bytes.NewReader(h.Append(nil)))
		if err != nil || !equal(again, h) {
			t.Errorf("%+v became %+v: %v", h, again, err)
		}
	})
}
