// SPDX-License-Identifier: Apache-2.0

package selection_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/selection"
)

// jsonTarget is an array of shape 10 × 6 × 4 in chunks of 3 × 6 × 2 and inner chunks of 1
// × 2 × 2.
func jsonTarget(t testing.TB) *selection.Target {
	of := func(chunk ...int64) func() (*grid.Grid, error) {
		return func() (*grid.Grid, error) { return grid.New([]int64{10, 6, 4}, grid.Chunks(chunk...)...) }
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
			part, n := strided.NewVisit(3), int64(0)
			for plan := subset.NewPlan((*subset.Elements)(r), g); plan.Next(part); {
				n += part.Len()
			}
			if n != r.Len() {
				t.Fatalf("%d elements were planned, %d selected", n, r.Len())
			}
		}
	})
}

// TestValues checks which items are coordinate values, and what they are.
func TestValues(t *testing.T) {
	for text, want := range map[string]selection.Values{
		"x=2024-12-25":                           {Single: "2024-12-25"},
		"x=2024-12":                              {Single: "2024-12"},
		"x=2024-12-25T06:00":                     {Single: "2024-12-25T06:00"},
		"x=2024-12-25T06:00..2024-12-26T18":      {From: "2024-12-25T06:00", To: "2024-12-26T18"},
		"x=2024..2025":                           {From: "2024", To: "2025"},
		"x = -10 .. 10 ":                         {From: "-10", To: "10"},
		"x=10.0":                                 {Single: "10.0"},
		"x=1e3":                                  {Single: "1e3"},
		"x=-.5...5":                              {From: "-.5", To: ".5"},
		"x=..-10":                                {To: "-10"},
		"x=2024..":                               {From: "2024"},
		"x=oslo":                                 {Single: "oslo"},
		`x="5"`:                                  {Single: "5", Quoted: true},
		`x="a,b..c"`:                             {Single: "a,b..c", Quoted: true},
		`x=""`:                                   {Single: "", Quoted: true},
		`x="a ""b"", c"`:                         {Single: `a "b", c`, Quoted: true},
		`x=""""`:                                 {Single: `"`, Quoted: true},
		`x=q"u`:                                  {Single: `q"u`},
		`x=" lead"`:                              {Single: " lead", Quoted: true},
		`{"orthogonal": {"x": "\" lead\""}}`:     {Single: " lead", Quoted: true},
		`x="a".."b"`:                             {From: "a", To: "b", Quoted: true},
		`x=1, y=2, z=3..4`:                       {From: "3", To: "4"},
		`{"basic": "x=1..2"}`:                    {From: "1", To: "2"},
		`{"orthogonal": {"x": "2024-12"}}`:       {Single: "2024-12"},
		`{"orthogonal": {"x": "1..", "y": [1]}}`: {From: "1"},
	} {
		var got []selection.Values
		p := selection.Parser{Names: []string{"x", "y", "z"}, Lookup: func(_ string, v selection.Values) (selection.Item, error) {
			got = append(got, v)
			return selection.Span(1, 3), nil
		}}
		if _, err := p.Parse(text); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
		if _, err := (selection.Parser{Names: p.Names}).Parse(text); !errors.Is(err, selection.ErrInvalid) {
			t.Errorf("%s without a lookup: %v", text, err)
		}
	}
}

// TestIndicesAreNoValues checks that indices and slices are not taken for coordinate
// values, even if they are malformed.
func TestIndicesAreNoValues(t *testing.T) {
	p := selection.Parser{Names: []string{"x", "y"}, Lookup: func(_ string, v selection.Values) (selection.Item, error) {
		t.Errorf("%+v", v)
		return selection.Item{}, nil
	}}
	for text, ok := range map[string]bool{
		"x=1": true, "x=-1": true, "x=1:2": true, "x=::-1": true, "x=:": true, "x=2024": true, "...,x=0": true, "1,2": true,
		"x=": false, `x="a" b`: false, `x="""`: false, "x=...": false, "x=::0": false, "x=1:2:3:4": false, "x=99999999999999999999": false, "x=-": false, "1..2": false, "a": false,
		"w=1..2": false, "x=0, x=1..2": false, `{"orthogonal": {"w": "1..2"}}`: false, `{"orthogonal": ["1..2"]}`: false,
	} {
		if _, err := p.Parse(text); (err == nil) != ok || err != nil && !errors.Is(err, selection.ErrInvalid) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestLookupFails checks that errors of Lookup are passed on.
func TestLookupFails(t *testing.T) {
	p := selection.Parser{Names: []string{"x"}, Lookup: func(string, selection.Values) (selection.Item, error) { return selection.Item{}, io.ErrNoProgress }}
	for _, text := range []string{"x=1..2", `{"basic": "x=1..2"}`, `{"orthogonal": {"x": "1..2"}}`} {
		if _, err := p.Parse(text); !errors.Is(err, io.ErrNoProgress) || errors.Is(err, selection.ErrInvalid) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestValueLists looks coordinate values of JSON up, one by one, and takes no value for
// an index.
func TestValueLists(t *testing.T) {
	target := &selection.Target{Shape: []int64{5, 5}, Names: []string{"x", "y"}}
	places := map[string]int64{"45.0": 1, "3e1": 2, "2020-02-01": 3, "5": 0}
	p := selection.Parser{Names: []string{"x", "y"}, Lookup: func(_ string, v selection.Values) (selection.Item, error) {
		at, ok := places[v.Single]
		if !ok {
			return selection.All(), nil
		}
		return selection.At(at), nil
	}}
	for text, want := range map[string][]int64{
		`{"orthogonal": {"x": [45.0, 3e1]}}`:             {2, 5},
		`{"orthogonal": {"x": ["2020-02-01", "\"5\""]}}`: {2, 5},
		`{"orthogonal": {"x": 45.0}}`:                    {5},
		`{"orthogonal": {"x": [4, 3]}}`:                  {2, 5},
		`{"orthogonal": {"x": [45.0, 30]}}`:              nil, // 30 is an index
		`{"orthogonal": {"x": [45.0, "5"]}}`:             nil,
		`{"orthogonal": {"x": [45.0, "1..2"]}}`:          nil,
		`{"orthogonal": [[1.0]]}`:                        nil, // an axis without its name has no values
		`{"orthogonal": [1.0]}`:                          nil,
		`{"points": [[1.0], [2]]}`:                       nil,
		`{"blocks": [1.0]}`:                              nil,
		"x=1..2:3":                                       nil, // no steps
	} {
		sel, err := p.Parse(text)
		if (err == nil) != (want != nil) || err != nil && !errors.Is(err, selection.ErrInvalid) {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if err := selection.Syntax(text); err != nil && want != nil {
			t.Errorf("%s: syntax: %v", text, err)
		}
		if r, err := target.Resolve(sel); want != nil && (err != nil || !slices.Equal(r.Shape(), want)) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

// ExampleParser selects by coordinate values, here latitudes from 90 down to -90.
func ExampleParser() {
	p := selection.Parser{Names: []string{"lat", "lon"}, Lookup: func(dimension string, v selection.Values) (selection.Item, error) {
		fmt.Println(dimension, v.From, v.To)
		return selection.Span(80, 101), nil
	}}
	sel, err := p.Parse("lat=-10..10, lon=0:5")
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := selection.Resolve(sel, []int64{181, 360})
	fmt.Println(r.Shape(), slices.Equal(r.Shape(), []int64{21, 5}), err)
	// Output:
	// lat -10 10
	// [21 5] true <nil>
}
