// SPDX-License-Identifier: Apache-2.0

package store

// Pacer is a store that limits its own requests in flight, such as one of a service that
// throttles.
type Pacer interface {
	// Requests returns how many requests the callers of the store may have begun at the
	// same time. The store decides how many of them it sends. 0 means that it does not
	// say.
	Requests() int
}

// RequestsOf returns [Pacer].Requests, or 0 if s is not a Pacer.
func RequestsOf(s Store) int {
	if p, ok := As[Pacer](s); ok {
		return p.Requests()
	}
	return 0
}
