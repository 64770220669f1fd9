// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"net/http"

	"varve.dev/zarr/internal/inflight"
)

// Limiter returns the limiter of the store's requests.
func (s *Store) Limiter() *inflight.Limiter { return s.limiter }

// Limited returns s with another limiter, which no other store shares.
func (s *Store) Limited(l *inflight.Limiter) *Store {
	s.limiter = l
	return s
}

// StatusError returns the error of an answer that is not a success.
func (s *Store) StatusError(r *http.Response) error { return s.statusError(r) }
