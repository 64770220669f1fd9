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

// Place returns the URL and the region of a bucket's objects.
func Place(bucket, region string, o Options) (base, signing string, err error) {
	p, err := (&service{bucket: bucket, options: o}).resolve(region)
	if err != nil {
		return "", "", err
	}
	return p.base.String(), p.region, nil
}
