// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// These functions read what the answers of services have in common. They are for drivers,
// in [Hooks.Explain] and for their own requests.

// RetryAfter returns the pause that an answer asks for, or 0 (RFC 9110, section 10.2.3).
func RetryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, ok := number(text); ok {
		// Without the limit, the product could overflow.
		return time.Duration(min(seconds, int64(time.Hour/time.Second)*24)) * time.Second
	}
	if t, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(t))
	}
	return 0
}

// Printable returns text of a service for a message: at most so many bytes, in one line,
// and without control characters.
func Printable(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if text = strings.TrimSpace(text); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// leastSkew is the difference of clocks that is worth a word. Services refuse requests
// that differ by 15 minutes.
const leastSkew = 5 * time.Minute

// ClockAdvice returns advice for an error, beginning with a semicolon, if the clock of
// this machine differs from that of the service. Otherwise it returns "".
func ClockAdvice(h http.Header) string {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return ""
	}
	if d := time.Since(date).Abs(); d > leastSkew {
		return fmt.Sprintf("; the clock of this machine differs from that of the service by %v: set it", d.Round(time.Second))
	}
	return ""
}
