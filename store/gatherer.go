// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"io"
	"slices"
)

// Gatherer builds a value from ranges of values of another store and new bytes, without
// holding the value in memory: a value may be a shard of many gigabytes.
//
// A driver that uploads or writes a value piece by piece, and publishes it whole at the
// end, needs nothing but [WriteParts]. It may do better for stores that it knows. A file
// store lets the kernel copy ranges of files. An object store may use UploadPartCopy
// between two buckets. It never makes the two values share bytes that another program
// could change in place, as a hard link would.
type Gatherer interface {
	// Gather is [Assembler.Assemble] with sources that are values of the store from. If
	// this store cannot gather from that one, the error is ErrUnsupported, and nothing
	// has changed.
	Gather(ctx context.Context, key Key, from Store, parts []Part, d Durability) (Version, error)
}

// GatheringBatch is a [Batch] that can also gather. The value becomes visible and durable
// as a Put of the batch does.
type GatheringBatch interface {
	Batch
	// Gather is that of [Gatherer].
	Gather(ctx context.Context, key Key, from Store, parts []Part) error
}

// Gather stores parts of the store from as the value at key of s; see [Gatherer]. If s is
// not a Gatherer, or cannot gather from that store, the error is [ErrUnsupported]: then
// collect the bytes with [WriteParts], and [Put] them.
func Gather(ctx context.Context, s Store, key Key, from Store, parts []Part, d Durability) (Version, error) {
	g, ok := As[Gatherer](s)
	if !ok {
		return Version{}, unsupported(s, "gather")
	}
	return g.Gather(ctx, key, from, parts, d)
}

// BatchGather gathers a value as part of b; see [Gather]. If b is not a [GatheringBatch],
// the error is [ErrUnsupported]. A batch made by [NewBatch] gathers if its store does.
func BatchGather(ctx context.Context, b Batch, key Key, from Store, parts []Part) error {
	g, ok := b.(GatheringBatch)
	if !ok {
		return cannot(b, "batch", "gather")
	}
	return g.Gather(ctx, key, from, parts)
}

const (
	// pieceSize is the number of bytes that WriteParts reads and writes at once.
	pieceSize = 4 << 20
	// PartsMemory is the most bytes that [WriteParts] holds.
	PartsMemory = 2 * pieceSize
)

// WriteParts writes the bytes of parts of the store from to w, first to last. It holds at
// most [PartsMemory] bytes, and reads parts that are close to each other together. The
// errors are those of [Assembler], and those of w. Some bytes may have been written by
// then, so drop what w has after any error.
func WriteParts(ctx context.Context, w io.Writer, from Store, parts []Part) error {
	if _, err := AssembledSize(parts); err != nil {
		return err
	}
	pieces := piecesOf(parts)
	c := &collector{s: from, parts: pieces, most: pieceSize, known: map[Key]Info{}}
	defer c.leave()
	var held []byte // that is not written yet
	flush := func() error {
		_, err := w.Write(held)
		held = held[:0]
		return err
	}
	for i, p := range pieces {
		n := p.N
		if p.Data != nil {
			n = int64(len(p.Data))
		}
		if n > pieceSize-int64(len(held)) {
			if err := flush(); err != nil {
				return err
			}
		}
		if p.Data != nil && n > pieceSize { // it is held already
			if _, err := w.Write(p.Data); err != nil {
				return err
			}
			continue
		}
		if p.Data != nil {
			held = append(held, p.Data...)
			continue
		}
		if int64(cap(held)-len(held)) < n { // never more than a piece
			held = slices.Grow(held, int(min(max(2*n, 64<<10), pieceSize-int64(len(held)))))
		}
		var err error
		if held, err = c.take(ctx, i, held); err != nil {
			return err
		}
	}
	return flush()
}

// piecesOf returns parts with those that are longer than a piece cut into pieces.
func piecesOf(parts []Part) []Part {
	long := func(p Part) bool { return p.Data == nil && p.N > pieceSize }
	if !slices.ContainsFunc(parts, long) {
		return parts
	}
	var pieces []Part
	for _, p := range parts {
		for ; long(p); p.Off, p.N = p.Off+pieceSize, p.N-pieceSize {
			piece := p
			piece.N = pieceSize
			pieces = append(pieces, piece)
		}
		pieces = append(pieces, p)
	}
	return pieces
}
