// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/store"
)

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
		given[c.locationOf(p)] = file
	}
	var known []Source
	err := m.eachFile(ctx, func(s Source) error {
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
func (m *Manifest) eachFile(ctx context.Context, f func(s Source) error) error {
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
	above, name := c.folder.split()
	from, err := newSites(ctx, m.folder.store, m.folder.path.Parent(), above.String(), name)
	if err != nil {
		return nil, err
	}
	err = m.eachFile(ctx, func(s Source) error {
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
			p, err := c.folder.join(s.Location)
			if err != nil {
				return err
			}
			dir, name := p.split()
			at, err := c.site(ctx, dir)
			if err != nil {
				return err
			}
			key, err := at.path.Key(name)
			if err != nil {
				return err
			}
			info, err := store.Stat(ctx, at.store, key)
			if errors.Is(err, fs.ErrNotExist) {
				err = gone(s.Location)
			}
			if err != nil {
				return &SourceError{nameOf(p.String()), err}
			}
			// Each goroutine has an element of its own, so the order is that of the
			// files.
			if s.check(info, target{at.store, key, p.scheme}.times()) != nil {
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

// checkRenewed returns an error if a hierarchy that takes the place of a manifest has
// arrays that differ otherwise than in their length along the dimension of files.
func (j *Joined) checkRenewed() error {
	if j.m.former == nil {
		return nil
	}
	for _, old := range j.m.former.Arrays {
		n := j.arrays[old.Path]
		switch {
		case n == nil:
			return fmt.Errorf("%w: %s: no file has it any more", ErrMismatch, old.Path)
		case n.Document.DataType.Name != old.Document.DataType.Name:
			return fmt.Errorf("%w: %s: it had elements of type %s, and has %s", ErrMismatch, old.Path, old.Document.DataType.Name, n.Document.DataType.Name)
		}
		was, now := old.Grid.Shape(), n.Grid.Shape()
		// Along the dimension of files the length may change, since each file may.
		if n.along >= 0 && n.along < min(len(was), len(now)) {
			was[n.along], now[n.along] = 0, 0
		}
		if !slices.Equal(was, now) {
			return fmt.Errorf("%w: %s: it had shape %v, and has %v", ErrMismatch, old.Path, old.Grid.Shape(), n.Grid.Shape())
		}
	}
	return nil
}

// before returns the manifest that is stored, whose references lead to its sources.
func (m *Manifest) before() *Manifest { return cmp.Or(m.former, m) }
