// SPDX-License-Identifier: Apache-2.0

package store

import "context"

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
