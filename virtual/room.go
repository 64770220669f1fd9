// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"fmt"
	"sync/atomic"
)

const (
	// mostTaken is the default of [Collector.Memory]: 67 million references.
	mostTaken = mostReferred * referenceBytes
	// mostReferred is the number of references without the files that they lead to.
	mostReferred = 1 << 26
	// referenceBytes is the memory of a reference, and sourceBytes that of a source
	// besides its location and its version.
	referenceBytes = 20
	sourceBytes    = 64
)

// room is how many bytes of memory references may still take. Manifests and documents of
// arrays claim chunks without having bytes for them: one byte may stand for thousands.
type room struct {
	most int64
	left atomic.Int64
}

// newRoom returns room for a number of bytes; 0 is mostTaken.
func newRoom(most int64) *room {
	if most <= 0 {
		most = mostTaken
	}
	r := &room{most: most}
	r.left.Store(most)
	return r
}

// take takes n bytes of the room, or returns an [ErrLimit].
func (r *room) take(n int64) error {
	if r.left.Add(-n) < 0 {
		return fmt.Errorf("%w: the references of all manifests and Zarr nodes among the files would take more than %d bytes of memory; name the files that they lead to, or make several manifests", ErrLimit, r.most)
	}
	return nil
}

// bytes returns the memory of a source.
func (s *Source) bytes() int64 { return sourceBytes + int64(len(s.Location)+len(s.Version)) }
