// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"strings"
	"sync"
	"time"

	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/store"
)

// saver stores the records of a share from time to time, so that there are few objects:
// who repeats the share reads them all. What a kill loses is the work of that time.
type saver struct {
	of string // the marker of the share, with which the names of the objects end

	mu      sync.Mutex
	dir     store.Path
	pending []staging.Record
	since   time.Time // of the first pending one
}

const (
	// saveEvery is the time after which records are stored at the latest.
	saveEvery = 10 * time.Second
	// mostPending bounds the records that are not stored yet.
	mostPending = 1 << 14
)

// ofShare separates the rest of a name from the share that it ends with.
const ofShare = "."

// kinship says what an object with records has to do with a share.
type kinship int

const (
	ownRecords     kinship = iota // its records are about this share
	siblingRecords                // they are about another share of the same division
	foreignRecords                // they may be about any chunk
)

// kinship returns what an object with records has to do with the share.
func (s *saver) kinship(name string) kinship {
	_, share, has := strings.Cut(name, ofShare)
	division := s.of[:strings.LastIndexByte(s.of, '-')+1]
	switch {
	case has && share == s.of:
		return ownRecords
	case has && strings.HasPrefix(share, division):
		return siblingRecords
	}
	return foreignRecords
}

// save stores records, or keeps them to store them later with others.
func (w *work) save(ctx context.Context, dir store.Path, records []staging.Record) error {
	s := w.saver
	if s == nil {
		return saveRecords(ctx, w.at, dir, records, w.Node.Durability)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 {
		s.since = time.Now()
	}
	s.dir, s.pending = dir, append(s.pending, records...)
	if len(s.pending) < mostPending && time.Since(s.since) < saveEvery {
		return nil
	}
	return w.flushLocked(ctx)
}

// flush stores what save has kept.
func (w *work) flush(ctx context.Context) error {
	w.saver.mu.Lock()
	defer w.saver.mu.Unlock()
	return w.flushLocked(ctx)
}

func (w *work) flushLocked(ctx context.Context) error {
	s := w.saver
	if len(s.pending) == 0 {
		return nil
	}
	records := s.pending
	s.pending = nil
	return saveRecordsOf(ctx, w.at, s.dir, ofShare+s.of, records, w.Node.Durability)
}
