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
	s.target.copies = inventory{}
	if s.target.hasNode {
		if s.target.copies, err = librarianOf(s.pair, s.pair.Target).those(ctx, s.source.nodes); err != nil {
			return err
		}
		// What is found by its key and not listed is a node of another name.
		for dir := range s.target.copies {
			s.pair.AddName(strings.TrimSuffix(dir, "/"))
		}
		if err := s.pair.VerifyNames(ctx); err != nil {
			return err
		}
	}
	// Groups first: a group that is removed takes what is below it with it.
	for _, dir := range slices.Backward(s.source.nodes.dirs()) {
		if s.source.isDamaged(dir) {
			continue // below a node that stays as it is
		}
		is, was := s.source.nodes[dir], s.target.copies[dir]
		if was == nil || !clashes(is, was) {
			continue
		}
		// A document of format 3 that is damaged does not even tell the kind. Those of
		// format 2 do, by their names, and are no less damaged.
		damaged := was.kind == "" || was.damage != nil
		if damaged && dir != "" && !s.opt.Delete {
			if err := s.source.leave(ctx, dir, was.damage); err != nil {
				return err
			}
			continue
		}
		if (damaged || is.kind != was.kind) && !s.opt.Delete {
			return fmt.Errorf("%q %s in the destination and %s in the source; "+remedy.SyncDelete+" replaces it: %w",
				s.target.shown(dir), being(was), being(is), fs.ErrExist)
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
func (d *destination) shown(dir string) string {
	return "/" + strings.Trim(d.pair.Target.Path.String()+"/"+dir, "/")
}

// removeClash removes a node of the destination.
func (s *syncer) removeClash(ctx context.Context, dir string) error {
	name := strings.TrimSuffix(dir, "/")
	if r := s.count.report; !slices.Contains(r.ReplacedNodes, name) {
		r.ReplacedNodes = append(r.ReplacedNodes, name)
	}
	for below, i := range s.source.nodes {
		if strings.HasPrefix(below, dir) {
			i.fresh = true
			delete(s.target.copies, below)
		}
	}
	if s.pair.DryRun {
		return nil
	}
	if err := s.target.start(ctx); err != nil {
		return err
	}
	err := s.remove(ctx, name)
	if dir == "" {
		s.target.noted = false // the note is deleted, too
		err = errors.Join(err, s.target.start(ctx))
	}
	return err
}

// removed returns the paths of nodes that only the destination has, without those below
// others.
func (l *leftovers) removed() (names []string) {
	slices.Sort(l.orphans)
	l.orphans = slices.Compact(l.orphans)
	for _, dir := range l.orphans {
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
	for _, name := range s.left.removed() {
		// A listing may miss a node that is being replaced. Only the key itself shows
		// that the source does not have it.
		if i, err := librarianOf(s.pair, s.pair.Source).item(ctx, name+"/"); i != nil || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		// Nor does it show values that have come since the documents were read.
		if lost, err := s.source.lost(ctx, name); lost != nil || err != nil {
			if err != nil {
				return err
			}
			s.source.block(name, lost)
			continue
		}
		if err := s.target.start(ctx); err != nil {
			return err
		}
		if err := s.remove(ctx, name); err != nil {
			return err
		}
		maps.Copy(above, s.source.groupsAbove(name))
	}
	s.left.extra = nil // they are deleted
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
	p, err := s.pair.Target.Path.Join(name)
	if err == nil {
		err = s.pair.Put(ctx, p.MustKey(copying.NoteName), []byte("{}"))
	}
	if err != nil {
		return err
	}
	if err := s.pair.Target.Location.At(name).Delete(ctx, s.pair.Writing()); err != nil {
		return err
	}
	now, err := librarianOf(s.pair, s.pair.Target).those(ctx, s.source.groupsAbove(name))
	if err != nil {
		return err
	}
	for dir, i := range now {
		// The group is as it was read, or published already. What another writer has
		// changed meanwhile must not be overwritten.
		if was := s.target.copies[dir]; was != nil && !i.saysSame(was) && !i.saysSame(s.source.nodes[dir]) {
			return fmt.Errorf("%w: the document of %q; sync again", zarr.ErrConflict, s.target.shown(dir))
		}
		s.target.copies[dir] = i
	}
	return nil
}

// groupsAbove returns the nodes of the source above a path.
func (o *original) groupsAbove(name string) inventory {
	groups := inventory{}
	for name != "" {
		dir, _ := path.Split(name)
		if i := o.nodes[dir]; i != nil {
			groups[dir] = i
		}
		name = strings.TrimSuffix(dir, "/")
	}
	return groups
}

// deleteStale deletes chunks that no document describes.
func (s *syncer) deleteStale(ctx context.Context) error {
	if len(s.left.stale) == 0 {
		return nil
	}
	if err := s.target.start(ctx); err != nil {
		return err
	}
	v := s.pair.NewValues()
	g, within := parallel.New(ctx)
	g.SetLimit(tasksOf(s.pair))
	for _, name := range s.left.stale {
		g.Go(func() error {
			_, key, err := s.values.keys(name)
			if err != nil {
				return err
			}
			return v.Delete(within, key)
		})
	}
	err := v.End(ctx, g.Wait(nil))
	if err == nil {
		s.count.report.Dropped += int64(len(s.left.stale))
	}
	return err
}
