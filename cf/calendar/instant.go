// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"time"
)

// dayNanos is the number of nanoseconds in a day.
const dayNanos = int64(24 * time.Hour)

// Instant is a moment in a calendar, exact to the nanosecond.
type Instant struct {
	Day  int64 // day number, see [Calendar.Number]
	Nano int64 // nanoseconds since the beginning of the day, below 24 hours
}

// Compare returns -1 if t is before o, 0 if they are equal, and 1 if t is after o.
func (t Instant) Compare(o Instant) int {
	if t.Day != o.Day {
		return cmp.Compare(t.Day, o.Day)
	}
	return cmp.Compare(t.Nano, o.Nano)
}

// Round returns the nearest instant that is a multiple of to since the beginning of the
// day, with ties rounded up. If to does not divide a day, Round returns t.
func (t Instant) Round(to time.Duration) Instant {
	if to <= 0 || dayNanos%int64(to) != 0 {
		return t
	}
	t.Nano += int64(to) / 2
	t.Nano -= t.Nano % int64(to)
	if t.Nano >= dayNanos {
		t = Instant{t.Day + 1, t.Nano - dayNanos}
	}
	return t
}

// Text returns an instant in ISO 8601, 2006-01-02T15:04:05, with as many digits of a
// fraction as it needs.
func (c Calendar) Text(t Instant) string {
	day := fmt.Sprintf("day %d", t.Day)
	if d, err := c.Date(t.Day); err == nil {
		day = d.String()
	}
	seconds, nanos := t.Nano/1e9, t.Nano%1e9
	text := fmt.Sprintf("%sT%02d:%02d:%02d", day, seconds/3600, seconds/60%60, seconds%60)
	if nanos != 0 {
		text += strings.TrimRight(fmt.Sprintf(".%09d", nanos), "0")
	}
	return text
}

// check returns an error if the instant is invalid.
func (t Instant) check() error {
	if t.Nano < 0 || t.Nano >= dayNanos {
		return invalid("instant with %d nanoseconds: a day has %d", t.Nano, dayNanos)
	}
	if t.Day < -maxDay || t.Day > maxDay {
		return fmt.Errorf("%w: day %d", ErrOverflow, t.Day)
	}
	return nil
}

// plus returns the instant count times length later. length is positive, in nanoseconds.
// plus returns false if the instant is out of range.
func (t Instant) plus(count, length int64) (Instant, bool) {
	size := uint64(count)
	if count < 0 {
		size = -size
	}
	hi, lo := bits.Mul64(size, uint64(length))
	// The quotient below must fit into 64 bits.
	if hi >= uint64(dayNanos) {
		return Instant{}, false
	}
	days, nanos := bits.Div64(hi, lo, uint64(dayNanos))
	// The sum with t.Day must not overflow.
	if days > 3*maxDay {
		return Instant{}, false
	}
	if count < 0 {
		return t.shift(-int64(days), -int64(nanos))
	}
	return t.shift(int64(days), int64(nanos))
}

// shift adds days and less than a day of nanoseconds, of either sign. It returns false if
// the instant is out of range.
func (t Instant) shift(days, nanos int64) (Instant, bool) {
	t.Day, t.Nano = t.Day+days, t.Nano+nanos
	// Carry between days and nanoseconds.
	if t.Nano < 0 {
		t = Instant{t.Day - 1, t.Nano + dayNanos}
	}
	if t.Nano >= dayNanos {
		t = Instant{t.Day + 1, t.Nano - dayNanos}
	}
	return t, t.Day >= -maxDay && t.Day <= maxDay
}

// since returns the nanoseconds from o to t as a 128-bit number. t must not be before o.
func (t Instant) since(o Instant) (hi, lo uint64) {
	days, nanos := t.Day-o.Day, t.Nano-o.Nano
	if nanos < 0 {
		days, nanos = days-1, nanos+dayNanos
	}
	hi, lo = bits.Mul64(uint64(days), uint64(dayNanos))
	lo, carry := bits.Add64(lo, uint64(nanos), 0)
	return hi + carry, lo
}

// from returns the distance between t and o in nanoseconds. It is exact below 2^53.
func (t Instant) from(o Instant) float64 {
	return math.Abs(float64(t.Day-o.Day)*float64(dayNanos) + float64(t.Nano-o.Nano))
}

// snap returns the roundest instant within tolerance nanoseconds of t: a whole second,
// millisecond or microsecond.
func (t Instant) snap(tolerance float64) Instant {
	for _, to := range [...]time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if r := t.Round(to); r.from(t) <= tolerance {
			return r
		}
	}
	return t
}
