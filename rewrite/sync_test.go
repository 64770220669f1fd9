// SPDX-License-Identifier: Apache-2.0

package rewrite_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/rewrite"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// arraysOf returns the arrays below a place by their paths.
func arraysOf(ctx context.Context, at *zarr.Location, opt *zarr.Options) (map[string]*zarr.Array, error) {
	n, err := at.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	all := map[string]*zarr.Array{}
	g, isGroup := n.(*zarr.Group)
	if !isGroup {
		all[""] = n.(*zarr.Array)
		return all, nil
	}
	var collect func(dir string, g *zarr.Group) error
	collect = func(dir string, g *zarr.Group) error {
		for m, err := range g.Members(ctx, false) {
			if err = errors.Join(err, m.Err); err != nil {
				return fmt.Errorf("%s%s: %w", dir, m.Path, err)
			}
			switch n := m.Node.(type) {
			case *zarr.Array:
				if all[dir+m.Path], err = at.At(dir+m.Path).OpenArray(ctx, opt); err != nil {
					return err
				}
			case *zarr.Group:
				if err := collect(dir+m.Path+"/", n); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return all, collect("", g)
}

// unequal describes how what two places have differs for readers, or returns "".
func unequal(ctx context.Context, a, b *zarr.Location) string {
	x, err := arraysOf(ctx, a, nil)
	if err != nil {
		return "source: " + err.Error()
	}
	for name, p := range x {
		q, err := b.At(name).OpenArray(ctx, nil)
		if err != nil {
			return "destination: " + err.Error()
		}
		d, err := zarr.Compare(ctx, p, q)
		if d != nil || err != nil || string(p.Metadata().Attributes) != string(q.Metadata().Attributes) {
			return fmt.Sprintf("%s: %v, %v", name, d, err)
		}
	}
	return ""
}

// described returns the keys and values that the documents below a place describe.
func described(t testing.TB, at *zarr.Location) map[string]string {
	all, want := values(t, at.Store(), at.Path()), map[string]string{}
	arrays, err := arraysOf(t.Context(), at, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range all {
		if base := name[strings.LastIndexByte(name, '/')+1:]; slices.Contains([]string{"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"}, base) {
			want[name] = v
		}
	}
	for _, a := range arrays {
		for c := range a.Chunks() {
			key := strings.TrimPrefix(strings.TrimPrefix(c.Key, at.Path()), "/")
			if v, found := all[key]; found {
				want[key] = v
			}
		}
	}
	return want
}

// trimDocuments removes the trails of documents in stores without locks.
func trimDocuments(all map[string]string) {
	for name, v := range all {
		if strings.HasSuffix(name, "zarr.json") || strings.Contains(name, ".z") {
			all[name] = strings.TrimRight(v, " \t\n")
		}
	}
}

// changer changes a hierarchy at random.
type changer struct {
	t    *testing.T
	rand *rand.Rand
	at   *zarr.Location
	opt  zarr.Options

	format int
}

var changerPaths = []string{"a", "b", "g/a", "g/h/c", "g"}

func (c *changer) step() {
	ctx := c.t.Context()
	path := changerPaths[c.rand.IntN(len(changerPaths))]
	n, err := c.at.At(path).Open(ctx, &c.opt)
	if errors.Is(err, fs.ErrNotExist) {
		c.must("create", c.create(path))
		return
	}
	c.must("open", err)
	a, isArray := n.(*zarr.Array)
	switch k := c.rand.IntN(10); {
	case k == 0:
		c.must("delete", c.at.At(path).Delete(ctx, &c.opt))
	case !isArray:
		c.must("set", n.(*zarr.Group).UpdateAttributes(ctx, c.attributes))
	default:
		c.change(a, k)
	}
}

func (c *changer) attributes([]byte) ([]byte, error) {
	return fmt.Appendf(nil, `{"n": %d}`, c.rand.IntN(100)), nil
}

func (c *changer) must(what string, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
}

func (c *changer) create(path string) error {
	ctx := c.t.Context()
	spec := zarr.Spec{Type: dtype.Int32, FillValue: zarr.FillJSON(fmt.Sprint(c.rand.IntN(2))), KeyEncoding: metadata.KeyEncoding(c.rand.IntN(4))}
	for range 1 + c.rand.IntN(2) {
		spec.Shape = append(spec.Shape, int64(c.rand.IntN(12)))
		cut := grid.Every(int64(1 + c.rand.IntN(4)))
		if c.rand.IntN(2) == 0 && c.format == 3 {
			cut = grid.Edges(2, 3, 8)
		}
		spec.Chunks = append(spec.Chunks, cut)
	}
	// The encoders of zstd are shared with other tests, which have another clock.
	spec.Codecs = []metadata.Extension{{Name: "bytes", Configuration: []byte(`{"endian":"little"}`)}}
	if c.rand.IntN(3) == 0 {
		spec.Codecs = append(spec.Codecs, metadata.Extension{Name: "gzip", Configuration: []byte(`{"level":1}`)})
	}
	o := &zarr.CreateOptions{Options: c.opt, Format: c.format}
	if c.format == 2 {
		spec.KeyEncoding = metadata.V2Dot + metadata.KeyEncoding(c.rand.IntN(2))
	}
	if path == "g" {
		_, err := c.at.At(path).CreateGroup(ctx, nil, o)
		return err
	}
	a, err := c.at.At(path).CreateArray(ctx, spec, o)
	if err == nil {
		c.write(a)
	}
	return err
}

// write writes a random box, perhaps of fill values.
func (c *changer) write(a *zarr.Array) {
	box, n := selection.Box{}, int64(1)
	for _, extent := range a.Shape() {
		start := c.rand.Int64N(extent + 1)
		stop := start + c.rand.Int64N(extent-start+1)
		box, n = append(box, [2]int64{start, stop}), n*(stop-start)
	}
	v, same := make([]int32, n), c.rand.IntN(3) == 0 // perhaps of fill values only
	for i := range v {
		if v[i] = c.rand.Int32N(2) * c.rand.Int32N(50); same {
			v[i] = v[0] % 2
		}
	}
	c.must("write", zarr.Write(c.t.Context(), a, box, v))
}

// change changes an array in the way of a number.
func (c *changer) change(a *zarr.Array, k int) {
	ctx := c.t.Context()
	rank := a.Rank()
	switch k {
	case 1:
		n := int64(1 + c.rand.IntN(4))
		for i, extent := range a.Shape() {
			if i > 0 {
				n *= extent
			}
		}
		v := make([]int32, n)
		for i := range v {
			v[i] = c.rand.Int32N(50)
		}
		if n > 0 {
			c.must("append", zarr.Append(ctx, a, 0, v, nil))
		}
	case 2, 3:
		shape := make([]int64, rank)
		for i := range shape {
			shape[i] = c.rand.Int64N(15)
		}
		shrinks := []grid.Shrink{grid.KeepEdges, grid.TrimEdges, grid.TrimExact}
		err := a.Resize(ctx, shape, &zarr.ResizeOptions{Shrink: shrinks[c.rand.IntN(3)]})
		if !errors.Is(err, zarr.ErrInvalidArgument) { // a regular axis is not trimmed
			c.must("resize", err)
		}
	case 4:
		_, err := rechunk.Do(ctx, a, rechunk.Compaction{UpTo: int64(2 + c.rand.IntN(6))}, nil)
		c.rechunked("compact", err)
	case 5:
		cuts := rechunk.Cuts{}
		for range rank {
			cuts = append(cuts, grid.Every(int64(1+c.rand.IntN(5))))
		}
		_, err := rechunk.Do(ctx, a, rechunk.Rechunking{Chunks: cuts}, nil)
		c.rechunked("rechunk", err)
	case 6:
		_, err := rechunk.Vacuum(ctx, a, &rechunk.VacuumOptions{Grace: -1})
		c.must("vacuum", err)
	case 7:
		c.rechunked("unlock", a.MakeRectilinear(ctx, &zarr.RectilinearOptions{Trim: c.rand.IntN(2) == 0}))
	case 8:
		c.must("set", a.UpdateAttributes(ctx, c.attributes))
	default:
		c.write(a)
	}
}

// rechunked permits that no keys are free, and that format 2 has no such grid.
func (c *changer) rechunked(what string, err error) {
	if errors.Is(err, zarr.ErrInvalidArgument) || errors.Is(err, zarr.ErrConflict) || errors.Is(err, zarr.ErrUnsupported) {
		return
	}
	c.must(what, err)
}

// TestSync changes a hierarchy at random, and makes another one equal to it from time to
// time, in stores with locks and without.
func TestSync(t *testing.T) {
	seeds := fixture.Soaked(t, 30, 1000)
	if racing.Detector {
		seeds = 12 // every kind of store, with what the others share
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { syncAtRandom(t, seed) }) })
	}
}

func syncAtRandom(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 18))
	var from, to store.Store = memstore.New(), memstore.New()
	if seed%3 == 1 {
		from = fixture.Conditional(from)
	}
	if seed%3 == 2 {
		to = fixture.Conditional(to)
	}
	src, dst := at(from, "in/x"), at(to, "y")
	c := &changer{t, r, src, zarr.Options{Write: true}, 3 - int(seed%4/3)}
	if _, err := src.CreateGroup(t.Context(), nil, &zarr.CreateOptions{Options: c.opt, Format: c.format}); err != nil {
		t.Fatal(err)
	}
	for round := range 12 {
		for range r.IntN(6) {
			c.step()
			time.Sleep(time.Duration(r.Int64N(int64(40 * time.Second))))
		}
		opt := &rewrite.SyncOptions{Delete: r.IntN(2) == 0 || round == 0, Checksum: r.IntN(3) == 0, Verify: r.IntN(2) == 0}
		plan := *opt
		plan.DryRun = true
		was := values(t, to, "")
		planned, planErr := rewrite.Sync(t.Context(), src, dst, &plan)
		if d := differ(was, values(t, to, "")); d != "" {
			t.Fatalf("round %d: a dry run has changed %s", round, d)
		}
		report, err := rewrite.Sync(t.Context(), src, dst, opt)
		if errors.Is(err, fs.ErrExist) && !opt.Delete && planErr != nil {
			opt.Delete = true // a group has become an array
			report, err = rewrite.Sync(t.Context(), src, dst, opt)
		} else if planErr != nil {
			t.Fatalf("round %d: the plan: %v", round, planErr)
		} else if planned.Documents != report.Documents || planned.Bytes != report.Bytes || planned.New+planned.Replaced != report.New+report.Replaced {
			if len(report.ReplacedNodes) == 0 {
				t.Errorf("round %d: %+v, the plan was %+v", round, report, planned)
			}
		}
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if d := unequal(t.Context(), src, dst); d != "" {
			t.Fatalf("round %d, delete is %v, checksum is %v: %s", round, opt.Delete, opt.Checksum, d)
		}
		want, got := described(t, src), values(t, to, "y")
		trimDocuments(want)
		trimDocuments(got)
		if !opt.Delete {
			maps.DeleteFunc(got, func(name, _ string) bool { _, found := want[name]; return !found })
		}
		if d := differ(want, got); d != "" {
			t.Fatalf("round %d, delete is %v: differ: %s", round, opt.Delete, d)
		}
		checkNothingToDo(t, src, dst, int64(len(want)))
	}
}

// checkNothingToDo checks that a later Sync copies nothing.
func checkNothingToDo(t *testing.T, src, dst *zarr.Location, values int64) {
	t.Helper()
	for range 2 { // the first one may copy what was written within the slack
		time.Sleep(2 * rewrite.SyncSlack)
		before := maps.Clone(valuesOf(t, dst))
		r, err := rewrite.Sync(t.Context(), src, dst, nil)
		if err != nil || differ(before, valuesOf(t, dst)) != "" {
			t.Fatalf("a second time: %+v, %v", r, err)
		}
		if values >= 0 && r.Kept+r.New+r.Replaced > values {
			t.Fatalf("%d values, %+v", values, r)
		}
	}
	r, err := rewrite.Sync(t.Context(), src, dst, nil)
	if err != nil || r.New+r.Replaced+r.Documents+r.Cleared != 0 {
		t.Fatalf("a third time: %+v, %v", r, err)
	}
}

func valuesOf(t testing.TB, at *zarr.Location) map[string]string {
	return values(t, at.Store(), at.Path())
}

func ExampleSync() {
	ctx, s := context.Background(), memstore.New()
	spec := zarr.Spec{Shape: []int64{4}, Type: dtype.Int8, Chunks: []grid.Cut{grid.Every(2)}}
	a, err := zarr.At(s, "days").CreateArray(ctx, spec, nil)
	if err != nil {
		panic(err)
	}
	if err := zarr.Write(ctx, a, nil, []int8{1, 2, 3, 4}); err != nil {
		panic(err)
	}
	r, err := rewrite.Sync(ctx, a.Location(), zarr.At(s, "mirror"), nil)
	fmt.Println(r.New, r.Documents, err)
	if err := zarr.Append(ctx, a, 0, []int8{5, 6}, nil); err != nil {
		panic(err)
	}
	// Without Checksum, what was written within the last minute is copied again.
	r, err = rewrite.Sync(ctx, a.Location(), zarr.At(s, "mirror"), &rewrite.SyncOptions{Checksum: true})
	fmt.Println(r.New, r.Kept, err)
	// Output:
	// 2 1 <nil>
	// 1 2 <nil>
}
