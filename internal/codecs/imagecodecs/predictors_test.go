// SPDX-License-Identifier: Apache-2.0

package imagecodecs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/metadata"
)

// filter returns a predictor.
func filter(t testing.TB, e metadata.Extension) codec.ArrayArray {
	t.Helper()
	c, err := codec.Default.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return c.(codec.ArrayArray)
}

// parsed returns a data type.
func parsed(t testing.TB, name string) dtype.Type {
	t.Helper()
	typ, err := dtype.Parse(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

var (
	reals  = []string{"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"}
	floats = reals[8:]
)

// specs returns arrays of the types with at least some axes.
func specs(t testing.TB, types []string, least int) (list []codec.Spec) {
	for _, name := range types {
		for rank := least; rank <= 4; rank++ {
			typ := parsed(t, name)
			list = append(list, codec.Spec{Type: typ, Fill: make([]byte, typ.Size()), Rank: rank})
		}
	}
	return list
}

func TestPredictorContract(t *testing.T) {
	for axis := -2; axis < 0; axis++ {
		codectest.Run(t, func() any { return filter(t, Delta(axis)) }, &codectest.Options{Specs: specs(t, reals, -axis)})
		codectest.Run(t, func() any {
			return filter(t, metadata.Extension{Name: prefix + floatID, Configuration: fmt.Appendf(nil, `{"axis":%d}`, axis)})
		}, &codectest.Options{Specs: specs(t, floats, -axis)})
	}
}

// number returns the integer that bytes in host order are.
func number(b []byte) uint64 {
	var word [8]byte
	if byteorder.Little() {
		copy(word[:], b)
		return binary.LittleEndian.Uint64(word[:])
	}
	copy(word[8-len(b):], b)
	return binary.BigEndian.Uint64(word[:])
}

// setNumber is the reverse of number.
func setNumber(b []byte, x uint64) {
	var word [8]byte
	if byteorder.Little() {
		binary.LittleEndian.PutUint64(word[:], x)
		copy(b, word[:])
		return
	}
	binary.BigEndian.PutUint64(word[:], x)
	copy(b, word[8-len(b):])
}

// simpleDelta is Delta, one element at a time: each index along the axis is subtracted.
func simpleDelta(data []byte, size int, shape []int64, axis int) []byte {
	out := bytes.Clone(data)
	step := 1
	for _, n := range shape[axis+1:] {
		step *= int(n)
	}
	for i := range len(data) / size {
		if along := i / step % int(shape[axis]); along > 0 {
			x, before := number(data[i*size:][:size]), number(data[(i-step)*size:][:size])
			setNumber(out[i*size:][:size], x-before)
		}
	}
	return out
}

// simpleFloat is FloatPredictor, one byte at a time, as the technical note describes it.
func simpleFloat(data []byte, size int, shape []int64, axis int) (out []byte) {
	step := 1
	for _, n := range shape[axis+1:] {
		step *= int(n)
	}
	row := step * int(shape[axis])
	for ; len(data) > 0; data = data[row*size:] {
		var planes []byte
		for k := size - 1; k >= 0; k-- {
			for i := range row {
				planes = append(planes, byte(number(data[i*size:][:size])>>(8*k)))
			}
		}
		for i := len(planes) - 1; i >= step; i-- {
			planes[i] -= planes[i-step]
		}
		out = append(out, planes...)
	}
	return out
}

// TestPredictorModel compares with the simple forms, on random shapes and axes.
func TestPredictorModel(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 600 {
		name := reals[r.IntN(len(reals))]
		typ := parsed(t, name)
		shape := make([]int64, 1+r.IntN(4))
		n := typ.Size()
		for i := range shape {
			shape[i] = 1 + int64(r.IntN(9))
			n *= int(shape[i])
		}
		axis := r.IntN(len(shape))
		plain := make([]byte, n)
		for i := range plain {
			plain[i] = byte(r.Uint32())
		}
		e, want := Delta(axis-len(shape)), simpleDelta(plain, typ.Size(), shape, axis)
		if typ.Kind() == dtype.KindFloat && r.IntN(2) == 0 {
			e, want = FloatPredictor(typ, axis, shape), simpleFloat(plain, typ.Size(), shape, axis)
		}
		f := filter(t, e)
		if _, err := f.Bind(codec.Spec{Type: typ, Fill: make([]byte, typ.Size()), Rank: len(shape)}); err != nil {
			t.Fatal(err)
		}
		encoded := codec.Block{Shape: shape, Data: make([]byte, n)}
		if err := f.Encode(&encoded, codec.Block{Shape: shape, Data: plain}); err != nil || !bytes.Equal(encoded.Data, want) {
			t.Fatalf("%s %s of %s in chunks of %d: %x, want %x: %v", e.Name, e.Configuration, typ, shape, encoded.Data, want, err)
		}
		decoded := codec.Block{Shape: shape, Data: make([]byte, n)}
		if err := f.Decode(&decoded, encoded); err != nil || !bytes.Equal(decoded.Data, plain) {
			t.Fatalf("%s %s of %s in chunks of %d: back %x, want %x: %v", e.Name, e.Configuration, typ, shape, decoded.Data, plain, err)
		}
	}
}

// TestNoAllocationOfPredictors decodes chunks without taking memory.
func TestNoAllocationOfPredictors(t *testing.T) {
	racing.Skip(t)
	shape := []int64{64, 64, 3}
	for _, e := range []metadata.Extension{Delta(-2), FloatPredictor(dtype.Float32, -2, shape)} {
		f := filter(t, e)
		if _, err := f.Bind(codec.Spec{Type: dtype.Float32, Fill: make([]byte, 4), Rank: 3}); err != nil {
			t.Fatal(err)
		}
		dst, src := codec.Block{Shape: shape, Data: make([]byte, 64*64*3*4)}, codec.Block{Shape: shape, Data: make([]byte, 64*64*3*4)}
		var err error
		n := testing.AllocsPerRun(100, func() { err = f.Decode(&dst, src) })
		if err != nil || n >= 1 { // the pool may lose its buffer now and then
			t.Errorf("%s: %v allocations, %v", e.Name, n, err)
		}
	}
}

// TestShapes decodes chunks that are shorter than the shape in the configuration, as the
// last strips of images are, and those that have more axes.
func TestShapes(t *testing.T) {
	for _, tt := range []struct {
		shape []int64
		axis  int
		chunk []int64
		fits  bool
	}{
		{[]int64{8, 5}, -1, []int64{8, 5}, true},
		{[]int64{8, 5}, -1, []int64{3, 5}, true},
		{[]int64{8, 5}, 1, []int64{1, 8, 5}, true},
		{[]int64{8, 5, 3}, -2, []int64{2, 5, 3}, true},
		{[]int64{8, 5}, -1, []int64{8, 4}, false},
		{[]int64{8, 5}, 0, []int64{7, 5}, false},
		{[]int64{8, 5}, -1, []int64{0, 5}, true},
	} {
		f := filter(t, FloatPredictor(dtype.Float32, tt.axis, tt.shape))
		if _, err := f.Bind(codec.Spec{Type: dtype.Float32, Fill: make([]byte, 4), Rank: len(tt.chunk)}); err != nil {
			t.Fatal(err)
		}
		n := int64(4)
		for _, x := range tt.chunk {
			n *= x
		}
		err := f.Decode(&codec.Block{Shape: tt.chunk, Data: make([]byte, n)}, codec.Block{Shape: tt.chunk, Data: make([]byte, n)})
		if tt.fits != (err == nil) || err != nil && !errors.Is(err, codec.ErrConfiguration) {
			t.Errorf("chunks of %d, the configuration says %d: %v", tt.chunk, tt.shape, err)
		}
	}
}

// TestConfigurations has configurations, and what is wrong with them.
func TestConfigurations(t *testing.T) {
	for _, tt := range []struct{ id, configuration, typ, err string }{
		{"delta", `{}`, "uint16", ""},
		{"delta", `{"shape":null,"dtype":null,"axis":-1,"dist":1}`, "uint16", ""},
		{"delta", `{"shape":[4,5],"dtype":">u2","axis":-1,"dist":1}`, "uint16", ""},
		{"delta", `{"shape":[4,5],"dtype":"<i4"}`, "float32", ""},
		{"delta", `{"dtype":"<u4"}`, "uint16", "dtype is uint32, but the array has uint16"},
		{"delta", `{"dtype":"u2"}`, "uint16", "byte order"},
		{"delta", `{"axis":2}`, "uint16", "axis is 2, but there are 2"},
		{"delta", `{"axis":-3}`, "uint16", "axis is -3, but there are 2"},
		{"delta", `{"axis":1e15}`, "uint16", "axis is"},
		{"delta", `{"shape":[5],"axis":1}`, "uint16", "axis is 1, but there are 1"},
		{"delta", `{"shape":[0,5]}`, "uint16", "shape is [0 5]"},
		{"delta", `{"shape":[4294967296,4294967296,4]}`, "uint16", "shape is"},
		{"delta", `{"dist":2}`, "uint16", "dist is 2, want 1"},
		{"delta", `{"distance":1}`, "uint16", "unknown member"},
		{"delta", `{}`, "bool", "does not take elements of bool"},
		{"delta", `{}`, "complex64", "does not take elements of complex64"},
		{"delta", `{}`, "bfloat16", "does not take elements of bfloat16"},
		{"delta", `{}`, "int4", "does not take elements of int4"},
		{"floatpred", `{"shape":[4,5],"dtype":"<f4","axis":-1,"dist":1}`, "float32", ""},
		{"floatpred", `{"shape":[4,5],"dtype":">f8"}`, "float64", ""},
		{"floatpred", `{"dtype":"<f4"}`, "float64", "dtype is float32, but the array has float64"},
		{"floatpred", `{}`, "uint32", "does not take elements of uint32"},
		{"floatpred", `{}`, "float8_e4m3", "does not take elements of float8_e4m3"},
		{"lzw", `{"level":1}`, "", "unknown member"},
		{"lzw", `{}`, "", ""},
		{"packbits", `{"axis":-1}`, "", ""},
		{"packbits", `{"axis":null}`, "", ""},
		{"zstd", `{"level":null}`, "", ""},
		{"zstd", `{"level":9}`, "", ""},
		{"deflate", `{"level":6,"raw":false}`, "", ""},
		{"deflate", `{"raw":true}`, "", "raw streams"},
		{"zlib", `{"level":6}`, "", ""},
		{"jpeg", `{"tables":"abc"}`, "", "gdal_translate"},
	} {
		made, err := codec.Default.New(metadata.Extension{Name: prefix + tt.id, Configuration: []byte(tt.configuration)})
		if f, ok := made.(codec.ArrayArray); ok {
			typ := parsed(t, tt.typ)
			_, err = f.Bind(codec.Spec{Type: typ, Fill: make([]byte, typ.Size()), Rank: 2})
		}
		if (err == nil) != (tt.err == "") || err != nil && (!strings.Contains(err.Error(), tt.err) ||
			!errors.Is(err, codec.ErrConfiguration) && !errors.Is(err, codec.ErrUnsupported)) {
			t.Errorf("%s %s: %v, want %q", tt.id, tt.configuration, err, tt.err)
		}
	}
}

// FuzzPredictors decodes and encodes any elements in rows of any length.
func FuzzPredictors(f *testing.F) {
	f.Add([]byte("abcdefghijklmnop"), uint8(1), uint8(2), uint8(2))
	f.Add([]byte("abcdefghijklmnopqrstuvwx"), uint8(9), uint8(3), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, kind, columns, samples uint8) {
		typ := parsed(t, reals[int(kind)%len(reals)])
		row := typ.Size() * (1 + int(columns)) * (1 + int(samples))
		data = data[:len(data)/row*row]
		shape := []int64{int64(len(data) / row), 1 + int64(columns), 1 + int64(samples)}
		list := []metadata.Extension{Delta(-2)}
		if typ.Kind() == dtype.KindFloat {
			list = append(list, FloatPredictor(typ, -2, shape[:0]))
		}
		for _, e := range list {
			p := filter(t, e)
			if _, err := p.Bind(codec.Spec{Type: typ, Fill: make([]byte, typ.Size()), Rank: 3}); err != nil {
				t.Fatal(err)
			}
			decoded, again := make([]byte, len(data)), make([]byte, len(data))
			dst := codec.Block{Shape: shape, Data: decoded}
			if err := p.Decode(&dst, codec.Block{Shape: shape, Data: data}); err != nil {
				t.Fatal(err)
			}
			dst.Data = again
			if err := p.Encode(&dst, codec.Block{Shape: shape, Data: decoded}); err != nil || !bytes.Equal(again, data) {
				t.Errorf("%s of %s: %x becomes %x, %v", e.Name, typ, data, again, err)
			}
		}
	})
}

// BenchmarkPredictors decodes tiles of 512 x 512 pixels.
func BenchmarkPredictors(b *testing.B) {
	shape := []int64{512, 512}
	for _, name := range []string{"uint8", "uint16", "float32", "float64"} {
		typ := parsed(b, name)
		list := []metadata.Extension{Delta(-1)}
		if typ.Kind() == dtype.KindFloat {
			list = append(list, FloatPredictor(typ, -1, shape))
		}
		for _, samples := range []int64{1, 3} {
			for _, e := range list {
				shape, n := shape, 512*512*typ.Size()*int(samples)
				if samples > 1 {
					shape = append(shape[:2:2], samples)
					e.Configuration = fmt.Appendf(nil, `{"axis":-2}`)
				}
				f := filter(b, e)
				if _, err := f.Bind(codec.Spec{Type: typ, Fill: make([]byte, typ.Size()), Rank: len(shape)}); err != nil {
					b.Fatal(err)
				}
				dst, src := codec.Block{Shape: shape, Data: make([]byte, n)}, codec.Block{Shape: shape, Data: make([]byte, n)}
				b.Run(fmt.Sprintf("%s/type=%s/samples=%d", e.Name, name, samples), func(b *testing.B) {
					b.SetBytes(int64(n))
					b.ReportAllocs()
					for b.Loop() {
						if err := f.Decode(&dst, src); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
