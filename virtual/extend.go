// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
)

// Extend returns a manifest that [Open] has opened as a hierarchy to which files are
// added, as [Manifest.Join] says. location is that of the manifest. Blocks of references
// that are stored stay where they are, but for the last one. Coordinates are read, and
// are stored again as a whole.
//
// Set CopyPadded in [Manifest.Join] before, to copy the chunks that are in the way of
// more files. That also copies those which an experiment has permitted until now.
func Extend(ctx context.Context, m *Manifest, location string) (*Joined, error) {
	how := m.Join
	at, err := placeOf(location)
	if err != nil {
		return nil, err
	}
	above, name := at.split()
	from, err := newSites(ctx, m.folder.store, m.folder.path.Parent(), above.String(), name)
	if err != nil {
		return nil, err
	}
	j, err := NewJoined(how)
	if err != nil {
		return nil, err
	}
	self := &Part{Name: "the manifest", Manifest: m}
	self.readFrom(openerOf(newStore(m, from)))
	j.m, j.first, j.parts = m, self.Name, 1
	m.Join = j.join
	for _, a := range m.Arrays {
		n := &joined{Array: a, along: -1, last: self.Name}
		if how.Concat+how.Stack != "" {
			n.along = axisOf(a.Document, how.Concat+how.Stack)
		}
		if err := j.resume(ctx, self, n); err != nil {
			return nil, fmt.Errorf("%s: %w", a.Path, err)
		}
		j.arrays[a.Path] = n
	}
	if !how.merges() && !slices.ContainsFunc(m.Arrays, func(a *Array) bool { return j.arrays[a.Path].along >= 0 }) {
		return nil, fmt.Errorf("%w: no array has the dimension %q", ErrMismatch, how.Concat+how.Stack)
	}
	return j, nil
}

// resume makes an array of a stored manifest ready to grow.
func (j *Joined) resume(ctx context.Context, self *Part, n *joined) error {
	keep := n.along >= 0 && n.values || n.along < 0 && compared(n.Array)
	if err := j.learn(ctx, self, n, keep); err != nil || keep || n.along < 0 {
		return err
	}
	axis := n.Grid.Axis(n.along)
	n.axes = []grid.Axis{axis}
	stays := int64(0) // number of references that need not be read
	switch {
	case n.cutsAll(j.join): // all chunks with padding are copied
	case n.Axis != n.along: // their order has to change
	case isPadded(axis): // that of the last chunks may be cut off
		stays = next(n.blocks) - n.plane()
	default:
		return nil
	}
	if err := j.m.load(ctx, n.Array, stays); err != nil {
		return err
	}
	*n.Array = *n.ordered(n.along)
	if n.cutsAll(j.join) {
		return n.cutAll(ctx)
	}
	return nil
}
