// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/array"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/reduction"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// work is the pyramid of one array: what there is, and what is to be made.
type work struct {
	Options
	*reduction.Reducer
	base    *zarr.Array
	at      *array.Session
	present *snapshot.Array // of base
	group   *zarr.Location
	layout  layout
	others  map[string]bool // paths of levels that another program has made
	above   []byte          // the attributes of the group
	made    made

	grids   []*grid.Grid      // of the levels
	arrays  []*zarr.Array     // of the levels; nil where there is none
	targets []*snapshot.Array // of arrays, when tiles are written
	batch   store.Batch
	record  *record

	listing *listing
	rebuild bool
	wanted  []tiles // of every level, those that have stored elements below them
	dirty   []tiles // of every level, those that are to be made

	mu   sync.Mutex
	done int64
}

// errRoot is the error of an array that has no group above it.
var errRoot = fmt.Errorf("%w: the array is the root of its store, and the levels need a group that holds it: copy it into one (varve copy)", zarr.ErrInvalidArgument)

// newWork finds out what is to be made.
func newWork(ctx context.Context, a *zarr.Array, opt *Options) (*work, error) {
	w := &work{Options: opt.orZero(), base: a, at: a.Core().Begin()}
	path := w.at.Node.Path
	if path.IsRoot() {
		return nil, errRoot
	}
	// Levels and metadata are in the group above, which OME-Zarr calls the image.
	w.group, w.layout.name = a.Location().Root().At(path.Parent().String()), path.Name()
	// A group that is missing or has other metadata is an error before anything is made.
	err := w.meet(ctx)
	if err != nil {
		return nil, err
	}
	if w.present, err = w.at.Fresh(ctx); err != nil {
		return nil, err
	}
	first, err := w.open(ctx, 1)
	left := len(w.others) > 0 && w.Levels <= 0 && w.Method == "" && w.Factors == nil
	// Levels of another program in the place of ours are no error if none are asked for.
	if err != nil && !(left && errors.Is(err, errForeign)) {
		return nil, err
	}
	if w.record, err = w.lastTime(ctx, first); err != nil {
		return nil, err
	}
	if left && !w.record.exists {
		w.Levels = -1 // the image has levels, and the options ask for no others
	}
	if err := w.request(ctx); err != nil {
		return nil, err
	}
	if err := w.look(ctx, first); err != nil {
		return nil, err
	}
	return w, w.compare(ctx)
}

// meet reads what the group says of the array: whether it is an image of OME-Zarr, and
// which levels another program has made.
func (w *work) meet(ctx context.Context) error {
	g, err := w.group.OpenGroup(ctx, w.options())
	if err != nil {
		return err
	}
	w.above = g.Attributes()
	list, err := descriptions(g.Attributes(), w.base.Format())
	if err != nil {
		return err
	}
	w.others = map[string]bool{}
	d := find(list, w.layout.name)
	w.layout.image = d != nil && !d.isOurs()
	if w.layout.name == imageName {
		if w.layout.beside, err = w.liesBeside(ctx, w.layout.image); err != nil {
			return err
		}
		w.layout.image = w.layout.image || w.layout.beside
	}
	if d == nil {
		return nil
	}
	// The first one is the array itself.
	for _, level := range d.datasets[1:] {
		if mine, err := w.isMine(ctx, level.Path); err != nil {
			return err
		} else if !mine {
			w.others[level.Path] = true
		}
	}
	return nil
}

// liesBeside reports whether the levels of an array named 0 lie beside it: those of an
// image, and those that were made before the levels of other arrays had groups.
func (w *work) liesBeside(ctx context.Context, image bool) (bool, error) {
	n, err := w.find(ctx, w.layout.group())
	if errors.Is(err, errForeign) {
		n, err = nil, nil
	}
	// Levels that exist decide. Otherwise those of an image lie beside it.
	if n != nil || err != nil || image {
		return n == nil, err
	}
	n, err = w.find(ctx, layout{beside: true}.home(1))
	if errors.Is(err, errForeign) {
		return false, nil
	}
	return n != nil, err
}

// isMine reports whether this package has made the level at a path.
func (w *work) isMine(ctx context.Context, path string) (bool, error) {
	if !w.layout.owns(path) {
		return false, nil
	}
	// A path below NAME_levels is never that of another program. A number may be, since
	// OME-Zarr names levels so: its attribute tells.
	if !isNumber(path) {
		return true, nil
	}
	n, err := w.find(ctx, path)
	if errors.Is(err, errForeign) {
		return false, nil
	}
	return n != nil, err
}

// lastTime reads the record beside the first level.
func (w *work) lastTime(ctx context.Context, first *zarr.Array) (*record, error) {
	if first == nil {
		return &record{}, nil
	}
	r, err := readRecord(ctx, w.at.Node.Store, w.recordKey())
	if err == nil && r.Attributes != nil {
		r.Attributes, err = w.meaning(r.Attributes)
	}
	return r, err
}

// usual returns the method that is used unless one is asked for. A mean of names would be
// the name of something else.
func (w *work) usual() Method {
	if reduction.AreNames(w.base.Type(), w.base.Attributes(), w.above) {
		return Mode
	}
	return Mean
}

// request checks the options against the array.
func (w *work) request(ctx context.Context) error {
	s := w.present
	w.Options = w.over(w.record, w.usual())
	if !slices.Contains(Methods(), w.Method) {
		return fmt.Errorf("%w: there is no method %.40q", zarr.ErrInvalidArgument, w.Method)
	}
	factors, err := factorsOf(w.Factors, s.DimensionNames(), s.Grid.Rank())
	if err != nil {
		return err
	}
	filled, err := cf.MasksFill(ctx, w.base)
	if err != nil {
		return err
	}
	// The numbers that readers see count: _Unsigned changes the sign of the stored ones,
	// and a negative scale their order.
	p, err := cf.PackingOf(ctx, w.base)
	if err != nil {
		return err
	}
	method := w.Method
	// The largest stored number is then the smallest value.
	if scale, _ := p.Scale(); scale < 0 {
		method = w.Method.reversed()
	}
	absent := slices.Collect(cf.Missing(s.Doc, filled))
	if w.Reducer, err = reduction.New(p.Type(), reduction.Method(method), factors, absent); err != nil {
		return err
	}
	w.made = made{Method: w.Method, Factors: factors, Type: p.Type().String(), Fill: s.Fill, Absent: slices.Concat(absent...)}
	if method != w.Method {
		w.made.Stored = method
	}
	return nil
}

// look opens the levels that there are, of which first is the first or nil.
func (w *work) look(ctx context.Context, first *zarr.Array) (err error) {
	var is *grid.Grid
	if first != nil && first.Rank() == w.base.Rank() {
		is = first.Grid()
	}
	if w.grids, err = gridsOf(w.present.Grid, w.Block, w.Levels, is); err != nil {
		return err
	}
	w.arrays, w.targets = make([]*zarr.Array, len(w.grids)), make([]*snapshot.Array, len(w.grids))
	for k := range w.arrays {
		if w.arrays[k] = first; k > 0 {
			if w.arrays[k], err = w.open(ctx, k+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// errForeign is the error of a place that another program uses.
var errForeign = fmt.Errorf("here is a node that this package has not made: remove it first, or give the array another name: %w", fs.ErrExist)

// open returns the array of a level, or nil if there is none.
func (w *work) open(ctx context.Context, level int) (*zarr.Array, error) {
	home, err := w.find(ctx, w.layout.home(level))
	if a, ok := home.(*zarr.Array); err != nil || ok && w.layout.image {
		return a, err
	}
	// Before levels had groups, the array itself was here. The level is made anew.
	if _, isArray := home.(*zarr.Array); isArray || w.layout.image {
		return nil, nil // the level had no group before
	}
	n, err := w.find(ctx, w.layout.path(level))
	a, _ := n.(*zarr.Array)
	return a, err
}

// find returns the node at a path below the group, or nil if there is none. If this
// package has not made it, the error wraps errForeign.
func (w *work) find(ctx context.Context, path string) (zarr.Node, error) {
	place := w.group.At(path)
	n, err := place.Open(ctx, w.options())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var attributes []byte
	switch n := n.(type) {
	case *zarr.Array:
		attributes = n.Attributes()
	case *zarr.Group:
		attributes = n.Attributes()
	}
	if _, ok, err := metadata.Attribute(attributes, own.Pyramid); !ok || err != nil {
		return nil, fmt.Errorf("%s: %w", place, errors.Join(errForeign, err))
	}
	return n, nil
}

// place returns the place of the array of a level.
func (w *work) place(level int) *zarr.Location { return w.group.At(w.layout.path(level)) }

// options returns the options for the levels and their group. A level has no chunk where
// nothing is stored.
func (w *work) options() *zarr.Options {
	o := w.base.Options()
	// A level has no chunk where the array has none, also if the array is read with
	// RequireChunks.
	o.RequireChunks = false
	return &o
}

func (w *work) recordKey() store.Key {
	dir, _ := w.at.Node.Path.Parent().Join(w.layout.path(1))
	return dir.MustKey(recordName)
}

// compare lists the array and finds the tiles that are to be made.
func (w *work) compare(ctx context.Context) (err error) {
	if len(w.grids) == 0 {
		return nil
	}
	if w.listing, err = list(ctx, w.present, w.Reducer, w.grids[0]); err != nil {
		return err
	}
	was, gone, err := parseFolds(w.record.Tiles, w.grids[0])
	if w.rebuild = err != nil || !w.usable(); w.rebuild {
		was, gone = nil, nil
	}
	dirty := differing(was, w.listing.folds)
	// Tiles that have lost all chunks of the array below them become fill values.
	maps.Copy(dirty, gone)
	if err := w.raise(dirty); err != nil {
		return err
	}
	return w.checkMemory()
}

// checkMemory returns an error if the tiles need more memory than there may be.
func (w *work) checkMemory() error {
	if w.rebuild {
		_, err := (&cascade{work: w}).plan()
		return err
	}
	for k := range w.grids {
		if len(w.dirty[k]) == 0 {
			continue
		}
		if _, err := w.updaters(k); err != nil {
			return err
		}
	}
	return nil
}

// usable reports whether the levels were made as they would be now.
func (w *work) usable() bool {
	if !w.record.exists || !w.record.Made.equal(w.made) {
		return false
	}
	for k, a := range w.arrays[:min(len(w.arrays), w.record.Levels)] {
		if a == nil || a.Type() != w.base.Type() || a.Rank() != w.base.Rank() || !sameLayout(a.Grid(), w.grids[k]) {
			return false
		}
	}
	return true
}

// raise sets the tiles of all levels, given those of the first that are to be made.
func (w *work) raise(dirty tiles) error {
	wanted := tiles{}
	for n := range w.listing.folds {
		wanted[n] = 1
	}
	was := w.record.Shape
	for k, g := range w.grids {
		if k > 0 {
			var err error
			if wanted, err = raised(w.Reducer, w.grids[k-1], g, wanted); err != nil {
				return err
			}
			if dirty, err = raised(w.Reducer, w.grids[k-1], g, dirty); err != nil {
				return err
			}
			// A level that does not exist yet has no tiles to keep.
			if w.isNew(k) {
				dirty = wanted
			}
			was = halvedShape(was, w.Block)
			for n := range wanted {
				if w.reaches(k, n, was) {
					dirty[n] = 1
				}
			}
		}
		w.wanted, w.dirty = append(w.wanted, wanted), append(w.dirty, dirty)
	}
	return nil
}

// reaches reports whether a tile of level k is made of more or fewer elements than the
// last time, because the level below has grown or shrunk. was is the shape that this had.
func (w *work) reaches(k int, n int64, was []int64) bool {
	if w.isNew(k) || len(was) != len(w.Block) {
		return false
	}
	index, now := indexOf(w.grids[k], n), w.grids[k-1].Shape()
	for i, f := range w.Block {
		c, _ := w.grids[k].Axis(i).Cell(index[i])
		if was[i] != now[i] && min(was[i], now[i])/f < c.Start+c.Edge {
			return true
		}
	}
	return false
}

// halvedShape returns the shape of the level above, or nil for nil.
func halvedShape(shape, factors []int64) []int64 {
	if len(shape) != len(factors) {
		return nil
	}
	up := make([]int64, len(shape))
	for i, f := range factors {
		up[i] = checked.CeilDiv(max(0, shape[i]), f)
	}
	return up
}

// isNew reports whether level k, counted from 0, is not in the record.
func (w *work) isNew(k int) bool { return w.rebuild || k >= w.record.Levels || w.arrays[k] == nil }

// source returns what level k, counted from 0, is made of.
func (w *work) source(k int) *source {
	s := &source{array: w.base, grid: w.present.Grid, fill: w.present.Fill, few: fewBytes(w.at.Node.Store)}
	if k == 0 {
		s.mayStore = w.listing.table.Contains
		return s
	}
	s.array, s.grid = w.arrays[k-1], w.grids[k-1]
	s.mayStore = func(index []int64) bool { return w.wanted[k-1][strided.Number(s.grid, index)] > 0 }
	return s
}

// size returns the bytes of an element.
func (w *work) size() int { return w.present.Engine.Size }

// tileBytes returns the bytes of the largest tile of level k.
func (w *work) tileBytes(k int) (int64, bool) {
	n, ok := int64(w.size()), true
	for _, edge := range longest(w.grids[k]) {
		var fine bool
		n, fine = checked.Mul(n, edge)
		ok = ok && fine
	}
	return n, ok
}

// longest returns the longest part of a chunk within the array, along every axis.
func longest(g *grid.Grid) []int64 {
	edges := make([]int64, g.Rank())
	for i := range edges {
		axis := g.Axis(i)
		edges[i] = min(axis.Extent(), axis.Longest(grid.Interval{Stop: axis.Chunks()}))
	}
	return edges
}

// workers returns how many goroutines make tiles, if each of them needs the given bytes,
// and several of them share more.
func (w *work) workers(each, shared int64) (int, error) {
	memory := w.memory()
	if w.Memory > 0 && each > memory {
		return 0, fmt.Errorf("%w: the tiles need %s of memory, Memory is %d; allow more, or make the chunks of the array smaller", zarr.ErrLimit, quantity.Count(each, "bytes"), memory)
	}
	most := engine.DefaultConcurrency(w.at.Node.Store, runtime.GOMAXPROCS(0))
	if n := w.base.Options().Concurrency; n > 0 {
		most = n
	}
	return int(min(int64(most), max(1, (memory-shared)/max(1, each)))), nil
}

// count reports that a tile is written.
func (w *work) count() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done++
	if w.Progress != nil {
		w.Progress(w.done, w.total())
	}
}

// total returns the number of tiles that are to be made.
func (w *work) total() (n int64) {
	for _, d := range w.dirty {
		n += int64(len(d))
	}
	return n
}
