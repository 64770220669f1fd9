// SPDX-License-Identifier: Apache-2.0

// Package retry has what programs and drivers say about requests to a service that fail
// for temporary reasons. The stores of package [varve.dev/zarr/store/httpstore] repeat
// them, and those of object stores do.
//
// A driver on httpstore reports with [Temporary] or [Throttled] that another attempt may
// succeed. Every other error of an answer is permanent.
package retry

import (
	"time"

	"varve.dev/zarr/internal/driver"
)

// Policy says how often and after which pauses a request is repeated. The zero Policy has
// the defaults.
type Policy struct {
	// Attempts is the largest number of attempts; 0 means 5.
	Attempts int
	// Pause is the pause before the second attempt. It doubles with each further one, and
	// a random part of it is left out. 0 means 200 ms.
	Pause time.Duration
	// LongestPause is the longest pause. If a service asks for more, the request fails at
	// once. 0 means 30 s.
	LongestPause time.Duration
	// Total is the time after the first failure in which further attempts may begin. An
	// attempt in progress is not ended, because it may be receiving bytes. 0 means ten
	// times LongestPause, so 5 minutes; a negative Total sets no limit.
	Total time.Duration
}

// Temporary returns err as one of an attempt that may be repeated, after the pause that
// the service asks for, or 0. It has the text of err and wraps it. It returns nil if err
// is nil.
func Temporary(err error, after time.Duration) error { return driver.Temporary(err, after) }

// Throttled is [Temporary] for a service that gets too many requests. The stores of
// httpstore then lower the number of requests in flight.
func Throttled(err error, after time.Duration) error { return driver.Throttled(err, after) }
