// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"

	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// RepairShard restores the damaged index of one stored shard, so that its inner chunks
// can be read again. It reports whether it has changed the shard: not if the index is
// sound.
//
// It does so only if the shard itself proves what the index was: if exactly one of the
// few candidates that are tried fits the shard and has the stored checksum, or if all
// inner chunks are sound where the index says and its checksum is wrong within one byte,
// which no flipped bit of the index explains. This needs an index with the codecs "bytes"
// and "crc32c", and inner chunks that have checksums themselves: codec crc32c, gzip, or
// zstd with checksum. Otherwise the shard stays as it is, and the error wraps
// [ErrCorrupt]. An index that was cut off is lost, and so is that of a shard within a
// shard.
//
// The inner chunks stay as they are stored, byte by byte. The shard is replaced in one
// step, on the condition that it has not changed. If the store has no conditional writes,
// the error wraps [ErrUnsupported]. The shard is in memory meanwhile; one of more than
// [Limits.Chunk] bytes is an [ErrLimit]. If the shard is not stored, the error wraps
// [fs.ErrNotExist].
func (a *Array) RepairShard(ctx context.Context, index []int64) (repaired bool, err error) {
	repaired, err = a.repairShard(ctx, index)
	return repaired, a.fail("repair", err)
}

func (a *Array) repairShard(ctx context.Context, index []int64) (repaired bool, err error) {
	if err := a.writable(); err != nil {
		return false, err
	}
	s := a.state.Load()
	if err := s.IsChunk(index); err != nil {
		return false, err
	}
	if !s.Engine.Chain.Divided() {
		return false, errNoShards
	}
	lock, err := a.lock().Share(ctx)
	if err != nil {
		return false, err
	}
	defer lock.Release()
	mend := func(s *snapshot.Array, _ bool) error {
		repaired = false
		// Another process may have removed the shard from the grid meanwhile.
		if err := s.IsChunk(index); err != nil {
			return err
		}
		return a.batch(ctx, func(ctx context.Context, b store.Batch) error {
			repaired, err = s.Engine.Mend(ctx, index, b)
			return err
		})
	}
	// A shard that another process trims meanwhile counts as damaged, so untilFresh tries
	// again.
	if s.Engine.Chain.DistinguishesShapes() {
		err = a.untilFresh(ctx, s, mend)
	} else { // stored bytes may decode as another shape: exclude writers that trim shards
		err = a.withoutGrowth(ctx, lock, s, mend)
	}
	return repaired && err == nil, err
}
