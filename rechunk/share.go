// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/blocks"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/sharing"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
)

// checkShare returns an error unless the share is one of a plan with so many stages.
func checkShare(p sharing.Share, stages int) error {
	switch {
	case p.Stage < 0 || p.Stage >= stages:
		return fmt.Errorf("%w: stage %d of %s, which count from 0", zarr.ErrInvalidArgument, p.Stage, quantity.Count(stages, "stages"))
	case p.Of < 0 || p.Task < 0 || p.Task >= max(1, p.Of):
		return fmt.Errorf("%w: task %d of %d, which count from 0", zarr.ErrInvalidArgument, p.Task, p.Of)
	}
	return nil
}

// shareOf returns which of so many parts of the tasks a block belongs to, given its
// index. Blocks of the shape that the array had when the rechunk began stay in their
// part if it grows.
func shareOf(blocks *grid.Grid, began, index []int64, of int64) int64 {
	if of <= 1 {
		return 0
	}
	number, all := int64(0), int64(1)
	for i, k := range index {
		axis := blocks.Axis(i)
		n := axis.Chunks()
		if len(began) == len(index) && began[i] > 0 && began[i] < axis.Extent() {
			last, _, _ := axis.Locate(began[i] - 1)
			n = last + 1
		}
		if k >= n { // it was appended since
			return strided.Number(blocks, index) % of
		}
		number, all = number*n+k, all*n
	}
	// The first block of part k is k*all/of, rounded up.
	part, ok := checked.Mul(number, of)
	if !ok {
		return number % of // as good for so many
	}
	return part / all
}

// unfinishedError returns an error that names the tasks of a stage that are not done.
func unfinishedError(stage int, blocks *grid.Grid, missing [][]int64) error {
	more := ""
	if n := len(missing) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	all, _ := blocks.NumChunks()
	return fmt.Errorf("%w: stage %d lacks block %d%s of %d: execute all its tasks again; what is done is not repeated", sharing.ErrUnfinished, stage, strided.Number(blocks, missing[0]), more, all)
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

// markerOf returns the name of the marker of a share in a plan.
func markerOf(p sharing.Share, plan *blocks.Plan) string {
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

// contains reports whether a share was done.
func (m markers) contains(ctx context.Context, name string) (bool, error) {
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
		return fmt.Errorf("%w: no task of stage %d is done", sharing.ErrUnfinished, stage)
	}
	missing := int64(0)
	for tasks[best][missing] {
		missing++
	}
	return fmt.Errorf("%w: stage %d lacks task %d/%d", sharing.ErrUnfinished, stage, missing, best)
}
