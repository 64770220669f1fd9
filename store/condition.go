package store

import (
	"context"
	"errors"
)

// Condition is what has to hold for a conditional write.
type Condition struct {
	absent  bool
	version Version
}

// IfAbsent is the condition that the key has no value.
func IfAbsent() Condition { return Condition{absent: true} }

// IfVersion is the condition that the key's value is of version v.
func IfVersion(v Version) Condition { return Condition{version: v} }

// Absent reports whether the condition is that of [IfAbsent].
func (c Condition) Absent() bool { return c.absent }

// Version returns the version of [IfVersion].
func (c Condition) Version() Version { return c.version }

// Holds reports whether the condition holds for a key whose value has version v;
// exists says whether there is a value.
func (c Condition) Holds(v Version, exists bool) bool {
	if c.absent {
		return !exists
	}
	return exists && v == c.version
}

// ConditionalWriter is the power to write a value only if nobody else did.
type ConditionalWriter interface {
	// PutIf is Put under a condition that is checked and acted on in one step. Where the
	// condition does not hold, it fails with ErrConflict and nothing has changed. An
	// error that wraps neither ErrConflict nor ErrUnsupported leaves open whether the
	// value was written.
	PutIf(ctx context.Context, key Key, value []byte, cond Condition, d Durability) (Version, error)
}

// ConditionalDeleter is the power to remove a value only if nobody replaced it.
type ConditionalDeleter interface {
	// DeleteIf removes the value at key if it is of version v, in one step. A value of
	// another version, and a key without a value, is ErrConflict, and nothing has
	// changed. An error that wraps neither ErrConflict nor ErrUnsupported leaves open
	// whether the value was removed.
	DeleteIf(ctx context.Context, key Key, v Version) error
}

// ConditionalBatch is a [Batch] that can also write and delete on conditions. The
// conditions are those of [ConditionalWriter] and [ConditionalDeleter]: each is checked
// and acted on in one step, when it is called, against all conditional writes and
// deletions inside and outside of batches, and against unconditional ones that have
// returned. An unconditional one at the same time may go unseen: whoever shares a key has
// to write it on conditions throughout.
//
// What was done is visible when the call returns, and durable when Commit does. Where the
// condition does not hold, the call fails with ErrConflict, nothing has changed, and the
// batch goes on.
type ConditionalBatch interface {
	Batch
	// PutIf is Put under a condition.
	PutIf(ctx context.Context, key Key, value []byte, cond Condition) error
	// DeleteIf removes the value at key if it is of version v. A key without a value is
	// ErrConflict too.
	DeleteIf(ctx context.Context, key Key, v Version) error
}

// PutIf writes value at key under a condition, or fails with [ErrUnsupported].
func PutIf(ctx context.Context, s Store, key Key, value []byte, cond Condition, d Durability) (Version, error) {
	w, ok := As[ConditionalWriter](s)
	if !ok {
		return Version{}, unsupported(s, "write on a condition")
	}
	return w.PutIf(ctx, key, value, cond, d)
}

// DeleteIf removes the value at key if it is of version v, or fails with
// [ErrUnsupported].
func DeleteIf(ctx context.Context, s Store, key Key, v Version) error {
	w, ok := As[ConditionalDeleter](s)
	if !ok {
		return unsupported(s, "delete on a condition")
	}
	return w.DeleteIf(ctx, key, v)
}

// BatchPutIf writes value at key under a condition as part of b, or fails with
// [ErrUnsupported]; see [ConditionalBatch].
func BatchPutIf(ctx context.Context, b Batch, key Key, value []byte, cond Condition) error {
	c, ok := b.(ConditionalBatch)
	if !ok {
		return cannot(b, "batch", "write on a condition")
	}
	return c.PutIf(ctx, key, value, cond)
}

// BatchPutNew writes value at key as part of b where nothing is, or fails with
// [ErrConflict]. A batch that cannot tell writes it in any case.
func BatchPutNew(ctx context.Context, b Batch, key Key, value []byte) error {
	err := BatchPutIf(ctx, b, key, value, IfAbsent())
	if errors.Is(err, ErrUnsupported) {
		err = b.Put(ctx, key, value)
	}
	return err
}

// BatchDeleteIf removes the value at key as part of b if it is of version v, or fails
// with [ErrUnsupported].
func BatchDeleteIf(ctx context.Context, b Batch, key Key, v Version) error {
	c, ok := b.(ConditionalBatch)
	if !ok {
		return cannot(b, "batch", "delete on a condition")
	}
	return c.DeleteIf(ctx, key, v)
}
