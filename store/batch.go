// SPDX-License-Identifier: Apache-2.0

package store

import "context"

// NewBatch begins a batch of writes. If s is not a [Batcher], each write of the batch is
// a separate call, and Commit does nothing.
//
// The batch has every power of s for writes on conditions, splices, patches, copies and
// gathering, even if the batches of s lack it, and can always clone and assemble. Other
// calls fail with [ErrUnsupported].
func NewBatch(ctx context.Context, s Store, d Durability) (Batch, error) {
	if b, ok := As[Batcher](s); ok {
		return batchOf(ctx, s, b, d)
	}
	if _, ok := As[Writer](s); !ok {
		return nil, unsupported(s, "write")
	}
	return single{s, d}, nil
}

// batchOf begins a batch of a store that has batches. If these lack a power, the batch
// calls the store itself.
func batchOf(ctx context.Context, s Store, by Batcher, d Durability) (Batch, error) {
	b, err := by.Batch(ctx, d)
	if err != nil {
		return nil, err
	}
	_, conditional := b.(ConditionalBatch)
	_, splicing := b.(SplicingBatch)
	_, patching := b.(PatchingBatch)
	_, patcher := As[Patcher](s)
	_, copying := b.(CopyingBatch)
	_, copier := As[Copier](s)
	// A batch that has every power of the store is used as it is.
	_, cloning := b.(CloningBatch)
	_, assembling := b.(AssemblingBatch)
	_, gathering := b.(GatheringBatch)
	_, gatherer := As[Gatherer](s)
	if conditional && splicing && (patching || !patcher) && (copying || !copier) && (gathering || !gatherer) && cloning && assembling {
		return b, nil
	}
	return beside{b, single{s, d}}, nil
}

// beside is a batch of a store whose batches lack a power. A call that needs the power
// goes to the store, outside of the batch.
type beside struct {
	Batch
	single single
}

func (b beside) PutIf(ctx context.Context, key Key, value []byte, cond Condition) error {
	if c, ok := b.Batch.(ConditionalBatch); ok {
		return c.PutIf(ctx, key, value, cond)
	}
	return b.single.PutIf(ctx, key, value, cond)
}

func (b beside) DeleteIf(ctx context.Context, key Key, v Version) error {
	if c, ok := b.Batch.(ConditionalBatch); ok {
		return c.DeleteIf(ctx, key, v)
	}
	return b.single.DeleteIf(ctx, key, v)
}

func (b beside) Splice(ctx context.Context, key Key, from Version, fragments []Fragment) error {
	if c, ok := b.Batch.(SplicingBatch); ok {
		return c.Splice(ctx, key, from, fragments)
	}
	// Prefer the store's own Splice, which does not read the old bytes. Otherwise write
	// the whole value through the batch, so that Commit makes it durable with the rest.
	_, alone := As[Splicer](b.single.s)
	c, conditional := b.Batch.(ConditionalBatch)
	if alone || !conditional {
		return b.single.Splice(ctx, key, from, fragments)
	}
	value, err := splice(ctx, b.single.s, key, from, fragments)
	if err != nil {
		return err
	}
	return c.PutIf(ctx, key, value, IfVersion(from))
}

func (b beside) Patch(ctx context.Context, key Key, from Version, patches []Patch) error {
	if c, ok := b.Batch.(PatchingBatch); ok {
		return c.Patch(ctx, key, from, patches)
	}
	return b.single.Patch(ctx, key, from, patches)
}

func (b beside) CopyFrom(ctx context.Context, key Key, from Store, source Key) (int64, error) {
	if c, ok := b.Batch.(CopyingBatch); ok {
		return c.CopyFrom(ctx, key, from, source)
	}
	return b.single.CopyFrom(ctx, key, from, source)
}

func (b beside) Clone(ctx context.Context, key, source Key, from Version) (Cloned, error) {
	if c, ok := b.Batch.(CloningBatch); ok {
		return c.Clone(ctx, key, source, from)
	}
	// Prefer the store's own way, which does not read the bytes. Otherwise write the
	// value through the batch, so that Commit makes it durable with the rest.
	_, cloner := As[Cloner](b.single.s)
	_, copier := As[Copier](b.single.s)
	if cloner || copier || key == source {
		return b.single.Clone(ctx, key, source, from)
	}
	value, made, err := cloned(ctx, b.single.s, source, from, 0)
	if err == nil {
		err = b.Put(ctx, key, value)
	}
	if err != nil {
		return Cloned{}, err
	}
	return made, nil
}

func (b beside) Assemble(ctx context.Context, key Key, parts []Part) error {
	if a, ok := b.Batch.(AssemblingBatch); ok {
		return a.Assemble(ctx, key, parts)
	}
	if _, ok := As[Assembler](b.single.s); ok {
		return b.single.Assemble(ctx, key, parts)
	}
	value, err := gather(ctx, b.single.s, parts, 0, nil)
	if err != nil {
		return err
	}
	return b.Put(ctx, key, value)
}

func (b beside) Gather(ctx context.Context, key Key, from Store, parts []Part) error {
	if g, ok := b.Batch.(GatheringBatch); ok {
		return g.Gather(ctx, key, from, parts)
	}
	return b.single.Gather(ctx, key, from, parts)
}

// single is the batch of a store that writes one value at a time.
type single struct {
	s Store
	d Durability
}

func (b single) Put(ctx context.Context, key Key, value []byte) error {
	_, err := Put(ctx, b.s, key, value, b.d)
	return err
}

func (b single) PutIf(ctx context.Context, key Key, value []byte, cond Condition) error {
	_, err := PutIf(ctx, b.s, key, value, cond, b.d)
	return err
}

func (b single) DeleteIf(ctx context.Context, key Key, v Version) error {
	return DeleteIf(ctx, b.s, key, v)
}

func (b single) Splice(ctx context.Context, key Key, from Version, fragments []Fragment) error {
	_, err := Splice(ctx, b.s, key, from, fragments, b.d)
	return err
}

func (b single) Patch(ctx context.Context, key Key, from Version, patches []Patch) error {
	_, err := PatchValue(ctx, b.s, key, from, patches, b.d)
	return err
}

func (b single) CopyFrom(ctx context.Context, key Key, from Store, source Key) (int64, error) {
	c, ok := As[Copier](b.s)
	if !ok {
		return 0, unsupported(b.s, "copy")
	}
	n, _, err := c.CopyFrom(ctx, key, from, source, b.d)
	return n, err
}

func (b single) Clone(ctx context.Context, key, source Key, from Version) (Cloned, error) {
	return Clone(ctx, b.s, key, source, from, 0, b.d)
}

func (b single) Assemble(ctx context.Context, key Key, parts []Part) error {
	_, err := Assemble(ctx, b.s, key, parts, 0, b.d)
	return err
}

func (b single) Gather(ctx context.Context, key Key, from Store, parts []Part) error {
	_, err := Gather(ctx, b.s, key, from, parts, b.d)
	return err
}

func (b single) Delete(ctx context.Context, key Key) error { return Delete(ctx, b.s, key) }
func (b single) Commit(context.Context) error              { return nil }
func (b single) Discard()                                  {}
