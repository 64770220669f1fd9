// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"varve.dev/zarr/store"
)

// replacing is the replacement of one chunk under a fence (rules 2 and 7).
type replacing struct {
	*fence
	key   store.Key
	value []byte
	// expected is the version that the value is based on. It is zero if the chunk may
	// have any: it is an orphan, or belongs to a plan that can no longer be published.
	expected store.Version
}

// replace overwrites the chunk at key, which has the expected version.
func (f *fence) replace(ctx context.Context, key store.Key, value []byte, expected store.Version) error {
	r := &replacing{f, key, value, expected}
	var err error
	for try := range fenceTries {
		if err := pauseBefore(ctx, try); err != nil {
			return err
		}
		// The fence is looked at again before each attempt, because it says whether
		// the write is still wanted.
		if err = r.attempt(ctx); err == nil || ctx.Err() != nil || unwritten(err) {
			return err
		}
		if lookErr := r.look(ctx); lookErr != nil {
			return fmt.Errorf("%w: %w", lookErr, err)
		}
	}
	return err
}

// pauseBefore waits before each attempt but the first, twice as long as before the last.
func pauseBefore(ctx context.Context, try int) error {
	if try == 0 {
		return nil
	}
	select {
	case <-time.After(min(firstPause<<(try-1), LongestPause)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// firstPause is the pause before the second attempt.
const firstPause = time.Millisecond

// attempt replaces the chunk by a draft or, in a store without drafts, by a write that is
// not repeated.
func (r *replacing) attempt(ctx context.Context) error {
	draft, err := store.MakeDraft(ctx, r.Store, r.key, r.value, r.Durability)
	if err != nil && !errors.Is(err, store.ErrUnsupported) {
		return err
	}
	version, err := r.guard(ctx)
	if draft == nil {
		if err == nil {
			_, err = r.putIf(ctx, r.key, r.value, store.IfVersion(version).Once())
		}
		return err
	}
	if err == nil {
		err = store.RevokeDrafts(ctx, r.Store, r.key, draft)
	}
	if err == nil {
		_, err = draft.Publish(ctx, store.IfVersion(version))
	}
	if err != nil {
		draft.Discard(store.Finishing(ctx))
	}
	return err
}

// guard returns the version that the chunk may have when it is replaced, and makes sure
// that no concurrent plan can be published.
func (r *replacing) guard(ctx context.Context) (store.Version, error) {
	version := r.expected
	if version.IsZero() {
		info, err := store.Stat(ctx, r.Store, r.key)
		if err != nil {
			return version, gone(err, r.key)
		}
		version = info.Version
	}
	// Fence after reading the version. A plan that wrote the object before that can no
	// longer be published, and one that writes it later changes the version.
	return version, r.stand(ctx, r.key)
}

// look finds out whether a chunk may be replaced once more, after an attempt without an
// answer. The error is a conflict if the value is no longer based on what the chunk has.
func (r *replacing) look(ctx context.Context) error {
	if r.expected.IsZero() {
		return nil
	}
	there, info, err := r.Store.Get(ctx, r.key, store.Request{Limit: int64(len(r.value))}, nil)
	switch {
	case err == nil && bytes.Equal(there, r.value):
		// The chunk has what this plan wants, whoever has stored it.
		r.expected = info.Version
	case err == nil && info.Version == r.expected:
	case err == nil || errors.Is(err, store.ErrTooLarge):
		return fmt.Errorf("%w: %s", store.ErrConflict, r.key)
	default:
		return gone(err, r.key)
	}
	return nil
}
