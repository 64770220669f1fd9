// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Parse parses a selection as users write it: items separated by commas, each an index
// ("3", "-1"), a slice ("0:10", "::2", ":") or an ellipsis ("..."). An item may name its
// axis by a dimension name, as in "time=0:10". Such items come after all others, and the
// axes that they do not name are selected whole. Empty text selects the whole array.
// Coordinate values need a [Parser]. Errors wrap [ErrInvalid].
func Parse(text string, names []string) (Basic, error) {
	return Parser{Names: names}.basic(text)
}

// basic parses what Parse does, and coordinate values besides.
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
	for _, s := range splitItems(text) {
		e, err := parseEntry(strings.TrimSpace(s))
		if last := len(entries) - 1; err == nil && !e.isNamed && last >= 0 && entries[last].isNamed {
			err = fmt.Errorf("%w: %q without a name after an item with one; items without names come first", ErrInvalid, s)
		}
		if err != nil {
			err = numpyMeant(text, err)
		}
		// The commas of a list have split it, so the error of the piece would mislead.
		if name, _, isList := strings.Cut(text, "=["); err != nil && isList {
			err = fmt.Errorf("%w: %q: a list is written in JSON, as {\"orthogonal\": {\"%s\": [0, 2]}}", ErrInvalid, text, lastName(name))
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

// lastName returns the name of the last of several items, whose value is cut off.
func lastName(items string) string {
	return strings.TrimSpace(items[strings.LastIndexByte(items, ',')+1:])
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
	i := slices.Index(names, name)
	switch {
	case !slices.ContainsFunc(names, func(n string) bool { return n != "" }):
		return 0, fmt.Errorf("%w: %q selects by name, and the axes have no names; select by place, as \"0:10, 3\"", ErrInvalid, name)
	case name == "" || i < 0:
		return 0, &NameError{name, names}
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
	parts := strings.Split(s, ":")
	switch len(parts) {
	case 1:
		i, err := parseBound(parts[0])
		if err == nil && i == Open {
			return Item{}, errors.New("an item is empty: there is a comma too many")
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
