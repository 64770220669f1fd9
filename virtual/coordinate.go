// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"varve.dev/zarr/codec/zstd"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/strictjson"
	"varve.dev/zarr/virtual/scan"
)

// coordinate has the values of an array in place of references: of a coordinate that
// grows, because each file may count time from another day and because a chunk for each
// file would take a request each; and of an array that every file repeats, to compare it.
type coordinate struct {
	typ     dtype.Type
	values  []byte   // in host byte order; texts have their lengths before them
	times            // if the values are times
	missing [][]byte // elements that stand for no value
}

// mostCoordinate bounds the values of a coordinate in one file, in bytes.
const mostCoordinate = 16 << 20

// mostCompared bounds the values of other arrays that files repeat, in bytes. Larger ones
// are taken from the first file.
const mostCompared = 1 << 20

// sizeOf returns the bytes of the elements of an array, and false if they are more than a
// bound. A text counts as 64 bytes.
func sizeOf(a *Array, most int64) (int64, bool) {
	t, err := dtype.Parse(a.Document.DataType.Name, a.Document.DataType.Configuration)
	if err != nil {
		return 0, false
	}
	n := int64(t.Size())
	if t.Variable() {
		n = 64
	}
	for _, x := range a.Document.Shape {
		var ok bool
		if n, ok = checked.Mul(n, x); !ok || n > most {
			return 0, false
		}
	}
	return n, true
}

// keepsValues reports whether an array that grows along a dimension is kept as values:
// the coordinate of the dimension, other times of one axis, and the bounds of these.
func keepsValues(a *Array, dimension string, m *Manifest) bool {
	if _, ok := sizeOf(a, mostCoordinate); !ok || !hasNumbers(a.Document) {
		return false
	}
	names := namesOf(a.Document)
	if len(names) == 0 || names[0] != dimension {
		return false
	}
	if of := boundsOf(a, m); of != nil && len(names) > 1 {
		return keepsValues(of, dimension, m)
	}
	return len(names) == 1 && (baseName(a.Path) == dimension || strings.Contains(textAttribute(a, "units"), " since "))
}

// hasNumbers reports whether the elements of an array can be kept as values.
func hasNumbers(doc *metadata.Array) bool {
	t, err := dtype.Parse(doc.DataType.Name, doc.DataType.Configuration)
	return err == nil && (t.Kind() == dtype.KindInt || t.Kind() == dtype.KindUint || t.Kind() == dtype.KindFloat) && t.Size() >= 2
}

// boundsOf returns the coordinate whose bounds an array has (CF conventions, sections 7.1
// and 7.4), or nil. They are in its units unless they have their own, and often have no
// attributes.
func boundsOf(a *Array, m *Manifest) (of *Array) {
	best := -1
	for _, c := range m.Arrays {
		if near := nearness(c, a); near > best && isAlong(c, a) && slices.Contains(boundsIn(c), baseName(a.Path)) {
			of, best = c, near
		}
	}
	return of
}

// nearness ranks coordinates by their groups: the own one of an array comes before those
// above, and they come before those below. It is -1 for others.
func nearness(c, a *Array) int {
	from, to := strings.TrimSuffix(c.Path, baseName(c.Path)), strings.TrimSuffix(a.Path, baseName(a.Path))
	switch {
	case strings.HasPrefix(to, from):
		return 1 + len(from)
	case strings.HasPrefix(from, to):
		return 0
	}
	return -1
}

// isAlong reports whether an array has one dimension, which another one has among others.
func isAlong(c, a *Array) bool {
	own, others := c.Document.DimensionNames, a.Document.DimensionNames
	return len(own) == 1 && own[0] != nil && len(others) > 1 && slices.ContainsFunc(others, func(n *string) bool { return sameName(n, own[0]) })
}

// boundsIn returns the names of the arrays that a coordinate names as its bounds.
func boundsIn(c *Array) (names []string) {
	for _, attribute := range []string{"bounds", "climatology"} {
		if text := textAttribute(c, attribute); text != "" {
			names = append(names, baseName(text))
		}
	}
	return names
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// textAttribute returns an attribute that is a string, or "".
func textAttribute(a *Array, name string) string {
	raw, ok, err := metadata.Attribute(a.Document.Attributes, name)
	if !ok || err != nil {
		return ""
	}
	v, err := strictjson.Parse(raw, strictjson.Limits{})
	if err != nil {
		return ""
	}
	if v.Kind() == strictjson.Array && v.Len() == 1 { // as some writers make of every attribute
		v = v.Element(0)
	}
	text, _ := v.Str() // "" unless it is a string
	return text
}

// readCoordinate reads the values of an array of a part.
func readCoordinate(ctx context.Context, p *Part, a *Array) (*coordinate, error) {
	c := &coordinate{}
	var err error
	if c.typ, err = dtype.Parse(a.Document.DataType.Name, a.Document.DataType.Configuration); err != nil {
		return nil, err
	}
	if c.values, err = p.Values(ctx, a.Path); err != nil {
		return nil, err
	}
	c.times = timesOf(a, boundsOf(a, p.Manifest))
	c.missing = missingOf(a, c.typ)
	return c, nil
}

// missingOf returns the elements of an array that stand for no value. A fill value of 0
// is what arrays have for which nobody has chosen one, and is a number like others.
func missingOf(a *Array, t dtype.Type) (list [][]byte) {
	if elem, err := t.ParseFill(a.Document.FillValue); err == nil && !bytes.Equal(elem, t.Default()) {
		list = append(list, elem)
	}
	for _, name := range []string{missing.FillValue, missing.Value} {
		raw, ok, err := metadata.Attribute(a.Document.Attributes, name)
		if !ok || err != nil {
			continue
		}
		if elem, err := missing.Parse(t, raw); err == nil {
			list = append(list, elem)
		}
		list = append(list, missing.List(t, raw)...)
	}
	return list
}

// equals checks that a part repeats the coordinate.
func (c *coordinate) equals(o *coordinate) bool {
	return c.typ == o.typ && bytes.Equal(c.values, o.values)
}

// converted returns the values of another coordinate in the units and the type of this
// one.
func (c *coordinate) converted(o *coordinate) ([]byte, error) {
	if o.text == c.text && o.units == c.units && o.typ == c.typ {
		return o.values, nil
	}
	if err := c.convertible(o); err != nil {
		return nil, err
	}
	size, from := c.typ.Size(), o.typ.Size()
	out := make([]byte, len(o.values)/from*size)
	for i := range len(o.values) / from {
		if err := c.convert(o, out[i*size:][:size], o.values[i*from:][:from]); err != nil {
			return nil, fmt.Errorf("%q of %s cannot be expressed as %q of %s: element %d: %w", o.text, o.typ, c.text, c.typ, i, err)
		}
	}
	return out, nil
}

// convertible returns an error if the numbers of two coordinates cannot be converted.
func (c *coordinate) convertible(o *coordinate) error {
	switch {
	case o.text != c.text && (!c.isTime || !o.isTime):
		return fmt.Errorf("units %q, and those of the files before are %q", o.text, c.text)
	case o.units.Calendar() != c.units.Calendar():
		return fmt.Errorf("the calendar %s, and that of the files before is %s", o.units.Calendar(), c.units.Calendar())
	case c.packed || o.packed:
		return fmt.Errorf("units %q of %s after %q of %s, and the numbers have a scale_factor, an add_offset or _Unsigned", o.text, o.typ, c.text, c.typ)
	}
	return nil
}

// convert converts one element.
func (c *coordinate) convert(o *coordinate, dst, src []byte) error {
	nan := o.typ.Kind() == dtype.KindFloat && math.IsNaN(floatOf(src))
	switch gap := isGap(o.missing, src); {
	case o.typ == c.typ && (gap || nan):
		copy(dst, src)
		return nil
	case nan && c.typ.Kind() == dtype.KindFloat:
		setFloat(dst, math.NaN())
		return nil
	case gap:
		return errors.New("it stands for no value")
	}
	var err error
	if o.text == c.text {
		err = c.retype(o, dst, src)
	} else {
		err = c.retime(o, dst, src)
	}
	if err == nil && isGap(c.missing, dst) {
		err = errors.New("the number would stand for no value")
	}
	return err
}

// isGap reports whether an element is one of those that stand for no value.
func isGap(missing [][]byte, elem []byte) bool {
	return slices.ContainsFunc(missing, func(m []byte) bool { return bytes.Equal(m, elem) })
}

// retype converts a number to the type of the coordinate.
func (c *coordinate) retype(o *coordinate, dst, src []byte) error {
	v, f, err := o.number(src)
	if err != nil {
		return err
	}
	whole := o.typ.Kind() != dtype.KindFloat || f == math.Trunc(f) && math.Abs(f) < 1<<63
	if o.typ.Kind() == dtype.KindFloat && whole {
		v = int64(f)
	}
	fits := false
	if c.typ.Kind() == dtype.KindFloat {
		setFloat(dst, f)
		got := floatOf(dst)
		fits = got == f && (o.typ.Kind() == dtype.KindFloat || math.Abs(got) < 1<<63 && int64(got) == v)
	} else {
		fits = whole && setInteger(dst, v, c.typ.Kind() == dtype.KindUint)
	}
	if !fits {
		return fmt.Errorf("%s does not fit the type %s", o.typ.AppendText(nil, src), c.typ)
	}
	return nil
}

// number returns an element as an integer and as a float. Of a float, the integer is 0.
func (c *coordinate) number(elem []byte) (int64, float64, error) {
	if c.typ.Kind() == dtype.KindFloat {
		return 0, floatOf(elem), nil
	}
	v := integerOf(elem, c.typ.Kind() == dtype.KindUint)
	if c.typ.Kind() == dtype.KindUint && v < 0 {
		return 0, 0, fmt.Errorf("%d is too large", uint64(v))
	}
	return v, float64(v), nil
}

// retime converts a time. A number that the type would round so that its time changes, by
// more than the last digits that it had before, is an error.
func (c *coordinate) retime(o *coordinate, dst, src []byte) error {
	v, f, err := o.number(src)
	if err != nil {
		return err
	}
	at, err := o.units.At(v)
	if o.typ.Kind() == dtype.KindFloat {
		at, err = o.units.AtFloat(f)
	}
	if err != nil {
		return err
	}
	if c.typ.Kind() != dtype.KindFloat {
		n, err := c.units.Count(at)
		if err == nil && !setInteger(dst, n, c.typ.Kind() == dtype.KindUint) {
			err = fmt.Errorf("%d does not fit the type %s", n, c.typ)
		}
		return err
	}
	setFloat(dst, c.units.CountFloat(at))
	back, err := c.units.AtFloat(floatOf(dst))
	if err != nil {
		return err
	}
	same := false
	if o.typ.Kind() == dtype.KindFloat {
		again := make([]byte, len(src))
		setFloat(again, o.units.CountFloat(back))
		same = math.Abs(floatOf(again)-f) <= 4*spacing(f, len(src))
	} else if n, err := o.units.Count(back); err == nil {
		same = n == v
	}
	if !same {
		return fmt.Errorf("the type %s has too few digits for %s", c.typ, o.typ.AppendText(nil, src))
	}
	return nil
}

// coordinateChunk is the largest number of bytes in a chunk of a coordinate.
const coordinateChunk = 1 << 20

// finish gives an array the values as its chunks.
func (c *coordinate) finish(a *Array) error {
	if err := checkValues(int64(len(c.values))); err != nil {
		return err
	}
	shape := a.Grid.Shape()
	width := c.typ.Size()
	for _, n := range shape[1:] {
		width *= int(n)
	}
	shape[0] = int64(len(c.values) / max(1, width))
	chunk := append([]int64{max(1, min(shape[0], coordinateChunk/int64(max(1, width))))}, shape[1:]...)
	for i := range chunk {
		chunk[i] = max(1, chunk[i])
	}
	g, err := grid.Regular(shape, chunk)
	if err != nil {
		return err
	}
	doc := *withGrid(a.Document, g)
	doc.Codecs = []metadata.Extension{scan.Plain(c.typ, false), zstd.Extension(0, true)}
	made, err := newArray(a.Path, &doc, g, 0)
	if err != nil {
		return err
	}
	made.inline = map[int64][]byte{}
	size := int(chunk[0]) * width
	for k := 0; k*size < len(c.values); k++ {
		part := make([]byte, size) // the last one is padded
		copy(part, c.values[k*size:])
		if !dtype.LittleEndian() {
			c.typ.Swap(part, part)
		}
		made.inline[int64(k)] = blockEncoder.EncodeAll(part, nil)
	}
	made.values = true
	*a = *made
	return nil
}
