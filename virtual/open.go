// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"sync"

	"varve.dev/zarr/store"
)

// opener opens the files of a collection as parts.
type opener struct {
	folder   place  // that locations of sources are relative to
	absolute bool   // they are not relative
	room     *room  // for [Collector.Memory], since the first collection
	scans    *scans // nil if nothing is kept
	giving   sync.Mutex
	given    map[place]string // the query of each file, by its place without one
	opened   openings
}

// locationOf returns a place as the manifest will have it.
func (o *opener) locationOf(p place) string {
	if o.absolute {
		return p.String()
	}
	return p.relative(o.folder)
}

// open scans a file, lists the chunks of a Zarr node, or takes the references of a
// manifest or of kerchunk. What is there decides, and not the name alone.
func (o *opener) open(ctx context.Context, p place) (*Part, error) {
	if isReferences(p.path) {
		at, err := o.site(ctx, p)
		if err != nil {
			return nil, err
		}
		if v := referencesOf(at.store); v != nil {
			return o.openReferences(ctx, v, at, p)
		}
		o.give(p)
	}
	dir, name := p.split()
	at, err := o.site(ctx, dir)
	if err != nil {
		return nil, err
	}
	key, err := at.path.Key(name)
	if err != nil {
		return nil, err
	}
	node, err := at.path.Join(name)
	if err != nil {
		return nil, err
	}
	if v := referencesOf(at.store); v != nil { // a node of them
		return o.openReferences(ctx, v, site{at.store, node}, p)
	}
	location := o.locationOf(p)
	part, err := o.openFile(ctx, at.store, key, location, p.scheme)
	if isFolder(err) {
		found, nodeErr := openNode(&walk{ctx: ctx, store: at.store, root: node, location: location, scheme: p.scheme, room: o.room})
		if nodeErr == nil || !errors.Is(nodeErr, fs.ErrNotExist) { // else there is no file either
			part, err = found, nodeErr
		}
	}
	return part, err
}

// openFile scans a file, unless the scan of an earlier collection is kept.
func (o *opener) openFile(ctx context.Context, s store.Store, key store.Key, location, scheme string) (*Part, error) {
	open := func(ctx context.Context) (*Part, error) { return openPart(ctx, s, key, location, scheme) }
	if o.scans != nil && o.scans.contains(location) {
		info, err := store.Stat(ctx, s, key)
		if err != nil {
			return nil, err
		}
		if p, err := o.scans.find(ctx, describe(location, info, scheme), open); p != nil || err != nil {
			return p, err
		}
	}
	return open(ctx)
}

// openReferences returns the arrays of a manifest, of references of kerchunk, or of a
// node of these, with their references.
func (o *opener) openReferences(ctx context.Context, v *view, at site, p place) (*Part, error) {
	w := &walk{ctx: ctx, store: at.store, root: at.path, location: o.locationOf(p), scheme: p.scheme, room: o.room}
	if from, ok := v.sources.(*sites); ok {
		w.rename = func(location string) (string, error) {
			of, err := from.folder.join(location)
			return o.locationOf(of), err
		}
	}
	return openNode(w)
}

// isFolder reports whether an error may mean that there is a folder in place of a file:
// an object store has no value then, and a file system refuses to read it.
func isFolder(err error) bool {
	return err != nil && (errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "is a directory"))
}

// site returns the store of a folder.
func (o *opener) site(ctx context.Context, dir place) (site, error) {
	location := dir.String()
	return o.opened.site(ctx, location, func() (at site, err error) {
		at.store, at.path, err = store.OpenLocation(ctx, location, store.ReadOnly)
		return at, err
	})
}

// target returns where a file is.
func (o *opener) target(ctx context.Context, p place) (target, error) {
	return p.target(func(dir place) (site, error) { return o.site(ctx, dir) })
}

// give notes that the caller of the collector has named a file. The caller has not named
// the files that references in it lead to.
func (o *opener) give(p place) {
	query := p.query
	p.query = ""
	o.giving.Lock()
	defer o.giving.Unlock()
	o.given[p] = query
}

// isGiven reports whether a place is a file that was named, or in such a Zarr node. It
// gives the place the options of that.
func (o *opener) isGiven(p *place) bool {
	o.giving.Lock()
	defer o.giving.Unlock()
	at := *p
	for at.query = ""; ; at.path = path.Dir(at.path) {
		query, ok := o.given[at]
		if ok {
			p.query = query
			return true
		}
		if at.path == "/" || at.path == "." {
			return false
		}
	}
}
