// SPDX-License-Identifier: Apache-2.0

package transfer

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
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// publishAll runs step 6. Nodes of one depth are written at the same time.
func (s *syncer) publishAll(ctx context.Context) error {
	if s.target.resumed {
		if err := s.pair.MakeParents(ctx); err != nil { // parts make none
			return err
		}
	}
	dirs := s.source.nodes.dirs()
	for len(dirs) > 0 {
		if dirs[0] == "" {
			// The document of the node itself makes a new copy visible. Before it, the
			// destination must list every name.
			if err := s.pair.VerifyNames(ctx); err != nil {
				return err
			}
		}
		depth := strings.Count(dirs[0], "/")
		n := slices.IndexFunc(dirs, func(d string) bool { return strings.Count(d, "/") < depth })
		if n < 0 {
			n = len(dirs)
		}
		g, within := parallel.New(ctx)
		g.SetLimit(tasksOf(s.pair))
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
	for _, f := range s.source.nodes[dir].files {
		was, err := s.present(ctx, dir, f.name)
		if err != nil {
			return err
		}
		if was != nil && publish.Same(was, f.raw) {
			// A Sync that finds no difference stores nothing, not even the note.
			continue
		}
		if err := s.target.start(ctx); err != nil {
			return err
		}
		if err := s.publishFile(ctx, dir, f, was); err != nil {
			return err
		}
		s.count.add(1, &s.count.report.Documents)
	}
	for _, name := range s.left.extra[dir] {
		if err := s.target.start(ctx); err != nil {
			return err
		}
		_, key, err := s.values.keys(name)
		if err == nil {
			_, err = store.Write(ctx, s.pair.Target.Store, store.Delete(key), store.Sync)
		}
		if err != nil {
			return err
		}
		s.count.add(1, &s.count.report.Dropped)
	}
	return nil
}

// present returns a document of the destination, or nil if there is none.
func (s *syncer) present(ctx context.Context, dir, name string) ([]byte, error) {
	there := s.target.copies[dir]
	if there != nil && there.format != s.source.nodes[dir].format {
		return librarianOf(s.pair, s.pair.Target).get(ctx, dir+name) // beside those that count
	}
	return there.file(name), nil
}

// publishFile writes a document on the condition that the present one is was, or that
// there is none if was is nil.
func (s *syncer) publishFile(ctx context.Context, dir string, f file, was []byte) error {
	p, err := s.pair.Target.Path.Join(strings.TrimSuffix(dir, "/"))
	if err != nil {
		return err
	}
	n := publish.Node{
		Store: s.pair.Target.Store, Path: p, Document: f.name, Durability: s.pair.Durability, SingleWriter: s.pair.SingleWriter,
		Limit: copying.DocumentLimit(s.pair.Limits), Locking: s.pair.Locking,
	}
	if was == nil {
		_, err = publish.Create(ctx, n, f.raw)
	} else {
		err = publish.Update(ctx, n, func(d publish.Document) (*publish.Change, error) {
			// A rival has published since step 1. What was copied may not match its
			// document.
			if !bytes.Equal(d.Bytes, was) {
				return nil, store.ErrConflict
			}
			return &publish.Change{Document: f.raw}, nil
		})
	}
	if errors.Is(err, store.ErrConflict) || was != nil && errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %s was changed by another program while it was synced; sync it again: %w", zarr.ErrConflict, path.Join(p.String(), f.name), err)
	}
	s.pair.AddName(dir + f.name)
	// A document that another name has made looks like a conflict.
	if errors.Is(err, store.ErrConflict) {
		err = cmp.Or(s.pair.VerifyNames(ctx), err)
	}
	return err
}
