// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/array"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
)

// Programs that import this package keep the entries of arrays in step. While a chunk is
// encoded, a record notes what it holds; nothing is read back:
//
//  4. An entry has the version that the write of its chunk has told. A file gets a
//     modification time that no other write has, so nobody else stores this version.
//     File systems that keep whole seconds tell weak versions, which no entry gets.
//  5. An inner chunk that an edit of its shard leaves alone keeps its entry, if that is of
//     the version that the edit is conditional on. So does a chunk that is copied as it is
//     encoded, if it is of the version that was copied.
//  6. Entries are stored after their chunks. They are a memory of what was computed, so a
//     failure is no failure of the change. The blocks have checksums and are not synced:
//     one that a power cut has damaged has no entries.
//
// A crash before step 6, or another writer of the same block, leaves entries of other
// versions, which count as unknown.
func init() {
	array.NewKeeper = func(a *array.Array) array.Keeper { return &keeper{core: a} }
}

// keeper is what notes the stored chunks of one open array.
type keeper struct {
	core *array.Array

	mu      sync.Mutex
	look    *look // nil before the array is first written to
	meaning *meaning
	pending []note

	flushing sync.Mutex
}

// look tells whether entries are kept.
type look struct {
	done chan struct{}
	kept bool // once done is closed
}

// begin begins to look, when the array is first written to.
func (k *keeper) begin(ctx context.Context) *look {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.look == nil {
		l := &look{done: make(chan struct{})}
		k.look = l
		go func() {
			defer close(l.done)
			kept, err := IsKept(context.WithoutCancel(ctx), k.core.Handle.(*zarr.Array))
			l.kept = kept && err == nil
		}()
	}
	return k.look
}

// isDone reports whether there is an answer.
func (l *look) isDone() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// isKept waits for the answer. A store may never give one: it is no when ctx ends.
func (l *look) isKept(ctx context.Context) bool {
	select {
	case <-l.done:
	case <-ctx.Done():
	}
	return l.isDone() && l.kept
}

// meaning is a comparer, and what it was made of.
type meaning struct {
	of *snapshot.Array
	*cf.Comparer
}

// mostPending bounds the notes that wait for their block. Cells that are stored beyond it
// in one call are not known.
const mostPending = 1 << 20

// note is what a cell holds from now on.
type note struct {
	of      *subject
	chunk   []int64
	cell    []int64
	version staging.Digest
	cf.Summary
	from *origin // the entry that has the summary, nil if it is Summary
}

// origin is the entry of a cell whose elements another cell has now.
type origin struct {
	of      *subject
	chunk   []int64
	cell    []int64
	version staging.Digest
}

// Recorder implements [array.Keeper].
func (k *keeper) Recorder(s *snapshot.Array) engine.Recorder {
	// Elements that a codec changes are not those that readers find.
	if !s.Engine.Chain.Lossless() || s.Type.Variable() {
		return nil
	}
	return &recorder{keeper: k, add: k.add, state: s}
}

// comparer returns what gives the elements of the array their order. It returns nil if no
// entries are kept.
func (k *keeper) comparer(ctx context.Context) *cf.Comparer {
	l := k.begin(ctx)
	now := k.core.State()
	// A dry run counts the request, but not what is kept among the changes.
	if k.core.Rehearsed {
		l.isKept(ctx)
		return nil
	}
	// A far store takes longer to answer than chunks take to be summarized. Nobody waits
	// for it: Flush drops what was noted in vain.
	if (l.isDone() || engine.Near(k.core.Node.Store) || now.Doc.Format() == 2) && !l.isKept(ctx) {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	a := k.core.Handle.(*zarr.Array)
	if m := k.meaning; m != nil && bytes.Equal(m.of.Doc.Attributes, now.Doc.Attributes) && m.of.Type == now.Type &&
		bytes.Equal(m.of.Fill, now.Fill) && slices.Equal(m.of.DimensionNames(), now.DimensionNames()) {
		return m.Comparer
	}
	c, err := cf.ComparerOf(ctx, a)
	if err != nil {
		return nil // Make says why
	}
	k.meaning = &meaning{now, c}
	return c
}

// resume makes the array keep entries in step that were made by this program.
func (k *keeper) resume() { k.set(true) }

// set sets whether entries are kept.
func (k *keeper) set(kept bool) {
	l := &look{make(chan struct{}), kept}
	close(l.done)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.look = l
}

// recorder notes the chunks that are stored for one state of an array. add gets the
// notes.
type recorder struct {
	*keeper
	add   func(chunk []int64, list []note)
	state *snapshot.Array
	of    atomic.Pointer[subject] // nil before something is noted
}

// subject returns the state as what entries describe, or nil if nothing is noted.
func (r *recorder) subject(ctx context.Context) *subject {
	if r.keeper == nil {
		return r.of.Load() // of a verifier
	}
	c := r.comparer(ctx)
	if c == nil {
		return nil // none are kept, or not any more
	}
	if of := r.of.Load(); of != nil {
		return of
	}
	if of, err := newSubject(r.core, r.state, c); err == nil { // else there are no entries
		r.of.CompareAndSwap(nil, of)
	}
	return r.of.Load()
}

// Begin implements [engine.Recorder].
func (r *recorder) Begin(ctx context.Context, index []int64) engine.Record {
	of := r.subject(ctx)
	if of == nil {
		return nil
	}
	cells, err := of.cellsOf(index)
	if err != nil {
		return nil
	}
	return &record{recorder: r, of: of, chunk: slices.Clone(index), cells: cells, notes: map[int64]*holding{}}
}

// Notes implements [engine.Recorder].
func (r *recorder) Notes(ctx context.Context) bool {
	return r.subject(ctx) != nil && r.begin(ctx).isKept(ctx)
}

// Copied implements [engine.Recorder].
func (r *recorder) Copied(ctx context.Context, index []int64, version store.Version, source func(element []int64) (engine.Origin, bool)) {
	of := r.subject(ctx)
	if of == nil || staging.IsVague(version) {
		return
	}
	box, err := of.cellsOf(index)
	if err != nil {
		return
	}
	var list []note
	for at := range box.IndicesInto(make([]int64, len(box))) {
		c, _ := of.cells.Chunk(at)
		o, ok := source(c.Start)
		from, same := o.Of.(*recorder)
		if !ok || !same || from.keeper != r.keeper {
			continue
		}
		before := from.subject(ctx)
		if before == nil {
			continue
		}
		was, ok := before.cells.Chunk(o.Cell)
		n := note{of: of, chunk: slices.Clone(index), cell: slices.Clone(at), version: staging.DigestOf(version)}
		switch {
		case o.Version.IsZero():
			n.Summary = of.filled(c)
		case ok && slices.Equal(was.Logical, c.Logical) && !staging.IsVague(o.Version):
			n.from = &origin{before, o.Chunk, o.Cell, staging.DigestOf(o.Version)}
		default:
			continue
		}
		list = append(list, n)
	}
	r.add(index, list)
}

// filled returns what a cell holds that has the fill value only.
func (s *subject) filled(c *grid.Chunk) cf.Summary {
	sum := s.comparer.Summarize(s.Fill, s.Fill)
	n, _ := checked.Product(c.Logical...)
	sum.Missing, sum.Fill = sum.Missing*n, sum.Fill*n
	return sum
}

// record is what one chunk holds.
type record struct {
	*recorder
	of    *subject
	chunk []int64
	cells grid.Box

	mu    sync.Mutex
	notes map[int64]*holding // by the number of the cell; nil if nobody has its elements
	taken map[int64]*holding
}

// holding is what some elements hold, which have the shape of a cell.
type holding struct {
	shape []int64
	cf.Summary
}

// Reset implements [engine.Record].
func (r *record) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.notes)
}

// Note implements [engine.Record].
func (r *record) Note(inner []int64, v strided.View) {
	if inner == nil {
		first, _ := r.of.cells.Chunk(firstOf(r.cells))
		for cell := range r.cells.IndicesInto(make([]int64, len(r.cells))) {
			r.note(cell, v, first.Start)
		}
		return
	}
	cell := firstOf(r.cells)
	for i := range cell {
		cell[i] += inner[i]
	}
	// Beyond the extent there are no cells.
	if c, ok := r.of.cells.Chunk(cell); ok {
		r.note(cell, v, c.Start)
	}
}

// firstOf returns the first index of a box.
func firstOf(box grid.Box) []int64 {
	index := make([]int64, len(box))
	box.First(index)
	return index
}

// note notes a cell. The first element of v is that at start.
func (r *record) note(cell []int64, v strided.View, start []int64) {
	var h *holding
	c, _ := r.of.cells.Chunk(cell)
	box := c.Box()
	for i := range box {
		box[i].Start, box[i].Stop = box[i].Start-start[i], box[i].Stop-start[i]
	}
	if v.Data != nil && fitsIn(box, v.Shape) { // else it is of another grid
		h = &holding{c.Logical, r.of.comparer.SummarizeView(v.Sub(box), r.of.Fill)}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes[strided.Number(r.of.cells, cell)] = h
}

// fitsIn reports whether a box lies in a block of the given shape.
func fitsIn(box grid.Box, shape []int64) bool {
	for i, in := range box {
		if i >= len(shape) || in.Start < 0 || in.Stop > shape[i] {
			return false
		}
	}
	return true
}

// Take implements [engine.Record].
func (r *record) Take(other engine.Record, offset []int64) {
	o, ok := other.(*record)
	if !ok || o == nil {
		return
	}
	// The other record may be of a state with another extent. Cells have the same places.
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.taken == nil {
		r.taken = map[int64]*holding{}
	}
	at := firstOf(r.cells)
	for cell := range o.cells.IndicesInto(make([]int64, len(o.cells))) {
		h := o.notes[strided.Number(o.of.cells, cell)]
		if h == nil {
			continue
		}
		to := slices.Clone(cell)
		for i := range to {
			to[i] += at[i] - o.cells[i].Start
			if offset != nil {
				to[i] += offset[i]
			}
		}
		if r.cells.Contains(to) {
			r.taken[strided.Number(r.of.cells, to)] = h
		}
	}
}

// Stored implements [engine.Record].
func (r *record) Stored(_ context.Context, version, from store.Version) {
	if staging.IsVague(version) || !from.IsZero() && staging.IsVague(from) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []note
	for index := range r.cells.IndicesInto(make([]int64, len(r.cells))) {
		cell := slices.Clone(index)
		c, _ := r.of.cells.Chunk(cell)
		n := note{of: r.of, chunk: r.chunk, cell: cell, version: staging.DigestOf(version)}
		number := strided.Number(r.of.cells, cell)
		h, noted := r.notes[number]
		if noted && h == nil {
			h = r.taken[number]
		}
		switch {
		case h != nil && slices.Equal(h.shape, c.Logical):
			n.Summary = h.Summary
		case noted: // nobody has its elements
			continue
		case !r.of.isDivided(): // it was not decoded
			continue
		case from.IsZero(): // not encoded, so it has the fill value
			n.Summary = r.of.filled(c)
		default:
			n.from = &origin{r.of, r.chunk, cell, staging.DigestOf(from)}
		}
		list = append(list, n)
	}
	r.add(r.chunk, list)
}

// add adds notes to those that wait for their block.
func (k *keeper) add(_ []int64, list []note) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pending = append(k.pending, list[:min(len(list), mostPending-len(k.pending))]...)
}

// Flush implements [array.Keeper].
func (k *keeper) Flush(ctx context.Context) {
	k.mu.Lock()
	idle := len(k.pending) == 0
	k.mu.Unlock()
	if idle {
		return
	}
	// One call at a time reads blocks and stores them.
	k.flushing.Lock()
	defer k.flushing.Unlock()
	kept := k.begin(ctx).isKept(ctx)
	k.mu.Lock()
	list := k.pending
	k.pending = nil
	k.mu.Unlock()
	// The last note is of the newest state.
	if kept && len(list) > 0 && errors.Is(list[len(list)-1].of.keep(store.Finishing(ctx), list), errNone) {
		k.set(false) // they were dropped
	}
}

// keep stores the entries of notes.
func (s *subject) keep(ctx context.Context, list []note) error {
	f, err := s.find(ctx)
	if err != nil {
		return err
	}
	var fresh []byte
	if !f.fits(s.cells.Chunks()) {
		if f, fresh, err = s.resized(f); err != nil {
			return err
		}
	}
	e := &Entries{subject: s, form: f, blocks: map[int64]*block{}}
	for i := range list {
		n := &list[i]
		e.need(n.cell)
		if n.from != nil {
			e.need(n.from.cell)
		}
	}
	if err := e.readBlocks(ctx); err != nil {
		return err
	}
	// Take what is kept before it is replaced: cells may exchange their entries.
	known := list[:0]
	for _, n := range list {
		if n.of.Type != s.Type {
			continue // the array was replaced meanwhile
		}
		if o := n.from; o != nil {
			c, ok := o.of.cells.Chunk(o.cell)
			if !ok {
				continue
			}
			count, _ := checked.Product(c.Logical...)
			sum, ok := e.entry(o.cell, count, func() uint64 { return o.of.mark(o.chunk, o.version, c) })
			if !ok {
				continue
			}
			n.Summary = sum
			n.Minimum, n.Maximum = bytes.Clone(sum.Minimum), bytes.Clone(sum.Maximum)
		}
		known = append(known, n)
	}
	for _, n := range known {
		if b, _ := e.place(n.cell); b != nil {
			c, _ := n.of.cells.Chunk(n.cell)
			e.set(n.cell, n.of.mark(n.chunk, n.version, c), n.Summary)
		}
	}
	return e.keep(ctx, fresh, store.Flush)
}

// need adds the block of a cell to those to read, unless too many bytes are held: then
// its entries are unknown, and are not kept.
func (e *Entries) need(cell []int64) {
	index := make([]int64, len(cell))
	if _, ok := e.form.place(cell, index); !ok {
		return
	}
	if n := strided.Number(e.form.Grid, index); e.blocks[n] == nil && e.held(1) <= mostHeld {
		e.blocks[n] = &block{index: index}
	}
}
