// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"

	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/store"
)

// batchLength is the number of objects that are copied in one batch: enough that a sync
// costs little, and so few that what waits takes little memory.
const batchLength = 4096

// sizesIn returns the sizes of the objects in a directory of the destination, by their
// names. Names that are IDs are asked about. It returns nil if the store cannot list.
func (c *clone) sizesIn(ctx context.Context, dir string, wanted func(ID) bool) (map[string]int64, error) {
	at, err := c.to.root.Join(dir)
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for e, err := range store.List(ctx, c.to.store, at, store.Flat) {
		switch {
		case errors.Is(err, store.ErrUnsupported):
			return nil, nil
		case errors.Is(err, fs.ErrNotExist):
			return sizes, nil
		case err != nil:
			return nil, err
		}
		if id, ok := format.ParseObjectID(e.Name); !ok || wanted(id) {
			sizes[e.Name] = e.Size
		}
	}
	return sizes, nil
}

// add notes an object that is to be copied, unless the destination has it.
func (c *clone) add(ctx context.Context, sizes map[string]int64, o copiedObject) error {
	size, found := sizes[path.Base(o.name)]
	if sizes == nil || found && size < 0 {
		info, err := store.Stat(ctx, c.to.store, c.to.root.MustKey(o.name))
		if found = err == nil; err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		size = info.Size
	}
	if found && o.size < 0 {
		info, err := store.Stat(ctx, c.from.store, c.from.root.MustKey(o.name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		o.size, o.exact = info.Size, true
	}
	if found && o.fits(size) {
		c.done.Kept++
		return nil
	}
	if c.waiting = append(c.waiting, o); len(c.waiting) < batchLength {
		return nil
	}
	return c.flush(ctx)
}

// fits reports whether an object of a size is a whole copy.
func (o *copiedObject) fits(size int64) bool {
	return size == o.size || size > o.size && !o.exact
}

// flush copies what waits.
func (c *clone) flush(ctx context.Context) error {
	list := c.waiting
	c.waiting = nil
	b := store.Batch(nil)
	if !c.opt.DryRun && len(list) > 0 {
		var err error
		if b, err = store.NewBatch(ctx, c.to.store, store.Sync); err != nil {
			return err
		}
		defer b.Discard()
	}
	if err := c.each(ctx, list, func(ctx context.Context, o copiedObject) (int64, error) {
		if b == nil {
			info, err := store.Stat(ctx, c.from.store, c.from.root.MustKey(o.name))
			return info.Size, err
		}
		return c.copy(ctx, b, c.from.root.MustKey(o.name), c.to.root.MustKey(o.name))
	}); err != nil || b == nil {
		return err
	}
	return b.Commit(ctx)
}

// copyTasks is the number of objects that are copied at once.
const copyTasks = 16

// each calls do for each object, for several at once, and counts them.
func (c *clone) each(ctx context.Context, list []copiedObject, do func(context.Context, copiedObject) (int64, error)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var tasks sync.WaitGroup
	var mu sync.Mutex
	next := make(chan copiedObject)
	for range min(copyTasks, len(list)) {
		tasks.Go(func() {
			for o := range next {
				n, err := do(ctx, o)
				if errors.Is(err, fs.ErrNotExist) && o.optional {
					continue
				}
				switch {
				case errors.Is(err, fs.ErrNotExist):
					err = c.from.fail(o.name, fmt.Errorf("%w: there is no such object; if garbage was collected meanwhile, clone again", format.ErrDamaged))
				case err == nil && !o.fits(n):
					err = c.from.fail(o.name, fmt.Errorf("%w: the object has another length than what leads to it says (bytes: %d, not %d)", format.ErrDamaged, n, o.size))
				}
				if err != nil {
					stop(err)
					continue
				}
				mu.Lock()
				c.done.Objects, c.done.Bytes = c.done.Objects+1, c.done.Bytes+n
				if c.opt.Progress != nil {
					c.opt.Progress(c.done)
				}
				mu.Unlock()
			}
		})
	}
	for _, o := range list {
		if ctx.Err() != nil {
			break
		}
		next <- o
	}
	close(next)
	tasks.Wait()
	return context.Cause(ctx)
}

// mostBuffered is the longest object that passes through memory beside others.
const mostBuffered = 16 << 20

// copy copies an object, by the service if it can, and returns its size.
func (c *clone) copy(ctx context.Context, b store.Batch, from, to store.Key) (int64, error) {
	made, err := b.Write(ctx, store.Copy(to, c.from.store, from))
	if !errors.Is(err, store.ErrUnsupported) {
		return made.Size, err
	}
	data, info, err := c.from.store.Get(ctx, from, store.Request{Limit: mostBuffered}, nil)
	if errors.Is(err, store.ErrTooLarge) {
		if info, err = store.Stat(ctx, c.from.store, from); err != nil {
			return 0, err
		}
		_, err = b.Write(ctx, store.Gather(to, c.from.store, []store.Part{{Key: from, Version: info.Version, N: info.Size}}))
		if !errors.Is(err, store.ErrUnsupported) {
			return info.Size, err
		}
		data, _, err = c.from.store.Get(ctx, from, store.Request{Limit: c.from.limit}, nil)
	}
	if err == nil {
		_, err = b.Write(ctx, store.Put(to, data))
	}
	return int64(len(data)), err
}
