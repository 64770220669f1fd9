// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

// page is one answer to a listing.
type page struct {
	Items     []description `json:"items"`
	Prefixes  []string      `json:"prefixes"`
	PageToken string        `json:"nextPageToken"`
}

// List implements [store.Lister]. Entries have sizes, versions and times in any case,
// which cost nothing more.
func (s *Store) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	// Of a prefix on which no other page depends, the service sends the next page only
	// when it is asked for.
	return driver.Pages("gcs: bucket "+s.bucket, s.prefix, dir, func(prefix, token string, yield func(store.Entry, error) bool) (string, bool, error) {
		p, h, err := s.list(ctx, prefix, how&store.Deep != 0, token)
		if err != nil {
			return "", false, err
		}
		s.seen.add(p.Items...)
		return p.PageToken, p.entries(prefix, s.reads.Local(h), yield), nil
	})
}

// list requests a page, and returns it with the headers of the answer, which have the
// time of the service.
func (s *Store) list(ctx context.Context, prefix string, deep bool, token string) (p page, h http.Header, err error) {
	q := url.Values{"prefix": {prefix}, "fields": {"items(name,generation,size,updated,kmsKeyName),prefixes,nextPageToken"}, "maxResults": {"1000"}}
	if !deep {
		q.Set("delimiter", "/")
	}
	if token != "" {
		q.Set("pageToken", token)
	}
	c := call{method: http.MethodGet, path: "/storage/v1/b/" + s.bucket + "/o", query: q}
	err = s.reads.Do(ctx, func(ctx context.Context) error {
		p = page{}
		r, err := s.answer(ctx, s.request(ctx, c))
		if err != nil {
			return err
		}
		defer r.Body.Close()
		if r.StatusCode != http.StatusOK {
			return s.failure(r)
		}
		h = r.Header
		if err = decode(r.Body, &p); errors.As(err, new(*strange)) && driver.IsPage(r.Header) {
			err = &strange{-1}
		}
		return lost(ctx, err)
	})
	return p, h, err
}

// entries yields the entries of a page below a prefix, and reports whether to continue.
// local makes times of the service times of this machine.
func (p page) entries(prefix string, local func(time.Time) time.Time, yield func(store.Entry, error) bool) bool {
	for _, d := range p.Items {
		name, below := strings.CutPrefix(d.Name, prefix)
		// Programs that show folders make empty objects whose names end with a slash.
		if !below || d.Size == 0 && (name == "" || strings.HasSuffix(name, "/")) {
			continue
		}
		e := store.Entry{Name: name, Size: d.Size, Version: store.MakeVersion(d.Generation)}
		if !d.Updated.IsZero() {
			e.Modified = local(d.Updated)
		}
		if !yield(e, nil) {
			return false
		}
	}
	for _, directory := range p.Prefixes {
		name, below := strings.CutPrefix(strings.TrimSuffix(directory, "/"), prefix)
		if below && !yield(store.Entry{Name: name, Dir: true, Size: -1}, nil) {
			return false
		}
	}
	return true
}

// look returns the description of an object.
func (s *Store) look(ctx context.Context, key store.Key) (d description, err error) {
	c := call{method: http.MethodGet, path: s.objectPath(s.object(key)), query: url.Values{"fields": {described}}}
	return d, s.do(ctx, c, &d)
}

func (s *Store) delete(ctx context.Context, key store.Key) error {
	if err := s.mayWrite(key); err != nil {
		return err
	}
	err := s.do(ctx, call{method: http.MethodDelete, path: s.objectPath(s.object(key))}, nil)
	if driver.IsMissing(err) {
		return nil
	}
	return s.fail("delete", key, err)
}

func (s *Store) deleteIf(ctx context.Context, key store.Key, v store.Version) error {
	if err := s.mayWrite(key); err != nil {
		return err
	}
	g, ok := generation(v)
	if !ok {
		return s.fail("delete", key, driver.NoVersion(v, noun))
	}
	c := call{method: http.MethodDelete, path: s.objectPath(s.object(key)), query: url.Values{"ifGenerationMatch": {g}}}
	doubt, err := driver.Attempts(s.reads.Do).Delete(ctx, func(ctx context.Context) error { return s.send(ctx, c, nil) })
	if contended(err) && !doubt {
		err = rivals(err)
	}
	return s.fail("delete", key, err)
}

// mayWrite returns an error if the store is for reading only, or if the service has no
// such name: names are text.
func (s *Store) mayWrite(key store.Key) error {
	return driver.CheckWrite(key, s.name(key), s.options.ReadOnly)
}

// CheckKey implements [store.Describer].
func (s *Store) CheckKey(key store.Key) error { return driver.CheckText(key, s.name(key)) }
