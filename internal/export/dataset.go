// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/selection"
)

// FileFormat writes data sets as files of one format. An implementation has the options
// of its format.
type FileFormat interface {
	// Check returns an error if a file of the format cannot hold the data set. The error
	// says which limit is at fault and what to do instead. Check is called before the
	// file is created. It reads no elements but those of short coordinates.
	Check(ctx context.Context, d *Dataset) error
	// Write writes a data set that Check has accepted, in bounded memory. The caller
	// removes the file if there is an error, and else publishes it.
	Write(ctx context.Context, d *Dataset, f File) error
}

// File is a new file, which is written from its beginning. WriteAt replaces bytes that
// were written before.
type File interface {
	io.Writer
	io.WriterAt
}

// Dataset is what goes into a file: a group, or an array and those that describe it.
type Dataset struct {
	Name       string // of a group in another one; "" for the root
	Attributes []Attribute
	Variables  []*Variable // in alphabetical order
	Groups     []*Dataset
}

// Variable is an array of a data set, of which elements are selected.
type Variable struct {
	*Source
	Name string
	// Dimensions has a name for each axis of Shape, "" for an axis without one.
	Dimensions []string
	// Attributes are those of the array, including those that decoding has applied.
	Attributes []Attribute
}

// Attribute is an attribute of a group or an array.
type Attribute struct {
	Name  string
	Value strictjson.Value
}

// Choose selects the elements of an array that go into a file.
type Choose func(ctx context.Context, a *zarr.Array) (*Source, error)

// DatasetOf returns the data set of a group and of all groups and arrays below it.
func DatasetOf(ctx context.Context, g *zarr.Group, choose Choose) (*Dataset, error) {
	d := &Dataset{}
	var err error
	if d.Attributes, err = attributesIn(g.Metadata().Attributes); err != nil {
		return nil, err
	}
	groups := map[string]*Dataset{".": d}
	// Parents come first.
	for m, err := range g.Members(ctx, true) {
		if err == nil {
			err = m.Err
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Path, err)
		}
		above := groups[path.Dir(m.Path)]
		switch n := m.Node.(type) {
		case *zarr.Group:
			below := &Dataset{Name: m.Name()}
			if below.Attributes, err = attributesIn(n.Metadata().Attributes); err != nil {
				return nil, fmt.Errorf("%s: %w", m.Path, err)
			}
			groups[m.Path] = below
			above.Groups = append(above.Groups, below)
		case *zarr.Array:
			s, err := choose(ctx, n)
			if err == nil {
				err = above.add(m.Name(), s)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.Path, err)
			}
		}
	}
	_ = d.All(func(_ string, d *Dataset) error { // it returns no errors
		d.nameScalars()
		return nil
	})
	return d, nil
}

// add adds the selected elements of an array.
func (d *Dataset) add(name string, s *Source) (err error) {
	a := s.Array
	v := &Variable{Source: s, Name: name}
	if v.Attributes, err = attributesIn(a.Metadata().Attributes); err != nil {
		return err
	}
	axes := (*subset.Elements)(s.Selection).Axes()
	if axes == nil {
		return unfit("points and masks leave no axes, which a file of arrays needs: select along the axes (0:10, or lists in {\"orthogonal\": …})")
	}
	names := a.DimensionNames()
	// In format 2, an attribute has them (xarray, "Zarr encoding specification").
	if a.Format() == 2 && names != nil {
		v.Attributes = slices.DeleteFunc(v.Attributes, func(a Attribute) bool { return a.Name == "_ARRAY_DIMENSIONS" })
	}
	v.Dimensions = make([]string, len(axes))
	for i, axis := range axes {
		if names != nil {
			v.Dimensions[i] = names[axis]
		}
	}
	d.Variables = append(d.Variables, v)
	return nil
}

// DatasetWith returns the data set of the selected elements of an array, and of the
// arrays that describe it: the coordinates of its dimensions, and those that the
// attributes of CF name. As in xarray, they come from its group, or from the nearest one
// above. They have the same elements along the dimensions that they share.
func DatasetWith(ctx context.Context, name string, s *Source) (*Dataset, error) {
	d := &Dataset{}
	if err := d.add(name, s); err != nil {
		return nil, err
	}
	for next := 0; next < len(d.Variables); next++ {
		for _, other := range d.Variables[next].References() {
			if slices.ContainsFunc(d.Variables, func(v *Variable) bool { return v.Name == other }) {
				continue
			}
			c, err := cf.Beside(ctx, s.Array, other)
			if errors.Is(err, fs.ErrNotExist) {
				continue // many dimensions have no coordinate
			}
			if err != nil {
				return nil, fmt.Errorf("%s, which describes the array: %w", other, err)
			}
			// Another array of that name, such as one of other dimensions, describes
			// something else.
			if !describes(c, s.Array) {
				continue
			}
			if err := d.addBeside(ctx, other, c, s); err != nil {
				return nil, fmt.Errorf("%s, which describes the array: %w", other, err)
			}
		}
	}
	sort.Slice(d.Variables, func(i, j int) bool { return d.Variables[i].Name < d.Variables[j].Name })
	d.nameScalars()
	return d, nil
}

// nameScalars adds the coordinate of each axis that a selection has dropped, which has no
// axis either, to the attribute coordinates of what was selected. Otherwise readers would
// take it for data of its own (CF conventions, 5.7).
func (d *Dataset) nameScalars() {
	for _, v := range d.Variables {
		var list []string
		for _, name := range v.Array.DimensionNames() {
			isScalar := func(c *Variable) bool {
				return c != v && c.Name == name && len(c.Dimensions) == 0 && slices.Equal(c.Array.DimensionNames(), []string{name})
			}
			if !slices.Contains(v.Dimensions, name) && slices.ContainsFunc(d.Variables, isScalar) {
				list = append(list, name)
			}
		}
		if len(list) == 0 {
			continue
		}
		const name = "coordinates"
		text := cf.TextAttribute(v.Array, name)
		for _, one := range list {
			if !slices.Contains(strings.Fields(text), one) {
				text = strings.TrimSpace(text + " " + one)
			}
		}
		v.Attributes = slices.DeleteFunc(v.Attributes, func(a Attribute) bool { return a.Name == name })
		v.Attributes = append(v.Attributes, Attribute{name, strictjson.Parsed(strictjson.AppendQuote(nil, text))})
	}
}

// addBeside adds an array with the elements that a selection of another has.
func (d *Dataset) addBeside(ctx context.Context, name string, c *zarr.Array, s *Source) error {
	items := make(selection.Orthogonal, c.Rank())
	for i, dimension := range c.DimensionNames() {
		at := slices.Index(s.Array.DimensionNames(), dimension)
		if dimension != "" && at >= 0 {
			axis, _ := (*subset.Elements)(s.Selection).Along(at)
			items[i] = ItemOf(axis)
		}
	}
	v, err := c.View(items)
	if err != nil {
		return err
	}
	beside, err := Of(ctx, v, s.Decoding != nil)
	if err != nil {
		return err
	}
	return d.add(name, beside)
}

// ItemOf returns the item of a selection that selects the elements of an axis.
func ItemOf(a subset.Axis) selection.Item {
	switch {
	case a.Given() != nil:
		return selection.List(a.Given()...)
	case a.Drop:
		return selection.At(a.Start)
	case a.Count == 0:
		return selection.Span(0, 0)
	case a.Flip:
		stop := a.Start - 1
		if stop < 0 {
			stop = selection.Open
		}
		return selection.Stepped(a.Start+(a.Count-1)*a.Step, stop, -a.Step)
	}
	return selection.Stepped(a.Start, a.Start+(a.Count-1)*a.Step+1, a.Step)
}

// describes reports whether the dimensions that an array shares with another have the
// same lengths. Bounds have a dimension more.
func describes(c, a *zarr.Array) bool {
	for i, name := range c.DimensionNames() {
		at := slices.Index(a.DimensionNames(), name)
		if name != "" && at >= 0 && c.Shape()[i] != a.Shape()[at] {
			return false
		}
	}
	return true
}

// References returns the names of the arrays that describe a variable.
func (v *Variable) References() []string {
	names := slices.Clone(v.Array.DimensionNames())
	for _, attribute := range []string{"coordinates", "bounds", "climatology", "grid_mapping"} {
		// The extended form of grid_mapping has colons (CF conventions, 5.6).
		text := strings.ReplaceAll(cf.TextAttribute(v.Array, attribute), ":", " ")
		names = append(names, strings.Fields(text)...)
	}
	return slices.DeleteFunc(names, func(s string) bool { return s == "" })
}

// attributesIn returns the members of a JSON object.
func attributesIn(raw []byte) (list []Attribute, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	v, err := strictjson.Parse(raw, strictjson.Limits{Size: int64(len(raw))})
	if err != nil {
		return nil, err
	}
	for name, value := range v.Members() {
		list = append(list, Attribute{name, value})
	}
	return list, nil
}

// All calls use with every group, the root first, and with its path in the data set.
func (d *Dataset) All(use func(at string, d *Dataset) error) error {
	return d.all("", use)
}

func (d *Dataset) all(at string, use func(at string, d *Dataset) error) error {
	if err := use(at, d); err != nil {
		return err
	}
	for _, below := range d.Groups {
		if err := below.all(path.Join(at, below.Name), use); err != nil {
			return err
		}
	}
	return nil
}

// Sources returns the elements of all arrays.
func (d *Dataset) Sources() (list []*Source) {
	_ = d.All(func(_ string, d *Dataset) error { // it returns no errors
		for _, v := range d.Variables {
			list = append(list, v.Source)
		}
		return nil
	})
	return list
}

// With returns a data set of other elements of the same arrays.
func (d *Dataset) With(elements func(*Source) (*Source, error)) (*Dataset, error) {
	other := &Dataset{Name: d.Name, Attributes: d.Attributes}
	for _, v := range d.Variables {
		s, err := elements(v.Source)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.Name, err)
		}
		w := *v
		w.Source = s
		other.Variables = append(other.Variables, &w)
	}
	for _, below := range d.Groups {
		g, err := below.With(elements)
		if err != nil {
			return nil, fmt.Errorf("%s/%w", below.Name, err)
		}
		other.Groups = append(other.Groups, g)
	}
	return other, nil
}

// Bytes returns the bytes of all elements in memory, or [TooMany].
func (d *Dataset) Bytes() int64 {
	total := int64(0)
	for _, s := range d.Sources() {
		var ok bool
		if total, ok = checked.Add(total, s.Bytes); !ok {
			return TooMany
		}
	}
	return total
}
