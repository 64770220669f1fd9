// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/selection"
)

// DecodeFlag adds the flag --decode to a command.
func DecodeFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("decode", false, "decode stored numbers by CF attributes: scale_factor, add_offset, _FillValue, missing_value, _Unsigned, and units of times and durations")
}

// Text returns the function that formats the elements of a source: as times if they are a
// time coordinate with one axis.
func Text(ctx context.Context, s *export.Source) func(elem []byte) string {
	plain := element.Text(s.Type)
	if s.Decoding != nil && (s.Type.Variable() || s.Type.Kind() == dtype.KindTimedelta || s.Type == dtype.Float64) {
		return s.Decoding.Format
	}
	axis, ok := TimesOf(s.Array)
	if !ok || s.Array.Rank() != 1 || s.Decoding != nil {
		return plain
	}
	p, err := cf.PackingOf(ctx, s.Array)
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

// TimesOf returns the times of the numbers of an array. ok is false if they are not
// times.
func TimesOf(a *zarr.Array) (t cf.Times, ok bool) {
	if !cf.IsNumeric(a.Type()) {
		return t, false
	}
	return cf.UnitsOf(a).Times()
}

// UndecodedTimes returns why numbers since a reference time are not decoded to times. It
// returns nil if they are, and if they are not times.
func UndecodedTimes(a *zarr.Array, u cf.Units) error {
	if !cf.IsNumeric(a.Type()) {
		return nil
	}
	return u.Err()
}

// TellUndecoded prints a note about times that --decode leaves as numbers.
func TellUndecoded(cmd *cobra.Command, location string, s *export.Source) {
	if err := UndecodedTimes(s.Array, s.Units); err != nil && !session.WantsJSON(cmd) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: --decode leaves its times as numbers: %s\n", phrase.Printable(location), phrase.Printable(failure.OneLine(err)))
	}
}

// TellUnmet prints a note about missing values that no element of the type can have.
func TellUnmet(cmd *cobra.Command, location string, s *export.Source) {
	if s.Decoding == nil || len(s.Decoding.Unmet()) == 0 {
		return
	}
	session.Note(cmd, location, fmt.Sprintf("no element of type %s can be %s, so this missing value has no effect", s.Decoding.Packing.Type(), strings.Join(s.Decoding.Unmet(), " or ")))
}

// EndsOfTime returns the first and the last time of a time coordinate in the form for
// people. It returns nil for any other array, and if they cannot be read.
func EndsOfTime(ctx context.Context, a *zarr.Array) []string {
	if a.Rank() != 1 || a.Shape()[0] == 0 {
		return nil
	}
	if _, counted := TimesOf(a); !counted && a.Type().Kind() != dtype.KindDatetime {
		return nil
	}
	s, err := New(ctx, a, "", false)
	if err != nil {
		return nil
	}
	text, axis := Text(ctx, s), a.Grid().Axis(0)
	ends := [2]int64{0, a.Shape()[0] - 1}
	for _, i := range ends {
		chunk, _, _ := axis.Locate(i)
		cell, _ := axis.Cell(chunk)
		// Do not decode a huge chunk for the sake of two times.
		if cell.Encoded > cf.MaxCoordinate {
			return nil
		}
	}
	var values [2]export.Values
	var errs [2]error
	var both sync.WaitGroup // in a far store, two reads at a time take as long as one
	for i, at := range ends {
		values[i] = export.Values{Type: a.Type()}
		values[i].Grow(1)
		both.Go(func() { errs[i] = values[i].Read(ctx, a, selection.Box{{at, at + 1}}) })
	}
	both.Wait()
	if errors.Join(errs[:]...) != nil {
		return nil
	}
	return []string{text(values[0].At(0)), text(values[1].At(0))}
}
