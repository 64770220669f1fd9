// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"path"

	"varve.dev/zarr/store"
)

// collected opens the sources of a manifest that a collector makes: the files that it was
// given, wherever they are, and others where references may lead.
type collected struct {
	ctx    context.Context // of the call that reads them
	from   *Collector
	others *sites
}

// collected returns the sources of a manifest that is stored at a path.
func (c *Collector) collected(ctx context.Context, s store.Store, path store.Path) (*collected, error) {
	above, name := c.folder.split()
	others, err := newSites(ctx, s, path.Parent(), above.String(), name)
	return &collected{ctx, c, others}, err
}

// of implements sources.
func (o *collected) of(location string) (target, error) {
	p, err := o.from.folder.join(location)
	if err != nil {
		return target{}, err
	}
	if !o.from.isGiven(&p) {
		return o.others.of(location)
	}
	dir, name := p.split()
	at, err := o.from.site(o.ctx, dir)
	if err != nil {
		return target{}, err
	}
	key, err := at.path.Key(name)
	return target{at.store, key, p.scheme}, err
}

func (o *collected) shown(location string) string { return o.others.shown(location) }

func (o *collected) close() error { return o.others.closeOpened() }

// give notes that whoever uses the collector has named a file. What references in it
// lead to was not named.
func (c *Collector) give(p place) {
	query := p.query
	p.query = ""
	c.giving.Lock()
	defer c.giving.Unlock()
	c.given[p] = query
}

// isGiven reports whether a place is a file that was named, or in such a Zarr node. It
// gives the place the options of that.
func (c *Collector) isGiven(p *place) bool {
	c.giving.Lock()
	defer c.giving.Unlock()
	at := *p
	for at.query = ""; ; at.path = path.Dir(at.path) {
		query, ok := c.given[at]
		if ok {
			p.query = query
			return true
		}
		if at.path == "/" || at.path == "." {
			return false
		}
	}
}
