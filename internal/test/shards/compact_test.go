// SPDX-License-Identifier: Apache-2.0

package shards_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// sharded is a spec with shards of listed lengths along an axis of 12, and 4 columns.
func sharded() zarr.Spec {
	return zarr.Spec{
		Shape: []int64{4, 11}, Type: dtype.Int32, Codecs: fixture.Plain(),
		Chunks: []grid.Cut{grid.Every(4), grid.Edges(4, 2, 6)}, InnerChunks: grid.Chunks(2, 2),
	}
}

// appendingShards returns the options of a writer that leaves unused bytes behind.
func appendingShards() *zarr.Options {
	return &zarr.Options{Write: true, Concurrency: 1, Shards: zarr.Shards{Strategy: codec.Append}}
}

// fragmented creates the array "g/a" and writes to it until all its shards have unused
// bytes. It returns its elements.
func fragmented(t testing.TB, s store.Store, spec zarr.Spec) []int32 {
	t.Helper()
	ctx := context.Background()
	h := zarr.At(s, "")
	if _, err := h.At("g/a").CreateArray(ctx, spec, nil); err != nil {
		t.Fatal(err)
	}
	a, err := h.At("g/a").OpenArray(ctx, appendingShards())
	if err != nil {
		t.Fatal(err)
	}
	data := fixture.Numbers(1, int32(fixture.Count(spec.Shape)))
	if err := zarr.Write(ctx, a, nil, data); err != nil {
		t.Fatal(err)
	}
	columns := spec.Shape[1]
	for x := range columns {
		data[columns+x] += 1000
		if err := zarr.Write(ctx, a, selection.Box{{1, 2}, {x, x + 1}}, data[columns+x:][:1]); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// plainStore has no conditional writes, and can neither pin nor splice.
type plainStore struct {
	store.Store
	store.Writer
	store.Lister
}

func newPlainStore() store.Store {
	m := memtest.New()
	return plainStore{m, fixture.Only(m, store.OpPut, store.OpDelete), m}
}

// shardBytes returns the number of stored chunks of an array, and the sum of their
// bytes.
func shardBytes(t *testing.T, a *zarr.Array) (n, shards int64) {
	t.Helper()
	for index, err := range a.StoredChunks(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		info, err := a.ChunkInfo(context.Background(), index)
		if err != nil {
			t.Fatal(err)
		}
		n, shards = n+info.Size, shards+1
	}
	return n, shards
}

// TestCompactShards compacts shards with unused bytes in stores of all kinds. A dry run
// returns the same report and changes nothing. A second call changes nothing.
func TestCompactShards(t *testing.T) {
	ctx := context.Background()
	for name, s := range map[string]store.Store{
		"memory": memtest.New(), "conditional": fixture.Conditional(memtest.New()), "plain": newPlainStore(), "local": fixture.FileStore(vfs.NewDisk()),
	} {
		for _, order := range []codec.Order{codec.Morton, codec.Fortran} {
			t.Run(fmt.Sprint(name, order), func(t *testing.T) {
				h := zarr.At(s, "")
				if err := h.At("g").Delete(ctx, &zarr.Options{Write: true}); err != nil && order > 0 {
					t.Fatal(err)
				}
				want := fragmented(t, s, sharded())
				reader, err := h.At("g/a").OpenArray(ctx, nil)
				if err != nil {
					t.Fatal(err)
				}
				before, shards := shardBytes(t, reader)
				trial, err := reader.CompactShards(ctx, &zarr.CompactOptions{DryRun: true})
				if n, _ := shardBytes(t, reader); err != nil || n != before || trial.Before != before {
					t.Fatalf("a dry run on %d bytes: %+v, %d bytes after it (%v)", before, trial, n, err)
				}
				a, err := h.At("g/a").OpenArray(ctx, &zarr.Options{Write: true, Shards: zarr.Shards{Order: order}})
				if err != nil {
					t.Fatal(err)
				}
				var seen []string
				report, err := a.CompactShards(ctx, &zarr.CompactOptions{Progress: func(i []int64) { seen = append(seen, fmt.Sprint(i)) }})
				if err != nil || report != trial || report.Changed != shards || report.Shards != shards {
					t.Errorf("report %+v (%v), the dry run returned %+v", report, err, trial)
				}
				slices.Sort(seen)
				if fmt.Sprint(seen) != "[[0 0] [0 1] [0 2]]" {
					t.Errorf("progress: %v", seen)
				}
				if after, _ := shardBytes(t, a); after != report.After || after >= before {
					t.Errorf("%d bytes became %d, %+v", before, after, report)
				}
				if got, err := zarr.Read[int32](ctx, reader, nil); err != nil || !slices.Equal(got.Data, want) {
					t.Errorf("read %v (%v)", got, err)
				}
				if again, err := a.CompactShards(ctx, nil); err != nil || again.Changed != 0 || again.Before != report.After {
					t.Errorf("once more: %+v (%v)", again, err)
				}
			})
		}
	}
}

// requestLog counts the operations on chunks of an object store.
type requestLog struct{ reads, writes, others atomic.Int64 }

func (l *requestLog) on(s store.Store) store.Store {
	return stepping.Conditional(s.(stepping.ObjectStore), stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		switch key := op.Key.String(); {
		case !strings.Contains(key, "/c/"):
		case op.Name == "Get":
			l.reads.Add(1)
		case strings.HasPrefix(op.Name, "Put"):
			l.writes.Add(1)
		default:
			l.others.Add(1)
		}
		return nil
	}})
}

// TestCompactRequests counts the requests that compacting makes to a far store. A shard
// in order takes one read of its index. Any other shard takes one more read, and a
// write.
func TestCompactRequests(t *testing.T) {
	ctx := context.Background()
	m := memtest.New()
	fragmented(t, m, sharded())
	for _, want := range [][3]int64{{6, 3, 0}, {3, 0, 0}} {
		log := new(requestLog)
		a, err := zarr.At(log.on(m), "g/a").OpenArray(ctx, &zarr.Options{Write: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.CompactShards(ctx, nil); err != nil {
			t.Fatal(err)
		}
		if got := [3]int64{log.reads.Load(), log.writes.Load(), log.others.Load()}; got != want {
			t.Errorf("%d reads, writes and others, want %d", got, want)
		}
	}
}

// TestCompactDamagedShard compacts the other shards and names the damaged one.
func TestCompactDamagedShard(t *testing.T) {
	ctx := context.Background()
	for _, damage := range []func([]byte) []byte{
		func(b []byte) []byte { return b[:20] }, // shorter than the index
		func(b []byte) []byte { return b[4:] },  // entries lead out of the shard
		func(b []byte) []byte { b[len(b)-9] ^= 1; return b },
	} {
		m := memtest.New()
		fragmented(t, m, sharded())
		key := store.MustKey("g/a/c/0/1")
		value, _, err := m.Get(ctx, key, store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		value = damage(value)
		if _, err := store.Write(ctx, m, store.Put(key, value), store.Sync); err != nil {
			t.Fatal(err)
		}
		a, err := zarr.At(m, "g/a").OpenArray(ctx, &zarr.Options{Write: true})
		if err != nil {
			t.Fatal(err)
		}
		report, err := a.CompactShards(ctx, nil)
		if report.Shards != 2 || report.Changed != 2 {
			t.Errorf("%+v", report)
		}
		if !errors.Is(err, zarr.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), "g/a/c/0/1") {
			t.Errorf("%v", err)
		}
		if now, _, err := m.Get(ctx, key, store.Request{}, nil); err != nil || !bytes.Equal(now, value) {
			t.Errorf("the damaged shard was changed (%v)", err)
		}
	}
}

// TestCompactRefused makes calls of Compact that are refused.
func TestCompactRefused(t *testing.T) {
	ctx := context.Background()
	h := zarr.At(memtest.New(), "")
	wrapped := fixture.Must(codec.Shards(codec.Sharding{Inner: grid.Chunks(2), Codecs: fixture.Plain()}))
	spec := fixture.Every(8, 4)
	for name, codecs := range map[string][]metadata.Extension{
		"chunks": {codec.Bytes("little")}, "wrapped": {wrapped, codec.Gzip(1)},
	} {
		spec.Codecs = codecs
		a, err := h.At(name).CreateArray(ctx, spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.CompactShards(ctx, nil)
		fixture.Expect(t, err, zarr.ErrUnsupported, "unsupported", "not shards")
	}
	fragmented(t, h.Store(), sharded())
	a, err := h.At("g/a").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.CompactShards(ctx, nil); !errors.Is(err, zarr.ErrReadOnly) {
		t.Errorf("an array that was opened to be read: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := a.CompactShards(ended, &zarr.CompactOptions{DryRun: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was cancelled: %v", err)
	}
}

// TestCompactWithoutChecksum compacts shards whose indexes have no checksum.
func TestCompactWithoutChecksum(t *testing.T) {
	ctx := context.Background()
	spec := sharded()
	spec.InnerChunks, spec.Codecs = nil, []metadata.Extension{fixture.Must(codec.Shards(codec.Sharding{
		Inner: grid.Chunks(2, 2), Codecs: fixture.Plain(), IndexCodecs: fixture.Plain(), AtStart: true,
	}))}
	for _, s := range []store.Store{memtest.New(), fixture.Conditional(memtest.New()), fixture.FileStore(vfs.NewDisk())} {
		want := fragmented(t, s, spec)
		a, err := zarr.At(s, "g/a").OpenArray(ctx, &zarr.Options{Write: true})
		if err != nil {
			t.Fatal(err)
		}
		if report, err := a.CompactShards(ctx, nil); err != nil || report.Changed != 3 {
			t.Errorf("%+v (%v)", report, err)
		}
		if got, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(got.Data, want) {
			t.Errorf("read %v (%v)", got, err)
		}
	}
}

// TestCompactAfterGridChange compacts with an array that was opened before another
// program changed its grid.
func TestCompactAfterGridChange(t *testing.T) {
	ctx := context.Background()
	for _, s := range []store.Store{memtest.New(), fixture.Conditional(memtest.New())} {
		want := fragmented(t, s, sharded())
		stale, err := zarr.At(s, "g/a").OpenArray(ctx, &zarr.Options{Write: true})
		if err != nil {
			t.Fatal(err)
		}
		other, err := zarr.At(s, "g/a").OpenArray(ctx, appendingShards())
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Resize(ctx, []int64{4, 4}, &zarr.ResizeOptions{Shrink: grid.TrimEdges}); err != nil {
			t.Fatal(err)
		}
		if err := zarr.Append(ctx, other, 1, want[:16], &zarr.AppendOptions{Grow: grid.AppendOne()}); err != nil {
			t.Fatal(err)
		}
		if err := zarr.Write(ctx, other, selection.Box{{0, 1}, {4, 5}}, []int32{-1}); err != nil {
			t.Fatal(err)
		}
		before, err := zarr.Read[int32](ctx, other, nil)
		if err != nil {
			t.Fatal(err)
		}
		if report, err := stale.CompactShards(ctx, nil); err != nil || report.Shards != 2 || report.Changed != 2 {
			t.Errorf("%+v (%v)", report, err)
		}
		if got, err := zarr.Read[int32](ctx, other, nil); err != nil || !slices.Equal(got.Data, before.Data) {
			t.Errorf("read %v, want %v (%v)", got, before, err)
		}
	}
}

// TestCompactDuringWrites compacts repeatedly while concurrent writers change inner
// chunks of the same shards. No write is lost.
func TestCompactDuringWrites(t *testing.T) {
	ctx := context.Background()
	for _, s := range []store.Store{memtest.New(), fixture.Conditional(memtest.New()), fixture.FileStore(vfs.NewDisk())} {
		want := fragmented(t, s, sharded())
		const writers, rounds = 4, 30
		done := make(chan error)
		for row := range int64(writers) {
			go func() {
				a, err := zarr.At(s, "g/a").OpenArray(ctx, appendingShards())
				for r := int32(0); r < rounds && err == nil; r++ {
					err = zarr.Fill(ctx, a, selection.Box{{row, row + 1}, {0, 11}}, r+int32(row))
				}
				done <- err
			}()
		}
		a, err := zarr.At(s, "g/a").OpenArray(ctx, &zarr.Options{Write: true})
		for left := writers; left > 0; {
			if err == nil {
				_, err = a.CompactShards(ctx, nil)
			}
			select {
			case failed := <-done:
				err = errors.Join(err, failed)
				left--
			default:
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			want[i] = rounds - 1 + int32(i/11)
		}
		if got, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(got.Data, want) {
			t.Errorf("read %v (%v)", got, err)
		}
	}
}

// TestCrashCompact stops the machine before every operation of a compaction, and checks
// every image that a power cut may leave. The elements are unchanged, and a second call
// compacts all shards and removes the files of the crashed writer. Inner chunks are
// copied through memory, or from file to file if the budget is too small.
func TestCrashCompact(t *testing.T) {
	fixture.Sequential(t)
	points, images := 0, 0
	for _, budget := range []int64{0, 1} {
		for n, more := int64(0), true; more; n++ {
			tried := 0
			tried, more = crashCompact(t, n, budget)
			points, images = points+1, images+tried
		}
	}
	t.Logf("%d points, %d images", points, images)
	if points < 120 || images < fixture.LeastImages(1400) {
		t.Errorf("only %d points and %d images were tried", points, images)
	}
}

// crashCompact stops a compaction before its operation n. more is false if the
// compaction ends before that operation.
func crashCompact(t *testing.T, n, budget int64) (images int, more bool) {
	t.Helper()
	ctx, disk := context.Background(), vfs.NewDisk()
	want := fixture.State{Shape: []int64{4, 11}, Data: fragmented(t, fixture.FileStore(disk), sharded())}
	early := fixture.Reader(t, disk)
	stop, stopped := vfs.StopAt(n)
	report, err := compactOn(ctx, vfs.Hook(disk, stop), budget)
	if !stopped() && (err != nil || report.Changed != 3) {
		t.Fatalf("%+v (%v)", report, err)
	}
	label := fmt.Sprintf("budget %d, operation %d", budget, n)
	if got := fixture.LookAgain(t, early, label); !got.Cut("").Equal(want) {
		t.Fatalf("%s: a reader from before sees %v, want %v", label, got, want)
	}
	for name, image := range disk.Images(uint64(n), fixture.RandomImages()) {
		images++
		label := label + ", " + name
		if got := fixture.Look(t, image, label); !got.Equal(want) {
			t.Fatalf("%s: %v, want %v", label, got, want)
		}
		again, againErr := compactOn(ctx, image, budget)
		if againErr != nil || again.Shards != 3 || err == nil && again.Changed > 0 {
			t.Fatalf("%s: %+v (%v)", label, again, againErr)
		}
		fixture.WantTidy(t, zarr.At(fixture.FileStore(image), ""), label)
		if got := fixture.Look(t, image, label); !got.Equal(want) {
			t.Fatalf("%s, compacted again: %v, want %v", label, got, want)
		}
	}
	return images, stopped()
}

// compactOn compacts the array of a disk within a budget in bytes.
func compactOn(ctx context.Context, disk vfs.FS, budget int64) (zarr.CompactReport, error) {
	a, err := zarr.At(fixture.FileStore(disk), "g/a").OpenArray(ctx, &zarr.Options{Write: true, Concurrency: 1, Budget: budget})
	if err != nil {
		return zarr.CompactReport{}, err
	}
	return a.CompactShards(ctx, nil)
}
