package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/selection"
)

// decodeFlag gives a command the flag --decode.
func decodeFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("decode", false, "make of stored numbers what CF attributes say: scale_factor, add_offset, _FillValue, missing_value, _Unsigned; times and durations")
}

// decodeTo fills dst with what the elements of src stand for.
func decodeTo(d *cf.Decoding, dst *elements, src elements) {
	n := src.len()
	dst.typ = d.Type()
	dst.grow(n)
	if !dst.typ.Variable() {
		d.Decode(dst.data, src.data)
		return
	}
	for i := range n {
		dst.words[i] = []byte(d.DecodeText(src.at(i)))
	}
}

// text returns how what is selected is written for people: as times where an array with
// one axis holds those.
func (s *source) text() func(elem []byte) string {
	plain := elementText(s.typ)
	if s.decoding != nil && (s.typ.Variable() || s.typ.Kind() == dtype.Timedelta) {
		return s.decoding.Format
	}
	axis, ok := timesOf(s.array)
	if !ok || s.array.Rank() != 1 || s.decoding != nil {
		return plain
	}
	p, err := cf.PackingOf(s.array)
	if err != nil {
		return plain
	}
	p = p.OfCoordinate()
	return func(elem []byte) string {
		if !p.HasValue(elem) {
			return "NaT"
		}
		if at, ok := axis.Text(p.Text(elem)); ok {
			return at
		}
		return plain(elem)
	}
}

// timesOf returns the times of the numbers of an array. ok is false if they are no times.
func timesOf(a *zarr.Array) (t cf.Times, ok bool) {
	if !isNumeric(a.Type()) {
		return t, false
	}
	return cf.UnitsOf(a).Times()
}

// undecodedTimes returns why numbers that count from a moment are not decoded to times. It
// is nil if they are, and if they count something else.
func undecodedTimes(a *zarr.Array, u cf.Units) error {
	if !isNumeric(a.Type()) {
		return nil
	}
	return u.Err()
}

// tellUndecoded tells people of times that --decode leaves as numbers.
func tellUndecoded(cmd *cobra.Command, location string, s *source) {
	if err := undecodedTimes(s.array, s.units); err != nil && !session.WantsJSON(cmd) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: --decode leaves its times as numbers: %s\n", phrase.Printable(location), phrase.Printable(failure.OneLine(err)))
	}
}

// tellUnmet tells people of missing values that no element can be, so that nothing is
// missing.
func tellUnmet(cmd *cobra.Command, location string, s *source) {
	if s.decoding == nil || len(s.decoding.Unmet()) == 0 {
		return
	}
	session.Note(cmd, location, fmt.Sprintf("no element of type %s is %s, so that is missing nowhere", s.decoding.Packing.Type(), strings.Join(s.decoding.Unmet(), " or ")))
}

// errUnsaid ends the search for a time that datetime64 has not.
var errUnsaid = errors.New("datetime64 has no such day")

// settle reads the times of a source, and has all of them made text where datetime64 has
// not each. Whoever gives the type of what is made has to know it before.
func (s *source) settle(ctx context.Context) error {
	if s.decoding == nil || !s.decoding.MayOverflow() {
		return nil
	}
	err := s.undecoded().blocks(ctx, func(e elements) error {
		if !s.decoding.Fits(e.data) {
			return errUnsaid
		}
		return ctx.Err()
	})
	if errors.Is(err, errUnsaid) {
		return s.becomeText()
	}
	return err
}

// undecoded returns a source of the same elements as they are stored.
func (s *source) undecoded() *source {
	stored := *s
	stored.decoding, stored.typ = nil, s.stored
	return &stored
}

// becomeText makes text of the times of a source.
func (s *source) becomeText() error {
	s.decoding = s.decoding.AsText()
	s.typ = s.decoding.Type()
	s.measure()
	return nil
}

// endsOfTime returns the first and the last element of an array that is a time
// coordinate, for people; nil for any other, and where they cannot be read.
func endsOfTime(ctx context.Context, a *zarr.Array) []string {
	if a.Rank() != 1 || a.Shape()[0] == 0 {
		return nil
	}
	if _, counted := timesOf(a); !counted && a.Type().Kind() != dtype.Datetime {
		return nil
	}
	s, err := newSource(ctx, a, "", false)
	if err != nil {
		return nil
	}
	text, axis := s.text(), a.Grid().Axis(0)
	var texts []string
	for _, i := range []int64{0, a.Shape()[0] - 1} {
		chunk, _, _ := axis.Locate(i)
		cell, _ := axis.Cell(chunk)
		if cell.Encoded > cf.MaxCoordinate {
			return nil
		}
		e := elements{typ: a.Type()}
		e.grow(1)
		if err := e.read(ctx, a, selection.Box{{i, i + 1}}); err != nil {
			return nil
		}
		texts = append(texts, text(e.at(0)))
	}
	return texts
}
