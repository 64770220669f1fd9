// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/dtype"
)

// timeUnit is a unit of durations.
type timeUnit struct {
	numpy  string // its name in timedelta64
	length time.Duration
}

// timeUnits are the values of the attribute units that make a number a duration, as in
// xarray.
var timeUnits = map[string]timeUnit{
	"days": {"D", 24 * time.Hour}, "hours": {"h", time.Hour}, "minutes": {"m", time.Minute}, "seconds": {"s", time.Second},
	"milliseconds": {"ms", time.Millisecond}, "microseconds": {"us", time.Microsecond}, "nanoseconds": {"ns", time.Nanosecond},
}

// durations makes d convert numbers to durations. Integers keep their unit. Other
// numbers are converted to microseconds or a finer unit. Durations that do not fit
// become NaT.
func (d *Decoding) durations(unit timeUnit) (err error) {
	whole := !d.isFloat() && !d.scaled
	made := unit
	// A fraction of the unit would be lost in timedelta64.
	if !whole && unit.length > time.Microsecond {
		made = timeUnits["microseconds"]
	}
	if d.typ, err = dtype.TimedeltaOf(made.numpy, 1); err != nil {
		return err
	}
	d.put = func(dst, elem []byte, value float64) {
		n := int64(dtype.NaT)
		switch x := math.RoundToEven(d.value(value) * float64(unit.length/made.length)); {
		case math.IsNaN(value):
		case whole:
			if v, err := strconv.ParseInt(d.Packing.Text(elem), 10, 64); err == nil {
				n = v
			}
		case math.Abs(x) < 1<<63:
			n = int64(x)
		}
		binary.NativeEndian.PutUint64(dst, uint64(n))
	}
	d.format = func(elem []byte) string { return formatDuration(int64(binary.NativeEndian.Uint64(elem)), made.length) }
	return nil
}

// ParseDuration parses a duration such as "6h", "6 hours", "1d12h" or "-1.5 min", and
// returns it in nanoseconds. It accepts the units of [calendar.ParseStep] except months
// and years, which have no fixed length. The unit m is a minute.
func ParseDuration(text string) (nanoseconds float64, err error) {
	rest, negative := strings.CutPrefix(strings.TrimSpace(text), "-")
	for rest != "" {
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789."))]
		name := strings.TrimLeft(rest[len(digits):], " ")
		name = name[:len(name)-len(strings.TrimLeftFunc(name, unicode.IsLetter))]
		n, err := strconv.ParseFloat(digits, 64)
		unit, failed := calendar.ParseStep("1" + name)
		// calendar.ParseStep refuses m, which means minutes or months. A duration has no
		// months.
		if name == "m" {
			unit, failed = calendar.Step{Length: time.Minute}, nil
		}
		// Months and years have no fixed length.
		if err != nil || failed != nil || unit.Months != 0 {
			return 0, invalid("%q is neither a number nor a duration such as 6h, 1d12h or 30 min", text)
		}
		nanoseconds += n * float64(unit.Length)
		rest = strings.TrimLeft(strings.TrimLeft(rest[len(digits):], " ")[len(name):], " ")
	}
	if negative {
		nanoseconds = -nanoseconds
	}
	return nanoseconds, nil
}

// formatDuration formats n units of time in the form 1d12h, -30min or 1.5s.
func formatDuration(n int64, unit time.Duration) string {
	if n == dtype.NaT {
		return "NaT"
	}
	var b strings.Builder
	if n < 0 {
		b.WriteByte('-')
	}
	// Split off the days first. In nanoseconds, n may not fit 64 bits.
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
