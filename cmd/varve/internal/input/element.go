// SPDX-License-Identifier: Apache-2.0

package input

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/packed"
	"varve.dev/zarr/internal/quantity"
)

// ParseGiven is [dtype.Type.ParseText] for a value that a user gives. It returns an error
// if a number is too large for a type of floats, as for integers. In documents such
// numbers are infinite, as other programs read them. For byte strings a bare word stands
// for its bytes (see bareBytes).
func ParseGiven(t dtype.Type, text string) ([]byte, error) {
	if elem, ok, err := bareBytes(t, text); ok {
		return elem, err
	}
	elem, err := t.ParseText(text)
	if err != nil {
		other, ok := respelled(t, text)
		if !ok {
			return nil, fmt.Errorf("%w%s", err, boolMeant(t, text))
		}
		elem, err = t.ParseText(other)
	}
	if err == nil {
		err = refuseOverflow(t, elem, text)
	}
	return elem, err
}

// decimal matches a number that may begin with a plus, or begin or end with its point.
var decimal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([+-]?)(\d*)(\.?)(\d*)((?:[eE][+-]?\d+)?)$`) })

// respelled returns a value in the spelling of metadata: .5 as 0.5, 5. as 5.0, +5 as 5,
// and 6h as a number of units. ok is false for any other text.
func respelled(t dtype.Type, text string) (string, bool) {
	text = strings.TrimSpace(text)
	switch t.Kind() {
	case dtype.KindInt, dtype.KindUint:
		rest, plus := strings.CutPrefix(text, "+")
		return rest, plus && argument.IsNumber(rest)
	case dtype.KindFloat:
		p := decimal().FindStringSubmatch(text)
		if p == nil || p[2]+p[4] == "" {
			return "", false
		}
		number := strings.TrimPrefix(p[1], "+") + cmp.Or(p[2], "0")
		if p[3] != "" {
			number += "." + cmp.Or(p[4], "0")
		}
		return number + p[5], true
	case dtype.KindTimedelta:
		one, ok := t.Duration(1)
		length, err := cf.ParseDuration(text)
		if n := length / float64(one); ok && err == nil && strings.ContainsAny(text, "0123456789") && n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			return strconv.FormatInt(int64(n), 10), true
		}
	}
	return "", false
}

// boolMeant returns a hint for a text that means true or false in another spelling.
func boolMeant(t dtype.Type, text string) string {
	if t.Kind() != dtype.KindBool {
		return ""
	}
	lower := strings.ToLower(strings.TrimSpace(text))
	if lower == "true" || lower == "false" {
		return fmt.Sprintf(" (did you mean %s?)", lower)
	}
	return spelling.Meant(lower, []string{"true", "false"})
}

// refuseOverflow returns an error if an element has more infinite numbers than its text.
func refuseOverflow(t dtype.Type, elem []byte, text string) error {
	n := infinities(t, elem)
	if n == 0 {
		return nil
	}
	text = strings.ToLower(text)
	// An infinity by name, or by its bits in hexadecimal, is intended.
	if spelled := strings.Count(text, "inf") + strings.Count(text, "0x"); spelled >= n || isEncoded(t, text) {
		return nil
	}
	return fmt.Errorf("%w: value %s of %s: beyond the largest number of the type; write Infinity or -Infinity for an infinite value",
		dtype.ErrInvalid, phrase.Shorten(text, 60), t)
}

// isEncoded reports whether a text is the encoded bytes of a struct.
func isEncoded(t dtype.Type, text string) bool {
	return t.Kind() == dtype.KindStruct && !strings.Contains(text, "{")
}

// infinities counts the infinite numbers of an element.
func infinities(t dtype.Type, elem []byte) (n int) {
	switch t.Kind() {
	case dtype.KindFloat:
		if strings.Contains(string(t.AppendText(nil, elem)), "inf") {
			n = 1
		}
	case dtype.KindComplex:
		n = strings.Count(string(t.AppendText(nil, elem)), "inf")
	case dtype.KindStruct:
		for _, f := range t.Fields() {
			n += infinities(f.Type, elem[f.Offset:f.Offset+f.Type.Size()])
		}
	}
	return n
}

// bareBytes returns the element of a byte string that a bare word stands for: its bytes,
// padded with zeros. ok is false if the word may only have a form of metadata. Metadata
// has base64 between quotes, and a shell may have removed these. So a word that is both
// text that fits and base64 is refused.
func bareBytes(t dtype.Type, text string) (elem []byte, ok bool, err error) {
	if !IsBareWord(t, text) {
		return nil, false, nil
	}
	text = strings.TrimSpace(text)
	if t.Kind() == dtype.KindBytes {
		elem = []byte(text)
	} else if elem = make([]byte, t.Size()); copy(elem, text) < len(text) {
		return nil, false, nil // it is base64, or an error
	}
	if decoded, err := t.ParseText(text); err == nil && !bytes.Equal(decoded, elem) {
		return nil, true, fmt.Errorf("%w: it is text of %s, and also base64 of %d: give the text as 0x%x, or the base64 in double quotes, as '\"%s\"'",
			dtype.ErrInvalid, quantity.Count(len(text), "bytes"), len(packed.TrimPadding(t, decoded)), text, text)
	}
	return elem, true, nil
}

// IsBareWord reports whether t is a byte string, and its value neither a JSON string, nor
// a list, nor hexadecimal.
func IsBareWord(t dtype.Type, text string) bool {
	if t.Kind() != dtype.KindBytes && t.Kind() != dtype.KindTerminated {
		return false
	}
	text = strings.TrimSpace(text)
	return text != "" && !strings.HasPrefix(text, `"`) && !strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "0x")
}

// IsBareBase64 reports whether [ParseGiven] reads a bare word as base64: it is too long
// for text of the type, or the type takes no text.
func IsBareBase64(t dtype.Type, text string) bool {
	text = strings.TrimSpace(text)
	switch t.Kind() {
	case dtype.KindTerminated, dtype.KindRaw, dtype.KindStruct:
		_, isText, _ := bareBytes(t, text)
		_, err := t.ParseText(text)
		return err == nil && text != "" && !isText && !strings.HasPrefix(text, "0x") && !strings.ContainsAny(text, "\"[{")
	}
	return false
}
