// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
)

// Recorder notes what chunks hold when they are stored, from the elements in memory. It
// is safe for concurrent use.
type Recorder interface {
	// Begin begins the record of the chunk at an index, which is about to be encoded.
	// It returns nil if nothing is to be noted.
	Begin(ctx context.Context, index []int64) Record
	// Notes reports whether anything is noted.
	Notes(ctx context.Context) bool
	// Copied notes a chunk that was stored without being decoded. source returns the
	// origin of the cell, the chunk or inner chunk, that begins at an element.
	Copied(ctx context.Context, index []int64, version store.Version, source func(element []int64) (Origin, bool))
}

// Origin is a chunk or an inner chunk, in a state of the same array, whose encoded bytes
// were copied.
type Origin struct {
	Of          Recorder // of that state
	Chunk, Cell []int64
	Version     store.Version // of the chunk, as it was copied; zero if it was not stored
}

// Record notes what one chunk holds. The index of [coding.Notes] is that of an inner
// chunk within its shard, or nil for the whole chunk.
type Record interface {
	coding.Notes
	// Take adds the notes of another record, made before the chunk was encoded. They hold
	// where this record says that nobody has the elements. Inner chunks of o are at an
	// offset in this shard.
	Take(o Record, offset []int64)
	// Stored ends the record: the chunk is stored, with the version that its write has
	// told. Inner chunks without a note are those of version from, or have the fill value
	// if from is zero.
	Stored(ctx context.Context, version, from store.Version)
}

// noted is a record of elements that were encoded earlier.
type noted struct {
	Record
	offset []int64 // of its inner chunks in the shard
}

// beginRecord begins the record of the chunk, if it is to be noted. v has its elements,
// or no data if they are noted by inner chunks.
func (w *worker) beginRecord(ctx context.Context, v strided.View) {
	if w.record = nil; w.Recorder == nil {
		return
	}
	if w.record = w.Recorder.Begin(ctx, w.Visit.Chunk); w.record != nil && v.Data != nil {
		w.record.Note(nil, v)
	}
}

// make makes a change that stores the chunk, and ends its record.
func (w *writer) make(ctx context.Context, c store.Change) error {
	made, err := w.Batch.Write(ctx, c.Telling(w.record != nil))
	if err == nil && w.record != nil {
		w.record.Stored(ctx, made.Version, w.from)
	}
	return err
}
