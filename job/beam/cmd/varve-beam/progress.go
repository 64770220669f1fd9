// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"varve.dev/zarr/internal/job"
)

// watch prints how many tasks are done, until stop is called. It reads the records beside
// the plan, so it takes breaks that are long beside the time of that.
func (c *command) watch(ctx context.Context, w *job.Worker, notes io.Writer) (stop func()) {
	if c.progress == 0 {
		return func() {}
	}
	within, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		was, pause := "", c.progress
		for sleep(within, pause) {
			began := time.Now()
			s, err := w.Status(within)
			if err != nil {
				continue // it is only a note
			}
			if text := progressText(s); text != was {
				fmt.Fprintln(notes, text)
				was = text
			}
			pause = max(c.progress, 20*time.Since(began))
		}
	})
	return func() { cancel(); running.Wait() }
}

// sleep waits. It reports false if the context has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// progressText says how many tasks are done.
func progressText(s *job.Status) string {
	var list []string
	for k, x := range s.Stages {
		if x.Of > 0 {
			list = append(list, fmt.Sprintf("stage %d: %d of %d done", k, x.Done, x.Of))
		}
	}
	if list == nil {
		return "no task is done"
	}
	return strings.Join(list, ", ")
}
