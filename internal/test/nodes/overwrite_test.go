// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// patching is a store that patches values in place and does not splice.
type patching struct {
	store.Store
	store.Writer
	store.Lister
	store.Opener
}

// TestOverwriteAgainstWhole writes random parts to chunks that are held in memory whole,
// and to chunks above the limit or the budget. The stored bytes are equal, in both byte
// orders and both orders of axes, and chunks of fill values are deleted.
func TestOverwriteAgainstWhole(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		var s store.Store
		m := memtest.New()
		switch rapid.IntRange(0, 9).Draw(t, "store") {
		case 0:
			n++
			f, err := filestore.Open(fmt.Sprintf("%s/%d", dir, n), &filestore.Options{Create: true})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close(f)
			s = f
		case 1, 2, 3:
			s = patching{m, fixture.Only(m, store.OpPut, store.OpPutIf, store.OpDelete, store.OpDeleteIf, store.OpPatch), m, m}
		default:
			s = m
		}
		compareOverwrites(t, s)
	})
}

func compareOverwrites(t *rapid.T, s store.Store) {
	ctx := context.Background()
	rank := rapid.IntRange(1, 3).Draw(t, "rank")
	spec := zarr.Spec{Type: dtype.Int16, FillValue: zarr.FillJSON(rapid.SampledFrom([]string{"0", "7"}).Draw(t, "fill"))}
	if rank > 1 && rapid.Bool().Draw(t, "transposed") {
		order := rapid.Permutation([]int{0, 1, 2}[:rank]).Draw(t, "order")
		spec.Codecs = append(spec.Codecs, codec.Transpose(order...))
	}
	spec.Codecs = append(spec.Codecs, codec.Bytes(rapid.SampledFrom([]string{"little", "big"}).Draw(t, "endian")))
	for range rank {
		spec.Shape = append(spec.Shape, rapid.Int64Range(1, 40).Draw(t, "length"))
		spec.Chunks = append(spec.Chunks, grid.Every(rapid.Int64Range(1, 60).Draw(t, "chunk")))
	}
	len := int64(1)
	for _, n := range spec.Shape {
		len *= n
	}
	wide := func(n int64) []int16 { // many of the values are the fill value
		v := make([]int16, n)
		kind := rapid.IntRange(0, 3).Draw(t, "values")
		for i := range v {
			if v[i] = 7; kind > 0 && (kind > 1 || i%5 == 0) {
				v[i] = int16(i*31 + kind)
			}
		}
		return v
	}
	all := wide(len)
	for _, path := range []string{"whole", "parts"} {
		a, err := zarr.At(s, path).CreateArray(ctx, spec, &zarr.CreateOptions{Options: zarr.Options{SingleWriter: true}})
		if err == nil {
			err = zarr.Write(ctx, a, nil, all)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	whole, err := zarr.At(s, "whole").OpenArray(ctx, &zarr.Options{Write: true, SingleWriter: true})
	if err != nil {
		t.Fatal(err)
	}
	opt := &zarr.Options{Write: true, SingleWriter: true, Limits: zarr.Limits{Chunk: 1}}
	if rapid.Bool().Draw(t, "large beside the budget") {
		opt.Limits.Chunk, opt.Budget = 0, 1
	}
	parts, err := zarr.At(s, "parts").OpenArray(ctx, opt)
	if err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(1, 3).Draw(t, "writes") {
		sel, n := drawnBox(t, spec.Shape)
		values := wide(n)
		if err := zarr.Write(ctx, parts, sel, values); err != nil {
			if !errors.Is(err, zarr.ErrLimit) || !strings.Contains(err.Error(), "not stored yet") || complete(t, parts) {
				t.Fatal(err)
			}
			return // a chunk is not stored, because it has only the fill value
		}
		if err := zarr.Write(ctx, whole, sel, values); err != nil {
			t.Fatal(err)
		}
		for c := range whole.Chunks() {
			compareStored(t, s, c.Key)
		}
	}
}

// drawnBox draws a part of an array with steps, and returns it and its number of
// elements.
func drawnBox(t *rapid.T, shape []int64) (selection.Basic, int64) {
	sel, total := selection.Basic{}, int64(1)
	for _, n := range shape {
		start := rapid.Int64Range(0, n-1).Draw(t, "start")
		stop := rapid.Int64Range(start+1, n).Draw(t, "stop")
		step := rapid.SampledFrom([]int64{1, 1, 1, 2, 33}).Draw(t, "step")
		sel = append(sel, selection.Stepped(start, stop, step))
		total *= (stop-start-1)/step + 1
	}
	return sel, total
}

// complete reports whether all chunks of an array are stored.
func complete(t *rapid.T, a *zarr.Array) bool {
	n := int64(1)
	for _, chunks := range a.Grid().Chunks() {
		n *= chunks
	}
	for _, err := range a.StoredChunks(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		n--
	}
	return n == 0
}

func compareStored(t *rapid.T, s store.Store, key string) {
	get := func(k string) ([]byte, bool) {
		data, _, err := s.Get(context.Background(), store.MustKey(k), store.Request{}, nil)
		return data, err == nil
	}
	want, there := get(key)
	got, is := get(strings.Replace(key, "whole", "parts", 1))
	if is != there || !bytes.Equal(got, want) {
		t.Fatalf("chunk %s: %v (%t), want %v (%t)", key, got, is, want, there)
	}
}

// longChunk creates an array of one stored chunk of n float32, and opens it with a limit
// of 1 MiB.
func longChunk(t *testing.T, n int64, codecs ...metadata.Extension) (*zarr.Array, string) {
	t.Helper()
	dir := t.TempDir() + "/a.zarr"
	a, err := zarr.CreateArray(t.Context(), dir, zarr.Spec{
		Shape: []int64{n}, Type: dtype.Float32, Chunks: grid.Chunks(n), Codecs: codecs,
	}, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Noisy(int(n)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return reopened(t, dir, 1<<20), dir
}

// reopened opens an array for writing with a limit.
func reopened(t *testing.T, dir string, limit int64) *zarr.Array {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), dir, &zarr.Options{Write: true, Limits: zarr.Limits{Chunk: limit}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// TestMemoryOfHugeChunks checks a chunk of 64 MiB with a limit of 1 MiB and writes parts
// of it, in memory that does not depend on the chunk. With a checksum after the
// elements, it can be checked but not written.
func TestMemoryOfHugeChunks(t *testing.T) {
	racing.Skip(t)
	const n = 64 << 20 / 4
	for name, codecs := range map[string][]metadata.Extension{
		"little": {codec.Bytes("little")},
		"big":    {codec.Bytes("big")},
		"crc32c": {codec.Bytes("little"), codec.CRC32C()},
	} {
		t.Run(name, func(t *testing.T) {
			a, dir := longChunk(t, n, codecs...)
			ctx, part := t.Context(), selection.Basic{selection.Stepped(1000, n-1000, 4096)}
			values := make([]float32, (n-2000-1)/4096+1)
			for i := range values {
				values[i] = float32(i)
			}
			var writing, checking error
			var bytes int64
			used := fixture.HeapMiB(func() {
				writing = errors.Join(zarr.Write(ctx, a, part, values), zarr.Write(ctx, a, selection.Basic{selection.Span(5, 9)}, []float32{1, 2, 3, 4}))
				for f, err := range a.CheckShards(ctx, &zarr.CheckOptions{Progress: func(_ []int64, c *codec.Check) { bytes += c.Bytes }}) {
					checking = errors.Join(checking, err, f.Err)
				}
			})
			if checking != nil || bytes < 4*n {
				t.Errorf("checked %d bytes: %v", bytes, checking)
			}
			if used > 24 {
				t.Errorf("%.0f MiB were in use for a chunk of 64 MiB", used)
			}
			if len(codecs) > 1 {
				if !errors.Is(writing, zarr.ErrLimit) || !strings.Contains(writing.Error(), "raise the limit") {
					t.Errorf("writing a part: %v", writing)
				}
				return
			}
			want := fixture.Noisy(n)
			copy(want[5:], []float32{1, 2, 3, 4})
			for i, v := range values {
				want[1000+4096*i] = v
			}
			got, err := zarr.Read[float32](ctx, reopened(t, dir, 0), nil)
			if err = errors.Join(writing, err); err != nil || !slices.Equal(got.Data, want) {
				t.Errorf("the elements differ from those written: %v", err)
			}
		})
	}
}

// TestHugeChunkRefused refuses operations that need the whole chunk, with an error that
// says what to do.
func TestHugeChunkRefused(t *testing.T) {
	const n = 1 << 20
	a, dir := longChunk(t, n, codec.Bytes("little"))
	ctx := t.Context()
	points := selection.Orthogonal{selection.List(3, 5, 11)}
	for what, err := range map[string]error{
		"lists":  zarr.Write(ctx, a, points, []float32{1, 2, 3}),
		"filled": zarr.Fill(ctx, a, nil, float32(1)),
		"grows":  zarr.Append(ctx, reopened(t, dir, 1<<20), 0, make([]float32, 3), nil),
	} {
		if what == "grows" && err == nil {
			continue // the append made a new chunk
		}
		if !errors.Is(err, zarr.ErrLimit) || !strings.Contains(err.Error(), "raise the limit") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := os.Remove(dir + "/c/0"); err != nil {
		t.Fatal(err)
	}
	part := selection.Basic{selection.Span(0, 2)}
	if err := zarr.Write(ctx, a, part, []float32{1, 2}); !errors.Is(err, zarr.ErrLimit) || !strings.Contains(err.Error(), "not stored yet") {
		t.Errorf("a chunk that is not stored: %v", err)
	}
	if err := zarr.Write(ctx, a, part, []float32{0, 0}); err != nil {
		t.Errorf("the fill value in a chunk that is not stored: %v", err)
	}
	packed, _ := longChunk(t, n, codec.Bytes("little"), codec.ZstdChecksum(1, false))
	if err := zarr.Write(ctx, packed, part, []float32{1, 2}); !errors.Is(err, zarr.ErrLimit) || !strings.Contains(err.Error(), "only whole chunks") {
		t.Errorf("a compressed chunk: %v", err)
	}
	if _, err := packed.CheckShard(ctx, []int64{0}, nil); !errors.Is(err, zarr.ErrLimit) || !strings.Contains(err.Error(), "raise the limit") {
		t.Errorf("checking a compressed chunk: %v", err)
	}
}

// TestOverwriteConflict lets another writer change a chunk after this one has checked
// its version. Both changes are kept, and a chunk that the other writer has filled is
// not deleted.
func TestOverwriteConflict(t *testing.T) {
	for name, values := range map[string][]int16{"values": {5, 6}, "fill values": {0, 0}} {
		t.Run(name, func(t *testing.T) {
			s := &interrupted{Store: memtest.New()}
			spec := zarr.Spec{Shape: []int64{8}, Type: dtype.Int16, Chunks: grid.Chunks(8), Codecs: []metadata.Extension{codec.Bytes("little")}}
			a, err := zarr.At(s, "").CreateArray(t.Context(), spec, &zarr.CreateOptions{Options: zarr.Options{Limits: zarr.Limits{Chunk: 16}}})
			if err == nil {
				err = zarr.Write(t.Context(), a, nil, []int16{9, 9, 0, 0, 0, 0, 0, 0})
			}
			if err != nil {
				t.Fatal(err)
			}
			limited, err := zarr.At(s, "").OpenArray(t.Context(), &zarr.Options{Write: true, Limits: zarr.Limits{Chunk: 1}})
			if err != nil {
				t.Fatal(err)
			}
			s.do = func() {
				theirs, _, err := s.Store.Get(t.Context(), store.MustKey("c/0"), store.Request{}, nil)
				if err == nil {
					theirs = bytes.Clone(theirs)
					theirs[14] = 3
					_, err = s.Store.Write(t.Context(), store.Put(store.MustKey("c/0"), theirs), store.Flush)
				}
				if err != nil {
					t.Error(err)
				}
			}
			if err := zarr.Write(t.Context(), limited, selection.Basic{selection.Span(0, 2)}, values); err != nil {
				t.Fatal(err)
			}
			got, err := zarr.Read[int16](t.Context(), a, nil)
			if want := append(values, 0, 0, 0, 0, 0, 3); err != nil || !slices.Equal(got.Data, want) || s.do != nil {
				t.Errorf("%v (%v), want %v", got.Data, err, want)
			}
		})
	}
}

// interrupted is a store that calls a function once, after a chunk was opened.
type interrupted struct {
	memtest.Store
	do func()
}

func (s *interrupted) Open(ctx context.Context, key store.Key) (store.Object, error) {
	o, err := s.Store.Open(ctx, key)
	if do := s.do; do != nil && key == store.MustKey("c/0") {
		s.do = nil
		do()
	}
	return o, err
}

// TestCheckInRanges damages chunks that are checked in ranges, at many places. The check
// reports the same fault as reading the whole chunk.
func TestCheckInRanges(t *testing.T) {
	racing.Skip(t)
	const n = 9<<20 + 3 // bytes: three ranges
	for name, c := range map[string]struct {
		typ    dtype.Type
		codecs []metadata.Extension
	}{
		"bool":        {dtype.Bool, []metadata.Extension{codec.Bytes("")}},
		"bool crc32c": {dtype.Bool, []metadata.Extension{codec.Bytes(""), codec.CRC32C()}},
		"int8 crc32c": {dtype.Int8, []metadata.Extension{codec.Bytes(""), codec.CRC32C()}},
		"int8":        {dtype.Int8, []metadata.Extension{codec.Bytes("")}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, s, key := t.Context(), memtest.New(), store.MustKey("c/0")
			a, err := zarr.At(s, "").CreateArray(ctx, zarr.Spec{Shape: []int64{n}, Type: c.typ, Chunks: grid.Chunks(n), Codecs: c.codecs, FillValue: zarr.FillJSON(fillOf(c.typ))}, nil)
			if err == nil {
				err = a.WriteBytes(ctx, nil, make([]byte, n))
			}
			if err != nil {
				t.Fatal(err)
			}
			limited, err := zarr.At(s, "").OpenArray(ctx, &zarr.Options{Limits: zarr.Limits{Chunk: 1 << 20}})
			if err != nil {
				t.Fatal(err)
			}
			sound, _, err := s.Get(ctx, key, store.Request{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range []int{-1, 0, 4<<20 - 1, 4 << 20, 8 << 20, n - 1, len(sound) - 1, len(sound)} {
				damaged := bytes.Clone(sound)
				switch {
				case at == len(sound):
					damaged = damaged[:at-1]
				case at >= 0:
					damaged[at] ^= 2
				}
				if _, err := s.Write(ctx, store.Put(key, damaged), store.Flush); err != nil {
					t.Fatal(err)
				}
				want := a.ReadBytes(ctx, nil, make([]byte, n))
				got, err := limited.CheckShard(ctx, []int64{0}, nil)
				if err != nil || (want != nil) != (len(got.Faults) == 1) || got.Bytes != int64(len(damaged)) {
					t.Errorf("byte %d: %+v, %v; reading says %v", at, got, err, want)
				}
				if want != nil && at < len(sound) && len(got.Faults) == 1 && (zarr.KindOf(want) != zarr.KindOf(got.Faults[0].Err) || !errors.Is(want, zarr.ErrCorrupt)) {
					t.Errorf("byte %d: the fault is %v; reading says %v", at, got.Faults[0], want)
				}
				if got, err = limited.CheckShard(ctx, []int64{0}, &zarr.CheckOptions{IndexOnly: true}); err != nil || (at == len(sound)) != (len(got.Faults) == 1) {
					t.Errorf("byte %d: the length alone: %+v, %v", at, got, err)
				}
			}
		})
	}
}

// fillOf returns a fill value that is not zero.
func fillOf(t dtype.Type) string {
	if t.Kind() == dtype.KindBool {
		return "true"
	}
	return "1"
}
