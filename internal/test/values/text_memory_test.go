// SPDX-License-Identifier: Apache-2.0

package values_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/codecs/vlen"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// bombs returns an array with one text in each chunk, of the given number of letters,
// stored in few bytes. Each inner chunk has its own shard.
func bombs(t *testing.T, chunks, letters int, sharded bool, opt *zarr.Options) *zarr.Array {
	t.Helper()
	ctx, s := t.Context(), memstore.New()
	spec := zarr.Spec{
		Shape: []int64{int64(chunks)}, Type: fixture.Must(dtype.Parse("string", nil)), Chunks: grid.Chunks(1),
		Codecs: []metadata.Extension{{Name: vlen.UTF8}, codec.ZstdChecksum(1, false)},
	}
	if sharded {
		spec.InnerChunks = grid.Chunks(1)
	}
	a, err := zarr.At(s, "").CreateArray(ctx, spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	frame := fixture.Runs(letters)
	for i := range int64(chunks) {
		if sharded {
			err = a.Inner().WriteEncodedChunk(ctx, []int64{i}, frame)
		} else {
			_, err = store.Write(ctx, s, store.Put(store.MustKey(fmt.Sprintf("c/%d", i)), frame), store.Sync)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if a, err = zarr.At(s, "").OpenArray(ctx, opt); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestMemoryOfText decodes many chunks whose text is far longer than their stored form.
// Chunks that take more than the budget are decoded one at a time, and others
// concurrently within it.
func TestMemoryOfText(t *testing.T) {
	racing.Skip(t)
	const letters, chunks = 24 << 20, 12
	// MiB: the text, earlier attempts with less room, the result, and pooled buffers.
	most := float64(5 * letters >> 20)
	defer debug.SetGCPercent(debug.SetGCPercent(4)) // garbage does not count
	one := func(ctx context.Context, a *zarr.Array) error {
		for i := range int64(chunks) {
			if _, err := zarr.Read[string](ctx, a, selection.Basic{selection.At(i)}); err != nil {
				return err
			}
		}
		return nil
	}
	for _, sharded := range []bool{false, true} {
		for name, do := range map[string]func(ctx context.Context, a *zarr.Array) error{
			"check": func(ctx context.Context, a *zarr.Array) error {
				for f, err := range a.CheckShards(ctx, nil) {
					if err != nil || f.Err != nil {
						return errors.Join(err, f.Err)
					}
				}
				return nil
			},
			"read": one,
		} {
			t.Run(fmt.Sprintf("%s/sharded=%t", name, sharded), func(t *testing.T) {
				a := bombs(t, chunks, letters, sharded, &zarr.Options{Write: true, Budget: 8 << 20, Concurrency: 16})
				used := fixture.LeastMiB(most, func() float64 {
					return fixture.HeapMiB(func() {
						if err := do(t.Context(), a); err != nil {
							t.Error(err)
						}
					})
				})
				t.Logf("%.0f MiB", used)
				if used > most {
					t.Errorf("%.0f MiB for chunks of %d MiB, want %.0f at most", used, letters>>20, most)
				}
				runtime.KeepAlive(a)
			})
		}
	}
}

// TestMemoryOfLongTexts checks and reads one chunk of several long texts, which are
// stored as they are, or compressed, or hardly so because they are random. At most the
// stored chunk and its texts are in memory, and not a third time what they have.
func TestMemoryOfLongTexts(t *testing.T) {
	racing.Skip(t)
	const texts, letters = 4, 12 << 20
	defer debug.SetGCPercent(debug.SetGCPercent(4)) // garbage does not count
	random := rand.NewChaCha8([32]byte{7})
	for name, fill := range map[string]func(p []byte){
		"equal": func(p []byte) { copy(p, bytes.Repeat([]byte("a"), len(p))) },
		"random": func(p []byte) {
			_, _ = random.Read(p)
			for i := range p {
				p[i] = ' ' + p[i]%95
			}
		},
	} {
		var chunk []string
		for range texts {
			text := make([]byte, letters)
			fill(text)
			chunk = append(chunk, string(text))
		}
		for _, compressed := range []bool{false, true} {
			a := longTexts(t, chunk, compressed)
			for what, do := range map[string]func() error{
				"check": func() error {
					for f, err := range a.CheckShards(t.Context(), nil) {
						if err != nil || f.Err != nil {
							return errors.Join(err, f.Err)
						}
					}
					return nil
				},
				"read": func() error {
					v, err := zarr.Read[string](t.Context(), a, nil)
					if err == nil && (len(v.Data) != texts || len(v.Data[texts-1]) != letters) {
						err = fmt.Errorf("there are %d texts", len(v.Data))
					}
					return err
				},
			} {
				used := fixture.HeapMiB(func() {
					if err := do(); err != nil {
						t.Error(err)
					}
				})
				times := used * (1 << 20) / (texts * letters)
				t.Logf("%s, %s, compressed=%t: %.2f times the texts", what, name, compressed, times)
				if times > 2.2 {
					t.Errorf("%s, %s, compressed=%t: %.2f times the texts, want 2.2 at most", what, name, compressed, times)
				}
			}
			runtime.KeepAlive(a)
		}
	}
}

// longTexts returns an array with one chunk of texts.
func longTexts(t *testing.T, texts []string, compressed bool) *zarr.Array {
	t.Helper()
	n := int64(len(texts))
	spec := zarr.Spec{Shape: []int64{n}, Type: dtype.String, Chunks: grid.Chunks(n), Codecs: []metadata.Extension{{Name: vlen.UTF8}}}
	if compressed {
		spec.Codecs = append(spec.Codecs, codec.ZstdChecksum(1, false))
	}
	at := zarr.At(memstore.New(), "")
	a, err := at.CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, texts)
	}
	if err == nil {
		a, err = at.OpenArray(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestLimitsOfText refuses text above the limit of a chunk or a block, without memory
// for all of it.
func TestLimitsOfText(t *testing.T) {
	racing.Skip(t)
	ctx := t.Context()
	const letters = 8 << 20
	for _, sharded := range []bool{false, true} {
		for _, limits := range []zarr.Limits{{Chunk: letters - 1}, {Block: letters - 1}, {Chunk: 1 << 20}, {Block: 1 << 20}, {Block: 20 << 20}} {
			a := bombs(t, 8, letters, sharded, &zarr.Options{Limits: limits})
			if _, err := zarr.Read[string](ctx, a, nil); !errors.Is(err, zarr.ErrLimit) {
				t.Errorf("%+v, sharded %t: %v", limits, sharded, err)
			}
		}
		a := bombs(t, 8, letters, sharded, &zarr.Options{Limits: zarr.Limits{Chunk: letters, Block: 8 * letters * 5 / 4}})
		got, err := zarr.Read[string](ctx, a, nil)
		if err != nil || slices.ContainsFunc(got.Data, func(s string) bool { return len(s) != letters }) {
			t.Errorf("sharded %t: %d elements, %v", sharded, len(got.Data), err)
		}
	}
}

// TestClaimOfText refuses a short frame that claims a long content, before it allocates.
func TestClaimOfText(t *testing.T) {
	ctx, s := t.Context(), memstore.New()
	a, err := zarr.At(s, "").CreateArray(ctx, zarr.Spec{
		Shape: []int64{1}, Type: fixture.Must(dtype.Parse("string", nil)), Chunks: grid.Chunks(1), Format: 2,
		Codecs: []metadata.Extension{{Name: vlen.UTF8}, codec.ZstdChecksum(1, false)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	frame := binary.LittleEndian.AppendUint32(nil, 0xFD2FB528)
	frame = binary.LittleEndian.AppendUint64(append(frame, 0xE0), 1<<30) // one segment, a size of 8 bytes
	frame = append(frame, 1<<1|0x01, 0, 2, 'a')
	if _, err := store.Write(ctx, s, store.Put(store.MustKey("0"), frame), store.Sync); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = zarr.Read[string](ctx, a, nil)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, zarr.ErrCorrupt) {
		t.Errorf("error is %v", err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("%d bytes were allocated for a frame of %d", n, len(frame))
	}
}
