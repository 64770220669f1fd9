// SPDX-License-Identifier: Apache-2.0

package virtual

import "sync"

// targets keeps where locations lead, because the chunks of a file are read one after the
// other. Its zero value is empty.
type targets struct {
	mu   sync.RWMutex
	of   map[string]target
	last string // the location that was asked for last and is not kept
}

// mostTargets bounds the locations that are kept.
const mostTargets = 1 << 10

// get returns where a location leads, if that is kept.
func (t *targets) get(location string) (target, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	to, ok := t.of[location]
	return to, ok
}

// keep keeps where a location leads, if it is asked for again: each chunk of a Zarr array
// is a source of its own.
func (t *targets) keep(location string, to target) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last != location {
		t.last = location
		return
	}
	if t.of == nil || len(t.of) >= mostTargets {
		t.of = map[string]target{}
	}
	t.of[location] = to
}

// forget forgets all locations.
func (t *targets) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of, t.last = nil, ""
}
