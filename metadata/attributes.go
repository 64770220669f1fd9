// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"bytes"
	"slices"

	"varve.dev/zarr/internal/strictjson"
)

// Attribute returns the JSON of the attribute with the given key, verbatim. It
// returns false if there is none. raw is the JSON object of [Array.Attributes] or
// [Group.Attributes]; if it is not an object, the error wraps [ErrInvalid].
func Attribute(raw []byte, key string) (value []byte, ok bool, err error) {
	v, err := object(raw)
	if err != nil {
		return nil, false, located(err)
	}
	m, ok := v.Member(key)
	return m.Raw(), ok, nil
}

// SetAttribute returns a copy of the JSON object raw with the given JSON value for key.
// An existing attribute keeps its place; a new one comes last. All else is copied
// verbatim. A value that does not come from attributes goes through [PlainText] first. If
// raw is not an object or value is not one JSON value, the error wraps [ErrInvalid].
func SetAttribute(raw []byte, key string, value []byte) ([]byte, error) {
	v, err := object(raw)
	if err != nil {
		return nil, located(err)
	}
	n, err := strictjson.Parse(value, strictjson.Limits{Size: int64(len(value))})
	if err != nil {
		return nil, prefixPointer(err, strictjson.Token(key))
	}
	out := replaced(v, raw, key, n.Raw())
	// The value may be valid alone but nested too deep in its place.
	if _, err := object(out); err != nil {
		return nil, located(err)
	}
	return out, nil
}

func replaced(v strictjson.Value, raw []byte, key string, value []byte) []byte {
	if old, ok := v.Member(key); ok {
		// Replace only the bytes of the value, so that all else stays verbatim.
		return slices.Concat(raw[:old.Offset()], value, raw[old.Offset()+len(old.Raw()):])
	}
	comma := ","
	if v.Len() == 0 {
		comma = ""
	}
	name := strictjson.AppendQuote([]byte(comma), key)
	return slices.Concat(v.Raw()[:len(v.Raw())-1], name, []byte(":"), value, []byte("}"))
}

// UnsetAttribute returns a copy of the JSON object raw without the attribute key. All
// else is copied verbatim. If raw is not an object, the error wraps [ErrInvalid].
func UnsetAttribute(raw []byte, key string) ([]byte, error) {
	v, err := object(raw)
	if err != nil {
		// A name that is not a string: the attribute has another meaning.
		return nil, located(err)
	}
	from := v.Offset() + 1 // end of what stays: the brace, or the value before
	for name, m := range v.Members() {
		end := m.Offset() + len(m.Raw())
		switch {
		case name != key:
			from = end
			continue
		case from == v.Offset()+1:
			// The first member has no comma before it: remove the one after it.
			end = behindComma(raw, end)
		}
		return slices.Concat(raw[:from], raw[end:]), nil
	}
	return slices.Clone(raw), nil
}

// behindComma returns the offset after the comma that follows the value ending at i. It
// returns i if there is no comma.
func behindComma(raw []byte, i int) int {
	for j := i; raw[j] != '}'; j++ {
		if raw[j] == ',' {
			return j + 1
		}
	}
	return i
}

// object parses raw, which must be a JSON object.
func object(raw []byte) (strictjson.Value, error) {
	v, err := strictjson.Parse(raw, strictjson.Limits{Size: int64(len(raw))})
	if err == nil && v.Kind() != strictjson.Object {
		err = v.Errorf("must be an object, got %s", v.Kind())
	}
	return v, err
}

// dimensionsAttribute is the attribute in which xarray stores the names of dimensions
// (xarray, "Zarr encoding specification").
const dimensionsAttribute = "_ARRAY_DIMENSIONS"

// namesV2 returns the names of dimensions in attributes. It returns nil if there are
// none, or if they do not match the rank.
func namesV2(attributes []byte, rank int) []*string {
	v, err := object(attributes)
	if err != nil {
		return nil
	}
	list, _ := v.Member(dimensionsAttribute)
	if list.Kind() != strictjson.Array || list.Len() != rank {
		return nil
	}
	names := make([]*string, rank)
	for i, e := range list.Elements() {
		name, err := e.Str()
		if err != nil {
			return nil
		}
		names[i] = &name
	}
	return names
}

// nonFinite lists the numbers that Python's json module writes although JSON does not
// have them, each with the string that replaces it while it is parsed. These strings have
// an escape that is not needed, so that they are recognised when the document is written
// again. A document from outside may have such a string too, as text: plainText replaces
// it first. Longer numbers come first where one contains another.
var nonFinite = [...]struct{ bare, quoted []byte }{
	{[]byte("-Infinity"), []byte(`"\u002dInfinity"`)},
	{[]byte("Infinity"), []byte(`"\u0049nfinity"`)},
	{[]byte("NaN"), []byte(`"\u004eaN"`)},
}

// admit returns JSON from outside as it is kept here: text is plain, and bare non-finite
// numbers are strings. It must see a document only once, because the strings of a
// document that was admitted would become text.
func admit(raw []byte) []byte {
	raw, _ = quoteNonFinite(PlainText(raw))
	return raw
}

// PlainText returns JSON in which every string is text. A string that happens to look
// like the stand-in for a bare NaN or Infinity (see [Array.Attributes]) is replaced by an
// equal one. Use it for JSON that this package did not read, and for JSON that goes to
// other programs.
func PlainText(raw []byte) []byte {
	for _, f := range nonFinite {
		// The replacement is also equal after an escaped quote.
		if bytes.Contains(raw, f.quoted) {
			raw = bytes.ReplaceAll(raw, f.quoted, slices.Concat([]byte{'"'}, f.bare, []byte{'"'}))
		}
	}
	return raw
}

// BareNumbers returns attributes with a bare NaN or Infinity wherever one was read. The
// result is for people and may not be valid JSON.
func BareNumbers(raw []byte) []byte { return bareNonFinite(raw) }

// quoteNonFinite returns a copy of a document with strings in place of bare non-finite
// numbers. If there are none, it returns the document itself and false. The document need
// not be valid.
func quoteNonFinite(raw []byte) (out []byte, found bool) {
	if !bytes.Contains(raw, []byte("NaN")) && !bytes.Contains(raw, []byte("Infinity")) {
		return raw, false
	}
	for i := 0; i < len(raw); {
		n := textLength(raw[i:])
		// Not a string: look for a number at this byte.
		if n == 0 {
			n = 1
			for _, f := range nonFinite {
				// A word before a colon is not a value.
				if bytes.HasPrefix(raw[i:], f.bare) && !isName(raw[i+len(f.bare):]) {
					out, found = append(out, f.quoted...), true
					i += len(f.bare)
					n = 0
					break
				}
			}
		}
		out = append(out, raw[i:i+n]...)
		i += n
	}
	return out, found
}

// quoteFill is quoteNonFinite with strings in the form of fill values. Elsewhere such a
// string is refused.
func quoteFill(raw []byte) (out []byte, found bool) {
	out, found = quoteNonFinite(raw)
	return PlainText(out), found
}

// textLength returns the length in bytes of the JSON string at the start of doc,
// including its quotes. It returns 0 if there is none. A string without an end takes the
// rest of the document.
func textLength(doc []byte) int {
	if doc[0] != '"' {
		return 0
	}
	for i := 1; i < len(doc); i++ {
		switch doc[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(doc)
}

// bareNonFinite undoes quoteNonFinite. It only replaces whole strings that are not the
// name of a member.
func bareNonFinite(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`"\u00`)) {
		return raw
	}
	var out []byte
	for i := 0; i < len(raw); {
		n := max(1, textLength(raw[i:]))
		piece := raw[i : i+n]
		for _, f := range nonFinite {
			if bytes.Equal(piece, f.quoted) && !isName(raw[i+n:]) {
				piece = f.bare
			}
		}
		out = append(out, piece...)
		i += n
	}
	return out
}

// isName reports whether the string or word before rest is the name of a member.
func isName(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}
