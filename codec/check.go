package codec

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
	"varve.dev/zarr/strided"
)

// Fault is something that is wrong with a stored chunk.
type Fault struct {
	// Inner leads to the inner chunk that it is in: its index in the chunk, the index of
	// an inner chunk of that, and so on. It is empty where nothing can be said of inner
	// chunks because the index of the chunk itself is damaged, or there are none.
	Inner [][]int64
	// Off and Len are the bytes that it is about, counted from the start of the stored
	// chunk. Where an index leads out of the chunk they are what it says, at most 2^63-1.
	Off, Len int64
	// Shared tells that the bytes belong to another inner chunk as well, and that nothing
	// else is wrong. Readers do not mind; a writer that overwrites them would change
	// both. To compact the chunk mends it.
	Shared bool
	// Err says what is wrong. It wraps [ErrCorrupt], or [ErrLimit] where what is stored
	// is too large to be looked at, unless the bytes are only shared. A check of many
	// chunks that goes on behind one that the store fails to read tells that error.
	Err error
}

// Error returns where the fault is, and what is wrong.
func (f Fault) Error() string {
	if len(f.Inner) == 0 {
		return f.Err.Error()
	}
	return fmt.Sprintf("inner chunk %v (%d bytes from byte %d on): %v", f.Inner, f.Len, f.Off, f.Err)
}

// Unwrap returns what is wrong.
func (f Fault) Unwrap() error { return f.Err }

// MostFaults is how many faults of one chunk are told.
const MostFaults = 1000

// Check is what was found out about a stored chunk.
type Check struct {
	Bytes  int64 // that it has
	Inner  int64 // inner chunks that it stores, not counting those within
	Dead   int64 // bytes that belong to no inner chunk and no index, also within inner chunks
	Faults []Fault
	More   int64 // faults besides these
}

// Add notes a fault.
func (c *Check) Add(f Fault) {
	if len(c.Faults) == MostFaults {
		c.More++
		return
	}
	c.Faults = append(c.Faults, f)
}

// AddInner adds what was found out about the inner chunk at index, whose bytes begin at
// off.
func (c *Check) AddInner(index []int64, off int64, of *Check) {
	c.Dead += of.Dead
	for _, f := range of.Faults {
		f.Inner = append([][]int64{index}, f.Inner...)
		f.Off += off
		c.Add(f)
	}
	c.More += of.More
}

// Check looks for faults in a stored chunk of a shape. Of a chunk of inner chunks it
// looks at the index and at those of nested inner chunks: whether they decode, and
// whether every inner chunk is in the chunk, outside of the index, and has its bytes for
// itself. If deep, it decodes every inner chunk too. A chunk without inner chunks is
// decoded, if deep.
//
// What is wrong with the chunk is no error but told in the result. A chunk that is not
// stored is [fs.ErrNotExist], one that is replaced meanwhile [store.ErrConflict]. For a
// source that is [Stored] the caller holds a core.
func (c *Chain) Check(ctx context.Context, w *Work, shape []int64, src Source, deep bool) (*Check, error) {
	if !c.Divided() {
		return c.checkWhole(ctx, w, shape, src, deep)
	}
	if !c.inOrder {
		shape = c.permuted(shape)
	}
	out, err := c.serial.(Divider).Check(ctx, w, shape, src, deep)
	if err != nil {
		return nil, c.failSerial(err)
	}
	for i := range out.Faults {
		f := &out.Faults[i]
		f.Err = c.failSerial(f.Err)
		if len(f.Inner) > 0 && !c.inOrder {
			f.Inner[0] = c.unpermuted(f.Inner[0])
		}
	}
	return out, nil
}

// unpermuted returns the numbers of axes in the order of the decoded array.
func (c *Chain) unpermuted(index []int64) []int64 {
	p := make([]int64, len(index))
	for i, axis := range c.order {
		p[axis] = index[i]
	}
	return p
}

// checkWhole is Check of a chunk without inner chunks.
func (c *Chain) checkWhole(ctx context.Context, w *Work, shape []int64, src Source, deep bool) (*Check, error) {
	n, ok := checked.Product(append([]int64{int64(c.spec.Width())}, shape...)...)
	if !ok {
		return nil, fmt.Errorf("%w: a chunk of shape %v", ErrLimit, shape)
	}
	data, inMemory := src.(Stored)
	if c.CheckedInRanges() && (n > CheckRange && !inMemory || !deep) {
		return c.checkRanges(ctx, shape, n, src, deep)
	}
	if !deep {
		_, info, err := src.Read(ctx, store.Request{Range: store.Span(0, 0)}, nil)
		return &Check{Bytes: info.Size}, err
	}
	if !inMemory {
		b := budget.Get(0)
		defer b.Put()
		var err error
		data, _, err = src.Read(ctx, store.Request{Limit: max(1, c.MaxEncoded(shape, n))}, b.B)
		if errors.Is(err, store.ErrTooLarge) {
			err = fmt.Errorf("%w: too long for its shape %v: %w", ErrCorrupt, shape, err)
			return &Check{Faults: []Fault{{Err: err}}}, nil
		}
		if err != nil {
			return nil, err
		}
		w.Cores.Enter()
		defer w.Cores.Leave()
	}
	out := &Check{Bytes: int64(len(data))}
	err := c.decodes(ctx, w, shape, n, data)
	if err != nil {
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrLimit) {
			return nil, err
		}
		out.Add(Fault{Len: out.Bytes, Err: err})
	}
	return out, nil
}

// decodes returns what is wrong with the stored bytes of a chunk of n bytes.
func (c *Chain) decodes(ctx context.Context, w *Work, shape []int64, n int64, data []byte) error {
	decode := func(room int64) error {
		decoded := budget.Get(n)
		defer decoded.Put()
		v := strided.View{Data: decoded.Bytes(n), Shape: shape, Size: c.spec.Width(), Heap: c.spec.Heap().Limited(room)}
		defer v.Heap.Release() // nobody looks at the elements
		start := w.Begin()
		err := c.Decode(&v, data)
		w.Coded(ctx, observe.Decode, n, start, err)
		return err
	}
	if c.varies {
		return w.Grow(ctx, c, n, data, decode)
	}
	return decode(0)
}
