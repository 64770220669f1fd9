// SPDX-License-Identifier: Apache-2.0

package grib

import (
	"encoding/binary"
	"math"
	"time"
)

// product is what section 4 and section 1 say about a field: what it is, and when and
// where.
type product struct {
	category, parameter byte
	variant             string // further octets that tell arrays apart
	surface, second     byte   // types of the levels (code table 4.5), 255 for none
	statistic           byte   // code table 4.10, 255 for none
	origin              origin

	time, step int64 // seconds since 1970, and seconds
	interval   int64 // seconds before the step over which a statistic is, 0 for none
	level      level
	member     int64 // of the ensemble, -1 for none
}

// level is a level, or the layer between two.
type level struct{ first, second float64 }

// none is the value of octets that say nothing.
const none = 255

// template says where a product definition template has its octets, beyond those that all
// have. Octets count from 1, and 0 means none.
type template struct {
	shift         int // of the octets from 12 on
	variant, last int // octets that tell arrays apart
	member        int
	end           int // of the interval: seven octets of a time
	statistic     int
}

// templates are the product definition templates with levels and a forecast time (code
// table 4.0).
var templates = map[int]template{
	0:  {},                                              // at a time
	1:  {member: 36},                                    // of an ensemble
	2:  {variant: 35, last: 35},                         // derived from an ensemble
	5:  {variant: 35, last: 47},                         // probability
	6:  {variant: 35, last: 35},                         // percentile
	8:  {end: 35, statistic: 47},                        // over an interval
	9:  {variant: 35, last: 47, end: 48, statistic: 60}, // probability over an interval
	10: {variant: 35, last: 35, end: 36, statistic: 48}, // percentile over an interval
	11: {member: 36, end: 38, statistic: 50},            // of an ensemble, over an interval
	12: {variant: 35, last: 35, end: 37, statistic: 49}, // derived, over an interval
	15: {variant: 35, last: 37},                         // over an area
	// The same for chemicals.
	40: {shift: 2, variant: 12, last: 13},
	41: {shift: 2, variant: 12, last: 13, member: 38},
	42: {shift: 2, variant: 12, last: 13, end: 37, statistic: 49},
	43: {shift: 2, variant: 12, last: 13, member: 38, end: 40, statistic: 52},
}

// read reads sections 1 and 4. If the template is not known, the category and the
// parameter are set.
func (m *message) read() (p product, err error) {
	s := m.product
	p = product{category: s[9], parameter: s[10], surface: none, second: none, statistic: none, member: -1}
	number := int(binary.BigEndian.Uint16(s[7:]))
	t, known := templates[number]
	if !known {
		return p, m.unsupportedf("product definition template 4.%d", number)
	}
	if n := max(34+t.shift, t.last, t.member, t.end+6, t.statistic); len(s) < n {
		return p, m.corruptf("section 4 has %d bytes, template 4.%d needs %d", len(s), number, n)
	}
	if t.variant > 0 {
		p.variant = string(s[t.variant-1 : t.last])
	}
	if t.member > 0 {
		p.member = int64(s[t.member-1])
	}
	if t.statistic > 0 {
		p.statistic = s[t.statistic-1]
	}
	p.origin = m.origin(s[11+t.shift])
	p.surface, p.level.first = surfaceOf(s[22+t.shift:])
	p.second, p.level.second = surfaceOf(s[28+t.shift:])
	return p, m.readTimes(&p, t)
}

// surfaceOf reads the six octets of a level: its type, a scale factor, and a number.
func surfaceOf(b []byte) (typ byte, value float64) {
	const missing = math.MaxUint32
	if b[0] == none || b[1] == none || binary.BigEndian.Uint32(b[2:]) == missing {
		return b[0], 0
	}
	value = float64(signed(binary.BigEndian.Uint32(b[2:]), 31))
	// Most scale factors are powers that floats have; dividing by these rounds once.
	if scale := int(signed(uint32(b[1]), 7)); scale >= 0 {
		value /= math.Pow10(scale)
	} else {
		value *= math.Pow10(-scale)
	}
	return b[0], value
}

// signed returns a number whose bit sign says that it is negative (regulation 92.1.5).
func signed(x uint32, sign int) int64 {
	if x>>sign&1 != 0 {
		return -int64(x &^ (1 << sign))
	}
	return int64(x)
}

// readTimes reads the reference time (section 1) and the step (section 4). That of an
// interval is its end.
func (m *message) readTimes(p *product, t template) error {
	from, ok := clock(m.identity[12:])
	if !ok {
		return m.corruptf("the reference time is %d", m.identity[12:19])
	}
	p.time = from.Unix()
	s := m.product[17+t.shift:]
	n := signed(binary.BigEndian.Uint32(s[1:]), 31)
	start, known := seconds(from, s[0], n)
	if t.end > 0 {
		to, ok := clock(m.product[t.end-1:])
		if !ok {
			return m.corruptf("the interval ends at %d", m.product[t.end-1:t.end+6])
		}
		if p.step = to.Unix() - p.time; known {
			p.interval = p.step - start
		}
		return nil
	}
	if !known {
		return m.unsupportedf("a step of %d in the unit %d (code table 4.4)", n, s[0])
	}
	p.step = start
	return nil
}

// clock reads seven octets of a time.
func clock(b []byte) (t time.Time, ok bool) {
	month, day, hour, minute, second := b[2], b[3], b[4], b[5], b[6]
	if month < 1 || month > 12 || day < 1 || day > 31 || hour > 24 || minute > 59 || second > 60 {
		return t, false
	}
	year := int(binary.BigEndian.Uint16(b))
	return time.Date(year, time.Month(month), int(day), int(hour), int(minute), int(second), 0, time.UTC), true
}

// seconds returns a step in seconds (code table 4.4).
func seconds(from time.Time, unit byte, n int64) (int64, bool) {
	switch unit {
	case 0:
		return n * 60, true
	case 1:
		return n * 3600, true
	case 2:
		return n * 86400, true
	case 10, 11, 12:
		return n * []int64{3, 6, 12}[unit-10] * 3600, true
	case 13:
		return n, true
	}
	months := map[byte]int64{3: 1, 4: 12, 5: 120, 6: 360, 7: 1200}[unit]
	const most = 1 << 20 // months of all times that calendars compute with
	if months == 0 || n > most/months || n < -most/months {
		return 0, false
	}
	return from.AddDate(0, int(n*months), 0).Unix() - from.Unix(), true
}
