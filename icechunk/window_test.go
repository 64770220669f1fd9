// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestSplitRules has configurations as the reference stores them, without their encoding.
func TestSplitRules(t *testing.T) {
	name := func(s string) *string { return &s }
	matching := func(kind, pattern string) any {
		return map[string]any{kind: map[string]any{"regex": pattern}}
	}
	dim := func(condition any, chunks int64) any {
		return map[string]any{"condition": condition, "num_chunks": chunks}
	}
	for _, c := range []struct {
		arrays any
		dims   []any
		path   string
		want   windows
	}{
		{"any_array", []any{dim("Any", 7)}, "/a", windows{7, 7}},
		{matching("path_matches", "^/g/"), []any{dim(map[string]any{"Axis": int64(1)}, 3)}, "/g/a", windows{math.MaxUint32, 3}},
		{matching("path_matches", "^/g/"), []any{dim(map[string]any{"Axis": int64(1)}, 3)}, "/h", windows{math.MaxUint32, math.MaxUint32}},
		{matching("name_matches", "^a$"), []any{dim(map[string]any{"DimensionName": "^ti"}, 5), dim("Any", 9)}, "/g/a", windows{5, 9}},
		{map[string]any{"or": []any{matching("name_matches", "x"), "any_array"}}, []any{dim("Any", 2)}, "/a", windows{2, 2}},
		{map[string]any{"and": []any{matching("name_matches", "x"), "any_array"}}, []any{dim("Any", 2)}, "/a", windows{math.MaxUint32, math.MaxUint32}},
		{matching("name_matches", "("), []any{dim("Any", 2)}, "/a", windows{math.MaxUint32, math.MaxUint32}},
		{"any_array", []any{dim("Any", 0), dim("Any", -1), dim("Any", 1<<33)}, "/a", windows{1, 1}},
	} {
		config := map[string]any{"manifest": map[string]any{"splitting": map[string]any{"split_sizes": []any{"?", []any{c.arrays, c.dims}}}}}
		n := &format.Node{Path: c.path, Names: []*string{name("time"), nil}, Shape: make([]format.Dimension, 2)}
		if got := newWindows(splitRules(config), n, math.MaxInt); !slices.Equal(got, c.want) {
			t.Errorf("%v %v: %v, want %v", c.arrays, c.dims, got, c.want)
		}
	}
	if rules := splitRules(map[string]any{"manifest": nil}); rules != nil {
		t.Error(rules)
	}
}

// TestDefaultWindows divides grids of which some chunks are stored.
func TestDefaultWindows(t *testing.T) {
	const all, full = math.MaxUint32, fullWindow
	for _, c := range []struct {
		chunks []uint64
		refs   int
		want   windows
	}{
		{[]uint64{2 * full}, 2 * full, windows{all}},
		{[]uint64{4 * full}, 4 * full, windows{full}},
		{[]uint64{1000, 1000}, 1000 * 1000, windows{32, all}},
		{[]uint64{1001, 1001}, 1001 * 1001, windows{32, all}},
		{[]uint64{365, 100, 1000}, 365 * 100 * 1000, windows{1, 32, all}},
		{[]uint64{10000, 10000}, 4 * full, windows{2048, all}},
		{[]uint64{10000, 10000}, 1000, windows{all, all}},
	} {
		n := &format.Node{}
		for _, k := range c.chunks {
			n.Shape = append(n.Shape, format.Dimension{Chunks: k})
		}
		if got := newWindows(nil, n, c.refs); !slices.Equal(got, c.want) {
			t.Errorf("%v, %d: %v, want %v", c.chunks, c.refs, got, c.want)
		}
		// A rule that divides nothing holds as long as the manifest is no longer than an
		// object may be.
		if got := newWindows([]splitRule{}, n, c.refs); c.refs <= mostInOne == slices.ContainsFunc(got, func(k uint32) bool { return k != all }) {
			t.Errorf("%v, %d: %v by a rule", c.chunks, c.refs, got)
		}
	}
}

// plane is an array of single elements as chunks.
var plane = zarr.Spec{
	Shape: []int64{4, 4}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Every(1), grid.Every(1)},
	Codecs: []metadata.Extension{codec.Bytes("little")},
}

// span selects elements of an array of one axis.
func span(from, to int64) selection.Box { return selection.Box{{from, to}} }

// TestWindows changes chunks, shapes and windows at random. After each commit the chunks
// are those of a model, windows in which nothing has changed have the manifests that they
// had, and the log says what has changed.
func TestWindows(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	r, err := Create(t.Context(), memstore.New(), store.Path{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Session(t.Context(), "main")
	if err == nil {
		_, err = zarr.At(s, "a").CreateArray(t.Context(), plane, nil)
	}
	if err == nil {
		_, err = s.Commit(t.Context(), "empty")
	}
	if err != nil {
		t.Fatal(err)
	}
	model, shape, sizes := map[[2]int64]byte{}, []int64{4, 4}, windows{math.MaxUint32, math.MaxUint32}
	kept := 0
	for range 400 {
		if s, err = r.Session(t.Context(), "main"); err != nil {
			t.Fatal(err)
		}
		before, was := s.base.content.Nodes[1], maps.Clone(model)
		if random.IntN(10) == 0 {
			sizes = windows{1 + random.Uint32N(4), 1 + random.Uint32N(4)}
		}
		s.rules = []splitRule{{func(string) bool { return true }, []axisRule{
			{func(i int, _ *string) bool { return i == 0 }, sizes[0]}, {func(i int, _ *string) bool { return i == 1 }, sizes[1]},
		}}}
		if random.IntN(5) == 0 {
			shape = []int64{1 + random.Int64N(6), 1 + random.Int64N(6)}
			a, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
			if err == nil {
				err = a.Resize(t.Context(), shape, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			maps.DeleteFunc(model, func(i [2]int64, _ byte) bool { return i[0] >= shape[0] || i[1] >= shape[1] })
		}
		for range random.IntN(4) {
			i := [2]int64{random.Int64N(shape[0]), random.Int64N(shape[1])}
			key := store.Path{}.MustKey(fmt.Sprintf("a/c/%d/%d", i[0], i[1]))
			change := store.Delete(key)
			if delete(model, i); random.IntN(3) > 0 {
				model[i] = byte(1 + random.IntN(200))
				change = store.Put(key, []byte{model[i], 0, 0, 0})
			}
			if _, err := store.Write(t.Context(), s, change, store.Sync); err != nil {
				t.Fatal(err)
			}
		}
		id, err := s.Commit(t.Context(), "change")
		if err == ErrNothing {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		is, err := r.Snapshot(t.Context(), id.String())
		if err != nil {
			t.Fatal(err)
		}
		after := is.content.Nodes[1]
		got := map[[2]int64]byte{}
		for ref, err := range is.references(t.Context(), &after) {
			if err != nil {
				t.Fatal(err)
			}
			got[[2]int64{int64(ref.Index[0]), int64(ref.Index[1])}] = ref.Data[0]
		}
		if !maps.Equal(got, model) {
			t.Fatalf("%v, want %v", got, model)
		}
		changed := map[string]bool{}
		checkLog(t, r, id, was, model, func(i []uint32) { changed[sizes.key(i)] = true })
		kept += checkWindows(t, sizes, changed, before, after)
	}
	if kept < 100 {
		t.Errorf("%d manifests were kept", kept)
	}
}

// checkLog compares the chunks of a transaction log with two states of a model, and calls
// at for each.
func checkLog(t *testing.T, r *Repository, id ID, was, is map[[2]int64]byte, at func([]uint32)) {
	t.Helper()
	body, err := r.read(t.Context(), "transactions/"+id.String(), format.KindTransactionLog)
	if err != nil {
		t.Fatal(err)
	}
	log, err := format.ParseTransactionLog(body)
	if err != nil {
		t.Fatal(err)
	}
	got, want := map[[2]int64]bool{}, map[[2]int64]bool{}
	for _, c := range log.Chunks {
		for _, i := range c.Indices {
			got[[2]int64{int64(i[0]), int64(i[1])}] = true
			at(i)
		}
	}
	for i, v := range was {
		if is[i] != v {
			want[i] = true
		}
	}
	for i := range is {
		if was[i] == 0 {
			want[i] = true
		}
	}
	if !maps.Equal(got, want) {
		t.Fatalf("the log has %v, want %v", got, want)
	}
}

// checkWindows returns how many manifests an array has kept. It has one for each window,
// and a new one only where something has changed or the windows have.
func checkWindows(t *testing.T, sizes windows, changed map[string]bool, before, after format.Node) (kept int) {
	t.Helper()
	old, seen, whole := map[ID]bool{}, map[string]bool{}, map[string]bool{}
	crossing := false // the windows were others
	for _, m := range before.Manifests {
		old[m.ID] = true
		key, ok := sizes.around(m.Extents)
		if !ok || whole[key] || !covers(&after, m) {
			crossing = true
		}
		whole[key] = true
	}
	for _, m := range after.Manifests {
		key, ok := sizes.around(m.Extents)
		switch {
		case !ok || seen[key]:
			t.Fatalf("windows of %v: %v", sizes, after.Manifests)
		case old[m.ID]:
			kept++
		case !changed[key] && !crossing:
			t.Fatalf("a manifest of %v is new, and nothing has changed", m.Extents)
		}
		seen[key] = true
	}
	return kept
}

// TestCompactionOfTail compacts the last chunks of an array with 10^5 of them. The commit
// stores the merged chunks, and the manifest of the last window only.
func TestCompactionOfTail(t *testing.T) {
	const chunks, tail = 100_000, 64
	below := memstore.New()
	r, err := Create(t.Context(), below, store.Path{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Session(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	edges := make([]int64, chunks)
	for i := range edges {
		edges[i] = 1000
		if i >= chunks-tail {
			edges[i] = 10
		}
	}
	spec := plane
	spec.Shape, spec.Chunks = []int64{1000*(chunks-tail) + 10*tail}, []grid.Cut{grid.Edges(edges...)}
	a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]int32, 10*tail)
	for i := range values {
		values[i] = int32(i + 1)
	}
	// The chunks before are virtual: nobody may read them.
	for i := range chunks - tail {
		v := Virtual{Location: "s3://elsewhere/" + strconv.Itoa(i), Length: 4000}
		if err := s.SetVirtual(store.Path{}.MustKey("a/c/"+strconv.Itoa(i)), v); err != nil {
			t.Fatal(err)
		}
	}
	from := int64(1000 * (chunks - tail))
	if err := zarr.Write(t.Context(), a, span(from, from+10*tail), values); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), "10^5 chunks"); err != nil {
		t.Fatal(err)
	}
	names := func() map[string]int {
		count := map[string]int{}
		for e, err := range store.List(t.Context(), below, store.Path{}, store.Deep) {
			if err != nil {
				t.Fatal(err)
			}
			folder, _, _ := strings.Cut(e.Name, "/")
			count[folder]++
		}
		return count
	}
	before := names()
	if s, err = r.Session(t.Context(), "main"); err == nil {
		a, err = zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	}
	if err == nil {
		_, err = rechunk.Do(t.Context(), a, rechunk.Compaction{Axis: 0, UpTo: 320}, nil)
	}
	if err == nil {
		_, err = s.Commit(t.Context(), "compact")
	}
	if err != nil {
		t.Fatal(err)
	}
	after := names()
	for folder, want := range map[string]int{"chunks": 2, "manifests": 1, "snapshots": 1, "transactions": 1} {
		if n := after[folder] - before[folder]; n != want {
			t.Errorf("%d new objects in %s, want %d", n, folder, want)
		}
	}
	is, err := r.Snapshot(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	if a, err = zarr.At(is, "a").OpenArray(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	got, err := zarr.Read[int32](t.Context(), a, span(from, from+10*tail))
	if err != nil || !slices.Equal(got.Data, values) {
		t.Errorf("%v, %v", got.Data, err)
	}
}

// TestLaterFields commits to a repository with fields of a later version, which the
// commit would drop, and a reference that readers refuse.
func TestLaterFields(t *testing.T) {
	r, err := Create(t.Context(), memstore.New(), store.Path{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	stage := func(value byte) *Session {
		s, err := r.Session(t.Context(), "main")
		if err == nil && value == 1 {
			_, err = zarr.At(s, "a").CreateArray(t.Context(), plane, nil)
		}
		if err == nil {
			_, err = store.Write(t.Context(), s, store.Put(store.Path{}.MustKey("a/c/0/0"), []byte{value, 0, 0, 0}), store.Sync)
		}
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if _, err := stage(1).Commit(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if err := writable(&format.Repository{Later: true}); !errors.Is(err, zarr.ErrUnsupported) {
		t.Error(err)
	}
	s := stage(2)
	s.base.content.Later = true
	if _, err := s.Commit(t.Context(), "two"); !errors.Is(err, zarr.ErrUnsupported) {
		t.Error(err)
	}
	s = stage(4)
	s.set(s.place(store.Path{}.MustKey("a/c/1/1")), &format.ChunkRef{Payload: format.Native, Offset: 1 << 63, Length: 1 << 63})
	if _, err := s.Commit(t.Context(), "four"); !errors.Is(err, format.ErrDamaged) {
		t.Error(err)
	}
	s = stage(3)
	m, err := r.manifest(t.Context(), s.base.content, s.base.content.Files[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	m.Later = true
	if _, err := s.Commit(t.Context(), "three"); !errors.Is(err, zarr.ErrUnsupported) {
		t.Error(err)
	}
}
