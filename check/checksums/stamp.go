// SPDX-License-Identifier: Apache-2.0

package checksums

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"varve.dev/zarr/store"
)

// stamp tells two writes of one value apart.
type stamp struct {
	size     int64
	version  uint64 // hash of the version; 0 if the store has none
	modified int64  // nanoseconds since 1970; 0 if unknown, or unsettled
}

// unsettled replaces the time of a value that was written just before it was read.
// Another write may have the same time.
const unsettled = -1

// settling is the age from which on the time of a value tells it apart. Some stores count
// whole seconds.
const settling = 2 * time.Second

// stampOf returns the stamp of a value that was read at a time or later.
func stampOf(i store.Info, began time.Time) stamp {
	s := stamp{size: i.Size, version: hashOfVersion(i.Version), modified: timeOf(i.Modified)}
	if s.modified != 0 && i.Modified.After(began.Add(-settling)) {
		s.modified = unsettled
	}
	return s
}

// holds reports whether a listing has the same write of the value, if the store
// can tell.
func (s stamp) holds(e store.Entry) bool {
	version, modified := hashOfVersion(e.Version), timeOf(e.Modified)
	comparable := version != 0 && s.version != 0
	switch {
	case e.Size != s.size:
		return false
	case comparable && version == s.version && !(e.Version.IsWeak() && s.modified == unsettled):
		return true
	// The version of a file has the number of a device, which differs from machine to
	// machine where the same disk is mounted. Its times do not.
	case comparable && e.FileTime.IsZero():
		return false
	case modified == 0 || s.modified == 0:
		return !comparable
	}
	return modified == s.modified
}

// hashOfVersion returns a hash of a version, and 0 for none.
func hashOfVersion(v store.Version) uint64 {
	if v.IsZero() {
		return 0
	}
	sum := sha256.Sum256([]byte(v.String()))
	return max(1, binary.BigEndian.Uint64(sum[:8]))
}

// timeOf returns the nanoseconds since 1970, and 0 for the zero time.
func timeOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(1, t.UnixNano())
}
