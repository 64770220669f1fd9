// SPDX-License-Identifier: Apache-2.0

package gcs

import "sync"

// descriptions remembers what the service has said of some objects, by their names. A
// copy keeps the key of its source, and then needs no request to find it. What is known
// of a generation holds for ever, because an object gets another key only by a write.
type descriptions struct {
	mu sync.Mutex
	of map[string]description
}

// mostDescriptions is the largest number of objects to remember: some pages of a listing.
const mostDescriptions = 10_000

// add remembers what a listing or another answer has said.
func (d *descriptions) add(all ...description) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range all {
		if len(d.of) >= mostDescriptions || d.of == nil {
			d.of = map[string]description{}
		}
		one.Metadata = nil // of any size
		d.of[one.Name] = one
	}
}

// find returns the last description of an object, which another writer may have replaced
// since then.
func (d *descriptions) find(name string) (description, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one, ok := d.of[name]
	return one, ok
}
