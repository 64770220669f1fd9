// SPDX-License-Identifier: Apache-2.0

// Package codectest is a test suite for codecs. It tests array-to-array, array-to-bytes
// and bytes-to-bytes codecs against the contracts of package codec.
//
//	func TestCodec(t *testing.T) { codectest.Run(t, newCodec, nil) }
//	func FuzzCodec(f *testing.F) { codectest.Fuzz(f, newCodec) }
//
// newCodec returns a codec that is not bound. [Test] runs the same suite without package
// testing.
//
// The suite decodes with exactly the capacity that the bytes need and with one byte less.
// It decodes with bytes missing, added and altered. It also decodes a bomb, a short form
// of very many bytes, which must not allocate memory for them.
package codectest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/racing"
)

// A panic for damaged bytes is a failure, also where a chain would make it an error.
func init() { parallel.Crash.Store(true) }

// Run runs the suite, with a subtest for each requirement. Under the race detector it
// skips long checks that use one goroutine, such as those with damaged bytes. Run the
// tests without it, too.
func Run(t *testing.T, newCodec func() any, o *Options) {
	t.Helper()
	for _, c := range checks(newCodec, o) {
		t.Run(c.name, func(t *testing.T) {
			if c.isLong() {
				racing.Skip(t)
			}
			if err := c.safely(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Test runs the suite and returns the failures, joined, at most one for each requirement.
func Test(newCodec func() any, o *Options) error {
	var errs []error
	for _, c := range checks(newCodec, o) {
		if err := c.safely(); err != nil {
			errs = append(errs, fmt.Errorf("codectest: %s: %w", c.name, err))
		}
	}
	return errors.Join(errs...)
}

func checks(newCodec func() any, o *Options) []check {
	if o == nil {
		o = new(Options)
	}
	switch c := newCodec().(type) {
	case codec.BytesBytes:
		if err := bind(c, o); err != nil {
			return []check{{"bind", func() error { return err }}}
		}
		return bytesBytesChecks(c, o)
	case codec.ArrayBytes:
		return eachSpec(o, func(s codec.Spec) error { return checkArrayBytes(newCodec, s, o) })
	case codec.ArrayArray:
		return eachSpec(o, func(s codec.Spec) error { return checkArrayArray(newCodec, s, o) })
	default:
		return []check{{"kind", func() error { return fmt.Errorf("%T is not a codec of any kind", c) }}}
	}
}

// Seeds returns a seed corpus for fuzzing a decoder: encoded short inputs, intact and
// damaged.
func seeds(c codec.BytesBytes) [][]byte {
	list := [][]byte{nil}
	for _, in := range inputs(new(Options)) {
		encoded, err := c.Encode(nil, in)
		if err != nil || len(encoded) > 1<<12 {
			continue
		}
		half := encoded[:len(encoded)/2]
		list = append(list, encoded, half, append(bytes.Clone(encoded), encoded...))
	}
	return list
}

// Fuzz fuzzes a bytes-to-bytes codec. It checks that decoding never panics or exceeds its
// limit, and that encoded bytes decode to themselves. It adds [Seeds] to the corpus.
func Fuzz(f *testing.F, newCodec func() any) {
	f.Helper()
	c, ok := newCodec().(codec.BytesBytes)
	if !ok {
		f.Fatalf("codectest: %T is not a bytes-to-bytes codec", newCodec())
	}
	if err := bind(c, new(Options)); err != nil {
		f.Fatal(err)
	}
	for _, s := range seeds(c) {
		f.Add(s, uint16(1000))
	}
	f.Fuzz(func(t *testing.T, data []byte, most uint16) {
		out, err := c.Decode(make([]byte, 0, most), data, int64(most))
		if err != nil && !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("error is %v, want ErrCorrupt", err)
		}
		if err == nil && len(out) > int(most) {
			t.Errorf("decoded %d bytes, the limit is %d", len(out), most)
		}
		if err := again(c, data); err != nil {
			t.Error(err)
		}
	})
}

// again encodes and decodes data. A codec may refuse some lengths, or to encode at all.
func again(c codec.BytesBytes, data []byte) error {
	encoded, err := c.Encode(nil, data)
	if errors.Is(err, codec.ErrConfiguration) || errors.Is(err, codec.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	return roundTrip(pair{c, data, encoded})
}

// Benchmark measures a bytes-to-bytes codec on smooth float32 values, plain and with
// their bytes shuffled, in chunks of 16 KiB and 16 MiB. It reports decoded bytes per
// second, and allocations, of which there should be none.
func Benchmark(b *testing.B, newCodec func() any) {
	b.Helper()
	c, ok := newCodec().(codec.BytesBytes)
	if !ok {
		b.Fatalf("codectest: %T is not a bytes-to-bytes codec", newCodec())
	}
	if err := bind(c, new(Options)); err != nil {
		b.Fatal(err)
	}
	for _, kib := range []int{16, 16 << 10} {
		for _, shuffled := range []bool{false, true} {
			name := fmt.Sprintf("kib=%d/shuffled=%t", kib, shuffled)
			b.Run(name, func(b *testing.B) { measure(b, c, smooth(kib<<10, shuffled)) })
		}
	}
}

// measure measures both directions.
func measure(b *testing.B, c codec.BytesBytes, src []byte) {
	encoded, err := c.Encode(nil, src)
	if err != nil {
		b.Fatal(err)
	}
	run := func(name string, code func(dst []byte) error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			dst := make([]byte, 0, len(src)+len(encoded))
			for b.Loop() {
				if err := code(dst); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(src))/float64(len(encoded)), "ratio")
		})
	}
	run("encode", func(dst []byte) error { _, err := c.Encode(dst, src); return err })
	run("decode", func(dst []byte) error { _, err := c.Decode(dst, encoded, int64(len(src))); return err })
}

// smooth returns n bytes of float32 values in little endian. If shuffled, all first bytes
// come first, then all second bytes, and so on.
func smooth(n int, shuffled bool) []byte {
	b, r := make([]byte, n), newRand()
	for i := range n / 4 {
		x, y := float64(i%512), float64(i/512)
		v := 280 + 15*math.Sin(x/40)*math.Cos(y/55) + 3*math.Sin(x/7+y/9) + 0.05*r.NormFloat64()
		var w [4]byte
		binary.LittleEndian.PutUint32(w[:], math.Float32bits(float32(math.Round(v*100)/100)))
		for k, v := range w {
			if shuffled {
				b[k*n/4+i] = v
			} else {
				b[4*i+k] = v
			}
		}
	}
	return b
}
