package zarr_test

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr"
	zarrbytes "varve.dev/zarr/codec/bytes"
	"varve.dev/zarr/codec/transpose"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memory"
)

// meter counts what is read from a store.
type meter struct {
	*memory.Store
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

// largeArray makes an array of two chunks of 300×700 int16 that are not compressed.
func largeArray(t testing.TB, s store.Store, codecs ...metadata.Extension) *zarr.Array {
	t.Helper()
	ctx := context.Background()
	a, err := zarr.On(s).CreateArray(ctx, "", zarr.Spec{
		Shape: []int64{500, 700}, Type: dtype.Of[int16](), Codecs: codecs,
		Chunks: []grid.Cut{grid.Edges(200, 300), grid.Every(700)}, FillValue: []byte("-1"),
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

// TestPartsOfChunks reads parts of large chunks without the rest: the elements are those of a read of everything.
func TestPartsOfChunks(t *testing.T) {
	ctx := context.Background()
	for name, codecs := range map[string][]metadata.Extension{
		"little":     {zarrbytes.Extension("little")},
		"big":        {zarrbytes.Extension("big")},
		"transposed": {transpose.Extension(1, 0), zarrbytes.Extension("big")},
	} {
		t.Run(name, func(t *testing.T) {
			m := &meter{Store: memory.New()}
			a := largeArray(t, m, codecs...)
			all, err := zarr.Read[int16](ctx, a, nil)
			if err != nil {
				t.Fatal(err)
			}
			whole := &model{shape: all.Shape, size: 2, data: bytesOf(all.Data)}
			rapid.Check(t, func(t *rapid.T) {
				sel, at := drawSelection(t, whole.shape)
				got := make([]byte, count(at[1])*2)
				if err := a.ReadBytes(ctx, sel, got); err != nil {
					t.Fatal(err)
				}
				want := make([]byte, len(got))
				grid.Copy(grid.Contiguous(want, at[1], 2), whole.part(at[0], at[1], at[2]))
				if !bytes.Equal(got, want) {
					t.Fatalf("selection %v differs", sel)
				}
			})
		})
	}
}

func bytesOf(data []int16) []byte {
	var b []byte
	for _, v := range data {
		b = append(b, byte(v), byte(uint16(v)>>8))
	}
	if !dtype.LittleEndian() {
		dtype.SwapBytes(b, b, 2)
	}
	return b
}

// TestPartsCostWhatTheyTouch counts the bytes that are read of a chunk of 420 kB.
func TestPartsCostWhatTheyTouch(t *testing.T) {
	ctx := context.Background()
	m := &meter{Store: memory.New()}
	a := largeArray(t, m, zarrbytes.Extension("little"))
	for _, tt := range []struct {
		name        string
		sel         selection.Box
		reads, most int64
	}{
		{"an element", selection.Box{{400, 401}, {300, 301}}, 1, 2},
		{"a row", selection.Box{{400, 401}, {0, 700}}, 1, 1400},
		{"a corner", selection.Box{{200, 210}, {0, 10}}, 1, 13_000},
		{"a column", selection.Box{{200, 500}, {5, 6}}, 300, 600},
		{"most of it", selection.Box{{210, 500}, {0, 700}}, 2, 420_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m.reads.Store(0)
			m.bytes.Store(0)
			if _, err := zarr.Read[int16](ctx, a, tt.sel); err != nil {
				t.Fatal(err)
			}
			if m.reads.Load() > tt.reads || m.bytes.Load() > tt.most {
				t.Errorf("%d reads of %d bytes, at most %d of %d are needed", m.reads.Load(), m.bytes.Load(), tt.reads, tt.most)
			}
		})
	}
}

// TestColumnOfPlane counts the bytes that are read of a chunk of 1.2 MB for a column of one of its planes.
func TestColumnOfPlane(t *testing.T) {
	ctx := context.Background()
	m := &meter{Store: memory.New()}
	a, err := zarr.On(m).CreateArray(ctx, "", zarr.Spec{
		Shape: []int64{3, 400, 500}, Type: dtype.Of[int16](), Chunks: []grid.Cut{grid.Every(3), grid.Every(400), grid.Every(500)}, Codecs: plain(),
	}, nil)
	if err == nil {
		err = zarr.Write(ctx, a, nil, numbersOf[int16](3*400*500))
	}
	if err != nil {
		t.Fatal(err)
	}
	m.reads.Store(0)
	m.bytes.Store(0)
	b, err := zarr.Read[int16](ctx, a, selection.Box{{1, 2}, {0, 400}, {7, 8}})
	if err != nil || b.Data[1] != numbersOf[int16](3*400*500)[200_000+500+7] {
		t.Errorf("%v, %v", b.Data[1], err)
	}
	if m.reads.Load() > 400 || m.bytes.Load() > 800 {
		t.Errorf("%d reads of %d bytes, at most 400 of 800 are needed", m.reads.Load(), m.bytes.Load())
	}
}

// TestHugeChunk reads from a stored chunk that is larger than the limit for decoded chunks.
func TestHugeChunk(t *testing.T) {
	ctx := context.Background()
	s := memory.New()
	largeArray(t, s, zarrbytes.Extension("little"))
	a, err := zarr.On(s).OpenArray(ctx, "", &zarr.Options{Limits: zarr.Limits{Chunk: 100_000}})
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
	expect(t, err, zarr.ErrLimit, "limit", "Limits.Chunk")
}
