// SPDX-License-Identifier: Apache-2.0

package s3

import "net/http"

// Transport returns the transport of the store's requests.
func (s *Store) Transport() *http.Transport { return s.transport }

// Slower is slower.
var Slower = slower

// Silent is silent.
var Silent = silent

// EndpointOf is endpointOf.
var EndpointOf = endpointOf
