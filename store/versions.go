// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"sync"
)

// VersionLister lists values with their versions, at less cost than a Stat of each value
// through the store.
type VersionLister interface {
	// ListVersions yields what List yields. Each value also has the Size, Version and
	// Modified that Stat returned at some moment of the listing. It omits a value that is
	// deleted before it is described. So a plain List stays cheap, and ListVersions may
	// take a request for each value.
	ListVersions(ctx context.Context, dir Path, deep bool) iter.Seq2[Entry, error]
}

// ListVersions yields the entries below dir with the sizes and versions of values; see
// [VersionLister]. If s is not a VersionLister, it lists s and calls [Stat] for each
// value whose version the listing does not know, for several values at a time. If s has
// no versions, the versions are zero.
func ListVersions(ctx context.Context, s Store, dir Path, deep bool) iter.Seq2[Entry, error] {
	if l, ok := As[VersionLister](s); ok {
		return Sift(dir, l.ListVersions(ctx, dir, deep))
	}
	return func(yield func(Entry, error) bool) {
		d := describer{ctx: ctx, s: s, dir: dir, yield: yield}
		for e, err := range List(ctx, s, dir, deep) {
			if err != nil {
				if !errors.Is(err, ErrUnusable) || d.flush() {
					yield(Entry{}, err)
				}
				return
			}
			if d.waiting = append(d.waiting, e); len(d.waiting) == describedAtOnce && !d.flush() {
				return
			}
		}
		d.flush()
	}
}

// describedAtOnce is the number of concurrent requests of a listing. It hides most of
// the delay of a remote store, and does not strain it.
const describedAtOnce = 32

// describer adds versions to entries.
type describer struct {
	ctx     context.Context
	s       Store
	dir     Path
	yield   func(Entry, error) bool
	waiting []Entry
}

// flush yields the waiting entries with their versions, and reports whether to go on.
func (d *describer) flush() bool {
	errs := make([]error, len(d.waiting))
	var wg sync.WaitGroup
	for i := range d.waiting {
		if e := &d.waiting[i]; !e.Dir && (e.Version.IsZero() || e.Size < 0) {
			wg.Go(func() { errs[i] = d.describe(e) })
		}
	}
	wg.Wait()
	for i, e := range d.waiting {
		switch {
		case errors.Is(errs[i], fs.ErrNotExist): // deleted since it was listed
			continue
		case errs[i] != nil:
			d.yield(Entry{}, errs[i])
			return false
		case !d.yield(e, nil):
			return false
		}
	}
	d.waiting = d.waiting[:0]
	return true
}

// describe adds the size and version to the entry of a value.
func (d *describer) describe(e *Entry) error {
	info, err := Stat(d.ctx, d.s, d.dir.MustKey(e.Name))
	if err == nil {
		e.Size, e.Version, e.Modified, e.FileTime = info.Size, info.Version, info.Modified, info.FileTime
	}
	return err
}
