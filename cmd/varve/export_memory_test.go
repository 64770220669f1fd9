// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/codecs/vlen"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/racing"
	fixtures "varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// heapMiB returns the largest growth of the heap while do ran, in MiB, measured after
// every garbage collection.
func heapMiB(do func()) float64 {
	runtime.GC()
	objects := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
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

// leastMiB is heapMiB for a promise of most MiB.
func leastMiB(most float64, do func()) float64 {
	return fixtures.LeastMiB(most, func() float64 { return heapMiB(do) })
}

// withoutGarbage makes the garbage collector run often, so that garbage does not count as
// memory in use. The limit depends on what other tests have left.
func withoutGarbage(t *testing.T) {
	runtime.GC()
	objects := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(objects)
	const few = 40 << 20
	was := debug.SetGCPercent(int(max(1, min(10, 10*few/max(1, objects[0].Value.Uint64())))))
	t.Cleanup(func() { debug.SetGCPercent(was) })
}

// runs returns a zstd frame of a chunk of one text of n letters, in 4 bytes for 128 KiB.
func runs(n int) []byte {
	const most = 128 << 10
	frame := binary.LittleEndian.AppendUint32(nil, 0xFD2FB528)
	frame = append(frame, 0, 0x58) // no size, a window of 2 MiB
	frame = append(frame, 8<<3, 0, 0)
	frame = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(frame, 1), uint32(n))
	for ; n > 0; n -= min(n, most) {
		header := min(n, most)<<3 | 1<<1
		if n <= most {
			header |= 1
		}
		frame = append(frame, byte(header), byte(header>>8), byte(header>>16), 'a')
	}
	return frame
}

// crowded returns an array of one shard with a number of inner chunks that share their
// bytes. Each holds one text of a number of letters.
func crowded(t *testing.T, inner, letters int, limits zarr.Limits) *zarr.Array {
	t.Helper()
	s := memstore.New()
	typ, err := dtype.Parse("string", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = zarr.At(s, "").CreateArray(t.Context(), zarr.Spec{
		Shape: []int64{int64(inner)}, Type: typ, Chunks: []grid.Cut{grid.Every(int64(inner))}, InnerChunks: []grid.Cut{grid.Every(1)},
		Codecs: []metadata.Extension{{Name: vlen.UTF8}, codec.ZstdChecksum(1, false)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	shard := runs(letters)
	var index []byte
	for range inner {
		index = binary.LittleEndian.AppendUint64(index, 0)
		index = binary.LittleEndian.AppendUint64(index, uint64(len(shard)))
	}
	sum := crc32.Checksum(index, crc32.MakeTable(crc32.Castagnoli))
	shard = binary.LittleEndian.AppendUint32(append(shard, index...), sum)
	if _, err := store.Write(t.Context(), s, store.Put(store.MustKey("c/0"), shard), store.Sync); err != nil {
		t.Fatal(err)
	}
	a, err := zarr.At(s, "").OpenArray(t.Context(), &zarr.Options{Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// crowdedChunks returns an array of chunks that hold one text each, of a number of
// letters.
func crowdedChunks(t *testing.T, chunks, letters int) *zarr.Array {
	t.Helper()
	s := memstore.New()
	a, err := zarr.At(s, "").CreateArray(t.Context(), zarr.Spec{
		Shape: []int64{int64(chunks)}, Type: dtype.String, Chunks: grid.Chunks(1),
		Codecs: []metadata.Extension{{Name: vlen.UTF8}, codec.ZstdChecksum(1, false)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range chunks {
		if _, err := store.Write(t.Context(), s, store.Put(store.MustKey(fmt.Sprint("c/", i)), runs(letters)), store.Sync); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// TestLongTextsOfManyChunks exports texts that together fit into a block. They are in
// memory a few at a time.
func TestLongTextsOfManyChunks(t *testing.T) {
	racing.Skip(t)
	if !alone(t) {
		return
	}
	withoutGarbage(t)
	const chunks, size, most = 6, 48 << 20, 176.0 // a chunk, and what its decoder needs
	a := crowdedChunks(t, chunks, size)
	defer a.Close()
	exportsWithin(t, a, chunks*size, most)
}

// exportsWithin checks that an array of a number of letters is exported in most MiB.
func exportsWithin(t *testing.T, a *zarr.Array, count int, most float64) {
	t.Helper()
	var got letters
	used := leastMiB(most, func() {
		got = letters{}
		if err := exported(t, a, &got); err != nil {
			t.Error(err)
		}
	})
	t.Logf("%.0f MiB", used)
	if got.a != count || used > most {
		t.Errorf("%.0f MiB, want %.0f at most; %d letters, want %d", used, most, got.a, count)
	}
}

// exported writes an array as JSON to w.
func exported(t *testing.T, a *zarr.Array, w io.Writer) error {
	t.Helper()
	src, err := source.New(t.Context(), a, "", false)
	if err != nil {
		t.Fatal(err)
	}
	cmd := new(cobra.Command)
	cmd.SetContext(context.WithoutCancel(t.Context()))
	b := bufio.NewWriter(w)
	return errors.Join(export.Write(context.WithoutCancel(t.Context()), src, export.JSON, b), b.Flush())
}

// letters counts the bytes that are written to it.
type letters struct{ a, other int }

func (l *letters) Write(p []byte) (int, error) {
	n := bytes.Count(p, []byte("a"))
	l.a += n
	l.other += len(p) - n
	if n > 1<<20 {
		runtime.GC() // what other tests have left lets garbage grow
	}
	return len(p), nil
}

// TestExportOfTextIsBounded exports a shard whose text is far longer than its stored
// bytes. At no time may more than one block be in memory.
func TestExportOfTextIsBounded(t *testing.T) {
	racing.Skip(t)
	if !alone(t) {
		return
	}
	withoutGarbage(t)
	const inner, size = 48, 2 << 20
	most := 24.0 * size / (1 << 20) // of 48 such texts
	a := crowded(t, inner, size, zarr.Limits{Block: 5 * size / 2})
	defer a.Close()
	exportsWithin(t, a, inner*size, most)
}

// TestExcerptOfLongTexts shows the beginnings of texts that are together longer than a
// block. Each of them is in memory for a moment only.
func TestExcerptOfLongTexts(t *testing.T) {
	racing.Skip(t)
	if !alone(t) {
		return
	}
	withoutGarbage(t)
	const inner, size = 48, 2 << 20
	most := 24.0 * size / (1 << 20) // of 48 such texts
	a := crowded(t, inner, size, zarr.Limits{Block: 5 * size / 2})
	defer a.Close()
	var got bytes.Buffer
	used := leastMiB(most, func() {
		got.Reset()
		src, err := source.New(t.Context(), a, "", false)
		if err != nil {
			t.Fatal(err)
		}
		e, err := format.NewExcerpt(t.Context(), src)
		if err != nil {
			t.Error(err)
			return
		}
		w := bufio.NewWriter(&got)
		if err := errors.Join(e.Print(w), w.Flush()); err != nil {
			t.Error(err)
		}
	})
	t.Logf("%.0f MiB", used)
	if n := strings.Count(got.String(), "aaa…'"); n != inner || used > most {
		t.Errorf("%.0f MiB, want %.0f at most; %d texts, want %d", used, most, n, inner)
	}
}

// TestExcerptRefusesTextThatIsTooLong checks that a text longer than a block is refused,
// with a hint how to permit it.
func TestExcerptRefusesTextThatIsTooLong(t *testing.T) {
	racing.Skip(t)
	a := crowded(t, 8, 2<<20, zarr.Limits{Block: 1 << 20})
	defer a.Close()
	src, err := source.New(t.Context(), a, "", false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = format.NewExcerpt(t.Context(), src); !errors.Is(err, zarr.ErrLimit) || !strings.Contains(fmt.Sprint(err), "raise the limit") {
		t.Errorf("error is %v", err)
	}
}

// TestExportRefusesTextThatIsTooLong checks that a text longer than a block is refused,
// with a hint how to permit it.
func TestExportRefusesTextThatIsTooLong(t *testing.T) {
	racing.Skip(t)
	a := crowded(t, 8, 2<<20, zarr.Limits{Block: 1 << 20})
	defer a.Close()
	err := exported(t, a, io.Discard)
	if !errors.Is(err, zarr.ErrLimit) || !strings.Contains(fmt.Sprint(err), "raise the limit") {
		t.Errorf("error is %v", err)
	}
}
