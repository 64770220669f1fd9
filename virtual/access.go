// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
)

type allowedKey struct{}

// WithAllowed returns a context in which manifests may refer to files below the given
// locations: URLs, or folders of this machine. Without it, references lead only into the
// folder that the manifest is in, and below.
//
// The data set says where bytes are, but its reader says where it may go: references of
// strangers could otherwise read files of this machine, or send requests into its
// networks.
func WithAllowed(ctx context.Context, locations ...string) context.Context {
	return context.WithValue(ctx, allowedKey{}, slices.Concat(allowed(ctx), locations))
}

func allowed(ctx context.Context) []string {
	list, _ := ctx.Value(allowedKey{}).([]string)
	return list
}

// sites opens the stores of sources.
type sites struct {
	ctx    context.Context // of the call that opened the manifest: it has options
	home   store.Store     // has the folder of the manifest
	dir    store.Path      // the folder that the manifest is in
	place  place           // of dir
	folder place           // that locations are relative to
	allow  []place

	opened openings
	known  targets
}

// newSites returns the sites of a manifest in a folder. location is that of the folder,
// and dir its path in a store.
func newSites(ctx context.Context, home store.Store, dir store.Path, location, name string) (*sites, error) {
	s := &sites{ctx: context.WithoutCancel(ctx), home: home, dir: dir}
	var err error
	if s.place, err = placeOf(location); err != nil {
		return nil, err
	}
	s.folder = s.place
	if name != "" {
		s.folder.path = path.Join(s.place.path, name)
	}
	for _, location := range allowed(ctx) {
		p, err := placeOf(location)
		if err != nil {
			return nil, err
		}
		s.allow = append(s.allow, p)
	}
	return s, nil
}

// sitesOf returns the sites of a manifest that is at a place, and at a path of a store.
func sitesOf(ctx context.Context, s store.Store, path store.Path, at place) (*sites, error) {
	above, name := at.split()
	return newSites(ctx, s, path.Parent(), above.String(), name)
}

// of returns the store and the key of a source.
func (s *sites) of(location string) (target, error) {
	if to, ok := s.known.get(location); ok {
		return to, nil
	}
	to, err := s.find(location)
	if err == nil {
		s.known.keep(location, to)
	}
	return to, err
}

// find returns the store and the key of a source. Where locations lead never changes.
func (s *sites) find(location string) (target, error) {
	p, key, err := s.lead(location)
	if err != nil || !key.IsZero() {
		return target{s.home, key, p.scheme}, err
	}
	return p.target(s.open)
}

// Places are where references of other formats lead, such as those of Icechunk: only to
// what [WithAllowed] names, also for references into their own folder. Its methods are
// safe for concurrent use.
type Places struct{ s *sites }

// NewPlaces returns the places of references that are stored at a location. The context
// has what is allowed and the options of stores, and its values are kept.
func NewPlaces(ctx context.Context, location string) (*Places, error) {
	at, err := placeOf(location)
	if err != nil {
		return nil, err
	}
	above, name := at.split()
	s, err := newSites(ctx, nil, store.Path{}, above.String(), name)
	return &Places{s}, err
}

// Object returns the store and the key of the object at an absolute URL. If the reader
// has not allowed it, the error wraps [ErrNotAllowed].
func (p *Places) Object(location string) (store.Store, store.Key, error) {
	if to, ok := p.s.known.get(location); ok {
		return to.store, to.key, nil
	}
	to, err := p.find(location)
	if err != nil {
		return nil, store.Key{}, &SourceError{nameOf(location), err}
	}
	p.s.known.keep(location, to)
	return to.store, to.key, nil
}

func (p *Places) find(location string) (target, error) {
	// Without a folder of their own, references have nothing to be relative to.
	if !strings.Contains(location, "://") {
		return target{}, fmt.Errorf("%w: a location that is not a URL", ErrNotAllowed)
	}
	at, err := placeOf(location)
	if err == nil {
		at, err = p.s.check(at)
	}
	if err != nil {
		return target{}, err
	}
	return at.target(p.s.open)
}

// Close closes the stores that were opened.
func (p *Places) Close() error { return p.s.closeOpened() }

// target is where a source is.
type target struct {
	store  store.Store
	key    store.Key
	scheme string
}

// target returns where the file at a place is, in its folder, which open opens.
func (p place) target(open func(dir place) (site, error)) (target, error) {
	dir, name := p.split()
	at, err := open(dir)
	if err != nil {
		return target{}, err
	}
	key, err := at.path.Key(name)
	return target{at.store, key, p.scheme}, err
}

// lead returns where a location leads: to a key of the store of the manifest, or to
// another place that the reader has allowed.
func (s *sites) lead(location string) (place, store.Key, error) {
	p, err := s.folder.join(location)
	if err != nil {
		return p, store.Key{}, err
	}
	// A reference below the folder of the manifest needs no permission, and no other
	// store.
	if rel, ok := p.within(s.place); ok {
		key, err := s.dir.Key(rel)
		return p, key, err
	}
	p, err = s.check(p)
	return p, store.Key{}, err
}

// check returns [ErrNotAllowed] unless the reader has allowed a place.
//
// The options of a location, such as another endpoint, are those that the reader has
// given with the place: references must not send the reader's credentials elsewhere. Only
// the query of a web server is the data set's, because it may be a signature.
func (s *sites) check(p place) (place, error) {
	// A document from the network must never read files of this machine, also not below
	// an allowed folder.
	if p.scheme == "file" && s.place.scheme != "file" {
		return p, fmt.Errorf("%w: a local file, and the references are not local", ErrNotAllowed)
	}
	for _, f := range s.allow {
		if _, ok := p.within(f); !ok && (p.path != f.path || p.scheme != f.scheme || p.host != f.host) {
			continue
		}
		err := p.options(f)
		return p, err
	}
	dir, _ := p.split()
	// The query may be a signature, which does not belong into messages.
	dir.query = ""
	return p, fmt.Errorf("%w: "+remedy.Allow+" %q if you trust the references", ErrNotAllowed, dir.String())
}

// open returns the site of a folder. A reference leads to bytes as they are stored, and
// never to what a manifest or other references show: these could go round in circles.
func (s *sites) open(dir place) (site, error) {
	location := dir.String()
	return s.opened.site(s.ctx, location, func() (at site, err error) {
		at.store, at.path, err = store.OpenPlain(s.options(dir), location, store.ReadOnly)
		return at, err
	})
}

// options returns the context for opening a folder. The headers of requests, such as
// credentials, are for the server of the references only. No redirection may lead a
// request to a host that the reader has not allowed.
func (s *sites) options(dir place) context.Context {
	if dir.scheme != "http" && dir.scheme != "https" {
		return s.ctx
	}
	var opt httpstore.Options
	if o := httpstore.OptionsOf(s.ctx); o != nil {
		opt = *o
	}
	// A redirection could lead to a host inside the network of the reader.
	opt.SameHost = true
	if dir.host != s.place.host || dir.scheme != s.place.scheme {
		opt.Header = nil
	}
	return httpstore.WithOptions(s.ctx, &opt)
}

// shown implements sources.
func (s *sites) shown(location string) string {
	p, err := s.folder.join(location)
	if err != nil {
		return nameOf(location)
	}
	return nameOf(p.String())
}

// close closes the stores.
func (s *sites) close() error {
	return errors.Join(s.closeOpened(), store.Close(s.home))
}

// closeOpened closes the stores but that of the manifest.
func (s *sites) closeOpened() error {
	s.known.forget()
	return s.opened.close()
}

// targets keeps where locations lead, because the chunks of a file are read one after the
// other. Its zero value is empty.
type targets struct {
	mu   sync.RWMutex
	of   map[string]target
	last string // the location that was asked for last and is not kept
}

// mostTargets bounds the locations that are kept.
const mostTargets = 1 << 10

// get returns where a location leads, if that is kept.
func (t *targets) get(location string) (target, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	to, ok := t.of[location]
	return to, ok
}

// keep keeps where a location leads, if it is asked for again: each chunk of a Zarr array
// is a source of its own.
func (t *targets) keep(location string, to target) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// A location that is asked for once is not worth an entry.
	if t.last != location {
		t.last = location
		return
	}
	// Begin anew in place of evicting: the next locations are asked for in runs again.
	if t.of == nil || len(t.of) >= mostTargets {
		t.of = map[string]target{}
	}
	t.of[location] = to
}

// forget forgets all locations.
func (t *targets) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of, t.last = nil, ""
}

// site is a folder with sources.
type site struct {
	store store.Store
	path  store.Path
}

// openings are stores of folders that are opened once, when they are first needed, and
// all kept. An error is not kept: the context of another caller may have ended.
type openings struct{ cache[string, site] }

// site returns the store of a folder.
func (o *openings) site(ctx context.Context, location string, open func() (site, error)) (site, error) {
	return o.get(ctx, location, func() (site, int64, error) {
		at, err := open()
		return at, 0, err
	})
}

// close closes the stores.
func (o *openings) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var errs []error
	for _, x := range o.kept {
		errs = append(errs, store.Close(x.value.store))
	}
	clear(o.kept)
	return errors.Join(errs...)
}
