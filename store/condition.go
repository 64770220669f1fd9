// SPDX-License-Identifier: Apache-2.0

package store

import "context"

// Condition is the condition of a conditional write. Make one with [IfAbsent] or
// [IfVersion].
type Condition struct {
	absent       bool
	version      Version
	unrepeatable bool
}

// IfAbsent is the condition that the key has no value.
func IfAbsent() Condition { return Condition{absent: true} }

// IfVersion is the condition that the key has a value of version v.
func IfVersion(v Version) Condition { return Condition{version: v} }

// Unrepeatable returns the condition for a write that a driver must not repeat after a
// lost answer. Where versions are hashes of the content, the value may have its version
// again, and only the caller knows whether the write is still wanted. Drivers whose
// versions never come back need not heed it.
func (c Condition) Unrepeatable() Condition {
	c.unrepeatable = true
	return c
}

// IsUnrepeatable reports whether c was made by [Condition.Unrepeatable].
func (c Condition) IsUnrepeatable() bool { return c.unrepeatable }

// Absent reports whether c was made by [IfAbsent].
func (c Condition) Absent() bool { return c.absent }

// Version returns the version given to [IfVersion].
func (c Condition) Version() Version { return c.version }

// Holds reports whether the condition holds for a key that has a value of version v if
// exists is set, and no value otherwise.
func (c Condition) Holds(v Version, exists bool) bool {
	if c.absent {
		return !exists
	}
	return exists && v == c.version
}

// Drafter replaces a value in two steps, so that another writer can keep the second one
// from happening. A write on the condition of a version cannot be taken back once it is
// sent. Where versions are hashes of the content, a version comes back, and then a write
// that was delayed replaces a value that it was not meant for. Stores whose versions
// never come back do not need drafts.
type Drafter interface {
	// Draft stores a value beside key, where no reader sees it. A driver whose service
	// turns out not to support drafts returns ErrUnsupported.
	Draft(ctx context.Context, key Key, value []byte, d Durability) (Draft, error)
	// Revoke makes sure that no draft for key can become its value, except those that are
	// made later, and keep, which may be nil.
	Revoke(ctx context.Context, key Key, keep Draft) error
}

// Draft is a value that is stored beside its key.
type Draft interface {
	// Publish makes the draft the value of its key if a condition holds, in one atomic
	// step. It returns ErrConflict if the condition does not hold or the draft was
	// revoked. After any other error, the outcome is unknown, and Publish may be called
	// again.
	Publish(ctx context.Context, cond Condition) (Version, error)
	// Discard removes a draft that was not published, if that is possible.
	Discard(ctx context.Context)
}
