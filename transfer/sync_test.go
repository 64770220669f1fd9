// SPDX-License-Identifier: Apache-2.0

package transfer_test

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
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/trees"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/transfer"
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
	all, want := trees.Values(t, at.Store(), at.Path()), map[string]string{}
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
	src, dst := zarr.At(from, "in/x"), zarr.At(to, "y")
	c := trees.NewChanger(t, r, src, 3-int(seed%4/3))
	if _, err := src.CreateGroup(t.Context(), nil, &zarr.CreateOptions{Options: c.Options, Format: c.Format}); err != nil {
		t.Fatal(err)
	}
	for round := range 12 {
		for range r.IntN(6) {
			c.Step()
			time.Sleep(time.Duration(r.Int64N(int64(40 * time.Second))))
		}
		opt := &transfer.SyncOptions{Delete: r.IntN(2) == 0 || round == 0, Checksum: r.IntN(3) == 0, Verify: r.IntN(2) == 0}
		plan := *opt
		plan.DryRun = true
		was := trees.Values(t, to, "")
		planned, planErr := transfer.Sync(t.Context(), src, dst, &plan)
		if d := trees.Differ(was, trees.Values(t, to, "")); d != "" {
			t.Fatalf("round %d: a dry run has changed %s", round, d)
		}
		report, err := transfer.Sync(t.Context(), src, dst, opt)
		if errors.Is(err, fs.ErrExist) && !opt.Delete && planErr != nil {
			opt.Delete = true // a group has become an array
			report, err = transfer.Sync(t.Context(), src, dst, opt)
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
		want, got := described(t, src), trees.Values(t, to, "y")
		trees.TrimDocuments(want)
		trees.TrimDocuments(got)
		if !opt.Delete {
			maps.DeleteFunc(got, func(name, _ string) bool { _, found := want[name]; return !found })
		}
		if d := trees.Differ(want, got); d != "" {
			t.Fatalf("round %d, delete is %v: differ: %s", round, opt.Delete, d)
		}
		checkNothingToDo(t, src, dst, int64(len(want)))
	}
}

// checkNothingToDo checks that a later Sync copies nothing.
func checkNothingToDo(t *testing.T, src, dst *zarr.Location, values int64) {
	t.Helper()
	for range 2 { // the first one may copy what was written within the slack
		time.Sleep(2 * copying.Slack)
		before := maps.Clone(valuesOf(t, dst))
		r, err := transfer.Sync(t.Context(), src, dst, nil)
		if err != nil || trees.Differ(before, valuesOf(t, dst)) != "" {
			t.Fatalf("a second time: %+v, %v", r, err)
		}
		if values >= 0 && r.Kept+r.New+r.Replaced > values {
			t.Fatalf("%d values, %+v", values, r)
		}
	}
	r, err := transfer.Sync(t.Context(), src, dst, nil)
	if err != nil || r.New+r.Replaced+r.Documents+r.Cleared != 0 {
		t.Fatalf("a third time: %+v, %v", r, err)
	}
}

func valuesOf(t testing.TB, at *zarr.Location) map[string]string {
	return trees.Values(t, at.Store(), at.Path())
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
	r, err := transfer.Sync(ctx, a.Location(), zarr.At(s, "mirror"), nil)
	fmt.Println(r.New, r.Documents, err)
	if err := zarr.Append(ctx, a, 0, []int8{5, 6}, nil); err != nil {
		panic(err)
	}
	// Without Checksum, what was written within the last minute is copied again.
	r, err = transfer.Sync(ctx, a.Location(), zarr.At(s, "mirror"), &transfer.SyncOptions{Checksum: true})
	fmt.Println(r.New, r.Kept, err)
	// Output:
	// 2 1 <nil>
	// 1 2 <nil>
}
