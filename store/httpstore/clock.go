// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"net/http"
	"sync"
	"time"
)

// clock is what a store knows about the clock of its service: how far that of this
// machine is ahead, by the dates of answers. Not all answers need to have the same clock,
// because proxies replace dates by their own. The answer that is furthest behind counts,
// for some minutes. By a clock that is ahead, values would seem older than they are. Then
// a chunk of a newer grid could be taken for one of an older grid, and a grace would end
// too early. A value that seems younger is only looked at more closely, or kept longer.
type clock struct {
	mu          sync.Mutex
	began       time.Time     // of the present interval
	most, older time.Duration // the largest difference in it, and in the one before
}

// interval is how long an answer counts at least. It counts twice as long at most, so
// that a clock that was set, or an answer that was late, does not count forever.
const interval = 5 * time.Minute

// ahead takes the date of an answer that came now, and returns how far the clock of this
// machine is ahead.
func (c *clock) ahead(date, now time.Time) time.Duration {
	by := now.Sub(date)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch age := now.Sub(c.began); {
	case c.began.IsZero() || age >= 2*interval:
		c.began, c.most, c.older = now, by, by
	case age >= interval:
		c.began, c.most, c.older = now, by, c.most
	}
	c.most = max(c.most, by)
	return max(c.most, c.older)
}

// unknown reports whether no answer has had a date so far.
func (c *clock) unknown() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.began.IsZero()
}

// Local returns a function for the times that the service tells in an answer with these
// headers. Call Local as soon as the answer has come: the time until then counts as a
// difference of the clocks.
//
// The function returns a time by the clock of this machine. It is not later than the
// answer, and at most one second early if all answers have the clock of the service.
//
// If the answer has no date that can be read, but another one had, the time is zero. If
// no answer has had a date so far, a proxy probably removes them. Then Local assumes that
// the clocks agree, and returns the time as it is: without any time, every read would
// suspect its chunks, and nothing that is old would be cleaned up.
func (s *Store) Local(h http.Header) func(at time.Time) time.Time {
	now := time.Now()
	var ahead time.Duration
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		ahead = s.clock.ahead(date, now)
	} else if h.Get("Date") != "" || !s.clock.unknown() {
		return func(time.Time) time.Time { return time.Time{} }
	}
	return func(at time.Time) time.Time {
		// Dates are in whole seconds, and so are most times.
		if local := at.Add(ahead); local.Before(now) {
			return local
		}
		return now
	}
}
