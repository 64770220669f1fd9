// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package clock

import "time"

// Thread returns the time of the clock, because that of a thread is unknown here.
func Thread() time.Duration { return time.Since(start) }
