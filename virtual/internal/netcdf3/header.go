// SPDX-License-Identifier: Apache-2.0

package netcdf3

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/virtual/scan"
)

// Tags of lists.
const (
	dimensionTag = 10 // NC_DIMENSION
	variableTag  = 11 // NC_VARIABLE
	attributeTag = 12 // NC_ATTRIBUTE
)

// header is the header of a file
// (header = magic numrecs dim_list gatt_list var_list).
type header struct {
	records    int64 // number of records
	streaming  bool  // the number of records follows from the size of the file
	dimensions []dimension
	counts     bool // one of the dimensions counts records
	attributes []attribute
	variables  []*variable
	end        int64 // offset of the first byte after the header
	stride     int64 // bytes from a record to the next one
}

// dimension is a dimension (dim = name dim_length). That of records has the length 0.
type dimension struct {
	name   string
	length int64
}

func readHeader(c *cursor) (h *header, err error) {
	h = &header{}
	if err = h.readRecords(c); err != nil {
		return nil, fmt.Errorf("number of records: %w", err)
	}
	err = c.each(dimensionTag, "dimensions", func() error { return h.readDimension(c) })
	if err != nil {
		return nil, err
	}
	if h.attributes, err = readAttributes(c); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	err = c.each(variableTag, "variables", func() error { return h.readVariable(c, seen) })
	h.end = c.at
	return h, err
}

// readRecords reads the number of records (numrecs = NON_NEG | STREAMING). All bits of
// STREAMING are set.
func (h *header) readRecords(c *cursor) error {
	b, err := c.bytes(c.width())
	if err != nil {
		return err
	}
	// STREAMING: the writer could not go back to set the number.
	if h.streaming = string(b) == strings.Repeat("\xff", len(b)); h.streaming {
		return nil
	}
	// It is a number. Read it again, with the checks of one.
	c.at -= c.width()
	h.records, err = c.count()
	return err
}

func (h *header) readDimension(c *cursor) error {
	at := c.at
	d := dimension{}
	var err error
	if d.name, err = c.name(); err == nil {
		d.length, err = c.count()
	}
	if err != nil {
		return fmt.Errorf("dimension at %d: %w", at, err)
	}
	// A length of 0 marks the record dimension, of which the classic model has one.
	if d.length == 0 {
		if h.counts {
			return scan.Corruptf("dimension %q is the second one that counts records", d.name)
		}
		h.counts = true
	}
	h.dimensions = append(h.dimensions, d)
	return nil
}

// maxHeader bounds the bytes of a header that are read. A header with ten thousand
// variables has about two million.
const maxHeader = 16 << 20

// cursor reads a header from front to back. All numbers are big-endian.
type cursor struct {
	file    *scan.File
	at      int64 // offset of the next byte
	version byte
}

// bytes returns the next n bytes.
func (c *cursor) bytes(n int64) ([]byte, error) {
	// A damaged length of a name or a list must not read the whole file.
	if n > maxHeader-c.at {
		return nil, scan.Unsupportedf("a header of more than %s", quantity.Count(maxHeader, "bytes"))
	}
	b, err := c.file.Bytes(c.at, n)
	c.at += int64(len(b))
	return b, err
}

// padded returns the next n bytes, and skips zeros up to a multiple of four.
func (c *cursor) padded(n int64) ([]byte, error) {
	b, err := c.bytes(n)
	if err == nil {
		_, err = c.bytes(-n & 3)
	}
	return b, err
}

func (c *cursor) uint32() (uint32, error) {
	b, err := c.bytes(4)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint32(b), nil
}

// number returns the next number of 4 or 8 bytes, which must fit into int64.
func (c *cursor) number(wide bool) (int64, error) {
	if !wide {
		n, err := c.uint32()
		return int64(n), err
	}
	b, err := c.bytes(8)
	if err != nil {
		return 0, err
	}
	n := binary.BigEndian.Uint64(b)
	if n > math.MaxInt64 {
		return 0, scan.Corruptf("the number %d at %d, which is negative or too large", n, c.at-8)
	}
	return int64(n), nil
}

// width is the size in bytes of counts (NON_NEG).
func (c *cursor) width() int64 {
	if c.version == 5 {
		return 8
	}
	return 4
}

// count returns the next count or length (NON_NEG), of 8 bytes in CDF-5.
func (c *cursor) count() (int64, error) { return c.number(c.width() == 8) }

// offset returns the next offset (OFFSET), of 4 bytes in CDF-1.
func (c *cursor) offset() (int64, error) { return c.number(c.version != 1) }

// name returns the next name (name = nelems namestring).
func (c *cursor) name() (string, error) {
	n, err := c.count()
	if err != nil {
		return "", err
	}
	b, err := c.padded(n)
	return string(b), err
}

// list returns the number of elements of the list that comes next, which is absent or has
// the given tag (dim_list, att_list, var_list).
func (c *cursor) list(tag uint32, of string) (int64, error) {
	found, err := c.uint32()
	if err != nil {
		return 0, err
	}
	n, err := c.count()
	if err != nil {
		return 0, err
	}
	// ABSENT is a tag and a count of 0.
	if found != tag && (found != 0 || n != 0) {
		return 0, scan.Corruptf("a list with the tag %d and %s at %d, where that of %s is", found, quantity.Count(n, "elements"), c.at, of)
	}
	return n, nil
}

// each calls read for every element of a list. A count that is too large fails at the end
// of the file.
func (c *cursor) each(tag uint32, of string, read func() error) error {
	n, err := c.list(tag, of)
	for ; err == nil && n > 0; n-- {
		err = read()
	}
	return err
}

// element is a type of elements (nc_type).
type element struct {
	typ  dtype.Type
	fill uint64 // the bits of the default fill value (NC_FILL_BYTE, ...)
}

// char is NC_CHAR, the type of text.
const char = 2

// elements are the types of elements by number. Those from 7 on are in CDF-5 only.
var elements = map[uint32]element{
	1:    {dtype.Int8, 0x81},             // NC_BYTE
	char: {letter, 0},                    // NC_CHAR
	3:    {dtype.Int16, 0x8001},          // NC_SHORT
	4:    {dtype.Int32, 0x8000_0001},     // NC_INT
	5:    {dtype.Float32, 0x7cf0_0000},   // NC_FLOAT
	6:    {dtype.Float64, 0x479e << 48},  // NC_DOUBLE
	7:    {dtype.Uint8, math.MaxUint8},   // NC_UBYTE
	8:    {dtype.Uint16, math.MaxUint16}, // NC_USHORT
	9:    {dtype.Uint32, math.MaxUint32}, // NC_UINT
	10:   {dtype.Int64, 1<<63 + 2},       // NC_INT64
	11:   {dtype.Uint64, 1<<64 - 2},      // NC_UINT64
}

// letter is the type of a byte of text.
var letter, _ = dtype.NullTerminated(1) // a length of 1 is never refused

// element reads the number of a type.
func (c *cursor) element() (number uint32, e element, err error) {
	if number, err = c.uint32(); err != nil {
		return 0, element{}, err
	}
	e, ok := elements[number]
	// Types from 7 on in CDF-1 and CDF-2 are damage: their sizes would be guesses.
	if !ok || number > 6 && c.version != 5 {
		return 0, element{}, scan.Corruptf("the type %d at %d, which CDF-%d does not have", number, c.at-4, c.version)
	}
	return number, e, nil
}

// defaultFill returns the default fill value in host byte order.
func (e element) defaultFill() []byte {
	b := binary.BigEndian.AppendUint64(nil, e.fill)
	return e.host(b[8-e.typ.Size():])
}

// host returns a big-endian element in host byte order.
func (e element) host(b []byte) []byte {
	out := make([]byte, len(b))
	copy(out, b)
	if byteorder.Little() && e.typ.Ordered() {
		e.typ.Swap(out, out)
	}
	return out
}

// attribute is an attribute (attr = name nc_type nelems [values ...]).
type attribute struct {
	name   string
	number uint32 // of the type
	raw    []byte // the values
}

// readAttributes reads a list of attributes.
func readAttributes(c *cursor) (list []attribute, err error) {
	seen := map[string]bool{}
	err = c.each(attributeTag, "attributes", func() error {
		a, err := c.attribute()
		if err == nil && seen[a.name] {
			err = scan.Corruptf("two attributes are called %q", a.name)
		}
		seen[a.name] = true
		list = append(list, a)
		return err
	})
	return list, err
}

// attributes returns the names and values of a list.
func attributes(list []attribute) (out scan.Attributes) {
	for _, a := range list {
		out = append(out, scan.Attribute{Name: a.name, Value: a.value()})
	}
	return out
}

func (c *cursor) attribute() (a attribute, err error) {
	at := c.at
	if a.name, err = c.name(); err != nil {
		return a, fmt.Errorf("attribute at %d: %w", at, err)
	}
	if err = a.read(c); err != nil {
		return a, fmt.Errorf("attribute %q: %w", a.name, err)
	}
	return a, nil
}

func (a *attribute) read(c *cursor) error {
	number, e, err := c.element()
	if err != nil {
		return err
	}
	n, err := c.count()
	if err != nil {
		return err
	}
	size, ok := checked.Mul(n, int64(e.typ.Size()))
	if !ok {
		return scan.Corruptf("%s", quantity.Count(n, "values"))
	}
	a.number = number
	a.raw, err = c.padded(size)
	return err
}

// value returns the value of an attribute: text, a number, or a slice of numbers.
func (a attribute) value() any {
	order := binary.BigEndian
	switch a.number {
	case char:
		// Programs in C often count the zero at the end.
		return strings.TrimRight(string(a.raw), "\x00")
	case 1:
		return numbers(a.raw, 1, func(b []byte) int8 { return int8(b[0]) })
	case 3:
		return numbers(a.raw, 2, func(b []byte) int16 { return int16(order.Uint16(b)) })
	case 4:
		return numbers(a.raw, 4, func(b []byte) int32 { return int32(order.Uint32(b)) })
	case 5:
		return numbers(a.raw, 4, func(b []byte) float32 { return math.Float32frombits(order.Uint32(b)) })
	case 6:
		return numbers(a.raw, 8, func(b []byte) float64 { return math.Float64frombits(order.Uint64(b)) })
	case 7:
		return numbers(a.raw, 1, func(b []byte) uint8 { return b[0] })
	case 8:
		return numbers(a.raw, 2, order.Uint16)
	case 9:
		return numbers(a.raw, 4, order.Uint32)
	case 10:
		return numbers(a.raw, 8, func(b []byte) int64 { return int64(order.Uint64(b)) })
	}
	return numbers(a.raw, 8, order.Uint64)
}

// numbers returns a single number, or a slice of any other number of them.
func numbers[T any](raw []byte, size int, number func([]byte) T) any {
	list := make([]T, 0, len(raw)/size)
	for ; len(raw) > 0; raw = raw[size:] {
		list = append(list, number(raw))
	}
	if len(list) == 1 {
		return list[0]
	}
	return list
}

// variable is a variable
// (var = name nelems [dimid ...] vatt_list nc_type vsize begin).
type variable struct {
	name       string
	dimensions []int64 // numbers of dimensions
	attributes []attribute
	number     uint32 // of the type
	element    element
	begin      int64 // offset of the first value
	perRecord  bool  // the first dimension counts records
	// size is the size in bytes of the values of a record, or of all values if they do
	// not belong to records. It is never 0.
	size int64
}

func (h *header) readVariable(c *cursor, seen map[string]bool) error {
	at := c.at
	v := &variable{}
	var err error
	if v.name, err = c.name(); err != nil {
		return fmt.Errorf("variable at %d: %w", at, err)
	}
	if v.name == "" || seen[v.name] {
		return scan.Corruptf("the variable at %d has no name or that of another, %q", at, v.name)
	}
	seen[v.name] = true
	if err = v.read(c); err == nil {
		err = h.measure(v)
	}
	if err != nil {
		return fmt.Errorf("variable %q: %w", v.name, err)
	}
	h.variables = append(h.variables, v)
	return nil
}

// read reads what follows the name.
func (v *variable) read(c *cursor) error {
	n, err := c.count()
	for ; err == nil && n > 0; n-- {
		var d int64
		d, err = c.count()
		v.dimensions = append(v.dimensions, d)
	}
	if err != nil {
		return err
	}
	if v.attributes, err = readAttributes(c); err != nil {
		return err
	}
	if v.number, v.element, err = c.element(); err != nil {
		return err
	}
	// The size (vsize) follows from the dimensions. It has too few bits for large
	// variables, so it may be anything.
	if _, err = c.bytes(c.width()); err != nil {
		return err
	}
	v.begin, err = c.offset()
	return err
}

// measure finds the size of a variable.
func (h *header) measure(v *variable) error {
	v.size = int64(v.element.typ.Size())
	for i, number := range v.dimensions {
		if number >= int64(len(h.dimensions)) {
			return scan.Corruptf("the dimension %d of %d", number, len(h.dimensions))
		}
		d := h.dimensions[number]
		if d.length == 0 {
			if v.perRecord = i == 0; v.perRecord {
				continue
			}
			return scan.Corruptf("the dimension of records, %q, is not the first", d.name)
		}
		var ok bool
		if v.size, ok = checked.Mul(v.size, d.length); !ok {
			return scan.Corruptf("more than 2^63 bytes")
		}
	}
	return nil
}

// fill returns the fill value in host byte order.
func (v *variable) fill() []byte {
	// An attribute of another type or length is not the fill value of the variable.
	for _, a := range v.attributes {
		if a.name == "_FillValue" && a.number == v.number && len(a.raw) == v.element.typ.Size() {
			return v.element.host(a.raw)
		}
	}
	return v.element.defaultFill()
}

// arrange finds the distance of records, and their number if the header does not say it.
//
// The values of a variable in a record are padded to a multiple of four bytes, unless it
// is the only one with records ("Note on padding").
func (h *header) arrange(fileSize int64) error {
	end, n := int64(0), 0
	for _, v := range h.variables {
		if !v.perRecord {
			continue
		}
		n++
		last, ok := checked.Add(v.begin, v.size)
		padded, fits := checked.Add(v.size, -v.size&3)
		if !ok || !fits {
			return scan.Corruptf("variable %q: %s at %d", v.name, quantity.Count(v.size, "bytes"), v.begin)
		}
		if h.stride, ok = checked.Add(h.stride, padded); !ok {
			return scan.Corruptf("variable %q: the records are larger than 2^63 bytes", v.name)
		}
		// A record is complete if the variable that lies last in it is.
		end = max(end, last)
	}
	// Such as one variable of shorts: its records follow each other without padding.
	if n == 1 {
		h.stride = h.only().size
	}
	// A streamed file has the records of which it has all values. The padding of the last
	// one may be missing.
	if h.streaming && n > 0 {
		h.records = recordsWithin(fileSize, end, h.stride)
	}
	return nil
}

// only returns the variable with records.
func (h *header) only() *variable {
	for _, v := range h.variables {
		if v.perRecord {
			return v
		}
	}
	return nil
}

// recordsWithin returns the number of records in a file, if the first one ends at end.
func recordsWithin(fileSize, end, stride int64) int64 {
	// Not even the first record is complete.
	if end > fileSize {
		return 0
	}
	return (fileSize-end)/stride + 1
}
