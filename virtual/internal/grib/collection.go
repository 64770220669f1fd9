// SPDX-License-Identifier: Apache-2.0

package grib

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/codecs/grib2"
	"varve.dev/zarr/virtual/scan"
)

// collection collects the fields of a file as series, each of which becomes an array.
type collection struct {
	series []*series // in the order of their first fields
	byKey  map[key]*series
	taken  map[place]int // how many fields have the place
	grids  map[string]string
	names  names
	axes   axes
}

func newCollection(size int64) *collection {
	c := &collection{byKey: map[key]*series{}, taken: map[place]int{}, grids: map[string]string{}, names: names{}}
	c.axes = axes{names: c.names, known: map[string]string{}, left: size + minGrid, parallels: map[int64][]float64{}}
	return c
}

// key is what fields of an array have in common.
type key struct {
	discipline, category, parameter byte
	centre                          uint16 // whose local parameter it is, 0 for the others
	variant                         string
	surface, second, statistic      byte
	origin                          origin // its kind
	ensemble                        bool
	template                        int // product definition template
	known                           bool
	grid                            string // section 3
	field                           int    // number of the field in its message
	again                           int    // how many fields of the same place came before
}

// place is where a field is in the array for its key.
type place struct {
	first      *series // the one of the first field that has the place
	time, step int64
	level      level
	member     int64
}

// series are the fields of an array.
type series struct {
	key     key
	what    parameter
	centre  uint16
	grid    grib2.Grid
	entries []entry
	origins []origin // of the fields
	refused error    // the first reason
}

// entry is a field: where its message is, and its place.
type entry struct {
	at, size           int64
	member, time, step int64
	interval           int64
	level              level
}

// add adds a field.
func (c *collection) add(m *message) error {
	p, err := m.read()
	if err != nil && !errors.Is(err, scan.ErrUnsupported) {
		return err
	}
	k := c.key(m, p, err == nil)
	s := c.seriesOf(m, k)
	if s.refused == nil {
		s.refused = err
	}
	if s.refused != nil {
		return nil
	}
	at := place{s, p.time, p.step, p.level, p.member}
	if k.again = c.taken[at]; k.again > 0 {
		s = c.seriesOf(m, k)
	}
	c.taken[at]++
	if s.refused, err = s.check(m); err != nil {
		return err
	}
	if !slices.Contains(s.origins, p.origin) {
		s.origins = append(s.origins, p.origin)
	}
	s.entries = append(s.entries, entry{m.at, m.size, p.member, p.time, p.step, p.interval, p.level})
	return nil
}

// key returns the key of a field whose product definition template is known, or not.
func (c *collection) key(m *message, p product, known bool) key {
	grid, ok := c.grids[string(m.grid)]
	if !ok {
		grid = string(m.grid)
		c.grids[grid] = grid
	}
	k := key{
		discipline: m.discipline, category: p.category, parameter: p.parameter, variant: p.variant,
		surface: p.surface, second: p.second, statistic: p.statistic, origin: p.origin.kind(), ensemble: p.member >= 0,
		template: int(binary.BigEndian.Uint16(m.product[7:])), known: known, grid: grid, field: m.field,
	}
	// Numbers from 192 on are local, and so differ between centres.
	const local = 192
	if m.discipline >= local || p.category >= local || p.parameter >= local {
		k.centre = m.centre()
	}
	return k
}

// centre returns the originating centre (octets 6 and 7 of section 1).
func (m *message) centre() uint16 { return binary.BigEndian.Uint16(m.identity[5:]) }

// seriesOf returns the series of a key, which a field may be the first one of.
func (c *collection) seriesOf(m *message, k key) *series {
	s, ok := c.byKey[k]
	if !ok {
		s = &series{key: k, what: parameterNamed(k.discipline, k.category, k.parameter), centre: m.centre()}
		c.byKey[k] = s
		c.series = append(c.series, s)
	}
	return s
}

// check returns a reason to refuse a field of the series. err is set if it is damaged.
func (s *series) check(m *message) (refused, err error) {
	g, err := grib2.ParseGrid(m.grid)
	if err == nil {
		s.grid = g
		err = grib2.CheckPacking(int(binary.BigEndian.Uint16(m.packing[9:])))
	}
	switch {
	case errors.Is(err, codec.ErrUnsupported):
		return fmt.Errorf("%w: %w", m.unsupportedf("it cannot be decoded"), err), nil
	case err != nil:
		return nil, m.corruptf("%v", err)
	case g.Points == 0:
		return m.unsupportedf("a grid without points"), nil
	case m.size > grib2.MaxMessage(g.Points):
		return m.unsupportedf("a message of %d bytes for %d points", m.size, g.Points), nil
	}
	return nil, nil
}

// names are the paths that are taken.
type names map[string]int

// unique returns a name, with a number at its end unless it is the first of its kind.
func (n names) unique(name string) string {
	for {
		n[name]++
		if n[name] == 1 {
			return name
		}
		numbered := fmt.Sprintf("%s_%d", name, n[name])
		if n[numbered] == 0 {
			n[numbered] = 1
			return numbered
		}
	}
}
