// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"bytes"
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// meter is a store that counts the reads and their bytes.
type meter struct {
	memtest.Store
	reads, bytes atomic.Int64
}

func (m *meter) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	out, info, err := m.Store.Get(ctx, key, q, dst)
	m.reads.Add(1)
	m.bytes.Add(int64(len(out) - len(dst)))
	return out, info, err
}

func (m *meter) Open(ctx context.Context, key store.Key) (store.Object, error) {
	o, err := m.Store.Open(ctx, key)
	return meteredObject{o, m}, err
}

type meteredObject struct {
	store.Object
	meter *meter
}

func (o meteredObject) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, error) {
	out, err := o.Object.Read(ctx, q, dst)
	o.meter.reads.Add(1)
	o.meter.bytes.Add(int64(len(out) - len(dst)))
	return out, err
}

// largeArray creates an array of two uncompressed chunks of 300×700 int16.
func largeArray(t testing.TB, s store.Store, codecs ...metadata.Extension) *zarr.Array {
	t.Helper()
	ctx := context.Background()
	a, err := zarr.At(s, "").CreateArray(ctx, zarr.Spec{
		Shape: []int64{500, 700}, Type: dtype.Int16, Codecs: codecs,
		Chunks: []grid.Cut{grid.Edges(200, 300), grid.Every(700)}, FillValue: zarr.FillJSON("-1"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]int16, 500*700)
	for i := range data {
		data[i] = int16(i * 7)
	}
	if err := zarr.Write(ctx, a, nil, data); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestPartsOfChunks reads parts of large chunks without the rest. The elements equal
// those of reading everything.
func TestPartsOfChunks(t *testing.T) {
	near, far := &meter{Store: memtest.New()}, afar{&meter{Store: memtest.New()}}
	for name, a := range map[string]*zarr.Array{
		"little":     largeArray(t, &meter{Store: memtest.New()}, codec.Bytes("little")),
		"big":        largeArray(t, &meter{Store: memtest.New()}, codec.Bytes("big")),
		"transposed": largeArray(t, &meter{Store: memtest.New()}, codec.Transpose(1, 0), codec.Bytes("big")),
		"long":       longArray(t, near),
		"long, far":  longArray(t, far),
	} {
		t.Run(name, func(t *testing.T) { testParts(t, a) })
	}
}

func testParts(t *testing.T, a *zarr.Array) {
	ctx := context.Background()
	all, err := zarr.Read[int16](ctx, a, nil)
	if err != nil {
		t.Fatal(err)
	}
	whole := &fixture.Model{Shape: all.Shape, Size: 2, Data: bytesOf(all.Data)}
	rapid.Check(t, func(t *rapid.T) {
		sel, at := drawSelection(t, whole.Shape)
		got := make([]byte, fixture.Count(at[1])*2)
		if err := a.ReadBytes(ctx, sel, got); err != nil {
			t.Fatal(err)
		}
		want := make([]byte, len(got))
		strided.Copy(strided.Contiguous(want, at[1], 2), whole.Part(at[0], at[1], at[2]))
		if !bytes.Equal(got, want) {
			t.Fatalf("selection %v differs", sel)
		}
	})
}

func bytesOf(data []int16) []byte {
	var b []byte
	for _, v := range data {
		b = append(b, byte(v), byte(uint16(v)>>8))
	}
	if !byteorder.Little() {
		byteorder.Bytes(b, b, 2)
	}
	return b
}

// afar hides that values can be opened, like a remote store.
type afar struct{ *meter }

func (afar) Open() {} // this is not [store.Opener]

// TestPartsCostWhatTheyTouch counts the bytes read from a chunk of 2.4 MB with rows of
// 20 kB, and from one of 420 kB with rows of 1,400 bytes, from near and far stores.
// Bytes between wanted elements are read where this costs less than another request.
func TestPartsCostWhatTheyTouch(t *testing.T) {
	ctx := context.Background()
	for _, tt := range []struct {
		name                string
		long                bool
		sel                 selection.Selection
		near, nearBytes     int64
		remote, remoteBytes int64
	}{
		{"an element", false, selection.Box{{400, 401}, {300, 301}}, 1, 2, 1, 2},
		{"a row", false, selection.Box{{400, 401}, {0, 700}}, 1, 1400, 1, 1400},
		{"a corner", false, selection.Box{{200, 210}, {0, 10}}, 1, 13_000, 1, 13_000},
		{"a column", false, selection.Box{{200, 500}, {5, 6}}, 2, 420_000, 1, 420_000},
		{"most of it", false, selection.Box{{210, 500}, {0, 700}}, 2, 420_000, 1, 420_000},
		{"a column of long rows", true, selection.Box{{0, 60}, {5, 6}}, 60, 120, 5, 2_400_000},
		{"two planes", true, selection.Box{{3, 5}, {100, 300}}, 2, 800, 1, 40_400},
		{"rows far apart", true, selection.Orthogonal{selection.List(3, 30, 58), selection.All()}, 3, 120_000, 3, 120_000},
		{"rows next to each other, and one", true, selection.Orthogonal{selection.List(0, 1, 2, 3, 4, 58), selection.All()}, 2, 240_000, 2, 240_000},
		{"columns close together", true, selection.Orthogonal{selection.List(7), selection.List(0, 100, 8000)}, 1, 16_002, 1, 16_002},
		{"columns far apart", true, selection.Orthogonal{selection.List(7), selection.List(0, 100, 9000)}, 2, 204, 1, 18_002},
		{"points", true, selection.Points{selection.Coords(59, 0, 0, 1), selection.Coords(5, 5, 6, 6)}, 3, 20_000, 2, 42_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &meter{Store: memtest.New()}
			count := func(s store.Store, reads, most int64) {
				var a *zarr.Array
				if tt.long {
					a = longArray(t, s)
				} else {
					a = largeArray(t, s, fixture.Plain()...)
				}
				m.reads.Store(0)
				m.bytes.Store(0)
				if _, err := zarr.Read[int16](ctx, a, tt.sel); err != nil {
					t.Fatal(err)
				}
				if m.reads.Load() > reads || m.bytes.Load() > most {
					t.Errorf("%d reads of %d bytes, want at most %d of %d", m.reads.Load(), m.bytes.Load(), reads, most)
				}
			}
			count(m, tt.near, tt.nearBytes)
			m.Store = memtest.New()
			count(afar{m}, tt.remote, tt.remoteBytes)
		})
	}
}

// TestConcurrentFarSpans reads distant rows of a chunk from a store that takes a second
// for every request. The requests are concurrent.
func TestConcurrentFarSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		m := memtest.New()
		longArray(t, m)
		s := &slow{Store: afar{&meter{Store: m}}}
		a, err := zarr.At(s, "").OpenArray(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.delay = time.Second
		rows := selection.Orthogonal{selection.List(0, 8, 16, 24, 32, 40, 48, 56), selection.Span(0, 1000)}
		start := time.Now()
		b, err := zarr.Read[int16](ctx, a, rows)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("took %v, want two seconds: one for eight concurrent requests, one to check the document", took)
		}
		all, err := zarr.Read[int16](ctx, fixture.Must(zarr.At(m, "").OpenArray(ctx, nil)), rows)
		if err != nil || !slices.Equal(all.Data, b.Data) {
			t.Errorf("the elements differ from those written (%v)", err)
		}
	})
}

// slow delays every read.
type slow struct {
	store.Store
	delay time.Duration
}

func (s *slow) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	time.Sleep(s.delay)
	return s.Store.Get(ctx, key, q, dst)
}

// longArray creates an array of one uncompressed chunk of 60×20000 int16.
func longArray(t testing.TB, s store.Store) *zarr.Array {
	t.Helper()
	ctx := context.Background()
	a, err := zarr.At(s, "").CreateArray(ctx, zarr.Spec{
		Shape: []int64{60, 20_000}, Type: dtype.Int16, Chunks: grid.Chunks(60, 20_000), Codecs: fixture.Plain(),
	}, nil)
	if err == nil {
		err = zarr.Write(ctx, a, nil, fixture.NumbersOf[int16](60*20_000))
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestHugeChunk reads from a stored chunk that is larger than the limit of decoded
// chunks.
func TestHugeChunk(t *testing.T) {
	ctx := context.Background()
	s := memtest.New()
	largeArray(t, s, codec.Bytes("little"))
	a, err := zarr.At(s, "").OpenArray(ctx, &zarr.Options{Limits: zarr.Limits{Chunk: 100_000}})
	if err != nil {
		t.Fatal(err)
	}
	i := 500*700 - 1
	last := int16(i * 7)
	b, err := zarr.Read[int16](ctx, a, selection.Box{{499, 500}, {698, 700}})
	if err != nil || b.Data[1] != last {
		t.Errorf("read %v (%v)", b.Data, err)
	}
	_, err = zarr.Read[int16](ctx, a, nil)
	fixture.Expect(t, err, zarr.ErrLimit, "limit", "Limits.Chunk")
}
