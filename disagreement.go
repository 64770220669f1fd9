// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"fmt"
	"slices"
	"strings"

	"varve.dev/zarr/store"
)

// disagreement is the error of a change after which arrays of a group would differ in
// length along a shared dimension.
type disagreement struct {
	path   store.Path // of the array that changes
	axis   int
	name   string
	length int64
	others []extents // arrays of another length
	found  int64     // length of the first of them
}

// mostNamed bounds the arrays that an error names.
const mostNamed = 3

func (d *disagreement) Error() string {
	var names []string
	for _, o := range d.others {
		names = append(names, o.nameIn(d.path.Parent()))
	}
	if d.inherited() {
		return fmt.Sprintf("dimension %q would have length %d here and %d in %s, which this group inherits: "+
			"change this one alone (Addition.Alone), and then those", d.name, d.length, d.found, someOf(names, ", "))
	}
	return fmt.Sprintf("dimension %q would have length %d here and %d in %s, which share it: change them together "+
		"(Group.Append), or this one alone (Addition.Alone)", d.name, d.length, d.found, someOf(names, ", "))
}

// inherited reports whether one of the others is a coordinate in a group above.
func (d *disagreement) inherited() bool {
	return slices.ContainsFunc(d.others, func(e extents) bool { return e.path.Parent() != d.path.Parent() })
}

// someOf joins the first texts and counts the rest.
func someOf(texts []string, between string) string {
	if more := len(texts) - mostNamed; more > 0 {
		return strings.Join(texts[:mostNamed], between) + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(texts, between)
}

func (d *disagreement) Unwrap() error { return ErrInvalidArgument }

// compare records an array that has the dimension with another length.
func (d *disagreement) compare(o extents) {
	i := slices.Index(o.names, d.name)
	if i < 0 || o.path == d.path || o.shape[i] == d.length {
		return
	}
	d.others = append(d.others, o)
}
