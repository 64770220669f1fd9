// SPDX-License-Identifier: Apache-2.0

package plain_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/serve/internal/plain"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// hooked is a far store that calls before and after for each value that is read.
type hooked struct {
	store.Store
	versionless   bool
	before, after func(key string)
	fails         atomic.Int32 // the number of the read that fails, counted down
	asked         atomic.Int32 // how often the version of a chunk was asked for
	mute          atomic.Bool  // versions of chunks cannot be asked for
}

var errDown = errors.New("the service is down")

func (s *hooked) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if s.fails.Add(-1) == 0 {
		return nil, store.Info{}, errDown
	}
	if s.before != nil {
		s.before(key.String())
	}
	out, info, err := s.Store.Get(ctx, key, q, dst)
	if s.after != nil {
		s.after(key.String())
	}
	if s.versionless {
		info.Version = store.Version{}
	}
	return out, info, err
}

func (s *hooked) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	if strings.HasPrefix(key.String(), "c/") {
		if s.asked.Add(1); s.mute.Load() {
			return store.Info{}, errDown
		}
	}
	info, err := store.Stat(ctx, s.Store, key)
	if s.versionless {
		info.Version = store.Version{}
	}
	return info, err
}

func (s *hooked) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return store.List(ctx, s.Store, dir, how)
}

// created creates an array of numbers.
func created(t *testing.T, s store.Store, n int32, spec zarr.Spec) *zarr.Array {
	t.Helper()
	spec.Shape, spec.Type = []int64{int64(n)}, dtype.Int32
	a, err := zarr.At(s, "").CreateArray(t.Context(), spec, &zarr.CreateOptions{Overwrite: true})
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, n))
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// wants reads the whole view anew.
func wants(t *testing.T, v *plain.View, want []int32) {
	t.Helper()
	got, err := zarr.Read[int32](t.Context(), shown(t, v, ""), nil)
	if err != nil || !slices.Equal(got.Data, want) {
		t.Fatalf("elements are %v, %v, want %v", got.Data, err, want)
	}
}

// TestWithoutVersions follows an array in a store that knows no versions: growth, another
// grid whose former chunks are gone, and a drop.
func TestWithoutVersions(t *testing.T) {
	s := memstore.New()
	a := created(t, s, 8, zarr.Spec{Chunks: []grid.Cut{grid.Edges(2, 2, 2, 2)}})
	v := viewOf(t, &hooked{Store: s, versionless: true}, "regular,chunks=3")
	wants(t, v, fixture.Numbers(1, 8))
	for n := int32(8); n < 14; n += 2 {
		if err := zarr.Append(t.Context(), a, 0, fixture.Numbers(n+1, 2), nil); err != nil {
			t.Fatal(err)
		}
		wants(t, v, fixture.Numbers(1, n+2))
	}
	if _, err := rechunk.Do(t.Context(), a, rechunk.Compaction{Axis: 0, UpTo: 6}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1}); err != nil {
		t.Fatal(err)
	}
	// A client that has the document asks for a chunk.
	if data, _, err := v.Get(t.Context(), store.MustKey("c/1"), store.Request{}, nil); err != nil || len(data) == 0 {
		t.Fatal(err)
	}
	wants(t, v, fixture.Numbers(1, 14))
	if _, err := rechunk.Do(t.Context(), a, rechunk.Removal{Axis: 0, Range: grid.Interval{Start: 0, Stop: 6}}, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := v.Get(t.Context(), store.MustKey("zarr.json"), store.Request{}, nil); !errors.Is(err, plain.ErrGone) {
		t.Errorf("after a drop: %v", err)
	}
}

// TestReplacedWithin replaces or deletes the array of a far store just after it was
// looked at, or while it is read.
func TestReplacedWithin(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, s store.Store){
		"another type": func(t *testing.T, s store.Store) {
			spec := zarr.Spec{Shape: []int64{8}, Type: dtype.Float32, Chunks: grid.Chunks(2)}
			a := fixture.Must(zarr.At(s, "").CreateArray(t.Context(), spec, &zarr.CreateOptions{Overwrite: true}))
			if err := zarr.Write(t.Context(), a, nil, []float32{1, 2, 3, 4, 5, 6, 7, 8}); err != nil {
				t.Error(err)
			}
		},
		"deleted": func(t *testing.T, s store.Store) {
			if err := zarr.At(s, "").Delete(t.Context(), &zarr.Options{Write: true}); err != nil {
				t.Error(err)
			}
		},
		"other dimensions": func(t *testing.T, s store.Store) {
			created(t, s, 8, zarr.Spec{Chunks: grid.Chunks(2), DimensionNames: []string{"x"}})
		},
	} {
		for _, within := range []bool{false, true} {
			s := memstore.New()
			created(t, s, 8, zarr.Spec{Chunks: grid.Chunks(2)})
			h := &hooked{Store: s}
			v := viewOf(t, h, "regular,chunks=3")
			shown(t, v, "")
			if within {
				var once sync.Once
				h.before = func(key string) {
					if strings.HasPrefix(key, "c/") {
						once.Do(func() { change(t, s) })
					}
				}
			} else {
				change(t, s)
			}
			_, _, err := v.Get(t.Context(), store.MustKey("c/1"), store.Request{}, nil)
			if !errors.Is(err, plain.ErrGone) || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s, within a read: %v: %v", name, within, err)
			}
		}
	}
}

// TestStoredWithin stores a chunk after its version was asked for and erases it after it
// was read: what was read is not kept for the chunk that is missing.
func TestStoredWithin(t *testing.T) {
	for _, near := range []bool{false, true} {
		s := memstore.New()
		a := fixture.Must(zarr.At(s, "").CreateArray(t.Context(), zarr.Spec{Shape: []int64{8}, Type: dtype.Int32, Chunks: grid.Chunks(4)}, nil))
		h := &hooked{Store: s}
		var from store.Store = h
		if near {
			from = nearby{h}
		}
		v := viewOf(t, from, "regular,chunks=3")
		shown(t, v, "")
		var once sync.Once
		h.before = func(key string) {
			if key == "c/0" {
				once.Do(func() {
					if err := zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 8)); err != nil {
						t.Error(err)
					}
				})
			}
		}
		if _, _, err := v.Get(t.Context(), store.MustKey("c/0"), store.Request{}, nil); err != nil {
			t.Fatal(err)
		}
		if err := zarr.Fill(t.Context(), a, nil, int32(0)); err != nil {
			t.Fatal(err)
		}
		// What a far store has told is trusted for a second.
		got, err := zarr.Read[int32](t.Context(), shown(t, v, ""), nil)
		if near && (err != nil || !slices.Equal(got.Data, make([]int32, 8))) {
			t.Errorf("elements are %v, %v", got.Data, err)
		}
	}
}

// nearby is a hooked store to which a request costs little.
type nearby struct{ *hooked }

func (s nearby) Open(ctx context.Context, key store.Key) (store.Object, error) {
	return store.Open(ctx, s.Store, key)
}

// TestUnavailableMembers expects no group document that lacks arrays because the store
// failed.
func TestUnavailableMembers(t *testing.T) {
	s := memstore.New()
	fixture.Must(zarr.At(s, "").CreateGroup(t.Context(), nil, nil))
	for _, path := range []string{"a", "b", "c"} {
		fixture.Must(zarr.At(s, path).CreateArray(t.Context(), zarr.Spec{Shape: []int64{2}, Type: dtype.Int8}, nil))
	}
	for n := int32(1); ; n++ {
		h := &hooked{Store: s}
		h.fails.Store(n)
		v := viewOf(t, h, "regular")
		data, _, err := v.Get(t.Context(), store.MustKey("zarr.json"), store.Request{}, nil)
		left := h.fails.Load()
		switch {
		case err != nil:
			continue
		case strings.Count(string(data), `"node_type": "array"`) != 3:
			t.Fatalf("read %d failed, and the document is %s", n, data)
		}
		if left > 0 {
			break // no read failed
		}
	}
}

// TestAttributesV2 changes the attributes of an array of format 2, which have a document
// of their own.
func TestAttributesV2(t *testing.T) {
	s := memstore.New()
	a := created(t, s, 4, zarr.Spec{Format: 2, Chunks: grid.Chunks(2), DimensionNames: []string{"x"}})
	v := viewOf(t, s, "regular")
	for i := range 3 {
		if err := a.SetAttribute(t.Context(), "scale_factor", i+2); err != nil {
			t.Fatal(err)
		}
		var is map[string]any
		if err := json.Unmarshal(shown(t, v, "").Attributes(), &is); err != nil || is["scale_factor"] != float64(i+2) {
			t.Errorf("attributes are %v, %v", is, err)
		}
	}
}

// TestOtherCodecs corrects the document of an array whose chunks stay as they are.
func TestOtherCodecs(t *testing.T) {
	s := memstore.New()
	a := created(t, s, 4, zarr.Spec{Chunks: grid.Chunks(4), Codecs: []metadata.Extension{codec.Bytes("big")}})
	doc := a.Metadata()
	doc.Codecs = []metadata.Extension{codec.Bytes("little")}
	wrong := fixture.Must(doc.Marshal(metadata.Limits{}))
	right := fixture.Must(a.Metadata().Marshal(metadata.Limits{}))
	fixture.Put(t, s, "zarr.json", string(wrong))
	v := viewOf(t, s, "regular,chunks=3")
	if got := fixture.Must(zarr.Read[int32](t.Context(), shown(t, v, ""), nil)); got.Data[0] != 1<<24 {
		t.Fatal(got.Data)
	}
	before := fixture.Must(v.Version(t.Context(), store.MustKey("c/0")))
	fixture.Put(t, s, "zarr.json", string(right))
	wants(t, v, fixture.Numbers(1, 4))
	if after := fixture.Must(v.Version(t.Context(), store.MustKey("c/0"))); after == before {
		t.Error("the chunk has the version that it had")
	}
}

// TestRead reads boxes of stored elements, also of an array that is changed before the
// read or within it.
func TestRead(t *testing.T) {
	s := memstore.New()
	a := created(t, s, 8, zarr.Spec{Chunks: grid.Chunks(4), Codecs: []metadata.Extension{codec.Bytes("little"), codec.Zstd(1)}})
	h := &hooked{Store: s}
	read := func(v *plain.View, of *zarr.Array, start, stop int64) ([]int32, bool) {
		data := make([]byte, 4*(stop-start))
		ok, err := v.Read(t.Context(), "", of, grid.Box{{Start: start, Stop: stop}}, data)
		if err != nil {
			t.Error(err)
		}
		got := make([]int32, stop-start)
		_, err = binary.Decode(data, binary.NativeEndian, got)
		return got, ok && err == nil
	}
	v := viewOf(t, h, "regular")
	if got, ok := read(v, a, 2, 7); !ok || !slices.Equal(got, []int32{3, 4, 5, 6, 7}) {
		t.Error(got, ok)
	}
	var once sync.Once
	h.after = func(key string) {
		if strings.HasPrefix(key, "c/") {
			once.Do(func() {
				if err := zarr.Write(t.Context(), a, nil, fixture.Numbers(11, 8)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	// Another view has kept nothing.
	for _, v := range []*plain.View{viewOf(t, h, "regular"), v} {
		if got, ok := read(v, a, 2, 7); !ok || !slices.Equal(got, []int32{13, 14, 15, 16, 17}) {
			t.Error(got, ok)
		}
	}
	old := fixture.Must(zarr.At(h, "").OpenArray(t.Context(), nil))
	if _, err := rechunk.Do(t.Context(), a, rechunk.Removal{Axis: 0, Range: grid.Interval{Stop: 4}}, nil); err != nil {
		t.Fatal(err)
	}
	if got, ok := read(viewOf(t, h, "regular"), old, 1, 3); ok {
		t.Error("read by the indices of another state:", got)
	}
}

// TestReadAsksFew expects that a box which the view cannot read costs the store little:
// one of many chunks, and one whose versions the store does not tell.
func TestReadAsksFew(t *testing.T) {
	s := memstore.New()
	a := created(t, s, 1000, zarr.Spec{Chunks: grid.Chunks(1)})
	for _, near := range []bool{false, true} {
		h := &hooked{Store: s}
		var from store.Store = h
		if near {
			from = nearby{h}
		}
		v := viewOf(t, from, "regular")
		for stop, asked := range map[int64][2]int32{1000: {0, 0}, 2: {1, 2}} {
			h.asked.Store(0)
			h.mute.Store(true)
			ok, err := v.Read(t.Context(), "", a, grid.Box{{Stop: stop}}, make([]byte, 4*stop))
			if n := h.asked.Load(); ok || err != nil || n < asked[0] || n > asked[1] {
				t.Errorf("%d chunks, near %v: %v, %v after %d questions", stop, near, ok, err, n)
			}
		}
	}
}

// TestAsksAfterRead counts how often a far store is asked for the version of a chunk:
// once in a second before a chunk of the view is answered, and once after each that is
// made.
func TestAsksAfterRead(t *testing.T) {
	s := memstore.New()
	created(t, s, 8, zarr.Spec{Chunks: grid.Chunks(8)})
	h := &hooked{Store: s}
	v := viewOf(t, h, "regular,chunks=2")
	shown(t, v, "")
	begun := time.Now()
	for round := range 2 {
		for _, key := range []string{"c/0", "c/1", "c/2", "c/3"} {
			if _, _, err := v.Get(t.Context(), store.MustKey(key), store.Request{}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if n := h.asked.Load(); n != 5 && time.Since(begun) < time.Second {
			t.Errorf("%d questions after round %d, want 1 and 4", n, round)
		}
	}
}
