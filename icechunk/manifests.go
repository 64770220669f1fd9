// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"container/list"
	"context"
	"fmt"
	"sync"

	"varve.dev/zarr/icechunk/internal/format"
)

// manifests keeps manifests, which never change. Those that were used longest ago make
// room for others. Concurrent calls for one manifest read it once.
type manifests struct {
	most int64 // bytes

	mu     sync.Mutex
	size   int64
	kept   map[ID]*list.Element // of *kept
	order  list.List            // the last used first
	coming map[ID]*coming
}

type kept struct {
	id       ID
	manifest *format.Manifest
}

// coming is a manifest that is being read.
type coming struct {
	done     chan struct{}
	manifest *format.Manifest
	err      error
}

// get returns a manifest. If it is not kept, it calls read.
func (c *manifests) get(ctx context.Context, id ID, read func(context.Context) (*format.Manifest, error)) (*format.Manifest, error) {
	for {
		c.mu.Lock()
		if at := c.kept[id]; at != nil {
			c.order.MoveToFront(at)
			c.mu.Unlock()
			return at.Value.(*kept).manifest, nil
		}
		one := c.coming[id]
		if one == nil {
			one = &coming{done: make(chan struct{})}
			if c.coming == nil {
				c.coming, c.kept = map[ID]*coming{}, map[ID]*list.Element{}
			}
			c.coming[id] = one
			c.mu.Unlock()
			one.manifest, one.err = read(ctx)
			c.keep(id, one)
			return one.manifest, one.err
		}
		c.mu.Unlock()
		select {
		case <-one.done:
			// The call that has read it may have been cancelled.
			if one.err == nil {
				return one.manifest, nil
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// keep ends a read.
func (c *manifests) keep(id ID, one *coming) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.coming, id)
	close(one.done)
	if one.err != nil {
		return
	}
	c.kept[id] = c.order.PushFront(&kept{id, one.manifest})
	c.size += one.manifest.Size()
	for c.size > c.most && c.order.Len() > 1 {
		old := c.order.Remove(c.order.Back()).(*kept)
		c.size -= old.manifest.Size()
		delete(c.kept, old.id)
	}
}

// manifest returns a manifest of a snapshot.
func (r *Repository) manifest(ctx context.Context, s *format.Snapshot, id ID) (*format.Manifest, error) {
	if _, ok := s.FindFile(id); !ok {
		return nil, r.fail(snapshotName(s.ID), fmt.Errorf("%w: it does not list the manifest %v", format.ErrDamaged, id))
	}
	return r.manifests.get(ctx, id, func(ctx context.Context) (*format.Manifest, error) { return r.readManifest(ctx, id) })
}

// manifestName returns the name of the object of a manifest.
func manifestName(id ID) string { return "manifests/" + id.String() }

// readManifest reads a manifest, which is not kept.
func (r *Repository) readManifest(ctx context.Context, id ID) (*format.Manifest, error) {
	body, err := r.read(ctx, manifestName(id), format.KindManifest)
	if err != nil {
		return nil, err
	}
	m, err := format.ParseManifest(body)
	if err == nil && m.ID != id {
		err = fmt.Errorf("%w: it is the manifest %v", format.ErrDamaged, m.ID)
	}
	if err != nil {
		return nil, r.fail(manifestName(id), err)
	}
	return m, nil
}
