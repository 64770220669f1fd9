// SPDX-License-Identifier: Apache-2.0

// Package grib finds the fields of GRIB2 files: a message is a chunk, which the codec of
// package grib2 decodes.
//
// Numbers of sections, octets, templates and code tables in comments are those of the WMO
// Manual on Codes, volume I.2, FM 92 GRIB edition 2.
package grib

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/codecs/grib2"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual/scan"
)

// Matches reports whether a file has a GRIB message of edition 1 or 2, perhaps after the
// heading of a bulletin.
func Matches(f *scan.File) bool {
	b, err := f.Bytes(0, min(f.Size(), mostBetween))
	return err == nil && find(b) >= 0
}

// Scan returns an array for every parameter on every type of level, such as "t_isobaric".
// It has the axes number (of a member of an ensemble), time (to which forecasts refer),
// step and level, those that vary, and then those of the grid. Values that do not
// vary are attributes.
//
// Arrays also differ in their grid, and in what their values are statistics of. If a
// message has the parameter, time, step and level of an earlier one, it belongs to
// another array, with a number at the end of its name.
//
// Only headers are read. Messages of edition 1 are one array, which is refused.
func Scan(f *scan.File) (*scan.Dataset, error) {
	if !Matches(f) {
		return nil, scan.Corruptf("grib: there is no GRIB message in the first %s", quantity.Count(mostBetween, "bytes"))
	}
	c := newCollection(f.Size())
	w := walker{file: f, visit: c.add}
	if err := w.walk(); err != nil {
		return nil, err
	}
	// A file with nothing but edition 1 is of no use.
	if w.old > 0 && len(c.series) == 0 {
		return nil, w.refusal()
	}
	d := &scan.Dataset{Format: "GRIB2", Groups: []scan.Group{{}}, Arrays: c.arrays()}
	d.Omitted = append(w.skipped, c.axes.omitted...)
	if w.old > 0 {
		d.Arrays = append(d.Arrays, &scan.Array{Path: c.names.unique("grib1"), Refused: w.refusal()})
	}
	return d, nil
}

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
	// The array is refused as a whole, so no place of its fields is needed.
	if s.refused != nil {
		return nil
	}
	at := place{s, p.time, p.step, p.level, p.member}
	// GFS has the precipitation of the last 6 hours and that since the start, both for
	// one step. The second one starts another array.
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
		// A chunk is the whole message. With many fields in it, each read fetches all.
		return m.unsupportedf("a message of %s for %s", quantity.Count(m.size, "bytes"), quantity.Count(g.Points, "points")), nil
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

const (
	headBytes    = 16 // of section 0
	endBytes     = 4  // of section 8
	sectionBytes = 5  // length and number of a section
	// mostSection are the bytes of a section that are read. Lists that follow the
	// templates are longer.
	mostSection = 256
	// mostBetween are the bytes between messages, and before the first one, that are
	// searched for the next one.
	mostBetween = 64 << 10
)

// message is what fields are read from: the sections of a message that apply to the next
// field. Sections may be cut.
type message struct {
	at, size   int64 // in the file
	discipline byte
	field      int // number of the field in the message
	identity   []byte
	grid       []byte
	product    []byte
	packing    []byte
}

// walker walks through the messages of a file.
type walker struct {
	file  *scan.File
	visit func(m *message) error // is called for every field
	old   int                    // messages of edition 1
	first int64                  // where the first of these is
	// skipped are the damaged messages that were passed over.
	skipped []scan.Omission
}

// refusal says why messages of edition 1 are refused.
func (w *walker) refusal() error {
	return scan.Unsupportedf("grib: %s of edition 1, the first at %d", quantity.Count(w.old, "messages"), w.first)
}

func (w *walker) walk() error {
	at, err := w.next(0)
	for err == nil && at >= 0 {
		var size int64
		if size, err = w.message(at); err == nil {
			at, err = w.next(at + size)
		}
	}
	return err
}

// find returns where the first message begins in some bytes, -1 if there is none. The
// headings of bulletins may have the word GRIB, too.
func find(b []byte) int {
	for at := 0; ; at += len("GRIB") {
		i := bytes.Index(b[at:], []byte("GRIB"))
		if at += i; i < 0 || len(b)-at < headBytes {
			return -1
		}
		// Octet 8 is the edition.
		if b[at+7] == 1 || b[at+7] == 2 {
			return at
		}
	}
}

// next returns where the next message begins, -1 if there is none. Bulletins have their
// headings before messages, and tapes are padded.
func (w *walker) next(at int64) (int64, error) {
	left := w.file.Size() - at
	if left < headBytes {
		return -1, nil
	}
	b, err := w.file.Bytes(at, 4)
	// Most messages follow each other directly, which takes no search.
	if err != nil || string(b) == "GRIB" {
		return at, err
	}
	if b, err = w.file.Bytes(at, min(left, mostBetween)); err != nil {
		return 0, err
	}
	if i := find(b); i >= 0 {
		w.skip(at, b[:i])
		return at + int64(i), nil
	}
	if left > mostBetween {
		return 0, scan.Corruptf("grib: %s from %d on are no message", quantity.Count(mostBetween, "bytes"), at)
	}
	w.skip(at, b)
	return -1, nil
}

// skip passes over bytes at an offset that are no message. If they end like one, its
// beginning is damaged.
func (w *walker) skip(at int64, b []byte) {
	if bytes.Contains(b, []byte("7777")) {
		w.skipped = append(w.skipped, scan.Omission{
			Path: fmt.Sprintf("at %d", at), Reason: scan.Corruptf("grib: %s which end like a message, and do not begin like one", quantity.Count(len(b), "bytes")),
		})
	}
}

// message reads the headers of a message (section 0) and returns its size.
func (w *walker) message(at int64) (int64, error) {
	head, err := w.file.Bytes(at, headBytes)
	if err != nil {
		return 0, err
	}
	size := uint64(0)
	switch head[7] {
	case 1:
		// Edition 1 has the length in octets 5 to 7, edition 2 in octets 9 to 16.
		size = uint64(head[4])<<16 | uint64(head[5])<<8 | uint64(head[6])
		if w.old++; w.old == 1 {
			w.first = at
		}
	case 2:
		size = binary.BigEndian.Uint64(head[8:])
	default:
		return 0, scan.Corruptf("grib: the message at %d has the edition %d", at, head[7])
	}
	if size < headBytes+endBytes || size > uint64(w.file.Size()-at) {
		return 0, scan.Corruptf("grib: the message at %d has %s, in a file of %d", at, quantity.Count(size, "bytes"), w.file.Size())
	}
	end, err := w.file.Bytes(at+int64(size)-endBytes, endBytes)
	if err != nil {
		return 0, err
	}
	if string(end) != "7777" {
		return 0, scan.Corruptf("grib: the message at %d ends with %q", at, end)
	}
	if head[7] == 2 {
		err = w.sections(&message{at: at, size: int64(size), discipline: head[6]})
	}
	return int64(size), err
}

// sections reads sections 1 to 6 of a message. A field ends with section 7.
func (w *walker) sections(m *message) error {
	at, end := m.at+headBytes, m.at+m.size-endBytes
	for at < end {
		head, err := w.file.Bytes(at, sectionBytes)
		if err != nil {
			return err
		}
		// Every section begins with its length in 4 octets and its number.
		n := int64(binary.BigEndian.Uint32(head))
		if n < sectionBytes || n > end-at {
			return scan.Corruptf("grib: section %d at %d has %s, the message ends at %d", head[4], at, quantity.Count(n, "bytes"), end)
		}
		if err := w.section(m, head[4], at, min(n, mostSection)); err != nil {
			return err
		}
		at += n
	}
	if m.field == 0 {
		return scan.Corruptf("grib: the message at %d has no field", m.at)
	}
	return nil
}

func (w *walker) section(m *message, number byte, at, n int64) (err error) {
	switch number {
	case 1:
		m.identity, err = w.file.Bytes(at, n)
	case 3:
		m.grid, err = w.file.Bytes(at, n)
	case 4:
		m.product, err = w.file.Bytes(at, n)
	case 5:
		m.packing, err = w.file.Bytes(at, n)
	case 2, 6:
	case 7:
		// Sections 2, 3 or 4 to 7 may repeat for the next field of the message, which
		// keeps the sections before.
		if err = m.check(); err == nil {
			err = w.visit(m)
		}
		m.field++
	default:
		err = scan.Corruptf("grib: a section %d at %d", number, at)
	}
	return err
}

// check refuses fields without a section, or with too short ones.
func (m *message) check() error {
	// The lengths are those of the octets that are read without another check.
	for _, s := range []struct {
		number, least int
		bytes         []byte
	}{{1, 21, m.identity}, {3, 14, m.grid}, {4, 11, m.product}, {5, 11, m.packing}} {
		if len(s.bytes) < s.least {
			return m.corruptf("section %d has %s", s.number, quantity.Count(len(s.bytes), "bytes"))
		}
	}
	return nil
}

// corruptf returns a [scan.ErrCorrupt] that names the field.
func (m *message) corruptf(format string, args ...any) error {
	return scan.Corruptf("grib: field %d of the message at %d: %s", m.field, m.at, fmt.Sprintf(format, args...))
}

// unsupportedf returns a [scan.ErrUnsupported] that names the field.
func (m *message) unsupportedf(format string, args ...any) error {
	return scan.Unsupportedf("grib: field %d of the message at %d: %s", m.field, m.at, fmt.Sprintf(format, args...))
}

// arrays returns the arrays of all series, and then those of their coordinates.
func (c *collection) arrays() (list []*scan.Array) {
	for _, s := range c.series {
		a := &scan.Array{Path: c.names.unique(s.name()), Attributes: s.attributes(), Refused: s.refused}
		if s.refused == nil {
			c.fill(a, s)
		}
		list = append(list, a)
	}
	return append(list, c.axes.arrays...)
}

// name returns a name for the array of a series.
func (s *series) name() string {
	k := s.key
	if !k.known {
		return fmt.Sprintf("%s_template_%d", s.what.short, k.template)
	}
	name := s.what.short
	if k.surface != none {
		name += "_" + surfaceNamed(k.surface).name
	}
	if k.second != none && k.second != k.surface {
		name += "_to_" + surfaceNamed(k.second).name
	}
	if k.statistic != none {
		name += "_" + statisticNamed(k.statistic)
	}
	return name
}

// attributes returns what all fields of a series have in common.
func (s *series) attributes() (list scan.Attributes) {
	k := s.key
	list.Set("short_name", s.what.short)
	if s.what.long != "" {
		list.Set("long_name", s.what.long)
		list.Set("units", s.what.units)
	}
	list.Set("discipline", k.discipline)
	list.Set("parameter_category", k.category)
	list.Set("parameter_number", k.parameter)
	list.Set("centre", s.centre)
	if k.centre != 0 { // the numbers of the parameter mean something else elsewhere
		list.Set("parameter_centre", k.centre)
	}
	list.Set("product_template", uint16(k.template))
	describeOrigins(&list, s.origins)
	if k.variant != "" {
		list.Set("product_octets", []byte(k.variant))
	}
	if k.surface != none {
		list.Set("type_of_level", surfaceNamed(k.surface).name)
	}
	if k.statistic != none {
		list.Set("statistic", statisticNamed(k.statistic))
	}
	if seconds, one := s.interval(); one && seconds != 0 {
		list.Set("interval_seconds", seconds)
	}
	if s.refused == nil {
		list.Set("grid_template", uint16(s.grid.Template))
		list.Set("scanning_mode", s.grid.Scanning)
		list.Set("grid_octets", k.gridOctets())
	}
	return list
}

// interval returns the interval of a statistic, if all fields have the same.
func (s *series) interval() (seconds int64, one bool) {
	for i, e := range s.entries {
		if i > 0 && e.interval != seconds {
			return 0, false
		}
		seconds = e.interval
	}
	return seconds, true
}

// gridOctets returns the definition of the grid (section 3 from octet 6 on), or a hash of
// one that lists points of each row.
func (k key) gridOctets() any {
	const most = 128
	if octets := []byte(k.grid)[5:]; len(octets) <= most {
		return octets
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(k.grid)[5:]))
}

// fill sets the shape, the codec and the chunks of an array. It refuses one that is too
// large.
func (c *collection) fill(a *scan.Array, s *series) {
	number := make([]int64, len(s.entries))
	for _, k := range kinds {
		values := k.values(s.entries)
		if len(values) == 1 {
			a.Points = append(a.Points, k.points(a, s, values)...)
			continue
		}
		n := int64(len(values))
		a.Shape, a.Chunk = append(a.Shape, n), append(a.Chunk, 1)
		a.Names = append(a.Names, c.axes.add(k.coordinate(s, values)))
		for i, e := range s.entries {
			number[i] = number[i]*n + k.index(values, e)
		}
	}
	c.axes.addGrid(a, s)
	if n, ok := checked.Product(a.Shape...); !ok || n > math.MaxInt64/8 {
		*a = scan.Array{Path: a.Path, Attributes: a.Attributes, Refused: scan.Unsupportedf("grib: an array of the shape %d", a.Shape)}
		return
	}
	a.Type = dtype.Float64
	a.Fill = binary.NativeEndian.AppendUint64(nil, math.Float64bits(math.NaN()))
	a.Codecs = []metadata.Extension{grib2.Extension(s.key.field)}
	for i, e := range s.entries {
		a.Chunks = append(a.Chunks, scan.Chunk{Number: number[i], Offset: e.at, Length: e.size})
	}
}

// text returns a time in seconds since 1970 as text.
func text(seconds float64) string {
	return time.Unix(int64(seconds), 0).UTC().Format(time.RFC3339)
}
