// SPDX-License-Identifier: Apache-2.0

package pyramid_test

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/pyramid"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// requests counts the requests to chunks by key.
type requests struct {
	mu            sync.Mutex
	reads, writes map[string]int
	listings      int
}

// Observe implements [observe.Observer].
func (r *requests) Observe(_ context.Context, e observe.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := e.Key.String()
	_, name, chunk := strings.Cut(key, "/c/")
	switch {
	case e.Op == observe.List:
		r.listings++
	case !chunk || name == "":
	case (e.Op == observe.Get || e.Op == observe.Read) && e.Outcome() == observe.OK:
		r.reads[key]++
	case e.Op == observe.Put || e.Op == observe.PutIf || e.Op == observe.Splice || e.Op == observe.Assemble || e.Op == observe.Patch:
		r.writes[key]++
	}
}

// watched opens an array and counts its requests from then on.
func watched(t *testing.T, s store.Store, path string) (*zarr.Array, *requests) {
	t.Helper()
	r := &requests{reads: map[string]int{}, writes: map[string]int{}}
	a, err := zarr.At(s, path).OpenArray(t.Context(), &zarr.Options{Write: true, Observer: r})
	check1(t, err)
	return a, r
}

func check1(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newImage makes an array g/image of the given shape and chunks with values that differ.
func newImage(t testing.TB, s store.Store, spec zarr.Spec) *zarr.Array {
	t.Helper()
	if spec.Type.IsZero() {
		spec.Type = dtype.Int32
	}
	a, err := zarr.At(s, "g/image").CreateArray(t.Context(), spec, nil)
	check1(t, err)
	n, _ := grid.BoxOf(spec.Shape).Len()
	data := make([]int32, n)
	for i := range data {
		data[i] = int32(i*i%1009 + 1)
	}
	check1(t, zarr.Write(t.Context(), a, nil, data))
	return a
}

func every(steps ...int64) (cuts []grid.Cut) {
	for _, n := range steps {
		cuts = append(cuts, grid.Every(n))
	}
	return cuts
}

// TestOnePass counts requests: every chunk of the array is read once, every chunk of a
// level is written once and never read. Odd chunks end within blocks.
func TestOnePass(t *testing.T) {
	for _, step := range []int64{4, 5, 7} {
		s := memstore.New()
		newImage(t, s, zarr.Spec{Shape: []int64{2, 67, 45}, Chunks: every(1, step, step)})
		a, r := watched(t, s, "g/image")
		plan, err := pyramid.Make(t.Context(), a, &pyramid.Options{Memory: 1 << 20})
		check1(t, err)
		chunks, _ := a.Grid().NumChunks()
		if int64(len(r.reads)) != chunks {
			t.Errorf("%d chunks are read, of %d", len(r.reads), chunks)
		}
		written := int64(0)
		for _, l := range plan.Levels {
			n, _ := l.Grid.NumChunks()
			written += n
		}
		if int64(len(r.writes)) != written || len(plan.Levels) < 4 {
			t.Errorf("%d chunks are written, the %d levels have %d", len(r.writes), len(plan.Levels), written)
		}
		for key, n := range r.reads {
			if n != 1 || !strings.HasPrefix(key, "g/image/") {
				t.Errorf("%s is read %d times", key, n)
			}
		}
		for key, n := range r.writes {
			if n != 1 || !strings.HasPrefix(key, "g/image_levels/") {
				t.Errorf("%s is written %d times", key, n)
			}
		}
	}
}

// TestUpdateTouchesLittle appends a plane, and overwrites a chunk in place. The pyramid
// then reads and writes only what is concerned.
func TestUpdateTouchesLittle(t *testing.T) {
	for name, first := range map[string]grid.Cut{"list": grid.Edges(2, 1, 3), "regular": grid.Every(1)} {
		t.Run(name, func(t *testing.T) {
			s := memstore.New()
			a := newImage(t, s, zarr.Spec{Shape: []int64{6, 64, 64}, Chunks: []grid.Cut{first, grid.Every(8), grid.Every(8)}})
			_, err := pyramid.Make(t.Context(), a, nil)
			check1(t, err)

			check1(t, zarr.Append(t.Context(), a, 0, repeated(64*64, 5), nil))
			a, r := watched(t, s, "g/image")
			plan, err := pyramid.Make(t.Context(), a, nil)
			check1(t, err)
			if got := made(plan); !slices.Equal(got, []int64{16, 4, 1}) || plan.Rebuild {
				t.Errorf("after an append %v tiles are made", got)
			}
			// 64 chunks of the array, and those of two levels that the next one is made
			// of.
			if reads, writes := sum(r.reads), sum(r.writes); reads != 64+16+4 || writes != 16+4+1 || r.listings > 20 {
				t.Errorf("after an append %d chunks are read, %d written, with %d listings", reads, writes, r.listings)
			}
			wantLevel(t, s, "g/image_levels/3/image", grid.Box{{Start: 6, Stop: 7}, {Start: 0, Stop: 8}, {Start: 0, Stop: 8}}, 5)

			// The elements of one chunk change in place: its version tells.
			check1(t, zarr.Write(t.Context(), a, selection.BoxOf(grid.Box{{Start: 0, Stop: 1}, {Start: 8, Stop: 16}, {Start: 8, Stop: 16}}), repeated(64, 9)))
			a, r = watched(t, s, "g/image")
			plan, err = pyramid.Make(t.Context(), a, nil)
			check1(t, err)
			if got := made(plan); !slices.Equal(got, []int64{1, 1, 1}) {
				t.Errorf("after a write %v tiles are made", got)
			}
			if reads, writes := sum(r.reads), sum(r.writes); reads != 3*4 || writes != 3 {
				t.Errorf("after a write %d chunks are read, %d written", reads, writes)
			}
			wantLevel(t, s, "g/image_levels/3/image", grid.Box{{Start: 0, Stop: 1}, {Start: 1, Stop: 2}, {Start: 1, Stop: 2}}, 9)

			a, r = watched(t, s, "g/image")
			_, err = pyramid.Make(t.Context(), a, nil)
			check1(t, err)
			if len(r.reads)+len(r.writes) != 0 {
				t.Errorf("nothing has changed, and %v are read, %v written", r.reads, r.writes)
			}
		})
	}
}

func repeated(n int, value int32) []int32 { return slices.Repeat([]int32{value}, n) }

func made(p *pyramid.Plan) (list []int64) {
	for _, l := range p.Levels {
		list = append(list, l.Made)
	}
	return list
}

func sum(counts map[string]int) (n int) {
	for _, k := range counts {
		n += k
	}
	return n
}

// wantLevel checks that a box of a level has one value.
func wantLevel(t *testing.T, s store.Store, path string, box grid.Box, value int32) {
	t.Helper()
	a, err := zarr.At(s, path).OpenArray(t.Context(), nil)
	check1(t, err)
	got, err := zarr.Read[int32](t.Context(), a, selection.BoxOf(box))
	check1(t, err)
	if slices.ContainsFunc(got.Data, func(x int32) bool { return x != value }) {
		t.Errorf("%s has %v, want %d", path, got.Data, value)
	}
}

// TestSparse makes levels of an array with a few stored chunks: others are not requested,
// and the levels have no chunks there.
func TestSparse(t *testing.T) {
	s := memstore.New()
	spec := zarr.Spec{Shape: []int64{1 << 20, 1 << 20}, Type: dtype.Int32, Chunks: every(64, 64)}
	a, err := zarr.At(s, "g/image").CreateArray(t.Context(), spec, nil)
	check1(t, err)
	for _, at := range []int64{0, 640, 1 << 19} {
		check1(t, zarr.Fill(t.Context(), a, selection.BoxOf(grid.Box{{Start: at, Stop: at + 64}, {Start: at, Stop: at + 64}}), int32(8)))
	}
	a, r := watched(t, s, "g/image")
	plan, err := pyramid.Make(t.Context(), a, nil)
	check1(t, err)
	if sum(r.reads) != 3 || len(plan.Levels) != 14 {
		t.Errorf("%d chunks are read for %d levels", sum(r.reads), len(plan.Levels))
	}
	for i, l := range plan.Levels {
		level, err := zarr.At(s, "g/"+l.Path).OpenArray(t.Context(), nil)
		check1(t, err)
		n := int64(0)
		for _, err := range level.StoredChunks(t.Context()) {
			check1(t, err)
			n++
		}
		// A mean of few elements is 0, the fill value, after some levels.
		if n != l.Tiles && i < 2 || n > l.Tiles {
			t.Errorf("%s has %d chunks, want %d", l.Path, n, l.Tiles)
		}
	}
}

// TestMetadata compares the metadata of both versions of OME-Zarr.
func TestMetadata(t *testing.T) {
	for _, tt := range []struct {
		format int
		method pyramid.Method
		before string
		want   string
	}{
		{3, pyramid.Mean, `{"a": 1}`, `{"a": 1,"ome":{"version":"0.5","multiscales":[{"name":"image","axes":[{"name":"t","type":"time"},{"name":"y","type":"space"},{"name":"x","type":"space"}],` +
			`"datasets":[{"path":"image","coordinateTransformations":[{"type":"scale","scale":[1,1,1]}]},` +
			`{"path":"image_levels/1/image","coordinateTransformations":[{"type":"scale","scale":[1,2,2]},{"type":"translation","translation":[0,0.5,0.5]}]},` +
			`{"path":"image_levels/2/image","coordinateTransformations":[{"type":"scale","scale":[1,4,4]},{"type":"translation","translation":[0,1.5,1.5]}]}],` +
			`"type":"mean","metadata":{"factors":[1,2,2],"method":"varve.dev/zarr/pyramid"}}]}}`},
		{2, pyramid.Nearest, `{}`, `{"multiscales":[{"version":"0.4","name":"image","axes":[{"name":"t","type":"time"},{"name":"y","type":"space"},{"name":"x","type":"space"}],` +
			`"datasets":[{"path":"image","coordinateTransformations":[{"type":"scale","scale":[1,1,1]}]},` +
			`{"path":"image_levels/1/image","coordinateTransformations":[{"type":"scale","scale":[1,2,2]}]},` +
			`{"path":"image_levels/2/image","coordinateTransformations":[{"type":"scale","scale":[1,4,4]}]}],` +
			`"type":"nearest","metadata":{"factors":[1,2,2],"method":"varve.dev/zarr/pyramid"}}]}`},
		// Another program has described the array: its axes and its scale stay.
		{3, pyramid.Max, `{"ome":{"version":"0.5","omero":{},"multiscales":[{"name":"n","axes":[1],"datasets":[{"path":"image","coordinateTransformations":[{"type":"scale","scale":[1,0.5,3]},{"type":"translation","translation":[0,10,0]}]}]}]}}`,
			`{"ome":{"version":"0.5","omero":{},"multiscales":[{"name":"n","axes":[1],"datasets":[{"path":"image","coordinateTransformations":[{"type":"scale","scale":[1,0.5,3]},{"type":"translation","translation":[0,10,0]}]},` +
				`{"path":"image_levels/1","coordinateTransformations":[{"type":"scale","scale":[1,1,6]},{"type":"translation","translation":[0,10.25,1.5]}]},` +
				`{"path":"image_levels/2","coordinateTransformations":[{"type":"scale","scale":[1,2,12]},{"type":"translation","translation":[0,10.75,4.5]}]}]}]}}`},
	} {
		s := memstore.New()
		_, err := zarr.At(s, "g").CreateGroup(t.Context(), []byte(tt.before), &zarr.CreateOptions{Format: tt.format})
		check1(t, err)
		a := newImage(t, s, zarr.Spec{Shape: []int64{2, 16, 16}, Chunks: every(1, 4, 4), DimensionNames: []string{"t", "y", "x"}, Format: tt.format})
		var plan *pyramid.Plan
		for range 2 { // the second time nothing changes
			plan, err = pyramid.Make(t.Context(), a, &pyramid.Options{Method: tt.method})
			check1(t, err)
			g, err := zarr.At(s, "g").OpenGroup(t.Context(), nil)
			check1(t, err)
			if got := string(g.Attributes()); fixture.Compact([]byte(got)) != fixture.Compact([]byte(tt.want)) || plan.Deviation != "" {
				t.Errorf("%s\nwant\n%s\n%s", got, tt.want, plan.Deviation)
			}
		}
		note, ok, err := metadata.Attribute(levelOf(t, s, plan.Levels[1]).Attributes(), "varve:pyramid")
		if fixture.Compact(note) != `{"of":"image","level":2,"method":"`+string(tt.method)+`","factors":[1,2,2]}` || !ok || err != nil {
			t.Errorf("the level has the note %s (%v)", note, err)
		}
	}
}

func levelOf(t *testing.T, s store.Store, level pyramid.Level) *zarr.Array {
	t.Helper()
	a, err := zarr.At(s, "g/"+level.Path).OpenArray(t.Context(), nil)
	check1(t, err)
	return a
}

// TestOtherRequests makes the pyramid with another method, other factors, fewer and more
// levels. The metadata name what is there.
func TestOtherRequests(t *testing.T) {
	s := memstore.New()
	a := newImage(t, s, zarr.Spec{Shape: []int64{32, 32}, Chunks: every(4, 4)})
	for _, tt := range []struct {
		opt     pyramid.Options
		levels  int
		rebuild bool
	}{
		{pyramid.Options{}, 3, true},
		{pyramid.Options{Levels: 1}, 1, false},
		{pyramid.Options{Levels: 5}, 5, false},
		{pyramid.Options{}, 5, false}, // as the last time
		{pyramid.Options{Method: pyramid.Max, Levels: 2}, 2, true},
		{pyramid.Options{Factors: []int64{4, 4}}, 2, true},
		{pyramid.Options{Method: pyramid.Max, Factors: []int64{4, 4}}, 2, false},
		{pyramid.Options{Levels: -1}, 0, false},
		{pyramid.Options{Factors: []int64{1, 3}, Levels: 1}, 1, true},
	} {
		plan, err := pyramid.Make(t.Context(), a, &tt.opt)
		check1(t, err)
		if len(plan.Levels) != tt.levels || plan.Rebuild != tt.rebuild {
			t.Errorf("%v gives %d levels, rebuilt: %v", tt.opt, len(plan.Levels), plan.Rebuild)
		}
		if got := named(t, s); len(got) != tt.levels+1 && tt.levels > 0 {
			t.Errorf("%v names %v", tt.opt, got)
		}
		for k := 1; k <= 6; k++ {
			_, err := zarr.At(s, "g/"+expected("image", k-1)).OpenArray(t.Context(), nil)
			if there := err == nil; there != (k <= tt.levels) {
				t.Errorf("%v: level %d is there: %v", tt.opt, k, there)
			}
		}
	}
}

// TestNumbersOfReaders makes levels of numbers that readers see otherwise than they are
// stored: unsigned ones, and those with a negative scale.
func TestNumbersOfReaders(t *testing.T) {
	for _, tt := range []struct {
		attributes string
		method     pyramid.Method
		want       []int8
	}{
		{`{"_Unsigned":"true"}`, pyramid.Mean, []int8{-128, -124}}, // 127.5 and 132.5
		{`{"_Unsigned":"true"}`, pyramid.Min, []int8{127, 10}},
		{`{"_Unsigned":"true"}`, pyramid.Max, []int8{-128, -1}},
		{`{"scale_factor":-1}`, pyramid.Min, []int8{127, 10}},
		{`{"scale_factor":-1}`, pyramid.Max, []int8{-128, -1}},
		{`{"scale_factor":2}`, pyramid.Max, []int8{127, 10}},
	} {
		s := memstore.New()
		_, err := zarr.At(s, "g").CreateGroup(t.Context(), nil, nil)
		check1(t, err)
		a, err := zarr.At(s, "g/v").CreateArray(t.Context(), zarr.Spec{
			Shape: []int64{2, 2}, Type: dtype.Int8, Chunks: every(2, 2), Attributes: []byte(tt.attributes),
		}, nil)
		check1(t, err)
		check1(t, zarr.Write(t.Context(), a, nil, []int8{127, -128, 10, -1}))
		opt := &pyramid.Options{Method: tt.method, Factors: []int64{1, 2}, Levels: 1}
		plan, err := pyramid.Make(t.Context(), a, opt)
		check1(t, err)
		got, err := zarr.Read[int8](t.Context(), levelOf(t, s, plan.Levels[0]), nil)
		check1(t, err)
		if !slices.Equal(got.Data, tt.want) {
			t.Errorf("%s of %s: %v, want %v", tt.method, tt.attributes, got.Data, tt.want)
		}
		// The record of another meaning is none.
		check1(t, a.UpdateAttributes(t.Context(), func([]byte) ([]byte, error) { return []byte(`{}`), nil }))
		if plan, err = pyramid.Make(t.Context(), a, opt); err != nil || plan.Rebuild != (tt.attributes != `{"scale_factor":2}`) {
			t.Errorf("%s of %s: rebuilt %t (%v)", tt.method, tt.attributes, plan.Rebuild, err)
		}
	}
}

// TestUsualMethod makes levels without a method: by the mode for names of things.
func TestUsualMethod(t *testing.T) {
	for _, tt := range []struct {
		group, attributes string
		of                dtype.Type
		want              pyramid.Method
	}{
		{`{}`, `{}`, dtype.Uint8, pyramid.Mean},
		{`{}`, `{}`, dtype.Bool, pyramid.Mode},
		{`{}`, `{"flag_values":[1,3]}`, dtype.Uint8, pyramid.Mode},
		{`{}`, `{"flag_masks":[1,2]}`, dtype.Uint8, pyramid.Mode},
		{`{"ome":{"version":"0.5","image-label":{}}}`, `{}`, dtype.Uint8, pyramid.Mode},
	} {
		s := memstore.New()
		_, err := zarr.At(s, "g").CreateGroup(t.Context(), []byte(tt.group), nil)
		check1(t, err)
		a, err := zarr.At(s, "g/v").CreateArray(t.Context(), zarr.Spec{Shape: []int64{4, 4}, Type: tt.of, Chunks: every(2, 2), Attributes: []byte(tt.attributes)}, nil)
		check1(t, err)
		for _, method := range []pyramid.Method{"", pyramid.Max, ""} {
			plan, err := pyramid.Make(t.Context(), a, &pyramid.Options{Method: method})
			check1(t, err)
			if want := cmp.Or(method, tt.want); plan.Method != want {
				t.Errorf("%+v: %s, want %s", tt, plan.Method, want)
			}
			tt.want = plan.Method // that of the last time
		}
	}
}

// TestEmptyArray makes the levels of arrays without elements.
func TestEmptyArray(t *testing.T) {
	for levels, want := range map[int]int{0: 0, 2: 2, -1: 0} {
		s := memstore.New()
		_, err := zarr.At(s, "g").CreateGroup(t.Context(), nil, nil)
		check1(t, err)
		a, err := zarr.At(s, "g/v").CreateArray(t.Context(), zarr.Spec{Shape: []int64{0, 3}, Type: dtype.Uint8, Chunks: every(1, 1)}, nil)
		check1(t, err)
		plan, err := pyramid.Make(t.Context(), a, &pyramid.Options{Levels: levels})
		if err != nil || len(plan.Levels) != want {
			t.Errorf("%d levels: %+v (%v)", levels, plan, err)
		}
	}
}

// named returns the paths that the metadata of the group name.
func named(t *testing.T, s store.Store) []string {
	t.Helper()
	g, err := zarr.At(s, "g").OpenGroup(t.Context(), nil)
	check1(t, err)
	var paths []string
	for part := range strings.SplitSeq(fixture.Compact(g.Attributes()), `"path":"`) {
		if path, _, ok := strings.Cut(part, `","coord`); ok {
			paths = append(paths, path)
		}
	}
	return paths
}

// TestBase finds the array of a group.
func TestBase(t *testing.T) {
	s := memstore.New()
	a := newImage(t, s, zarr.Spec{Shape: []int64{8, 8}, Chunks: every(4, 4)})
	find := func() (*zarr.Array, error) {
		g, err := zarr.At(s, "g").OpenGroup(t.Context(), nil)
		check1(t, err)
		return pyramid.Base(t.Context(), g)
	}
	for range 2 {
		if b, err := find(); err != nil || b.Path() != "g/image" {
			t.Errorf("%v, %v", b, err)
		}
		_, err := pyramid.Make(t.Context(), a, nil) // the second time, the metadata tell
		check1(t, err)
		_, err = zarr.At(s, "g/other").CreateArray(t.Context(), zarr.Spec{Shape: []int64{1}, Type: a.Type()}, &zarr.CreateOptions{Overwrite: true})
		check1(t, err)
	}
	g, err := zarr.At(s, "g").OpenGroup(t.Context(), &zarr.Options{Write: true})
	check1(t, err)
	check1(t, g.UpdateAttributes(t.Context(), func([]byte) ([]byte, error) { return []byte("{}"), nil }))
	if _, err := find(); !errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), "several arrays") {
		t.Error(err)
	}
}

// TestRefusals lists what is refused, and leaves nothing behind.
func TestRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		spec   zarr.Spec
		path   string
		opt    pyramid.Options
		target error
		text   string
	}{
		"root":     {zarr.Spec{Shape: []int64{8}, Type: dtype.Int8}, "", pyramid.Options{}, zarr.ErrInvalidArgument, "varve copy"},
		"method":   {zarr.Spec{Shape: []int64{8}, Type: dtype.Int8}, "g/a", pyramid.Options{Method: "median"}, zarr.ErrInvalidArgument, "median"},
		"text":     {zarr.Spec{Shape: []int64{8}, Type: dtype.String}, "g/a", pyramid.Options{}, zarr.ErrUnsupported, "fixed size"},
		"bool":     {zarr.Spec{Shape: []int64{8}, Type: dtype.Bool}, "g/a", pyramid.Options{Method: pyramid.Mean}, zarr.ErrInvalidArgument, "nearest"},
		"factors":  {zarr.Spec{Shape: []int64{8}, Type: dtype.Int8}, "g/a", pyramid.Options{Factors: []int64{2, 2}}, zarr.ErrInvalidArgument, "1 axis"},
		"factor 0": {zarr.Spec{Shape: []int64{8}, Type: dtype.Int8}, "g/a", pyramid.Options{Factors: []int64{0}}, zarr.ErrInvalidArgument, "axis 0"},
		"ones":     {zarr.Spec{Shape: []int64{8}, Type: dtype.Int8}, "g/a", pyramid.Options{Factors: []int64{1}}, zarr.ErrInvalidArgument, "no axis is divided"},
		"huge":     {zarr.Spec{Shape: []int64{8}, Type: dtype.Int8}, "g/a", pyramid.Options{Factors: []int64{1 << 40}}, zarr.ErrInvalidArgument, "blocks"},
		"scalar":   {zarr.Spec{Type: dtype.Int8}, "g/a", pyramid.Options{}, zarr.ErrInvalidArgument, "no axis is divided"},
		"memory":   {zarr.Spec{Shape: []int64{8, 8}, Type: dtype.Int8, Chunks: every(4, 4)}, "g/a", pyramid.Options{Memory: 8}, zarr.ErrLimit, "Memory is 8"},
	} {
		s := memstore.New()
		a, err := zarr.At(s, tt.path).CreateArray(t.Context(), tt.spec, nil)
		check1(t, err)
		before := keysOf(t, s)
		_, err = pyramid.Make(t.Context(), a, &tt.opt)
		if !errors.Is(err, tt.target) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v", name, err)
		}
		if after := keysOf(t, s); !slices.Equal(after, before) {
			t.Errorf("%s: left %v, had %v", name, after, before)
		}
	}
}

// keysOf returns the keys of a store.
func keysOf(t *testing.T, s store.Store) (keys []string) {
	t.Helper()
	for e, err := range store.List(t.Context(), s, store.Path{}, store.Deep) {
		check1(t, err)
		keys = append(keys, e.Name)
	}
	slices.Sort(keys)
	return keys
}

// TestForeignLevel refuses a place that another program uses.
func TestForeignLevel(t *testing.T) {
	s := memstore.New()
	a := newImage(t, s, zarr.Spec{Shape: []int64{16, 16}, Chunks: every(4, 4)})
	_, err := zarr.At(s, "g/image_levels/2").CreateArray(t.Context(), zarr.Spec{Shape: []int64{4, 4}, Type: a.Type()}, nil)
	check1(t, err)
	if _, err := pyramid.Make(t.Context(), a, nil); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "image_levels/2") {
		t.Error(err)
	}
	g, err := zarr.At(s, "g").OpenGroup(t.Context(), nil)
	check1(t, err)
	if string(g.Attributes()) != "{}" {
		t.Errorf("%s", g.Attributes())
	}
	// Beyond the levels it does no harm.
	_, err = pyramid.Make(t.Context(), a, &pyramid.Options{Levels: 1})
	check1(t, err)
}

// TestTwoAtOnce makes the same pyramid twice at the same time: one of them tells.
func TestTwoAtOnce(t *testing.T) {
	s := memstore.New()
	a := newImage(t, s, zarr.Spec{Shape: []int64{16, 16}, Chunks: every(4, 4)})
	_, err := pyramid.Make(t.Context(), a, nil)
	check1(t, err)
	check1(t, zarr.Fill(t.Context(), a, nil, int32(3)))
	once := false
	_, err = pyramid.Make(t.Context(), a, &pyramid.Options{Progress: func(done, total int64) {
		if !once {
			once = true
			_, err := pyramid.Make(t.Context(), a, nil)
			check1(t, err)
		}
	}})
	if !errors.Is(err, zarr.ErrConflict) || !strings.Contains(err.Error(), "make it again") {
		t.Error(err)
	}
	_, err = pyramid.Make(t.Context(), a, nil)
	check1(t, err)
	wantLevel(t, s, "g/image_levels/2/image", grid.BoxOf([]int64{4, 4}), 3)
}

// TestLeftLevel finds a level that an interrupted call has made of elements that are
// gone.
func TestLeftLevel(t *testing.T) {
	s := memstore.New()
	a := newImage(t, s, zarr.Spec{Shape: []int64{16, 16}, Chunks: every(4, 4)})
	_, err := pyramid.Make(t.Context(), a, &pyramid.Options{Levels: 1})
	check1(t, err)
	const key = "g/image_levels/1/image/__varve/pyramid.json"
	before, _, err := s.Get(t.Context(), store.MustKey(key), store.Request{}, nil)
	check1(t, err)
	_, err = pyramid.Make(t.Context(), a, &pyramid.Options{Levels: 2})
	check1(t, err)
	fixture.Put(t, s, key, string(before))
	check1(t, zarr.Fill(t.Context(), a, nil, int32(0)))
	_, err = pyramid.Make(t.Context(), a, &pyramid.Options{Levels: 2})
	check1(t, err)
	wantLevel(t, s, "g/image_levels/1/image", grid.BoxOf([]int64{8, 8}), 0)
	wantLevel(t, s, "g/image_levels/2/image", grid.BoxOf([]int64{4, 4}), 0)
}

// TestGrowthWithoutChunks grows an array by elements that are not stored. A tile of the
// second level is made of more elements then, although no tile below it has changed.
func TestGrowthWithoutChunks(t *testing.T) {
	s := memstore.New()
	a, err := zarr.At(s, "g/image").CreateArray(t.Context(), zarr.Spec{Shape: []int64{2}, Type: dtype.Int32, Chunks: every(1)}, nil)
	check1(t, err)
	check1(t, zarr.Write(t.Context(), a, nil, []int32{8, 8}))
	_, err = pyramid.Make(t.Context(), a, &pyramid.Options{Levels: 2})
	check1(t, err)
	check1(t, a.Resize(t.Context(), []int64{3}, nil))
	_, err = pyramid.Make(t.Context(), a, nil)
	check1(t, err)
	wantLevel(t, s, "g/image_levels/2/image", grid.BoxOf([]int64{1}), 4)
}

// TestDamagedRecord makes everything anew if the record is damaged.
func TestDamagedRecord(t *testing.T) {
	s := memstore.New()
	a := newImage(t, s, zarr.Spec{Shape: []int64{16, 16}, Chunks: every(4, 4)})
	want, err := pyramid.Make(t.Context(), a, nil)
	check1(t, err)
	const key = "g/image_levels/1/image/__varve/pyramid.json"
	data, _, err := s.Get(t.Context(), store.MustKey(key), store.Request{}, nil)
	check1(t, err)
	for n := range len(data) {
		fixture.Put(t, s, key, string(data[:n]))
		plan, err := pyramid.NewPlan(t.Context(), a, nil)
		check1(t, err)
		if !plan.Rebuild || !slices.Equal(made(plan), made(want)) {
			t.Fatalf("with %d bytes of the record %v are made", n, made(plan))
		}
	}
}
