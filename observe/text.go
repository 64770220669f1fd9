// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// String returns a table as text, with lines for requests, bytes, ranges, indexes, chunks
// and time. Lines without content are omitted.
func (s Stats) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%-12s "+format, append([]any{name}, args...)...)
	}
	all := s.Requests()
	line("requests", "%s", s.requests(all))
	for _, n := range []struct {
		name  string
		bytes int64
	}{{"read", s.Read().Bytes}, {"written", s.Written().Bytes}, {"copied", s.Of(Copy).Bytes}} {
		if n.bytes > 0 {
			line(n.name, "%s", size(n.bytes))
		}
	}
	if c := s.Of(Coalesce); c.Times > 0 {
		line("coalesced", "%s ranges into %s", number(c.Count), number(c.Times))
	}
	if hits, misses := s.Of(IndexHit).Times, s.Of(IndexMiss).Times; hits+misses > 0 {
		line("index cache", "%s, %s", plural(hits, "hit", "hits"), plural(misses, "miss", "misses"))
	}
	for _, o := range []Op{Decode, Encode} {
		if c := s.Of(o); c.Times > 0 {
			line(o.String()+"d", "%s of %s", plural(c.Times, "chunk", "chunks"), size(c.Bytes))
		}
	}
	line("time", "%s in I/O, %s in codecs", short(all.Duration), short(s.Codecs().Duration))
	return b.String()
}

// requests returns the numbers of requests by operation and by outcome.
func (s *Stats) requests(all Sum) string {
	var kinds []string
	for o := range ops {
		if n := s.sums[o].Times; n > 0 && o.IsRequest() {
			kinds = append(kinds, number(n)+" "+strings.ReplaceAll(o.String(), "_", "-"))
		}
	}
	text := number(all.Times)
	if len(kinds) > 0 {
		text += ": " + strings.Join(kinds, ", ")
	}
	if all.Absent > 0 {
		text += "; " + number(all.Absent) + " found nothing"
	}
	if all.Failed > 0 {
		text += "; " + number(all.Failed) + " failed"
	}
	return text
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// number returns n with commas between groups of three digits.
func number(n int64) string {
	text := strconv.FormatInt(n, 10)
	// No comma follows the sign.
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// size returns a number of bytes with a unit.
func size(n int64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	if n < 1<<10 {
		return plural(n, "byte", "bytes")
	}
	x, i := float64(n)/(1<<10), 0
	// From this value on, rounding would print 1024.0.
	for x >= 1023.95 && i < len(units)-1 {
		x, i = x/(1<<10), i+1
	}
	return strconv.FormatFloat(x, 'f', 1, 64) + " " + units[i]
}

// short returns a duration with about three digits.
func short(d time.Duration) string {
	for unit := time.Second; unit > time.Nanosecond; unit /= 1000 {
		switch {
		case d >= 100*unit:
			return d.Round(unit).String()
		case d >= 10*unit:
			return d.Round(unit / 10).String()
		case d >= unit:
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}
