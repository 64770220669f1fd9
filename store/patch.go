// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"io"
)

// Patch overwrites bytes of a value: Data replaces the bytes from offset Off on.
type Patch struct {
	Off  int64
	Data []byte
}

// Patcher overwrites bytes within a value, in place. A store should implement it only if
// patches are atomic: readers, also after a crash, see all of them or none. A store with
// conditional writes can always [Splice] instead.
type Patcher interface {
	// Patch overwrites bytes of the value at key, in the order of patches, and returns
	// the new version. The value keeps its length. Readers see all patches or none.
	// Objects opened before may fail with ErrConflict from then on.
	//
	// Patch returns ErrConflict if the value is not of version from, or does not exist,
	// and the error of [CheckPatches] if that fails. Then nothing has changed. After any
	// other error the outcome is unknown. The driver does not keep the bytes of the
	// patches.
	Patch(ctx context.Context, key Key, from Version, patches []Patch, d Durability) (Version, error)
}

// PatchingBatch is a [Batch] that can also patch. A patch is checked, visible and durable
// as the writes of [ConditionalBatch] are.
type PatchingBatch interface {
	Batch
	// Patch is that of [Patcher].
	Patch(ctx context.Context, key Key, from Version, patches []Patch) error
}

// CheckPatches returns an error that wraps [io.ErrUnexpectedEOF] if a patch does not lie
// within a value of size bytes. Drivers call it once they know the size.
func CheckPatches(size int64, patches []Patch) error {
	for i, p := range patches {
		// Compare with a difference: a sum could overflow.
		if p.Off < 0 || p.Off > size || int64(len(p.Data)) > size-p.Off {
			span := Span(p.Off, int64(len(p.Data)))
			return fmt.Errorf("store: patch %d is %s of a value of %d bytes: %w", i, span, size, io.ErrUnexpectedEOF)
		}
	}
	return nil
}

// PatchValue overwrites bytes of the value at key, which must be of version from; see
// [Patcher]. If s is not a Patcher, the error is [ErrUnsupported]; use [Splice] instead.
func PatchValue(ctx context.Context, s Store, key Key, from Version, patches []Patch, d Durability) (Version, error) {
	p, ok := As[Patcher](s)
	if !ok {
		return Version{}, unsupported(s, "patch")
	}
	return p.Patch(ctx, key, from, patches, d)
}

// BatchPatch patches a value as part of b. If b is not a [PatchingBatch], the error is
// [ErrUnsupported]. A batch made by [NewBatch] patches if its store is a [Patcher].
func BatchPatch(ctx context.Context, b Batch, key Key, from Version, patches []Patch) error {
	p, ok := b.(PatchingBatch)
	if !ok {
		return cannot(b, "batch", "patch")
	}
	return p.Patch(ctx, key, from, patches)
}
