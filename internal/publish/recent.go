// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"errors"
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
// If the program has published the document itself, a change may even plan on it without
// reading it again, as if it had read it then and was slow since. If another program has
// published meanwhile, the change fails where it first relies on the version, and is
// planned again. After such a conflict, the next document is read: in a crowd of writers
// the known one is nearly always out of date.
//
// The zero value knows none. A Recent is safe for concurrent use.
type Recent struct {
	mu       sync.Mutex
	version  store.Version
	document []byte    // of that version, or nil
	at       time.Time // when it was set
	crowded  bool      // another writer was first the last time
}

const (
	// recently is how long a version is known. Most appends of a series follow sooner.
	recently = 2 * time.Second
	// mostRecent bounds the document that is kept, in bytes.
	mostRecent = 1 << 20
)

// is reports whether v is the version.
func (r *Recent) is(v store.Version) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return v == r.version && !v.IsZero() && time.Since(r.at) < recently
}

// last returns the document that this program has published last, if it is known.
func (r *Recent) last() (d Document, known bool) {
	if r == nil {
		return Document{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.document == nil || r.version.IsZero() || time.Since(r.at) >= recently {
		return Document{}, false
	}
	return Document{r.document, r.version}, true
}

// Only forgets the document unless it has the version v, that of the caller's state.
// Another call of this program may have published since, or read a newer one.
func (r *Recent) Only(v store.Version) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.version != v {
		r.document = nil
	}
}

// Set records the version of a document that was read.
func (r *Recent) Set(v store.Version) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version, r.document, r.at = v, nil, time.Now()
}

// published records a document that this program has published.
func (r *Recent) published(d Document) {
	if r == nil {
		return
	}
	r.Set(d.Version)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.crowded && len(d.Bytes) <= mostRecent {
		r.document = d.Bytes
	}
	r.crowded = false
}

// failed records that a change has failed.
func (r *Recent) failed(err error) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.document, r.crowded = nil, errors.Is(err, store.ErrConflict)
}
