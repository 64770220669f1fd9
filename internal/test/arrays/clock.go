// SPDX-License-Identifier: Apache-2.0

package arrays

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// clock is the clock of the machines of a service that answer. It is off by hours for a
// part of the time, in both directions. The times of objects are those of other machines,
// so they are right.
type clock struct {
	period time.Duration // the longest time between two changes, 0 for one with each answer

	mu    sync.Mutex
	by    time.Duration
	until time.Time
	next  int // signed requests until one is refused
	early int // answers that are hours ahead before all others

	skewed, signed, refused atomic.Int64 // answers with another date, signed requests, those refused
}

// period is how often the clock of a proxy changes at least.
const period = 300 * time.Millisecond

// mostSkew is the largest error of the clock.
const mostSkew = 12 * time.Hour

// skew returns how far the clock is off now.
func (c *clock) skew() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.early > 0 {
		c.early--
		return 5 * time.Hour
	}
	if now := time.Now(); now.After(c.until) {
		if c.until = now; c.period > 0 {
			c.until = now.Add(rand.N(c.period))
		}
		if c.by != 0 && rand.IntN(2) == 0 {
			c.by = 0
		} else {
			c.by = someHours()
		}
	}
	return c.by
}

// someHours returns an error of a clock for which services refuse signatures.
func someHours() time.Duration {
	by := time.Hour + rand.N(mostSkew-time.Hour)
	if rand.IntN(2) == 0 {
		return -by
	}
	return by
}

// date changes the date of an answer.
func (c *clock) date(h http.Header) {
	by := c.skew()
	if at, err := http.ParseTime(h.Get("Date")); err == nil && by != 0 {
		h.Set("Date", at.Add(by).Format(http.TimeFormat))
		c.skewed.Add(1)
	}
}

// refuses reports whether a signed request is refused because its time seems wrong, and
// answers as the service does. That ends many programs, so it happens once in some
// hundred requests. Tokens are not checked by the time of a request.
func (c *clock) refuses(w http.ResponseWriter, r *http.Request) bool {
	code, message := "", ""
	switch scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " "); scheme {
	case "AWS4-HMAC-SHA256":
		code, message = "RequestTimeTooSkewed", "The difference between the request time and the current time is too large."
	case "SharedKey":
		code, message = "AuthenticationFailed", "Server failed to authenticate the request."
	}
	if code == "" {
		return false
	}
	c.signed.Add(1)
	if !c.turn() {
		return false
	}
	c.refused.Add(1)
	_, _ = io.Copy(io.Discard, r.Body) // the client may be gone
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("X-Ms-Error-Code", code)
	w.Header().Set("Date", time.Now().Add(someHours()).UTC().Format(http.TimeFormat))
	w.WriteHeader(http.StatusForbidden)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, message) // the same
	return true
}

// turn reports whether it is the turn of a signed request to be refused.
func (c *clock) turn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next--
	if c.next > 0 {
		return false
	}
	c.next = 100 + rand.IntN(600)
	return true
}

// check expects that the clock was off, and that a signed request was refused if there
// were any.
func (c *clock) check(t *testing.T) {
	t.Helper()
	t.Logf("%d answers with wrong dates, %d of %d signed requests refused", c.skewed.Load(), c.refused.Load(), c.signed.Load())
	if c.skewed.Load() == 0 {
		t.Error("no answer had a wrong date")
	}
	if c.signed.Load() > 0 && c.refused.Load() == 0 {
		t.Error("no signed request was refused")
	}
}
