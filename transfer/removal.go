// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/remedy"
)

// replace reads the documents of the destination. Then it runs step 2: it removes arrays
// whose chunks have another meaning in the source.
func (s *syncer) replace(ctx context.Context) (err error) {
	s.copies = inventory{}
	if s.hasNode {
		if s.copies, err = s.librarian(s.Target.Store, s.Target.Path).those(ctx, s.nodes); err != nil {
			return err
		}
		// What is found by its key and not listed is a node of another name.
		for dir := range s.copies {
			s.AddName(strings.TrimSuffix(dir, "/"))
		}
		if err := s.VerifyNames(ctx); err != nil {
			return err
		}
	}
	// Groups first: a group that is removed takes what is below it with it.
	for _, dir := range slices.Backward(s.nodes.dirs()) {
		if s.isDamaged(dir) {
			continue // below a node that stays as it is
		}
		is, was := s.nodes[dir], s.copies[dir]
		if was == nil || !clashes(is, was) {
			continue
		}
		// A document of format 3 that is damaged does not even tell the kind. Those of
		// format 2 do, by their names, and are no less damaged.
		damaged := was.kind == "" || was.damage != nil
		if damaged && dir != "" && !s.opt.Delete {
			if err := s.leave(ctx, dir, was.damage); err != nil {
				return err
			}
			continue
		}
		if (damaged || is.kind != was.kind) && !s.opt.Delete {
			return fmt.Errorf("%q %s in the destination and %s in the source; "+remedy.SyncDelete+" replaces it: %w",
				s.shown(dir), being(was), being(is), fs.ErrExist)
		}
		if s.opt.Share != nil {
			return s.refuseClash(dir)
		}
		if err := s.removeClash(ctx, dir); err != nil {
			return err
		}
	}
	return nil
}

// clashes reports whether a node of the destination cannot stay while its values are
// replaced.
func clashes(is, was *item) bool {
	if is.kind != was.kind {
		return true
	}
	return is.kind == "array" && !is.sameFiles(was) && !is.layout.Agrees(&was.layout)
}

func being(i *item) string {
	switch {
	case i.damage != nil:
		return fmt.Sprintf("has a damaged document (%v)", i.damage)
	case i.kind == "array":
		return "is an array"
	case i.kind == "group":
		return "is a group"
	}
	return "has a damaged document"
}

// shown returns the path of a node of the destination as errors show it.
func (s *syncer) shown(dir string) string {
	return "/" + strings.Trim(s.Target.Path.String()+"/"+dir, "/")
}

// removeClash removes a node of the destination.
func (s *syncer) removeClash(ctx context.Context, dir string) error {
	name := strings.TrimSuffix(dir, "/")
	if !slices.Contains(s.report.ReplacedNodes, name) {
		s.report.ReplacedNodes = append(s.report.ReplacedNodes, name)
	}
	for below, i := range s.nodes {
		if strings.HasPrefix(below, dir) {
			i.fresh = true
			delete(s.copies, below)
		}
	}
	if s.DryRun {
		return nil
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	err := s.remove(ctx, name)
	if dir == "" {
		s.noteStored = false // the note is deleted, too
		err = errors.Join(err, s.start(ctx))
	}
	return err
}

// removed returns the paths of nodes that only the destination has, without those below
// others.
func (s *syncer) removed() (names []string) {
	slices.Sort(s.orphans)
	s.orphans = slices.Compact(s.orphans)
	for _, dir := range s.orphans {
		if n := len(names); n == 0 || !strings.HasPrefix(dir, names[n-1]+"/") {
			names = append(names, strings.TrimSuffix(dir, "/"))
		}
	}
	return names
}

// deleteRest deletes what only the destination has. The documents are published by then,
// and the removals change the consolidated metadata in those above: what the source lists
// there although it does not have it. So these are published again.
func (s *syncer) deleteRest(ctx context.Context) error {
	above := inventory{}
	for _, name := range s.removed() {
		// A listing may miss a node that is being replaced. Only the key itself shows
		// that the source does not have it.
		if i, err := s.librarian(s.Source.Store, s.Source.Path).item(ctx, name+"/"); i != nil || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		// Nor does it show values that have come since the documents were read.
		if lost, err := s.lost(ctx, name); lost != nil || err != nil {
			if err != nil {
				return err
			}
			s.block(name, lost)
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
	p, err := s.Target.Path.Join(name)
	if err == nil {
		err = s.Put(ctx, p.MustKey(copying.NoteName), []byte("{}"))
	}
	if err != nil {
		return err
	}
	if err := s.Target.Location.At(name).Delete(ctx, s.Writing()); err != nil {
		return err
	}
	now, err := s.librarian(s.Target.Store, s.Target.Path).those(ctx, s.groupsAbove(name))
	if err != nil {
		return err
	}
	for dir, i := range now {
		// The group is as it was read, or published already. What another writer has
		// changed meanwhile must not be overwritten.
		if was := s.copies[dir]; was != nil && !i.saysSame(was) && !i.saysSame(s.nodes[dir]) {
			return fmt.Errorf("%w: the document of %q; sync again", zarr.ErrConflict, s.shown(dir))
		}
		s.copies[dir] = i
	}
	return nil
}

// groupsAbove returns the nodes of the source above a path.
func (s *syncer) groupsAbove(name string) inventory {
	groups := inventory{}
	for name != "" {
		dir, _ := path.Split(name)
		if i := s.nodes[dir]; i != nil {
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
	v := s.NewValues()
	g, within := parallel.New(ctx)
	g.SetLimit(s.tasks())
	for _, name := range s.stale {
		g.Go(func() error {
			_, key, err := s.keys(name)
			if err != nil {
				return err
			}
			return v.Delete(within, key)
		})
	}
	err := v.End(ctx, g.Wait(nil))
	if err == nil {
		s.report.Dropped += int64(len(s.stale))
	}
	return err
}
