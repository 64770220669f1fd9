// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"fmt"
	"strconv"
	"strings"
)

// maxRawSize is the largest raw element in bytes. The specification has no limit, but a
// fill value must fit into a document.
const maxRawSize = maxFixedSize

func byName(name string) (Type, error) {
	for _, t := range named {
		if t.name == name {
			return t, nil
		}
	}
	if digits, ok := strings.CutPrefix(name, "r"); ok && isDigits(digits) {
		return parseRaw(digits)
	}
	return Type{}, fmt.Errorf("%w: %s", ErrUnsupported, excerpt(name))
}

// parseRaw returns the raw type with the given number of bits, in decimal.
func parseRaw(digits string) (Type, error) {
	bits, err := strconv.ParseUint(digits, 10, 64)
	switch {
	case digits[0] == '0' || err == nil && bits%8 != 0:
		return Type{}, fmt.Errorf("%w: data type %s: raw types have a positive multiple of 8 bits, as \"r16\"", ErrInvalid, excerpt("r"+digits))
	case err != nil || bits > 8*maxRawSize:
		return Type{}, fmt.Errorf("%w: %s has more than %d bits", ErrUnsupported, excerpt("r"+digits), 8*maxRawSize)
	}
	return raw(int(bits / 8)), nil
}

// raw returns the raw type of size bytes.
func raw(size int) Type {
	return Type{name: "r" + strconv.Itoa(8*size), kind: KindRaw, size: size, unit: 1}
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// trim removes JSON white space at both ends.
func trim(s string) string { return strings.Trim(s, " \t\r\n") }

// unwrap returns the text between left and right. It returns false if either is missing.
func unwrap(s, left, right string) (inner string, ok bool) {
	s, begins := strings.CutPrefix(s, left)
	s, ends := strings.CutSuffix(s, right)
	return s, begins && ends
}

// excerpt quotes the beginning of s for a message. A hostile document may have megabytes
// of it.
func excerpt(s string) string {
	if len(s) > 60 {
		return fmt.Sprintf("%q…", s[:50])
	}
	return fmt.Sprintf("%q", s)
}
