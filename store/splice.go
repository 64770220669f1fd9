package store

import (
	"context"
	"fmt"
	"io"

	"varve.dev/zarr/internal/checked"
)

// Piece is a stretch of a value that is put together by [Splice]: the bytes of Data where
// it is not nil, else the N bytes from byte Off on of the version that is replaced.
type Piece struct {
	Data   []byte
	Off, N int64
}

// Splicer is the power to write a value that is made of parts of its present version and
// of new bytes, without the old bytes passing through the program.
type Splicer interface {
	// Splice replaces the value at key, which has to be of version from, by the pieces,
	// first to last, and returns the new version. It is whole or not at all as PutIf is:
	// where the value is of another version, and where there is none, it fails with
	// ErrConflict; where [SplicedSize] refuses the pieces, with its error; and then
	// nothing has changed. The driver does not keep the bytes of the pieces. An error of
	// another kind leaves open whether the value was written.
	Splice(ctx context.Context, key Key, from Version, pieces []Piece, d Durability) (Version, error)
}

// SplicingBatch is a [Batch] that can also splice. What [ConditionalBatch] says of its
// writes holds here.
type SplicingBatch interface {
	Batch
	// Splice is that of [Splicer].
	Splice(ctx context.Context, key Key, from Version, pieces []Piece) error
}

// SplicedSize returns the number of bytes that pieces make of a value of size bytes.
// Drivers call it once they know the size. A piece that is not in the value is
// [io.ErrUnexpectedEOF]; pieces that take more old bytes than there are in all, which is
// to take some twice, are [ErrTooLarge], so that a few numbers cannot ask for a value
// without bounds.
func SplicedSize(size int64, pieces []Piece) (int64, error) {
	var old, fresh int64
	for i, p := range pieces {
		var ok bool
		switch {
		case p.Data != nil:
			if fresh, ok = checked.Add(fresh, int64(len(p.Data))); !ok {
				return 0, fmt.Errorf("%w: new bytes up to piece %d", ErrTooLarge, i)
			}
		case p.Off < 0 || p.N < 0 || p.Off > size || p.N > size-p.Off:
			return 0, fmt.Errorf("store: piece %d takes %s of a value of %d bytes: %w", i, Span(p.Off, p.N), size, io.ErrUnexpectedEOF)
		default:
			if old, ok = checked.Add(old, p.N); !ok || old > size {
				return 0, fmt.Errorf("%w: the pieces up to %d take bytes twice of a value of %d bytes", ErrTooLarge, i, size)
			}
		}
	}
	n, ok := checked.Add(old, fresh)
	if !ok {
		return 0, fmt.Errorf("%w: %d old and %d new bytes", ErrTooLarge, old, fresh)
	}
	return n, nil
}

// Splice replaces the value at key, of version from, by the pieces; see [Splicer]. Where
// s is none, the old bytes are read and written again as [PutIf] does, and fit into
// memory; a store without that power is [ErrUnsupported].
func Splice(ctx context.Context, s Store, key Key, from Version, pieces []Piece, d Durability) (Version, error) {
	if w, ok := As[Splicer](s); ok {
		return w.Splice(ctx, key, from, pieces, d)
	}
	if _, ok := As[ConditionalWriter](s); !ok {
		return Version{}, unsupported(s, "write on a condition")
	}
	value, err := assemble(ctx, s, key, from, pieces)
	if err != nil {
		return Version{}, err
	}
	return PutIf(ctx, s, key, value, IfVersion(from), d)
}

// BatchSplice splices as part of b, or fails with [ErrUnsupported]; see [SplicingBatch].
// A batch of [NewBatch] splices wherever its store can write on a condition.
func BatchSplice(ctx context.Context, b Batch, key Key, from Version, pieces []Piece) error {
	c, ok := b.(SplicingBatch)
	if !ok {
		return cannot(b, "batch", "splice")
	}
	return c.Splice(ctx, key, from, pieces)
}
