// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/store"
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
	from, err := sitesOf(ctx, m.folder.store, m.folder.path, at)
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
		// Blocks before the last chunks stay as they are stored.
		stays = firstNumber(n.blocks) - n.plane()
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

// Renewal is a manifest of which files are scanned again.
type Renewal struct {
	// Joined is a hierarchy without files. Collect Files into it, and store the result in
	// place of the manifest ([Manifest.Update]).
	Joined *Joined
	// Files are those of the manifest, in their order, and then those that were given and
	// are not in it.
	Files []string
	// New counts those of Files that are not in the manifest.
	New int
	// Changed are the files that have changed, as they were given.
	Changed []string
}

// Renew looks for files that a manifest has and that have changed since they were
// scanned. If there are none it returns nil. m is a manifest that [Open] has opened, at
// the location of the collector.
//
// A file that has changed may have its chunks elsewhere, other coordinates and another
// length, so all files are scanned again. [Joined.Finish] refuses another type, or
// another extent of an axis along which files do not follow each other. Whatever else the
// manifest was made of, such as Zarr nodes and other manifests, cannot be collected from
// its sources.
func (c *Collector) Renew(ctx context.Context, m *Manifest, files []string) (*Renewal, error) {
	given := map[string]string{} // files by their location in the manifest
	for _, file := range files {
		p, err := placeOf(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", nameOf(file), err)
		}
		given[c.files.locationOf(p)] = file
	}
	var known []Source
	err := eachFile(ctx, m, func(s Source) error {
		// Look only at the files that were named: a manifest may have millions of others.
		if given[s.Location] != "" {
			known = append(known, s)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	changed, err := c.changed(ctx, known)
	if err != nil || len(changed) == 0 {
		return nil, err
	}
	for i, location := range changed {
		changed[i] = given[location]
	}
	all, err := c.filesOf(ctx, m, given)
	if err != nil {
		return nil, err
	}
	present := map[string]bool{}
	for _, file := range all {
		present[file] = true
	}
	more := 0
	for _, file := range files {
		// Files that are not in the manifest yet follow those that are.
		if !present[file] {
			all, more = append(all, file), more+1
		}
	}
	j, err := NewJoined(m.Join)
	if err != nil {
		return nil, err
	}
	// The folder lets Update replace the manifest only if no other program has changed
	// it.
	j.m.folder, j.m.former = m.folder, m
	return &Renewal{j, all, more, changed}, nil
}

// eachFile calls f for each source but the values of the manifest itself.
func eachFile(ctx context.Context, m *Manifest, f func(s Source) error) error {
	for n := range uint32(m.count()) {
		s, err := m.source(ctx, n+1)
		if err != nil {
			return err
		}
		// Values in the folder were made by this package: they have no file to scan
		// again.
		if _, own := m.folder.own(s.Location); own {
			continue
		}
		if err := f(s); err != nil {
			return err
		}
	}
	return nil
}

// filesOf returns the files of a manifest, as they were given or else by their locations.
// Each has to be a file that was given, or one where references may lead: the manifest of
// a stranger must not make this program open others.
func (c *Collector) filesOf(ctx context.Context, m *Manifest, given map[string]string) (files []string, err error) {
	from, err := sitesOf(ctx, m.folder.store, m.folder.path, c.files.folder)
	if err != nil {
		return nil, err
	}
	err = eachFile(ctx, m, func(s Source) error {
		file, isGiven := given[s.Location]
		if !isGiven {
			p, _, err := from.lead(s.Location)
			if err != nil {
				return fmt.Errorf("%s: %w", nameOf(s.Location), err)
			}
			file = p.String()
		}
		files = append(files, file)
		return nil
	})
	return files, err
}

// changed returns the locations of the sources that have changed. One that is gone is an
// error.
func (c *Collector) changed(ctx context.Context, known []Source) (locations []string, err error) {
	found := make([]string, len(known))
	group, ctx := parallel.New(ctx)
	group.SetLimit(c.atOnce())
	for i, s := range known {
		group.Go(func() error {
			p, err := c.files.folder.join(s.Location)
			if err != nil {
				return err
			}
			at, err := c.files.target(ctx, p)
			if err != nil {
				return err
			}
			info, err := store.Stat(ctx, at.store, at.key)
			if errors.Is(err, fs.ErrNotExist) {
				err = gone(s.Location)
			}
			if err != nil {
				return &SourceError{nameOf(p.String()), err}
			}
			// Each goroutine has an element of its own, so the order is that of the
			// files.
			if s.check(info, at.times()) != nil {
				found[i] = s.Location
			}
			return nil
		})
	}
	if err := group.Wait(nil); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(location string) bool { return location == "" }), nil
}
