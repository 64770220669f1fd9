// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/trees"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
)

// converted returns what a conversion without parts makes of a node.
func converted(t *testing.T, from store.Store, format int) map[string]string {
	t.Helper()
	to := memtest.New()
	if _, err := convert.ConvertTo(t.Context(), zarr.At(from, "x"), zarr.At(to, "y"), format, &convert.Options{FillAll: true}); err != nil {
		t.Fatal(err)
	}
	return trees.Values(t, to, "")
}

// TestConvertShares changes a hierarchy at random while parts convert it. The call that
// publishes makes what a conversion of the last state makes.
func TestConvertShares(t *testing.T) {
	seeds := fixture.Soaked(t, 40, 3000)
	if racing.Detector {
		seeds = 8
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { convertAtRandom(t, seed) }) })
	}
}

func convertAtRandom(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 19))
	from, to := memtest.New(), memtest.New()
	c := trees.NewChanger(t, r, zarr.At(from, "x"), 3-int(seed%3/2))
	if _, err := zarr.At(from, "x").CreateGroup(t.Context(), nil, &zarr.CreateOptions{Options: c.Options, Format: c.Format}); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		c.Step()
	}
	do := func(to store.Store, o *convert.Options) error {
		o.FillAll = true
		_, err := convert.ConvertTo(t.Context(), zarr.At(from, "x"), zarr.At(to, "deep/y"), 5-c.Format, o)
		return err
	}
	parts, refused := 0, 0
	for range 3 {
		time.Sleep(time.Duration(r.Int64N(int64(3 * time.Minute))))
		of := int64(1 + r.IntN(3))
		for range r.IntN(4) {
			share := &transfer.Share{Task: r.Int64N(of), Of: of}
			err := do(to, &convert.Options{Share: share})
			if err == nil {
				parts++
			} else if refused++; !errors.Is(err, zarr.ErrConflict) {
				t.Fatal(err)
			}
			if r.IntN(2) == 0 {
				c.Step()
			}
			time.Sleep(time.Duration(r.Int64N(int64(time.Minute))))
		}
	}
	plain := memtest.New()
	want := do(plain, &convert.Options{})
	err := do(to, &convert.Options{Resume: true})
	if want != nil {
		if err == nil {
			t.Fatalf("it is converted, but without parts it is not: %v", want)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if d := trees.Differ(trees.Values(t, plain, ""), trees.Values(t, to, "")); d != "" {
		t.Fatalf("%d parts: %s", parts, d)
	}
}

// TestConvertOtherChunks rechunks arrays after a part has converted them, with chunks
// that seem to be older than what the part has stored: times tell nothing.
func TestConvertOtherChunks(t *testing.T) {
	for name, change := range map[string]func(ctx context.Context, a *zarr.Array) error{
		"other grid": func(ctx context.Context, a *zarr.Array) error {
			_, err := rechunk.Do(ctx, a, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(3)}}, nil)
			return err
		},
		"longer": func(ctx context.Context, a *zarr.Array) error {
			return zarr.Append(ctx, a, 0, trees.Counting(12, 30), &zarr.AppendOptions{Grow: grid.Fixed(7)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			left, to := memtest.New(), memtest.New()
			from := trees.Aged{Store: left}
			spec := trees.Plain(12, 2)
			if name == "longer" {
				spec.Chunks = []grid.Cut{grid.Edges(5, 7)}
			}
			a, err := zarr.At(left, "x").CreateArray(t.Context(), spec, nil)
			if err == nil {
				err = zarr.Write(t.Context(), a, nil, trees.Counting(0, 12))
			}
			if err != nil {
				t.Fatal(err)
			}
			part := func() (convert.Conversion, error) {
				return convert.ConvertTo(t.Context(), zarr.At(from, "x"), zarr.At(to, "y"), 2, &convert.Options{Share: &transfer.Share{}})
			}
			r, err := part()
			if err != nil || r.Values == 0 || r.Kept != 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			if again, err := part(); err != nil || again.Values != 0 || again.Kept != r.Values {
				t.Fatalf("%+v, %v", again, err)
			}
			if err := change(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			before := trees.Values(t, to, "")
			if _, err := part(); !errors.Is(err, zarr.ErrConflict) {
				t.Errorf("another part: %v", err)
			}
			plan, err := convert.ConvertTo(t.Context(), zarr.At(from, "x"), zarr.At(to, "y"), 2, &convert.Options{Resume: true, DryRun: true})
			if err != nil || plan.Kept != 0 || plan.Values == 0 {
				t.Errorf("the plan: %+v, %v", plan, err)
			}
			for name, text := range before {
				if now := trees.Values(t, to, "")[name]; now != text {
					t.Errorf("%s is %q, was %q", name, now, text)
				}
			}
			if _, err := convert.ConvertTo(t.Context(), zarr.At(from, "x"), zarr.At(to, "y"), 2, &convert.Options{Resume: true}); err != nil {
				t.Fatal(err)
			}
			if d := trees.Differ(converted(t, left, 2), trees.Values(t, to, "")); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestConvertResumed deletes, replaces and adds chunks and arrays between parts and the
// publication, and checks that nothing else is made again.
func TestConvertResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := memtest.New(), memtest.New()
		if _, err := zarr.At(from, "x").CreateGroup(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
		trees.Numbered(t, zarr.At(from, "x/a"), 12)
		trees.Numbered(t, zarr.At(from, "x/gone"), 12)
		spec := trees.Plain(12, 0)
		spec.Chunks = []grid.Cut{grid.Edges(4, 2, 2, 4)}
		b, err := zarr.At(from, "x/b").CreateArray(t.Context(), spec, nil)
		if err == nil {
			err = zarr.Write(t.Context(), b, nil, trees.Counting(0, 12))
		}
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * copying.Slack)
		o := &convert.Options{Share: &transfer.Share{Of: 1}}
		if r, err := convert.ConvertTo(t.Context(), zarr.At(from, "x"), zarr.At(to, "y"), 2, o); err != nil || r.Kept != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		time.Sleep(2 * copying.Slack)
		if err := zarr.At(from, "x/gone").Delete(t.Context(), &zarr.Options{Write: true}); err != nil {
			t.Fatal(err)
		}
		trees.Numbered(t, zarr.At(from, "x/new"), 4)
		// One chunk becomes fill values, which are not stored.
		a, err := zarr.At(from, "x/a").OpenArray(t.Context(), &zarr.Options{Write: true})
		if err == nil {
			err = zarr.Write(t.Context(), a, selection.Box{{0, 2}}, []int32{-1, -1})
		}
		if err == nil {
			err = zarr.Write(t.Context(), a, selection.Box{{4, 6}}, []int32{9, 9})
		}
		if err == nil {
			err = zarr.Write(t.Context(), b, selection.Box{{0, 4}}, []int32{-1, -1, -1, -1})
		}
		if err != nil {
			t.Fatal(err)
		}
		stray := store.MustKey("y/a/9/9")
		if _, err := store.Write(t.Context(), to, store.Put(stray, []byte("stray")), store.Flush); err != nil {
			t.Fatal(err)
		}
		want := converted(t, from, 2)
		r, err := convert.ConvertTo(t.Context(), zarr.At(from, "x"), zarr.At(to, "y"), 2, &convert.Options{Resume: true})
		if err != nil || r.Kept < 4 || r.Values > 5 {
			t.Errorf("%+v, %v", r, err)
		}
		if d := trees.Differ(want, trees.Values(t, to, "")); d != "" {
			t.Error(d)
		}
	})
}

// TestConvertCut converts an array that ends within a chunk, whose source has elements
// beyond. Another extent shows them without a write.
func TestConvertCut(t *testing.T) {
	left, to := memtest.New(), memtest.New()
	spec := trees.Plain(4, 8)
	spec.InnerChunks = []grid.Cut{grid.Every(2)}
	a, err := zarr.At(left, "x").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, []int32{0, 1, 2, 33})
	}
	if err != nil {
		t.Fatal(err)
	}
	document := a.Metadata()
	extent := func(n int64) {
		t.Helper()
		text, err := document.Resized([]int64{n}, document.ChunkGrid).Marshal(metadata.Limits{})
		if err == nil {
			_, err = store.Write(t.Context(), left, store.Put(store.MustKey("x/zarr.json"), text), store.Flush)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range []int64{3, 4} {
		extent(n)
		o := &convert.Options{Share: &transfer.Share{}}
		r, err := convert.ConvertTo(t.Context(), zarr.At(trees.Aged{Store: left}, "x"), zarr.At(to, "y"), 2, o)
		if err != nil || r.Values != int64(2-i) || r.Kept != int64(i) {
			t.Fatalf("%d elements: %+v, %v", n, r, err)
		}
	}
	if _, err := convert.ConvertTo(t.Context(), zarr.At(trees.Aged{Store: left}, "x"), zarr.At(to, "y"), 2, &convert.Options{Resume: true}); err != nil {
		t.Fatal(err)
	}
	if d := trees.Differ(converted(t, left, 2), trees.Values(t, to, "")); d != "" {
		t.Error(d)
	}
}

// TestConvertBlank deletes a converted chunk whose source has become fill values, which
// neither format stores.
func TestConvertBlank(t *testing.T) {
	from, to := memtest.New(), memtest.New()
	spec := zarr.Spec{Shape: []int64{8}, Type: dtype.Float32, FillValue: zarr.FillOf(math.NaN()), Chunks: []grid.Cut{grid.Every(8)}, InnerChunks: []grid.Cut{grid.Every(2)}}
	a, err := zarr.At(from, "x").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, []float32{1, 2, 3, 4, 5, 6, 7, 8})
	}
	if err != nil {
		t.Fatal(err)
	}
	run := func(o convert.Options, chunks int) {
		t.Helper()
		if _, err := convert.ConvertTo(t.Context(), zarr.At(from, "x"), zarr.At(to, "y"), 2, &o); err != nil {
			t.Fatal(err)
		}
		n := 0
		for name := range trees.Values(t, to, "y") {
			if !strings.HasPrefix(name, ".z") && !strings.HasPrefix(name, "__") {
				n++
			}
		}
		if n != chunks {
			t.Errorf("%d chunks, want %d", n, chunks)
		}
	}
	blank := float32(math.NaN())
	run(convert.Options{Share: &transfer.Share{}}, 4)
	if err := zarr.Write(t.Context(), a, selection.Box{{0, 4}}, []float32{blank, blank, blank, blank}); err != nil {
		t.Fatal(err)
	}
	run(convert.Options{Share: &transfer.Share{}}, 2)
	if err := zarr.Write(t.Context(), a, selection.Box{{4, 8}}, []float32{blank, blank, blank, blank}); err != nil {
		t.Fatal(err)
	}
	run(convert.Options{Resume: true}, 0)
	if d := trees.Differ(converted(t, from, 2), trees.Values(t, to, "")); d != "" {
		t.Error(d)
	}
}
