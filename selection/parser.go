// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"errors"
	"fmt"
	"strings"
)

// Values are coordinate values along one axis, as text. A text with two dots is a range
// that includes both ends, "2024-12-25..2025-01-01"; one end may be omitted. Any other
// text is a single value, "2024-12-25".
type Values struct {
	From, To string // of a range; "" is an open end
	Is       string // a single value
	Quoted   bool   // the value was in quotes, so it is a label
}

// IsRange reports whether the values are a range.
func (v Values) IsRange() bool { return v.From != "" || v.To != "" }

// String returns the values in the form that they are written in.
func (v Values) String() string {
	switch {
	case v.IsRange():
		return v.From + ".." + v.To
	case v.Quoted:
		return `"` + strings.ReplaceAll(v.Is, `"`, `""`) + `"`
	}
	return v.Is
}

// Parser parses selections from text as [Parse] does, or from JSON as [ParseJSON] does.
//
// If Lookup is set, a named item may also be coordinate values. They differ from indices
// by their form:
//
//	time=2024-12-25..2025-01-01  all elements from one value to the other, both included
//	lat=-10..                    all elements from a value on
//	time=2024-12-25              the element whose value is nearest
//	lat=10.0                     the same; lat=10 is an index
//	station="5"                  an element by its label, quoted if it is a number
//	station="a ""b"", c"         a label with quotes and a comma
type Parser struct {
	Names []string // of the axes, "" for one without
	// Mask reads a mask. It is nil if there are none.
	Mask func(name string) (Mask, error)
	// Lookup returns the elements of a dimension with the given coordinate values. Parse
	// returns its errors unchanged.
	Lookup func(dimension string, v Values) (Item, error)
}

// isJSON reports whether a selection is written in JSON.
func isJSON(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "{") }

// isValues reports whether an item is coordinate values: anything but an ellipsis and the
// integers and colons of an index or a slice.
func isValues(text string) bool {
	if text == "" || text == "..." {
		return false
	}
	for part := range strings.SplitSeq(text, ":") {
		part = strings.TrimSpace(part)
		digits := strings.TrimLeft(part, "+-")
		// Anything but digits after at most one sign is not an index.
		if len(part)-len(digits) > 1 || strings.Trim(digits, "0123456789") != "" {
			return true
		}
	}
	return false
}

// parseValues parses coordinate values.
func parseValues(text string) (*Values, error) {
	from, rest, quoted, err := operand(text)
	if err != nil {
		return nil, err
	}
	if rest == "" {
		if from == "" && !quoted {
			return nil, errors.New("a value is empty; a label without characters is \"\"")
		}
		return &Values{Is: from, Quoted: quoted}, nil
	}
	// rest begins with the two dots.
	to, more, quotedTo, err := operand(rest[len(".."):])
	switch {
	case err != nil:
		return nil, err
	case more != "":
		return nil, errors.New("a range has two dots only once")
	case !quotedTo && strings.Contains(to, ":") && !strings.ContainsAny(to, "T "): // no time of day
		return nil, errors.New("a range of values has no step; select by indices where one is needed, as time=0:100:4")
	case from == "" && to == "":
		return nil, errors.New("a range has a value before or after its two dots; : is everything")
	}
	return &Values{From: from, To: to, Quoted: quoted || quotedTo}, nil
}

// operand reads a value up to the end of text or up to two dots. rest begins with the
// dots.
func operand(text string) (value, rest string, quoted bool, err error) {
	text = strings.TrimSpace(text)
	after, quoted := strings.CutPrefix(text, `"`)
	if !quoted {
		i := strings.Index(text, "..")
		if i < 0 {
			return text, "", false, nil
		}
		return strings.TrimSpace(text[:i]), text[i:], false, nil
	}
	value, rest, closed := closeQuote(after)
	rest = strings.TrimSpace(rest)
	if !closed || rest != "" && !strings.HasPrefix(rest, "..") {
		return "", "", true, errors.New("a quote is not closed, or something follows it")
	}
	return value, rest, true, nil
}

// closeQuote cuts text, which follows a quote, at the quote that closes it. A quote that
// is doubled is one of the value.
func closeQuote(text string) (value, rest string, closed bool) {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '"':
		case strings.HasPrefix(text[i+1:], `"`):
			i++
		default:
			return strings.ReplaceAll(text[:i], `""`, `"`), text[i+1:], true
		}
	}
	return "", "", false
}

// splitItems splits a selection at the commas outside quotes.
func splitItems(text string) []string {
	var items []string
	begin, quoted := 0, false
	for i := range len(text) {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case text[i] == ',' && !quoted:
			items = append(items, text[begin:i])
			begin = i + 1
		}
	}
	return append(items, text[begin:])
}

// lookup returns the elements of a dimension with the given coordinate values.
func (p Parser) lookup(name string, v Values) (Item, error) {
	if p.Lookup == nil {
		return Item{}, fmt.Errorf("%w: %s=%s: coordinate values are not known here; select by index, as %s=0:10", ErrInvalid, name, v, name)
	}
	item, err := p.Lookup(name, v)
	if err != nil {
		return Item{}, foreignError{err}
	}
	return item, nil
}

// foreignError is an error that a function of the caller returned: Mask or Lookup.
type foreignError struct{ error }

// Unwrap returns the error of that function.
func (e foreignError) Unwrap() error { return e.error }
