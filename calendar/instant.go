package calendar

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"time"
)

// dayNanos are the nanoseconds of a day.
const dayNanos = int64(24 * time.Hour)

// Instant is a moment of a calendar, exact to the nanosecond.
type Instant struct {
	Day  int64 // the number of the day, as [Calendar.Number] counts
	Nano int64 // nanoseconds since the day began: 0 to 86,399,999,999,999
}

// Compare returns -1, 0 or 1 as t is before, at or after o.
func (t Instant) Compare(o Instant) int {
	if t.Day != o.Day {
		return cmp.Compare(t.Day, o.Day)
	}
	return cmp.Compare(t.Nano, o.Nano)
}

// Round returns the nearest instant that is a multiple of a length since the day began, the later one of two. The length has
// to divide a day; else the instant stays as it is.
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

// Text returns an instant as ISO 8601 writes it: 2006-01-02T15:04:05, and as many digits of a second as it takes.
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

// check returns an error where an instant is none.
func (t Instant) check() error {
	if t.Nano < 0 || t.Nano >= dayNanos {
		return invalid("instant with %d nanoseconds: a day has %d", t.Nano, dayNanos)
	}
	if t.Day < -maxDay || t.Day > maxDay {
		return fmt.Errorf("%w: day %d", ErrOverflow, t.Day)
	}
	return nil
}

// plus returns the instant that is count lengths later, and whether it is in range. The length is positive, in nanoseconds.
func (t Instant) plus(count, length int64) (Instant, bool) {
	size := uint64(count)
	if count < 0 {
		size = -size
	}
	hi, lo := bits.Mul64(size, uint64(length))
	if hi >= uint64(dayNanos) {
		return Instant{}, false
	}
	days, nanos := bits.Div64(hi, lo, uint64(dayNanos))
	if days > 3*maxDay {
		return Instant{}, false
	}
	if count < 0 {
		return t.shift(-int64(days), -int64(nanos))
	}
	return t.shift(int64(days), int64(nanos))
}

// shift adds days and less than a day of nanoseconds, of either sign, and says whether that is in range.
func (t Instant) shift(days, nanos int64) (Instant, bool) {
	t.Day, t.Nano = t.Day+days, t.Nano+nanos
	if t.Nano < 0 {
		t = Instant{t.Day - 1, t.Nano + dayNanos}
	}
	if t.Nano >= dayNanos {
		t = Instant{t.Day + 1, t.Nano - dayNanos}
	}
	return t, t.Day >= -maxDay && t.Day <= maxDay
}

// since returns the nanoseconds from o to t, which is not before, as a number of 128 bits.
func (t Instant) since(o Instant) (hi, lo uint64) {
	days, nanos := t.Day-o.Day, t.Nano-o.Nano
	if nanos < 0 {
		days, nanos = days-1, nanos+dayNanos
	}
	hi, lo = bits.Mul64(uint64(days), uint64(dayNanos))
	lo, carry := bits.Add64(lo, uint64(nanos), 0)
	return hi + carry, lo
}

// from returns about how many nanoseconds t is from o; exactly where they are less than 2^53.
func (t Instant) from(o Instant) float64 {
	return math.Abs(float64(t.Day-o.Day)*float64(dayNanos) + float64(t.Nano-o.Nano))
}

// snap returns the roundest instant that is at most so many nanoseconds away: a whole second, millisecond or microsecond.
func (t Instant) snap(tolerance float64) Instant {
	for _, to := range [...]time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if r := t.Round(to); r.from(t) <= tolerance {
			return r
		}
	}
	return t
}
