// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
)

func box(sel [][2]int64) selection.Selection {
	if sel == nil {
		return nil
	}
	return selection.Box(sel)
}

// TestPlane compares planes of random boxes and sizes with the elements of Read.
func TestPlane(t *testing.T) {
	at := inMemory()
	create3 := func(name string, spec zarr.Spec) *zarr.Array {
		a := create(t, at.At(name), spec)
		var values []float32
		for i := range 6 * 40 * 50 {
			x := float32(i%977) * 0.5
			if i%31 == 0 {
				x = float32(math.NaN())
			}
			values = append(values, x)
		}
		write(t, a, [][2]int64{{0, 6}, {0, 40}, {0, 50}}, values[:6*40*50])
		return a
	}
	if _, err := at.CreateGroup(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	shape := []int64{6, 40, 50}
	arrays := map[string]*zarr.Array{
		"rectilinear": create3("rectilinear", zarr.Spec{Shape: shape, Type: dtype.Float32, Chunks: []grid.Cut{grid.Edges(1, 2, 3), grid.Edges(7, 13, 1, 19), grid.Every(8)}}),
		"regular":     create3("regular", zarr.Spec{Shape: shape, Chunks: grid.Chunks(2, 16, 16), Type: dtype.Float32}),
		"sharded":     create3("sharded", zarr.Spec{Shape: shape, Chunks: grid.Chunks(4, 16, 20), InnerChunks: grid.Chunks(2, 8, 5), Type: dtype.Float32}),
		"whole":       create3("whole", zarr.Spec{Shape: shape, Chunks: grid.Chunks(shape...), Type: dtype.Float32}),
	}
	h := mounted(t, at, nil)
	for name, a := range arrays {
		all, err := zarr.Read[float32](t.Context(), a, nil)
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			axes := rapid.Permutation([]int{0, 1, 2}).Draw(t, "axes")
			y, x, z := axes[0], axes[1], axes[2]
			place := rapid.Int64Range(0, shape[z]-1).Draw(t, "at")
			side := func(n int64, label string) (int64, int64) {
				from := rapid.Int64Range(0, n-1).Draw(t, label)
				return from, rapid.Int64Range(from+1, n).Draw(t, label)
			}
			y0, y1 := side(shape[y], "y")
			x0, x1 := side(shape[x], "x")
			height, width := rapid.Int64Range(1, 60).Draw(t, "height"), rapid.Int64Range(1, 60).Draw(t, "width")
			at := []string{"-", "-", "-"}
			at[z] = fmt.Sprint(place)
			method := rapid.SampledFrom([]string{"every", "mean"}).Draw(t, "method")
			w := ask(t, h, "plane", "node", "d/"+name, "y", fmt.Sprint(y), "x", fmt.Sprint(x), "at", at[0]+","+at[1]+","+at[2],
				"box", fmt.Sprintf("%d:%d,%d:%d", y0, y1, x0, x1), "size", fmt.Sprintf("%d,%d", height, width), "method", method)
			if w.Code != 200 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			d, err := parsePlane(w.Body.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if int64(d.Height) > height || int64(d.Width) > width || d.Box != [4]int64{y0, y1, x0, x1} {
				t.Fatalf("%+v", d)
			}
			sy, sx := d.Step[0], d.Step[1]
			element := func(i, k int64) float32 {
				index := make([]int64, 3)
				index[z], index[y], index[x] = place, i, k
				return all.At(index...)
			}
			for r := range int64(d.Height) {
				for c := range int64(d.Width) {
					number, state := d.numbers[r*int64(d.Width)+c], d.states[r*int64(d.Width)+c]
					want := element(y0+r*sy, x0+c*sx)
					if d.Method == "mean" {
						sum, n := 0.0, 0
						for i := y0 + r*sy; i < min(y1, y0+(r+1)*sy); i++ {
							for k := x0 + c*sx; k < min(x1, x0+(c+1)*sx); k++ {
								if v := element(i, k); v == v && v != 0 {
									sum, n = sum+float64(v), n+1
								}
							}
						}
						if n == 0 {
							if state == 0 {
								t.Fatalf("pixel %d,%d: state 0 without values", r, c)
							}
							continue
						}
						if want = float32(sum / float64(n)); state != 0 || math.Abs(float64(number-want)) > 1e-3 {
							t.Fatalf("pixel %d,%d: %v (%d), want the mean %v", r, c, number, state, want)
						}
						continue
					}
					wantState := byte(0)
					switch {
					case want != want:
						wantState = 2
					case want == 0:
						wantState = 1
					}
					if state != wantState || number != want && want == want {
						t.Fatalf("pixel %d,%d: %v (%d), want %v (%d)", r, c, number, state, want, wantState)
					}
				}
			}
			if !d.Exact && d.Method != "mean" || (d.Method == "exact") != (sy == 1 && sx == 1) {
				t.Fatalf("method %s exact %t", d.Method, d.Exact)
			}
		})
	}
}
