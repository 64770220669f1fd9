package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr/dtype"
)

// timeUnit is a unit that a number of it is a length of time.
type timeUnit struct {
	numpy  string // its name in timedelta64
	length time.Duration
}

// timeUnits are the values of the attribute units that make a number a length of time. These are the ones of xarray; CF
// has others, as "s", which are as often those of a period or a speed.
var timeUnits = map[string]timeUnit{
	"days": {"D", 24 * time.Hour}, "hours": {"h", time.Hour}, "minutes": {"m", time.Minute}, "seconds": {"s", time.Second},
	"milliseconds": {"ms", time.Millisecond}, "microseconds": {"us", time.Microsecond}, "nanoseconds": {"ns", time.Nanosecond},
}

// durations makes lengths of time of numbers: whole ones keep their unit, others are in microseconds. Those that do not
// fit are not a time.
func (d *decoding) durations(t dtype.Type, unit timeUnit, unpack func(float64) float64, packed bool) (_ *decoding, err error) {
	whole := t.Kind() != dtype.Float && !packed
	made := unit
	if !whole && unit.length > time.Microsecond {
		made = timeUnits["microseconds"]
	}
	if d.typ, err = dtype.TimedeltaOf(made.numpy, 1); err != nil {
		return nil, err
	}
	d.put = func(dst, elem []byte, value float64) {
		n := int64(dtype.NaT)
		switch x := math.RoundToEven(unpack(value) * float64(unit.length/made.length)); {
		case math.IsNaN(value):
		case whole:
			if v, err := strconv.ParseInt(string(t.AppendText(nil, elem)), 10, 64); err == nil {
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

// durationText returns a number of units of time as --step spells it: 1d12h, -30min, 1.5s.
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
