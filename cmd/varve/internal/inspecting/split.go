// SPDX-License-Identifier: Apache-2.0

package inspecting

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/selection"
)

// The parts of --split beside a number of elements.
const (
	byYear  = "year"
	byMonth = "month"
	byDay   = "day"
	byChunk = "chunk"
)

// checkSplit returns an error for a malformed value of --split.
func checkSplit(text string) error {
	dimension, by, _ := cutLast(text)
	if n, err := strconv.ParseInt(by, 10, 64); dimension != "" && (err == nil && n > 0 || slices.Contains([]string{byYear, byMonth, byDay, byChunk}, by)) {
		return nil
	}
	return fmt.Errorf("%q is not a dimension and its parts, as time:month, time:24 or lat:chunk", text)
}

// cutLast cuts a text at its last colon.
func cutLast(text string) (before, after string, ok bool) {
	at := strings.LastIndexByte(text, ':')
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+1:], true
}

// splitting is the dimension that --split cuts.
type splitting struct {
	dimension, by string
	*export.Source
	axis     int         // of Shape
	along    subset.Axis // the selected elements
	at       []calendar.Instant
	calendar calendar.Calendar
}

// parts returns a file for each part of --split.
func (e *exporting) parts(whole cargo) ([]piece, error) {
	s := &splitting{}
	s.dimension, s.by, _ = cutLast(e.split)
	if err := s.find(whole.sources()); err != nil {
		return nil, err
	}
	byTime := s.by == byYear || s.by == byMonth || s.by == byDay
	if err := s.readTimes(e, byTime || hasTimeCode(e.file)); err != nil {
		return nil, err
	}
	places, err := s.places()
	if err != nil {
		return nil, err
	}
	if len(places) > mostFiles {
		return nil, fmt.Errorf("%w: there would be %s, and at most %s are made: choose longer parts, or select some (--select)",
			zarr.ErrLimit, phrase.Plural(int64(len(places)), "file"), phrase.Count(mostFiles))
	}
	var pieces []piece
	seen := map[string]int{}
	digits := len(strconv.Itoa(max(0, len(places)-1)))
	for i, list := range places {
		name, err := s.name(e.file, fmt.Sprintf("%0*d", digits, i), list[0])
		if err != nil {
			return nil, err
		}
		if other, taken := seen[name]; taken {
			return nil, failure.BadArgument("-o %s: parts %d and %d would both be %s: add %s", e.file, other, i, name, s.code())
		}
		seen[name] = i
		if folder := filepath.Dir(name); !node.Exists(folder) {
			return nil, failure.NotFound("write %s: there is no folder %s", name, folder)
		}
		part, err := whole.with(func(of *export.Source) (*export.Source, error) { return s.part(e, of, list) })
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, piece{name, part})
	}
	if len(pieces) == 0 {
		return nil, failure.BadArgument("--split %s: no elements are selected along %q, so there would be no file", e.split, s.dimension)
	}
	return pieces, nil
}

// find finds the array with the dimension that has the most axes, and of those the
// largest.
func (s *splitting) find(sources []*export.Source) error {
	var seen []string
	for _, of := range sources {
		axes := (*subset.Elements)(of.Selection).Axes()
		if axes == nil {
			return failure.BadArgument("--split: points and masks leave no axes: select along the axes (0:10)")
		}
		names := of.Array.DimensionNames()
		for i, axis := range axes {
			if names == nil || names[axis] == "" {
				continue
			}
			seen = append(seen, names[axis])
			if names[axis] != s.dimension {
				continue
			}
			if s.Source != nil && s.Shape[s.axis] != of.Shape[i] {
				return failure.BadArgument("--split: dimension %q has %s in %s, and %d in %s: export them one by one",
					s.dimension, phrase.Plural(s.Shape[s.axis], "element"), s.Array.Path(), of.Shape[i], of.Array.Path())
			}
			if s.Source == nil || len(of.Shape) > len(s.Shape) || len(of.Shape) == len(s.Shape) && of.Bytes > s.Bytes {
				s.Source, s.axis = of, i
				s.along, _ = (*subset.Elements)(of.Selection).Along(axis)
			}
		}
	}
	if s.Source == nil {
		slices.Sort(seen)
		return failure.BadArgument("--split: no array has a dimension %q%s", s.dimension, spelling.Meant(s.dimension, slices.Compact(seen)))
	}
	return nil
}

// readTimes reads the times of the dimension, if they are wanted.
func (s *splitting) readTimes(e *exporting, wanted bool) error {
	if !wanted {
		return nil
	}
	const remedy = "split it by elements, as --split %s:100, and name the files by their number, %%N"
	c, err := cf.Coordinate(e.Context(), s.Array, s.dimension)
	if errors.Is(err, zarr.ErrInvalidArgument) { // there is none, or it does not fit
		return failure.BadArgument("no coordinate tells the times of dimension %q: "+remedy, s.dimension, s.dimension)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	at, in, ok, err := cf.Instants(e.Context(), c)
	if err == nil && !ok {
		err = failure.BadArgument("%s has elements that are no times: "+remedy, c.Path(), s.dimension)
	}
	s.at, s.calendar = at, in
	return err
}

const (
	mostSplit = cf.MaxCoordinate // elements of the dimension
	mostFiles = 1 << 16
)

// places returns the places of the selected elements in each part.
func (s *splitting) places() (parts [][]int64, err error) {
	if s.along.Count > mostSplit {
		return nil, fmt.Errorf("%w: --split takes at most %s of a dimension, and %q has %s: select a part (--select)",
			zarr.ErrLimit, phrase.Plural(mostSplit, "element"), s.dimension, phrase.Count(s.along.Count))
	}
	if s.at != nil && s.by != byChunk && !isNumber(s.by) {
		of := map[calendar.Date]int{}
		for place := range s.along.Count {
			d, err := s.calendar.Date(s.at[s.along.At(place)].Day)
			if err != nil {
				return nil, err
			}
			switch s.by {
			case byYear:
				d.Month, d.Day = 1, 1
			case byMonth:
				d.Day = 1
			}
			i, known := of[d]
			if !known {
				i = len(parts)
				of[d], parts = i, append(parts, nil)
			}
			parts[i] = append(parts[i], place)
		}
		return parts, nil
	}
	add := func(from, to int64) {
		var list []int64
		for place := from; place < to; place++ {
			list = append(list, place)
		}
		parts = append(parts, list)
	}
	at := int64(0)
	if s.by == byChunk {
		axes := (*subset.Elements)(s.Selection).Axes()
		for n := range s.along.Runs(s.Array.Grid().Axis(axes[s.axis])) {
			add(at, at+n)
			at += n
		}
		return parts, nil
	}
	n, err := strconv.ParseInt(s.by, 10, 64)
	for ; at < s.along.Count; at += n {
		add(at, min(at+n, s.along.Count))
	}
	return parts, err
}

func isNumber(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

// part returns the elements of an array in a part. Arrays without the dimension go into
// all parts.
func (s *splitting) part(e *exporting, of *export.Source, places []int64) (*export.Source, error) {
	return e.narrowed(of, func(axis int) bool { return isAlong(of, axis, s.dimension) }, func(subset.Axis) []int64 { return places })
}

// isAlong reports whether an axis of an array has the name of a dimension.
func isAlong(of *export.Source, axis int, dimension string) bool {
	names := of.Array.DimensionNames()
	return names != nil && names[axis] == dimension
}

// narrowed returns the elements of an array at some places along those of its axes that
// are meant. An array without such an axis stays as it is.
func (e *exporting) narrowed(of *export.Source, meant func(axis int) bool, at func(subset.Axis) []int64) (*export.Source, error) {
	axes := (*subset.Elements)(of.Selection).Axes()
	items, found := make(selection.Orthogonal, len(axes)), false
	for i, axis := range axes {
		if meant(axis) {
			found = true
			along, _ := (*subset.Elements)(of.Selection).Along(axis)
			places := at(along)
			items[i] = selection.List(places...)
			if n := int64(len(places)); n == 0 {
				items[i] = selection.Span(0, 0)
			} else if places[n-1]-places[0] == n-1 && slices.IsSorted(places) {
				items[i] = selection.Span(places[0], places[n-1]+1)
			}
		}
	}
	v, err := of.Array.View(of.Selection)
	if err == nil && found {
		v, err = v.View(items)
	}
	if err != nil {
		return nil, err
	}
	p, err := export.Of(e.Context(), v, e.decoded)
	// All files have one type.
	if err == nil && of.Type.Variable() && !p.Type.Variable() {
		err = p.BecomeText()
	}
	return p, err
}

// timeCodes are what stands for the time of the first element of a part in the name of
// its file, as in strftime.
const timeCodes = "YmdHMSj"

// hasTimeCode reports whether a name has the time of a part.
func hasTimeCode(name string) bool {
	for i := 0; i+1 < len(name); i++ {
		if name[i] == '%' {
			if i++; strings.IndexByte(timeCodes, name[i]) >= 0 {
				return true
			}
		}
	}
	return false
}

// code returns what makes the names of the files differ.
func (s *splitting) code() string {
	switch s.by {
	case byYear:
		return "%Y"
	case byMonth:
		return "%Y-%m"
	case byDay:
		return "%Y-%m-%d"
	}
	return "%N"
}

// name returns the name of the file of a part: pattern with its number, and the time of
// its first element.
func (s *splitting) name(pattern, number string, place int64) (string, error) {
	var name strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			name.WriteByte(pattern[i])
			continue
		}
		i++
		code := byte(0)
		if i < len(pattern) {
			code = pattern[i]
		}
		switch {
		case code == '%':
			name.WriteByte('%')
		case code == 'N':
			name.WriteString(number)
		case code != 0 && strings.IndexByte(timeCodes, code) >= 0:
			text, err := s.time(code, s.at[s.along.At(place)])
			if err != nil {
				return "", err
			}
			name.WriteString(text)
		default:
			return "", failure.BadArgument("-o %s: %%%s stands for nothing: there are %%Y, %%m, %%d, %%H, %%M, %%S and %%j for the time of a part, %%N for its number, and %%%% for a percent sign", pattern, phrase.Printable(string(rune(code))))
		}
	}
	return name.String(), nil
}

// time returns a time in the way of a code.
func (s *splitting) time(code byte, at calendar.Instant) (string, error) {
	d, err := s.calendar.Date(at.Day)
	if err != nil {
		return "", err
	}
	seconds := at.Nano / 1e9
	switch code {
	case 'Y':
		return fmt.Sprintf("%04d", d.Year), nil
	case 'm':
		return fmt.Sprintf("%02d", d.Month), nil
	case 'd':
		return fmt.Sprintf("%02d", d.Day), nil
	case 'H':
		return fmt.Sprintf("%02d", seconds/3600), nil
	case 'M':
		return fmt.Sprintf("%02d", seconds/60%60), nil
	case 'S':
		return fmt.Sprintf("%02d", seconds%60), nil
	}
	first, err := s.calendar.Number(calendar.Date{Year: d.Year, Month: 1, Day: 1})
	return fmt.Sprintf("%03d", at.Day-first+1), err
}
