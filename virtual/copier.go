// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// CopyPadded copies the chunks whose padding is in the way ([Join.CopyPadded]) into the
// folder of a manifest, and makes the manifest refer to the copies. Each is decoded, cut
// to the elements of the array, and encoded with the codecs of its array. Call it with
// the store and the path that the manifest is then stored at. Without such chunks it does
// nothing.
//
// It reads the files that the collector was given, and what references may lead to
// ([WithAllowed]). Memory is bounded by [Collector.Budget]. After an
// error the manifest is as before, and values may be left in the folder that no manifest
// names.
func (c *Collector) CopyPadded(ctx context.Context, m *Manifest, s store.Store, path store.Path) error {
	from, err := c.collected(ctx, s, path)
	if err != nil {
		return err
	}
	defer from.others.closeOpened()
	total, _ := m.Padded()
	w := &copier{into: s, path: path, number: uint32(m.count()) + 1, budget: budget.New(cmp.Or(c.Budget, budget.Most())), most: cmp.Or(c.copyBytes, copyBytes), workers: c.atOnce()}
	if c.Copied != nil {
		w.copied = func(done int64) { c.Copied(done, total) }
	}
	// The manifest changes only when all copies are stored: an error leaves it as it was.
	made := make([]*Array, len(m.Arrays))
	for i, a := range m.Arrays {
		if made[i], err = w.array(ctx, m, a, from); err != nil {
			return fmt.Errorf("copying chunks of %q without their padding: %w", a.Path, err)
		}
	}
	if err := w.flush(ctx); err != nil {
		return err
	}
	for i, a := range m.Arrays {
		*a = *made[i]
	}
	m.Sources = slices.Concat(m.Sources, w.values)
	m.copies = slices.Concat(m.copies, w.values)
	return nil
}

// copier stores chunks without their padding. Its methods are safe for concurrent use.
type copier struct {
	into    store.Store
	path    store.Path
	budget  *budget.Budget
	most    int // bytes of a value
	workers int
	copied  func(done int64) // may be nil

	mu     sync.Mutex
	done   int64
	number uint32   // the number of the source that the buffer becomes
	buffer []byte   // what is not stored yet
	values []Source // what is
}

// copyBytes is the size in bytes of the values that copies are stored in.
const copyBytes = 32 << 20

// array returns an array with references to copies.
func (w *copier) array(ctx context.Context, m *Manifest, a *Array, from sources) (*Array, error) {
	b := *a
	if len(a.faces) == 0 {
		return &b, nil
	}
	scratch := memstore.New()
	src, err := m.facesPadded(ctx, a, from)
	if err != nil {
		return nil, err
	}
	// The copies are chunks of an array in memory, so the codecs encode them as usual.
	dst, err := a.facesAlone(ctx, func(f face) int64 { return f.logical }, scratch, false)
	if err != nil {
		return nil, err
	}
	b = *a.moved(0)
	b.faces = nil
	work, within := parallel.New(ctx)
	work.SetLimit(w.workers)
	for number, place := range a.padded() {
		if within.Err() != nil {
			break
		}
		work.Go(func() error {
			r, err := w.chunk(within, src, dst, scratch, place, a.Axis)
			if err != nil {
				return err
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			b.refs.set(int(number-a.stored()), r)
			delete(b.inline, number)
			if w.done++; w.copied != nil {
				w.copied(w.done)
			}
			return nil
		})
	}
	return &b, work.Wait(nil)
}

// chunk copies one chunk, and returns where its copy is.
func (w *copier) chunk(ctx context.Context, src, dst *zarr.Array, scratch store.Store, place int64, axis int) (reference, error) {
	index := make([]int64, dst.Rank())
	indexOf(place, dst.Grid().Chunks(), axis, index)
	padded, _ := src.Grid().Chunk(index) // the grids are made for the place
	whole, _ := dst.Grid().Chunk(index)
	size, ok := checked.Product(append([]int64{widthOf(dst.Type())}, padded.Encoded...)...)
	if !ok || size > coding.DefaultChunk {
		return reference{}, fmt.Errorf("%w: a chunk of shape %v", ErrLimit, padded.Encoded)
	}
	// The encoded chunk, its elements, those of the copy, and the encoded copy.
	held, err := w.budget.Acquire(ctx, 4*size)
	if err != nil {
		return reference{}, err
	}
	defer w.budget.Release(held)
	if err := copyBox(ctx, dst, boxOf(whole.Start, whole.Logical), src, boxOf(padded.Start, whole.Logical)); err != nil {
		return reference{}, err
	}
	key := chunkKey(dst.Path(), index)
	data, _, err := scratch.Get(ctx, key, store.Request{}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return reference{}, nil // it has only fill values
	}
	if err == nil {
		// Free the encoded chunk at once: the memory store holds only what is in flight.
		_, err = store.Write(ctx, scratch, store.Delete(key), store.Sync)
	}
	if err != nil {
		return reference{}, err
	}
	return w.add(ctx, data)
}

// widthOf returns the bytes of an element. A text counts as 64.
func widthOf(t dtype.Type) int64 {
	if t.Variable() {
		return 64
	}
	return int64(t.Size())
}

// boxOf selects a box of an array.
func boxOf(start, shape []int64) selection.Box {
	box := make(selection.Box, len(start))
	for i := range box {
		box[i] = [2]int64{start[i], start[i] + shape[i]}
	}
	return box
}

// copyBox copies elements of a box to a box of the same shape.
func copyBox(ctx context.Context, dst *zarr.Array, to selection.Box, src *zarr.Array, from selection.Box) error {
	switch t := dst.Type(); {
	case t.Kind() == dtype.KindBytes:
		return copyAs[[]byte](ctx, dst, to, src, from)
	case t.Variable():
		return copyAs[string](ctx, dst, to, src, from)
	}
	n := int64(dst.Type().Size())
	for _, x := range to {
		n *= x[1] - x[0]
	}
	data := make([]byte, n)
	if err := src.ReadBytes(ctx, from, data); err != nil {
		return err
	}
	return dst.WriteBytes(ctx, to, data)
}

// copyAs is copyBox of elements that are values of Go.
func copyAs[T dtype.Element](ctx context.Context, dst *zarr.Array, to selection.Box, src *zarr.Array, from selection.Box) error {
	b, err := zarr.Read[T](ctx, src, from)
	if err != nil {
		return err
	}
	return zarr.Write(ctx, dst, to, b.Data)
}

// add adds an encoded chunk to the values, and returns where it is.
func (w *copier) add(ctx context.Context, data []byte) (reference, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// Many chunks share a value: an object for each would cost a request for each. A
	// chunk that is longer than a value gets a value of its own.
	if len(w.buffer) > 0 && len(w.buffer)+len(data) > w.most {
		if err := w.store(ctx); err != nil {
			return reference{}, err
		}
	}
	r := reference{w.number, uint64(len(w.buffer)), uint64(len(data))}
	w.buffer = append(w.buffer, data...)
	return r, nil
}

// flush stores what is not stored yet.
func (w *copier) flush(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.buffer) == 0 {
		return nil
	}
	return w.store(ctx)
}

// store stores the buffer as a value, which becomes a source. Others wait meanwhile, so
// that memory stays bounded.
func (w *copier) store(ctx context.Context) error {
	name := "data/" + newID()
	key, err := w.path.Key(name)
	if err == nil {
		_, err = store.Write(ctx, w.into, store.Put(key, w.buffer), store.Sync)
	}
	if err != nil {
		return err
	}
	// The name is random and the value is never replaced, so its size identifies it.
	w.values = append(w.values, Source{Location: name, Size: int64(len(w.buffer))})
	w.buffer = w.buffer[:0]
	w.number++
	return nil
}

// converted returns the values of another coordinate in the units and the type of this
// one.
func (c *coordinate) converted(o *coordinate) ([]byte, error) {
	if o.text == c.text && o.units == c.units && o.typ == c.typ {
		return o.values, nil
	}
	if err := c.convertible(o); err != nil {
		return nil, err
	}
	size, from := c.typ.Size(), o.typ.Size()
	out := make([]byte, len(o.values)/from*size)
	for i := range len(o.values) / from {
		if err := c.convert(o, out[i*size:][:size], o.values[i*from:][:from]); err != nil {
			return nil, fmt.Errorf("%s cannot be expressed as %s: element %d: %w", o, c, i, err)
		}
	}
	return out, nil
}

// String returns what the numbers count and how they are stored, for messages.
func (c *coordinate) String() string {
	switch {
	case c.text == "":
		return fmt.Sprint(c.typ)
	case c.isTime && c.units.Calendar() != calendar.Standard:
		return fmt.Sprintf("%q (%s) of %s", c.text, c.units.Calendar(), c.typ)
	}
	return fmt.Sprintf("%q of %s", c.text, c.typ)
}

// isEqual reports whether values in the units and the type of the coordinate are its own.
// NaN has several patterns of bits, and so has 0.
func (c *coordinate) isEqual(values []byte) bool {
	if !isFloat(c.typ) || bytes.Equal(values, c.values) {
		return bytes.Equal(values, c.values)
	}
	size := c.typ.Size()
	same := len(values) == len(c.values)
	for i := 0; same && i < len(values); i += size {
		x, y := floatOf(values[i:i+size]), floatOf(c.values[i:i+size])
		same = x == y || math.IsNaN(x) && math.IsNaN(y)
	}
	return same
}

// convertible returns an error if the numbers of two coordinates cannot be converted.
func (c *coordinate) convertible(o *coordinate) error {
	switch {
	case !c.isSameUnit(o.times) && (!c.isTime || !o.isTime):
		return fmt.Errorf("units %q, and those of the files before are %q", o.text, c.text)
	case !o.units.CanBe(c.units):
		return fmt.Errorf("the calendar %s, and that of the files before is %s", o.units.Calendar(), c.units.Calendar())
	case c.packed || o.packed:
		return fmt.Errorf("%s after %s, and the numbers have a scale_factor, an add_offset or _Unsigned", o, c)
	}
	return nil
}

// convert converts one element.
func (c *coordinate) convert(o *coordinate, dst, src []byte) error {
	nan := o.typ.Kind() == dtype.KindFloat && math.IsNaN(floatOf(src))
	switch gap := isGap(o.missing, src); {
	case o.typ == c.typ && (gap || nan):
		copy(dst, src)
		return nil
	case nan && c.typ.Kind() == dtype.KindFloat:
		setFloat(dst, floatOf(src))
		return nil
	case gap:
		return errors.New("it stands for no value")
	}
	var err error
	if c.isTime && o.isTime && (o.text != c.text || o.units != c.units) {
		err = c.retime(o, dst, src)
	} else {
		err = c.retype(o, dst, src)
	}
	if err == nil && isGap(c.missing, dst) {
		err = errors.New("the number would stand for no value")
	}
	return err
}

// isGap reports whether an element is one of those that stand for no value.
func isGap(missing [][]byte, elem []byte) bool {
	return slices.ContainsFunc(missing, func(m []byte) bool { return bytes.Equal(m, elem) })
}

// retype converts a number to the type of the coordinate.
func (c *coordinate) retype(o *coordinate, dst, src []byte) error {
	v, f, err := o.number(src)
	if err != nil {
		return err
	}
	whole := o.typ.Kind() != dtype.KindFloat || f == math.Trunc(f) && math.Abs(f) < 1<<63
	if o.typ.Kind() == dtype.KindFloat && whole {
		v = int64(f)
	}
	fits := false
	if c.typ.Kind() == dtype.KindFloat {
		setFloat(dst, f)
		got := floatOf(dst)
		fits = got == f && (o.typ.Kind() == dtype.KindFloat || math.Abs(got) < 1<<63 && int64(got) == v)
	} else {
		fits = whole && setInteger(dst, v, c.typ.Kind() == dtype.KindUint)
	}
	if !fits {
		return fmt.Errorf("%s does not fit the type %s", o.typ.AppendText(nil, src), c.typ)
	}
	return nil
}

// number returns an element as an integer and as a float. Of a float, the integer is 0.
func (c *coordinate) number(elem []byte) (int64, float64, error) {
	if c.typ.Kind() == dtype.KindFloat {
		return 0, floatOf(elem), nil
	}
	v := integerOf(elem, c.typ.Kind() == dtype.KindUint)
	if c.typ.Kind() == dtype.KindUint && v < 0 {
		return 0, 0, fmt.Errorf("%d is too large", uint64(v))
	}
	return v, float64(v), nil
}

// retime converts a time. A number that the type would round so that its time changes, by
// more than the last digits that it had before, is an error.
func (c *coordinate) retime(o *coordinate, dst, src []byte) error {
	v, f, err := o.number(src)
	if err != nil {
		return err
	}
	at, err := o.units.At(v)
	if o.typ.Kind() == dtype.KindFloat {
		at, err = o.units.AtFloat(f)
	}
	if err == nil {
		err = o.units.Agree(c.units, at)
	}
	if err != nil {
		return err
	}
	if c.typ.Kind() != dtype.KindFloat {
		n, err := c.units.Count(at)
		if err == nil && !setInteger(dst, n, c.typ.Kind() == dtype.KindUint) {
			err = fmt.Errorf("%d does not fit the type %s", n, c.typ)
		}
		return err
	}
	setFloat(dst, c.units.CountFloat(at))
	back, err := c.units.AtFloat(floatOf(dst))
	if err != nil {
		return err
	}
	same := false
	if o.typ.Kind() == dtype.KindFloat {
		again := make([]byte, len(src))
		setFloat(again, o.units.CountFloat(back))
		same = math.Abs(floatOf(again)-f) <= 4*spacing(f, len(src))
	} else if n, err := o.units.Count(back); err == nil {
		same = n == v
	}
	if !same {
		return fmt.Errorf("the type %s has too few digits for %s", c.typ, o.typ.AppendText(nil, src))
	}
	return nil
}

// retyped returns an array of a part, which grows and has no values in the manifest, with
// copies of its chunks in the type and with the codecs of the array that is there. A
// number that this type cannot hold is an [ErrMismatch].
func (j *Joined) retyped(ctx context.Context, p *Part, old *joined, a *Array) (*Array, error) {
	from, err := readCoordinate(ctx, p, a)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", p.Name, a.Path, err)
	}
	into, err := coordinateOf(old.Array, nil)
	if err != nil {
		return nil, err
	}
	values, err := into.converted(from)
	if err != nil {
		return nil, mismatch(p.Name, a.Path, "%v", err)
	}
	made, err := newArray(a.Path, withGrid(old.Document, a.Grid), a.Grid, a.Axis)
	if err == nil {
		err = made.encode(ctx, values)
	}
	if err != nil {
		return nil, mismatch(p.Name, a.Path, "its type: %s, and in %s it is %s; its chunks cannot be encoded as these: %v", from.typ, old.last, into.typ, err)
	}
	return made, nil
}

// encode gives all chunks of an array bytes of their own. Those with only the fill value
// stay without.
func (a *Array) encode(ctx context.Context, values []byte) error {
	scratch := memstore.New()
	written, err := a.writable(ctx, scratch, false)
	if err == nil {
		err = written.WriteBytes(ctx, nil, values)
	}
	if err != nil {
		return err
	}
	count := a.Grid.Chunks()
	index := make([]int64, len(count))
	for k := range int64(a.refs.len()) {
		indexOf(k, count, a.Axis, index)
		data, _, err := scratch.Get(ctx, chunkKey(a.Path, index), store.Request{}, nil)
		switch {
		case err == nil:
			a.setInline(k, data)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return nil
}

// writable makes an array with the same grid and codecs, of which no chunk is stored yet,
// in a store. fill says that chunks with only the fill value will be stored.
func (a *Array) writable(ctx context.Context, s store.Store, fill bool) (*zarr.Array, error) {
	text, err := a.Document.WithKeyEncoding(metadata.DefaultSlash).Marshal(metadata.Limits{})
	if err != nil {
		return nil, err
	}
	key := store.MustKey(strings.TrimPrefix(a.Path+"/"+nodename.V3Node, "/"))
	if _, err := store.Write(ctx, s, store.Put(key, text), store.Flush); err != nil {
		return nil, err
	}
	return zarr.At(s, a.Path).OpenArray(ctx, &zarr.Options{Write: true, StoreFill: fill})
}

// chunkKey returns the key of a chunk of a [Array.writable].
func chunkKey(path string, index []int64) store.Key {
	return store.MustKey(strings.TrimPrefix(path+"/"+string(metadata.DefaultSlash.AppendKey(nil, index)), "/"))
}
