// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sort"
)

// Status says how far the work of a plan is, by the records beside it.
type Status struct {
	Stages []StageStatus `json:"stages"`
}

// StageStatus is the state of a stage.
type StageStatus struct {
	// Of is the number of tasks that the stage is divided into, or 0 if none has begun.
	// If processes have divided it differently, it is that division of which most is
	// done.
	Of      int64 `json:"of"`
	Done    int64 `json:"done"`
	Claimed int64 `json:"claimed"` // taken by workers, and not done
	// Repeated is how often tasks were begun again after a failure, or by two workers.
	Repeated int64 `json:"repeated"`
	Workers  int   `json:"workers"` // processes that have done tasks
	Read     int64 `json:"bytes_read"`
	Written  int64 `json:"bytes_written"`
	// Requests are those to stores, by their kind.
	Requests map[string]int64 `json:"requests"`
	Seconds  float64          `json:"seconds"` // of all tasks together
	Median   float64          `json:"median_seconds"`
	// Slowest are the tasks that took longest, the longest first, at most ten.
	Slowest []Record `json:"slowest"`
}

// mostSlowest is the number of tasks in [StageStatus.Slowest].
const mostSlowest = 10

// Status reads the records beside the plan. Without records it is empty.
func (w *Worker) Status(ctx context.Context) (*Status, error) {
	s := &Status{Stages: make([]StageStatus, w.plan.Stages())}
	if err := w.folder.open(ctx); err != nil {
		if errors.Is(err, errNoFolder) {
			err = nil
		}
		return s, err
	}
	done, err := w.folder.list(ctx, recordsDir, false)
	if err != nil {
		return nil, err
	}
	claims, err := w.folder.list(ctx, claimsDir, false)
	if err != nil {
		return nil, err
	}
	for stage := range s.Stages {
		of := division(done, stage)
		if of == 0 {
			of = division(claims, stage)
		}
		if err := s.Stages[stage].read(ctx, w.folder, in(done, stage, of), in(claims, stage, of)); err != nil {
			return nil, err
		}
		s.Stages[stage].Of = of
	}
	return s, nil
}

// division returns the number of tasks that a stage is divided into, or 0. If there are
// several divisions, it is that of which most is done.
func division(tasks []listed, stage int) (best int64) {
	count := map[int64]int64{}
	for _, t := range tasks {
		if t.Stage == stage {
			count[t.Of]++
		}
	}
	part := func(of int64) float64 { return float64(count[of]) / float64(of) }
	for of := range count {
		if best == 0 || part(of) > part(best) || part(of) == part(best) && of > best {
			best = of
		}
	}
	return best
}

// in returns the tasks of one division of a stage.
func in(tasks []listed, stage int, of int64) []listed {
	return slices.DeleteFunc(slices.Clone(tasks), func(t listed) bool { return t.Stage != stage || t.Of != of })
}

// read sums up the records of tasks.
func (s *StageStatus) read(ctx context.Context, f *folder, done, claims []listed) error {
	records := make([]Record, len(done))
	err := each(ctx, done, func(ctx context.Context, i int, t Task) error {
		_, err := f.get(ctx, recordsDir, t, mostRecord, &records[i])
		if errors.Is(err, fs.ErrNotExist) || isDamaged(err) {
			err = nil // done, but with what is not known
		}
		records[i].Task = t
		return err
	})
	if err != nil {
		return err
	}
	s.Requests = map[string]int64{}
	workers, finished := map[string]bool{}, map[int64]bool{}
	for _, r := range records {
		finished[r.Number] = true
		workers[r.Worker] = true
		s.Done++
		s.Repeated += int64(max(0, r.Attempts-1))
		s.Read += r.Read
		s.Written += r.Written
		s.Seconds += r.Seconds
		for kind, n := range r.Requests {
			s.Requests[kind] += n
		}
	}
	s.Workers = len(workers)
	for _, c := range claims {
		if !finished[c.Number] {
			s.Claimed++
		}
	}
	sort.Slice(records, func(i, j int) bool {
		a, b := records[i], records[j]
		return a.Seconds > b.Seconds || a.Seconds == b.Seconds && a.Number < b.Number
	})
	if len(records) > 0 {
		s.Median = records[len(records)/2].Seconds
	}
	s.Slowest = records[:min(len(records), mostSlowest)]
	return nil
}
