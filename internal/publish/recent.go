// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"sync"
	"time"

	"varve.dev/zarr/store"
)

// Recent is the version of the document that this program has published last, or that it
// has read before it looked for a pointer and found none. In a store without locks, a
// change that finds this version need not look for a pointer:
//
//   - This program has looked since the document that came before was read.
//   - A transaction that stores its pointer later raises its fence after that, and a
//     holder publishes. Either the document has another version then, or it is about to
//     get one, and then one of the two changes fails.
//
// Where versions are hashes of the content, a later document may have the same one, such
// as that of an array that was created again. So a version is known for a short time.
//
// The zero value knows none. A Recent is safe for concurrent use.
type Recent struct {
	mu      sync.Mutex
	version store.Version
	at      time.Time // when it was set
}

// recently is how long a version is known. Most appends of a series follow sooner.
const recently = 2 * time.Second

// is reports whether v is the version.
func (r *Recent) is(v store.Version) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return v == r.version && !v.IsZero() && time.Since(r.at) < recently
}

// Set records the version.
func (r *Recent) Set(v store.Version) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version, r.at = v, time.Now()
}
