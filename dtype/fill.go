package dtype

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// ParseFill returns the element that a fill value stands for: Size bytes in host byte order
// (zarr-specs v3 core, "Fill value"). The forms are
//
//   - bool: true or false;
//   - integers: a JSON number that is whole, however it is spelled, and in range;
//   - floats: a JSON number, rounded to the nearest, ties to even; "NaN" (quiet, without sign or payload),
//     "Infinity", "-Infinity"; or "0x" and the bits in hexadecimal, two digits a byte;
//   - complex: an array of two floats, real part first;
//   - raw: an array of Size integers from 0 to 255.
//
// Anything else wraps [ErrInvalid]. A number that is too large for its float type is an infinity.
func (t Type) ParseFill(json []byte) ([]byte, error) {
	elem := make([]byte, t.size)
	text := trim(string(json))
	if !t.parse(elem, text) {
		return nil, fmt.Errorf("%w: fill value %s of %s: expected %s", ErrInvalid, excerpt(text), t, t.expected())
	}
	return elem, nil
}

// parse sets elem to what text stands for, and reports whether that is a value of t.
func (t Type) parse(elem []byte, text string) bool {
	switch t.kind {
	case Bool:
		if text == "true" {
			elem[0] = 1
		}
		return text == "true" || text == "false"
	case Complex, Raw:
		return t.parseArray(elem, text)
	}
	return t.parseNumber(elem, text)
}

// parseArray reads a JSON array with one number for each that the element is made of.
// No spelling of a number holds a comma, so commas are where the array has them.
func (t Type) parseArray(elem []byte, text string) bool {
	rest, ok := unwrap(text, "[", "]")
	if !ok {
		return false
	}
	for len(elem) > 0 {
		part, after, more := strings.Cut(rest, ",")
		if more != (len(elem) > t.unit) || !t.parseNumber(elem[:t.unit], trim(part)) {
			return false
		}
		elem, rest = elem[t.unit:], after
	}
	return true
}

// parseNumber reads one of the numbers that an element is made of.
func (t Type) parseNumber(elem []byte, text string) bool {
	var bits uint64
	var ok bool
	switch t.kind {
	case Int, Uint, Raw:
		bits, ok = t.parseInteger(text)
	case Float, Complex:
		bits, ok = floatWidth(t.unit).parse(text)
	}
	if ok {
		putBits(elem, bits)
	}
	return ok
}

// parseInteger reads a whole number in the range of the type's numbers, as two's complement.
func (t Type) parseInteger(text string) (bits uint64, ok bool) {
	d, ok := parseDecimal(text)
	if !ok {
		return 0, false
	}
	magnitude, ok := d.integer()
	low, high := t.limits()
	switch {
	case !ok:
		return 0, false
	case d.negative:
		return -magnitude, magnitude <= low
	}
	return magnitude, magnitude <= high
}

// limits returns the magnitudes of the least and the greatest integer.
func (t Type) limits() (low, high uint64) {
	high = 1<<(8*t.unit) - 1
	if t.kind == Int {
		high >>= 1
		low = high + 1
	}
	return low, high
}

// expected says in words what the fill values of t are.
func (t Type) expected() string {
	switch t.kind {
	case Bool:
		return "true or false"
	case Int:
		low, high := t.limits()
		return fmt.Sprintf("an integer from -%d to %d", low, high)
	case Uint:
		_, high := t.limits()
		return fmt.Sprintf("an integer from 0 to %d", high)
	case Float:
		return t.expectedFloat()
	case Complex:
		return "an array of two parts, each " + t.expectedFloat()
	case Raw:
		return fmt.Sprintf("an array of %d integers from 0 to 255", t.size)
	}
	return "a data type first"
}

func (t Type) expectedFloat() string {
	return fmt.Sprintf(`a number, "NaN", "Infinity", "-Infinity", or "0x" and %d hexadecimal digits`, 2*t.unit)
}

// putBits stores the number of len(elem) bytes in host byte order.
func putBits(elem []byte, bits uint64) {
	switch len(elem) {
	case 1:
		elem[0] = byte(bits)
	case 2:
		binary.NativeEndian.PutUint16(elem, uint16(bits))
	case 4:
		binary.NativeEndian.PutUint32(elem, uint32(bits))
	case 8:
		binary.NativeEndian.PutUint64(elem, bits)
	}
}

// loadBits returns the number of len(elem) bytes in host byte order.
func loadBits(elem []byte) uint64 {
	switch len(elem) {
	case 1:
		return uint64(elem[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(elem))
	case 4:
		return uint64(binary.NativeEndian.Uint32(elem))
	}
	return binary.NativeEndian.Uint64(elem)
}
