// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"sort"
	"sync"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/failure"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/reduction"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// request is one chunk of a view that is asked for.
type request struct {
	*array
	f      *face
	index  []int64
	region grid.Box // of the source
	stamps map[store.Key]sighting
	tag    sighting // of all that the chunk is made from

	mu   sync.Mutex
	used []Place // on the shelf of decoded chunks
}

// mostChunks bounds the chunks of a source that are read for one chunk of a view.
const mostChunks = 1 << 14

// request prepares the answer to a request for a chunk.
func (a *array) request(ctx context.Context, index []int64) (*request, error) {
	f, err := a.current(ctx, false)
	if err != nil {
		return nil, err
	}
	r := &request{array: a, f: f, index: index}
	// The array may have grown since a far store was asked.
	if !a.near && (!f.contains(index) || r.isAtEnd()) {
		if r.f, err = a.current(ctx, true); err != nil {
			return nil, err
		}
	}
	if !r.f.contains(index) {
		return nil, fmt.Errorf("%w: chunk %v lies beyond %s, whose shape is %v", ErrGone, index, a.name(), r.f.target.Shape())
	}
	r.region = r.box()
	return r, r.stamp(ctx)
}

// box returns the elements of the source that the chunk is made from.
func (r *request) box() grid.Box {
	box := make(grid.Box, len(r.index))
	for i, n := range r.index {
		box[i] = grid.Interval{Start: n * r.spans[i], Stop: min((n+1)*r.spans[i], r.f.state.Grid.Axis(i).Extent())}
	}
	return box
}

// shape returns the shape of the part of the chunk that lies within the array.
func (r *request) shape() []int64 {
	if r.f.level == nil {
		return r.region.Shape()
	}
	return r.f.level.Shape(r.region.Shape())
}

// step returns the distance of the elements of the source that are read along an axis.
func (r *request) step(axis int) int64 {
	if l := r.f.level; l != nil && l.method == reduction.Nearest {
		return l.Block[axis]
	}
	return 1
}

// taken returns the part of a box of the source whose first element is the first one that
// is read for the chunk, and where its elements are among those that are read. ok is
// false if it has none.
func (r *request) taken(box grid.Box) (part, to grid.Box, ok bool) {
	part, to = make(grid.Box, len(box)), make(grid.Box, len(box))
	for i, side := range box {
		// A chunk begins with a whole block.
		side, step := side.Intersect(r.region[i]), r.step(i)
		to[i].Start = checked.CeilDiv(side.Start-r.region[i].Start, step)
		to[i].Stop = checked.CeilDiv(side.Stop-r.region[i].Start, step)
		part[i] = grid.Interval{Start: r.region[i].Start + to[i].Start*step, Stop: side.Stop}
		if to[i].Start >= to[i].Stop {
			return nil, nil, false
		}
	}
	return part, to, true
}

// stepped returns the selection of the elements of a part that are read.
func (r *request) stepped(part grid.Box) (*selection.Resolved, error) {
	sel := make(selection.Basic, len(part))
	for i, side := range part {
		sel[i] = selection.Stepped(side.Start, side.Stop, r.step(i))
	}
	// A slice is clipped where the array ends. If the array has shrunk since the request
	// was prepared, that must be an error as it is for a box.
	return selection.Resolve(sel, r.f.state.Grid.Shape())
}

// isAtEnd reports whether the chunk reaches beyond the end of an axis, so that an append
// changes what it has.
func (r *request) isAtEnd() bool {
	for i, n := range r.index {
		if (n+1)*r.spans[i] > r.f.state.Grid.Axis(i).Extent() {
			return true
		}
	}
	return false
}

// stamp finds the versions of all stored chunks that the chunk is made from, before they
// are read. See [request.verify].
func (r *request) stamp(ctx context.Context) error {
	keys, err := r.keys(mostChunks)
	if err != nil {
		return err
	}
	if r.stamps, err = r.versions(ctx, keys, false); err == nil {
		r.tag = r.sum()
	}
	return err
}

// keys returns the keys of these chunks, or an error if they are more than most.
func (r *request) keys(most int) ([]store.Key, error) {
	chunks, err := r.f.state.Grid.Touching(r.region)
	if err != nil {
		return nil, err
	}
	var keys []store.Key
	for c := range chunks {
		if _, _, ok := r.taken(c.Box()); !ok {
			continue
		}
		if len(keys) >= most {
			return nil, refuse(zarr.ErrLimit, "a chunk of the view is made from more than %s: ask for smaller ones with chunks=", quantity.Count(int64(most), "chunks"))
		}
		keys = append(keys, r.f.state.Engine.Key(c.Index))
	}
	return keys, nil
}

// versions returns the versions of stored chunks.
func (r *request) versions(ctx context.Context, keys []store.Key, fresh bool) (map[store.Key]sighting, error) {
	found := map[store.Key]sighting{}
	var mu sync.Mutex
	g, within := parallel.New(ctx)
	g.SetLimit(r.concurrency())
	for _, key := range keys {
		see := func() error {
			is, err := r.version(within, key, fresh)
			mu.Lock()
			found[key] = is
			mu.Unlock()
			return err
		}
		if !r.near {
			g.Go(see)
		} else if err := see(); err != nil {
			return nil, g.Wait(err)
		}
	}
	return found, g.Wait(nil)
}

// errChanged means that the source has changed while a chunk was made from it.
var errChanged = fmt.Errorf("%w while it was read", store.ErrConflict)

// verify returns an error if the source may have changed while the chunk was made: the
// chunk may be made from other versions than its tag says, or by a document that the
// source no longer has. What was decoded is forgotten then.
func (r *request) verify(ctx context.Context) error {
	now, err := r.current(ctx, true)
	if err != nil {
		return err
	}
	changed := now != r.f && now.coding != r.f.coding
	stamps, err := r.versions(ctx, slices.Collect(maps.Keys(r.stamps)), true)
	if err != nil {
		return err
	}
	for key, was := range r.stamps {
		is := stamps[key]
		// Without versions, what is missing may be in another grid.
		changed = changed || is.version != was.version || now != r.f && is.version == notStored
	}
	if !changed {
		return nil
	}
	for _, at := range r.used {
		r.view.cache.decoded.forget(at)
	}
	return errChanged
}

// concurrency is the number of parts of the source that a request reads at once.
func (r *request) concurrency() int {
	return engine.InFlight(r.source.Location().Store(), r.source.Options().Concurrency, runtime.GOMAXPROCS(0))
}

// encoder is the version of what encodes chunks of views: other versions of the program
// may make other bytes of the same elements.
var encoder = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return encoderOf(info)
})

// encoderOf returns that version for a program, which may be one of another module.
func encoderOf(info *debug.BuildInfo) string {
	text := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text += " " + s.Value
		}
	}
	for _, m := range info.Deps {
		if m.Path != "varve.dev/zarr" && m.Path != "github.com/klauspost/compress" {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		text += " " + m.Path + "@" + m.Version
	}
	return text
}

// sum returns a version of the chunk, which changes with everything that it is made from.
func (r *request) sum() sighting {
	tag := sighting{}
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %v %v %v %s\n", encoder(), r.view.settings, r.index, r.edges, r.region, r.f.kind.of)
	fmt.Fprintf(h, "%x %s\n", r.f.coding, r.f.target.FillValue().JSON())
	if r.f.level != nil {
		fmt.Fprintf(h, "%s\n", r.f.level.key)
	}
	keys := slices.Collect(maps.Keys(r.stamps))
	sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
	for _, key := range keys {
		is := r.stamps[key]
		if is.version == "" {
			return sighting{weak: true}
		}
		tag.weak = tag.weak || is.weak
		fmt.Fprintf(h, "%q %q\n", key.String(), is.version)
	}
	tag.version = base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:15])
	if tag.weak {
		tag.version = "W/" + tag.version
	}
	return tag
}

// encoded returns the chunk. The caller returns held bytes to the budget of answers when
// it no longer needs them.
func (r *request) encoded(ctx context.Context) (data []byte, held int64, err error) {
	c := r.view.cache
	var where []byte
	for _, n := range r.index {
		where = binary.AppendVarint(where, n)
	}
	data, err = c.encoded.Get(ctx, Place{r.array, string(where), r.tag.version}, r.make)
	if err != nil {
		return nil, 0, err
	}
	wait, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	held, err = c.answers.Acquire(wait, int64(len(data)))
	if err != nil && ctx.Err() == nil {
		err = ErrBusy
	}
	return data, held, err
}

// longestWait is how long an answer waits until others are taken by their clients.
const longestWait = 30 * time.Second

// ErrBusy means that clients have not taken as many answers as may be in memory.
var ErrBusy = errors.New("many answers wait for their clients: repeat the request later")

// make reads and encodes the chunk, and looks whether the source is still the same.
func (r *request) make(ctx context.Context) ([]byte, error) {
	data, err := r.makeNow(ctx)
	if changed := r.verify(ctx); changed != nil {
		return nil, changed
	}
	return data, err
}

// makeNow reads and encodes the chunk.
func (r *request) makeNow(ctx context.Context) ([]byte, error) {
	if r.f.kind.of.Variable() {
		return r.makeText(ctx)
	}
	of, shown := r.f.kind.of.Size(), r.f.kind.shown.Size()
	elements, ok := checked.Product(r.edges...)
	if !ok {
		return nil, zarr.ErrLimit
	}
	c := r.view.cache
	// The elements, their encoded form, and what is kept of that.
	need := elements * int64(of+2*shown)
	if r.f.kind.convert != nil {
		need += elements * int64(shown)
	}
	held, err := c.work.Acquire(ctx, need+c.reading+r.blocks())
	if err != nil {
		return nil, err
	}
	defer c.work.Release(held)
	buffer := budget.Get(elements * int64(of))
	defer buffer.Put()
	data := buffer.Bytes(elements * int64(of))
	inside := strided.Contiguous(data, r.edges, of).Sub(grid.BoxOf(r.shape()))
	if n, _ := checked.Product(r.shape()...); n < elements {
		strided.FillBytes(data, r.f.state.Fill)
	}
	if err := r.fill(ctx, inside); err != nil {
		return nil, err
	}
	if r.f.kind.convert != nil {
		wide := budget.Get(elements * int64(shown))
		defer wide.Put()
		r.f.kind.convert(wide.Bytes(elements*int64(shown)), data)
		data = wide.Bytes(elements * int64(shown))
	}
	// What is kept has no spare capacity, which nothing would count.
	value, room, err := r.f.target.Core().State().Engine.Chain.EncodeNew(strided.Contiguous(data, r.edges, shown), false)
	defer room.Put()
	return bytes.Clone(value), err
}

// blocks returns the memory for the blocks of which means are made, in bytes.
func (r *request) blocks() int64 {
	if r.f.level == nil || r.f.level.method == reduction.Nearest {
		return 0
	}
	n, _ := r.region.Len() // within the limits, see [demand.fits]
	return n * int64(reduction.Bytes(r.f.kind.of))
}

// fill makes the elements of the chunk.
func (r *request) fill(ctx context.Context, inside strided.View) error {
	if r.f.level == nil || r.f.level.method == reduction.Nearest {
		return r.read(ctx, inside)
	}
	n, _ := r.region.Len()
	of := r.f.kind.of.Size()
	buffer := budget.Get(n * int64(of))
	defer buffer.Put()
	below := strided.Contiguous(buffer.Bytes(n*int64(of)), r.region.Shape(), of)
	err := r.read(ctx, below)
	if err == nil {
		r.f.level.Reduce(inside, below)
	}
	return err
}

// read reads the elements of the region that the chunk takes into a view of them.
func (r *request) read(ctx context.Context, into strided.View) error {
	cells, err := r.f.units.Touching(r.region)
	if err != nil {
		return err
	}
	// Chunks that other requests do not need are decoded into place.
	if data, ok := into.Bytes(); ok && r.isAlone() {
		return r.readBytes(ctx, selection.BoxOf(r.region), data)
	}
	g, within := parallel.New(ctx)
	g.SetLimit(r.concurrency())
	for c := range cells {
		g.Go(func() error { return r.readUnit(within, c, into) })
		if within.Err() != nil {
			break
		}
	}
	return g.Wait(nil)
}

// readBytes reads elements of the state that the request is for.
func (r *request) readBytes(ctx context.Context, sel selection.Selection, data []byte) error {
	err := r.source.Core().Read(ctx, r.f.state, sel, snapshot.Exactly(r.f.kind.of), false, func(s *snapshot.Selected) (strided.View, error) {
		return s.View(element.Buffer{Type: s.Type, Data: data})
	})
	return failure.On(r.source, "read", err)
}

// isAlone reports whether the region has whole units only, or parts that can be read
// without the rest.
func (r *request) isAlone() bool {
	for i := range r.region {
		if r.step(i) > 1 {
			return false
		}
	}
	if r.f.state.Engine.Chain.Plain() {
		return true
	}
	for i, side := range r.region {
		a := r.f.units.Axis(i)
		if _, within, ok := a.Locate(side.Start); !ok || within != 0 {
			return false
		}
		if _, within, ok := a.Locate(side.Stop); side.Stop < a.Extent() && (!ok || within != 0) {
			return false
		}
	}
	return true
}

// readUnit reads the part of the region that lies in a unit of the source.
func (r *request) readUnit(ctx context.Context, c *grid.Chunk, into strided.View) error {
	whole := c.Box()
	part, to, ok := r.taken(whole)
	if !ok {
		return nil
	}
	from := make(grid.Box, len(whole))
	for i, side := range whole {
		from[i] = grid.Interval{Start: part[i].Start - side.Start, Stop: part[i].Stop - side.Start}
	}
	size := r.f.kind.of.Size()
	shape := whole.Shape()
	n, ok := checked.Product(append(slices.Clone(shape), int64(size))...)
	cache := r.view.cache
	if !ok || n > cache.decoded.limit/mostKept {
		// A part of a large unit is read without keeping the rest. Few are decoded at the
		// same time.
		held, err := cache.work.AcquireMore(ctx, min(n, cache.decoded.limit)+cache.reading)
		if err != nil {
			return err
		}
		defer cache.work.ReleaseMore(held)
		shape = to.Shape()
		elements, _ := to.Len()
		buffer := budget.Get(elements * int64(size)) // at most those of the region
		defer buffer.Put()
		data := buffer.Bytes(elements * int64(size))
		sel, err := r.stepped(part)
		if err == nil {
			err = r.readBytes(ctx, sel, data)
		}
		if err != nil {
			return err
		}
		strided.Copy(into.Sub(to), strided.Contiguous(data, shape, size))
		return nil
	}
	chunk, _, err := r.f.state.Grid.Locate(c.Start)
	if err != nil {
		return err
	}
	key := r.f.state.Engine.Key(chunk)
	where := []byte(key.String() + r.f.coding)
	for _, side := range whole {
		where = binary.AppendVarint(binary.AppendVarint(where, side.Start), side.Stop)
	}
	at := Place{r.array, string(where), r.stamps[key].version}
	r.mu.Lock()
	r.used = append(r.used, at)
	r.mu.Unlock()
	data, err := cache.decoded.Get(ctx, at, func(ctx context.Context) ([]byte, error) {
		held, err := cache.work.AcquireMore(ctx, n+cache.reading)
		if err != nil {
			return nil, err
		}
		defer cache.work.ReleaseMore(held)
		data := make([]byte, n)
		return data, r.readBytes(ctx, selection.BoxOf(whole), data)
	})
	if err != nil {
		return err
	}
	unit := strided.Contiguous(data, shape, size).Sub(from)
	if l := r.f.level; l != nil && l.method == reduction.Nearest {
		l.Reduce(into.Sub(to), unit)
	} else {
		strided.Copy(into.Sub(to), unit)
	}
	return nil
}
