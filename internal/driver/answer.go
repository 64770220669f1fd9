// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

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

// RetryAfter returns the pause that an answer asks for, or 0 (RFC 9110, section 10.2.3).
func RetryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 63); err == nil {
		// Without the limit, the product could overflow.
		return time.Duration(min(seconds, 24*uint64(time.Hour/time.Second))) * time.Second
	}
	if t, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(t))
	}
	return 0
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
