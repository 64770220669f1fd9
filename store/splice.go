// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"io"

	"varve.dev/zarr/internal/checked"
)

// Fragment is a part of the value that [Splice] builds. It is the bytes of Data or, if
// Data is nil, the N bytes from offset Off on of the version that is replaced.
type Fragment struct {
	Data   []byte
	Off, N int64
}

// Splicer builds a value from new bytes and parts of its present version, without moving
// the old bytes through the program.
type Splicer interface {
	// Splice replaces the value at key by the fragments, first to last, and returns the
	// new version. It is atomic as PutIf is.
	//
	// Splice returns ErrConflict if the value is not of version from, or does not exist,
	// and the error of [SplicedSize] if that fails. Then nothing has changed. After any
	// other error the outcome is unknown. The driver does not keep the bytes of the
	// fragments.
	Splice(ctx context.Context, key Key, from Version, fragments []Fragment, d Durability) (Version, error)
}

// SplicingBatch is a [Batch] that can also splice. A splice is checked, visible and
// durable as the writes of [ConditionalBatch] are.
type SplicingBatch interface {
	Batch
	// Splice is that of [Splicer].
	Splice(ctx context.Context, key Key, from Version, fragments []Fragment) error
}

// SplicedSize returns the number of bytes that fragments make of a value of size bytes.
// Drivers call it once they know the size.
//
// If a fragment is not within the value, the error is [io.ErrUnexpectedEOF]. If the
// fragments have more old bytes in total than the value, the error is [ErrTooLarge].
// Without this limit, a few numbers could request a value of any length.
func SplicedSize(size int64, fragments []Fragment) (int64, error) {
	var old, fresh int64
	for i, p := range fragments {
		var ok bool
		switch {
		case p.Data != nil:
			if fresh, ok = checked.Add(fresh, int64(len(p.Data))); !ok {
				return 0, fmt.Errorf("%w: new bytes up to fragment %d", ErrTooLarge, i)
			}
		case p.Off < 0 || p.N < 0 || p.Off > size || p.N > size-p.Off:
			return 0, fmt.Errorf("store: fragment %d takes %s of a value of %d bytes: %w", i, Span(p.Off, p.N), size, io.ErrUnexpectedEOF)
		default:
			if old, ok = checked.Add(old, p.N); !ok || old > size {
				return 0, fmt.Errorf("%w: the fragments up to %d take bytes twice of a value of %d bytes", ErrTooLarge, i, size)
			}
		}
	}
	n, ok := checked.Add(old, fresh)
	if !ok {
		return 0, fmt.Errorf("%w: %d old and %d new bytes", ErrTooLarge, old, fresh)
	}
	return n, nil
}

// Splice replaces the value at key, which must be of version from, by the fragments; see
// [Splicer]. If s is not a Splicer, Splice reads the old bytes into memory and writes the
// value with [PutIf]. If s cannot do that either, the error is [ErrUnsupported].
func Splice(ctx context.Context, s Store, key Key, from Version, fragments []Fragment, d Durability) (Version, error) {
	if w, ok := As[Splicer](s); ok {
		return w.Splice(ctx, key, from, fragments, d)
	}
	if _, ok := As[ConditionalWriter](s); !ok {
		return Version{}, unsupported(s, "write on a condition")
	}
	value, err := splice(ctx, s, key, from, fragments)
	if err != nil {
		return Version{}, err
	}
	return PutIf(ctx, s, key, value, IfVersion(from), d)
}

// BatchSplice splices a value as part of b. If b is not a [SplicingBatch], the error is
// [ErrUnsupported]. A batch made by [NewBatch] splices if its store can write on a
// condition.
func BatchSplice(ctx context.Context, b Batch, key Key, from Version, fragments []Fragment) error {
	c, ok := b.(SplicingBatch)
	if !ok {
		return cannot(b, "batch", "splice")
	}
	return c.Splice(ctx, key, from, fragments)
}
