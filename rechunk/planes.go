// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/staging"
)

// planeMover is a request after which planes have other indices. Executed a second time,
// it would move other planes, whereas all other requests would change nothing.
type planeMover interface {
	Request
	// planesAt returns the axis of the planes, and the extent that it must have in the
	// beginning, or 0.
	planesAt() (axis int, expect int64)
}

// movesPlanes reports whether the request moves planes.
func (a *subject) movesPlanes() bool {
	_, is := singleRequest(a.request).(planeMover)
	return is
}

// identify finds out what a request that moves planes is about. It also completes a
// transaction that a crashed writer has left, because that tells whether the request was
// done already.
func (a *subject) identify(ctx context.Context) error {
	if !a.movesPlanes() {
		return nil
	}
	// A plan may be made of an array that is not open for writing.
	if a.core.Writable() == nil {
		if err := a.core.FinishOthers(ctx); err != nil {
			return err
		}
	}
	r, is := a.request.(Insertion)
	if !is || r.Identity != "" {
		return nil
	}
	old, err := a.fresh(ctx)
	if err != nil {
		return err
	}
	planes, err := r.planes(old)
	if err != nil {
		return err
	}
	if r.Words != nil {
		r.Identity = identityOfWords(r.Words, planes)
	} else {
		r.Identity, err = identityOf(ctx, r.From, int64(old.Engine.Size))
	}
	a.request = r
	return err
}

// hashedBytes is the size of the parts in which elements are hashed.
const hashedBytes = 8 << 20

// identityOf returns a hash of the shape and the elements of a source.
func identityOf(ctx context.Context, src *zarr.Source, size int64) (string, error) {
	h := sha256.New()
	fmt.Fprint(h, src.Shape)
	room := make([]byte, 0, hashedBytes)
	var err error
	staging.Halves(grid.BoxOf(src.Shape), max(1, hashedBytes/size), func(box grid.Box) bool {
		n, _ := box.Len()
		if n *= size; n > int64(cap(room)) {
			room = make([]byte, 0, n)
		}
		if err = ctx.Err(); err == nil && n > 0 {
			err = src.Read(ctx, slices.Clone(box), room[:n])
		}
		h.Write(room[:n])
		return err == nil
	})
	if err != nil {
		return "", fmt.Errorf("read the elements to insert: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// identityOfWords returns a hash of words, which make so many planes.
func identityOfWords(words [][]byte, planes int64) string {
	h := sha256.New()
	fmt.Fprint(h, planes, len(words))
	var length []byte
	for _, w := range words {
		length = binary.AppendUvarint(length[:0], uint64(len(w)))
		h.Write(length)
		h.Write(w)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// checkUnmoved returns an error if planes have moved since the array was opened, and
// with them those that the request means.
func (a *subject) checkUnmoved(ctx context.Context) error {
	if !a.movesPlanes() {
		return nil
	}
	_, err := a.core.Unmoved(ctx)
	return err
}
