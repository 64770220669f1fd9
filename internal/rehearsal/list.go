// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"context"
	"iter"
	"strings"

	"varve.dev/zarr/store"
)

// List implements [store.Lister]. It yields the listing of the store below, without
// deleted values and with written ones.
func (s *Store) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(store.Entry{}, err)
			return
		}
		ours, gone := s.ledger.under(dir, how&store.Deep != 0)
		for e, err := range store.List(ctx, s.below, dir, how) {
			// A value written here replaces the one below, and is yielded after the loop.
			if err == nil && s.isHidden(ctx, dir, e, ours, gone) {
				continue
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
		for _, e := range ours {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// under returns the entries of a listing that were written, and the values and
// directories in which something was deleted.
func (l *Ledger) under(dir store.Path, deep bool) (ours map[string]store.Entry, gone map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ours, gone = map[string]store.Entry{}, map[string]bool{}
	for key, e := range l.entries {
		if !dir.Contains(key) {
			continue
		}
		name := dir.Rel(key)
		child, _, isDir := strings.Cut(name, "/")
		if deep {
			child, isDir = name, false
		}
		switch {
		case !e.exists:
			gone[child] = true
		case isDir:
			ours[child] = store.Entry{Name: child, Dir: true, Size: -1}
		default:
			ours[child] = store.Entry{Name: child, Size: e.info.Size, Version: e.info.Version, Modified: e.info.Modified}
		}
	}
	return ours, gone
}

// isHidden reports whether to omit an entry of the store below, because it was written or
// deleted here, or is a directory whose values were all deleted.
func (s *Store) isHidden(ctx context.Context, dir store.Path, e store.Entry, ours map[string]store.Entry, gone map[string]bool) bool {
	if _, written := ours[e.Name]; written {
		return true
	}
	if !gone[e.Name] || !e.Dir {
		return gone[e.Name]
	}
	// The directory stays visible while one of its values is not deleted.
	for rest, err := range store.List(ctx, s.below, dir, store.Deep) {
		if err != nil {
			return false
		}
		if !strings.HasPrefix(rest.Name, e.Name+"/") {
			continue
		}
		if found, changed, _ := s.ledger.find(ctx, dir.MustKey(rest.Name)); !changed || found.exists {
			return false
		}
	}
	return true
}
