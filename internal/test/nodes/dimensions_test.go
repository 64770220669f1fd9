// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// dataset creates a group with two fields and their coordinates. All name their
// dimensions.
func dataset(t *testing.T, s store.Store, format int) *zarr.Group {
	t.Helper()
	ctx, h, opt := t.Context(), zarr.At(s, ""), &zarr.CreateOptions{Format: format}
	for path, names := range map[string]string{"g/t2m": "time lat", "g/u10": "lat time", "g/time": "time", "g/lat": "lat", "g/other": "", "h/time": "time"} {
		spec := zarr.Spec{Type: dtype.Int8, Shape: []int64{}}
		for _, n := range strings.Fields(names) {
			spec.DimensionNames = append(spec.DimensionNames, n)
			spec.Shape = append(spec.Shape, map[string]int64{"time": 3, "lat": 2}[n])
		}
		if names == "" {
			spec.Shape = []int64{7}
		}
		if _, err := h.At(path).CreateArray(ctx, spec, opt); err != nil {
			t.Fatal(err)
		}
	}
	g, err := h.At("g").OpenGroup(ctx, &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// lengths returns the shapes of the arrays of a dataset.
func lengths(t *testing.T, g *zarr.Group, names ...string) string {
	t.Helper()
	var text []string
	for _, name := range names {
		a, err := g.At(name).OpenArray(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, fmt.Sprint(a.Shape()))
	}
	return strings.Join(text, " ")
}

func TestDimensionsAgree(t *testing.T) {
	one, two, six := []int8{1}, []int8{1, 2}, []int8{1, 2, 3, 4, 5, 6}
	all := []zarr.Addition{zarr.Add("t2m", 0, two, nil), zarr.Add("u10", 1, two, nil), zarr.Add("time", 0, one, nil)}
	alone := func(a zarr.Addition) zarr.Addition {
		a.Alone = true
		return a
	}
	for name, c := range map[string]struct {
		additions []zarr.Addition
		wrong     string
		want      string
	}{
		"all":               {additions: all, want: "[4 2] [2 4] [4] [2]"},
		"one of three":      {additions: all[:1], wrong: `dimension "time" would have length 4 here and 3 in time, u10`},
		"two of three":      {additions: all[:2], wrong: `dimension "time" would have length 4 here and 3 in time,`},
		"another dimension": {additions: append(all[:3:3], zarr.Add("lat", 0, two, nil)), wrong: `dimension "lat" would have length 4 here and 2 in t2m, u10`},
		"alone":             {additions: []zarr.Addition{alone(all[0])}, want: "[4 2] [2 3] [3] [2]"},
		"one is not alone":  {additions: []zarr.Addition{all[0], alone(all[2])}, wrong: `length 4 here and 3 in u10`},
		"too many":          {additions: []zarr.Addition{all[0], all[1], zarr.Add("time", 0, two, nil)}, wrong: "give both the same"},
		"no dimension":      {additions: []zarr.Addition{zarr.Add("other", 0, six, nil)}, want: "[3 2] [2 3] [3] [2]"},
	} {
		for _, format := range []int{2, 3} {
			for _, consolidated := range []bool{false, true} {
				t.Run(fmt.Sprint(name, format, consolidated), func(t *testing.T) {
					g := dataset(t, memstore.New(), format)
					if consolidated {
						if err := g.Consolidate(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					err := g.Append(t.Context(), c.additions...)
					if c.wrong != "" && (!errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), c.wrong)) || c.wrong == "" && err != nil {
						t.Errorf("error is %v, want one with %q", err, c.wrong)
					}
					if c.want == "" {
						c.want = "[3 2] [2 3] [3] [2]"
					}
					if got := lengths(t, g, "t2m", "u10", "time", "lat"); got != c.want {
						t.Errorf("got %s, want %s", got, c.want)
					}
				})
			}
		}
	}
}

// TestCheckDimensions checks single arrays, which Append and Resize do not.
func TestCheckDimensions(t *testing.T) {
	ctx := t.Context()
	g := dataset(t, memstore.New(), 3)
	a, err := g.At("time").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Core().CheckDimensions(ctx, []int64{4}); !errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), "t2m, u10") {
		t.Error(err)
	}
	if err := a.Core().CheckDimensions(ctx, []int64{3}); err != nil {
		t.Error(err)
	}
	if err := a.Core().CheckDimensions(ctx, []int64{3, 1}); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Error(err)
	}
	if err := zarr.Append(ctx, a, 0, []int8{1}, nil); err != nil { // Append does not check
		t.Fatal(err)
	}
	// The others follow one by one, and agree after the last one.
	if err := g.Append(ctx, zarr.Add("t2m", 0, []int8{1, 2}, nil)); !errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), "and 3 in u10") {
		t.Error(err)
	}
	if err := g.Append(ctx, zarr.Add("t2m", 0, []int8{1, 2}, nil), zarr.Add("u10", 1, []int8{1, 2}, nil)); err != nil {
		t.Error(err)
	}
}

// TestInheritedCoordinates compares arrays with the coordinates of the nearest group
// above that has them, unless that group is a pyramid or their own group has
// coordinates.
func TestInheritedCoordinates(t *testing.T) {
	ctx := t.Context()
	for _, format := range []int{2, 3} {
		h, opt := zarr.At(memstore.New(), ""), &zarr.CreateOptions{Format: format}
		for path, n := range map[string]int64{"time": 3, "a/deep/v": 3, "b/v": 5, "b/time": 5, "p/time": 3, "p/0/v": 9, "a/lat/v": 3} {
			spec := zarr.Spec{Type: dtype.Int8, Shape: []int64{n}, DimensionNames: []string{"time"}}
			if _, err := h.At(path).CreateArray(ctx, spec, opt); err != nil {
				t.Fatal(err)
			}
		}
		p, err := h.At("p").OpenGroup(ctx, &zarr.Options{Write: true})
		if err == nil {
			err = p.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte(`{"multiscales": []}`), nil })
		}
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{"a/deep/v": "length 4 here and 3 in /time, which this group inherits", "b/v": "and 5 in time, which share it", "p/0/v": "<nil>"} {
			a, err := h.At(path).OpenArray(ctx, &zarr.Options{Write: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Core().CheckDimensions(ctx, []int64{4}); !strings.Contains(fmt.Sprint(err), want) || err != nil && !errors.Is(err, zarr.ErrInvalidArgument) {
				t.Errorf("%s of format %d: %v", path, format, err)
			}
			if path == "a/deep/v" {
				if err := a.Resize(ctx, []int64{4}, nil); err != nil {
					t.Error(err)
				}
			}
		}
		for path, want := range map[string]string{"a/deep": `dimension "time" has length 3 in /time and length 4 in v`, "a/lat": "<nil>", "b": "<nil>", "p/0": "<nil>"} {
			g, err := h.At(path).OpenGroup(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := g.CheckDimensions(ctx); !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%s of format %d: %v", path, format, err)
			}
		}
	}
}

// TestDimensionsOfPyramids grows one level of resolution. Levels differ in length on
// purpose, but not the arrays of a group whose levels lie elsewhere.
func TestDimensionsOfPyramids(t *testing.T) {
	elsewhere := `{"ome": {"multiscales": [{"datasets": [{"path": "t2m"}, {"path": "t2m_levels/1"}]}]}}`
	beside := `{"multiscales": [{"datasets": [{"path": "0"}, {"path": "1"}]}]}`
	for _, attributes := range []string{`{"multiscales": []}`, `{"ome": {"multiscales": [{}]}}`, beside, `{"varve:pyramid": {}}`, elsewhere} {
		g := dataset(t, memstore.New(), 3)
		if err := g.UpdateAttributes(t.Context(), func([]byte) ([]byte, error) { return []byte(attributes), nil }); err != nil {
			t.Fatal(err)
		}
		g, err := g.Location().Root().At("g").OpenGroup(t.Context(), &zarr.Options{Write: true})
		if err == nil {
			err = g.Append(t.Context(), zarr.Add("time", 0, []int8{1}, nil))
		}
		if refused := attributes == elsewhere; refused != (err != nil) {
			t.Errorf("%s: %v", attributes, err)
		}
	}
}

// TestDimensionsDuringAppends lets several writers append to all arrays of one group. No
// check reports different lengths, although a transaction publishes array by array.
func TestDimensionsDuringAppends(t *testing.T) {
	for name, s := range map[string]store.Store{"conditional": fixture.Conditional(memstore.New()), "local": fixture.FileStore(vfs.NewDisk())} {
		g := dataset(t, s, 3)
		var writers sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			writers.Go(func() {
				for range 5 {
					errs[i] = errors.Join(errs[i], appendDay(t.Context(), s))
				}
			})
		}
		writers.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := lengths(t, g, "t2m", "u10", "time"); got != "[23 2] [2 23] [23]" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// appendDay appends to all arrays with the dimension time, as a program of its own.
func appendDay(ctx context.Context, s store.Store) error {
	g, err := zarr.At(s, "g").OpenGroup(ctx, &zarr.Options{Write: true})
	if err != nil {
		return err
	}
	return g.Append(ctx, zarr.Add("t2m", 0, []int8{1, 2}, nil), zarr.Add("u10", 1, []int8{1, 2}, nil), zarr.Add("time", 0, []int8{1}, nil))
}

// TestGroupCheckDimensions finds the dimensions of a group along which its arrays have
// different lengths.
func TestGroupCheckDimensions(t *testing.T) {
	for _, consolidated := range []bool{false, true} {
		ctx, g := t.Context(), dataset(t, memstore.New(), 3)
		if err := g.CheckDimensions(ctx); err != nil {
			t.Error(err)
		}
		if consolidated {
			if err := g.Consolidate(ctx); err != nil {
				t.Fatal(err)
			}
		}
		a, err := g.At("time").OpenArray(ctx, nil)
		if err == nil {
			err = a.Resize(ctx, []int64{5}, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		if g, err = g.Location().Root().At("g").OpenGroup(ctx, nil); err != nil {
			t.Fatal(err)
		}
		if err := g.CheckDimensions(ctx); err == nil || !strings.HasSuffix(err.Error(), `dimension "time" has length 3 in t2m, u10 and length 5 in time`) {
			t.Error(err)
		}
	}
}

// TestLinkedSibling appends to arrays beside links to them. A link counts as the array
// itself.
func TestLinkedSibling(t *testing.T) {
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "g.zarr")
	g, err := zarr.CreateGroup(ctx, dir, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	spec := zarr.Spec{Shape: []int64{4}, Type: dtype.Int8, DimensionNames: []string{"t"}}
	for _, name := range []string{"a", "b"} {
		if _, err := g.At(name).CreateArray(ctx, spec, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "latest")); err != nil {
		t.Skip(err)
	}
	both := func(a, b string) error {
		return g.Append(ctx, zarr.Add(a, 0, []int8{1, 2}, nil), zarr.Add(b, 0, []int8{1, 2}, nil))
	}
	if err := both("a", "b"); err != nil {
		t.Error(err)
	}
	if err := both("latest", "b"); err != nil {
		t.Error(err)
	}
	a, err := g.At("a").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Core().CheckDimensions(ctx, []int64{9}); err == nil || strings.Contains(err.Error(), "latest") || !strings.Contains(err.Error(), "b") {
		t.Errorf("%v, want a refusal because of b alone", err)
	}
}
