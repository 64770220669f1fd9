// SPDX-License-Identifier: Apache-2.0

package tabular

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/columnar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/rowset"
)

// role says what an array has of a column.
type role uint8

const (
	values  role = iota // of a column that has no lists
	lengths             // of the lists
	items               // of all lists, one after the other
)

// maskSuffix is that of the array that says which elements of another one are null.
const maskSuffix = "_mask"

// Array is an array that a column, or a part of one, becomes.
type Array struct {
	Name string
	// Elements says that the array has the elements of lists, along a dimension of its
	// own. Others have an element for each row.
	Elements bool
	Spec     zarr.Spec

	column     int
	role       role
	typ        columnar.Type // of the elements
	attributes map[string]any
	rows       []int64 // of each batch that has any

	nullable bool
	nulls    int64
	free     []uint64 // elements that stand for null if they are no value
	isNull   []byte   // the element that stands for null; nil for none
	masked   bool     // nulls are in another array
	mask     bool     // it is that array
	like     *zarr.Array
}

// arraysOf returns the arrays of a table, whose rows are along a dimension.
func arraysOf(s *columnar.Schema, dimension string) (list []*Array, err error) {
	known := map[string]bool{}
	fields, _ := describedFields(s)
	for i := range fields {
		f := &fields[i]
		parts := []*Array{{Name: f.Name, column: i, role: values, typ: f.Type, nullable: f.Nullable}}
		if f.Type.Kind == columnar.List {
			e := f.Type.Element
			parts = []*Array{
				{Name: f.Name + "_row_size", column: i, role: lengths, typ: columnar.Type{Kind: columnar.Int64}, nullable: f.Nullable},
				{Name: f.Name, column: i, role: items, typ: e.Type, nullable: e.Nullable, Elements: true},
			}
		}
		for _, a := range parts {
			if err := checkName(a.Name); err != nil {
				return nil, failure.BadArgument("column %q: %w: rename it in the table", f.Name, err)
			}
			if known[a.Name] {
				return nil, failure.BadArgument("two columns need an array of the name %q: rename one of them", a.Name)
			}
			known[a.Name] = true
			if err := a.describe(f, dimension); err != nil {
				return nil, failure.OfKind(zarr.ErrUnsupported, "column %q: %w", f.Name, err)
			}
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return nil, failure.BadArgument("the table has no columns")
	}
	return list, nil
}

// longestName is the bytes of a name that every file system has.
const longestName = 255

// checkName returns an error if an array of format 3 cannot have a name.
func checkName(name string) error {
	switch {
	case strings.HasPrefix(name, "__"):
		return fmt.Errorf("names of arrays that begin with \"__\" are reserved")
	case len(name) > longestName:
		return fmt.Errorf("the name of its array has more bytes than file systems allow: %d, at most %d", len(name), longestName)
	}
	return nodename.CheckNew(name)
}

var types = map[columnar.Kind]dtype.Type{
	columnar.Bool: dtype.Bool, columnar.Int8: dtype.Int8, columnar.Int16: dtype.Int16, columnar.Int32: dtype.Int32, columnar.Int64: dtype.Int64,
	columnar.Uint8: dtype.Uint8, columnar.Uint16: dtype.Uint16, columnar.Uint32: dtype.Uint32, columnar.Uint64: dtype.Uint64,
	columnar.Float16: dtype.Of[dtype.Float16](), columnar.Float32: dtype.Float32, columnar.Float64: dtype.Float64, columnar.String: dtype.String,
	columnar.Binary: dtype.Bytes, columnar.Timestamp: dtype.Int64, columnar.Duration: dtype.Int64, columnar.Time: dtype.Int64,
	columnar.Date: dtype.Int32, columnar.Decimal: dtype.Int64,
}

var units = [...]string{"seconds", "milliseconds", "microseconds", "nanoseconds"}

// describe sets the type, the attributes and the dimension.
func (a *Array) describe(f *columnar.Field, dimension string) error {
	if a.attributes = map[string]any{}; a.role != lengths {
		for _, p := range f.Metadata {
			addAttribute(a.attributes, p)
		}
	}
	a.Spec = zarr.Spec{Type: types[a.typ.Kind], DimensionNames: []string{dimension}}
	switch a.typ.Kind {
	case columnar.Timestamp, columnar.Date:
		a.attributes["units"], a.attributes["calendar"] = units[a.typ.Unit]+" since 1970-01-01", "proleptic_gregorian"
		if a.typ.Kind == columnar.Date {
			a.attributes["units"] = "days since 1970-01-01"
		}
		if a.typ.UTC { // a moment, and not what a clock shows
			a.attributes["units"] = units[a.typ.Unit] + " since 1970-01-01T00:00:00+00:00"
		}
	case columnar.Duration, columnar.Time:
		// xarray decodes numbers of such units only if the type is said, too.
		a.attributes["units"], a.attributes["dtype"] = units[a.typ.Unit], "timedelta64["+a.typ.Unit.String()+"]"
	case columnar.Decimal:
		if a.typ.Scale != 0 {
			a.attributes["scale_factor"] = json.RawMessage("1e" + strconv.Itoa(-a.typ.Scale))
		}
	case columnar.FixedBinary:
		t, err := dtype.RawBytes(a.typ.Width)
		if err != nil {
			return err
		}
		a.Spec.Type = t
	}
	switch a.role {
	case lengths:
		a.attributes[rowset.SampleDimension] = f.Name + "_obs"
	case items:
		a.Spec.DimensionNames[0] = f.Name + "_obs"
	}
	if a.Spec.Type.IsZero() {
		return fmt.Errorf("the type %v has no form in Zarr", a.typ)
	}
	a.free = candidates(a.typ.Kind)
	return nil
}

// columnsKey is the key under which a file has the attributes of all columns, if the
// fields of its format have none.
const columnsKey = "columns"

// addAttribute adds an attribute for a pair of metadata: JSON, or any other text. What
// stands for null is found anew, and what Varve keeps about a node is not taken over.
func addAttribute(attributes map[string]any, p columnar.Pair) {
	switch {
	case ofFormat(p), strings.HasPrefix(p.Key, own.Attributes), slices.Contains([]string{"", missing.FillValue, missing.Value}, p.Key):
	case json.Valid([]byte(p.Value)):
		attributes[p.Key] = json.RawMessage(p.Value)
	default:
		attributes[p.Key] = p.Value
	}
}

// ofFormat reports whether a pair of metadata is about the format of a table, such as
// what pandas writes about its index.
func ofFormat(p columnar.Pair) bool {
	var pandas struct {
		Columns []json.RawMessage `json:"columns"`
		Version *string           `json:"pandas_version"`
	}
	return strings.HasPrefix(p.Key, "ARROW:") || strings.HasPrefix(p.Key, "PARQUET:") ||
		p.Key == "pandas" && json.Unmarshal([]byte(p.Value), &pandas) == nil && pandas.Columns != nil && pandas.Version != nil
}

// describedFields returns the fields of a schema, with the attributes that its own
// metadata has for them, and the rest of the metadata.
func describedFields(s *columnar.Schema) (fields []columnar.Field, rest []columnar.Pair) {
	fields = slices.Clone(s.Fields)
	for i, p := range slices.Backward(s.Metadata) { // an attribute of that name comes before
		columns := map[string]map[string]json.RawMessage{}
		if p.Key != columnsKey || json.Unmarshal([]byte(p.Value), &columns) != nil || len(columns) == 0 {
			continue // of another program
		}
		for k, f := range fields {
			for key, value := range columns[f.Name] {
				fields[k].Metadata = append(slices.Clip(fields[k].Metadata), columnar.Pair{Key: key, Value: string(value)})
			}
			delete(columns, f.Name)
		}
		if len(columns) == 0 {
			return fields, slices.Concat(s.Metadata[:i], s.Metadata[i+1:])
		}
		fields = slices.Clone(s.Fields) // it names no columns of the table
	}
	return fields, s.Metadata
}

// candidates returns elements that may stand for null: the extremes of the type, and NaN.
func candidates(k columnar.Kind) []uint64 {
	ints := func(bits int) []uint64 {
		least, mask := uint64(1)<<(bits-1), ^uint64(0)>>(64-bits)
		return []uint64{least, least - 1, (least + 1) & mask, least - 2}
	}
	switch k {
	case columnar.Int8:
		return ints(8)
	case columnar.Int16:
		return ints(16)
	case columnar.Int32, columnar.Date:
		return ints(32)
	case columnar.Int64, columnar.Timestamp, columnar.Duration, columnar.Time, columnar.Decimal:
		return ints(64)
	case columnar.Uint8:
		return []uint64{math.MaxUint8, math.MaxUint8 - 1, 0}
	case columnar.Uint16:
		return []uint64{math.MaxUint16, math.MaxUint16 - 1, 0}
	case columnar.Uint32:
		return []uint64{math.MaxUint32, math.MaxUint32 - 1, 0}
	case columnar.Uint64:
		return []uint64{math.MaxUint64, math.MaxUint64 - 1, 0}
	case columnar.Float16:
		return []uint64{0x7e00, 0xfbff, 0x7bff}
	case columnar.Float32:
		return []uint64{0x7fc00000, uint64(math.Float32bits(-math.MaxFloat32)), uint64(math.Float32bits(math.MaxFloat32))}
	case columnar.Float64:
		return []uint64{0x7ff8000000000000, math.Float64bits(-math.MaxFloat64), math.Float64bits(math.MaxFloat64)}
	}
	return nil
}

// part is some rows of a column.
type part struct {
	*columnar.Column
	from, to int
}

// parts returns the elements of an array in a batch. Lists that are null may have
// elements, which nobody sees.
func (a *Array) parts(b *columnar.Batch) []part {
	c := &b.Columns[a.column]
	switch {
	case c.Rows == 0:
		return nil
	case a.role != items:
		return []part{{c, 0, c.Rows}}
	case c.Valid == nil:
		return []part{{c.Elements, int(c.Offsets[0]), int(c.Offsets[c.Rows])}}
	}
	var list []part
	for i := range c.Rows {
		if c.IsValid(i) {
			list = append(list, part{c.Elements, int(c.Offsets[i]), int(c.Offsets[i+1])})
		}
	}
	return list
}

// width returns the bytes of an element of a column.
func (a *Array) width() int { return a.typ.Bytes() }

// each calls visit for the elements, with nil for null. Elements of a decimal are those
// of an int64.
func (a *Array) each(p part, visit func(elem []byte) error) error {
	var number [8]byte
	for i := p.from; i < p.to; i++ {
		elem, c, k := []byte(nil), p.Column, i
		valid := c.IsValid(i)
		if valid && c.Dictionary != nil {
			c, k = c.Dictionary, int(p.Index[i])
		}
		switch {
		case !valid:
		case a.role == lengths:
			elem = binary.LittleEndian.AppendUint64(number[:0], uint64(c.Offsets[k+1]-c.Offsets[k]))
		case c.Offsets != nil:
			elem = c.Data[c.Offsets[k]:c.Offsets[k+1]:c.Offsets[k+1]]
			if elem == nil {
				elem = []byte{}
			}
		default:
			w := a.width()
			elem = c.Data[k*w : (k+1)*w : (k+1)*w]
		}
		if elem != nil && a.typ.Kind == columnar.Decimal {
			low, high := int64(binary.LittleEndian.Uint64(elem)), int64(binary.LittleEndian.Uint64(elem[8:]))
			if high != low>>63 {
				return fmt.Errorf("a decimal has more digits than an int64: cast the column to float64, or to text")
			}
			elem = elem[:8]
		}
		if err := visit(elem); err != nil {
			return err
		}
	}
	return nil
}

// bits returns the bits of an element of at most 8 bytes.
func bits(elem []byte) (n uint64) {
	for i, b := range elem {
		n |= uint64(b) << (8 * i)
	}
	return n
}

// isNaN reports whether bits are a NaN of a type.
func isNaN(k columnar.Kind, n uint64) bool {
	switch k {
	case columnar.Float16:
		return n&0x7fff > 0x7c00
	case columnar.Float32:
		return n&(1<<31-1) > 0x7f800000
	case columnar.Float64:
		return n&(1<<63-1) > 0x7ff0000000000000
	}
	return false
}

// survey counts the rows and nulls of a batch, and strikes out candidates that are
// values. text is what stands for null in texts, if it is given.
func (a *Array) survey(b *columnar.Batch, text *string) error {
	rows := int64(0)
	for _, p := range a.parts(b) {
		rows += int64(p.to - p.from)
		// Fields of Arrow may have nulls that their schema denies, and a later batch too.
		err := a.each(p, func(elem []byte) error {
			switch {
			case elem == nil:
				a.nulls++
			case a.typ.Kind == columnar.String:
				if a.nullable && text != nil && string(elem) == *text {
					return fmt.Errorf("the text %q is a value, so it cannot stand for null: choose another one", *text)
				}
			case len(a.free) > 0:
				a.strike(bits(elem))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if rows > 0 {
		a.rows = append(a.rows, rows)
	}
	return nil
}

// strike removes a value from the candidates.
func (a *Array) strike(n uint64) {
	nan := isNaN(a.typ.Kind, n)
	for i, c := range a.free {
		if c == n || nan && isNaN(a.typ.Kind, c) {
			a.free = append(a.free[:i:i], a.free[i+1:]...)
			return
		}
	}
}

// host returns an element in host byte order.
func (a *Array) host(elem []byte) []byte {
	elem = bytes.Clone(elem)
	if !byteorder.Little() && !a.Spec.Type.Variable() {
		a.Spec.Type.Swap(elem, elem)
	}
	return elem
}

// count returns the number of elements.
func (a *Array) count() (n int64) {
	for _, r := range a.rows {
		n += r
	}
	return n
}

// block is the elements of a batch as an array stores them: in host byte order, or for
// elements of any length one by one.
type block struct {
	data  []byte
	words [][]byte
}

// block returns the elements of a batch. A value that stands for null is an error.
func (a *Array) block(b *columnar.Batch) (out block, err error) {
	for _, p := range a.parts(b) {
		w := a.width()
		if plain := a.role != lengths && w > 0 && p.Dictionary == nil && !a.mask && a.isNull == nil && a.typ.Kind != columnar.Decimal; plain && p.Valid == nil {
			out.data = append(out.data, p.Data[p.from*w:p.to*w]...)
			continue
		}
		err := a.each(p, func(elem []byte) error {
			switch {
			case a.mask && elem == nil:
				out.data = append(out.data, 1)
				return nil
			case a.mask:
				out.data = append(out.data, 0)
				return nil
			case elem == nil && a.isNull == nil && !a.masked:
				return a.noNull()
			case elem == nil && a.masked:
				elem = make([]byte, a.Spec.Type.Size())
				if a.Spec.Type.Variable() {
					elem = []byte{}
				}
			case elem == nil:
				elem = a.isNull
			case a.isNull != nil && len(elem) <= 8 && isNaN(a.typ.Kind, bits(elem)) && isNaN(a.typ.Kind, bits(a.isNull)):
				return failure.BadArgument("a value is NaN, which stands for null in the array: store null in its place in the table, or set another _FillValue in the array")
			case a.isNull != nil && bytes.Equal(elem, a.isNull):
				return failure.BadArgument("a value is the one that stands for null in the array: %s", a.Spec.Type.AppendText(nil, a.host(elem)))
			}
			if a.Spec.Type.Variable() {
				out.words = append(out.words, elem)
			} else {
				out.data = append(out.data, elem...)
			}
			return nil
		})
		if err != nil {
			return out, err
		}
	}
	if !byteorder.Little() && !a.Spec.Type.Variable() {
		a.Spec.Type.Swap(out.data, out.data)
	}
	return out, nil
}

// noNull is the error for nulls where no element of the array stands for them.
func (a *Array) noNull() error {
	name, example, free := missing.FillValue, "", candidates(a.typ.Kind)
	switch t := a.Spec.Type; {
	case missing.IsText(t):
		name, example = missing.Value, `"NA"`
	case a.role != lengths && len(free) > 0:
		raw, err := missing.Format(t, a.host(binaryOf(free[0], t.Size())))
		if err != nil {
			return err
		}
		example = string(raw)
	default:
		return failure.BadArgument("it has nulls, and no element of the array stands for null: varve create --nulls mask makes a group that has a place for them")
	}
	return failure.BadArgument("it has nulls, and no element of the array stands for null: first set the attribute %s to one that is no value there (varve attrs ARRAY set %s '%s')", name, name, example)
}

// rawJSON returns JSON as the value of an attribute.
func rawJSON(text []byte) json.RawMessage { return json.RawMessage(text) }

// jsonOf returns the JSON of an attribute, nil without one.
func jsonOf(v any) []byte {
	if v == nil {
		return nil
	}
	raw, _ := json.Marshal(v) // texts and JSON
	return raw
}

// sameJSON reports whether two texts or numbers are equal.
func sameJSON(x, y []byte) bool {
	var a, b any
	return json.Unmarshal(x, &a) == nil && json.Unmarshal(y, &b) == nil && a == b
}

func orNone(text []byte) string {
	if text == nil {
		return "none"
	}
	return string(text)
}
