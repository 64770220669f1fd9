package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/calendar"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// text returns how what is selected is written for people: as times where an array with
// one axis holds those.
func (s *source) text() func(elem []byte) string {
	plain := elementText(s.typ)
	if s.decoding != nil && s.decoding.shown != nil {
		return s.decoding.shown
	}
	axis, ok := timesOf(s.array)
	if !ok || s.array.Rank() != 1 || s.decoding != nil {
		return plain
	}
	p, err := packingOf(s.array)
	if err != nil {
		return plain
	}
	p = p.ofCoordinate()
	return func(elem []byte) string {
		if !p.hasValue(elem) {
			return "NaT"
		}
		if at, ok := axis.at(p.text(elem)); ok {
			return at
		}
		return plain(elem)
	}
}

// timesOf returns what the numbers of an array count if they are times as CF has them.
func timesOf(a *zarr.Array) (timeAxis, bool) {
	if !isNumeric(a.Type()) {
		return timeAxis{}, false
	}
	return countingOf(a).axis()
}

// undecodedTimes returns why numbers that count from a moment, as their units say, are no
// times here; nil where they are or count nothing.
func undecodedTimes(a *zarr.Array, count counting) error {
	if words := strings.Fields(count.units); !isNumeric(a.Type()) || len(words) < 3 || !strings.EqualFold(words[1], "since") {
		return nil
	}
	c, err := calendar.Parse(count.calendar)
	if err == nil {
		_, err = calendar.ParseUnits(count.units, c)
	}
	return err
}

// tellUndecoded tells people of times that --decode leaves as numbers.
func tellUndecoded(cmd *cobra.Command, location string, s *source) {
	if err := undecodedTimes(s.array, s.counting); err != nil && !wantsJSON(cmd) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: --decode leaves its times as numbers: %s\n", phrase.Printable(location), phrase.Printable(failure.OneLine(err)))
	}
}

// attribute returns a user attribute that is a text, else "".
func attribute(a *zarr.Array, name string) string {
	v, err := attributeValue(a, name)
	if err != nil {
		return ""
	}
	text, _ := v.Str() // "" for any other kind of value
	return text
}

// timeAxis is what the numbers of a time coordinate count.
type timeAxis struct{ calendar.Units }

// parseTimeAxis reads units and the calendar. What is no such thing stays numbers.
func parseTimeAxis(units, name string) (timeAxis, bool) {
	c, err := calendar.Parse(name)
	if err != nil {
		return timeAxis{}, false
	}
	u, err := calendar.ParseUnits(units, c)
	return timeAxis{u}, err == nil
}

// isReal reports whether the days are those that there were. Both calendars that have
// them number them alike.
func (a timeAxis) isReal() bool {
	return a.Calendar() == calendar.Standard || a.Calendar() == calendar.ProlepticGregorian
}

// at returns the time that a number stands for, as the calendar of the axis has it. It is
// false for numbers that are no time, as NaN.
func (a timeAxis) at(number string) (string, bool) {
	t, err := a.instant(number)
	if err != nil {
		return "", false
	}
	return a.text(a.Calendar(), t), true
}

// text returns a time as ISO 8601 writes it in a calendar: a day where the units are days
// and the time begins one, and otherwise a time of day, to the microsecond unless the
// units are shorter.
func (a timeAxis) text(c calendar.Calendar, t calendar.Instant) string {
	t = a.round(t)
	if day, err := c.Date(t.Day); err == nil && a.Length()%(24*time.Hour) == 0 && t.Nano == 0 {
		return day.String()
	}
	return c.Text(t)
}

// round returns a time as exactly as the units are meant: to the microsecond unless they
// are shorter.
func (a timeAxis) round(t calendar.Instant) calendar.Instant {
	if a.Length() < time.Microsecond {
		return t
	}
	return t.Round(time.Microsecond)
}

// instant reads a number as a whole one where it is.
func (a timeAxis) instant(number string) (calendar.Instant, error) {
	if v, err := strconv.ParseInt(number, 10, 64); err == nil {
		return a.At(v)
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return calendar.Instant{}, err
	}
	return a.AtFloat(v)
}
