// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/store"
)

// run is one run of Update. Its two kinds, [exclusive] and [fence], differ in how they
// exclude concurrent writers.
type run interface {
	stage(context.Context, *Change) error
	// secure makes every concurrent plan on the document of step 2 fail when it
	// publishes.
	secure(context.Context) error
	// warn marks the document and gives it a new version; see [Change.Warn].
	warn(context.Context) error
	publish(ctx context.Context, document []byte) (store.Version, error)
	reclaim(context.Context, *Change) error
}

// begin returns the run for a change.
func (n Node) begin(old Document, c *Change, fenced bool) (run, error) {
	if fenced || c.Warn {
		// The present document gets the ID of a fence.
		if err := cmp.Or(n.room(c.Document), n.room(old.Bytes)); err != nil {
			return nil, err
		}
	}
	switch {
	case !fenced:
		return &exclusive{n, old}, nil
	case old.Version.IsZero():
		// Neither the fence nor step 4 could be conditional.
		return nil, fmt.Errorf("%w: it does not report versions", ErrUnsafe)
	}
	return newFence(n, old, c), nil
}

// incomplete wraps the errors of steps 5 and 6 in [ErrIncomplete].
func incomplete(errs ...error) error {
	err := errors.Join(errs...)
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrIncomplete) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrIncomplete, err)
}

// unknown wraps the errors of a write in [ErrOutcomeUnknown]. The result is no conflict,
// even if an answer was one: who meets a conflict plans again, and the change would be
// made twice.
func unknown(errs ...error) error {
	err := errors.Join(errs...)
	if errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("%w: %v", ErrOutcomeUnknown, err)
	}
	return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
}

// exclusive is the run of a writer that has no concurrent writers, because it holds the
// lock or the caller declared a single writer.
type exclusive struct {
	Node
	old Document
}

func (e *exclusive) stage(ctx context.Context, c *Change) error {
	err := e.batch(ctx, c.Stage)
	if err != nil {
		// No document will describe the staged chunks. Those that stay are orphaned and
		// invisible.
		_ = e.batch(store.Finishing(ctx), c.Abandon)
	}
	return err
}

func (e *exclusive) secure(context.Context) error { return nil }

// warn rewrites the document with the mark and the ID of a fence. A store that derives
// versions from the content needs other bytes even if an earlier warning has left the
// mark.
func (e *exclusive) warn(ctx context.Context) error {
	document := fenced(marked(e.old.Bytes), newID())
	version, err := e.publish(ctx, document)
	if err == nil {
		e.old = Document{document, version}
	}
	return err
}

func (e *exclusive) reclaim(ctx context.Context, c *Change) error {
	if err := e.batch(ctx, c.Reclaim); err != nil {
		return err
	}
	// Tidy may remove its objects only once the writes of Reclaim are durable.
	return e.batch(ctx, c.Tidy)
}

// publish replaces the document on the condition that it is still the one that was
// read. If the store has no versions, it relies on the lock, or on the caller's
// declaration of a single writer.
func (e *exclusive) publish(ctx context.Context, document []byte) (store.Version, error) {
	if !e.old.Version.IsZero() {
		version, err := store.PutIf(ctx, e.Store, e.key(), document, store.IfVersion(e.old.Version), e.Durability)
		if !errors.Is(err, store.ErrUnsupported) {
			return e.settle(ctx, document, version, err)
		}
	}
	// The store has no versions or no conditional writes. Only the lock, or the caller's
	// declaration, excludes concurrent writers.
	version, err := store.Put(ctx, e.Store, e.key(), document, e.Durability)
	return e.settle(ctx, document, version, err)
}

// settle finds the outcome of a write that failed, perhaps because its answer was lost or
// was that of a second delivery. There is no concurrent writer, so it compares the
// present document.
func (n Node) settle(ctx context.Context, document []byte, version store.Version, err error) (store.Version, error) {
	// A store with locks delivers nothing twice. If the document is another one although
	// this writer holds the lock, the lock is lost, and equal bytes may be a rival's.
	if _, locks := store.As[store.Locker](n.Store); locks && errors.Is(err, store.ErrConflict) {
		return version, err
	}
	// Where there is no bucket or no permission, nothing can be looked at.
	if err == nil || unwritten(err) && !errors.Is(err, store.ErrConflict) {
		return version, err
	}
	there, lookErr := n.read(context.WithoutCancel(ctx))
	switch {
	case lookErr == nil && bytes.Equal(there.Bytes, document) && errors.Is(err, store.ErrDurability):
		// Published, but a power cut may undo it.
		return there.Version, fmt.Errorf("%w: %w", ErrIncomplete, err)
	case lookErr == nil && bytes.Equal(there.Bytes, document):
		return there.Version, nil
	case lookErr == nil || errors.Is(lookErr, fs.ErrNotExist) || errors.Is(err, store.ErrConflict):
		// Still the old document, or none yet: nothing was published.
		return store.Version{}, err
	}
	return store.Version{}, unknown(err)
}

// unwritten reports whether the error of a write says that nothing was written, and why
// another attempt would end in the same way.
func unwritten(err error) bool {
	for _, sure := range [...]error{store.ErrConflict, store.ErrUnsupported, store.ErrNoBucket, store.ErrRefused} {
		if errors.Is(err, sure) {
			return true
		}
	}
	return false
}
