// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
)

const (
	// MaxBuffered bounds the bytes of a value that is copied through memory concurrently
	// with others. Larger values are copied range by range, or one at a time.
	MaxBuffered = 16 << 20
	// Slow is the duration of a copy above which the source is asked whether it has
	// changed: the copy could be younger than the change by more than the slack.
	Slow = Slack / 2
	// MaxAttempts bounds the copies of a value that changes all the time.
	MaxAttempts = 5
)

// Values writes values of the destination in batches. It is safe for concurrent use.
type Values struct {
	c     *Copy
	large sync.Mutex // held while a large value is in memory
	pool  sync.Pool  // of *[]byte

	mu   sync.Mutex
	last *batch // takes more writes; nil if there is none
}

// batchLength is the number of writes of one batch: enough that a sync of the directories
// costs little, and so few that a batch holds little.
const batchLength = 4096

// batch counts the writes of a batch.
type batch struct {
	store.Batch
	begun, running int
}

// NewValues returns a writer of values. The caller calls End when all writes have ended.
func (c *Copy) NewValues() *Values { return &Values{c: c} }

// CopySettled copies a value. If that takes long, it compares the version of the source
// with the one before, was, and copies again if they differ.
func (v *Values) CopySettled(ctx context.Context, to, key store.Key, was store.Info) (int64, error) {
	for range MaxAttempts {
		began := time.Now()
		n, err := v.Copy(ctx, to, key)
		// A value that cannot be read is the same the next time.
		changed := errors.Is(err, store.ErrConflict) && !errors.As(err, new(*ReadError))
		if err != nil && !changed || !changed && time.Since(began) < Slow {
			return n, err
		}
		// The copy may be of either version. If the source has still the one of before,
		// it is of that one.
		is, err := store.Stat(ctx, v.c.Source.Store, key)
		if err != nil || !changed && is.Same(was) {
			return n, err
		}
		was = is
	}
	return 0, fmt.Errorf("%w: %s is overwritten faster than it is copied", zarr.ErrSourceChanged, key)
}

// shown is a store whose values may be objects of another one, with other keys.
type shown interface {
	Stored(ctx context.Context, key store.Key) (store.Store, store.Key, error)
}

// Copy copies one value, within the store if it can.
func (v *Values) Copy(ctx context.Context, to, from store.Key) (n int64, err error) {
	err = v.write(ctx, func(b store.Batch) error {
		if !b.Can(store.OpCopy) {
			n, err = v.throughMemory(ctx, b, to, from)
			return err
		}
		made, err := b.Write(ctx, store.Copy(to, v.c.Source.Store, from))
		if s, ok := store.As[shown](v.c.Source.Store); ok && errors.Is(err, store.ErrUnsupported) {
			if at, key, failed := s.Stored(ctx, from); failed == nil {
				made, err = b.Write(ctx, store.Copy(to, at, key))
			}
		}
		n = made.Size
		if errors.Is(err, store.ErrUnsupported) {
			// The destination cannot copy the value itself, so it passes through memory.
			n, err = v.throughMemory(ctx, b, to, from)
		} else if err != nil {
			err = v.blame(ctx, from, err)
		}
		return err
	})
	if err == nil {
		v.c.names.add(v.c.Target.Path.Rel(to))
	}
	return n, err
}

func (v *Values) throughMemory(ctx context.Context, b store.Batch, to, from store.Key) (int64, error) {
	buffer, ok := v.pool.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	defer v.pool.Put(buffer)
	value, _, err := v.c.Source.Store.Get(ctx, from, store.Request{Limit: MaxBuffered}, (*buffer)[:0])
	if errors.Is(err, store.ErrTooLarge) {
		return v.copyLarge(ctx, b, to, from)
	}
	if err != nil {
		return 0, unread(from, err)
	}
	*buffer = value
	_, err = b.Write(ctx, store.Put(to, value))
	return int64(len(value)), err
}

// copyLarge copies a value range by range, or, to a store that cannot write it so, while
// no other large one is in memory.
func (v *Values) copyLarge(ctx context.Context, b store.Batch, to, from store.Key) (int64, error) {
	info, err := store.Stat(ctx, v.c.Source.Store, from)
	if err != nil {
		return 0, unread(from, err)
	}
	_, err = b.Write(ctx, store.Gather(to, v.c.Source.Store, []store.Part{{Key: from, Version: info.Version, N: info.Size}}))
	if !errors.Is(err, store.ErrUnsupported) {
		return info.Size, v.blame(ctx, from, err)
	}
	// The destination needs the whole value in memory, whose size nothing bounds.
	v.large.Lock()
	defer v.large.Unlock()
	value, _, err := v.c.Source.Store.Get(ctx, from, store.Request{}, nil)
	if err != nil {
		return 0, unread(from, err)
	}
	_, err = b.Write(ctx, store.Put(to, value))
	return int64(len(value)), err
}

// ReadError is the error of a value of the source that cannot be read. Unless the source
// is mended, a repeated copy ends there again.
type ReadError struct {
	Key store.Key
	Err error
}

// Error names the key in the source, and says why.
func (e *ReadError) Error() string {
	return fmt.Sprintf("%s of the source cannot be read: %v", e.Key, e.Err)
}

// Unwrap returns the reason.
func (e *ReadError) Unwrap() error { return e.Err }

// unread returns the error of reading a value of the source as a [ReadError], unless the
// call was stopped, or another try may succeed because another writer replaced the value.
func unread(key store.Key, err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, store.ErrConflict) && !errors.Is(err, zarr.ErrSourceChanged):
		return err
	}
	return &ReadError{key, err}
}

// blame returns an error of copying a value within a store, or range by range, as a
// [ReadError] if the source is at fault: it cannot be read alone either.
func (v *Values) blame(ctx context.Context, key store.Key, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	_, _, readErr := v.c.Source.Store.Get(ctx, key, store.Request{Limit: MaxBuffered}, nil)
	if readErr == nil || errors.Is(readErr, store.ErrTooLarge) {
		return err
	}
	return unread(key, err)
}

// Put stores a value.
func (v *Values) Put(ctx context.Context, key store.Key, value []byte) error {
	return v.write(ctx, func(b store.Batch) error {
		_, err := b.Write(ctx, store.Put(key, value))
		return err
	})
}

// Delete deletes a value.
func (v *Values) Delete(ctx context.Context, key store.Key) error {
	return v.write(ctx, func(b store.Batch) error {
		_, err := b.Write(ctx, store.Delete(key))
		return err
	})
}

// write calls do with a batch. The last write of a full batch commits it.
func (v *Values) write(ctx context.Context, do func(store.Batch) error) error {
	b, err := v.enter(ctx)
	if err != nil {
		return err
	}
	err = do(b.Batch) // without the counts: the batch may be able to copy and to gather
	if v.leave(b) {
		defer b.Discard()
		if err == nil {
			err = b.Commit(ctx)
		}
	}
	return err
}

// enter begins a write in the last batch, or in a new one.
func (v *Values) enter(ctx context.Context) (*batch, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.last == nil {
		b, err := store.NewBatch(ctx, v.c.Target.Store, v.c.Durability)
		if err != nil {
			return nil, err
		}
		v.last = &batch{Batch: b}
	}
	b := v.last
	b.begun, b.running = b.begun+1, b.running+1
	// A full batch takes no more writes. The last of those in flight commits it.
	if b.begun == batchLength {
		v.last = nil
	}
	return b, nil
}

// leave ends a write, and reports whether it was the last one of a full batch.
func (v *Values) leave(b *batch) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	b.running--
	return b.running == 0 && b != v.last
}

// End commits the last batch, or discards it after an error. All writes have ended.
func (v *Values) End(ctx context.Context, err error) error {
	if v.last == nil {
		return err
	}
	defer v.last.Discard()
	if err == nil {
		err = v.last.Commit(ctx)
	}
	return err
}
