// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"bytes"
	"errors"
	"fmt"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
)

// jsonReader reads a selection of JSON.
type jsonReader struct {
	Parser
	unbound bool // there is no array yet, so names are not checked
}

func (r *jsonReader) read(text []byte) (Selection, error) {
	v, err := strictjson.Parse(text, strictjson.Limits{})
	if err == nil && v.Kind() != strictjson.Object {
		err = v.Errorf("a selection must be an object, such as {\"basic\": \"0:10\"}")
	}
	var sel Selection
	if err == nil {
		sel, err = r.selection(v)
	}
	// Errors of Mask and Lookup are returned as they are.
	if err != nil && !errors.Is(err, ErrInvalid) && !errors.As(err, new(foreignError)) {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return sel, err
}

func (r *jsonReader) selection(v strictjson.Value) (sel Selection, err error) {
	kind, inner, fields := "", false, []string(nil)
	for name, value := range v.Members() {
		switch name {
		case "inner":
			inner, err = value.Bool()
		case "fields":
			fields, err = texts(value)
		case "basic", "orthogonal", "points", "blocks", "mask":
			// Only one member may select elements.
			if kind != "" {
				return nil, value.Errorf("%q and %q: only one of them may select", name, kind)
			}
			kind = name
			sel, err = r.kind(name, value)
		default:
			err = value.Errorf("%q is no way to select; there are basic, orthogonal, points, blocks, mask and fields", strictjson.Abbreviate(name))
		}
		if err != nil {
			return nil, err
		}
	}
	// "inner" may come before or after "blocks", so apply it at the end.
	if b, ok := sel.(Blocks); ok {
		b.Inner = inner
		sel = b
	} else if inner {
		return nil, v.Errorf("\"inner\" without \"blocks\"")
	}
	// "fields" may stand alone. A nil Of selects the whole array.
	if fields != nil {
		return Fields{Names: fields, Of: sel}, nil
	}
	if kind == "" {
		return nil, v.Errorf("it selects nothing; {\"basic\": \"\"} is everything")
	}
	return sel, nil
}

func texts(v strictjson.Value) ([]string, error) {
	if v.Kind() != strictjson.Array {
		return nil, v.Errorf("a list of names is needed")
	}
	list := []string{}
	for _, e := range v.Elements() {
		s, err := e.Str()
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func (r *jsonReader) kind(kind string, v strictjson.Value) (Selection, error) {
	switch kind {
	case "basic":
		s, err := v.Str()
		if err != nil {
			return nil, err
		}
		// Without an array only the syntax can be checked.
		if r.unbound {
			_, err := parseEntries(s)
			return nil, err
		}
		return r.basic(s)
	case "orthogonal":
		return r.orthogonal(v)
	case "points":
		return pointsOf(v)
	case "blocks":
		items, err := itemsOf(v)
		return Blocks{Items: items}, err
	}
	name, err := v.Str()
	if err != nil {
		return nil, err
	}
	if r.Mask == nil {
		return nil, v.Errorf("masks cannot be read here")
	}
	m, err := r.Mask(name)
	if err != nil {
		return nil, foreignError{err}
	}
	return m, nil
}

func (r *jsonReader) orthogonal(v strictjson.Value) (Selection, error) {
	if v.Kind() != strictjson.Object {
		items, err := itemsOf(v)
		return Orthogonal(items), err
	}
	// An object has the items by the names of axes.
	named := Named{}
	for name, value := range v.Members() {
		item, err := r.namedItem(name, value)
		if err != nil {
			return nil, err
		}
		named[name] = item
	}
	return named, nil
}

// namedItem reads the entry of a named axis, which may be coordinate values or a list of
// them.
func (r *jsonReader) namedItem(name string, v strictjson.Value) (Item, error) {
	switch {
	case v.Kind() == strictjson.Array && hasValues(v):
		return r.valueList(name, v)
	case isValue(v):
		return r.valueItem(name, v)
	}
	return itemOf(v)
}

// isValue reports whether an entry is coordinate values: text that [isValues] accepts, or
// a number with a point.
func isValue(v strictjson.Value) bool {
	text, err := v.Str()
	return err == nil && isValues(text) || isReal(v)
}

// isReal reports whether a value is a number with a point or an exponent, which is no
// index.
func isReal(v strictjson.Value) bool {
	return v.Kind() == strictjson.Number && bytes.ContainsAny(v.Raw(), ".eE")
}

// hasValues reports whether a list holds anything that only a list of coordinate values
// may hold.
func hasValues(list strictjson.Value) bool {
	for _, e := range list.Elements() {
		if e.Kind() == strictjson.String || isReal(e) {
			return true
		}
	}
	return false
}

// valueItem returns the elements of a named axis that have the coordinate values of an
// entry.
func (r *jsonReader) valueItem(name string, v strictjson.Value) (Item, error) {
	// A number is looked up as it is spelled, so that no digit is lost.
	values := &Values{Single: string(v.Raw())}
	if text, err := v.Str(); err == nil {
		if values, err = parseValues(text); err != nil {
			return Item{}, v.Errorf("%w", err)
		}
	}
	if r.unbound {
		return All(), nil
	}
	if _, err := axisNamed(name, r.Names); err != nil {
		return Item{}, err
	}
	return r.lookup(name, *values)
}

// valueList returns the elements that have the coordinate values of a list, in its order.
// An index among values is refused: 30 beside 45.0 is hardly meant as one.
func (r *jsonReader) valueList(name string, v strictjson.Value) (Item, error) {
	var list []int64
	for _, e := range v.Elements() {
		if !isValue(e) {
			return Item{}, noValue(e)
		}
		item, err := r.valueItem(name, e)
		if err != nil {
			return Item{}, err
		}
		// A range or a month selects several elements, which have no place in the list.
		if item.kind != itemIndex && !r.unbound {
			return Item{}, e.Errorf("a list holds single values; %s is a range of them", strictjson.Abbreviate(string(e.Raw())))
		}
		list = append(list, item.start)
	}
	return List(list...), nil
}

func itemsOf(v strictjson.Value) ([]Item, error) {
	if v.Kind() != strictjson.Array {
		return nil, v.Errorf("a list with one entry per axis is needed")
	}
	items := []Item{}
	for _, e := range v.Elements() {
		item, err := itemOf(e)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// itemOf reads an entry: an index, a slice as text, or a list of integers or booleans.
func itemOf(v strictjson.Value) (Item, error) {
	switch v.Kind() {
	case strictjson.Number:
		i, err := index(v)
		return At(i), err
	case strictjson.String:
		s, err := v.Str()
		if err != nil {
			return Item{}, err
		}
		item, err := parseItem(s)
		if err != nil {
			return Item{}, v.Errorf("%w", err)
		}
		return item, nil
	case strictjson.Array:
		return listOf(v)
	}
	return Item{}, v.Errorf("an entry is an index, a slice as \"1:5\", or a list of integers or booleans")
}

func listOf(v strictjson.Value) (Item, error) {
	var list []int64
	var mask []bool
	for k, e := range v.Elements() {
		// The first entry decides whether this is a list of booleans.
		if e.Kind() == strictjson.Bool && (k == 0 || mask != nil) {
			selected, _ := e.Bool()
			mask = append(mask, selected)
			continue
		}
		if mask != nil {
			return Item{}, e.Errorf("a list of booleans has nothing else in it")
		}
		i, err := index(e)
		if err != nil {
			return Item{}, err
		}
		list = append(list, i)
	}
	if mask != nil {
		return Where(mask...), nil
	}
	return List(list...), nil
}

// noValue returns the error for an entry of a list of coordinate values that is none.
func noValue(v strictjson.Value) error {
	raw := strictjson.Abbreviate(string(v.Raw()))
	if v.Kind() == strictjson.String {
		return v.Errorf("%s is no coordinate value; an index has no quotes, and a label that is a number has quotes of its own, as \"\\\"5\\\"\"", raw)
	}
	return v.Errorf("%s is an index in a list of coordinate values; a value is a number with a point, as 30.0, or text", raw)
}

// index reads an integer other than [Open].
func index(v strictjson.Value) (int64, error) {
	if isReal(v) {
		return 0, v.Errorf("%s has a point, so it is no index; a coordinate value goes with the name of its dimension, as {\"orthogonal\": {\"lat\": [45.0]}}",
			strictjson.Abbreviate(string(v.Raw())))
	}
	i, err := v.Int64()
	if err == nil && i == Open {
		err = v.Errorf("%d is no index", i)
	}
	return i, err
}

func pointsOf(v strictjson.Value) (Selection, error) {
	if v.Kind() != strictjson.Array {
		return nil, v.Errorf("a list with the coordinates along every axis is needed")
	}
	p := Points{}
	for _, e := range v.Elements() {
		// The first element of each level gives its length; read then checks all others.
		c := Coordinates{Shape: []int64{}, Data: []int64{}}
		for at := e; at.Kind() == strictjson.Array; {
			c.Shape = append(c.Shape, int64(at.Len()))
			first := strictjson.Value{}
			for _, first = range at.Elements() {
				break
			}
			at = first
		}
		if err := c.read(e, 0); err != nil {
			return nil, err
		}
		p = append(p, c)
	}
	return p, nil
}

// read appends the integers of nested lists. All lists of a level must have the same
// length.
func (c *Coordinates) read(v strictjson.Value, depth int) error {
	if depth == len(c.Shape) {
		i, err := index(v)
		c.Data = append(c.Data, i)
		return err
	}
	if v.Kind() != strictjson.Array || int64(v.Len()) != c.Shape[depth] {
		return v.Errorf("nested lists of different lengths: %s needed here, as in those before", quantity.Count(c.Shape[depth], "values are"))
	}
	for _, e := range v.Elements() {
		if err := c.read(e, depth+1); err != nil {
			return err
		}
	}
	return nil
}
