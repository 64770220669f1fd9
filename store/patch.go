package store

import (
	"context"
	"fmt"
	"io"
)

// Patch is a stretch of a value that is overwritten: the bytes from byte Off on become
// those of Data.
type Patch struct {
	Off  int64
	Data []byte
}

// Patcher is the power to overwrite bytes within a value, in place. Only a store where
// that is all or nothing has it, to readers and to whatever stops the machine: see
// [Splicer] for what every store with conditional writes can do.
type Patcher interface {
	// Patch overwrites bytes of the value at key, which has to be of version from, patch
	// by patch, and returns the new version. The value keeps its length. Readers see all
	// patches or none; an object that was open before may fail with ErrConflict from then
	// on. Where the value is of another version, and where there is none, Patch fails
	// with ErrConflict; where [CheckPatches] does, with its error; and then nothing has
	// changed. The driver does not keep the bytes of the patches. An error of another
	// kind leaves open whether they were written.
	Patch(ctx context.Context, key Key, from Version, patches []Patch, d Durability) (Version, error)
}

// PatchingBatch is a [Batch] that can also patch. What [ConditionalBatch] says of its
// writes holds here.
type PatchingBatch interface {
	Batch
	// Patch is that of [Patcher].
	Patch(ctx context.Context, key Key, from Version, patches []Patch) error
}

// CheckPatches returns an error that wraps [io.ErrUnexpectedEOF] where a patch is not
// within a value of size bytes. Drivers call it once they know the size.
func CheckPatches(size int64, patches []Patch) error {
	for i, p := range patches {
		if p.Off < 0 || p.Off > size || int64(len(p.Data)) > size-p.Off {
			span := Span(p.Off, int64(len(p.Data)))
			return fmt.Errorf("store: patch %d is %s of a value of %d bytes: %w", i, span, size, io.ErrUnexpectedEOF)
		}
	}
	return nil
}

// PatchValue overwrites bytes of the value at key, of version from; see [Patcher]. A
// store that is none is [ErrUnsupported]: use [Splice] there.
func PatchValue(ctx context.Context, s Store, key Key, from Version, patches []Patch, d Durability) (Version, error) {
	p, ok := As[Patcher](s)
	if !ok {
		return Version{}, unsupported(s, "patch")
	}
	return p.Patch(ctx, key, from, patches, d)
}

// BatchPatch patches as part of b, or fails with [ErrUnsupported]; see [PatchingBatch]. A
// batch of [NewBatch] patches wherever its store can.
func BatchPatch(ctx context.Context, b Batch, key Key, from Version, patches []Patch) error {
	p, ok := b.(PatchingBatch)
	if !ok {
		return cannot(b, "batch", "patch")
	}
	return p.Patch(ctx, key, from, patches)
}
