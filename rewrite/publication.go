// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// replace reads the documents of the destination. Then it runs step 2: it removes arrays
// whose chunks have another meaning in the source.
func (s *syncer) replace(ctx context.Context) (err error) {
	s.there = inventory{}
	if s.node {
		if s.there, err = s.librarian(s.to, s.goal).those(ctx, s.is); err != nil {
			return err
		}
		// What is found by its key and not listed is a node of another name.
		for dir := range s.there {
			s.spelled.add(strings.TrimSuffix(dir, "/"))
		}
		if err := s.spelled.verify(ctx, s.to, s.goal); err != nil {
			return err
		}
	}
	// Groups first: a group that is removed takes what is below it with it.
	for _, dir := range slices.Backward(s.is.dirs()) {
		if s.isDamaged(dir) {
			continue // below a node that stays as it is
		}
		is, was := s.is[dir], s.there[dir]
		if was == nil || !clashes(is, was) {
			continue
		}
		if was.kind == "" && dir != "" && !s.opt.Delete {
			if err := s.leave(ctx, dir, was.damage); err != nil {
				return err
			}
			continue
		}
		if is.kind != was.kind && !s.opt.Delete {
			return fmt.Errorf("%q %s in the destination and %s in the source; SyncOptions.Delete replaces it: %w",
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

func being(i *item) string {
	switch i.kind {
	case "array":
		return "is an array"
	case "group":
		return "is a group"
	}
	if i.damage == nil {
		return "has a damaged document"
	}
	return fmt.Sprintf("has a damaged document (%v)", i.damage)
}

// shown returns the path of a node of the destination as errors show it.
func (s *syncer) shown(dir string) string {
	return "/" + strings.Trim(s.goal.String()+"/"+dir, "/")
}

// clashes reports whether a node of the destination cannot stay while its values are
// replaced.
func clashes(is, was *item) bool {
	if is.kind != was.kind {
		return true
	}
	return is.kind == "array" && !is.sameFiles(was) && !is.layout.agrees(&was.layout)
}

// removeClash removes a node of the destination.
func (s *syncer) removeClash(ctx context.Context, dir string) error {
	name := strings.TrimSuffix(dir, "/")
	if !slices.Contains(s.report.ReplacedNodes, name) {
		s.report.ReplacedNodes = append(s.report.ReplacedNodes, name)
	}
	for below, i := range s.is {
		if strings.HasPrefix(below, dir) {
			i.anew = true
			delete(s.there, below)
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
		s.noted = false // the note is deleted, too
		err = errors.Join(err, s.start(ctx))
	}
	return err
}

// publishAll runs step 6. Nodes of one depth are written at the same time.
func (s *syncer) publishAll(ctx context.Context) error {
	if s.began {
		if err := s.makeParents(ctx); err != nil { // parts make none
			return err
		}
	}
	dirs := s.is.dirs()
	for len(dirs) > 0 {
		if dirs[0] == "" { // the document of the node itself
			if err := s.spelled.verify(ctx, s.to, s.goal); err != nil {
				return err
			}
		}
		depth := strings.Count(dirs[0], "/")
		n := slices.IndexFunc(dirs, func(d string) bool { return strings.Count(d, "/") < depth })
		if n < 0 {
			n = len(dirs)
		}
		g, within := parallel.New(ctx)
		g.SetLimit(s.tasks())
		for _, dir := range dirs[:n] {
			g.Go(func() error { return s.publishNode(within, dir) })
		}
		if err := g.Wait(nil); err != nil {
			return err
		}
		dirs = dirs[n:]
	}
	return nil
}

// publishNode writes the documents of a node that differ, and deletes others beside them.
func (s *syncer) publishNode(ctx context.Context, dir string) error {
	for _, f := range s.is[dir].files {
		was, err := s.present(ctx, dir, f.name)
		if err != nil {
			return err
		}
		if was != nil && publish.Same(was, f.raw) {
			continue
		}
		if err := s.start(ctx); err != nil {
			return err
		}
		if err := s.publishFile(ctx, dir, f, was); err != nil {
			return err
		}
		s.mu.Lock()
		s.report.Documents++
		s.mu.Unlock()
	}
	for _, name := range s.extra[dir] {
		if err := s.start(ctx); err != nil {
			return err
		}
		_, key, err := s.keys(name)
		if err == nil {
			err = store.Delete(ctx, s.to, key)
		}
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.report.Dropped++
		s.mu.Unlock()
	}
	return nil
}

// present returns a document of the destination, or nil if there is none.
func (s *syncer) present(ctx context.Context, dir, name string) ([]byte, error) {
	there := s.there[dir]
	if there != nil && there.format != s.is[dir].format {
		return s.librarian(s.to, s.goal).get(ctx, dir+name) // beside those that count
	}
	return there.file(name), nil
}

// publishFile writes a document on the condition that the present one is was, or that
// there is none if was is nil.
func (s *syncer) publishFile(ctx context.Context, dir string, f file, was []byte) error {
	p, err := s.goal.Join(strings.TrimSuffix(dir, "/"))
	if err != nil {
		return err
	}
	n := publish.Node{
		Store: s.to, Path: p, Document: f.name, Durability: s.Durability, SingleWriter: s.SingleWriter,
		Limit: s.librarian(s.to, s.goal).limit, Locking: s.Locking,
	}
	if was == nil {
		_, err = publish.Create(ctx, n, f.raw)
	} else {
		err = publish.Update(ctx, n, func(d publish.Document) (*publish.Change, error) {
			if !bytes.Equal(d.Bytes, was) {
				return nil, store.ErrConflict
			}
			return &publish.Change{Document: f.raw}, nil
		})
	}
	if errors.Is(err, store.ErrConflict) || was != nil && errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %s was changed by another program while it was synced; sync it again: %w", zarr.ErrConflict, path.Join(p.String(), f.name), err)
	}
	s.spelled.add(dir + f.name)
	// A document that another name has made looks like a conflict.
	if errors.Is(err, store.ErrConflict) {
		err = cmp.Or(s.spelled.verify(ctx, s.to, s.goal), err)
	}
	return err
}
