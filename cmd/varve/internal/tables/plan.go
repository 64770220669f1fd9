// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/columnar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/rowset"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/internal/subset"
)

// table is a table of the elements of some arrays.
type table struct {
	schema  columnar.Schema
	rows    int64
	shape   []int64   // of the elements that are rows
	cuts    [][]int64 // places along each axis where units begin and end
	longest int64     // rows of a unit
	row     int64     // bytes of a row in memory, about
	most    int64     // rows of a batch
	arrays  []*array  // in the order of their columns
}

// array is an array that has columns in a table, or an axis without a coordinate.
type array struct {
	Name string
	*export.Source
	axes    []int // of the table, one for each axis of the array
	repeat  bool  // there are fewer elements than rows, or in another order
	shape   []int64
	columns []*column
	absent  *absence
	listed  bool    // a row has many elements
	offsets []int64 // of the rows of the table in the elements, for lists
	held    []columnar.Column
	index   subset.Axis // without a coordinate
}

// indexBytes are the bytes of a repeated element in memory.
const indexBytes = 4

// width returns the bytes of an element in memory.
func (a *array) width() int64 { return export.Width(a.Stored) + export.Width(a.Type) }

// unfit is an error for data that is no table.
func unfit(format string, args ...any) error { return export.Unfit(fmt.Sprintf(format, args...)) }

// apart is what to do with arrays that are not in one table.
const apart = "export them one by one"

// table returns the table of a data set.
func (f *Format) table(ctx context.Context, d *export.Dataset, note func(name, text string)) (*table, error) {
	if note == nil {
		note = func(string, string) {}
	}
	t := &table{}
	for _, a := range d.Attributes {
		t.schema.Metadata = appendPair(t.schema.Metadata, a)
	}
	for _, below := range d.Groups {
		note(below.Name, "is left out: a table has the arrays of one group")
	}
	sets, rest := t.candidates(d, note)
	if len(rest) == 0 {
		return nil, unfit("the group has no arrays with axes of its own, which would be the columns of a table")
	}
	offsets, err := offsetsOf(ctx, sets)
	if err != nil {
		return nil, err
	}
	main := t.mainOf(sets, rest)
	t.shape = main.Shape
	for _, v := range rest {
		a, err := t.place(v, main, offsets, note)
		if err != nil {
			return nil, err
		}
		if a == nil {
			note(v.Name, fmt.Sprintf("is left out: it is the coordinate of dimension %q, which the table does not have", v.Dimensions[0]))
			continue
		}
		if err := a.makeColumns(ctx, v, len(rest) == 1); err != nil {
			return nil, fmt.Errorf("%s: %w", v.Name, err)
		}
		t.arrays = append(t.arrays, a)
	}
	t.addIndices(main)
	t.sort(main)
	if err := t.addFields(); err != nil {
		return nil, err
	}
	var ok bool
	if t.rows, ok = checked.Product(t.shape...); !ok {
		return nil, fmt.Errorf("%w: the rows of shape %v", zarr.ErrOverflow, t.shape)
	}
	return t, t.cut(main.Source, f.JoinedRows)
}

// candidates returns the arrays of a data set that may be columns. sets are those that
// have the lengths of the rows of a ragged set.
func (t *table) candidates(d *export.Dataset, note func(name, text string)) (sets, rest []*export.Variable) {
	bounds := map[string]bool{}
	for _, v := range d.Variables {
		for _, name := range []string{"bounds", "climatology"} {
			bounds[cf.TextAttribute(v.Array, name)] = true
		}
	}
	for _, v := range d.Variables {
		switch {
		case bounds[v.Name]:
			note(v.Name, "is left out: it has the bounds of a coordinate")
		case cf.TextAttribute(v.Array, rowset.SampleDimension) != "" && len(v.Shape) == 1:
			sets = append(sets, v)
		case len(v.Shape) == 0 && len(d.Variables) > 1:
			note(v.Name, "is left out: it is a single value")
		default:
			rest = append(rest, v)
		}
	}
	return sets, rest
}

// mainOf returns the array whose elements are rows, and whose chunks are units: the rows
// of a ragged set, or the array with the most axes, and of those the largest one.
func (t *table) mainOf(sets, rest []*export.Variable) *export.Variable {
	if len(sets) > 0 {
		return sets[0]
	}
	main := rest[0]
	for _, v := range rest[1:] {
		if n, most := len(v.Shape), len(main.Shape); n > most || n == most && v.Bytes > main.Bytes {
			main = v
		}
	}
	return main
}

// place finds the axes of an array in the table. nil is an array that is no part of it.
func (t *table) place(v, main *export.Variable, offsets map[string][]int64, note func(name, text string)) (*array, error) {
	a := &array{Name: v.Name, Source: v.Source, shape: v.Shape}
	if len(v.Dimensions) == 1 && offsets[v.Dimensions[0]] != nil {
		if v.Selection.Len() != v.Array.Shape()[0] {
			return nil, unfit("%s has the elements of rows: select rows, as --select %s=0:10", v.Name, main.Dimensions[0])
		}
		a.axes, a.listed, a.offsets = []int{0}, true, offsets[v.Dimensions[0]]
		if end := a.offsets[len(a.offsets)-1]; end > v.Shape[0] {
			return nil, fmt.Errorf("%w: the rows have %s, but %s has %d", zarr.ErrCorrupt, quantity.Of(end, "element"), v.Name, v.Shape[0])
		} else if axis, _ := (*subset.Elements)(main.Selection).Along(0); end < v.Shape[0] && axis.Start+axis.Count == main.Array.Shape()[0] {
			note(v.Name, fmt.Sprintf("has %s after those of the last row, and they are left out", quantity.Of(v.Shape[0]-end, "element")))
		}
		return a, nil
	}
	if slices.Equal(v.Dimensions, main.Dimensions) && slices.Equal(v.Shape, main.Shape) {
		for i := range v.Shape {
			a.axes = append(a.axes, i)
		}
		return a, nil
	}
	a.axes, a.repeat = []int{}, true
	for i, name := range v.Dimensions {
		at := slices.Index(main.Dimensions, name)
		switch {
		case at >= 0 && name != "" && v.Shape[i] == main.Shape[at] && !slices.Contains(a.axes, at):
			a.axes = append(a.axes, at)
		case at < 0 && cf.IsCoordinate(v.Array):
			return nil, nil
		default:
			return nil, unfit("a table has arrays that share their dimensions; %s has %s, and %s has %s: "+apart, main.Name, describe(main), v.Name, describe(v))
		}
	}
	return a, nil
}

// describe returns the dimensions and the shape of an array.
func describe(v *export.Variable) string {
	return fmt.Sprintf("the dimensions %q and the shape %v", v.Dimensions, v.Shape)
}

// offsetsOf returns the offsets of the selected rows of ragged sets in their elements, by
// the dimension of the elements. The sets share their rows.
func offsetsOf(ctx context.Context, sets []*export.Variable) (map[string][]int64, error) {
	list := map[string][]int64{}
	for _, rows := range sets {
		if !slices.Equal(rows.Dimensions, sets[0].Dimensions) || !slices.Equal(rows.Shape, sets[0].Shape) {
			return nil, unfit("the group has ragged sets of several rows: %s has %s, and %s has %s: "+apart, sets[0].Name, describe(sets[0]), rows.Name, describe(rows))
		}
		axis, _ := (*subset.Elements)(rows.Selection).Along(0)
		if axis.Given() != nil || axis.Step > 1 || axis.Flip {
			return nil, unfit("the rows of a ragged set go out in their order: select a range, as --select %s=0:10", rows.Dimensions[0])
		}
		offsets, err := rowset.Offsets(ctx, rows.Array, false, axis.Start+axis.Count)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rows.Name, err)
		}
		list[cf.TextAttribute(rows.Array, rowset.SampleDimension)] = offsets[axis.Start:]
	}
	return list, nil
}

// addIndices adds a column for each axis that has no coordinate, unless it is the only
// one: then the order of rows says as much.
func (t *table) addIndices(main *export.Variable) {
	if len(t.shape) < 2 {
		return
	}
	axes := (*subset.Elements)(main.Selection).Axes()
	for i, name := range main.Dimensions {
		taken := func(a *array) bool { return a.Name == name }
		if at := slices.IndexFunc(t.arrays, taken); at >= 0 && name != "" && slices.Equal(t.arrays[at].axes, []int{i}) {
			continue
		}
		if name == "" {
			name = fmt.Sprintf("index_%d", i)
		} else if slices.ContainsFunc(t.arrays, taken) {
			name = "index_" + name
		}
		index, _ := (*subset.Elements)(main.Selection).Along(axes[i])
		c := &column{field: columnar.Field{Name: name, Type: columnar.Type{Kind: columnar.Int64}}}
		t.arrays = append(t.arrays, &array{Name: name, axes: []int{i}, repeat: true, shape: []int64{t.shape[i]}, columns: []*column{c}, index: index})
	}
}

// sort brings the arrays into the order of their columns: the coordinates of the axes,
// other coordinates, and then the values.
func (t *table) sort(main *export.Variable) {
	named := strings.Fields(cf.TextAttribute(main.Array, "coordinates"))
	for _, a := range t.arrays {
		if a.Source != nil {
			named = append(named, strings.Fields(cf.TextAttribute(a.Array, "coordinates"))...)
		}
	}
	rank := func(a *array) int {
		switch {
		case a.Source == nil || cf.IsCoordinate(a.Array) && !a.listed:
			return a.axes[0]
		case slices.Contains(named, a.Name):
			return len(t.shape)
		}
		return len(t.shape) + 1
	}
	sort.SliceStable(t.arrays, func(i, j int) bool { return rank(t.arrays[i]) < rank(t.arrays[j]) })
}

// addFields adds the fields of all columns to the schema.
func (t *table) addFields() error {
	seen := map[string]bool{}
	for _, a := range t.arrays {
		for _, c := range a.columns {
			if seen[c.field.Name] {
				return unfit("two columns would have the name %q: "+apart, c.field.Name)
			}
			seen[c.field.Name] = true
			field := c.field
			if a.listed {
				element := c.field
				element.Name, element.Metadata = "item", nil
				field.Type, field.Nullable = columnar.Type{Kind: columnar.List, Element: &element}, false
			}
			t.schema.Fields = append(t.schema.Fields, field)
		}
	}
	return nil
}

// decodedAttributes are those that do not hold for decoded elements.
var decodedAttributes = []string{
	missing.FillValue, missing.Value, missing.Unsigned, "scale_factor", "add_offset", "valid_min", "valid_max", "valid_range",
}

// isWhole reports whether elements are integers that are not packed, to be decoded. They
// stay integers: missing ones are null, and float64 does not have all of 64 bits.
func (a *array) isWhole() bool {
	d := a.Decoding
	return d != nil && !d.IsScaled() && d.Type().Kind() == dtype.KindFloat && d.Packing.Type().Kind() != dtype.KindFloat
}

// makeColumns makes the columns of an array: one, or one for each field of its structs.
func (a *array) makeColumns(ctx context.Context, v *export.Variable, alone bool) (err error) {
	if err := a.Settle(ctx); err != nil {
		return err
	}
	if a.absent, err = absenceOf(ctx, a.Source); err != nil {
		return err
	}
	typ := a.Type
	if a.isWhole() {
		typ = a.Decoding.Packing.Type()
	}
	stale := decodedAttributes
	if !cf.IsNumeric(typ) { // but times
		stale = append(slices.Clip(stale), "units", "calendar")
	}
	parts := []export.Field{{Type: typ}}
	if typ.Kind() == dtype.KindStruct {
		parts = export.AppendFields(nil, typ, "", 0)
	}
	for _, p := range parts {
		c, err := newColumn(p, typ)
		if err != nil {
			return err
		}
		c.field.Name = v.Name
		switch {
		case p.Name != "" && alone:
			c.field.Name = p.Name
		case p.Name != "":
			c.field.Name = v.Name + "." + p.Name
		}
		c.field.Nullable = c.field.Nullable || a.absent != nil
		if c.field.Type.Kind == columnar.Timestamp {
			c.field.Type.UTC = slices.ContainsFunc(v.Attributes, isZoned)
		}
		for _, attribute := range v.Attributes {
			if a.Decoding == nil || !slices.Contains(stale, attribute.Name) {
				c.field.Metadata = appendPair(c.field.Metadata, attribute)
			}
		}
		a.columns = append(a.columns, c)
	}
	return nil
}

// isZoned reports whether an attribute is units that count from a moment in UTC.
func isZoned(a export.Attribute) bool {
	text, err := a.Value.Str()
	return err == nil && a.Name == "units" && strings.HasSuffix(text, "00:00:00+00:00")
}

// appendPair adds an attribute to metadata: text as it is, unless it would be read as
// JSON, and anything else as JSON. Attributes that Varve keeps about a node are left out.
func appendPair(list []columnar.Pair, a export.Attribute) []columnar.Pair {
	if strings.HasPrefix(a.Name, own.Attributes) {
		return list
	}
	text, err := a.Value.Str()
	if err == nil {
		_, err = strictjson.Parse([]byte(text), strictjson.Limits{})
		if err != nil {
			return append(list, columnar.Pair{Key: a.Name, Value: text})
		}
	}
	return append(list, columnar.Pair{Key: a.Name, Value: string(a.Value.Raw())})
}
