// SPDX-License-Identifier: Apache-2.0

package source

import (
	"slices"
	"strings"

	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/internal/subset"
)

// Items are the items of --select for a group. Each has the name of a dimension, and
// applies to all arrays that have it.
type Items struct {
	text  string
	names []string
	items []string // as they are written, with their names
	seen  []string // the dimensions of the arrays
}

// Among returns the items of the value of --select for a group.
func Among(text string) (*Items, error) {
	s := &Items{text: text}
	if strings.TrimSpace(text) == "" {
		return s, nil
	}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return nil, failure.BadArgument("--select %q: for a group, give items with names of dimensions, as time=0:10,lat=-10..10", text)
	}
	for _, item := range subset.SplitItems(text) {
		name, _, named := strings.Cut(item, "=")
		if name = strings.TrimSpace(name); !named || name == "" {
			return nil, failure.BadArgument("--select %q: the arrays of a group have different axes, so each item has the name of a dimension, as time=0:10; %q has none", text, item)
		}
		s.names, s.items = append(s.names, name), append(s.items, item)
	}
	return s, nil
}

// Of returns the value of --select for an array with these dimensions.
func (s *Items) Of(dimensions []string) string {
	var list []string
	for i, name := range s.names {
		if slices.Contains(dimensions, name) {
			list = append(list, s.items[i])
		}
	}
	s.seen = append(s.seen, dimensions...)
	return strings.Join(list, ",")
}

// Check returns an error if no array has the dimension of an item.
func (s *Items) Check() error {
	for _, name := range s.names {
		if !slices.Contains(s.seen, name) {
			slices.Sort(s.seen)
			s.seen = slices.Compact(s.seen)
			return failure.BadArgument("--select %q: no array of the group has a dimension %q%s", s.text, name, spelling.Meant(name, s.seen))
		}
	}
	return nil
}
