// SPDX-License-Identifier: Apache-2.0

package dimension

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/store"
)

// Change is an array whose shape is about to change.
type Change struct {
	Path store.Path
	// Now returns the known state of the array.
	Now func() Array
	// Refresh reads the array again, for Now.
	Refresh func(context.Context) error
	// After returns the shape after the change of the given one. It may change it in
	// place.
	After func(shape []int64) []int64
	// Alone permits the array to differ from its siblings.
	Alone bool
}

// Changes are the arrays that one call changes.
type Changes struct {
	List []Change
	// Group is the group of Path without its document.
	Group func(path store.Path) Group
	// Finish completes the transaction of a crashed writer that the array at a path is
	// part of, if any.
	Finish func(ctx context.Context, path store.Path)
}

// Check returns an error if arrays of one group would differ along a dimension after
// the changes. The error is a [grid.AxisError] that wraps [fault.ErrInvalidArgument],
// or one of the store; at is the index of its change.
func (c Changes) Check(ctx context.Context) (at int, err error) {
	for i, change := range c.List {
		if change.Alone {
			continue
		}
		if err := c.check(ctx, change); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// check compares one array with its siblings. A concurrent change of several arrays
// becomes visible array by array. So check reads differing lengths again until they no
// longer change.
func (c Changes) check(ctx context.Context, change Change) error {
	names := change.names()
	if len(names) == 0 || change.Path.IsRoot() {
		return nil
	}
	g := c.Group(change.Path.Parent())
	siblings, err := g.siblings(ctx, names)
	if err != nil {
		return err
	}
	d := c.compare(change, siblings, g.Store)
	for range tries {
		if d == nil {
			return nil
		}
		was := *d
		if err := pause(ctx); err != nil {
			return err
		}
		if siblings, err = c.again(ctx, g, siblings, d.others); err != nil {
			return err
		}
		// Nothing changes any more, so this is not a concurrent append that becomes
		// visible array by array.
		if d = c.compare(change, siblings, g.Store); d != nil && d.length == was.length && d.found == was.found {
			break
		}
	}
	if d == nil {
		return nil
	}
	return &grid.AxisError{Axis: d.axis, Err: d}
}

// names returns the dimensions whose length changes.
func (c Change) names() (names []string) {
	now := c.Now()
	is := c.After(slices.Clone(now.Shape))
	for i, name := range now.Names {
		if name != "" && is[i] != now.Shape[i] {
			names = append(names, name)
		}
	}
	return names
}

// compare compares an array after its change with the siblings after theirs. It returns
// nil if all agree.
func (c Changes) compare(change Change, siblings []Array, s store.Store) *disagreement {
	now := change.Now()
	is := change.After(slices.Clone(now.Shape))
	for axis, name := range now.Names {
		if name == "" || is[axis] == now.Shape[axis] {
			continue
		}
		d := &disagreement{path: change.Path, axis: axis, name: name, length: is[axis]}
		for _, o := range siblings {
			if i := c.index(o.Path); i >= 0 {
				// The sibling changes in the same call, so compare with its shape
				// afterwards.
				o.Shape = c.List[i].After(slices.Clone(c.List[i].Now().Shape))
			}
			d.compare(o)
		}
		// A symbolic link to a changed array changes with it.
		d.others = slices.DeleteFunc(d.others, func(o Array) bool { return c.index(o.Path) < 0 && c.isLinked(s, o.Path) })
		if len(d.others) > 0 {
			d.found = d.others[0].along(name)
			return d
		}
	}
	return nil
}

// index returns the index of the change of the array at a path, or -1.
func (c Changes) index(p store.Path) int {
	return slices.IndexFunc(c.List, func(x Change) bool { return x.Path == p })
}

// isLinked reports whether a path is a link to one of the changed arrays.
func (c Changes) isLinked(s store.Store, p store.Path) bool {
	return slices.ContainsFunc(c.List, func(x Change) bool {
		same, err := store.SameDirectory(s, x.Path, p)
		return same && err == nil
	})
}

// again completes the transactions of crashed writers. Then it reads the lengths of the
// changing and of the differing arrays once more.
func (c Changes) again(ctx context.Context, g Group, siblings, differ []Array) ([]Array, error) {
	for _, change := range c.List {
		if err := change.Refresh(ctx); err != nil {
			return nil, err
		}
	}
	// Only arrays that differ need to be read again.
	now := slices.DeleteFunc(siblings, func(a Array) bool {
		return slices.ContainsFunc(differ, func(d Array) bool { return d.Path == a.Path })
	})
	for _, d := range differ {
		c.Finish(ctx, d.Path)
	}
	return append(now, g.again(ctx, differ)...), ctx.Err()
}

// disagreement is the error of a change after which arrays of a group would differ in
// length along a shared dimension.
type disagreement struct {
	path   store.Path // of the array that changes
	axis   int
	name   string
	length int64
	others []Array // arrays of another length
	found  int64   // length of the first of them
}

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

func (d *disagreement) Unwrap() error { return fault.ErrInvalidArgument }

// inherited reports whether one of the others is a coordinate in a group above.
func (d *disagreement) inherited() bool {
	return slices.ContainsFunc(d.others, func(a Array) bool { return a.Path.Parent() != d.path.Parent() })
}

// compare records an array that has the dimension with another length.
func (d *disagreement) compare(o Array) {
	i := slices.Index(o.Names, d.name)
	if i < 0 || o.Path == d.path || o.Shape[i] == d.length {
		return
	}
	d.others = append(d.others, o)
}
