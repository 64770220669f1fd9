package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"varve.dev/zarr/calendar"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/dtype"
)

// timeUnit is a unit that a number of it is a length of time.
type timeUnit struct {
	numpy  string // its name in timedelta64
	length time.Duration
}

// timeUnits are the values of the attribute units that make a number a length of time.
// These are the ones of xarray; CF has others, as "s", which are as often those of a
// period or a speed.
var timeUnits = map[string]timeUnit{
	"days": {"D", 24 * time.Hour}, "hours": {"h", time.Hour}, "minutes": {"m", time.Minute}, "seconds": {"s", time.Second},
	"milliseconds": {"ms", time.Millisecond}, "microseconds": {"us", time.Microsecond}, "nanoseconds": {"ns", time.Nanosecond},
}

// durations makes lengths of time of numbers: whole ones keep their unit, others are in
// microseconds. Those that do not fit are not a time.
func (d *decoding) durations(unit timeUnit) (_ *decoding, err error) {
	whole := !d.isFloat() && !d.scaled
	made := unit
	if !whole && unit.length > time.Microsecond {
		made = timeUnits["microseconds"]
	}
	if d.typ, err = dtype.TimedeltaOf(made.numpy, 1); err != nil {
		return nil, err
	}
	d.put = func(dst, elem []byte, value float64) {
		n := int64(dtype.NaT)
		switch x := math.RoundToEven(d.value(value) * float64(unit.length/made.length)); {
		case math.IsNaN(value):
		case whole:
			if v, err := strconv.ParseInt(d.text(elem), 10, 64); err == nil {
				n = v
			}
		case math.Abs(x) < 1<<63:
			n = int64(x)
		}
		binary.NativeEndian.PutUint64(dst, uint64(n))
	}
	d.shown = func(elem []byte) string { return durationText(int64(binary.NativeEndian.Uint64(elem)), made.length) }
	return d, nil
}

// parseDuration reads a length of time as people write it, in nanoseconds: 6h, 6 hours,
// 1d12h, -1.5 min.
func parseDuration(text string) (float64, error) {
	rest, negative := strings.CutPrefix(strings.TrimSpace(text), "-")
	total := 0.0
	for rest != "" {
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789."))]
		name := strings.TrimLeft(rest[len(digits):], " ")
		name = name[:len(name)-len(strings.TrimLeftFunc(name, unicode.IsLetter))]
		n, err := strconv.ParseFloat(digits, 64)
		unit, failed := calendar.ParseStep("1" + name)
		if name == "m" { // months have no fixed length
			unit, failed = calendar.Step{Length: time.Minute}, nil
		}
		if err != nil || failed != nil || unit.Months != 0 {
			return 0, failure.BadArgument("%q is no number and no length of time, as 6h, 1d12h or 30 min", text)
		}
		total += n * float64(unit.Length)
		rest = strings.TrimLeft(strings.TrimLeft(rest[len(digits):], " ")[len(name):], " ")
	}
	if negative {
		total = -total
	}
	return total, nil
}

// durationText returns a number of units of time as --step spells it: 1d12h, -30min,
// 1.5s.
func durationText(n int64, unit time.Duration) string {
	if n == dtype.NaT {
		return "NaT"
	}
	var b strings.Builder
	if n < 0 {
		b.WriteByte('-')
	}
	perDay := int64(24 * time.Hour / unit)
	days, rest := n/perDay, n%perDay*int64(unit)
	if days, rest = max(days, -days), max(rest, -rest); days > 0 {
		fmt.Fprintf(&b, "%dd", days)
	}
	for _, part := range []struct {
		name string
		unit time.Duration
	}{{"h", time.Hour}, {"min", time.Minute}} {
		if k := rest / int64(part.unit); k > 0 {
			fmt.Fprintf(&b, "%d%s", k, part.name)
		}
		rest %= int64(part.unit)
	}
	if rest > 0 || n == 0 {
		b.WriteString(strconv.FormatInt(rest/1e9, 10))
		if part := rest % 1e9; part > 0 {
			b.WriteString(strings.TrimRight(fmt.Sprintf(".%09d", part), "0"))
		}
		b.WriteByte('s')
	}
	return b.String()
}
