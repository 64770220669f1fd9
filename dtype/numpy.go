package dtype

import (
	"fmt"
	"strconv"
	"strings"
)

// NumPy returns the type string that NumPy has for elements of t in little-endian order, as it stands in .npy files and
// format 2 metadata: "<i4", "|b1", "<c8", "|V3" for raw types. It is not ok for the zero Type.
func (t Type) NumPy() (descr string, ok bool) {
	if t.IsZero() {
		return "", false
	}
	order := "<"
	if t.unit == 1 {
		order = "|"
	}
	return order + t.numPyCode(), true
}

// numPyCode returns the type string without byte order.
func (t Type) numPyCode() string {
	letter := " biufcV"[t.kind]
	return string(letter) + strconv.Itoa(t.size)
}

// FromNumPy returns the type that a NumPy type string names, and whether its numbers are in big-endian order.
// A type string without byte order where one is needed wraps [ErrInvalid]; texts, dates, objects and all else
// that has no counterpart here wrap [ErrUnsupported].
func FromNumPy(descr string) (t Type, bigEndian bool, err error) {
	if descr == "" || !strings.Contains("<>|", descr[:1]) {
		return Type{}, false, fmt.Errorf("%w: NumPy type %s: expected a byte order first, as in \"<i4\"", ErrInvalid, excerpt(descr))
	}
	t, ok := byNumPyCode(descr[1:])
	switch {
	case !ok:
		return Type{}, false, fmt.Errorf("%w: NumPy type %s", ErrUnsupported, excerpt(descr))
	case descr[0] == '|' && t.unit > 1:
		return Type{}, false, fmt.Errorf("%w: NumPy type %s: numbers of %d bytes need a byte order, '<' or '>'", ErrInvalid, excerpt(descr), t.unit)
	}
	return t, descr[0] == '>' && t.unit > 1, nil
}

func byNumPyCode(code string) (Type, bool) {
	for _, t := range named {
		if t.numPyCode() == code {
			return t, true
		}
	}
	size, err := strconv.Atoi(strings.TrimPrefix(code, "V"))
	if err != nil || size < 1 || size > maxRawSize {
		return Type{}, false
	}
	t := raw(size)
	return t, t.numPyCode() == code
}
