// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/pyramid"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// image is a pyramid that Python compares with NumPy.
type image struct {
	Type   string
	Levels []struct {
		Shape              []int64
		Scale, Translation []float64
		Differing          int
	}
}

// TestPyramid makes pyramids of both formats, with every method, of numbers with and
// without missing values, and has them compared with NumPy. zarr-python reads the levels
// by the metadata, also where chunks have a list of edges. The reader of ome-zarr-py
// opens them if interop/peers/setup has installed it; dask does not read such lists.
func TestPyramid(t *testing.T) {
	for reader, python := range map[string]string{"zarr": interpreter(t), "ome-zarr": filepath.Join(cache(), "peers", "ome-zarr", "bin", "python")} {
		t.Run(reader, func(t *testing.T) {
			if _, err := os.Stat(python); err != nil {
				t.Skip("ome-zarr-py is missing; interop/peers/setup ome-zarr installs it")
			}
			r, dir := rand.New(rand.NewPCG(seed(t), 1)), t.TempDir()
			args := []string{"pyramid.py", reader, "1,2,2"}
			var levels [][]pyramid.Level
			var methods []pyramid.Method
			for i, typ := range []string{"uint8", "int16", "int64", "float32", "float64"} {
				for k, m := range pyramid.Methods() {
					format := 2 + (i+k)%2
					group := filepath.Join(dir, fmt.Sprintf("%s-%s-%d.zarr", typ, m, format))
					levels = append(levels, drawImage(t, r, group, typ, m, format, reader == "zarr"))
					args, methods = append(args, group, string(m)), append(methods, m)
				}
			}
			c := exec.Command(python, args...)
			c.Stderr = os.Stderr
			out, err := c.Output()
			check(t, err)
			var got []image
			check(t, json.Unmarshal(out, &got))
			for i, m := range methods {
				wantImage(t, args[3+2*i], got[i], m, levels[i])
			}
		})
	}
}

// wantImage checks what Python has found.
func wantImage(t *testing.T, name string, got image, method pyramid.Method, levels []pyramid.Level) {
	t.Helper()
	if got.Type != string(method) || len(got.Levels) != len(levels)+1 || len(levels) < 3 {
		t.Fatalf("%s: %+v, want %d levels", name, got, len(levels))
	}
	for i, l := range got.Levels {
		step := float64(int(1) << i)
		if l.Differing != 0 || !slices.Equal(l.Scale, []float64{1, step, step}) {
			t.Errorf("%s: level %d: %+v", name, i, l)
		}
		if i > 0 && !slices.Equal(l.Shape, levels[i-1].Grid.Shape()) {
			t.Errorf("%s: level %d has the shape %v, want %s", name, i, l.Shape, levels[i-1].Grid)
		}
		if centre := (step - 1) / 2; i > 0 && method != pyramid.Nearest && !slices.Equal(l.Translation, []float64{0, centre, centre}) {
			t.Errorf("%s: level %d has the translation %v", name, i, l.Translation)
		}
	}
}

// drawImage makes an image of random numbers, some of them missing, and its pyramid. It
// grows once in between. In format 3 its chunks may have a list of edges.
func drawImage(t *testing.T, r *rand.Rand, group, typ string, method pyramid.Method, format int, list bool) []pyramid.Level {
	t.Helper()
	kind, err := dtype.Parse(typ, nil)
	check(t, err)
	spec := zarr.Spec{
		Shape: []int64{3, 31, 23}, Type: kind, Chunks: grid.Chunks(1, 5, 4),
		DimensionNames: []string{"t", "y", "x"}, Format: format,
	}
	if format == 3 {
		spec.Attributes = map[string]any{"_FillValue": 5}
		if list {
			spec.Chunks[0] = grid.Edges(2, 1)
		}
	}
	a, err := zarr.CreateArray(t.Context(), group+"/0", spec, &zarr.CreateOptions{Format: format, Options: zarr.Options{Durability: store.Flush}})
	check(t, err)
	check(t, draw(t, r, a, grid.BoxOf(spec.Shape)))
	_, err = pyramid.Make(t.Context(), a, &pyramid.Options{Method: method})
	check(t, err)
	check(t, a.Resize(t.Context(), []int64{4, 31, 23}, nil))
	last := grid.Box{{Start: 3, Stop: 4}, {Start: 0, Stop: 31}, {Start: 0, Stop: 23}}
	check(t, draw(t, r, a, last))
	plan, err := pyramid.Make(t.Context(), a, nil)
	check(t, err)
	if plan.Rebuild || plan.Levels[0].Made == 0 {
		t.Errorf("after the growth %+v", plan)
	}
	return plan.Levels
}

// draw writes small numbers, and others that only some types have.
func draw(t *testing.T, r *rand.Rand, a *zarr.Array, box grid.Box) error {
	n, _ := box.Len()
	if a.Type().Kind() == dtype.KindFloat {
		list := make([]float64, n)
		for i := range list {
			list[i] = []float64{1, 2, 5, math.NaN(), r.NormFloat64()}[r.IntN(5)]
		}
		return zarr.WriteAs(t.Context(), a, selection.BoxOf(box), list)
	}
	list := make([]int64, n)
	for i := range list {
		list[i] = r.Int64N(8)
		if a.Type() == dtype.Int64 && r.IntN(4) == 0 {
			list[i] = math.MaxInt64 - list[i]
		}
	}
	return zarr.WriteAs(t.Context(), a, selection.BoxOf(box), list)
}
