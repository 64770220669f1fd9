// SPDX-License-Identifier: Apache-2.0

package store

import "context"

// Batcher groups changes, so that making many of them durable costs little more than one.
type Batcher interface {
	// Batch begins a batch. The caller must end it with Commit or Discard.
	Batch(ctx context.Context, d Durability) (Batch, error)
}

// Batch is a group of changes. A change is visible, whole, when its Write returns, and
// durable when Commit returns. Its methods are safe for concurrent use, but Commit or
// Discard must be the last call.
//
// Each check of a condition and its change are one atomic step, made when Write is
// called. The check sees all conditional changes, in batches and outside, and all
// unconditional ones that have returned. It may miss a concurrent unconditional change,
// so writers that share a key must all use conditions. After a conflict the batch goes
// on.
type Batch interface {
	// Can reports whether the batch makes changes of a kind.
	Can(op Op) bool
	// Write makes a change as [Writer] does.
	Write(ctx context.Context, c Change) (Written, error)
	// Commit makes the changes durable if the batch began with Sync. After an error, each
	// change may or may not have taken effect.
	Commit(ctx context.Context) error
	// Discard ends the batch without making it durable. Values already visible stay.
	// After Commit it does nothing.
	Discard()
}

// NewBatch begins a batch of changes. If s is not a [Batcher], each change of the batch
// is a separate call, and Commit does nothing.
//
// The batch makes every change that s makes, even if the batches of s cannot, and can
// always splice, clone and assemble as the function [Write] does. Other changes fail with
// [ErrUnsupported].
func NewBatch(ctx context.Context, s Store, d Durability) (Batch, error) {
	if b, ok := As[Batcher](s); ok {
		own, err := b.Batch(ctx, d)
		if err != nil {
			return nil, err
		}
		return &batch{own, s, d}, nil
	}
	if !Can(s, OpPut) {
		return nil, unsupported(s, OpPut.verb())
	}
	return &batch{nothing{}, s, d}, nil
}

// batch is a batch of a store. If the batches of the store cannot make a change, the
// store makes it outside of them.
type batch struct {
	Batch
	s Store
	d Durability
}

// Can implements [Batch].
func (b *batch) Can(op Op) bool { return b.Batch.Can(op) || Can(b.s, op) }

// Write implements [Batch].
func (b *batch) Write(ctx context.Context, c Change) (Written, error) {
	switch {
	case b.Batch.Can(c.Op):
		return b.Batch.Write(ctx, c)
	case Can(b.s, c.Op):
		return b.s.(Writer).Write(ctx, c, b.d)
	case c.Op == OpCopy: // the caller decides whether to read the value into memory
		return Written{}, unsupported(b.s, c.Op.verb())
	}
	return around(ctx, b, b.s, c)
}

// nothing is a target and a batch that makes no change.
type nothing struct{}

func (nothing) Can(Op) bool { return false }
func (nothing) Write(context.Context, Change) (Written, error) {
	return Written{}, ErrUnsupported
}
func (nothing) Commit(context.Context) error { return nil }
func (nothing) Discard()                     {}
