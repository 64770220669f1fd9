// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
)

// Condition is the condition of a conditional write. Make one with [IfAbsent] or
// [IfVersion].
type Condition struct {
	absent  bool
	version Version
	once    bool
}

// IfAbsent is the condition that the key has no value.
func IfAbsent() Condition { return Condition{absent: true} }

// IfVersion is the condition that the key has a value of version v.
func IfVersion(v Version) Condition { return Condition{version: v} }

// Once returns the condition for a write that a driver must not repeat after a lost
// answer. Where versions are hashes of the content, the value may have its version again,
// and only the caller knows whether the write is still wanted. Drivers whose versions
// never come back need not heed it.
func (c Condition) Once() Condition {
	c.once = true
	return c
}

// IsOnce reports whether c was made by [Condition.Once].
func (c Condition) IsOnce() bool { return c.once }

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

// ConditionalWriter writes a value only if a condition holds.
type ConditionalWriter interface {
	// PutIf is Put under a condition. The check and the write are one atomic step. If the
	// condition does not hold, PutIf returns ErrConflict and changes nothing. Nothing is
	// changed after ErrUnsupported, ErrNoBucket and ErrRefused either. After any other
	// error, the outcome is unknown: the value may have been written.
	PutIf(ctx context.Context, key Key, value []byte, cond Condition, d Durability) (Version, error)
}

// ConditionalDeleter deletes a value only if it is of an expected version.
type ConditionalDeleter interface {
	// DeleteIf deletes the value at key if it is of version v, in one atomic step. If the
	// value is of another version, or there is none, DeleteIf returns ErrConflict and
	// changes nothing. After an error that wraps neither ErrConflict nor ErrUnsupported,
	// the outcome is unknown: the value may have been deleted. A driver whose service
	// turns out not to check conditions returns ErrUnsupported. If versions are hashes of
	// the content, the driver does not repeat a deletion after a lost answer.
	DeleteIf(ctx context.Context, key Key, v Version) error
}

// ConditionalBatch is a [Batch] that can also write and delete on conditions.
//
// As in [ConditionalWriter] and [ConditionalDeleter], each check and its change are one
// atomic step, made when the method is called. The check sees all conditional changes, in
// batches and outside, and all unconditional ones that have returned. It may miss a
// concurrent unconditional change, so writers that share a key must all use conditions.
//
// A change is visible when the call returns, and durable when Commit returns. If the
// condition does not hold, the call returns ErrConflict and changes nothing, and the
// batch goes on.
type ConditionalBatch interface {
	Batch
	// PutIf is Put under a condition.
	PutIf(ctx context.Context, key Key, value []byte, cond Condition) error
	// DeleteIf deletes the value at key if it is of version v. It returns ErrConflict if
	// there is no value.
	DeleteIf(ctx context.Context, key Key, v Version) error
}

// PutIf writes value at key under a condition. If s is not a [ConditionalWriter], the
// error is [ErrUnsupported].
func PutIf(ctx context.Context, s Store, key Key, value []byte, cond Condition, d Durability) (Version, error) {
	w, ok := As[ConditionalWriter](s)
	if !ok {
		return Version{}, unsupported(s, "write on a condition")
	}
	return w.PutIf(ctx, key, value, cond, d)
}

// DeleteIf deletes the value at key if it is of version v. If s is not a
// [ConditionalDeleter], the error is [ErrUnsupported].
func DeleteIf(ctx context.Context, s Store, key Key, v Version) error {
	w, ok := As[ConditionalDeleter](s)
	if !ok {
		return unsupported(s, "delete on a condition")
	}
	return w.DeleteIf(ctx, key, v)
}

// BatchPutIf writes value at key under a condition, as part of b. If b is not a
// [ConditionalBatch], the error is [ErrUnsupported].
func BatchPutIf(ctx context.Context, b Batch, key Key, value []byte, cond Condition) error {
	c, ok := b.(ConditionalBatch)
	if !ok {
		return cannot(b, "batch", "write on a condition")
	}
	return c.PutIf(ctx, key, value, cond)
}

// BatchPutNew writes value at key as part of b and returns [ErrConflict] if the key has a
// value. A batch without conditions overwrites an existing value instead.
func BatchPutNew(ctx context.Context, b Batch, key Key, value []byte) error {
	err := BatchPutIf(ctx, b, key, value, IfAbsent())
	if errors.Is(err, ErrUnsupported) {
		err = b.Put(ctx, key, value)
	}
	return err
}

// BatchDeleteIf deletes the value at key if it is of version v, as part of b. If b is not
// a [ConditionalBatch], the error is [ErrUnsupported].
func BatchDeleteIf(ctx context.Context, b Batch, key Key, v Version) error {
	c, ok := b.(ConditionalBatch)
	if !ok {
		return cannot(b, "batch", "delete on a condition")
	}
	return c.DeleteIf(ctx, key, v)
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
	// Discard removes a draft that was not published, as far as that is possible.
	Discard(ctx context.Context)
}

// MakeDraft stores a value beside key. If s is not a [Drafter], the error is
// [ErrUnsupported].
func MakeDraft(ctx context.Context, s Store, key Key, value []byte, d Durability) (Draft, error) {
	p, ok := As[Drafter](s)
	if !ok {
		return nil, unsupported(s, "write a draft")
	}
	return p.Draft(ctx, key, value, d)
}

// RevokeDrafts makes sure that no draft for key but keep can become its value. If s is
// not a [Drafter], the error is [ErrUnsupported].
func RevokeDrafts(ctx context.Context, s Store, key Key, keep Draft) error {
	p, ok := As[Drafter](s)
	if !ok {
		return unsupported(s, "revoke drafts")
	}
	return p.Revoke(ctx, key, keep)
}
