// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/driver"
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

// spacing returns the distance between floats of a size in bytes around v.
func spacing(v float64, size int) float64 {
	digits := map[int]int{2: 10, 4: 23, 8: 52}[size]
	_, exponent := math.Frexp(v)
	return math.Ldexp(1, exponent-1-digits)
}

// disordered reports whether values do not continue in the order of those that are there:
// rising or falling from the last ones. A single one does not repeat.
func (c *coordinate) disordered(more []byte) bool {
	size := c.typ.Size()
	if len(c.values) < size || len(more) < size {
		return false
	}
	number := func(b []byte) float64 {
		if c.typ.Kind() == dtype.KindFloat {
			return floatOf(b[:size])
		}
		return float64(integerOf(b[:size], c.typ.Kind() == dtype.KindUint))
	}
	last, next := number(c.values[len(c.values)-size:]), number(more)
	if len(c.values) < 2*size { // files of one time each: times rise
		return next == last || c.isTime && next < last
	}
	before := number(c.values[len(c.values)-2*size:])
	return last > before && next <= last || last < before && next >= last
}

// The attributes that say where a GeoTIFF image lies (OGC 19-008r4, 7.4): the point of
// the raster i, j, k is at x, y, z of the model, and pixels have a size.
const (
	tiepoint   = "ModelTiepoint"
	pixelScale = "ModelPixelScale"
)

// continues reports whether an image begins where another one ends, which has n pixels
// along an axis named y or x. Then the tie point of the other one holds for both.
func continues(s, o cf.Statements, axis string, n int64) bool {
	was, is := numbersIn(s[tiepoint]), numbersIn(o[tiepoint])
	scale := numbersIn(s[pixelScale])
	if len(was) != 6 || len(is) != 6 || len(scale) != 3 || !slices.Equal(scale, numbersIn(o[pixelScale])) {
		return false
	}
	x, y := origin(was, scale)
	switch axis {
	case "x":
		x += float64(n) * scale[0]
	case "y": // rows go down, against the axis of the model
		y -= float64(n) * scale[1]
	default:
		return false
	}
	atX, atY := origin(is, scale)
	const part = 1e-3 // of a pixel: positions are rounded
	return math.Abs(atX-x) <= part*math.Abs(scale[0]) && math.Abs(atY-y) <= part*math.Abs(scale[1])
}

// origin returns where the first corner of an image is.
func origin(tie, scale []float64) (x, y float64) {
	return tie[3] - tie[0]*scale[0], tie[4] + tie[1]*scale[1]
}

// numbersIn returns a list of numbers, nil if it is none.
func numbersIn(v strictjson.Value) (list []float64) {
	if v.Kind() != strictjson.Array {
		return nil
	}
	for _, e := range v.Elements() {
		x, err := e.Float64()
		if err != nil {
			return nil
		}
		list = append(list, x)
	}
	return list
}

// What is stored can be read again: a manifest beyond a limit of reading is refused
// before it is written, or where a file makes it so.

// mostNumbers is the number of sources that a manifest may have.
const mostNumbers = 1<<32 - 2

// checkSources returns an error if sources cannot be stored beside others.
func checkSources(list []Source, others int64) error {
	if others+int64(len(list)) > mostNumbers {
		return fmt.Errorf("%w: %s, and at most %d are possible", ErrLimit, quantity.Count(others+int64(len(list)), "sources"), int64(mostNumbers))
	}
	for _, s := range list {
		if err := s.checkLength(); err != nil {
			return err
		}
	}
	return nil
}

// checkLength returns an error if the location or the version of a source is too long.
func (s *Source) checkLength() error {
	if len(s.Location) > mostLocation {
		return fmt.Errorf("%w: the location %.60s… of a file has %s, and at most %d are possible; place the manifest nearer to its files, or give them shorter names", ErrLimit, driver.Redact(s.Location), quantity.Count(len(s.Location), "bytes"), mostLocation)
	}
	if len(s.Version) > mostLocation {
		return fmt.Errorf("%w: the version of %s has %s, and at most %d are possible", ErrLimit, driver.Redact(s.Location), quantity.Count(len(s.Version), "bytes"), mostLocation)
	}
	return nil
}

// checkChunks returns an error if an array has too many chunks.
func (a *Array) checkChunks() error {
	if n, ok := a.Grid.NumChunks(); !ok || n > mostChunks {
		return fmt.Errorf("%w: %v chunks, and at most %d are possible; make several manifests, or files with longer chunks", ErrLimit, a.Grid.Chunks(), int64(mostChunks))
	}
	return nil
}

// checkDocument returns an error if a document is too long.
func checkDocument(text []byte) error {
	if len(text) > mostDocument {
		return fmt.Errorf("%w: its document has %s, and at most %d are possible; leave out arrays, or make several manifests", ErrLimit, quantity.Count(len(text), "bytes"), mostDocument)
	}
	return nil
}

// checkValues returns an error if the values of a coordinate have too many bytes.
func checkValues(n int64) error {
	if n > mostValues {
		return fmt.Errorf("%w: %s of values, and at most %d are possible; make several manifests", ErrLimit, quantity.Count(n, "bytes"), mostValues)
	}
	return nil
}

// checkKerchunk returns an error if a file of references has too many bytes.
func checkKerchunk(n int64) error {
	if n > mostKerchunk {
		return fmt.Errorf("%w: the file of references has %s, and at most %d are possible; make a manifest (%s)", ErrLimit, quantity.Count(n, "bytes"), mostKerchunk, Suffix)
	}
	return nil
}

// sourcesOfBlock returns how many of a list of sources fit into one block.
func sourcesOfBlock(list []Source) int {
	const numbers = 5 * 10 // bytes of those of a source, at most
	n, size := 0, 0
	for n < min(len(list), mostSources) {
		size += len(list[n].Location) + len(list[n].Version) + numbers
		if size > mostSourceText && n > 0 {
			break
		}
		n++
	}
	return n
}

// floatOf returns a float in host byte order.
func floatOf(b []byte) float64 {
	switch len(b) {
	case 2:
		return float64(dtype.Float16(binary.NativeEndian.Uint16(b)).Float32())
	case 4:
		return float64(math.Float32frombits(binary.NativeEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.NativeEndian.Uint64(b))
}

// setFloat stores a float.
func setFloat(b []byte, v float64) {
	switch len(b) {
	case 2:
		binary.NativeEndian.PutUint16(b, uint16(dtype.FromFloat32(float32(v))))
	case 4:
		binary.NativeEndian.PutUint32(b, math.Float32bits(float32(v)))
	default:
		binary.NativeEndian.PutUint64(b, math.Float64bits(v))
	}
}

// integerOf returns an integer in host byte order.
func integerOf(b []byte, unsigned bool) int64 {
	switch len(b) {
	case 2:
		v := binary.NativeEndian.Uint16(b)
		if unsigned {
			return int64(v)
		}
		return int64(int16(v))
	case 4:
		v := binary.NativeEndian.Uint32(b)
		if unsigned {
			return int64(v)
		}
		return int64(int32(v))
	}
	return int64(binary.NativeEndian.Uint64(b))
}

// setInteger stores an integer, and reports whether it fits.
func setInteger(b []byte, v int64, unsigned bool) bool {
	switch len(b) {
	case 2:
		binary.NativeEndian.PutUint16(b, uint16(v))
	case 4:
		binary.NativeEndian.PutUint32(b, uint32(v))
	default:
		binary.NativeEndian.PutUint64(b, uint64(v))
	}
	return integerOf(b, unsigned) == v && (v >= 0 || !unsigned)
}
