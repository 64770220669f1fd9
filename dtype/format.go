package dtype

import (
	"encoding/hex"
	"fmt"
	"strconv"
)

// FormatFill returns the canonical fill value of an element, Size bytes in host byte order, as JSON:
// integers in decimal, floats as the shortest decimal that reads back as the same bits, marked as a float by its point
// or exponent, NaN with a sign or a payload in hexadecimal. [Type.ParseFill] gives the same bytes back.
// Another length, or a bool that is neither 0 nor 1, wraps [ErrInvalid].
func (t Type) FormatFill(elem []byte) ([]byte, error) {
	switch {
	case t.IsZero():
		return nil, fmt.Errorf("%w: a fill value needs a data type", ErrInvalid)
	case len(elem) != t.size:
		return nil, fmt.Errorf("%w: a fill value of %s has %d bytes, not %d", ErrInvalid, t, t.size, len(elem))
	case t.kind == Bool && elem[0] > 1:
		return nil, fmt.Errorf("%w: a bool is the byte 0 or 1, not %d", ErrInvalid, elem[0])
	}
	return t.AppendJSON(nil, elem), nil
}

// AppendJSON appends an element, which has to have Size bytes in host byte order, in the form of [Type.FormatFill].
// It allocates only where dst lacks capacity. A bool that is not 0 is true.
func (t Type) AppendJSON(dst, elem []byte) []byte {
	if t.kind != Complex && t.kind != Raw {
		return t.appendNumber(dst, elem)
	}
	dst = append(dst, '[')
	for i := 0; i < t.size; i += t.unit {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = t.appendNumber(dst, elem[i:i+t.unit])
	}
	return append(dst, ']')
}

// AppendText appends an element, which has to have Size bytes in host byte order, as people read it:
// 1.5, nan, -inf, 1.0+2.0j, true, 0x0a0b. It allocates only where dst lacks capacity.
// Every NaN is nan; [Type.ParseText] gives the bytes of anything else back.
func (t Type) AppendText(dst, elem []byte) []byte {
	switch t.kind {
	case Float:
		return floatWidth(t.unit).appendText(dst, loadBits(elem))
	case Complex:
		return t.appendComplex(dst, elem)
	case Raw:
		return hex.AppendEncode(append(dst, "0x"...), elem)
	}
	return t.appendNumber(dst, elem)
}

func (t Type) appendComplex(dst, elem []byte) []byte {
	w := floatWidth(t.unit)
	dst = w.appendText(dst, loadBits(elem[:t.unit]))
	n := len(dst)
	dst = append(dst, '+')
	dst = w.appendText(dst, loadBits(elem[t.unit:]))
	if dst[n+1] == '-' {
		dst = append(dst[:n], dst[n+1:]...)
	}
	return append(dst, 'j')
}

// appendNumber appends one of the numbers that an element is made of, as JSON.
func (t Type) appendNumber(dst, elem []byte) []byte {
	if t.IsZero() {
		return dst
	}
	bits := loadBits(elem)
	switch t.kind {
	case Bool:
		return strconv.AppendBool(dst, bits != 0)
	case Int:
		unused := 64 - 8*t.unit
		return strconv.AppendInt(dst, int64(bits<<unused)>>unused, 10)
	case Float, Complex:
		return floatWidth(t.unit).appendJSON(dst, bits)
	}
	return strconv.AppendUint(dst, bits, 10)
}
