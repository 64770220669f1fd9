package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/store"
)

// alone is the run of a writer whom no other can disturb: it holds the lock, or the
// caller says so.
type alone struct {
	Node
	old Document
}

func (a *alone) stage(ctx context.Context, c *Change) error {
	err := a.batch(ctx, c.Stage)
	if err != nil {
		_ = a.batch(store.Finishing(ctx), c.Abandon)
	}
	return err
}

func (a *alone) secure(context.Context) error { return nil }

func (a *alone) reclaim(ctx context.Context, c *Change) error {
	if err := a.batch(ctx, c.Reclaim); err != nil {
		return err
	}
	return a.batch(ctx, c.Tidy)
}

// publish writes the document on the condition that the present one is the one that was
// read, or without a condition where the store knows none; then the lock, or the caller's
// word, keeps others away.
func (a *alone) publish(ctx context.Context, document []byte) (store.Version, error) {
	if !a.old.Version.IsZero() {
		version, err := store.PutIf(ctx, a.Store, a.key(), document, store.IfVersion(a.old.Version), a.Durability)
		if !errors.Is(err, store.ErrUnsupported) {
			return a.settle(ctx, document, version, err)
		}
	}
	version, err := store.Put(ctx, a.Store, a.key(), document, a.Durability)
	return a.settle(ctx, document, version, err)
}

// settle finds out what became of a write that failed for a reason other than its
// condition, as when the answer of a server is lost: the document that is there tells,
// since nobody else writes one.
func (n Node) settle(ctx context.Context, document []byte, version store.Version, err error) (store.Version, error) {
	if err == nil || errors.Is(err, store.ErrConflict) {
		return version, err
	}
	there, lookErr := n.read(context.WithoutCancel(ctx))
	switch {
	case lookErr == nil && bytes.Equal(there.Bytes, document) && errors.Is(err, store.ErrDurability):
		return there.Version, fmt.Errorf("%w: %w", ErrIncomplete, err)
	case lookErr == nil && bytes.Equal(there.Bytes, document):
		return there.Version, nil
	case lookErr == nil || errors.Is(lookErr, fs.ErrNotExist):
		return store.Version{}, err
	}
	return store.Version{}, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
}
