package main

import (
	"fmt"
	"math"
	"strings"

	"varve.dev/zarr/dtype"
)

// parseGiven is [dtype.Type.ParseText] of a value that somebody gives: it refuses a
// number that is too large for a type of floats, as for one of integers. In documents
// such numbers are infinite, as other programs read them.
func parseGiven(t dtype.Type, text string) ([]byte, error) {
	elem, err := t.ParseText(text)
	if err == nil {
		err = refuseOverflow(t, elem, text)
	}
	return elem, err
}

// refuseOverflow refuses an element that has more infinite numbers than its text spells.
func refuseOverflow(t dtype.Type, elem []byte, text string) error {
	n := infinities(t, elem)
	if n == 0 {
		return nil
	}
	text = strings.ToLower(text)
	if spelled := strings.Count(text, "inf") + strings.Count(text, "0x"); spelled >= n || isEncoded(t, text) {
		return nil
	}
	return fmt.Errorf("%w: value %s of %s: beyond the largest number of the type; what is infinite is spelled Infinity or -Infinity",
		dtype.ErrInvalid, shorten(text, 60), t)
}

// isEncoded reports whether a text is all bytes of a struct.
func isEncoded(t dtype.Type, text string) bool {
	return t.Kind() == dtype.Struct && !strings.Contains(text, "{")
}

// infinities counts the infinite numbers of an element.
func infinities(t dtype.Type, elem []byte) (n int) {
	switch t.Kind() {
	case dtype.Float:
		if math.IsInf(numberOf(t)(elem), 0) {
			n = 1
		}
	case dtype.Complex:
		n = strings.Count(string(t.AppendText(nil, elem)), "inf")
	case dtype.Struct:
		for _, f := range t.Fields() {
			n += infinities(f.Type, elem[f.Offset:f.Offset+f.Type.Size()])
		}
	}
	return n
}
