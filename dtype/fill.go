// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// ParseFill returns the element that a fill value in JSON stands for. The element has
// [Type.Size] bytes in host byte order, or any number of bytes if the type has variable
// length. The forms are:
//
//   - bool: true or false;
//   - integers: a JSON number that is an integer, in any spelling, and in range;
//   - floats: a JSON number, rounded to the nearest with ties to even; "NaN", the NaN
//     that the specification of the type names; "Infinity" or "-Infinity"; or "0x" and
//     the bits in hexadecimal, two digits per byte;
//   - complex: an array of two floats, real part first;
//   - raw: an array of Size integers from 0 to 255; for raw_bytes also Size bytes in
//     base64;
//   - string and fixed-length text: a string, which must not be too long for the type;
//   - bytes: base64, or an array of integers from 0 to 255; for null_terminated_bytes at
//     most Size of them;
//   - moments and durations: an integer, or "NaT";
//   - struct: an object with a fill value for every field; or all Size bytes,
//     little-endian, in base64.
//
// Anything else is an error that wraps [ErrInvalid]. A number that is too large for a
// float type becomes an infinity if the type has one.
//
// Sources: zarr-specs v3 core, "Fill value"; zarr-extensions, "data-types".
func (t Type) ParseFill(json []byte) ([]byte, error) {
	text := trim(string(json))
	elem := make([]byte, t.size)
	ok := false
	if t.Variable() {
		elem, ok = t.parseVariable(text)
	} else {
		ok = t.parse(elem, text)
	}
	if !ok {
		return nil, fmt.Errorf("%w: fill value %s of %s: expected %s", ErrInvalid, excerpt(text), t, t.expected())
	}
	return elem, nil
}

// Default returns the fill value of an array that has none: zero, empty text, or NaT. All
// bytes of a struct are zero, also those of times, as in zarr-python 3.4.1.
func (t Type) Default() []byte {
	elem := make([]byte, t.size)
	if t.kind == KindDatetime || t.kind == KindTimedelta {
		// The bits of NaT.
		putBits(elem, 1<<63)
	}
	return elem
}

// parse sets elem to the value of text. It returns false if text is not a value of t.
func (t Type) parse(elem []byte, text string) bool {
	switch t.kind {
	case KindBool:
		if text == "true" {
			elem[0] = 1
		}
		return text == "true" || text == "false"
	case KindComplex:
		return t.parseArray(elem, text)
	case KindRaw:
		return t.parseArray(elem, text) || t.name == "raw_bytes" && copyExactly(elem, text)
	case KindUTF32:
		return t.parseUTF32(elem, text)
	case KindTerminated:
		b, ok := parseBytes(text)
		// A longer text does not fit. A shorter one is padded with zeros, which elem has
		// already.
		return ok && copy(elem, b) == len(b)
	case KindStruct:
		return t.parseStruct(elem, text)
	case KindDatetime, KindTimedelta:
		if text == `"NaT"` {
			putBits(elem, 1<<63)
			return true
		}
	}
	return t.parseNumber(elem, text)
}

// parseArray reads a JSON array with one entry for each number of an element. It may
// split at every comma, because no spelling of a number contains one.
func (t Type) parseArray(elem []byte, text string) bool {
	rest, ok := unwrap(text, "[", "]")
	if !ok {
		return false
	}
	for len(elem) > 0 {
		// There must be a comma exactly if more numbers are to follow.
		part, after, more := strings.Cut(rest, ",")
		if more != (len(elem) > t.unit) || !t.parseNumber(elem[:t.unit], trim(part)) {
			return false
		}
		elem, rest = elem[t.unit:], after
	}
	return true
}

// parseNumber reads one of the numbers of an element.
func (t Type) parseNumber(elem []byte, text string) bool {
	var bits uint64
	var ok bool
	switch t.kind {
	case KindInt, KindUint, KindRaw, KindDatetime, KindTimedelta:
		bits, ok = t.parseInteger(text)
	case KindFloat, KindComplex:
		bits, ok = t.format.parse(text)
	}
	if ok {
		putBits(elem, bits)
	}
	return ok
}

// parseInteger reads an integer in the range of the type, as two's complement.
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
		// The negation wraps around: two's complement.
		return -magnitude, magnitude <= low
	}
	return magnitude, magnitude <= high
}

// limits returns the magnitudes of the smallest and the largest integer.
func (t Type) limits() (low, high uint64) {
	width := t.bits
	if width == 0 {
		width = 8 * t.unit
	}
	high = 1<<width - 1
	if t.kind == KindInt || t.kind == KindDatetime || t.kind == KindTimedelta {
		high >>= 1
		low = high + 1
	}
	return low, high
}

// expected describes the fill values of t for error messages.
func (t Type) expected() string {
	switch t.kind {
	case KindBool:
		return "true or false"
	case KindInt:
		low, high := t.limits()
		return fmt.Sprintf("an integer from -%d to %d", low, high)
	case KindUint:
		_, high := t.limits()
		return fmt.Sprintf("an integer from 0 to %d", high)
	case KindFloat:
		return t.expectedFloat()
	case KindComplex:
		return "an array of two parts, each " + t.expectedFloat()
	case KindRaw:
		if t.name == "raw_bytes" {
			return fmt.Sprintf("%d bytes in base64, or an array of as many integers from 0 to 255", t.size)
		}
		return fmt.Sprintf("an array of %d integers from 0 to 255", t.size)
	case KindString:
		return "a string"
	case KindBytes:
		return "a string in base64, or an array of integers from 0 to 255"
	case KindUTF32:
		return fmt.Sprintf("a string of at most %d code points", t.size/4)
	case KindTerminated:
		return fmt.Sprintf("a string in base64 of at most %d bytes", t.size)
	case KindDatetime, KindTimedelta:
		return `an integer of 64 bits, or "NaT"`
	case KindStruct:
		return t.expectedStruct()
	}
	return "a data type first"
}

// expectedStruct shows an object with the fields of t, unless that is too long to be
// read.
func (t Type) expectedStruct() string {
	text := "an object with a value for each field"
	if example := t.AppendJSON(nil, t.Default()); len(example) <= 200 {
		return text + ", as " + string(example)
	}
	return text
}

func (t Type) expectedFloat() string {
	words := ""
	if _, ok := t.format.nan(); ok {
		words += `"NaN", `
	}
	if _, ok := t.format.inf(); ok {
		words += `"Infinity", "-Infinity", `
	}
	return fmt.Sprintf(`a number, %sor "0x" and %d hexadecimal digits`, words, 2*t.unit)
}

// putBits stores the number bits in len(elem) bytes in host byte order.
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

// loadBits loads the number of len(elem) bytes in host byte order.
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
