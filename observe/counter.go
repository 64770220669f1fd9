// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"sync/atomic"
	"time"
)

// Counter is an [Observer] that adds up events. The zero Counter is ready for use. It is
// safe for concurrent use.
type Counter struct {
	sums [ops]counted
}

// counted holds the sums of one operation. It fills a cache line, so that processors that
// count different operations do not contend.
type counted struct {
	times, absent, failed, bytes, number, nanos atomic.Int64

	_ [16]byte
}

// Observe implements [Observer].
func (c *Counter) Observe(_ context.Context, e Event) {
	// Ignore operations of a later version.
	if e.Op >= ops {
		return
	}
	s := &c.sums[e.Op]
	s.times.Add(1)
	s.nanos.Add(int64(e.Duration))
	// Atomic additions are slow under contention, so leave out those of 0.
	if e.Bytes != 0 {
		s.bytes.Add(e.Bytes)
	}
	if e.Count != 0 {
		s.number.Add(e.Count)
	}
	switch e.Outcome() {
	case OK:
	case Absent:
		s.absent.Add(1)
	default:
		s.failed.Add(1)
	}
}

// Stats returns the sums so far.
func (c *Counter) Stats() Stats {
	var s Stats
	for i := range c.sums {
		n := &c.sums[i]
		s.sums[i] = Sum{
			Times: n.times.Load(), Absent: n.absent.Load(), Failed: n.failed.Load(),
			Bytes: n.bytes.Load(), Count: n.number.Load(), Duration: time.Duration(n.nanos.Load()),
		}
	}
	return s
}
