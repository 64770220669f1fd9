// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"net/http"

	"varve.dev/zarr/store/retry"
)

// Policy returns the policy of the store's requests, with its limiter.
func (s *Store) Policy() retry.Policy { return s.policy }

// StatusError returns the error of an answer that is not a success.
func (s *Store) StatusError(r *http.Response) error { return s.statusError(r) }
