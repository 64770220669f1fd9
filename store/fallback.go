package store

import "context"

// Open returns the value at key as it is now, pinned to its version. Where s is no [Opener], every read of the
// object is a Get of its own whose version is compared: a change in between is [ErrConflict].
func Open(ctx context.Context, s Store, key Key) (Object, error) {
	if o, ok := s.(Opener); ok {
		return o.Open(ctx, key)
	}
	info, err := Stat(ctx, s, key)
	if err != nil {
		return nil, err
	}
	return &object{s, key, info}, nil
}

type object struct {
	s    Store
	key  Key
	info Info
}

func (o *object) Info() Info   { return o.info }
func (o *object) Close() error { return nil }

func (o *object) Read(ctx context.Context, q Request, dst []byte) ([]byte, error) {
	out, info, err := o.s.Get(ctx, o.key, q, dst)
	if err == nil && !info.Same(o.info) {
		return nil, replaced(o.key)
	}
	return out, err
}

// NewBatch begins a batch of writes. Where s is no [Batcher], every write stands alone.
//
// The batch is a [ConditionalBatch] wherever s can write on conditions, inside of batches or outside. Its PutIf and
// DeleteIf fail with [ErrUnsupported] where s cannot do that one; so do [BatchPutIf] and [BatchDeleteIf] with any batch.
func NewBatch(ctx context.Context, s Store, d Durability) (Batch, error) {
	if b, ok := s.(Batcher); ok {
		return batchOf(ctx, s, b, d)
	}
	if _, ok := s.(Writer); !ok {
		return nil, unsupported(s, "write")
	}
	return single{s, d}, nil
}

// batchOf begins a batch of a store that has batches. Conditions that these lack are left to the store itself.
func batchOf(ctx context.Context, s Store, by Batcher, d Durability) (Batch, error) {
	b, err := by.Batch(ctx, d)
	if err != nil {
		return nil, err
	}
	if _, ok := b.(ConditionalBatch); ok {
		return b, nil
	}
	return beside{b, single{s, d}}, nil
}

// beside is a batch of a store whose batches know no conditions: what has one stands alone.
type beside struct {
	Batch
	single single
}

func (b beside) PutIf(ctx context.Context, key Key, value []byte, cond Condition) error {
	return b.single.PutIf(ctx, key, value, cond)
}

func (b beside) DeleteIf(ctx context.Context, key Key, v Version) error {
	return b.single.DeleteIf(ctx, key, v)
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

func (b single) Delete(ctx context.Context, key Key) error { return Delete(ctx, b.s, key) }
func (b single) Commit(context.Context) error              { return nil }
func (b single) Discard()                                  {}
