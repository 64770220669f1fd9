// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"fmt"
	"strconv"
	"strings"

	"varve.dev/zarr/internal/quantity"
)

// NumPy returns the type string of NumPy for elements of t in little-endian order, as in
// .npy files and format 2 metadata: "<i4", "|b1", "<c8", "|V3" for raw types, "<M8[ns]",
// "|S4", "<U3". It returns false if NumPy has none: for the zero Type, structs, small
// integers and floats, bfloat16, and types of variable length.
func (t Type) NumPy() (descr string, ok bool) {
	code, ok := t.numPyCode()
	if !ok {
		return "", false
	}
	order := "<"
	// NumPy writes "|" for types without a byte order.
	if t.unit == 1 {
		order = "|"
	}
	return order + code, true
}

// numPyCode returns the type string without the byte order.
func (t Type) numPyCode() (code string, ok bool) {
	switch t.kind {
	case KindBool:
		return "b1", true
	case KindInt, KindUint:
		// Int and Uint are the kinds 2 and 3.
		return string(" biu"[t.kind]) + strconv.Itoa(t.size), t.bits == 8*t.size
	case KindFloat:
		return "f" + strconv.Itoa(t.size), t.format == float16Format || t.format == float32Format || t.format == float64Format
	case KindComplex:
		return "c" + strconv.Itoa(t.size), t.format == float32Format || t.format == float64Format
	case KindRaw:
		return "V" + strconv.Itoa(t.size), true
	case KindTerminated:
		return "S" + strconv.Itoa(t.size), true
	case KindUTF32:
		return "U" + strconv.Itoa(t.size/4), true
	case KindDatetime:
		return "M8" + t.step.numPy(), true
	case KindTimedelta:
		return "m8" + t.step.numPy(), true
	}
	return "", false
}

// numPy returns the step in the form of a NumPy type string.
func (s Step) numPy() string {
	if s.Unit == "generic" && s.Factor == 1 {
		return ""
	}
	return "[" + s.String() + "]"
}

// FromNumPy returns the type for a NumPy type string, and whether its numbers are
// big-endian. "V3" is raw_bytes. It returns an error that wraps [ErrInvalid] if a byte
// order is needed but missing, and [ErrUnsupported] for objects, long doubles and all
// other types that have no counterpart here.
func FromNumPy(descr string) (t Type, bigEndian bool, err error) {
	if descr == "" || !strings.Contains("<>|", descr[:1]) {
		return Type{}, false, fmt.Errorf("%w: NumPy type %s: expected a byte order first, as in \"<i4\"", ErrInvalid, excerpt(descr))
	}
	t, ok := byNumPyCode(descr[1:])
	switch {
	case !ok:
		return Type{}, false, fmt.Errorf("%w: NumPy type %s", ErrUnsupported, excerpt(descr))
	// Guessing a byte order could return wrong numbers.
	case descr[0] == '|' && t.unit > 1:
		return Type{}, false, fmt.Errorf("%w: NumPy type %s: numbers of %s need a byte order, '<' or '>'", ErrInvalid, excerpt(descr), quantity.Count(t.unit, "bytes"))
	}
	return t, descr[0] == '>' && t.unit > 1, nil
}

func byNumPyCode(code string) (Type, bool) {
	// Types without a configuration have fixed codes.
	for _, t := range named {
		if c, ok := t.numPyCode(); ok && c == code {
			return t, true
		}
	}
	if code == "" {
		return Type{}, false
	}
	switch code[0] {
	case 'M', 'm':
		return timedByCode(code)
	case 'V', 'S', 'U':
		return fixedByCode(code)
	}
	return Type{}, false
}

func fixedByCode(code string) (t Type, ok bool) {
	n, err := strconv.Atoi(code[1:])
	if err != nil {
		return Type{}, false
	}
	switch code[0] {
	case 'V':
		t, err = RawBytes(n)
	case 'S':
		t, err = NullTerminated(n)
	case 'U':
		t, err = FixedUTF32(n)
	}
	if err != nil {
		return Type{}, false
	}
	// The code must be canonical: "U03" is refused.
	c, _ := t.numPyCode()
	return t, c == code
}

// timedByCode reads a code such as "M8[10ns]".
func timedByCode(code string) (Type, bool) {
	name := "numpy.datetime64"
	if code[0] == 'm' {
		name = "numpy.timedelta64"
	}
	word, ok := strings.CutPrefix(code[1:], "8")
	if word == "" {
		// "M8" without brackets has the generic unit.
		return timed(name, Step{"generic", 1}), ok
	}
	word, bracketed := unwrap(word, "[", "]")
	digits, unit := cutDigits(word)
	factor := int64(1)
	if digits != "" {
		var err error
		if factor, err = strconv.ParseInt(digits, 10, 64); err != nil {
			return Type{}, false
		}
	}
	step, valid := newStep(unit, factor)
	return timed(name, step), ok && bracketed && valid
}
