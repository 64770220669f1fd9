package rewrite

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
)

// versions accumulates names and versions of values as a sum of digests. The sum does not
// depend on the order, and is all that is kept: there may be millions of values.
type versions struct {
	mu  sync.Mutex
	sum [sha256.Size / 8]uint64
}

func (v *versions) add(name string, info store.Info) {
	text := fmt.Appendf(nil, "%q %d %q", name, info.Size, info.Version.String())
	digest := sha256.Sum256(text)
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range v.sum {
		v.sum[i] += binary.LittleEndian.Uint64(digest[8*i:])
	}
}

// checkUnchanged checks that the source is still what was copied. The caller holds the
// locks of all its nodes.
func (c *copier) checkUnchanged(ctx context.Context) error {
	now := &copier{Options: c.Options, src: c.src, from: c.from, at: c.at, seen: new(versions)}
	if err := now.survey(ctx); err != nil {
		return err
	}
	err := now.each(ctx, func(ctx context.Context, rel string) (int64, error) {
		info, err := store.Stat(ctx, c.from, c.at.MustKey(rel))
		if err == nil {
			now.seen.add(rel, info)
		}
		return info.Size, err
	})
	if err != nil {
		return err
	}
	if !slices.Equal(now.documents, c.documents) || now.seen.sum != c.seen.sum {
		return fmt.Errorf("%w: it was changed while it was copied, and the copy may lack the change; the source stays; remove the copy and move it again", zarr.ErrConflict)
	}
	return nil
}
