// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
)

// newReader returns the store that reads the objects below a prefix. It waits for a
// service that sends nothing for the time of stall; 0 means that of the options.
func (s *Store) newReader(stall time.Duration) (*httpstore.Store, error) {
	base := *s.signer.first.base
	if base.RawPath == "" {
		base.RawPath = base.EscapedPath()
	}
	dir := strings.TrimSuffix(s.prefix, "/")
	base.Path += "/" + dir
	base.RawPath += "/" + (&url.URL{Path: dir}).EscapedPath()
	o := s.options.Read
	// The method refused decides what is missing: the code of the answer counts too.
	o.Header, o.Transport, o.Missing = nil, s.signer, nil
	o.Stall = cmp.Or(stall, o.Stall)
	if o.Part == 0 {
		o.Part = s.options.PartSize
	}
	o.Hooks = httpstore.Hooks{
		Name:     func(key store.Key) string { return s.name(call{key: s.prefix + key.String()}) },
		Location: s.Place(), Version: versionOf, Pin: pin, Explain: s.refused, SameHost: true,
	}
	return httpstore.Open(base.String(), &o)
}

// refused returns the error of an answer that is not a success.
func (s *Store) refused(r *http.Response) error {
	if r.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return nil
	}
	f := failureOf(r)
	// An answer to HEAD has no code. If it is 403, the reader asks again by GET.
	// Without credentials, which were not found, it says nothing about the object.
	if r.Request.Method != http.MethodHead && f.denied() && s.signer.lacking() == nil && slices.Contains(s.options.Read.Missing, r.StatusCode) {
		// The failure may wrap fs.ErrPermission, which callers must not find.
		return fmt.Errorf("%w: %v", fs.ErrNotExist, f)
	}
	var err error = f
	if cause := s.signer.lacking(); f.status == http.StatusForbidden && cause != nil {
		err = fmt.Errorf("%w (%w)", f, cause)
	}
	return f.retryable(err)
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if _, err := s.key(key); err != nil {
		return nil, store.Info{}, err
	}
	return s.reader.Get(ctx, key, q, dst)
}

// Stat implements [store.Stater].
func (s *Store) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	if _, err := s.key(key); err != nil {
		return store.Info{}, err
	}
	return s.reader.Stat(ctx, key)
}

// Requests implements [store.Pacer].
func (s *Store) Requests() int { return s.reader.Requests() }

var (
	_ store.Stater = (*Store)(nil)
	_ store.Pacer  = (*Store)(nil)
)
