// SPDX-License-Identifier: Apache-2.0

// Package npy reads and writes the header of NumPy's .npy files (versions 1.0 to 3.0 of
// numpy.lib.format): a magic number and a Python dictionary with type, order and shape.
// The elements follow; the caller reads them.
//
//	h, err := npy.ReadHeader(r)
//	data := make([]byte, n) // n of h.Bytes()
//	_, err = io.ReadFull(r, data)
//	data = h.Arrange(data) // C order, host byte order
package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strided"
)

// ErrInvalid means that a file is not a .npy file, or that its header is malformed.
var ErrInvalid = errors.New("invalid .npy file")

const (
	magic = "\x93NUMPY"
	// maxHeader bounds the size of the dictionary in bytes. A header of 64 axes has
	// about 1,500, one of 4096 fields 100,000.
	maxHeader = 1 << 20
	// alignment is the alignment of the first element in bytes.
	alignment = 64
)

// Header describes the elements of a .npy file.
type Header struct {
	Type      dtype.Type
	BigEndian bool // the numbers have their most significant byte first
	Fortran   bool // the first axis varies fastest
	Shape     []int64
}

// Bytes returns the size of the elements in bytes, and whether it fits into int64.
func (h Header) Bytes() (int64, bool) {
	n, ok := checked.Product(h.Shape...)
	if !ok {
		return 0, false
	}
	return checked.Mul(n, int64(h.Type.Size()))
}

// ReadHeader reads a header and leaves r at the first element. If the file is damaged or
// not a .npy file, the error wraps [ErrInvalid]. If Varve has no such data type, as for
// objects and structures with gaps, it wraps [dtype.ErrUnsupported].
func ReadHeader(r io.Reader) (Header, error) {
	var start [len(magic) + 2]byte
	n, err := io.ReadFull(r, start[:])
	if k := min(n, len(magic)); string(start[:k]) != magic[:k] {
		return Header{}, fmt.Errorf("%w: it does not begin with the magic number of .npy", ErrInvalid)
	}
	if err != nil {
		return Header{}, truncated(err)
	}
	length, err := readLength(r, start[len(magic)])
	if err != nil {
		return Header{}, err
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return Header{}, truncated(err)
	}
	return parse(decoded(text, start[len(magic)]))
}

// decoded returns the dictionary as UTF-8. Before version 3.0 it is Latin-1.
func decoded(text []byte, version byte) string {
	if version >= 3 {
		return strings.ToValidUTF8(string(text), "\ufffd")
	}
	runes := make([]rune, len(text))
	for i, b := range text {
		runes[i] = rune(b)
	}
	return string(runes)
}

// readLength reads the size of the dictionary in bytes.
func readLength(r io.Reader, version byte) (int, error) {
	var field [4]byte
	var width int
	switch version {
	case 1:
		width = 2
	case 2, 3:
		width = 4
	default:
		return 0, fmt.Errorf("%w: format version %d; 1, 2 and 3 are known", ErrInvalid, version)
	}
	if _, err := io.ReadFull(r, field[:width]); err != nil {
		return 0, truncated(err)
	}
	length := binary.LittleEndian.Uint32(field[:])
	// Check before allocating: the length comes from the file.
	if length > maxHeader {
		return 0, fmt.Errorf("%w: a header of %s, at most %d are read", ErrInvalid, quantity.Count(length, "bytes"), maxHeader)
	}
	return int(length), nil
}

// truncated returns ErrInvalid at the end of the file, and other errors of the reader
// unchanged.
func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends within the header", ErrInvalid)
	}
	return fmt.Errorf("npy: read the header: %w", err)
}

// Append appends the header at the start of a file, padded as NumPy does. The version is
// 1.0, 2.0 for a long header, or 3.0 if names of fields are not ASCII. Elements of types
// that NumPy lacks, which [Header.Check] refuses, become plain bytes.
func (h Header) Append(dst []byte) []byte {
	text := appendDescr([]byte("{'descr': "), h.Type, h.BigEndian)
	text = append(text, ", 'fortran_order': "...)
	if h.Fortran {
		text = append(text, "True"...)
	} else {
		text = append(text, "False"...)
	}
	text = append(appendTuple(append(text, ", 'shape': "...), h.Shape), ", }"...)
	version, width := byte(1), 2
	// Version 1.0 has a length of 16 bits. Leave room for the padding.
	if len(text)+2*alignment > math.MaxUint16 {
		version, width = 2, 4
	}
	if strings.ContainsFunc(string(text), func(r rune) bool { return r > unicode.MaxASCII }) {
		version, width = 3, 4
	}
	before := len(magic) + 2 + width
	// NumPy pads with spaces before the final newline, so that the elements are aligned
	// if the file is mapped into memory.
	padding := alignment - 1 - (before+len(text))%alignment
	length := uint32(len(text) + padding + 1)
	dst = append(append(dst, magic...), version, 0)
	dst = append(dst, binary.LittleEndian.AppendUint32(nil, length)[:width]...)
	dst = append(append(dst, text...), bytes.Repeat([]byte{' '}, padding)...)
	return append(dst, '\n')
}

func appendTuple(dst []byte, numbers []int64) []byte {
	dst = append(dst, '(')
	for i, n := range numbers {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = strconv.AppendInt(dst, n, 10)
		// A tuple of one number needs a comma.
		if i < len(numbers)-1 || i == 0 {
			dst = append(dst, ',')
		}
	}
	return append(dst, ')')
}

// Swapped reports whether the byte order differs from that of the host.
func (h Header) Swapped() bool {
	return h.Type.Ordered() && h.BigEndian == byteorder.Little()
}

// Arrange returns the elements of the file, all [Header.Bytes] of them, in C order and
// host byte order. It changes data, and returns it if possible.
func (h Header) Arrange(data []byte) []byte {
	if h.Swapped() {
		h.Type.Swap(data, data)
	}
	if !h.Fortran || len(h.Shape) < 2 {
		return data
	}
	size := h.Type.Size()
	strides := make([]int64, len(h.Shape))
	// In Fortran order the first axis has the smallest stride.
	step := int64(size)
	for i, n := range h.Shape {
		strides[i] = step
		step *= n
	}
	out := make([]byte, len(data))
	strided.Copy(strided.Contiguous(out, h.Shape, size), strided.View{Data: data, Shape: h.Shape, Strides: strides, Size: size})
	return out
}

// maxDepth bounds the nesting of structures. The data type allows less.
const maxDepth = 32

// descr reads a data type: a type string, or a list of (name, data type) pairs.
func (p *parser) descr(h *Header) error {
	var order order
	t, err := p.dataType(&order, 0)
	h.Type, h.BigEndian = t, order.big
	return err
}

// order is the byte order of an element. All its numbers must agree.
type order struct{ known, big bool }

func (o *order) set(big bool) bool {
	same := !o.known || o.big == big
	o.known, o.big = true, big
	return same
}

func (p *parser) dataType(o *order, depth int) (dtype.Type, error) {
	if depth > maxDepth {
		return dtype.Type{}, fmt.Errorf("%w: structures nested more than %d deep", dtype.ErrUnsupported, maxDepth)
	}
	if p.accept("[") {
		return p.structure(o, depth)
	}
	descr, err := p.text()
	if err != nil {
		return dtype.Type{}, err
	}
	t, big, err := dtype.FromNumPy(descr)
	// A Header has one byte order for all fields.
	if err == nil && t.Ordered() && !o.set(big) {
		err = fmt.Errorf("%w: fields of different byte orders", dtype.ErrUnsupported)
	}
	return t, err
}

// structure reads the fields of a structure, after the bracket.
func (p *parser) structure(o *order, depth int) (dtype.Type, error) {
	var fields []dtype.Field
	for !p.accept("]") {
		f, err := p.field(o, depth)
		if err != nil {
			return dtype.Type{}, err
		}
		fields = append(fields, f)
		if !p.accept(",") {
			if err := p.need("]"); err != nil {
				return dtype.Type{}, err
			}
			break
		}
	}
	return dtype.StructOf(fields...)
}

func (p *parser) field(o *order, depth int) (f dtype.Field, err error) {
	if err = p.need("("); err != nil {
		return f, err
	}
	if p.accept(""); strings.HasPrefix(p.rest, "'") || strings.HasPrefix(p.rest, `"`) {
		f.Name, err = p.text()
	} else {
		err = fmt.Errorf("%w: the name of a field is missing", ErrInvalid)
	}
	if err == nil {
		err = p.need(",")
	}
	if err != nil {
		return f, err
	}
	if f.Type, err = p.dataType(o, depth+1); err != nil {
		return f, err
	}
	// NumPy writes gaps between fields as fields without a name.
	if f.Name == "" {
		return f, fmt.Errorf("%w: a structure with gaps between its fields; NumPy's repack_fields closes them", dtype.ErrUnsupported)
	}
	if p.accept(",") {
		// A third member is the shape of a field that is an array. A comma may also end
		// the pair.
		if p.accept(""); !strings.HasPrefix(p.rest, ")") {
			return f, fmt.Errorf("%w: field %q is an array", dtype.ErrUnsupported, f.Name)
		}
	}
	return f, p.need(")")
}

// Check returns an error that wraps [dtype.ErrUnsupported] if NumPy has no data type for
// the elements or for one of their fields.
func (h Header) Check() error {
	if err := check(h.Type); err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	return nil
}

func check(t dtype.Type) error {
	if t.Kind() != dtype.KindStruct {
		if _, ok := t.NumPy(); !ok {
			return fmt.Errorf("%w: NumPy has no data type for %s", dtype.ErrUnsupported, t)
		}
		return nil
	}
	for _, f := range t.Fields() {
		if err := check(f.Type); err != nil {
			return fmt.Errorf("field %q: %w", f.Name, err)
		}
	}
	return nil
}

// appendDescr appends the data type as it appears in a header.
func appendDescr(dst []byte, t dtype.Type, big bool) []byte {
	if t.Kind() != dtype.KindStruct {
		descr, ok := t.NumPy()
		if !ok {
			descr = fmt.Sprintf("|V%d", t.Size()) // plain bytes
		}
		if big && t.Ordered() && ok {
			descr = ">" + descr[1:]
		}
		return append(append(append(dst, '\''), descr...), '\'')
	}
	dst = append(dst, '[')
	for i, f := range t.Fields() {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(appendText(append(dst, '('), f.Name), ", "...)
		dst = append(appendDescr(dst, f.Type, big), ')')
	}
	return append(dst, ']')
}

// appendText appends a Python string literal.
func appendText(dst []byte, s string) []byte {
	dst = append(dst, '\'')
	for _, r := range s {
		switch {
		case r == '\'' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ' || r == 0x7f:
			dst = fmt.Appendf(dst, `\x%02x`, r)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '\'')
}

// escapes maps escapes to their number of hexadecimal digits.
var escapes = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// unescape returns the rune after a backslash, and its length in bytes.
func unescape(s string) (r rune, size int, ok bool) {
	if s == "" {
		return 0, 0, false
	}
	switch s[0] {
	case '\\', '\'', '"':
		return rune(s[0]), 1, true
	case 'n':
		return '\n', 1, true
	case 'r':
		return '\r', 1, true
	case 't':
		return '\t', 1, true
	}
	size = escapes[s[0]]
	if size == 0 || len(s) <= size {
		return 0, 0, false
	}
	for _, c := range []byte(s[1 : 1+size]) {
		digit := strings.IndexByte("0123456789abcdef", c|0x20)
		// Stop early: eight hexadecimal digits could overflow a rune.
		if digit < 0 || r > 0x10ffff {
			return 0, 0, false
		}
		r = r<<4 | rune(digit)
	}
	return r, 1 + size, utf8.ValidRune(r)
}

// parse reads the dictionary of a header, a Python literal.
func parse(text string) (Header, error) {
	p := &parser{rest: text}
	h, err := p.dictionary()
	if err != nil {
		return Header{}, fmt.Errorf("npy: header, byte %d: %w", len(text)-len(p.rest), err)
	}
	return h, nil
}

// parser reads the few kinds of Python literals that occur in headers.
type parser struct{ rest string }

// accept skips white space, and then token if it follows.
func (p *parser) accept(token string) bool {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	rest, ok := strings.CutPrefix(p.rest, token)
	p.rest = rest
	return ok
}

func (p *parser) need(token string) error {
	if !p.accept(token) {
		return fmt.Errorf("%w: %q is missing", ErrInvalid, token)
	}
	return nil
}

func (p *parser) dictionary() (Header, error) {
	var h Header
	seen := map[string]bool{}
	if err := p.need("{"); err != nil {
		return h, err
	}
	for !p.accept("}") {
		if err := p.member(&h, seen); err != nil {
			return h, err
		}
		if !p.accept(",") {
			if err := p.need("}"); err != nil {
				return h, err
			}
			break
		}
	}
	if p.accept(""); p.rest != "" {
		return h, fmt.Errorf("%w: text after the dictionary", ErrInvalid)
	}
	// Unknown and repeated keys were refused, so three keys are the three that are
	// needed.
	if len(seen) != 3 {
		return h, fmt.Errorf("%w: one of descr, fortran_order and shape is missing", ErrInvalid)
	}
	return h, nil
}

// member reads one key and its value.
func (p *parser) member(h *Header, seen map[string]bool) error {
	key, err := p.text()
	if err != nil {
		return err
	}
	if seen[key] {
		return fmt.Errorf("%w: %q occurs twice", ErrInvalid, key)
	}
	seen[key] = true
	if err := p.need(":"); err != nil {
		return err
	}
	switch key {
	case "descr":
		return p.descr(h)
	case "fortran_order":
		return p.boolean(&h.Fortran)
	case "shape":
		return p.tuple(&h.Shape)
	}
	return fmt.Errorf("%w: unknown key %q", ErrInvalid, key)
}

// text reads a string.
func (p *parser) text() (string, error) {
	p.accept("")
	if p.rest == "" || p.rest[0] != '\'' && p.rest[0] != '"' {
		return "", fmt.Errorf("%w: a string is missing", ErrInvalid)
	}
	quote, rest := p.rest[0], p.rest[1:]
	var text []byte
	for {
		end := strings.IndexAny(rest, string([]byte{quote, '\\'}))
		if end < 0 {
			return "", fmt.Errorf("%w: a string is not closed", ErrInvalid)
		}
		text = append(text, rest[:end]...)
		if rest[end] == quote {
			p.rest = rest[end+1:]
			return string(text), nil
		}
		r, size, ok := unescape(rest[end+1:])
		if !ok {
			return "", fmt.Errorf("%w: a string with an unknown escape", ErrInvalid)
		}
		text, rest = utf8.AppendRune(text, r), rest[end+1+size:]
	}
}

func (p *parser) boolean(v *bool) error {
	switch {
	case p.accept("True"):
		*v = true
	case p.accept("False"):
		*v = false
	default:
		return fmt.Errorf("%w: True or False is missing", ErrInvalid)
	}
	return nil
}

// tuple reads the shape: (), (3,), (3, 4).
func (p *parser) tuple(shape *[]int64) error {
	*shape = []int64{}
	if err := p.need("("); err != nil {
		return err
	}
	for !p.accept(")") {
		n, err := p.number()
		if err != nil {
			return err
		}
		if *shape = append(*shape, n); len(*shape) > grid.MaxRank {
			return fmt.Errorf("%w: more than %s", ErrInvalid, quantity.Count(grid.MaxRank, "axes"))
		}
		if p.accept(",") {
			continue
		}
		// In Python, (3) is a number, not a tuple.
		if len(*shape) == 1 {
			return fmt.Errorf("%w: a tuple of one number needs a comma", ErrInvalid)
		}
		return p.need(")")
	}
	return nil
}

// number reads a non-negative decimal number. Python 2 appended an L to large ones.
func (p *parser) number() (int64, error) {
	p.accept("")
	end := 0
	for end < len(p.rest) && p.rest[end] >= '0' && p.rest[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(p.rest[:end], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: a length from 0 to 2^63-1 is missing", ErrInvalid)
	}
	p.rest = strings.TrimPrefix(p.rest[end:], "L")
	return n, nil
}
