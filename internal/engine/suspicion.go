// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"io/fs"

	"varve.dev/zarr/store"
)

// Suspicion is the reason to believe that a concurrent writer changed the grid during a
// read. Then keys may hold chunks of another grid, and the read has to check the
// document.
type Suspicion int32

// examine raises the suspicion if the chunk was written after the caller checked the
// document, or at an unknown time.
func (w *worker) examine(info store.Info) {
	if info.Modified.IsZero() || info.Modified.After(w.since) {
		w.suspect(Newer)
	}
}

// suspect raises the suspicion of the read to at least s.
func (r *run) suspect(s Suspicion) {
	// A weaker suspicion of another worker must not replace a stronger one.
	for old := r.suspicion.Load(); old < int32(s); old = r.suspicion.Load() {
		r.suspicion.CompareAndSwap(old, int32(s))
	}
}

// orFill sets the part to the fill value if the chunk is not stored.
func (w *worker) orFill(found bool, err error, skipFill bool) error {
	if err != nil || found {
		return err
	}
	w.suspect(Missing)
	if w.RequireChunks {
		return ErrMissing
	}
	if !skipFill {
		w.Blank(w.Fill)
	}
	return nil
}

// ErrMissing means that a chunk is not stored although the array requires it.
var ErrMissing = fmt.Errorf("%w: the chunk is not stored; restore it, or read it as fill values (Options.RequireChunks)", fs.ErrNotExist)

// The suspicions, in increasing order.
const (
	Certain Suspicion = iota // every chunk was written before Reading.Since
	Newer                    // a chunk was written later, or at an unknown time
	Missing                  // a chunk is not stored
)
