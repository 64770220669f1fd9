// SPDX-License-Identifier: Apache-2.0

package npy

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"varve.dev/zarr/dtype"
)

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
