// SPDX-License-Identifier: Apache-2.0

package golden_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// history is a row of testdata/histories.zip: an array and its changes in zarr-python
// 3.4.1.
type history struct {
	ID        string
	DataType  string          `json:"data_type"`
	FillValue json.RawMessage `json:"fill_value"`
	Chunks    json.RawMessage
	Shards    json.RawMessage
	Steps     []step
}

type step struct {
	Op        string
	Region    [][2]int64
	Axis      int
	Count     int64
	NewShape  []int64 `json:"new_shape"`
	Formula   formula
	Shape     []int64
	ChunkGrid struct {
		Name          string
		Configuration any
	} `json:"chunk_grid"`
	Write       [][]int64 `json:"write_chunk_sizes"`
	Read        [][]int64 `json:"read_chunk_sizes"`
	Error       string
	SHA256      string
	CleanSHA256 string `json:"clean_sha256"`
	Stale       bool
}

// formula generates the elements of a block: element i in C order is (i*A + B) mod M.
type formula struct{ A, B, M int64 }

func (f formula) bytes(t testing.TB, typ dtype.Type, n int64) []byte {
	t.Helper()
	var data []byte
	for i := range n {
		value := (i*f.A + f.B) % f.M
		if typ.Kind() == dtype.KindBool {
			value = min(value, 1)
		}
		elem, err := typ.ParseText(text(typ, value))
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, elem...)
	}
	return data
}

func text(typ dtype.Type, value int64) string {
	switch typ.Kind() {
	case dtype.KindBool:
		return [...]string{"false", "true"}[value]
	case dtype.KindComplex:
		return "[" + fixture.Itoa(value) + ", 0]"
	}
	return fixture.Itoa(value)
}

// allHistories returns all histories, including those of shards.
func allHistories(t *testing.T) []history {
	t.Helper()
	z := fixture.OpenZip(t, "histories.zip")
	var all struct{ Histories []history }
	fixture.ReadJSON(t, z, "histories.json", &all)
	return all.Histories
}

func (h *history) sharded() bool { return h.Shards != nil && string(h.Shards) != "null" }

// spec returns the Spec of the array at the start of the history.
func (h *history) spec(t *testing.T) zarr.Spec {
	t.Helper()
	s := zarr.Spec{Shape: h.Steps[0].Shape, Type: fixture.Must(dtype.Parse(h.DataType, nil)), FillValue: zarr.FillJSON(string(h.FillValue))}
	if !h.sharded() {
		s.Chunks = fixture.Must(grid.ParseCuts(s.Shape, string(h.Chunks)))
		return s
	}
	s.Chunks = fixture.Must(grid.ParseCuts(s.Shape, string(h.Shards)))
	s.InnerChunks = fixture.Must(grid.ParseCuts(s.Shape, string(h.Chunks)))
	return s
}

// TestHistories replays every history. After every step, the shape, the stored grid, the
// sizes of chunks and the elements agree with zarr-python, and a step that zarr-python
// refuses is refused. Where old elements reappear in zarr-python, Varve has the fill
// value instead.
func TestHistories(t *testing.T) {
	fixture.Sequential(t)
	steps, stale := 0, 0
	histories := allHistories(t)
	for i, h := range histories {
		t.Run(h.ID, func(t *testing.T) {
			replay(t, &h, memstore.New(), false)
			if i%4 == 0 {
				replay(t, &h, fixture.OpenStore(t, t.TempDir()), false)
			}
		})
		steps += len(h.Steps)
		for _, s := range h.Steps {
			if s.Stale {
				stale++
			}
		}
	}
	t.Logf("%d histories of %d steps replayed; after %d steps zarr-python returns old elements", len(histories), steps, stale)
	if len(histories) < 72 || steps < 554 {
		t.Errorf("only %d histories of %d steps", len(histories), steps)
	}
}

// clearedByAppend is the history in which an append fills a part of a chunk that has old
// elements. Appends have no option to keep the rest, so the expected array is the one
// without old elements.
const clearedByAppend = "h009"

// TestStaleHistories replays the histories with options that keep old elements, and
// expects the same elements as zarr-python.
func TestStaleHistories(t *testing.T) {
	fixture.Sequential(t)
	stale := 0
	for _, h := range allHistories(t) {
		for i, s := range h.Steps {
			if s.Stale && h.ID == clearedByAppend {
				h.Steps[i].SHA256 = s.CleanSHA256
			} else if s.Stale {
				stale++
			}
		}
		t.Run(h.ID, func(t *testing.T) { replay(t, &h, memstore.New(), true) })
	}
	t.Logf("the same old elements as in zarr-python after %d steps", stale)
	if stale < 39 {
		t.Errorf("only %d steps with old elements", stale)
	}
}

func replay(t *testing.T, h *history, s store.Store, keepStale bool) {
	ctx := context.Background()
	a, err := zarr.At(s, "").CreateArray(ctx, h.spec(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, st := range h.Steps {
		err := st.run(t, a, keepStale)
		if st.Error == "" && err != nil || st.Error != "" && !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Fatalf("step %d, %s: %v (zarr-python: %q)", i, st.Op, err, st.Error)
		}
		check(t, i, st, a, keepStale)
		again, err := zarr.At(s, "").OpenArray(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		check(t, i, st, again, keepStale)
	}
}

func (s *step) run(t *testing.T, a *zarr.Array, keepStale bool) error {
	ctx := context.Background()
	switch s.Op {
	case "write":
		n := int64(1)
		for _, r := range s.Region {
			n *= r[1] - r[0]
		}
		return a.WriteBytes(ctx, selection.Box(s.Region), s.Formula.bytes(t, a.Type(), n))
	case "append":
		n, shape := s.Count, a.Shape()
		for i, l := range shape {
			if i != s.Axis {
				n *= l
			}
		}
		if n == 0 { // the number of empty planes cannot be derived from their bytes
			shape[s.Axis] += s.Count
			return a.Resize(ctx, shape, &zarr.ResizeOptions{KeepStale: keepStale})
		}
		return a.AppendBytes(ctx, s.Axis, s.Formula.bytes(t, a.Type(), n), nil)
	case "resize":
		return a.Resize(ctx, s.NewShape, &zarr.ResizeOptions{KeepStale: keepStale})
	}
	return nil
}

func checkSizes(t *testing.T, what string, g *grid.Grid, want [][]int64) {
	t.Helper()
	for i, sizes := range g.Sizes() {
		if got := expand(sizes); !slices.Equal(got, want[i]) {
			t.Fatalf("axis %d: %s sizes %v, want %v", i, what, got, want[i])
		}
	}
}

func check(t *testing.T, i int, st step, a *zarr.Array, keepStale bool) {
	t.Helper()
	if !reflect.DeepEqual(a.Shape(), st.Shape) {
		t.Fatalf("step %d, %s: shape %v, want %v", i, st.Op, a.Shape(), st.Shape)
	}
	var stored any
	if err := json.Unmarshal(a.Metadata().ChunkGrid.Configuration, &stored); err != nil {
		t.Fatal(err)
	}
	if a.Metadata().ChunkGrid.Name != st.ChunkGrid.Name || !reflect.DeepEqual(stored, st.ChunkGrid.Configuration) {
		t.Fatalf("step %d, %s: grid %s %v, want %v", i, st.Op, a.Metadata().ChunkGrid.Name, stored, st.ChunkGrid)
	}
	checkSizes(t, "chunk", a.Grid(), st.Write)
	if n := a.Inner(); n != nil {
		checkSizes(t, "inner chunk", fixture.Must(n.Grid()), st.Read)
	}
	want := st.SHA256
	if st.Stale && !keepStale {
		want = st.CleanSHA256
	}
	if got := digest(t, a); !strings.EqualFold(got, want) {
		t.Fatalf("step %d, %s: the elements differ (stale %v)", i, st.Op, st.Stale)
	}
}
