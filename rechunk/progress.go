// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"sync"

	"varve.dev/zarr/grid"
)

// progress counts what one stage has stored.
type progress struct {
	mu  sync.Mutex
	now Progress
	to  func(Progress) // may be nil
}

// progress begins to count a stage that has all objects but some.
func (s *session) progress(stage, stages, all, missing int) *progress {
	now := Progress{Stage: stage, Stages: stages, Done: int64(max(0, all-missing)), Total: int64(all)}
	return &progress{now: now, to: s.Progress}
}

// add counts the objects of a box.
func (p *progress) add(box grid.Box) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, _ := box.Len()
	p.now.Done = min(p.now.Done+n, p.now.Total)
	if p.to != nil {
		p.to(p.now)
	}
}
