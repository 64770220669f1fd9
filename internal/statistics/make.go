// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/failure"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/selection"
)

// Options configure [Make]. A nil *Options is the zero value.
type Options struct {
	// DryRun reads entries only, and counts the chunks that would be read.
	DryRun bool
	// Discard keeps nothing. The report has the numbers all the same, so the array need
	// not be open for writing.
	Discard bool
	// Memory bounds the bytes of elements that are held at once. A single chunk may need
	// more. 0 is 512 MiB, or a quarter of the memory limit of the process if that is
	// less.
	Memory int64
	// Progress, if not nil, is called after chunks were read, one call at a time.
	Progress func(done, total int64)
}

// Report says what [Make] has found and done.
type Report struct {
	Chunks  int64 // that are stored
	Read    int64 // of these, because their entries were absent or of another version
	Changed int64 // of these, written meanwhile: they stay unknown until the next call
	Decoded int64 // bytes of elements
	Cells   int64 // of the stored chunks: chunks, or inner chunks
	Known   int64 // of these
	// Elements is the number of elements of the known cells, and of all that are not
	// stored, which have the fill value. Summary is that of them.
	Elements int64
	Summary  cf.Summary
}

// Make brings the entries of an array up to date: it reads the stored chunks that have no
// entry of their present version, each once, and keeps what they hold. It stores entries
// from time to time, so a call after an interrupted one reads the rest.
//
// If the elements have no order, or are text, or if the store does not tell versions that
// change with every write, the error wraps [zarr.ErrUnsupported].
func Make(ctx context.Context, a *zarr.Array, opt *Options) (*Report, error) {
	m := &maker{report: new(Report)}
	if opt != nil {
		m.Options = *opt
	}
	err := m.begin(ctx, a)
	if err == nil {
		err = m.all(ctx)
	}
	return m.report, failure.On(a, "make statistics", err)
}

// all makes the entries of all stored chunks, round by round.
func (m *maker) all(ctx context.Context) error {
	var round []*chunk
	cells := int64(0)
	for index := range m.listed.All() {
		box, err := m.cellsOf(index)
		if err != nil {
			return err
		}
		n, _ := box.Len()
		if len(round) > 0 && (len(round) == roundChunks || cells+n > roundCells) {
			if err := m.round(ctx, round); err != nil {
				return err
			}
			round, cells = round[:0], 0
		}
		round, cells = append(round, &chunk{index: slices.Clone(index), cells: box}), cells+n
	}
	if err := m.round(ctx, round); err != nil {
		return err
	}
	m.addUnstored()
	return nil
}

// Entries are stored after so many chunks, or so many cells, were looked at: often enough
// that an interruption costs little work.
const (
	roundChunks = 4096
	roundCells  = 1 << 20
)

// clockTick bounds how long the clock that gives files their times may stand still.
const clockTick = 20 * time.Millisecond

// defaultMemory is the default of [Options.Memory].
const defaultMemory = 512 << 20

// maker is one call of Make.
type maker struct {
	Options
	*Entries
	report  *Report
	reading *snapshot.Array // the array, whose reads tell versions
	fresh   []byte          // the document of the entries that has to be stored, or nil
	empty   bool            // there is no array of the entries, or it is of another form
	readers int             // how many chunks are read at once
	piece   int64           // how many cells of a shard are read at once
	waited  bool            // a tick has passed since the listing
	wrong   *Contradictions // of Verify; nil for Make
	wanted  func(chunk []int64) bool

	mu   sync.Mutex
	done int64
}

// chunk is a stored chunk of the array.
type chunk struct {
	index []int64
	cells grid.Box
}

// begin lists the array and finds its entries.
func (m *maker) begin(ctx context.Context, a *zarr.Array) error {
	core := a.Core()
	if !m.DryRun && !m.Discard {
		if err := core.Writable(); err != nil {
			return err
		}
	}
	s, err := core.Newest(ctx)
	if err != nil {
		return err
	}
	c, err := cf.ComparerOf(ctx, a)
	if err != nil {
		return err
	}
	of, err := newSubject(core, s, c)
	if err != nil {
		return err
	}
	m.reading, err = core.Bind(s.Doc, false, func(e *engine.Array) {
		e.Store, e.RequireChunks = staging.Witness{Store: e.Store}, false
	})
	if err != nil {
		return err
	}
	m.Entries = &Entries{subject: of, blocks: map[int64]*block{}}
	if m.listed, err = staging.List(ctx, s); err != nil {
		return err
	}
	if m.listed.Vague && !m.Discard {
		return fmt.Errorf("%w: the store does not tell versions that change with every write, so nothing would show that entries are old; "+remedy.KeepNone, zarr.ErrUnsupported)
	}
	m.report.Chunks = int64(m.listed.Len())
	if err := m.findForm(ctx); err != nil {
		return err
	}
	return m.share()
}

// findForm finds the array of the entries, or makes its document.
func (m *maker) findForm(ctx context.Context) (err error) {
	// What is kept counts for nothing where two versions may be described alike.
	if m.form, err = nil, errNone; !m.listed.Vague {
		m.form, err = m.find(ctx)
	}
	if err != nil && !errors.Is(err, errNone) {
		return err
	}
	cells := m.cells.Chunks()
	switch {
	case err != nil:
		m.empty = true
		m.fresh, err = m.document()
	case !m.form.fits(cells):
		// The array has grown, or has other chunks. The blocks stay: an entry that is not
		// of the cell in its place has another mark.
		m.form, m.fresh, err = m.resized(m.form)
	default:
		return nil
	}
	if m.empty && err == nil {
		m.form, err = m.bind(m.fresh)
	}
	if err != nil {
		return err
	}
	if _, ok := checked.Product(m.form.Grid.Chunks()...); !ok {
		return fmt.Errorf("%w: statistics of %v cells", zarr.ErrLimit, cells)
	}
	return nil
}

// share divides the memory among readers.
func (m *maker) share() error {
	memory := max(1, cmp.Or(m.Memory, min(defaultMemory, 4*budget.Most())))
	cell, whole := int64(m.Type.Size()), int64(1)
	for i, n := range m.cells.Chunks() {
		longest := max(1, m.cells.Axis(i).Longest(grid.Interval{Stop: n}))
		chunks := m.Grid.Axis(i)
		var ok, fine bool
		cell, ok = checked.Mul(cell, longest)
		whole, fine = checked.Mul(whole, chunks.Longest(grid.Interval{Stop: chunks.Chunks()})/longest+1)
		if !ok || !fine {
			return fmt.Errorf("%w: a chunk has too many elements", zarr.ErrLimit)
		}
	}
	// Elements are in memory twice where a cell is not contiguous, or is being decoded.
	m.piece = max(1, min(whole, mostPiece/cell))
	held, ok := checked.Mul(m.piece, 2*cell)
	if !ok {
		held = memory
	}
	store := m.core.Node.Store
	m.readers = int(max(1, min(int64(engine.InFlight(store, m.core.Node.Concurrency, runtime.GOMAXPROCS(0))), memory/held)))
	return nil
}

// mostPiece bounds the bytes of a shard that are read at once, unless one cell has more.
const mostPiece = 32 << 20

// round brings the entries of some chunks up to date.
func (m *maker) round(ctx context.Context, chunks []*chunk) error {
	if err := m.load(ctx, chunks); err != nil {
		return err
	}
	if m.wrong != nil {
		return m.verify(ctx, chunks)
	}
	var stale []*chunk
	for _, c := range chunks {
		if !m.add(c, false) {
			stale = append(stale, c)
		}
	}
	m.report.Read += int64(len(stale))
	if m.DryRun {
		for _, c := range stale {
			m.add(c, true)
		}
		return ctx.Err()
	}
	if err := m.await(ctx, len(stale)); err != nil {
		return err
	}
	m.advance(int64(len(chunks) - len(stale)))
	group, within := parallel.New(ctx)
	group.SetLimit(m.readers)
	for _, c := range stale {
		if within.Err() != nil {
			break
		}
		group.Go(func() error {
			err := m.read(within, c)
			m.advance(1)
			return err
		})
	}
	err := group.Wait(nil)
	// What was read is kept, also if another chunk is damaged.
	if kept := m.keep(context.WithoutCancel(ctx)); err == nil {
		err = kept
	}
	for _, c := range stale {
		m.add(c, true)
	}
	return err
}

// load replaces the blocks in memory by those of some chunks.
func (m *maker) load(ctx context.Context, chunks []*chunk) error {
	m.blocks = map[int64]*block{}
	for _, c := range chunks {
		region, err := m.form.Grid.Touched(c.cells)
		if err != nil {
			return err
		}
		for index := range region.IndicesInto(make([]int64, len(region))) {
			n := strided.Number(m.form.Grid, index)
			if m.blocks[n] != nil {
				continue
			}
			m.blocks[n] = &block{index: slices.Clone(index), read: m.empty}
			// Another program may have laid them out so that every chunk has one.
			if m.held(0) > mostMade {
				return fmt.Errorf("%w: the statistics that are kept have too many blocks; drop them, and make them again", zarr.ErrLimit)
			}
		}
	}
	return m.readBlocks(ctx)
}

// add adds the entries of a chunk to the report, and returns true, if all cells have one.
// With partly, it adds those that there are.
func (m *maker) add(c *chunk, partly bool) bool {
	var sum cf.Summary
	cells, known, elements := int64(0), int64(0), int64(0)
	for cell := range c.cells.IndicesInto(make([]int64, len(c.cells))) {
		cells++
		s, n, ok := m.Known(cell)
		if !ok {
			if !partly {
				return false
			}
			continue
		}
		known, elements = known+1, elements+n
		m.comparer.Merge(&sum, s)
	}
	sum.Minimum, sum.Maximum = slices.Clone(sum.Minimum), slices.Clone(sum.Maximum)
	m.report.Cells, m.report.Known, m.report.Elements = m.report.Cells+cells, m.report.Known+known, m.report.Elements+elements
	m.comparer.Merge(&m.report.Summary, sum)
	return true
}

// addUnstored adds the elements of chunks that are not stored to the report.
func (m *maker) addUnstored() {
	total, ok := checked.Product(m.Grid.Shape()...)
	if !ok {
		return // nobody needs the exact number
	}
	stored := int64(0)
	for index := range m.listed.All() {
		c, _ := m.Grid.Chunk(index)
		n, _ := checked.Product(c.Logical...)
		stored += n
	}
	if total == stored {
		return
	}
	s := m.comparer.Summarize(m.Fill, m.Fill)
	s.Missing, s.Fill = s.Missing*(total-stored), s.Fill*(total-stored)
	m.report.Elements += total - stored
	m.comparer.Merge(&m.report.Summary, s)
}

// await waits, once, until the clock of files has moved on since the listing: rule 1.
func (m *maker) await(ctx context.Context, stale int) error {
	if m.waited || stale == 0 || !m.listed.Files {
		return ctx.Err()
	}
	m.waited = true
	return wait(ctx, clockTick)
}

// wait waits for a while. It is a variable, so that a test need not.
var wait = func(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// advance counts chunks that are finished.
func (m *maker) advance(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += n
	if m.Progress != nil && n > 0 {
		m.Progress(m.done, m.report.Chunks)
	}
}

// found is what a cell holds.
type found struct {
	cell []int64
	cf.Summary
}

// read reads a chunk and sets the entries of its cells.
func (m *maker) read(ctx context.Context, c *chunk) error {
	ctx, seen := staging.Witnessing(ctx, nil)
	var list []found
	var failed error
	staging.Halves(c.cells, m.piece, func(cells grid.Box) bool {
		list, failed = m.summarize(ctx, cells, list)
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	// Rule 2: a chunk that was written since the listing stays unknown. It may be of
	// another version in each of its pieces.
	version, read := seen.Digest(m.Engine.Key(c.index))
	if !read || version != m.listed.Digest(c.index) {
		m.report.Changed++
		return nil
	}
	for _, f := range list {
		if m.wrong != nil {
			m.compare(f)
			continue
		}
		cell, _ := m.cells.Chunk(f.cell)
		m.set(f.cell, m.mark(c.index, version, cell), f.Summary)
	}
	return nil
}

// summarize reads a box of cells, and appends what they hold.
func (m *maker) summarize(ctx context.Context, cells grid.Box, list []found) ([]found, error) {
	region, size := make(grid.Box, len(cells)), m.Type.Size()
	for i, in := range cells {
		first, _ := m.cells.Axis(i).Cell(in.Start)
		last, _ := m.cells.Axis(i).Cell(in.Stop - 1)
		region[i] = grid.Interval{Start: first.Start, Stop: last.Start + last.Logical}
	}
	r, err := m.reading.Resolve(selection.BoxOf(region), nil)
	if err != nil {
		return list, err
	}
	n, ok := checked.Mul(r.Len(), int64(size))
	if !ok || n > m.Engine.MaxChunk {
		return list, fmt.Errorf("%w: elements %v", zarr.ErrLimit, region)
	}
	room := budget.Get(n)
	defer room.Put()
	all := strided.Contiguous(room.Bytes(n), region.Shape(), size)
	if _, err := m.reading.Engine.Read(ctx, r.Elements, all, engine.Reading{}); err != nil {
		return list, err
	}
	var copied []byte
	for cell := range cells.IndicesInto(make([]int64, len(cells))) {
		c, _ := m.cells.Chunk(cell)
		within := c.Box()
		for i := range within {
			within[i].Start, within[i].Stop = within[i].Start-region[i].Start, within[i].Stop-region[i].Start
		}
		part := all.Sub(within)
		data, contiguous := part.Bytes()
		if !contiguous {
			n, _ := within.Len()
			copied = slices.Grow(copied[:0], int(n)*size)[:int(n)*size]
			strided.Copy(strided.Contiguous(copied, within.Shape(), size), part)
			data = copied
		}
		list = append(list, found{slices.Clone(cell), m.comparer.Summarize(data, m.Fill)})
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.report.Decoded += n
	return list, nil
}

// keep stores the blocks that have changed.
func (m *maker) keep(ctx context.Context) error {
	if m.Discard {
		return nil
	}
	if m.empty {
		// Blocks of another form would be in the way of other programs, which read all.
		// An array without chunks gets the document, so that writers keep entries.
		if err := m.drop(ctx); err != nil {
			return err
		}
		m.empty = false
	}
	err := m.Entries.keep(ctx, m.fresh, m.core.Node.Durability)
	if err == nil {
		m.fresh = nil
	}
	if k, ok := m.core.Keeper().(*keeper); ok {
		k.resume()
	}
	return err
}
