// SPDX-License-Identifier: Apache-2.0

package plain_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/serve/internal/plain"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// faulty is a codec that changes nothing, until it panics.
type faulty struct{ panics atomic.Bool }

// MaxEncoded implements [codec.BytesBytes].
func (*faulty) MaxEncoded(n int64) int64 { return n }

// Encode implements [codec.BytesBytes].
func (f *faulty) Encode(dst, src []byte) ([]byte, error) { return f.Decode(dst, src, 0) }

// Decode implements [codec.BytesBytes].
func (f *faulty) Decode(dst, src []byte, _ int64) ([]byte, error) {
	if f.panics.Load() {
		panic("a fault of the codec")
	}
	return append(dst, src...), nil
}

// TestPanic expects that a panic of a codec is an error of what asks for the chunk, of
// views and of the library, in all goroutines.
func TestPanic(t *testing.T) {
	parallel.Crash.Store(false)
	defer parallel.Crash.Store(true)
	f, codecs := new(faulty), new(codec.Registry)
	for _, name := range []string{"bytes", "vlen-utf8", "sharding_indexed", "crc32c"} {
		codecs.Register(name, func(c []byte) (any, error) {
			return codec.Default.New(metadata.Extension{Name: name, Configuration: c})
		})
	}
	codecs.Register("x-faulty", func([]byte) (any, error) { return f, nil })
	for name, spec := range map[string]zarr.Spec{
		"chunks": {Chunks: grid.Chunks(2), Type: dtype.Int32},
		"shards": {Chunks: grid.Chunks(4), InnerChunks: grid.Chunks(2), Type: dtype.Int32},
		"text":   {Chunks: grid.Chunks(2), Type: dtype.String},
	} {
		at := zarr.At(memstore.New(), "").With(&zarr.Options{Codecs: codecs})
		serial := codec.Bytes("little")
		if spec.Type.Variable() {
			serial = codec.VariableLength(spec.Type)
		}
		spec.Shape, spec.Codecs = []int64{8}, []metadata.Extension{serial, {Name: "x-faulty"}}
		a := fixture.Must(at.CreateArray(t.Context(), spec, nil))
		write := func() error { return zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 8)) }
		read := func(from, to int64) error {
			_, err := zarr.Read[int32](t.Context(), a, selection.Box{{from, to}})
			return err
		}
		if spec.Type.Variable() {
			write = func() error { return zarr.Write(t.Context(), a, nil, strings.Fields("a b c d e f g h")) }
			read = func(from, to int64) error {
				_, err := zarr.Read[string](t.Context(), a, selection.Box{{from, to}})
				return err
			}
		}
		f.panics.Store(false)
		if err := write(); err != nil {
			t.Fatal(err)
		}
		v := plain.New(at, settings(t, "regular,chunks=4"), plain.NewCache(plain.Least))
		shown(t, v, "")
		f.panics.Store(true)
		_, _, err := v.Get(t.Context(), store.MustKey("c/0"), store.Request{}, nil)
		for what, err := range map[string]error{"a view": err, "a write": write(), "a read": read(0, 8), "a read of one chunk": read(0, 2), "of a part": read(1, 2)} {
			if err == nil || !strings.Contains(err.Error(), "panic: a fault of the codec") {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
		if _, err := a.ReadChunk(t.Context(), []int64{0}); err == nil {
			t.Errorf("%s: a chunk is read", name)
		}
		told := 0
		for fault, err := range a.CheckShards(t.Context(), nil) {
			if err != nil || strings.Contains(fault.Err.Error(), "panic: a fault of the codec") {
				told++
			}
		}
		if told == 0 {
			t.Errorf("%s: a check finds nothing", name)
		}
	}
}
