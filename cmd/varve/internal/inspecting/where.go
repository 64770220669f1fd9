// SPDX-License-Identifier: Apache-2.0

package inspecting

import (
	"errors"
	"path"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/filter"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/mistake"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// mostListed bounds the places that the elements of all arrays are picked from. Each
// takes a few numbers in memory. A run of rows counts as none.
const mostListed = 1 << 25

// matching returns the rows of what is exported for which the condition of --where holds.
// Rows are chosen as --select would choose them, so chunks without any are not read.
func (e *exporting) matching(whole cargo) (cargo, error) {
	m, err := e.match()
	if err != nil {
		return nil, err
	}
	found, listed, given := false, int64(0), ""
	if m.Dimension != "" {
		given = m.Dimension + "="
	}
	narrowed, err := whole.with(func(of *export.Source) (*export.Source, error) {
		if (*subset.Elements)(of.Selection).Axes() == nil {
			return nil, failure.BadArgument("--where: points and masks leave no axes: select along the axes (0:10)")
		}
		// An axis without a name is that of the rows if it is the only one.
		isRows := func(axis int) bool {
			names := of.Array.DimensionNames()
			if names == nil || names[axis] == "" {
				return of.Array.Rank() == 1 && of.Array.Shape()[0] == m.Rows()
			}
			return names[axis] == m.Dimension
		}
		for axis, n := range of.Array.Shape() {
			if isRows(axis) && n != m.Rows() {
				return nil, failure.BadArgument("%s has %s, and the arrays of the condition have %d", of.Array.Path(), phrase.Plural(n, "row"), m.Rows())
			}
			if along, _ := (*subset.Elements)(of.Selection).Along(axis); isRows(axis) && along.Drop {
				return nil, failure.BadArgument("--where: --select takes one element of the dimension %q of the condition, which leaves no rows to choose from: select a range, such as %s%d:%d", m.Dimension, given, along.Start, along.Start+1)
			}
			found = found || isRows(axis)
		}
		var tooMany error
		s, err := e.narrowed(of, isRows, func(along subset.Axis) []int64 {
			var places []int64
			for k := range along.Count {
				if m.Contains(along.At(k)) {
					places = append(places, k)
				}
			}
			if n := len(places); n > 0 && places[n-1]-places[0] != int64(n-1) {
				listed += int64(n)
			}
			if listed > mostListed {
				tooMany = failure.BadArgument("--where: the rows that match are scattered, and picking %s of the arrays takes too much memory: --select a part of the rows, or make a node of them with varve filter", phrase.Plural(listed, "element"))
				return nil
			}
			return places
		})
		return s, errors.Join(err, tooMany)
	})
	if err == nil && !found {
		err = failure.BadArgument("--where: nothing that is exported has the dimension %q of the condition", m.Dimension)
	}
	return narrowed, err
}

// match finds the rows. The condition names arrays of the group, or beside the array.
func (e *exporting) match() (m *filter.Matches, err error) {
	where, err := filter.Parse(e.where)
	if err != nil {
		return nil, failure.BadUsage("--where: %w", err)
	}
	at, err := place.Locate(e.Context(), e.location, store.ReadOnly)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, place.Close(at, true)) }()
	opt := &filter.Options{Options: *session.Reading(e.Command), Memory: session.LimitOf(e.Command)}
	n, err := at.Metadata(e.Context(), &opt.Options)
	if err != nil {
		return nil, err
	}
	group, dir := at, node.Clean(e.location)
	if _, isArray := n.(*metadata.Array); isArray {
		above := path.Dir("/" + at.Path())
		group, dir = at.Root().At(above[1:]), path.Dir(dir)
	}
	m, err = filter.Match(e.Context(), group, where, opt)
	if of := (*zarr.Error)(nil); errors.As(err, &of) && of.Op == "filter" {
		err = of.Err
	}
	var name *mistake.Name
	if errors.As(err, &name) {
		const quotes = "write text in quotes"
		err = failure.Reword(err, quotes, quotes+node.Neighbour(e.Context(), dir+"/"+name.Name))
	}
	return m, err
}
