// SPDX-License-Identifier: Apache-2.0

package selection_test

import (
	"errors"
	"slices"
	"testing"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
)

// jsonTarget is an array of shape 10 × 6 × 4 in chunks of 3 × 6 × 2 and inner chunks of 1
// × 2 × 2.
func jsonTarget(t testing.TB) *selection.Target {
	of := func(chunk ...int64) func() (*grid.Grid, error) {
		return func() (*grid.Grid, error) { return grid.Regular([]int64{10, 6, 4}, chunk) }
	}
	return &selection.Target{Shape: []int64{10, 6, 4}, Names: []string{"time", "lat", ""}, Grid: of(3, 6, 2), Inner: of(1, 2, 2)}
}

var errNoMask = errors.New("no such file")

func maskOf(name string) (selection.Mask, error) {
	if name != "mask.npy" {
		return selection.Mask{}, errNoMask
	}
	m := selection.Mask{Shape: []int64{10, 6, 4}, Data: make([]bool, 240)}
	m.Data[3], m.Data[239] = true, true
	return m, nil
}

var jsonSelections = []struct {
	text string
	want []int64 // shape of the selected block, nil for an error
}{
	{`{"basic": ""}`, []int64{10, 6, 4}},
	{`{"basic": "0:5, ..., 1"}`, []int64{5, 6}},
	{`{"basic": "::-3, lat=2"}`, []int64{4, 4}},
	{`{"orthogonal": [[0,2,5], "1:5", 3]}`, []int64{3, 4}},
	{`{"orthogonal": ["...", [true,false,true,true]]}`, []int64{10, 6, 3}},
	{`{"orthogonal": [[9,-10,9]]}`, []int64{3, 6, 4}},
	{`{"orthogonal": [[]]}`, []int64{0, 6, 4}},
	{`{"orthogonal": []}`, []int64{10, 6, 4}},
	{`{"orthogonal": {"lat": [1,1], "time": "8:2:-1"}}`, []int64{6, 2, 4}},
	{`{"points": [[0,1],[3,4],[0,0]]}`, []int64{2}},
	{`{"points": [[[0],[1]],[3,4,5],-1]}`, []int64{2, 3}},
	{`{"points": [0,1,2]}`, []int64{}},
	{`{"points": [[],[],[]]}`, []int64{0}},
	{`{"points": [[[],[]],[1],[2]]}`, []int64{2, 0}},
	{`{"blocks": ["0", "0:1", 1]}`, []int64{3, 6, 2}},
	{`{"blocks": [-1]}`, []int64{1, 6, 4}},
	{`{"blocks": ["2:5", -1, "..."], "inner": true}`, []int64{3, 2, 4}},
	{`{"mask": "mask.npy"}`, []int64{2}},
	{`{"fields": ["a"], "basic": "0:5"}`, []int64{5, 6, 4}},
	{`{"fields": ["a", "b"]}`, []int64{10, 6, 4}},

	{`{}`, nil}, {`[]`, nil}, {`"0:5"`, nil}, {``, nil}, {`{"basic": "0:5"`, nil},
	{`{"basic": 1}`, nil}, {`{"basic": "0", "mask": "mask.npy"}`, nil}, {`{"basic": "0", "basic": "0"}`, nil},
	{`{"Basic": ""}`, nil}, {`{"fields": []}`, nil}, {`{"fields": "a"}`, nil}, {`{"fields": [1]}`, nil},
	{`{"orthogonal": "0"}`, nil}, {`{"orthogonal": [null]}`, nil}, {`{"orthogonal": [[0,true]]}`, nil},
	{`{"orthogonal": [[true,0]]}`, nil}, {`{"orthogonal": [[1.5]]}`, nil}, {`{"orthogonal": [[10]]}`, nil},
	{`{"orthogonal": [[true]]}`, nil}, {`{"orthogonal": {"depth": 1}}`, nil}, {`{"orthogonal": {"": 1}}`, nil},
	{`{"orthogonal": ["::0"]}`, nil}, {`{"orthogonal": [[[1]]]}`, nil}, {`{"orthogonal": [0,0,0,0]}`, nil},
	{`{"points": [[0]]}`, nil}, {`{"points": [[0,1],[3,4,5],[0]]}`, nil}, {`{"points": [[0,[1]],[3],[0]]}`, nil},
	{`{"points": [[[0],1],[3],[0]]}`, nil}, {`{"points": [[10],[3],[0]]}`, nil}, {`{"points": ["0",[3],[0]]}`, nil},
	{`{"points": 0}`, nil}, {`{"points": [-9223372036854775808,0,0]}`, nil},
	{`{"blocks": [4]}`, nil}, {`{"blocks": ["::2"]}`, nil}, {`{"blocks": ["::-1"]}`, nil}, {`{"blocks": [[0,1]]}`, nil},
	{`{"blocks": [0,0,0,0]}`, nil}, {`{"blocks": [0], "inner": 1}`, nil}, {`{"basic": "", "inner": true}`, nil},
	{`{"mask": ["mask.npy"]}`, nil},
}

func TestParseJSON(t *testing.T) {
	target := jsonTarget(t)
	for _, tt := range jsonSelections {
		t.Run(tt.text, func(t *testing.T) {
			sel, err := selection.ParseJSON([]byte(tt.text), target.Names, maskOf)
			var r *selection.Resolved
			if err == nil {
				r, err = target.Resolve(sel)
			}
			if tt.want == nil {
				if !errors.Is(err, selection.ErrInvalid) {
					t.Errorf("got %v, want an error", err)
				}
				return
			}
			if err != nil || !slices.Equal(r.Shape(), tt.want) {
				t.Errorf("got %v, want shape %v", err, tt.want)
			}
		})
	}
}

func TestParseJSONMask(t *testing.T) {
	if _, err := selection.ParseJSON([]byte(`{"mask": "other.npy"}`), nil, maskOf); !errors.Is(err, errNoMask) {
		t.Errorf("%v is not the error of the mask's reader", err)
	}
	if _, err := selection.ParseJSON([]byte(`{"mask": "mask.npy"}`), nil, nil); !errors.Is(err, selection.ErrInvalid) {
		t.Errorf("a mask that nobody reads: %v", err)
	}
}

func FuzzParseJSON(f *testing.F) {
	for _, tt := range jsonSelections {
		f.Add(tt.text)
	}
	target := jsonTarget(f)
	f.Fuzz(func(t *testing.T, text string) {
		sel, err := selection.ParseJSON([]byte(text), target.Names, maskOf)
		var r *selection.Resolved
		if err == nil {
			r, err = target.Resolve(sel)
		}
		if err != nil {
			if !errors.Is(err, selection.ErrInvalid) && !errors.Is(err, errNoMask) {
				t.Fatalf("%v is no ErrInvalid", err)
			}
			return
		}
		if r.Len() < 1<<16 {
			g, _ := target.Grid()
			part, n := selection.NewVisit(3), int64(0)
			for plan := selection.NewPlan(r, g); plan.Next(part); {
				n += part.Len()
			}
			if n != r.Len() {
				t.Fatalf("%d elements were planned, %d selected", n, r.Len())
			}
		}
	})
}
