// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
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
	// Bounds are converted together with their coordinate, or the two would disagree.
	if of := boundsOf(a, m); of != nil && len(names) > 1 {
		return keepsValues(of, dimension, m)
	}
	return len(names) == 1 && (baseName(a.Path) == dimension || strings.Contains(textAttribute(a, "units"), " since "))
}

// hasNumbers reports whether the elements of an array can be kept as values.
func hasNumbers(doc *metadata.Array) bool {
	t, err := dtype.Parse(doc.DataType.Name, doc.DataType.Configuration)
	return err == nil && ((t.Kind() == dtype.KindInt || t.Kind() == dtype.KindUint) && t.Size() >= 2 || isFloat(t))
}

// isFloat reports whether elements are floats of IEEE 754, as [floatOf] reads them:
// bfloat16 and the types of 8 bits are others.
func isFloat(t dtype.Type) bool {
	return t == dtype.Of[dtype.Float16]() || t == dtype.Of[float32]() || t == dtype.Of[float64]()
}

// boundsOf returns the coordinate whose bounds an array has (CF conventions, sections 7.1
// and 7.4), or nil. They are in its units unless they have their own, and often have no
// attributes.
func boundsOf(a *Array, m *Manifest) (of *Array) {
	best := -1
	for _, c := range m.Arrays {
		// Groups may repeat names, so the coordinate of the nearest group counts.
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
	// A climatology has its bounds under another attribute (section 7.4).
	for _, attribute := range []string{"bounds", "climatology"} {
		if text := textAttribute(c, attribute); text != "" {
			names = append(names, baseName(text))
		}
	}
	return names
}

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
	c, err := coordinateOf(a, boundsOf(a, p.Manifest))
	if err == nil {
		c.values, err = p.Values(ctx, a.Path)
	}
	return c, err
}

// coordinateOf returns what the values of an array are, without them. The other array is
// the coordinate whose bounds it has, or nil.
func coordinateOf(a, of *Array) (*coordinate, error) {
	t, err := dtype.Parse(a.Document.DataType.Name, a.Document.DataType.Configuration)
	return &coordinate{typ: t, times: timesOf(a, of), missing: missingOf(a, t)}, err
}

// missingOf returns the elements of an array that stand for no value. A fill value of 0
// is the default of an array without a chosen one, and counts as an ordinary number.
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
	// Readers take a coordinate as a whole, so few large chunks save requests.
	chunk := append([]int64{max(1, min(shape[0], coordinateChunk/int64(max(1, width))))}, shape[1:]...)
	for i := range chunk {
		chunk[i] = max(1, chunk[i])
	}
	g, err := grid.New(shape, grid.Chunks(chunk...)...)
	if err != nil {
		return err
	}
	doc := *withGrid(a.Document, g)
	doc.Codecs = []metadata.Extension{scan.Plain(c.typ, false), codec.ZstdChecksum(0, true)}
	made, err := newArray(a.Path, &doc, g, 0)
	if err != nil {
		return err
	}
	made.inline = map[int64][]byte{}
	size := int(chunk[0]) * width
	for k := 0; k*size < len(c.values); k++ {
		part := make([]byte, size) // the last one is padded
		copy(part, c.values[k*size:])
		if !byteorder.Little() {
			c.typ.Swap(part, part)
		}
		made.inline[int64(k)] = blockEncoder.EncodeAll(part, nil)
	}
	made.values = true
	*a = *made
	return nil
}

// times are the units of a coordinate.
type times struct {
	text   string // the attribute units
	isTime bool
	packed bool // numbers have a scale or an offset, or are not those of the type
	units  cf.Times
}

// timesOf returns the units of an array. Bounds inherit units and calendar from their
// coordinate (of), unless they have their own. of is nil for other arrays.
func timesOf(a, of *Array) times {
	if of == nil {
		of = a
	}
	said := func(name string) string { return cmp.Or(textAttribute(a, name), textAttribute(of, name)) }
	t := times{text: said("units")}
	// Packed numbers do not count the units before they are unpacked.
	for _, name := range []string{"scale_factor", "add_offset", "_Unsigned"} {
		for _, x := range []*Array{a, of} {
			_, ok, err := metadata.Attribute(x.Document.Attributes, name)
			t.packed = t.packed || ok && err == nil
		}
	}
	if !strings.Contains(t.text, " since ") {
		return t
	}
	cal, err := calendar.Parse(said("calendar"))
	if err == nil {
		t.units.Units, err = calendar.ParseUnits(t.text, cal)
	}
	t.isTime = err == nil // other units are only compared
	return t
}

// isSameUnit reports whether two units have one name, or synonyms that are no times.
func (t times) isSameUnit(o times) bool {
	return t.text == o.text || !t.isTime && !o.isTime && cf.Units{Units: t.text}.Alike(cf.Units{Units: o.text})
}

// checkValues returns an error if the values of a coordinate have too many bytes.
func checkValues(n int64) error {
	if n > mostValues {
		return fmt.Errorf("%w: %s of values, and at most %d are possible; make several manifests", ErrLimit, quantity.Count(n, "bytes"), mostValues)
	}
	return nil
}

// compared reports whether the values of an array that files repeat are compared.
func compared(a *Array) bool {
	most := int64(mostCompared)
	if isCoordinate(a) {
		most = mostCoordinate
	}
	_, ok := sizeOf(a, most)
	return ok
}

// isCoordinate reports whether an array has the values of a dimension: it is of one axis,
// and has its name.
func isCoordinate(a *Array) bool {
	names := a.Document.DimensionNames
	return len(names) == 1 && names[0] != nil && baseName(a.Path) == *names[0]
}
