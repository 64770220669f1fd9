// SPDX-License-Identifier: Apache-2.0

package selection_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"varve.dev/zarr/selection"
)

// TestValues checks which items are coordinate values, and what they are.
func TestValues(t *testing.T) {
	for text, want := range map[string]selection.Values{
		"x=2024-12-25":                           {Is: "2024-12-25"},
		"x=2024-12":                              {Is: "2024-12"},
		"x=2024-12-25T06:00":                     {Is: "2024-12-25T06:00"},
		"x=2024-12-25T06:00..2024-12-26T18":      {From: "2024-12-25T06:00", To: "2024-12-26T18"},
		"x=2024..2025":                           {From: "2024", To: "2025"},
		"x = -10 .. 10 ":                         {From: "-10", To: "10"},
		"x=10.0":                                 {Is: "10.0"},
		"x=1e3":                                  {Is: "1e3"},
		"x=-.5...5":                              {From: "-.5", To: ".5"},
		"x=..-10":                                {To: "-10"},
		"x=2024..":                               {From: "2024"},
		"x=oslo":                                 {Is: "oslo"},
		`x="5"`:                                  {Is: "5", Quoted: true},
		`x="a,b..c"`:                             {Is: "a,b..c", Quoted: true},
		`x=""`:                                   {Is: "", Quoted: true},
		`x="a ""b"", c"`:                         {Is: `a "b", c`, Quoted: true},
		`x=""""`:                                 {Is: `"`, Quoted: true},
		`x=q"u`:                                  {Is: `q"u`},
		`x=" lead"`:                              {Is: " lead", Quoted: true},
		`{"orthogonal": {"x": "\" lead\""}}`:     {Is: " lead", Quoted: true},
		`x="a".."b"`:                             {From: "a", To: "b", Quoted: true},
		`x=1, y=2, z=3..4`:                       {From: "3", To: "4"},
		`{"basic": "x=1..2"}`:                    {From: "1", To: "2"},
		`{"orthogonal": {"x": "2024-12"}}`:       {Is: "2024-12"},
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
		at, ok := places[v.Is]
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
