package dtype

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// floatWidth is a binary interchange format of IEEE 754 by its bytes: 2, 4 or 8.
// Numbers of all three are handled as bits, in the lower end of a uint64.
type floatWidth int

// fraction returns the number of bits after the binary point.
func (w floatWidth) fraction() int {
	switch w {
	case 2:
		return 10
	case 4:
		return 23
	}
	return 52
}

func (w floatWidth) sign() uint64 { return 1 << (8*w - 1) }
func (w floatWidth) inf() uint64  { return w.sign() - 1<<w.fraction() }

// nan returns the NaN that "NaN" stands for: sign 0 and only the top bit of the fraction set.
func (w floatWidth) nan() uint64 { return w.inf() | 1<<(w.fraction()-1) }

// parse reads a float as JSON spells it (zarr-specs v3 core, "Fill value"): a number, or a string.
func (w floatWidth) parse(text string) (bits uint64, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		d, ok := parseDecimal(text)
		if !ok {
			return 0, false
		}
		return w.round(d), true
	}
	var word string
	if json.Unmarshal([]byte(text), &word) != nil {
		return 0, false
	}
	switch word {
	case "NaN":
		return w.nan(), true
	case "Infinity":
		return w.inf(), true
	case "-Infinity":
		return w.inf() | w.sign(), true
	}
	return w.parseHex(word)
}

// parseHex reads "0x" and the bits of a number as two digits a byte, most significant first.
func (w floatWidth) parseHex(word string) (bits uint64, ok bool) {
	digits, ok := strings.CutPrefix(word, "0x")
	b, err := hex.DecodeString(digits)
	if !ok || err != nil || len(b) != int(w) {
		return 0, false
	}
	for _, c := range b {
		bits = bits<<8 | uint64(c)
	}
	return bits, true
}

// round returns the number nearest to d, ties to even: what is too large for the width is infinite, as IEEE 754 has it.
func (w floatWidth) round(d decimal) (bits uint64) {
	switch w {
	case 2:
		return uint64(FromFloat32(d.roundToOdd()))
	case 4:
		x, _ := strconv.ParseFloat(d.String(), 32)
		return uint64(math.Float32bits(float32(x)))
	default:
		x, _ := strconv.ParseFloat(d.String(), 64)
		return math.Float64bits(x)
	}
}

// appendJSON appends the shortest form that parse reads back as the same bits.
func (w floatWidth) appendJSON(dst []byte, bits uint64) []byte {
	switch {
	case bits == w.nan():
		return append(dst, `"NaN"`...)
	case bits == w.inf():
		return append(dst, `"Infinity"`...)
	case bits == w.inf()|w.sign():
		return append(dst, `"-Infinity"`...)
	case bits&^w.sign() < w.inf():
		return w.appendFinite(dst, bits)
	}
	dst = append(dst, `"0x`...)
	for shift := 8*int(w) - 4; shift >= 0; shift -= 4 {
		dst = append(dst, "0123456789abcdef"[bits>>shift&0xf])
	}
	return append(dst, '"')
}

// appendText appends the number as people read it.
func (w floatWidth) appendText(dst []byte, bits uint64) []byte {
	switch abs := bits &^ w.sign(); {
	case abs > w.inf():
		return append(dst, "nan"...)
	case abs < w.inf():
		return w.appendFinite(dst, bits)
	case bits != abs:
		dst = append(dst, '-')
	}
	return append(dst, "inf"...)
}

// appendFinite appends the shortest decimal of a finite number, with an exponent where the number is
// very large or small, as NumPy does, and never looking like an integer.
func (w floatWidth) appendFinite(dst []byte, bits uint64) []byte {
	x, size := math.Float64frombits(bits), 64
	switch w {
	case 2:
		x = Float16(bits).shortest()
	case 4:
		x, size = float64(math.Float32frombits(uint32(bits))), 32
	}
	if abs := math.Abs(x); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.AppendFloat(dst, x, 'e', -1, size)
	}
	n := len(dst)
	dst = strconv.AppendFloat(dst, x, 'f', -1, size)
	for _, c := range dst[n:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, ".0"...)
}
