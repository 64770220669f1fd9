// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// removed returns the paths of nodes that only the destination has, without those below
// others.
func (s *syncer) removed() (names []string) {
	slices.Sort(s.gone)
	s.gone = slices.Compact(s.gone)
	for _, dir := range s.gone {
		if n := len(names); n == 0 || !strings.HasPrefix(dir, names[n-1]+"/") {
			names = append(names, strings.TrimSuffix(dir, "/"))
		}
	}
	return names
}

// plan completes the report of a dry run.
func (s *syncer) plan() {
	for dir, i := range s.is {
		for _, f := range i.files {
			if was := s.there[dir].file(f.name); was == nil || !publish.Same(was, f.raw) {
				s.report.Documents++
			}
		}
	}
	for _, names := range s.extra {
		s.report.Dropped += int64(len(names))
	}
	s.report.Dropped += int64(len(s.stale))
}

// tallyNodes counts the nodes.
func (s *syncer) tallyNodes() {
	for _, i := range s.is {
		switch i.kind {
		case "array":
			s.report.Arrays++
		case "group":
			s.report.Groups++
		}
	}
	s.report.DroppedNodes = append(s.report.DroppedNodes, s.removed()...)
}

// deleteRest deletes what only the destination has. The documents are published by then,
// and the removals change the consolidated metadata in those above: what the source lists
// there although it does not have it. So these are published again.
func (s *syncer) deleteRest(ctx context.Context) error {
	above := inventory{}
	for _, name := range s.removed() {
		// The nodes of the source were found by listings, so look again.
		if i, err := s.librarian(s.from, s.at).item(ctx, name+"/"); i != nil || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if err := s.start(ctx); err != nil {
			return err
		}
		if err := s.remove(ctx, name); err != nil {
			return err
		}
		maps.Copy(above, s.groupsAbove(name))
	}
	s.extra = nil // they are deleted
	for _, dir := range above.dirs() {
		if err := s.publishNode(ctx, dir); err != nil {
			return err
		}
	}
	return s.deleteStale(ctx)
}

// remove removes a node of the destination, and then reads the groups above it again: the
// removal has changed the consolidated metadata in their documents. The note of the node
// comes first: a removal that crashes between the documents and its own note would leave
// values that look like foreign files.
func (s *syncer) remove(ctx context.Context, name string) error {
	p, err := s.goal.Join(name)
	if err == nil {
		err = s.put(ctx, p.MustKey(noteName), []byte("{}"))
	}
	if err != nil {
		return err
	}
	if err := s.dst.At(name).Delete(ctx, s.writing()); err != nil {
		return err
	}
	now, err := s.librarian(s.to, s.goal).those(ctx, s.groupsAbove(name))
	if err != nil {
		return err
	}
	for dir, i := range now {
		// The group is as it was read, or published already. What another writer has
		// changed meanwhile must not be overwritten.
		if was := s.there[dir]; was != nil && !i.saysSame(was) && !i.saysSame(s.is[dir]) {
			return fmt.Errorf("%w: the document of %q; sync again", zarr.ErrConflict, s.shown(dir))
		}
		s.there[dir] = i
	}
	return nil
}

// groupsAbove returns the nodes of the source above a path.
func (s *syncer) groupsAbove(name string) inventory {
	groups := inventory{}
	for name != "" {
		dir, _ := split(name)
		if i := s.is[dir]; i != nil {
			groups[dir] = i
		}
		name = strings.TrimSuffix(dir, "/")
	}
	return groups
}

// deleteStale deletes chunks that no document describes.
func (s *syncer) deleteStale(ctx context.Context) error {
	if len(s.stale) == 0 {
		return nil
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	b := &batches{s: s.to, d: s.Durability}
	g, within := parallel.New(ctx)
	g.SetLimit(s.tasks())
	for _, name := range s.stale {
		g.Go(func() error {
			_, key, err := s.keys(name)
			if err != nil {
				return err
			}
			return b.do(within, func(b store.Batch) error { return b.Delete(within, key) })
		})
	}
	err := b.end(ctx, g.Wait(nil))
	if err == nil {
		s.report.Dropped += int64(len(s.stale))
	}
	return err
}
