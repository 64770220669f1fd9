// SPDX-License-Identifier: Apache-2.0

package selection_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/selection"
)

func TestParse(t *testing.T) {
	names := []string{"time", "lat", "", "lon"}
	shape := []int64{10, 6, 4, 3}
	for _, tt := range []struct {
		text string
		want []int64 // shape of the selected block, nil for an error
	}{
		{"", []int64{10, 6, 4, 3}},
		{"  ", []int64{10, 6, 4, 3}},
		{"...", []int64{10, 6, 4, 3}},
		{"0:10, ..., 2", []int64{10, 6, 4}},
		{"3", []int64{6, 4, 3}},
		{"-1,:,::2,0", []int64{6, 2}},
		{"1:,:-1", []int64{9, 5, 4, 3}},
		{" 1 : 9 : 3 ", []int64{3, 6, 4, 3}},
		{"2:100", []int64{8, 6, 4, 3}},
		{"time=0:4", []int64{4, 6, 4, 3}},
		{"lon=0, time=::5", []int64{2, 6, 4}},
		{"0:2, lon=1", []int64{2, 6, 4}},
		{"..., 1, lat=0", []int64{10, 4}},
		{"..., 1, lon=0", nil},
		{"time=1, 2", nil},
		{"0, time=0", nil},
		{"time=0, time=1", nil},
		{"depth=0", nil},
		{"=0", nil},
		{"time=...", nil},
		{",", nil},
		{"1,", nil},
		{"a", nil},
		{"1.5", nil},
		{"::0", nil},
		{"::-1", []int64{10, 6, 4, 3}},
		{"7:2:-2", []int64{3, 6, 4, 3}},
		{"1:2:3:4", nil},
		{"0,0,0,0,0", nil},
		{"...,...", nil},
		{"99999999999999999999", nil},
		{"-9223372036854775808", nil},
		{"10", nil},
	} {
		t.Run(tt.text, func(t *testing.T) {
			sel, err := selection.Parse(tt.text, names)
			var r *selection.Resolved
			if err == nil {
				r, err = selection.Resolve(sel, shape)
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

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "0:10, ..., 3, ::2", "x=1", "-1,y=::3", "...", "1:2:3", "x=1..2", `y="a,b"`, "x=1.5,y=..2"} {
		f.Add(s)
	}
	shape, names := []int64{7, 5}, []string{"x", "y"}
	f.Fuzz(func(t *testing.T, text string) {
		lookup := func(name string, v selection.Values) (selection.Item, error) {
			single := v.Single != "" || !v.IsRange() && v.Quoted // "" in quotes is a label, too
			if !slices.Contains(names, name) || v.IsRange() == single {
				t.Fatalf("%q: %+v", name, v)
			}
			return selection.At(0), nil
		}
		sel, err := selection.Parser{Names: names, Lookup: lookup}.Parse(text)
		if err != nil {
			if !errors.Is(err, selection.ErrInvalid) {
				t.Fatalf("%v is no ErrInvalid", err)
			}
			return
		}
		r, err := selection.Resolve(sel, shape)
		if err == nil && (r.Len() < 0 || r.Len() > 35) {
			t.Fatalf("%d elements of 35", r.Len())
		}
	})
}

func ExampleParse() {
	sel, err := selection.Parse("0:168, ..., lon=::2", []string{"time", "lat", "lon"})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := selection.Resolve(sel, []int64{8760, 721, 1440})
	fmt.Println(r.Shape(), r.Len(), err)
	// Output: [168 721 720] 87212160 <nil>
}

// TestParseUnnamed checks that an error says so if the axes have no names.
func TestParseUnnamed(t *testing.T) {
	for _, names := range [][]string{nil, {"", ""}} {
		if _, err := selection.Parse("time=0", names); !errors.Is(err, selection.ErrInvalid) || !strings.Contains(err.Error(), "the axes have no names") {
			t.Error(err)
		}
	}
	if _, err := selection.Parse("time=0", []string{"", "x"}); err == nil || !strings.Contains(err.Error(), `no dimension is named "time"`) {
		t.Error(err)
	}
}

func TestSyntax(t *testing.T) {
	for _, text := range []string{"", " ", "0", "0\v", "-1, ..., ::-2", "time=0:10", "0, x=1, y=2", `{"basic": "x=1, y=::2"}`, ` {"mask": "anything.npy"}`,
		`{"orthogonal": {"time": [0, 2]}}`, `{"fields": ["a"]}`, "x=1.5", "x=a", "x=1..2", "x=..2", "x=2024-12", "x=\"a,b\", y=2", "0, x=06:30Z",
		`{"basic": "x=1..2"}`, `{"orthogonal": {"x": "1..2"}}`} {
		if err := selection.Syntax(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"[0, 1:3]": "without brackets, as 0, 1:3", "(0,1)": "without brackets, as 0,1", " [3] ": "as 3", "()": "without brackets",
		"slice(3)": "did you mean :3?", "0, x=slice(1, None, 2)": "did you mean 0, x=1::2?", "None,0": "no new axes", "0,numpy.newaxis": "no new axes", "[0, 2], 1": `{"orthogonal": [[0, 2, 5]`,
		",":       "an item is empty",
		"[x=0:3]": "as x=0:3", "y=1, x=[0, 2]": `{"orthogonal": {"x": [0, 2]}}`,
	} {
		if err := selection.Syntax(text); !errors.Is(err, selection.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"a", "0,", "1.5", "::0", "0:1:2:3", "=0", "x=", "x=...", "x=1, 2", "99999999999999999999", "{", "{}", `{"basic": "{}"}`,
		`{"basic": "x=1, 2"}`, `{"mask": 3}`, `{"inner": true}`,
		"1..2", "2024-12-25", "x=..", "x=1..2..3", "x=\"a", "x=\"a\"b", "x=\"\"\"", `{"orthogonal": ["1..2"]}`, `{"orthogonal": {"x": ".."}}`} {
		if err := selection.Syntax(text); !errors.Is(err, selection.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
