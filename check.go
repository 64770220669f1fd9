// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/array"
	"varve.dev/zarr/internal/comparison"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// CheckOptions are the options of checks. A nil *CheckOptions is the zero value.
type CheckOptions struct {
	// IndexOnly checks only sizes, and the indexes of shards and of nested shards. It
	// reads nothing else. A size is wrong if the codecs encode the shape to another one
	// only, if it is larger than any encoding, or if it is 0 and nothing does not decode.
	// So a compressed chunk that was cut off passes, unless nothing is left of it.
	IndexOnly bool
	// Sample is the part of the stored chunks that [Array.CheckShards] checks, chosen at
	// random: 0.01 for one of a hundred. 0 means all.
	Sample float64
	// From and To limit [Array.CheckShards] to the chunks whose numbers in the C order of
	// the grid are From or greater and less than To. It does not read others. If both are
	// 0, it checks all chunks.
	From, To int64
	// Complete makes every missing chunk a fault that wraps [fs.ErrNotExist]. It is for
	// arrays whose chunks are all stored ([Options.StoreFill]). [Array.CheckShards]
	// yields such faults at the end.
	Complete bool
	// KeepGoing makes [Array.CheckShards] report a shard that the store cannot read as a
	// fault and continue, for example after an I/O error. More than 100 such shards in a
	// row end the check with an error. Without KeepGoing the first one does.
	KeepGoing bool
	// Progress, if not nil, is called by [Array.CheckShards] for every stored shard, one
	// call at a time, before its faults are yielded. It must not change its arguments.
	Progress func(shard []int64, found *codec.Check)
}

// ShardFault is a fault of a stored shard.
type ShardFault struct {
	Shard []int64 // index of the chunk of the array
	Key   string  // in the store
	codec.Fault
}

// Error names the shard and the fault.
func (f ShardFault) Error() string { return fmt.Sprintf("chunk %v (%s): %v", f.Shard, f.Key, f.Fault) }

// CheckShard checks one stored shard. The index must be readable. Every inner chunk must
// be inside the shard and outside of the index, must share no bytes with another one, and
// must decode. Nested shards are checked in the same way, and a chunk that is not a shard
// is decoded. Faults are part of the result, not errors. Dead bytes are counted, but are
// not a fault.
//
// Everything is read from one version of the shard, within [Options.Budget]. If the shard
// is not stored, the error wraps [fs.ErrNotExist].
func (a *Array) CheckShard(ctx context.Context, index []int64, opt *CheckOptions) (*codec.Check, error) {
	if opt == nil {
		opt = &CheckOptions{}
	}
	return a.checkShard(ctx, a.core.State(), index, opt)
}

// checkShard checks a chunk of s.
func (a *Array) checkShard(ctx context.Context, s *snapshot.Array, index []int64, opt *CheckOptions) (*codec.Check, error) {
	for range array.ReadTries {
		if err := s.IsChunk(index); err != nil {
			return nil, a.fail("check", err)
		}
		// A concurrent writer may replace the shard by one of another grid. Report faults
		// only if the document has not changed since.
		found, err := s.Engine.Check(ctx, index, !opt.IndexOnly)
		if err != nil || len(found.Faults) == 0 {
			return found, a.fail("check", err)
		}
		now, err := a.core.LookUnmoved(ctx, s)
		if err != nil || now == s {
			return found, a.fail("check", err)
		}
		s = now
	}
	return nil, a.fail("check", array.ErrUnsettled)
}

// mostUnread bounds the unreadable shards in a row that [CheckOptions.KeepGoing] reports
// as faults. More of them mean that the store itself cannot be read.
const mostUnread = 100

// CheckShards checks all stored shards, as [Array.CheckShard] does, several at a time. It
// yields their faults, with shards in no particular order. An error ends the sequence; it
// is not a fault of a shard. If the grid has 2^63 chunks or more and [CheckOptions.To] is
// set, the error wraps [ErrOverflow].
func (a *Array) CheckShards(ctx context.Context, opt *CheckOptions) iter.Seq2[ShardFault, error] {
	if opt == nil {
		opt = &CheckOptions{}
	}
	how := engine.Checking{Deep: !opt.IndexOnly, Sample: opt.Sample, Numbers: engine.Numbers{From: opt.From, To: opt.To}}
	if opt.KeepGoing {
		how.Unread = mostUnread
	}
	return func(yield func(ShardFault, error) bool) {
		s, err := a.core.Look(ctx, a.core.State())
		if err != nil {
			yield(ShardFault{}, a.fail("check", err))
			return
		}
		for c, err := range s.Engine.CheckAll(ctx, how) {
			if err != nil {
				yield(ShardFault{}, a.fail("check", err))
				return
			}
			if len(c.Faults) > 0 {
				// The listing began some time ago, so the shard may belong to a newer
				// grid.
				if c.Check, err = a.recheck(ctx, s, c.Index, c.Check, opt); err != nil {
					yield(ShardFault{}, err)
					return
				}
			}
			if opt.Progress != nil {
				opt.Progress(c.Index, c.Check)
			}
			if c.More > 0 {
				c.Faults = append(c.Faults, codec.Fault{Err: fmt.Errorf("%w: %s", ErrCorrupt, quantity.Count(c.More, "more faults"))})
			}
			for _, f := range c.Faults {
				// The engine yields a new index for every shard, so the fault may keep
				// it.
				if !yield(ShardFault{c.Index, s.Engine.Key(c.Index).String(), f}, nil) {
					return
				}
			}
		}
		if opt.Complete {
			a.missing(ctx, how.Numbers)(yield)
		}
	}
}

// missing yields chunks that are not stored, as faults. If another process changes the
// array meanwhile, it starts again, because the set of chunks may have changed.
func (a *Array) missing(ctx context.Context, of engine.Numbers) iter.Seq2[ShardFault, error] {
	return func(yield func(ShardFault, error) bool) {
		s := a.core.State()
		for range array.ReadTries {
			missing, err := s.Engine.Missing(ctx, of)
			if err != nil {
				yield(ShardFault{}, a.fail("check", err))
				return
			}
			now, err := a.core.Look(ctx, s)
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
		yield(ShardFault{}, a.fail("check", array.ErrUnsettled))
	}
}

// recheck checks a shard with faults again if another process has changed the array
// meanwhile. The shard may be right for the new grid.
func (a *Array) recheck(ctx context.Context, s *snapshot.Array, index []int64, found *codec.Check, opt *CheckOptions) (*codec.Check, error) {
	now, err := a.core.Look(ctx, s)
	if err != nil || now == s {
		return found, a.fail("check", err)
	}
	// The array has shrunk and the shard is no longer part of it.
	if now.IsChunk(index) != nil {
		// The shard was deleted meanwhile, which is not a fault.
		return new(codec.Check), nil
	}
	again, err := a.checkShard(ctx, now, index, opt)
	if errors.Is(err, fs.ErrNotExist) {
		return new(codec.Check), nil
	}
	if err != nil && opt.KeepGoing && ctx.Err() == nil {
		// The shard could not be read again. With KeepGoing the faults that were found
		// before are reported.
		return found, nil
	}
	return again, err
}

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
	s := a.core.State()
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
		return a.core.Batch(ctx, func(ctx context.Context, b store.Batch) error {
			repaired, err = s.Engine.Mend(ctx, index, b)
			return err
		})
	}
	// A shard that another process trims meanwhile counts as damaged, so untilFresh tries
	// again.
	if s.Engine.Chain.DistinguishesShapes() {
		err = a.core.UntilFresh(ctx, s, mend)
	} else { // stored bytes may decode as another shape: exclude writers that trim shards
		err = a.core.WithoutGrowth(ctx, lock, s, mend)
	}
	return repaired && err == nil, err
}

// Difference is the first difference of two arrays.
type Difference struct {
	What  string  // "shape", "data type" or "element"
	Index []int64 // of the element, the first one in C order; nil for all else
	A, B  string  // the values in the two arrays, elements in the JSON form of fill values
}

// String returns the difference as one line.
func (d *Difference) String() string {
	if d.Index == nil {
		return fmt.Sprintf("the %s differs: %s and %s", d.What, d.A, d.B)
	}
	return fmt.Sprintf("element %v differs: %s and %s", d.Index, d.A, d.B)
}

// Compare returns the first difference of two arrays in shape, data type or elements, or
// nil. Elements are equal if their bits are: a NaN equals itself, and -0.0 differs from
// 0.0. Grids, codecs and attributes do not matter.
//
// Both arrays are streamed, a few chunks at a time. If most chunks of both are missing,
// only those that one of them stores are read. If a store cannot list and there are too
// many chunks to request each one, the error wraps [ErrLimit].
func Compare(ctx context.Context, a, b *Array) (*Difference, error) {
	if s, t := a.Shape(), b.Shape(); !slices.Equal(s, t) {
		return &Difference{What: "shape", A: fmt.Sprint(s), B: fmt.Sprint(t)}, nil
	}
	if s, t := a.Type(), b.Type(); s != t {
		return &Difference{What: "data type", A: s.String(), B: t.String()}, nil
	}
	d, err := comparison.Compare(ctx, a.core.Compared(a.unread), b.core.Compared(b.unread))
	if d == nil || err != nil {
		return nil, a.fail("list", err)
	}
	return &Difference{What: "element", Index: d.Index, A: d.A, B: d.B}, nil
}

// unread returns err as an error of reading the array.
func (a *Array) unread(err error) error { return a.fail("read", err) }

// DigestOptions are the options of [Array.Digest] and [Group.Digest]. A nil
// *DigestOptions is the zero value.
type DigestOptions struct {
	// Progress, if not nil, is called for each part that was read, with the number of its
	// elements, from several goroutines. Elements of missing chunks may be left out.
	Progress func(elements int64)
	// Found, if not nil, is called by [Group.Digest] with the digest of each array below
	// the group.
	Found func(path, digest string)
}

// Digest returns a short text that is equal for two arrays exactly if their data types,
// shapes and values are equal. It does not depend on chunks, codecs, byte order, format,
// fill value or attributes, so a copy, a conversion or another grid keeps it. A missing
// chunk counts as its fill values. Values are equal if their bits are: a NaN equals only
// a NaN with the same payload, and -0.0 differs from 0.0.
//
// Digests find accidents. They do not protect against forgery, because arrays with the
// same digest can be made on purpose.
//
// Each stored chunk is decoded once, several at a time. Of arrays in which most chunks
// are missing, only the stored ones are read. Writes during the call may be part of the
// digest or not. The error wraps [ErrLimit] if the values have more than 2^63 bytes.
func (a *Array) Digest(ctx context.Context, opt *DigestOptions) (string, error) {
	if opt == nil {
		opt = &DigestOptions{}
	}
	text, err := comparison.Digest(ctx, a.core.Compared(a.unread), opt.Progress)
	return text, a.fail("digest", err)
}

// Digest returns the digest of all arrays below the group: the SHA-256 of one line for
// each, sorted by path, with its digest, two spaces and its path. Groups without arrays
// and attributes do not count.
func (g *Group) Digest(ctx context.Context, opt *DigestOptions) (string, error) {
	digests := map[string]string{}
	for m, err := range g.Members(ctx, true) {
		if err = errors.Join(err, m.Err); err != nil {
			return "", err
		}
		a, isArray := m.Node.(*Array)
		if !isArray {
			continue
		}
		digest, err := a.Digest(ctx, opt)
		if err != nil {
			return "", err
		}
		digests[m.Path] = digest
		if opt != nil && opt.Found != nil {
			opt.Found(m.Path, digest)
		}
	}
	hash := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(digests)) {
		fmt.Fprintf(hash, "%s  %s\n", digests[path], path)
	}
	return fmt.Sprintf("%s%x", comparison.DigestPrefix, hash.Sum(nil)), nil
}
