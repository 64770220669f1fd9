// SPDX-License-Identifier: Apache-2.0

// Package observed wraps a store and reports every request to an observer.
package observed

import (
	"context"
	"errors"
	"iter"
	"time"

	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// recorder reports the requests to the store below.
type recorder struct {
	below store.Store
	watch
}

// New returns s with every request reported to o, which must not be nil. It has the
// powers of s ([store.As]) and makes the same changes, also in batches. It is a
// [store.Wrapper].
func New(s store.Store, o observe.Observer) store.Store { return &recorder{s, watch{o}} }

// Unwrap implements [store.Wrapper].
func (s *recorder) Unwrap() store.Store { return s.below }

// watch reports operations that have ended.
type watch struct{ observer observe.Observer }

// done reports an operation that began at start, unless there is no observer. After an
// error, no bytes count.
func (w watch) done(ctx context.Context, op observe.Op, key store.Key, bytes int64, start time.Time, err error) {
	if w.observer == nil {
		return
	}
	if err != nil {
		bytes = 0
	}
	w.observer.Observe(ctx, observe.Event{Op: op, Key: key, Bytes: bytes, Start: start, Duration: time.Since(start), Err: err})
}

// Get implements [store.Store].
func (s *recorder) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	start := time.Now()
	out, info, err := s.below.Get(ctx, key, q, dst)
	s.done(ctx, observe.Get, key, int64(len(out)-len(dst)), start, err)
	return out, info, err
}

// Stat implements [store.Stater].
func (s *recorder) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	start := time.Now()
	info, err := store.Stat(ctx, s.below, key)
	s.done(ctx, observe.Stat, key, 0, start, err)
	return info, err
}

// List implements [store.Lister]. It is reported as one listing when it ends, also if
// it asks for versions. The reported duration does not include the time that the caller
// spends on entries.
func (s *recorder) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		start := time.Now()
		var elsewhere time.Duration
		var failed error
		for e, err := range store.List(ctx, s.below, dir, how) {
			failed = err
			// The operation takes no time while the caller uses the entry.
			left := time.Now()
			more := yield(e, err)
			elsewhere += time.Since(left)
			if !more {
				break
			}
		}
		s.observer.Observe(ctx, observe.Event{
			Op: observe.List, Key: dir.AsKey(), Start: start, Duration: time.Since(start) - elsewhere, Err: failed,
		})
	}
}

// Lock implements [store.Locker].
func (s *recorder) Lock(ctx context.Context, dir store.Path) (unlock func() error, err error) {
	start := time.Now()
	unlock, err = store.Lock(ctx, s.below, dir)
	s.done(ctx, observe.Lock, dir.AsKey(), 0, start, err)
	return unlock, err
}

// LockHolder implements [store.Locker].
func (s *recorder) LockHolder(dir store.Path) store.Holder {
	if l, ok := store.As[store.Locker](s.below); ok {
		return l.LockHolder(dir)
	}
	return store.Holder{}
}

// Traits implements [store.Describer].
func (s *recorder) Traits() store.Traits { return store.TraitsOf(s.below) }

// CheckKey implements [store.Describer].
func (s *recorder) CheckKey(key store.Key) error { return store.CheckKey(s.below, key) }

// Close closes the store below if it has a Close method.
func (s *recorder) Close() error { return store.Close(s.below) }

// Batch implements [store.Batcher].
func (s *recorder) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	b, err := store.NewBatch(ctx, s.below, d)
	if err != nil {
		return nil, err
	}
	return &batch{b, s.watch}, nil
}

// batch is a batch of the store below.
type batch struct {
	store.Batch
	watch
}

// Write implements [store.Batch].
func (b *batch) Write(ctx context.Context, c store.Change) (store.Written, error) {
	start := time.Now()
	made, err := b.Batch.Write(ctx, c)
	b.changed(ctx, c, made, start, err)
	return made, err
}

// Commit implements [store.Batch].
func (b *batch) Commit(ctx context.Context) error {
	start := time.Now()
	err := b.Batch.Commit(ctx)
	b.done(ctx, observe.Commit, store.Key{}, 0, start, err)
	return err
}

// Open implements [store.Opener].
func (s *recorder) Open(ctx context.Context, key store.Key) (store.Object, error) {
	start := time.Now()
	o, err := store.Open(ctx, s.below, key)
	s.done(ctx, observe.Open, key, 0, start, err)
	if err != nil {
		return nil, err
	}
	return &object{o, s.watch, key}, nil
}

// object is an open value whose reads are observed.
type object struct {
	store.Object
	watch
	key store.Key
}

// Read implements [store.Object].
func (o *object) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, error) {
	start := time.Now()
	out, err := o.Object.Read(ctx, q, dst)
	o.done(ctx, observe.Read, o.key, int64(len(out)-len(dst)), start, err)
	return out, err
}

// Can implements [store.Writer].
func (s *recorder) Can(op store.Op) bool { return store.Can(s.below, op) }

// Write implements [store.Writer]. Reads of another store are reported by that one.
func (s *recorder) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	start := time.Now()
	made, err := s.write(ctx, c, d)
	s.changed(ctx, c, made, start, err)
	return made, err
}

func (s *recorder) write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if !store.Can(s.below, c.Op) {
		return store.Written{}, store.ErrUnsupported
	}
	return s.below.(store.Writer).Write(ctx, c, d)
}

// operations are the operations that changes are reported as. A value that is gathered
// is reported as one that is assembled.
var operations = [...]observe.Op{
	store.OpPut: observe.Put, store.OpPutIf: observe.PutIf, store.OpDelete: observe.Delete, store.OpDeleteIf: observe.DeleteIf,
	store.OpSplice: observe.Splice, store.OpPatch: observe.Patch, store.OpAssemble: observe.Assemble, store.OpGather: observe.Assemble,
	store.OpCopy: observe.Copy, store.OpClone: observe.Clone,
}

// changed reports a change that began at start. If the store cannot make it, no request
// was made, so none is reported.
func (w watch) changed(ctx context.Context, c store.Change, made store.Written, start time.Time, err error) {
	unsupported := errors.Is(err, store.ErrUnsupported)
	if unsupported && c.Op != store.OpPut && c.Op != store.OpDelete {
		return
	}
	var bytes int64
	switch c.Op {
	case store.OpCopy:
		bytes = made.Size
	case store.OpClone:
		bytes = made.Moved
	default:
		bytes = fresh(c)
	}
	w.done(ctx, operations[c.Op], c.Key, bytes, start, err)
}

// fresh returns the number of new bytes of a change.
func fresh(c store.Change) int64 {
	n := len(c.Value)
	for i := range c.Parts {
		n += len(c.Parts[i].Data)
	}
	for i := range c.Patches {
		n += len(c.Patches[i].Data)
	}
	return int64(n)
}

// DeleteTree implements [store.TreeDeleter].
func (s *recorder) DeleteTree(ctx context.Context, dir store.Path, order store.TreeOrder, d store.Durability) error {
	start := time.Now()
	err := store.DeleteTree(ctx, s.below, dir, order, d)
	s.done(ctx, observe.Delete, dir.AsKey(), 0, start, err)
	return err
}

// Draft implements [store.Drafter]. It is observed when it is published.
func (s *recorder) Draft(ctx context.Context, key store.Key, value []byte, d store.Durability) (store.Draft, error) {
	below, ok := store.As[store.Drafter](s.below)
	if !ok {
		return nil, store.ErrUnsupported
	}
	start := time.Now()
	made, err := below.Draft(ctx, key, value, d)
	if err != nil {
		if !errors.Is(err, store.ErrUnsupported) {
			s.done(ctx, observe.PutIf, key, int64(len(value)), start, err)
		}
		return nil, err
	}
	return &draft{made, s.watch, key, int64(len(value))}, nil
}

// Revoke implements [store.Drafter].
func (s *recorder) Revoke(ctx context.Context, key store.Key, keep store.Draft) error {
	if d, ok := keep.(*draft); ok {
		keep = d.Draft
	}
	if below, ok := store.As[store.Drafter](s.below); ok {
		return below.Revoke(ctx, key, keep)
	}
	return store.ErrUnsupported
}

// draft is a draft whose publication is observed as a write on a condition.
type draft struct {
	store.Draft
	watch
	key  store.Key
	size int64
}

// Publish implements [store.Draft].
func (d *draft) Publish(ctx context.Context, cond store.Condition) (store.Version, error) {
	start := time.Now()
	v, err := d.Draft.Publish(ctx, cond)
	d.done(ctx, observe.PutIf, d.key, d.size, start, err)
	return v, err
}

var _ store.Drafter = (*recorder)(nil)
