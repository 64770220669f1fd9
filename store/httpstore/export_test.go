// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"net/http"

	"varve.dev/zarr/internal/inflight"
)

// Store is the type of the stores of this package.
type Store = web

// OpenStore is [Open] with the type of the store.
func OpenStore(location string, opt *Options) (*Store, error) {
	s, err := Open(location, opt)
	if err != nil {
		return nil, err
	}
	return s.(*Store), nil
}

// Limiter returns the limiter of the store's requests.
func (s *web) Limiter() *inflight.Limiter { return s.limiter }

// Limited returns s with another limiter, which no other store shares.
func (s *web) Limited(l *inflight.Limiter) *web {
	s.limiter = l
	return s
}

// StatusError returns the error of an answer that is not a success.
func (s *web) StatusError(r *http.Response) error { return s.statusError(r) }
