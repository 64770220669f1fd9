package zarr_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/codec/vlen"
	"varve.dev/zarr/codec/zstd"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// runs returns a zstd frame that does not say how long it is: a chunk of one text of n
// letters, in 4 bytes for 128 KiB.
func runs(n int) []byte {
	const most = 128 << 10
	frame := binary.LittleEndian.AppendUint32(nil, 0xFD2FB528)
	frame = append(frame, 0, 0x58) // no size, a window of 2 MiB
	head := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, 1), uint32(n))
	block := func(kind, size int, last bool) {
		header := size<<3 | kind<<1
		if last {
			header |= 1
		}
		frame = append(frame, byte(header), byte(header>>8), byte(header>>16))
	}
	block(0, len(head), n == 0)
	frame = append(frame, head...)
	for ; n > 0; n -= min(n, most) {
		block(1, min(n, most), n <= most)
		frame = append(frame, 'a')
	}
	return frame
}

// bombs returns an array of one text a chunk, of so many letters each, which are stored
// in few bytes; inner chunks have a shard each.
func bombs(t *testing.T, chunks, letters int, sharded bool, opt *zarr.Options) *zarr.Array {
	t.Helper()
	ctx, s := t.Context(), memstore.New()
	spec := zarr.Spec{
		Shape: []int64{int64(chunks)}, Type: must(dtype.Parse("string", nil)), Chunks: []grid.Cut{grid.Every(1)},
		Codecs: []metadata.Extension{{Name: vlen.UTF8}, zstd.Extension(1, false)},
	}
	if sharded {
		spec.InnerChunks = []grid.Cut{grid.Every(1)}
	}
	a, err := zarr.At(s, "").CreateArray(ctx, spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	frame := runs(letters)
	for i := range int64(chunks) {
		if sharded {
			err = a.Inner().WriteEncodedChunk(ctx, []int64{i}, frame)
		} else {
			_, err = s.Put(ctx, store.MustKey(fmt.Sprintf("c/%d", i)), frame, store.Sync)
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

// heapMiB returns by how much the heap grew at most while do ran, in MiB. It looks every
// millisecond at the bytes of all objects, garbage included that has not been swept. The
// memory of the process would count what the race detector keeps beside them.
func heapMiB(do func()) float64 {
	runtime.GC()
	objects := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(objects)
	before := objects[0].Value.Uint64()
	peak, done, looked := before, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(looked)
		for tick := time.NewTicker(time.Millisecond); ; {
			metrics.Read(objects)
			peak = max(peak, objects[0].Value.Uint64())
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	}()
	do()
	close(done)
	<-looked
	return float64(peak-before) / (1 << 20)
}

// TestMemoryOfText decodes many chunks of text that is far longer than what is stored of
// it. One at a time is decoded of those that take more than the budget, and more at a
// time only within it.
func TestMemoryOfText(t *testing.T) {
	racing.Skip(t)
	const letters, chunks = 24 << 20, 12
	// MiB: the text, what was tried before, the result, and what a pool keeps.
	most := float64(5 * letters >> 20)
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // garbage is not what is looked for
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
				used := heapMiB(func() {
					if err := do(t.Context(), a); err != nil {
						t.Error(err)
					}
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

// TestLimitsOfText refuses text that has more bytes than a chunk, or a block, may have,
// without taking memory for all of it.
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

// TestClaimOfText refuses a short frame that claims to be long, at once.
func TestClaimOfText(t *testing.T) {
	ctx, s := t.Context(), memstore.New()
	a, err := zarr.At(s, "").CreateArray(ctx, zarr.Spec{
		Shape: []int64{1}, Type: must(dtype.Parse("string", nil)), Chunks: []grid.Cut{grid.Every(1)}, Format: 2,
		Codecs: []metadata.Extension{{Name: vlen.UTF8}, zstd.Extension(1, false)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	frame := binary.LittleEndian.AppendUint32(nil, 0xFD2FB528)
	frame = binary.LittleEndian.AppendUint64(append(frame, 0xE0), 1<<30) // one segment, a size of 8 bytes
	frame = append(frame, 1<<1|0x01, 0, 2, 'a')
	if _, err := s.Put(ctx, store.MustKey("0"), frame, store.Sync); err != nil {
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
