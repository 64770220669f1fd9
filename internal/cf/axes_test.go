// SPDX-License-Identifier: Apache-2.0

package cf_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/selection"
)

// coordinateOf makes the coordinate of a dimension beside an array.
func coordinateOf[T dtype.Element](name string, attributes map[string]any, fill string, values ...T) func(t *testing.T, s memtest.Store) {
	return func(t *testing.T, s memtest.Store) {
		t.Helper()
		spec := zarr.Spec{Shape: []int64{int64(len(values))}, Type: dtype.Of[T](), Attributes: attributes, DimensionNames: []string{name}}
		if fill != "" {
			spec.FillValue = zarr.FillJSON(fill)
		}
		stored(t, s, name, spec, values)
	}
}

// coordinateAs makes a coordinate of a type with some axes.
func coordinateAs[T dtype.Element](name string, axes []string, typ dtype.Type, attributes map[string]any, shape []int64, values ...T) func(*testing.T, memtest.Store) {
	return func(t *testing.T, s memtest.Store) {
		t.Helper()
		stored(t, s, name, zarr.Spec{Shape: shape, Type: typ, Attributes: attributes, DimensionNames: axes}, values)
	}
}

// stored makes an array and writes all of it.
func stored[T dtype.Element](t *testing.T, s memtest.Store, name string, spec zarr.Spec, values []T) {
	t.Helper()
	a, err := zarr.At(s, name).CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, values)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// labelledArray makes an array of the shape (2, 3) with the axes t and y and a
// coordinate of y, unless it is nil.
func labelledArray(t *testing.T, names []string, coordinate func(t *testing.T, s memtest.Store)) *zarr.Array {
	t.Helper()
	s := memtest.New()
	if _, err := zarr.At(s, "").CreateGroup(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	if coordinate != nil {
		coordinate(t, s)
	}
	a, err := zarr.At(s, "v").CreateArray(t.Context(), zarr.Spec{Shape: []int64{2, 3}, Type: dtype.Int32, DimensionNames: names}, nil)
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
	days := func(units, calendar string, values ...int64) func(*testing.T, memtest.Store) {
		return coordinateOf("y", attributes{"units": units, "calendar": calendar}, "-1", values...)
	}
	lead := func(unit string, values ...int64) func(*testing.T, memtest.Store) {
		typ, err := dtype.TimedeltaOf(unit, 1)
		if err != nil {
			t.Fatal(err)
		}
		return coordinateAs("y", []string{"y"}, typ, nil, []int64{3}, values...)
	}
	// The chunk of the element between is not stored.
	inChunks := func(first, last float64) func(*testing.T, memtest.Store) {
		return func(t *testing.T, s memtest.Store) {
			a, err := zarr.At(s, "y").CreateArray(t.Context(), zarr.Spec{Shape: []int64{3}, Chunks: []grid.Cut{grid.Every(1)}, Type: dtype.Float64, DimensionNames: []string{"y"}}, nil)
			if err == nil {
				err = errors.Join(zarr.Write(t.Context(), a, selection.Box{{0, 1}}, []float64{first}), zarr.Write(t.Context(), a, selection.Box{{2, 3}}, []float64{last}))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tt := range map[string]struct {
		names, target      []string
		prepare, compareTo func(*testing.T, memtest.Store)
		want               string // of the error, "" for none
	}{
		"equal":                {ty, ty, plain, plain, ""},
		"transposed":           {[]string{"y", "t"}, ty, nil, nil, `axis 0: it is the axis "y" there and "t" here`},
		"another name":         {[]string{"t", "z"}, ty, nil, nil, `axis 1: it is the axis "z" there`},
		"no names":             {nil, ty, nil, plain, ""},
		"one name":             {[]string{"", "y"}, ty, plain, plain, ""},
		"no coordinate":        {ty, ty, plain, nil, ""},
		"reversed":             {ty, ty, coordinateOf("y", nil, "", 3.0, 2, 1), plain, "element 0 of the coordinate y is 3.0 there and 1.0 here"},
		"the last one":         {ty, ty, coordinateOf("y", nil, "", 1.0, 2, 4), plain, "element 2"},
		"other types":          {ty, ty, coordinateOf[int16]("y", nil, "", 1, 2, 3), plain, ""},
		"rounded":              {ty, ty, coordinateOf[float32]("y", nil, "", 0.1, 0.2, 0.3), coordinateOf("y", nil, "", 0.1, 0.2, 0.3), ""},
		"almost rounded":       {ty, ty, coordinateOf[float32]("y", nil, "", 0.1, 0.2, 0.3), coordinateOf("y", nil, "", 0.1, 0.20001, 0.3), "element 1"},
		"computed":             {ty, ty, coordinateOf("y", nil, "", -90+1e-14, 1e-14, 90), coordinateOf("y", nil, "", -90.0, 0, 90), ""},
		"packed":               {ty, ty, coordinateOf[int16]("y", attributes{"scale_factor": 0.5}, "", 2, 4, 6), plain, ""},
		"large integers":       {ty, ty, coordinateOf[int64]("y", nil, "", 1<<60, 2, 3), coordinateOf[int64]("y", nil, "", 1<<60+1, 2, 3), "element 0"},
		"units":                {ty, ty, coordinateOf("y", attributes{"units": "km"}, "", 1.0, 2, 3), coordinateOf("y", attributes{"units": "m"}, "", 1.0, 2, 3), `in "km" there and in "m" here`},
		"degrees":              {ty, ty, coordinateOf("y", attributes{"units": "degrees"}, "", 1.0, 2, 3), coordinateOf("y", attributes{"units": "degreeN"}, "", 1.0, 2, 3), ""},
		"one has units":        {ty, ty, coordinateOf("y", attributes{"units": "m"}, "", 1.0, 2, 3), plain, ""},
		"equal times":          {ty, ty, days("hours since 2000-01-01", "gregorian", 24, 48, 72), days("days since 2000-01-02", "", 0, 1, 2), ""},
		"other times":          {ty, ty, days("days since 2001-01-01", "", 0, 1, 2), days("days since 2000-01-01", "", 0, 1, 2), "2001-01-01"},
		"another calendar":     {ty, ty, days("days since 2000-01-01", "noleap", 0, 1, 2), days("days since 2000-01-01", "365_day", 0, 1, 2), ""},
		"other calendars":      {ty, ty, days("days since 2000-01-01", "noleap", 0, 1, 2), days("days since 2000-01-01", "360_day", 0, 1, 2), "calendar noleap there and 360_day here"},
		"text":                 {ty, ty, coordinateOf("y", nil, "", "a", "b", "c"), coordinateOf("y", nil, "", "a", "x", "c"), "is b there and x here"},
		"text and numbers":     {ty, ty, coordinateOf("y", nil, "", "1", "2", "3"), plain, "the type string there and float64 here"},
		"positive":             {ty, ty, coordinateOf("y", attributes{"positive": "down"}, "", 1.0, 2, 3), coordinateOf("y", attributes{"positive": "up"}, "", 1.0, 2, 3), `attribute positive is "down", and in this array it is "up"`},
		"standard name":        {ty, ty, coordinateOf("y", attributes{"standard_name": "depth"}, "", 1.0, 2, 3), coordinateOf("y", attributes{"standard_name": "height"}, "", 1.0, 2, 3), "attribute standard_name"},
		"one has attributes":   {ty, ty, coordinateOf("y", attributes{"positive": "down", "long_name": "depth"}, "", 1.0, 2, 3), coordinateOf("y", attributes{"long_name": "Depth"}, "", 1.0, 2, 3), ""},
		"rounded days":         {ty, ty, coordinateOf("y", attributes{"units": "days since 2000-01-01"}, "", float32(1)/24, 2, float32(3)/24), coordinateOf("y", attributes{"units": "days since 2000-01-01"}, "", 1.0/24, 2, 3.0/24), ""},
		"other days":           {ty, ty, coordinateOf("y", attributes{"units": "days since 2000-01-01"}, "", float32(1)/24, 2, 3), coordinateOf("y", attributes{"units": "days since 2000-01-01"}, "", 1.001/24, 2, 3), "2000-01-01T01"},
		"nanoseconds":          {ty, ty, days("ns since 2000-01-01", "", 1, 2, 3), days("ns since 2000-01-01", "", 2, 3, 4), "element 0"},
		"durations":            {ty, ty, days("hours", "", 1, 2, 3), days("minutes", "", 60, 120, 180), ""},
		"rounded durations":    {ty, ty, coordinateOf("y", attributes{"units": "h"}, "", float32(0.1), 0.2, 0.3), days("min", "", 6, 12, 18), ""},
		"other durations":      {ty, ty, days("hours", "", 1, 2, 3), days("minutes", "", 1, 2, 3), "is 1 hours there and 1 minutes here"},
		"no duration":          {ty, ty, days("hours", "", 1, 2, 3), days("m", "", 1, 2, 3), `in "hours" there and in "m" here`},
		"short durations":      {ty, ty, coordinateOf("y", attributes{"units": "s"}, "", 1e-12, 2e-12, 3e-12), coordinateOf("y", attributes{"units": "s"}, "", 3e-12, 2e-12, 1e-12), "element 0"},
		"leads":                {ty, ty, lead("h", 6, 12, 18), lead("h", 12, 6, 18), "element 0"},
		"equal leads":          {ty, ty, lead("h", 6, 12, 18), lead("m", 360, 720, 1080), ""},
		"leads and hours":      {ty, ty, lead("h", 6, 12, 18), days("hours", "", 6, 12, 18), ""},
		"leads of one h":       {ty, ty, lead("h", 6, 12, 18), days("hours", "", 6, 12, 19), "element 2"},
		"bools":                {ty, ty, coordinateOf("y", nil, "", true, false, false), coordinateOf("y", nil, "", false, true, false), "is true there and false here"},
		"bools as integers":    {ty, ty, coordinateOf("y", nil, "", true, false, true), coordinateOf[int8]("y", nil, "-1", 1, 0, 1), ""},
		"complex":              {ty, ty, coordinateOf("y", nil, "", 1i, 2i, 3i), coordinateOf("y", nil, "", 2i, 1i, 3i), "element 0"},
		"zero within":          {ty, ty, coordinateOf("y", nil, "", -10.0, 0, 10), coordinateOf("y", nil, "", -10.0, 5, 10), "is 0.0 there and 5.0 here"},
		"zeros as integers":    {ty, ty, coordinateOf("y", nil, "", -10.0, 0, 10), coordinateOf[int8]("y", nil, "", -10, 0, 10), ""},
		"a chunk not written":  {ty, ty, plain, inChunks(1, 3), ""},
		"a chunk that differs": {ty, ty, plain, inChunks(1, 4), "element 2"},
		"never written":        {ty, ty, plain, coordinateOf("y", nil, "", 0.0, 0, 0), ""},
		"written in part":      {ty, ty, plain, coordinateOf("y", nil, "", 1.0, 0, 0), ""},
		"the first is zero":    {ty, ty, plain, coordinateOf("y", nil, "", 0.0, 2, 3), "is 1.0 there and 0.0 here"},
		"missing":              {ty, ty, plain, coordinateOf("y", attributes{"_FillValue": -9.0}, "", 1.0, -9, 3), ""},
		"too short":            {ty, ty, coordinateOf("y", nil, "", 1.0, 2), plain, ""},
	} {
		from, to := labelledArray(t, tt.names, tt.prepare), labelledArray(t, tt.target, tt.compareTo)
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

// TestCheckAxesOfCoordinates compares the coordinates that arrays name.
func TestCheckAxesOfCoordinates(t *testing.T) {
	type make = func(*testing.T, memtest.Store)
	float := dtype.Float64
	named := func(names string, has ...make) *zarr.Array {
		s := memtest.New()
		for _, m := range has {
			m(t, s)
		}
		spec := zarr.Spec{Shape: []int64{2, 2, 3}, Type: dtype.Int32, DimensionNames: []string{"t", "y", "x"}, Attributes: map[string]any{"coordinates": names}}
		a, err := zarr.At(s, "g/v").CreateArray(t.Context(), spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	lat := func(values ...float64) make {
		return coordinateAs("g/lat", []string{"y", "x"}, float, nil, []int64{2, 3}, values...)
	}
	height := func(path string, value float64, attributes map[string]any) make {
		return coordinateAs(path, nil, float, attributes, nil, value)
	}
	label := func(values ...string) make {
		return coordinateAs("g/name", []string{"y"}, dtype.String, nil, []int64{2}, values...)
	}
	code := func(rows ...string) make {
		letters := []string{}
		for _, r := range rows {
			letters = append(letters, strings.Split(r, "")...)
		}
		return coordinateAs("g/code", []string{"y", "strlen"}, fixed("U3"), nil, []int64{2, int64(len(rows[0]))}, letters...)
	}
	moment := func(axes []string, values ...int64) make {
		return coordinateAs("g/forecast", axes, dtype.Int64, nil, []int64{int64(len(values))}, values...)
	}
	north := lat(50, 50, 50, 51, 51, 51)
	for name, tt := range map[string]struct {
		from, to *zarr.Array
		want     string
	}{
		"equal":                    {named("lat", north), named("lat", north), ""},
		"differ":                   {named("lat", lat(10, 10, 10, 11, 11, 11)), named("lat", north), "element [0 0] of the coordinate lat is 10.0 there and 50.0 here"},
		"the last one":             {named("lat", lat(50, 50, 50, 51, 51, 52)), named("lat", north), "element [1 2]"},
		"zero":                     {named("lat", lat(50, 50, 50, 51, 51, 0)), named("lat", north), "is 0.0 there"},
		"one names it":             {named("", lat(10, 10, 10, 11, 11, 11)), named("lon lat", north), "element [0 0]"},
		"one has it":               {named("lat"), named("lat", north), ""},
		"not named":                {named("", lat(10, 10, 10, 11, 11, 11)), named("", north), ""},
		"a path":                   {named("/g/lat", lat(10, 10, 10, 11, 11, 11)), named("/g/lat", north), ""},
		"scalar":                   {named("height", height("g/height", 10, nil)), named("height", height("g/height", 2, nil)), "the coordinate height is 10.0 there and 2.0 here"},
		"a scalar zero":            {named("height", height("g/height", 0, nil)), named("height", height("g/height", 2, nil)), "is 0.0 there and 2.0 here"},
		"in km":                    {named("height", height("g/height", 2, map[string]any{"units": "km"})), named("height", height("g/height", 2, map[string]any{"units": "m"})), `is in "km" there`},
		"in a group above":         {named("height", height("height", 10, nil)), named("height", height("g/height", 2, nil)), "is 10.0 there"},
		"grid mapping":             {named("height", height("g/height", 1, map[string]any{"crs_wkt": "x"})), named("height", height("g/height", 2, map[string]any{"crs_wkt": "x"})), ""},
		"labels":                   {named("name", label("AMS", "LHR")), named("name", label("LHR", "AMS")), "is AMS there and LHR here"},
		"characters":               {named("code", code("AMS", "LHR")), named("code", code("LHR", "AMS")), "element [0 0] of the coordinate code is A there and L here"},
		"other axes":               {named("name", label("AMS", "LHR")), named("name", coordinateAs("g/name", []string{"t"}, dtype.String, nil, []int64{2}, "a", "b")), ""},
		"along an axis that grows": {named("forecast", moment([]string{"t"}, 1, 2)), named("forecast", moment([]string{"t"}, 3, 4)), ""},
		"of another length":        {named("forecast", moment([]string{"y"}, 1, 2, 3)), named("forecast", moment([]string{"y"}, 3, 4, 5)), ""},
	} {
		err := cf.CheckAxes(t.Context(), tt.from, tt.to, cf.AxisPair{Grows: true}, cf.AxisPair{From: 1, To: 1}, cf.AxisPair{From: 2, To: 2})
		if (err == nil) != (tt.want == "") || err != nil && (!errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	// Only what is selected counts.
	from, to := named("lat", lat(50, 50, 50, 61, 61, 61)), named("lat", north)
	for row, fits := range []bool{true, false} {
		sel := selection.Orthogonal{selection.All(), selection.List(int64(row)), selection.All()}
		a, err := from.View(sel)
		b, also := to.View(sel)
		if err = errors.Join(err, also); err != nil {
			t.Fatal(err)
		}
		if err = cf.CheckAxes(t.Context(), a, b, cf.AxisPair{Grows: true}, cf.AxisPair{From: 1, To: 1}, cf.AxisPair{From: 2, To: 2}); (err == nil) != fits {
			t.Errorf("row %d: %v", row, err)
		}
	}
}

// TestCheckAxesOfLargeCoordinates compares a coordinate that takes several reads.
func TestCheckAxesOfLargeCoordinates(t *testing.T) {
	const rows, columns = 3, 20000
	of := func(last float64) *zarr.Array {
		s := memtest.New()
		values := slices.Repeat([]float64{1}, rows*columns)
		values[rows*columns-1] = last
		coordinateAs("lat", []string{"y", "x"}, dtype.Float64, nil, []int64{rows, columns}, values...)(t, s)
		a, err := zarr.At(s, "v").CreateArray(t.Context(), zarr.Spec{Shape: []int64{rows, columns}, Type: dtype.Int8, DimensionNames: []string{"y", "x"}, Attributes: map[string]any{"coordinates": "lat"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	pairs := []cf.AxisPair{{}, {From: 1, To: 1}}
	if err := cf.CheckAxes(t.Context(), of(1), of(2), pairs...); err == nil || !strings.Contains(err.Error(), "element [2 19999] of the coordinate lat") {
		t.Error(err)
	}
	if err := cf.CheckAxes(t.Context(), of(1), of(1), pairs...); err != nil {
		t.Error(err)
	}
}

// TestCheckAxesOfGroups compares what groups say about the place of their arrays.
func TestCheckAxesOfGroups(t *testing.T) {
	type attributes = map[string]any
	in := func(root, group, array attributes, width int64) *zarr.Array {
		s := memtest.New()
		_, err := zarr.At(s, "").CreateGroup(t.Context(), root, nil)
		if err == nil {
			_, err = zarr.At(s, "g").CreateGroup(t.Context(), group, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		a, err := zarr.At(s, "g/v").CreateArray(t.Context(), zarr.Spec{Shape: []int64{2, width}, Type: dtype.Int32, DimensionNames: []string{"t", "x"}, Attributes: array}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	zone := func(n int) attributes { return attributes{"proj:code": fmt.Sprintf("EPSG:%d", n), "title": n} }
	box := func(x float64) attributes {
		return attributes{"spatial:bbox": []float64{x}, "spatial:dimensions": []string{"x"}}
	}
	const wide = 4
	for name, tt := range map[string]struct {
		from, to *zarr.Array
		grows    int
		want     string
	}{
		"equal":           {in(nil, zone(32631), nil, wide), in(nil, zone(32631), nil, wide), 0, ""},
		"of a group":      {in(nil, zone(32632), nil, wide), in(nil, zone(32631), nil, wide), 0, `attribute proj:code is "EPSG:32632", and in this array it is "EPSG:32631"`},
		"of the root":     {in(zone(32632), nil, nil, wide), in(nil, zone(32631), nil, wide), 0, "proj:code"},
		"of the nearest":  {in(zone(32632), zone(32631), nil, wide), in(nil, zone(32631), nil, wide), 0, ""},
		"of the array":    {in(nil, zone(32631), zone(32632), wide), in(nil, zone(32631), nil, wide), 0, "proj:code"},
		"one has it":      {in(nil, zone(32632), nil, wide), in(nil, nil, nil, wide), 0, ""},
		"another box":     {in(nil, box(1), nil, wide), in(nil, box(2), nil, wide), 0, "spatial:bbox"},
		"the place grows": {in(nil, box(1), nil, wide), in(nil, box(2), nil, wide), 1, ""},
	} {
		err := cf.CheckAxes(t.Context(), tt.from, tt.to, cf.AxisPair{Grows: tt.grows == 0}, cf.AxisPair{From: 1, To: 1, Grows: tt.grows == 1})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	// A tile has another box than the whole.
	part, err := in(nil, box(2), nil, wide).View(selection.Box{{0, 2}, {0, 2}})
	if err == nil {
		err = cf.CheckAxes(t.Context(), in(nil, box(1), nil, 2), part, cf.AxisPair{}, cf.AxisPair{From: 1, To: 1})
	}
	if err != nil {
		t.Error(err)
	}
}

// TestCheckAxesOfViews compares an array with the selected part of another one.
func TestCheckAxesOfViews(t *testing.T) {
	from := labelledArray(t, []string{"t", "y"}, coordinateOf("y", nil, "", 3.0, 2, 1))
	to := labelledArray(t, []string{"t", "y"}, coordinateOf("y", nil, "", 1.0, 2, 3))
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
		s := memtest.New()
		if mapping != nil {
			if _, err := zarr.At(s, "crs").CreateArray(t.Context(), zarr.Spec{Type: dtype.Int32, Attributes: mapping}, nil); err != nil {
				t.Fatal(err)
			}
		}
		spec := zarr.Spec{Shape: []int64{2, 3}, Type: dtype.Int32, Attributes: map[string]any{"grid_mapping": "crs: x y"}}
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
