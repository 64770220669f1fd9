package zarr_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// tally is a store with all powers that counts what is done to it.
type tally struct {
	*memstore.Store
	mu      sync.Mutex
	count   map[string]int // by operation, and chunk or document
	chunks  []string       // keys of the chunks that were touched, in order of their names
	written int            // bytes
	young   bool           // values are as young as they are; otherwise they are very old
}

func newTally() *tally { return &tally{Store: memstore.New(), count: map[string]int{}} }

// add counts an operation on a key.
func (s *tally) add(op string, key store.Key, written int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case key.IsZero():
	case key.Base() == "zarr.json":
		op += " document"
	case strings.Contains(key.String(), "__varve"):
		op += " journal"
	default:
		s.chunks = append(s.chunks, key.String())
		op += " chunk"
	}
	s.count[op]++
	s.written += written
}

// taken returns what was counted, in words, and begins anew.
func (s *tally) taken() (ops, chunks string, written int) {
	var words []string
	for _, op := range slices.Sorted(maps.Keys(s.count)) {
		words = append(words, fmt.Sprintf("%d %s", s.count[op], op))
	}
	slices.Sort(s.chunks)
	ops, chunks, written = strings.Join(words, ", "), strings.Join(slices.Compact(s.chunks), " "), s.written
	s.count, s.chunks, s.written = map[string]int{}, nil, 0
	return ops, chunks, written
}

func (s *tally) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	s.add("get", key, 0)
	out, info, err := s.Store.Get(ctx, key, q, dst)
	if !s.young {
		info.Modified = time.Unix(1, 0)
	}
	return out, info, err
}

func (s *tally) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	s.add("stat", key, 0)
	return s.Store.Stat(ctx, key)
}

func (s *tally) Open(ctx context.Context, key store.Key) (store.Object, error) {
	s.add("open", key, 0)
	return s.Store.Open(ctx, key)
}

func (s *tally) Put(ctx context.Context, key store.Key, value []byte, d store.Durability) (store.Version, error) {
	s.add("put", key, len(value))
	return s.Store.Put(ctx, key, value, d)
}

func (s *tally) PutIf(ctx context.Context, key store.Key, value []byte, c store.Condition, d store.Durability) (store.Version, error) {
	s.add("publish", key, len(value))
	return s.Store.PutIf(ctx, key, value, c, d)
}

func (s *tally) Delete(ctx context.Context, key store.Key) error {
	s.add("delete", key, 0)
	return s.Store.Delete(ctx, key)
}

func (s *tally) List(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	s.add("list", store.Key{}, 0)
	return s.Store.List(ctx, dir, deep)
}

func (s *tally) Lock(ctx context.Context, dir store.Path) (func() error, error) {
	s.add("lock", store.Key{}, 0)
	return s.Store.Lock(ctx, dir)
}

func (s *tally) Batch(context.Context, store.Durability) (store.Batch, error) { return tallied{s}, nil }

// tallied is a batch whose values are counted like others. Beginning and end cost
// nothing.
type tallied struct{ s *tally }

func (b tallied) Put(ctx context.Context, key store.Key, value []byte) error {
	_, err := b.s.Put(ctx, key, value, store.Flush)
	return err
}

func (b tallied) Delete(ctx context.Context, key store.Key) error { return b.s.Delete(ctx, key) }
func (b tallied) Commit(context.Context) error                    { return nil }
func (b tallied) Discard()                                        {}

// lattice is the spec of 6×4 elements in chunks of 1, 2 and 3 rows and two columns.
func lattice() zarr.Spec {
	return zarr.Spec{
		Shape: []int64{6, 4}, Type: dtype.Of[int32](), Codecs: plain(),
		Chunks: []grid.Cut{grid.Edges(1, 2, 3), grid.Every(2)},
	}
}

// republish is what a change of an array in the root group asks for. The group might have
// consolidated metadata, and a writer might have died and left a journal.
const republish = "2 get document, 1 get journal, 1 lock, 1 publish document"

// operationCases are calls on the array "a", and all that they may ask of the store.
var operationCases = []struct {
	name   string
	spec   zarr.Spec
	run    func(ctx context.Context, a *zarr.Array) error
	ops    string
	chunks string
}{
	{"open", lattice(), func(ctx context.Context, a *zarr.Array) error { return a.Refresh(ctx) }, "1 get document", ""},
	{"read all", lattice(), readPart(nil), "6 get chunk", "a/c/0/0 a/c/0/1 a/c/1/0 a/c/1/1 a/c/2/0 a/c/2/1"},
	{"read nothing", lattice(), readPart(selection.Box{{2, 2}, {0, 4}}), "", ""},
	{"read an element", lattice(), readPart(selection.Box{{5, 6}, {3, 4}}), "1 get chunk", "a/c/2/1"},
	{"read a column", lattice(), readPart(selection.Box{{0, 6}, {1, 2}}), "3 get chunk", "a/c/0/0 a/c/1/0 a/c/2/0"},
	{"read every fifth row", lattice(), readPart(selection.Basic{selection.Stepped(0, 6, 5), selection.At(0)}), "2 get chunk", "a/c/0/0 a/c/2/0"},
	{"write a chunk", lattice(), writePart(selection.Box{{1, 3}, {2, 4}}, 4), "1 put chunk, 2 stat document", "a/c/1/1"},
	{"write all", lattice(), writePart(nil, 24), "6 put chunk, 2 stat document", "a/c/0/0 a/c/0/1 a/c/1/0 a/c/1/1 a/c/2/0 a/c/2/1"},
	{"write a part of a chunk", lattice(), writePart(selection.Box{{1, 2}, {2, 4}}, 2), "1 get chunk, 1 publish chunk, 2 stat document", "a/c/1/1"},
	{"write a chunk at the border", every(6, 4), writePart(selection.Box{{4, 6}}, 2), "1 lock, 1 put chunk, 2 stat document", "a/c/1"},
	{"write fill value", lattice(), func(ctx context.Context, a *zarr.Array) error {
		return zarr.Fill[int32](ctx, a, selection.Box{{0, 3}, {0, 2}}, 0)
	}, "2 delete chunk, 2 stat document", "a/c/0/0 a/c/1/0"},
	{"write fill value and read it", every(8, 4), func(ctx context.Context, a *zarr.Array) error {
		if err := zarr.Fill[int32](ctx, a, selection.Box{{4, 8}}, 0); err != nil {
			return err
		}
		return readPart(nil)(ctx, a)
	}, "1 delete chunk, 2 get chunk, 3 stat document", "a/c/0 a/c/1"},
	{"append to edges", lattice(), appendRows(8), republish + ", 2 put chunk", "a/c/3/0 a/c/3/1"},
	{"append behind full chunks", every(8, 4), appendRows(6), republish + ", 2 put chunk", "a/c/2 a/c/3"},
	{"append behind a part of a chunk", every(6, 4), appendRows(4), "1 get chunk, 2 get document, 1 get journal, 1 lock, 1 publish chunk, 1 publish document, 1 put chunk", "a/c/1 a/c/2"},
	{"append nothing", lattice(), appendRows(0), "1 get document, 1 get journal, 1 lock", ""},
	{"grow by two chunks", every(8, 4), resizeTo(16), "2 delete chunk, " + republish, "a/c/2 a/c/3"},
	{"shrink by a chunk", every(8, 4), resizeTo(4), "1 delete chunk, " + republish, "a/c/1"},
	{"shrink within a chunk", every(8, 4), resizeTo(7), "1 get chunk, 2 get document, 1 get journal, 1 lock, 1 publish chunk, 1 publish document, 1 stat chunk", "a/c/1"},
	{"keep the shape", every(8, 4), resizeTo(8), "1 get document, 1 get journal, 1 lock", ""},
	{"read a chunk", lattice(), func(ctx context.Context, a *zarr.Array) error {
		_, err := a.ReadChunk(ctx, []int64{1, 0})
		return err
	}, "1 get chunk", "a/c/1/0"},
	{"change attributes", lattice(), func(ctx context.Context, a *zarr.Array) error {
		return a.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte(`{"a":1}`), nil })
	}, republish, ""},
}

func readPart(sel selection.Selection) func(context.Context, *zarr.Array) error {
	return func(ctx context.Context, a *zarr.Array) error {
		_, err := zarr.Read[int32](ctx, a, sel)
		return err
	}
}

func writePart(sel selection.Selection, n int32) func(context.Context, *zarr.Array) error {
	return func(ctx context.Context, a *zarr.Array) error { return zarr.Write(ctx, a, sel, numbers(1, n)) }
}

func appendRows(n int32) func(context.Context, *zarr.Array) error {
	return func(ctx context.Context, a *zarr.Array) error { return zarr.Append(ctx, a, 0, numbers(1, n), nil) }
}

func resizeTo(n int64) func(context.Context, *zarr.Array) error {
	return func(ctx context.Context, a *zarr.Array) error { return a.Resize(ctx, []int64{n}, nil) }
}

// TestOperations counts what calls ask of the store: nothing but what they need.
func TestOperations(t *testing.T) {
	for _, tt := range operationCases {
		t.Run(tt.name, func(t *testing.T) {
			ctx, s := t.Context(), newTally()
			a, err := zarr.At(s, "a").CreateArray(ctx, tt.spec, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := writePart(nil, int32(count(tt.spec.Shape)))(ctx, a); err != nil {
				t.Fatal(err)
			}
			s.taken()
			if err := tt.run(ctx, a); err != nil {
				t.Fatal(err)
			}
			if ops, chunks, _ := s.taken(); ops != tt.ops || chunks != tt.chunks {
				t.Errorf("%s (%s)\nwant %s (%s)", ops, chunks, tt.ops, tt.chunks)
			}
		})
	}
}

// TestOpenOperations opens an array and reads an element of it: one document and one
// chunk.
func TestOpenOperations(t *testing.T) {
	ctx, s := t.Context(), newTally()
	a, err := zarr.At(s, "g/a").CreateArray(ctx, lattice(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := writePart(nil, 24)(ctx, a); err != nil {
		t.Fatal(err)
	}
	s.taken()
	if a, err = zarr.At(s, "g/a").OpenArray(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if ops, _, _ := s.taken(); ops != "1 get document" {
		t.Errorf("opening: %s", ops)
	}
	if err := readPart(selection.Box{{0, 1}, {0, 1}})(ctx, a); err != nil {
		t.Fatal(err)
	}
	if ops, chunks, _ := s.taken(); ops != "1 get chunk" || chunks != "g/a/c/0/0" {
		t.Errorf("reading an element: %s (%s)", ops, chunks)
	}
	s.young = true
	if err := readPart(selection.Box{{0, 1}, {0, 1}})(ctx, a); err != nil {
		t.Fatal(err)
	}
	if ops, _, _ := s.taken(); ops != "1 get chunk, 1 stat document" {
		t.Errorf("reading an element of a chunk that may be newer than the array was opened: %s", ops)
	}
}

// TestAppendCost appends to arrays of ten chunks and of a million: the store is asked the
// same, and the bytes differ by the digits of the document.
func TestAppendCost(t *testing.T) {
	type cost struct {
		ops     string
		written int
	}
	appendTo := func(edges int64) cost {
		ctx, s := t.Context(), newTally()
		spec := zarr.Spec{
			Shape: []int64{3 * edges}, Type: dtype.Of[int32](), Codecs: plain(),
			Chunks: []grid.Cut{grid.Runs(grid.Run{Length: 3, Count: edges})},
		}
		a, err := zarr.At(s, "a").CreateArray(ctx, spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.taken()
		if err := appendRows(5)(ctx, a); err != nil {
			t.Fatal(err)
		}
		ops, chunks, written := s.taken()
		if want := fmt.Sprintf("a/c/%d", edges); chunks != want {
			t.Errorf("chunks %s were touched, want %s", chunks, want)
		}
		return cost{ops, written}
	}
	few, many := appendTo(10), appendTo(1_000_000)
	if want := republish + ", 1 put chunk"; few.ops != want || many.ops != want {
		t.Errorf("ten chunks: %s\na million: %s\nwant %s", few.ops, many.ops, want)
	}
	t.Logf("%d and %d bytes are written", few.written, many.written)
	if more := many.written - few.written; more < 0 || more > 2*len("00000") {
		t.Errorf("%d bytes are written to ten chunks, %d to a million", few.written, many.written)
	}
}
