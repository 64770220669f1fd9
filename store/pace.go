// SPDX-License-Identifier: Apache-2.0

package store

import "time"

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

// Spacer is a store that takes writes of one key only at intervals, such as one of a
// service that refuses a second write within a second.
type Spacer interface {
	// WriteInterval returns the shortest time between two writes of one key.
	WriteInterval() time.Duration
}

// WriteIntervalOf returns [Spacer].WriteInterval of the driver below all wrappers, or 0
// if it is not a Spacer.
func WriteIntervalOf(s Store) time.Duration {
	if d, ok := Driver(s).(Spacer); ok {
		return d.WriteInterval()
	}
	return 0
}
