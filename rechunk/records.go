// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/blocks"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/store"
)

// recordsDir is the directory, below that of the array, of the records of rechunks.
// It has a directory for every ID of a claim.
const recordsDir = own.Dir + "/regrid/"

// leastRecords is how many bytes of records may be held in any case.
const leastRecords = 16 << 20

// recordsOf returns the directory of the records of a rechunk.
func recordsOf(at lineage.Array, id string) store.Path {
	return at.Path.MustKey(recordsDir + id + "/-").Dir()
}

// saveRecords stores records that were not stored yet. Their chunks are durable already,
// so a record never promises more than is stored. The name of the object begins with the
// time, because of two records of a chunk the later one counts, and ends with suffix.
func saveRecords(ctx context.Context, at lineage.Array, dir store.Path, suffix string, records []staging.Record, d store.Durability) error {
	key := dir.MustKey(fmt.Sprintf("%020d-%s%s", time.Now().UnixNano(), newID(), suffix))
	_, err := store.Write(ctx, at.Store, store.Put(key, staging.AppendRecords(nil, records)), d)
	return err
}

// loadRecords reads the records in a directory, oldest first. If they take more than most
// bytes when they are decoded, the error wraps [zarr.ErrLimit].
func loadRecords(ctx context.Context, at lineage.Array, dir store.Path, rank int, most int64) ([]staging.Record, error) {
	names, err := namesIn(ctx, at.Store, dir, store.Flat)
	if err != nil {
		return nil, err
	}
	return readRecords(ctx, at, dir, names, rank, most)
}

// readRecords reads the records in some objects of a directory.
func readRecords(ctx context.Context, at lineage.Array, dir store.Path, names []string, rank int, most int64) ([]staging.Record, error) {
	left := max(most, leastRecords)
	tooMany := fmt.Errorf("%w: the records of staged chunks in %s take more than %s ("+remedy.Memory+"); give the rechunk up ("+remedy.Abandon+")", zarr.ErrLimit, dir, quantity.Count(left, "bytes"))
	group, within := parallel.New(ctx)
	group.SetLimit(max(tasks, engine.InFlight(at.Store, 0, tasks)))
	var mu sync.Mutex
	found := make([][]staging.Record, len(names))
	for i, name := range names {
		group.Go(func() error {
			records, err := loadRecord(within, at, dir.MustKey(name), rank, max(most, leastRecords))
			// The limit counts decoded records, of all objects together. Without it, an
			// array of very many chunks would take all memory before anything is
			// staged.
			mu.Lock()
			defer mu.Unlock()
			if left -= int64(len(records)) * recordBytes(rank); left < 0 || errors.Is(err, store.ErrTooLarge) {
				return tooMany
			}
			found[i] = records
			return err
		})
	}
	err := group.Wait(nil)
	return slices.Concat(found...), err
}

// loadRecord reads the records of an object, or none if it is gone or damaged.
func loadRecord(ctx context.Context, at lineage.Array, key store.Key, rank int, most int64) ([]staging.Record, error) {
	data, _, err := at.Store.Get(ctx, key, store.Request{Limit: most}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	records, err := staging.ParseRecords(data, rank)
	if err != nil {
		return nil, nil // their chunks are staged again
	}
	return records, nil
}

// recordBytes returns about how many bytes a decoded record takes.
func recordBytes(rank int) int64 { return 72 + 8*int64(rank) }

// mostNames bounds the objects in a directory that are listed: there is one for every
// task.
const mostNames = 1 << 22

// namesIn returns the names of the values in a directory, sorted, or also those below it.
func namesIn(ctx context.Context, s store.Store, dir store.Path, how store.Listing) ([]string, error) {
	var names []string
	for e, err := range store.List(ctx, s, dir, how) {
		if err != nil {
			return nil, err
		}
		if e.Dir {
			continue
		}
		if len(names) == mostNames {
			return nil, fmt.Errorf("%w: more than %s in %s; give the rechunk up ("+remedy.Abandon+")", zarr.ErrLimit, quantity.Count(mostNames, "objects"), dir)
		}
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names, nil
}

// removeOwn deletes the records and the scratch of a rechunk.
func removeOwn(ctx context.Context, at lineage.Array, id string) error {
	for _, dir := range []store.Path{scratchOf(at, id), recordsOf(at, id)} {
		var names []string // a listing need not be complete while values are deleted
		for e, err := range store.List(ctx, at.Store, dir, store.Deep) {
			if err != nil {
				return err
			}
			names = append(names, e.Name)
		}
		group, within := parallel.New(ctx)
		group.SetLimit(engine.InFlight(at.Store, 0, tasks))
		for _, name := range names {
			group.Go(func() error {
				_, err := store.Write(within, at.Store, store.Delete(dir.MustKey(name)), store.Sync)
				return err
			})
		}
		if err := group.Wait(nil); err != nil {
			return err
		}
	}
	return nil
}

// saver collects the records of a share and stores them at intervals. So there are few
// objects, all of which a process that repeats the share reads. A crash loses the work of
// one interval.
type saver struct {
	hold  *hold
	share string // the marker of the share, with which the names of the objects end

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

// shareSeparator separates the rest of a name from the share that it ends with.
const shareSeparator = "."

// kinship says what an object with records has to do with a share.
type kinship int

const (
	ownRecords     kinship = iota // its records are about this share
	siblingRecords                // they are about another share of the same division
	foreignRecords                // they may be about any chunk
)

// kinship returns what an object with records has to do with the share.
func (s *saver) kinship(name string) kinship {
	_, share, has := strings.Cut(name, shareSeparator)
	division := s.share[:strings.LastIndexByte(s.share, '-')+1]
	switch {
	case has && share == s.share:
		return ownRecords
	case has && strings.HasPrefix(share, division):
		return siblingRecords
	}
	return foreignRecords
}

// save keeps records to store them later with others.
func (s *saver) save(ctx context.Context, dir store.Path, records []staging.Record) error {
	// Two tasks of the share run at once.
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 {
		s.since = time.Now()
	}
	s.dir, s.pending = dir, append(s.pending, records...)
	if len(s.pending) < mostPending && time.Since(s.since) < saveEvery {
		return nil
	}
	return s.flushLocked(ctx)
}

// flush stores what save has kept.
func (s *saver) flush(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flushLocked(ctx)
}

func (s *saver) flushLocked(ctx context.Context) error {
	if len(s.pending) == 0 {
		return nil
	}
	// After an error these records are lost, and their chunks are staged again.
	records := s.pending
	s.pending = nil
	return saveRecords(ctx, s.hold.at, s.dir, shareSeparator+s.share, records, s.hold.durability)
}

// markersDir has a marker of each share that is done, an object that says so by its name.
// So the publisher can tell a share that no process has executed from chunks that have
// changed since.
const markersDir = "done/"

// lastStage is how the names of markers begin for the last stage, which may have another
// number once the array has grown.
const lastStage = "last"

// marker returns the name of the marker of a share in a plan.
func (p StageShare) marker(plan *blocks.Plan) string {
	stage := lastStage
	if p.Stage < len(plan.Stages)-1 {
		stage = strconv.Itoa(p.Stage)
	}
	return fmt.Sprintf("%s-%d-%d", stage, max(1, p.Of), p.Task)
}

// markers are those of the shares that are done.
type markers struct {
	hold *hold
	dir  store.Path
}

// markers returns the markers of the claimed rechunk.
func (h *hold) markers() markers {
	return markers{h, recordsOf(h.at, h.claim.ID).MustKey(markersDir + "-").Dir()}
}

// put notes that a share is done.
func (m markers) put(ctx context.Context, name string) error {
	_, err := store.Write(ctx, m.hold.at.Store, store.Put(m.dir.MustKey(name), []byte("{}")), m.hold.durability)
	return err
}

// has reports whether a share was done.
func (m markers) has(ctx context.Context, name string) (bool, error) {
	return store.Exists(ctx, m.hold.at.Store, m.dir.MustKey(name))
}

// names returns the names of the markers.
func (m markers) names(ctx context.Context) (map[string]struct{}, error) {
	names, err := namesIn(ctx, m.hold.at.Store, m.dir, store.Flat)
	done := make(map[string]struct{}, len(names))
	for _, name := range names {
		done[name] = struct{}{}
	}
	return done, err
}

// checkDone returns an error unless all shares of the last stage are done.
func (m markers) checkDone(ctx context.Context, plan *blocks.Plan) error {
	names, err := m.names(ctx)
	if err != nil {
		return err
	}
	best, tasks := int64(0), map[int64]map[int64]bool{}
	for name := range names {
		var of, task int64
		if n, err := fmt.Sscanf(name, lastStage+"-%d-%d", &of, &task); n < 2 || err != nil {
			continue
		}
		if tasks[of] == nil {
			tasks[of] = map[int64]bool{}
		}
		tasks[of][task] = true
	}
	// Processes may have divided the tasks differently. One complete division is
	// enough. The error is about the one that has the most tasks done.
	for of, done := range tasks {
		if int64(len(done)) == of {
			return nil
		}
		if len(done) > len(tasks[best]) {
			best = of
		}
	}
	stage := len(plan.Stages) - 1
	if best == 0 {
		return fmt.Errorf("%w: no task of stage %d is done", ErrUnfinished, stage)
	}
	missing := int64(0)
	for tasks[best][missing] {
		missing++
	}
	return fmt.Errorf("%w: stage %d lacks task %d/%d", ErrUnfinished, stage, missing, best)
}
