package zarr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/snapshot"
)

// CheckOptions says how a shard is checked. A nil *CheckOptions means the zero
// CheckOptions.
type CheckOptions struct {
	// IndexOnly looks at indexes alone, those of nested shards too, and decodes no inner
	// chunk.
	IndexOnly bool
	// Complete makes it a fault, which wraps [fs.ErrNotExist], that a chunk of the grid
	// is not stored. It is for arrays whose chunks are all stored ([Options].StoreFill).
	// [Array.CheckShards] yields such faults at the end.
	Complete bool
	// KeepGoing makes it a fault that the store fails to read a shard, for want of
	// permission or because of an error of I/O, and goes on with the others. More than
	// 100 such shards in a row are an error: the store cannot be read at all. Without it
	// the first is an error. It is for [Array.CheckShards].
	KeepGoing bool
	// Progress is called by [Array.CheckShards] for every stored shard that was looked
	// at, for one at a time and before its faults are yielded. Neither index nor result
	// is to be changed.
	Progress func(shard []int64, found *codec.Check)
}

// ShardFault is something that is wrong with a stored shard.
type ShardFault struct {
	Shard []int64 // index of the chunk of the array
	Key   string  // in the store
	codec.Fault
}

// Error returns which shard it is, and what is wrong with it.
func (f ShardFault) Error() string { return fmt.Sprintf("chunk %v (%s): %v", f.Shard, f.Key, f.Fault) }

// CheckShard looks for faults in one stored shard: whether its index can be read, every
// inner chunk is in the shard, outside of the index, has its bytes for itself, and
// decodes; the same within nested shards. What is wrong is told in the result and is no
// error; nor are dead bytes, which are counted. A chunk that is no shard is decoded.
//
// A shard that is not stored wraps [fs.ErrNotExist]. Everything is read from one version
// of the shard, with [Options].Budget.
func (a *Array) CheckShard(ctx context.Context, index []int64, opt *CheckOptions) (*codec.Check, error) {
	if opt == nil {
		opt = &CheckOptions{}
	}
	s := a.state.Load()
	for range readTries {
		if err := s.IsChunk(index); err != nil {
			return nil, a.fail("check", err)
		}
		found, err := s.Engine.Check(ctx, index, !opt.IndexOnly)
		if err != nil || len(found.Faults) == 0 {
			return found, a.fail("check", err)
		}
		now, err := a.fresh(ctx, s) // it may be that of another grid
		if err != nil || now == s {
			return found, a.fail("check", err)
		}
		s = now
	}
	return nil, a.fail("check", fmt.Errorf("%w while it was looked at, again and again", ErrConflict))
}

// mostUnread is how many shards in a row [CheckOptions].KeepGoing takes for faults of
// their own. Beyond that the store is at fault, and each of its shards would be told.
const mostUnread = 100

// CheckShards looks for faults in all stored shards, as [Array.CheckShard] does, several
// at a time, and yields each, shards in no order. An error, which ends it, is not a fault
// of a shard but what kept it from going on.
func (a *Array) CheckShards(ctx context.Context, opt *CheckOptions) iter.Seq2[ShardFault, error] {
	if opt == nil {
		opt = &CheckOptions{}
	}
	unread := int64(0)
	if opt.KeepGoing {
		unread = mostUnread
	}
	return func(yield func(ShardFault, error) bool) {
		s, err := a.fresh(ctx, a.state.Load())
		if err != nil {
			yield(ShardFault{}, a.fail("check", err))
			return
		}
		for c, err := range s.Engine.CheckAll(ctx, grid.BoxOf(s.Grid.Chunks()), !opt.IndexOnly, unread) {
			if err != nil {
				yield(ShardFault{}, a.fail("check", err))
				return
			}
			if len(c.Faults) > 0 {
				if c.Check, err = a.recheck(ctx, s, c.Index, c.Check, opt); err != nil {
					yield(ShardFault{}, err)
					return
				}
			}
			if opt.Progress != nil {
				opt.Progress(c.Index, c.Check)
			}
			if c.More > 0 {
				c.Faults = append(c.Faults, codec.Fault{Err: fmt.Errorf("%w: %d more faults", ErrCorrupt, c.More)})
			}
			for _, f := range c.Faults {
				if !yield(ShardFault{c.Index, s.Engine.Key(c.Index).String(), f}, nil) {
					return
				}
			}
		}
		if opt.Complete {
			a.missing(ctx)(yield)
		}
	}
}

// missing yields the chunks that are not stored, as faults. Where another program changes
// the array meanwhile, it looks again, for chunks may come and go with their grid.
func (a *Array) missing(ctx context.Context) iter.Seq2[ShardFault, error] {
	return func(yield func(ShardFault, error) bool) {
		s := a.state.Load()
		for range readTries {
			missing, err := s.Engine.Missing(ctx)
			if err != nil {
				yield(ShardFault{}, a.fail("check", err))
				return
			}
			now, err := a.fresh(ctx, s)
			if err != nil {
				yield(ShardFault{}, a.fail("check", err))
				return
			}
			if now != s {
				s = now
				continue
			}
			for index := range missing {
				f := codec.Fault{Err: fmt.Errorf("%w: the chunk is not stored", fs.ErrNotExist)}
				if !yield(ShardFault{index, s.Engine.Key(index).String(), f}, nil) {
					return
				}
			}
			return
		}
		yield(ShardFault{}, a.fail("check", fmt.Errorf("%w while it was looked at, again and again", ErrConflict)))
	}
}

// recheck looks at a shard with faults again, if another program has changed the array
// meanwhile: then it may be as it should.
func (a *Array) recheck(ctx context.Context, s *snapshot.Array, index []int64, found *codec.Check, opt *CheckOptions) (*codec.Check, error) {
	now, err := a.fresh(ctx, s)
	if err != nil || now == s {
		return found, a.fail("check", err)
	}
	if now.IsChunk(index) != nil {
		return new(codec.Check), nil
	}
	again, err := a.CheckShard(ctx, index, opt)
	if errors.Is(err, fs.ErrNotExist) {
		return new(codec.Check), nil
	}
	if err != nil && opt.KeepGoing && ctx.Err() == nil {
		return found, nil
	}
	return again, err
}
