// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"varve.dev/zarr/internal/subset"
)

// basic parses a selection that is not JSON.
func (p Parser) basic(text string) (Basic, error) {
	entries, err := parseEntries(text)
	if err != nil {
		return nil, err
	}
	var basic Basic
	named := map[int]Item{}
	for _, e := range entries {
		if !e.isNamed {
			basic = append(basic, e.item)
		} else if err := p.bind(named, e); err != nil {
			return nil, err
		}
	}
	return merge(basic, named, len(p.Names))
}

// entry is an item of a selection in text, with the name of its axis if it has one.
type entry struct {
	item    Item
	values  *Values // instead of item
	name    string
	isNamed bool
}

func parseEntries(text string) ([]entry, error) {
	if text = strings.TrimSpace(text); text == "" {
		return nil, nil
	}
	if inner, ok := withoutBrackets(text); ok {
		return nil, fmt.Errorf("%w: %q: items are written without brackets, as %s", ErrInvalid, text, inner)
	}
	var entries []entry
	for _, s := range subset.SplitItems(text) {
		e, err := parseEntry(strings.TrimSpace(s))
		if last := len(entries) - 1; err == nil && !e.isNamed && last >= 0 && entries[last].isNamed {
			err = fmt.Errorf("%w: %q without a name after an item with one; items without names come first", ErrInvalid, s)
		}
		if err != nil {
			err = numpyError(text, err)
		}
		// The commas of a list have split it, so the error of the piece would mislead.
		if name, _, isList := strings.Cut(text, "=["); err != nil && isList {
			name = strings.TrimSpace(name[strings.LastIndexByte(name, ',')+1:])
			err = fmt.Errorf("%w: %q: a list is written in JSON, as {\"orthogonal\": {\"%s\": [0, 2]}}", ErrInvalid, text, name)
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// withoutBrackets returns the text between the brackets around it. It returns false if
// there are none.
func withoutBrackets(text string) (inner string, ok bool) {
	for _, pair := range []string{"[]", "()"} {
		if after, ok := strings.CutPrefix(text, pair[:1]); ok && strings.HasSuffix(after, pair[1:]) {
			return strings.TrimSpace(strings.TrimSuffix(after, pair[1:])), true
		}
	}
	return "", false
}

func parseEntry(text string) (e entry, err error) {
	name, value, isNamed := strings.Cut(text, "=")
	if !isNamed {
		value = text
	}
	e.name, e.isNamed = strings.TrimSpace(name), isNamed
	value = strings.TrimSpace(value)
	if isValues(value) {
		if e.values, err = parseValues(value); err == nil && !isNamed {
			err = fmt.Errorf("%q is no index, slice or ellipsis; coordinate values need the name of their dimension, as time=2024-12-25", value)
		}
	} else {
		e.item, err = parseItem(value)
	}
	switch {
	case err != nil && strings.HasPrefix(err.Error(), strconv.Quote(text)):
		err = fmt.Errorf("%w: %w", ErrInvalid, err) // the reason already names the text
	case err != nil:
		err = fmt.Errorf("%w: %q: %w", ErrInvalid, text, err)
	case isNamed && e.name == "":
		err = fmt.Errorf("%w: %q: the name of a dimension is needed before =", ErrInvalid, text)
	case isNamed && e.item.kind == itemEllipsis:
		err = fmt.Errorf("%w: %q: an ellipsis cannot have a name", ErrInvalid, text)
	}
	return e, err
}

// bind assigns an item to the axis that it names.
func (p Parser) bind(named map[int]Item, e entry) error {
	i, err := axisNamed(e.name, p.Names)
	if err != nil {
		return err
	}
	if _, twice := named[i]; twice {
		return fmt.Errorf("%w: dimension %q is selected twice", ErrInvalid, e.name)
	}
	if e.values != nil {
		if e.item, err = p.lookup(e.name, *e.values); err != nil {
			return err
		}
	}
	if e.item.kind == itemEllipsis {
		return fmt.Errorf("%w: an ellipsis cannot have a name", ErrInvalid)
	}
	named[i] = e.item
	return nil
}

// axisNamed returns the number of the axis with the given name.
func axisNamed(name string, names []string) (int, error) {
	// Names need not be unique. Select by one only if it is.
	i := slices.Index(names, name)
	switch {
	case !slices.ContainsFunc(names, func(n string) bool { return n != "" }):
		return 0, fmt.Errorf("%w: %q selects by name, and the axes have no names; select by place, as \"0:10, 3\"", ErrInvalid, name)
	case name == "" || i < 0:
		return 0, nameError(name, names)
	case slices.Contains(names[i+1:], name):
		return 0, fmt.Errorf("%w: several dimensions are named %q", ErrInvalid, name)
	}
	return i, nil
}

// merge puts the named items in place of whole axes.
func merge(basic Basic, named map[int]Item, rank int) (Basic, error) {
	if len(named) == 0 {
		return basic, nil
	}
	items, err := expand(basic, rank)
	if err != nil {
		return nil, err
	}
	for i, item := range named {
		// Only an item that was given can differ from All here.
		if items[i].kind != itemAll {
			return nil, fmt.Errorf("%w: axis %d is selected by place and by name", ErrInvalid, i)
		}
		items[i] = item
	}
	return items, nil
}

func parseItem(s string) (Item, error) {
	if s == "..." {
		return Ellipsis(), nil
	}
	// The number of colons distinguishes an index from a slice.
	parts := strings.Split(s, ":")
	switch len(parts) {
	case 1:
		i, err := parseBound(parts[0])
		if err == nil && i == Open {
			return Item{}, errors.New("an item is empty: there is a comma too many, or a name without an item, as in time=0:10")
		}
		if err != nil {
			return Item{}, fmt.Errorf("%q is no index, slice or ellipsis that fits into 64 bits", parts[0])
		}
		return At(i), nil
	case 2, 3:
		return parseSlice(parts)
	}
	return Item{}, fmt.Errorf("a slice has at most two colons")
}

func parseSlice(parts []string) (Item, error) {
	bounds := [3]int64{Open, Open, Open}
	for i, p := range parts {
		var err error
		if bounds[i], err = parseBound(p); err != nil {
			return Item{}, err
		}
	}
	step := bounds[2]
	if step == Open {
		step = 1
	}
	if step == 0 {
		return Item{}, fmt.Errorf("a slice cannot have a step of 0")
	}
	// Items may be compared with All, so ":" must not be another value.
	if bounds[0] == Open && bounds[1] == Open && step == 1 {
		return All(), nil
	}
	return Stepped(bounds[0], bounds[1], step), nil
}

// parseBound parses an integer. An empty text is an open bound.
func parseBound(s string) (int64, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return Open, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n == Open {
		return 0, fmt.Errorf("%q is no whole number that fits into 64 bits", s)
	}
	return n, nil
}

// Values are coordinate values along one axis, as text. A text with two dots is a range
// that includes both ends, "2024-12-25..2025-01-01"; one end may be omitted. Any other
// text is a single value, "2024-12-25".
type Values struct {
	From, To string // of a range; "" is an open end
	Single   string // a single value
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
		return `"` + strings.ReplaceAll(v.Single, `"`, `""`) + `"`
	}
	return v.Single
}

// Parser parses selections as users write them: items separated by commas, each an index
// ("3", "-1"), a slice ("0:10", "::2", ":") or an ellipsis ("..."). An item may name its
// axis by a dimension name, as in "time=0:10". Such items come after all others, and the
// axes that they do not name are selected whole. Empty text selects the whole array.
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
//
// A selection of any kind is a JSON object with one member that gives the kind:
//
//	{"basic": "0:10, ..., 3"}              the items above
//	{"orthogonal": [[0, 2, 5], "1:5", 7]}  for every axis an index, a slice, or a list
//	                                       of integers or booleans
//	{"orthogonal": {"time": [0, 2]}}       the same by names of axes; with Lookup also
//	                                       coordinate values, as 45.0 or ["2024-12-25"]
//	{"points": [[0, 5, 7], [10, 20, 30]]}  per axis an integer or nested lists that
//	                                       are broadcast: (0, 10), (5, 20), (7, 30)
//	{"blocks": ["0", "1:3"]}               chunks; with "inner": true, inner chunks
//	{"mask": "mask.npy"}                   what Mask returns for the name
//
// A member "fields" may list names of fields in addition. On its own it selects these
// fields of the whole array.
type Parser struct {
	Names []string // of the axes, "" for one without
	// Mask reads a mask. It is nil if there are none.
	Mask func(name string) (Mask, error)
	// Lookup returns the elements of a dimension with the given coordinate values. Parse
	// returns its errors unchanged.
	Lookup func(dimension string, v Values) (Item, error)
}

// Syntax returns an error for text that a [Parser] refuses for every array. It does not
// look at masks, names or coordinate values. The error wraps [ErrInvalid].
func Syntax(text string) error {
	if !isJSON(text) {
		_, err := parseEntries(text)
		return err
	}
	r := &jsonReader{unbound: true}
	r.Mask = func(string) (Mask, error) { return Mask{}, nil }
	_, err := r.read([]byte(text))
	return err
}

// Parse parses a selection. Errors wrap [ErrInvalid], except those of Mask and Lookup.
// Those of JSON have the position in the text.
func (p Parser) Parse(text string) (Selection, error) {
	if isJSON(text) {
		return (&jsonReader{Parser: p}).read([]byte(text))
	}
	return p.basic(text)
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
		return &Values{Single: from, Quoted: quoted}, nil
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

var (
	// calledSlice finds a slice that is written as a call: slice(3), slice(0, 3).
	calledSlice = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bslice\(([^()]*)\)`) })
	// newAxis finds what inserts an axis of length 1 in NumPy.
	newAxis = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|[,\s])(None|((np|numpy)\.)?newaxis)([,\s]|$)`) })
	// placedList finds a list among items without names.
	placedList = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|,)\s*\[[^][]*\]`) })
)

// numpyError returns the error for a text that NumPy would take in Python and that is
// refused here with err. Any other text keeps that error.
func numpyError(text string, err error) error {
	if plain := calledSlice().ReplaceAllStringFunc(text, withColons); plain != text {
		return fmt.Errorf("%w: %q: slices have colons (did you mean %s?)", ErrInvalid, text, plain)
	}
	switch {
	case newAxis().MatchString(text):
		return fmt.Errorf("%w: %q: a selection makes no new axes: leave None and newaxis out", ErrInvalid, text)
	case placedList().MatchString(text):
		return fmt.Errorf("%w: %q: lists are written in JSON, an entry an axis, as {\"orthogonal\": [[0, 2, 5], 0, \"1:3\"]}", ErrInvalid, text)
	}
	return err
}

// withColons returns the call of slice as text: slice(0, 3) is 0:3, and slice(3) is :3.
func withColons(call string) string {
	bounds := strings.Split(calledSlice().FindStringSubmatch(call)[1], ",")
	for i, b := range bounds {
		if bounds[i] = strings.TrimSpace(b); bounds[i] == "None" {
			bounds[i] = ""
		}
	}
	if len(bounds) == 1 {
		return ":" + bounds[0]
	}
	return strings.Join(bounds, ":")
}
