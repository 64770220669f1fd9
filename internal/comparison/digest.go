// SPDX-License-Identifier: Apache-2.0

package comparison

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/residue"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
)

// DigestPrefix begins every digest. Another way to compute it needs another prefix.
const DigestPrefix = "varve1-"

// Digest returns a digest of the data type, the shape and the values of an array. It does
// not depend on chunks, codecs, byte order, format or fill value. done, if not nil, is
// called with the number of elements of each part that was read, from several goroutines.
//
// It is the SHA-256 of a short text with the type, the shape, and the sum of the elements
// in C order, little endian, as package residue defines it. An element of variable length
// counts as the first 16 bytes of its SHA-256.
func Digest(ctx context.Context, a Array, done func(elements int64)) (string, error) {
	typ := a.State().Type
	d := &digest{Array: a, size: int64(typ.Size()), done: done}
	if typ.Variable() {
		d.size = hashBytes
	}
	sum, err := d.run(ctx)
	if err != nil {
		return "", err
	}
	text := fmt.Appendf(nil, "varve digest 1\n%s\n%d\n%x\n", typ, d.shape, sum.Bytes())
	hash := sha256.Sum256(text)
	return DigestPrefix + hex.EncodeToString(hash[:]), nil
}

// hashBytes is the size that elements of variable length have in a digest.
const hashBytes = 16

// digestBytes bounds the bytes that a goroutine reads at a time, unless one chunk is
// longer.
const digestBytes = 16 << 20

// digest is the computation of a digest.
type digest struct {
	Array
	state *snapshot.Array
	shape []int64
	size  int64  // of an element in the sum, in bytes
	fill  []byte // of an element in the sum; nil unless it has to be subtracted
	done  func(elements int64)

	mu  sync.Mutex
	sum residue.Number
}

// run reads all elements, or those that are stored if these are few.
func (d *digest) run(ctx context.Context) (residue.Number, error) {
	states, boxes, sparse, err := stored(ctx, width(d.Array.State().Type), d.Array)
	if err != nil {
		return residue.Number{}, err
	}
	d.state, d.shape = states[0], states[0].Grid.Shape()
	if _, ok := checked.Product(append(slices.Clone(d.shape), d.size)...); !ok {
		return residue.Number{}, fmt.Errorf("%w: a digest of more than 2^63 bytes; compare parts", engine.ErrLimit)
	}
	if sparse {
		d.subtractFill()
	} else if boxes, err = d.boxes(); err != nil {
		return residue.Number{}, err
	}
	group, within := parallel.New(ctx)
	// One goroutine computes while another one waits for its elements.
	group.SetLimit(max(2, runtime.GOMAXPROCS(0)))
	buffers := sync.Pool{New: func() any { return new([]byte) }}
	for box := range boxes {
		if within.Err() != nil {
			break
		}
		group.Go(func() error {
			buffer := buffers.Get().(*[]byte)
			defer buffers.Put(buffer)
			return d.add(within, box, buffer)
		})
	}
	err = group.Wait(nil)
	return d.sum, err
}

// subtractFill makes missing chunks cost nothing: the sum begins as that of an array
// which has only the fill value, and each element that is read adds its difference.
func (d *digest) subtractFill() {
	d.setFill(d.state.Fill)
	all, _ := checked.Product(append(slices.Clone(d.shape), d.size)...) // run has checked it
	d.sum = residue.Repeated(d.fill, all)
}

// setFill makes elements count as their difference to a fill value.
func (d *digest) setFill(fill []byte) {
	if d.state.Type.Variable() {
		d.fill = appendHash(nil, fill)
		return
	}
	d.fill = slices.Clone(fill)
	littleEndian(d.state.Type, d.fill)
}

// littleEndian converts elements from the byte order of the host, in place.
func littleEndian(t dtype.Type, elements []byte) {
	if !dtype.LittleEndian() {
		t.Swap(elements, elements)
	}
}

func appendHash(dst, element []byte) []byte {
	hash := sha256.Sum256(element)
	return append(dst, hash[:hashBytes]...)
}

// boxes returns the boxes to read. Each chunk is in one box.
func (d *digest) boxes() (iter.Seq[grid.Box], error) {
	g, err := d.state.PieceGrid()
	if err != nil {
		return nil, err
	}
	return ofChunks(g).boxes(digestBytes / max(width(d.state.Type), d.size)), nil
}

// add adds the elements of a box. The buffer is for its memory.
func (d *digest) add(ctx context.Context, box grid.Box, buffer *[]byte) error {
	elements, err := d.elements(ctx, box, buffer)
	if err != nil {
		return err
	}
	sum := d.ofBox(box, elements)
	d.mu.Lock()
	d.sum = d.sum.Plus(sum)
	d.mu.Unlock()
	if d.done != nil {
		d.done(int64(len(elements)) / d.size)
	}
	return nil
}

// elements returns the elements of a box in the form of the sum.
func (d *digest) elements(ctx context.Context, box grid.Box, buffer *[]byte) ([]byte, error) {
	if d.state.Type.Variable() {
		return d.hashes(ctx, box, buffer)
	}
	n, _ := box.Len() // cannot overflow: Digest counted the whole array
	if int64(cap(*buffer)) < n*d.size {
		*buffer = make([]byte, n*d.size)
	}
	elements := (*buffer)[:n*d.size]
	if err := d.Read(ctx, box, elements); err != nil {
		return nil, err
	}
	littleEndian(d.state.Type, elements)
	return elements, nil
}

// hashes is elements for elements of variable length.
func (d *digest) hashes(ctx context.Context, box grid.Box, buffer *[]byte) ([]byte, error) {
	e, err := d.Elements(ctx, box)
	if err != nil {
		return nil, err
	}
	defer e.Heap.Release()
	hashes := (*buffer)[:0]
	for at := 0; at < len(e.Data); at += strided.RefSize {
		hashes = appendHash(hashes, e.Heap.Bytes(e.Data[at:]))
	}
	*buffer = hashes
	return hashes, nil
}

// ofBox returns the sum of the elements of a box, each run of neighbours at its place.
func (d *digest) ofBox(box grid.Box, elements []byte) residue.Number {
	outer, run := d.runs(box)
	var fills []byte
	for int64(len(fills)) < run*int64(len(d.fill)) {
		fills = append(fills, d.fill...)
	}
	var sum residue.Number
	for index := range outer.IndicesInto(make([]int64, len(box))) {
		offset := int64(0)
		for i, at := range index {
			offset = offset*d.shape[i] + at
		}
		sum = sum.Plus(residue.Of(elements[:run*d.size], offset*d.size))
		if fills != nil {
			sum = sum.Minus(residue.Of(fills, offset*d.size))
		}
		elements = elements[run*d.size:]
	}
	return sum
}

// runs returns the box of the first elements of the runs in a box, and their length. A
// run goes on along an axis if the box has all elements along those after it.
func (d *digest) runs(box grid.Box) (outer grid.Box, run int64) {
	outer, run = append(grid.Box(nil), box...), 1
	for i := len(box) - 1; i >= 0; i-- {
		run *= box[i].Len()
		outer[i].Stop = outer[i].Start + 1
		if box[i].Len() < d.shape[i] {
			break
		}
	}
	return outer, run
}
