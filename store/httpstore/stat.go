// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"

	"varve.dev/zarr/store"
)

// Stat implements [store.Stater] with HEAD. If the server does not answer HEAD properly,
// Stat requests the first byte.
func (s *Store) Stat(ctx context.Context, key store.Key) (info store.Info, err error) {
	err = s.Do(ctx, func(ctx context.Context) error {
		info, err = s.stat(ctx, key)
		return err
	})
	if err != nil {
		return store.Info{}, s.fail(key, err)
	}
	return info, nil
}

// stat makes one attempt.
func (s *Store) stat(ctx context.Context, key store.Key) (store.Info, error) {
	if s.noHead.Load() {
		return s.firstByte(ctx, key)
	}
	r, err := s.do(ctx, ask{method: http.MethodHead, key: key})
	if err != nil {
		return store.Info{}, err
	}
	switch c := r.StatusCode; {
	case c == http.StatusOK && r.ContentLength >= 0 && plain(r) == nil:
		drain(r.Body)
		return s.describe(r, r.ContentLength), nil
	case s.missing(c) || passes(c) || c == http.StatusUnauthorized:
		return store.Info{}, s.statusError(r)
	}
	drain(r.Body)
	// Some servers answer HEAD with an error or without a length.
	info, err := s.firstByte(ctx, key)
	if err == nil {
		// GET works where HEAD does not. Skip HEAD from now on.
		s.noHead.Store(true)
	}
	return info, err
}

// firstByte requests the first byte of a value. The answer contains its size.
func (s *Store) firstByte(ctx context.Context, key store.Key) (store.Info, error) {
	r, err := s.do(ctx, ask{method: http.MethodGet, key: key, bytes: "bytes=0-0"})
	if err != nil {
		return store.Info{}, err
	}
	defer r.Body.Close()
	switch c := r.StatusCode; {
	case c == http.StatusOK && r.ContentLength < 0:
		return store.Info{}, fmt.Errorf("%w: the server does not send the length of the value", store.ErrUnsupported)
	case c == http.StatusOK:
		return s.describe(r, r.ContentLength), plain(r)
	// An empty value has no first byte; the answer 416 contains its size too.
	case c == http.StatusPartialContent || c == http.StatusRequestedRangeNotSatisfiable:
		drain(r.Body)
		size, err := parseContentRange(r.Header.Get("Content-Range"))
		if err != nil {
			return store.Info{}, err
		}
		return s.describe(r, size.size), plain(r)
	}
	return store.Info{}, s.statusError(r)
}

// missingDirectory is the error of a key that is a directory of the server.
func (s *Store) missingDirectory() error { return fmt.Errorf("%w, %w", errDirectory, fs.ErrNotExist) }
