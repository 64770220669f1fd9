// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/selection"
)

// DecodeFlag gives a command the flag --decode.
func DecodeFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("decode", false, "make of stored numbers what CF attributes say: scale_factor, add_offset, _FillValue, missing_value, _Unsigned; times and durations")
}

// decodeTo fills dst with what the elements of src stand for.
func decodeTo(d *cf.Decoding, dst *element.Values, src element.Values) {
	n := src.Len()
	dst.Type = d.Type()
	dst.Grow(n)
	if !dst.Type.Variable() {
		d.Decode(dst.Data, src.Data)
		return
	}
	for i := range n {
		dst.Words[i] = []byte(d.DecodeText(src.At(i)))
	}
}

// Text returns how what is selected is written for people: as times where an array with
// one axis holds those.
func (s *Source) Text() func(elem []byte) string {
	plain := element.Text(s.Type)
	if s.Decoding != nil && (s.Type.Variable() || s.Type.Kind() == dtype.Timedelta) {
		return s.Decoding.Format
	}
	axis, ok := TimesOf(s.Array)
	if !ok || s.Array.Rank() != 1 || s.Decoding != nil {
		return plain
	}
	p, err := cf.PackingOf(s.Array)
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

// TimesOf returns the times of the numbers of an array. ok is false if they are no times.
func TimesOf(a *zarr.Array) (t cf.Times, ok bool) {
	if !element.IsNumeric(a.Type()) {
		return t, false
	}
	return cf.UnitsOf(a).Times()
}

// UndecodedTimes returns why numbers that count from a moment are not decoded to times. It
// is nil if they are, and if they count something else.
func UndecodedTimes(a *zarr.Array, u cf.Units) error {
	if !element.IsNumeric(a.Type()) {
		return nil
	}
	return u.Err()
}

// TellUndecoded tells people of times that --decode leaves as numbers.
func TellUndecoded(cmd *cobra.Command, location string, s *Source) {
	if err := UndecodedTimes(s.Array, s.Units); err != nil && !session.WantsJSON(cmd) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: --decode leaves its times as numbers: %s\n", phrase.Printable(location), phrase.Printable(failure.OneLine(err)))
	}
}

// TellUnmet tells people of missing values that no element can be, so that nothing is
// missing.
func TellUnmet(cmd *cobra.Command, location string, s *Source) {
	if s.Decoding == nil || len(s.Decoding.Unmet()) == 0 {
		return
	}
	session.Note(cmd, location, fmt.Sprintf("no element of type %s is %s, so that is missing nowhere", s.Decoding.Packing.Type(), strings.Join(s.Decoding.Unmet(), " or ")))
}

// errUnsaid ends the search for a time that datetime64 has not.
var errUnsaid = errors.New("datetime64 has no such day")

// Settle reads the times of a source, and has all of them made text where datetime64 has
// not each. Whoever gives the type of what is made has to know it before.
func (s *Source) Settle(ctx context.Context) error {
	if s.Decoding == nil || !s.Decoding.MayOverflow() {
		return nil
	}
	err := s.Undecoded().Blocks(ctx, func(e element.Values) error {
		if !s.Decoding.Fits(e.Data) {
			return errUnsaid
		}
		return ctx.Err()
	})
	if errors.Is(err, errUnsaid) {
		return s.BecomeText()
	}
	return err
}

// Undecoded returns a source of the same elements as they are stored.
func (s *Source) Undecoded() *Source {
	stored := *s
	stored.Decoding, stored.Type = nil, s.Stored
	return &stored
}

// BecomeText makes text of the times of a source.
func (s *Source) BecomeText() error {
	s.Decoding = s.Decoding.AsText()
	s.Type = s.Decoding.Type()
	s.measure()
	return nil
}

// EndsOfTime returns the first and the last element of an array that is a time
// coordinate, for people; nil for any other, and where they cannot be read.
func EndsOfTime(ctx context.Context, a *zarr.Array) []string {
	if a.Rank() != 1 || a.Shape()[0] == 0 {
		return nil
	}
	if _, counted := TimesOf(a); !counted && a.Type().Kind() != dtype.Datetime {
		return nil
	}
	s, err := New(ctx, a, "", false)
	if err != nil {
		return nil
	}
	text, axis := s.Text(), a.Grid().Axis(0)
	var texts []string
	for _, i := range []int64{0, a.Shape()[0] - 1} {
		chunk, _, _ := axis.Locate(i)
		cell, _ := axis.Cell(chunk)
		if cell.Encoded > cf.MaxCoordinate {
			return nil
		}
		e := element.Values{Type: a.Type()}
		e.Grow(1)
		if err := e.Read(ctx, a, selection.Box{{i, i + 1}}); err != nil {
			return nil
		}
		texts = append(texts, text(e.At(0)))
	}
	return texts
}
