// SPDX-License-Identifier: Apache-2.0

package cf_test

import (
	"errors"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// coordinateOf makes the coordinate of a dimension beside an array.
func coordinateOf[T dtype.Element](name string, attributes map[string]any, fill string, values ...T) func(t *testing.T, s *memstore.Store) {
	return func(t *testing.T, s *memstore.Store) {
		t.Helper()
		spec := zarr.Spec{Shape: []int64{int64(len(values))}, Type: dtype.Of[T](), Attributes: attributes, DimensionNames: []string{name}}
		if fill != "" {
			spec.FillValue = zarr.FillJSON(fill)
		}
		a, err := zarr.At(s, name).CreateArray(t.Context(), spec, nil)
		if err == nil {
			err = zarr.Write(t.Context(), a, nil, values)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// labelled makes an array of the shape (2, 3) with the axes t and y and a coordinate of
// y, unless it is nil.
func labelled(t *testing.T, names []string, coordinate func(t *testing.T, s *memstore.Store)) *zarr.Array {
	t.Helper()
	s := memstore.New()
	if _, err := zarr.At(s, "").CreateGroup(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	if coordinate != nil {
		coordinate(t, s)
	}
	a, err := zarr.At(s, "v").CreateArray(t.Context(), zarr.Spec{Shape: []int64{2, 3}, Type: dtype.Of[int32](), DimensionNames: names}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestCheckAxes compares arrays along the axes t, which grows, and y.
func TestCheckAxes(t *testing.T) {
	type attributes = map[string]any
	ty := []string{"t", "y"}
	plain := coordinateOf("y", nil, "", 1.0, 2, 3)
	days := func(units, calendar string, values ...int64) func(*testing.T, *memstore.Store) {
		return coordinateOf("y", attributes{"units": units, "calendar": calendar}, "-1", values...)
	}
	for name, tt := range map[string]struct {
		names, here      []string
		there, compareTo func(*testing.T, *memstore.Store)
		want             string // of the error, "" for none
	}{
		"equal":             {ty, ty, plain, plain, ""},
		"transposed":        {[]string{"y", "t"}, ty, nil, nil, `axis 0: it is the axis "y" there and "t" here`},
		"another name":      {[]string{"t", "z"}, ty, nil, nil, `axis 1: it is the axis "z" there`},
		"no names":          {nil, ty, nil, plain, ""},
		"one name":          {[]string{"", "y"}, ty, plain, plain, ""},
		"no coordinate":     {ty, ty, plain, nil, ""},
		"reversed":          {ty, ty, coordinateOf("y", nil, "", 3.0, 2, 1), plain, "element 0 of the coordinate y is 3.0 there and 1.0 here"},
		"the last one":      {ty, ty, coordinateOf("y", nil, "", 1.0, 2, 4), plain, "element 2"},
		"other types":       {ty, ty, coordinateOf[int16]("y", nil, "", 1, 2, 3), plain, ""},
		"rounded":           {ty, ty, coordinateOf[float32]("y", nil, "", 0.1, 0.2, 0.3), coordinateOf("y", nil, "", 0.1, 0.2, 0.3), ""},
		"almost rounded":    {ty, ty, coordinateOf[float32]("y", nil, "", 0.1, 0.2, 0.3), coordinateOf("y", nil, "", 0.1, 0.20001, 0.3), "element 1"},
		"computed":          {ty, ty, coordinateOf("y", nil, "", -90+1e-14, 1e-14, 90), coordinateOf("y", nil, "", -90.0, 0, 90), ""},
		"packed":            {ty, ty, coordinateOf[int16]("y", attributes{"scale_factor": 0.5}, "", 2, 4, 6), plain, ""},
		"large integers":    {ty, ty, coordinateOf[int64]("y", nil, "", 1<<60, 2, 3), coordinateOf[int64]("y", nil, "", 1<<60+1, 2, 3), "element 0"},
		"units":             {ty, ty, coordinateOf("y", attributes{"units": "km"}, "", 1.0, 2, 3), coordinateOf("y", attributes{"units": "m"}, "", 1.0, 2, 3), `in "km" there and in "m" here`},
		"degrees":           {ty, ty, coordinateOf("y", attributes{"units": "degrees"}, "", 1.0, 2, 3), coordinateOf("y", attributes{"units": "degreeN"}, "", 1.0, 2, 3), ""},
		"one has units":     {ty, ty, coordinateOf("y", attributes{"units": "m"}, "", 1.0, 2, 3), plain, ""},
		"equal times":       {ty, ty, days("hours since 2000-01-01", "gregorian", 24, 48, 72), days("days since 2000-01-02", "", 0, 1, 2), ""},
		"other times":       {ty, ty, days("days since 2001-01-01", "", 0, 1, 2), days("days since 2000-01-01", "", 0, 1, 2), "2001-01-01"},
		"another calendar":  {ty, ty, days("days since 2000-01-01", "noleap", 0, 1, 2), days("days since 2000-01-01", "365_day", 0, 1, 2), ""},
		"other calendars":   {ty, ty, days("days since 2000-01-01", "noleap", 0, 1, 2), days("days since 2000-01-01", "360_day", 0, 1, 2), "calendar noleap there and 360_day here"},
		"text":              {ty, ty, coordinateOf("y", nil, "", "a", "b", "c"), coordinateOf("y", nil, "", "a", "x", "c"), "is b there and x here"},
		"text and numbers":  {ty, ty, coordinateOf("y", nil, "", "1", "2", "3"), plain, "the type string there and float64 here"},
		"never written":     {ty, ty, plain, coordinateOf("y", nil, "", 0.0, 0, 0), ""},
		"written in part":   {ty, ty, plain, coordinateOf("y", nil, "", 1.0, 0, 0), ""},
		"the first is zero": {ty, ty, plain, coordinateOf("y", nil, "", 0.0, 2, 3), "is 1.0 there and 0.0 here"},
		"missing":           {ty, ty, plain, coordinateOf("y", attributes{"_FillValue": -9.0}, "", 1.0, -9, 3), ""},
		"too short":         {ty, ty, coordinateOf("y", nil, "", 1.0, 2), plain, ""},
	} {
		from, to := labelled(t, tt.names, tt.there), labelled(t, tt.here, tt.compareTo)
		err := cf.CheckAxes(t.Context(), from, to, cf.AxisPair{Grows: true}, cf.AxisPair{From: 1, To: 1})
		if tt.want == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var axis *grid.AxisError
		if tt.want != "" && (!errors.Is(err, zarr.ErrInvalidArgument) || !errors.As(err, &axis) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// TestCheckAxesOfViews compares an array with the selected part of another one.
func TestCheckAxesOfViews(t *testing.T) {
	from := labelled(t, []string{"t", "y"}, coordinateOf("y", nil, "", 3.0, 2, 1))
	to := labelled(t, []string{"t", "y"}, coordinateOf("y", nil, "", 1.0, 2, 3))
	for name, tt := range map[string]struct {
		from, to selection.Selection
		fits     bool
	}{
		"all":         {nil, nil, false},
		"reversed":    {nil, selection.Basic{selection.All(), selection.Stepped(selection.Open, selection.Open, -1)}, true},
		"a list":      {nil, selection.Orthogonal{selection.All(), selection.List(2, 1, 0)}, true},
		"not so":      {nil, selection.Orthogonal{selection.All(), selection.List(2, 0, 1)}, false},
		"every other": {selection.Basic{selection.All(), selection.Stepped(0, 3, 2)}, selection.Basic{selection.All(), selection.Stepped(selection.Open, selection.Open, -2)}, true},
		"one":         {selection.Basic{selection.All(), selection.Span(2, 3)}, selection.Basic{selection.All(), selection.Span(0, 1)}, true},
		"another one": {selection.Basic{selection.All(), selection.Span(0, 1)}, selection.Basic{selection.All(), selection.Span(0, 1)}, false},
	} {
		a, err := from.View(tt.from)
		if err != nil {
			t.Fatal(err)
		}
		b, err := to.View(tt.to)
		if err != nil {
			t.Fatal(err)
		}
		err = cf.CheckAxes(t.Context(), a, b, cf.AxisPair{}, cf.AxisPair{From: 1, To: 1})
		if (err == nil) != tt.fits {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCheckAxesOfProjections compares arrays with the same coordinates in projections.
func TestCheckAxesOfProjections(t *testing.T) {
	in := func(mapping map[string]any) *zarr.Array {
		s := memstore.New()
		if mapping != nil {
			if _, err := zarr.At(s, "crs").CreateArray(t.Context(), zarr.Spec{Type: dtype.Of[int32](), Attributes: mapping}, nil); err != nil {
				t.Fatal(err)
			}
		}
		spec := zarr.Spec{Shape: []int64{2, 3}, Type: dtype.Of[int32](), Attributes: map[string]any{"grid_mapping": "crs: x y"}}
		a, err := zarr.At(s, "v").CreateArray(t.Context(), spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	zone := func(n int) map[string]any {
		return map[string]any{"grid_mapping_name": "transverse_mercator", "longitude_of_central_meridian": n, "long_name": n}
	}
	for name, tt := range map[string]struct {
		from, to *zarr.Array
		fits     bool
	}{
		"equal":       {in(zone(15)), in(zone(15)), true},
		"another one": {in(zone(9)), in(zone(15)), false},
		"not known":   {in(zone(9)), in(nil), true},
	} {
		err := cf.CheckAxes(t.Context(), tt.from, tt.to)
		if (err == nil) != tt.fits || err != nil && !strings.Contains(err.Error(), "longitude_of_central_meridian is 9, and in this array it is 15") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
