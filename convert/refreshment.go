// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
	"strings"
	"time"

	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// refresh stores the values of an array that are missing, or not written well after what
// they are made from.
func (c *conversion) refresh(ctx context.Context, m *member) error {
	if m.Kind == "group" {
		return nil
	}
	if m.reason != nil {
		return c.recodeStale(ctx, m)
	}
	r, err := c.newRefreshment(m)
	if err != nil {
		return err
	}
	g, within := parallel.New(ctx)
	g.SetLimit(copying.Workers(&c.pair.Options.Options))
	r.g = g
	err = g.Wait(copying.Pair(within, r.source(within), r.destination(within), func(from, to *store.Entry) error {
		if err := within.Err(); err != nil {
			return err
		}
		return r.visit(within, from, to)
	}))
	if err == nil && m.gaps != nil {
		err = m.gaps.fill(ctx, copying.Workers(&c.pair.Options.Options), c.pair.Source.Store, m.path, r.gap)
	}
	return r.values.End(ctx, err)
}

// refreshment copies what an array lacks.
type refreshment struct {
	conv   *conversion
	m      *member
	place  store.Path
	values *copying.Values
	g      *parallel.Group

	oldKeys, newKeys metadata.KeyEncoding
	layout           copying.Layout
}

func (c *conversion) newRefreshment(m *member) (*refreshment, error) {
	place, err := c.pair.Target.Path.Join(m.Path)
	if err != nil {
		return nil, err
	}
	from := m.node.(*metadata.Array)
	r := &refreshment{conv: c, m: m, place: place, values: c.pair.NewValues(), layout: layoutOfNode(m.result)}
	if r.oldKeys, err = metadata.ParseKeyEncoding(from.ChunkKeyEncoding); err == nil {
		r.newKeys, err = metadata.ParseKeyEncoding(m.result.(*metadata.Array).ChunkKeyEncoding)
	}
	return r, err
}

// rank returns the number of axes of the array.
func (r *refreshment) rank() int { return len(r.m.node.(*metadata.Array).Shape) }

// source lists the chunks in the source that this call copies.
func (r *refreshment) source(ctx context.Context) copying.Listing {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range store.List(ctx, r.conv.pair.Source.Store, r.m.path, store.Deep|store.WithVersions) {
			if err == nil {
				if name, ok := r.renamed(e.Name, r.oldKeys, r.newKeys); !ok || !r.conv.inShare(r.m, name) {
					continue
				}
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// destination lists those in the destination, by their names in the source.
func (r *refreshment) destination(ctx context.Context) copying.Listing {
	return func(yield func(store.Entry, error) bool) {
		if r.conv.resumption.foreign || r.m.fresh {
			return
		}
		for e, err := range store.List(ctx, r.conv.pair.Target.Store, r.place, store.Deep|store.WithVersions) {
			if err == nil {
				was, ok := r.renamed(e.Name, r.newKeys, r.oldKeys)
				if !ok || !r.conv.inShare(r.m, e.Name) {
					continue
				}
				e.Name = was
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// renamed returns the name by one encoding of a chunk that has a name by another one.
func (r *refreshment) renamed(name string, from, to metadata.KeyEncoding) (string, bool) {
	index, ok := from.ParseKey(name, r.rank(), make([]int64, 0, 8))
	if !ok {
		return "", false
	}
	return string(to.AppendKey(nil, index)), true
}

// visit decides about one chunk.
func (r *refreshment) visit(ctx context.Context, from, to *store.Entry) error {
	was := copying.NameOf(from, to)
	name, _ := r.renamed(was, r.oldKeys, r.newKeys)
	switch {
	// Parts delete nothing, and missing chunks that the format needs are filled later.
	case from == nil && (r.conv.opt.Share != nil || r.conv.pair.DryRun || r.fills(was)):
	case from == nil:
		r.g.Go(func() error { return r.drop(ctx, name, was) })
	case to != nil && to.Size == from.Size && isAfter(to.Modified, from.Modified):
		r.conv.keep()
	case r.conv.pair.DryRun:
		return r.conv.count.value(from.Size, nil)
	default:
		r.g.Go(func() error {
			info := store.Info{Size: from.Size, Version: from.Version}
			return r.conv.count.value(r.values.CopySettled(ctx, r.place.MustKey(name), r.m.path.MustKey(was), info))
		})
	}
	return nil
}

// isAfter reports whether a value was written well after what it was made from. The times
// are zero if they are not known.
func isAfter(made, source time.Time) bool {
	return !made.IsZero() && !source.IsZero() && made.Sub(source) > copying.Slack
}

// fills reports whether a chunk that the source does not store is stored.
func (r *refreshment) fills(was string) bool {
	if r.m.gaps == nil || !r.layout.Known() {
		return false
	}
	index, ok := r.oldKeys.ParseKey(was, r.rank(), nil)
	return ok && r.layout.Chunks.Contains(index)
}

// keep counts a value that is up to date.
func (c *conversion) keep() {
	c.count.mu.Lock()
	defer c.count.mu.Unlock()
	c.count.kept++
}

// drop deletes a chunk that the source does not store. A listing may miss one that is
// replaced at that moment.
func (r *refreshment) drop(ctx context.Context, name, was string) error {
	found, err := store.Exists(ctx, r.conv.pair.Source.Store, r.m.path.MustKey(was))
	if found || err != nil {
		return err
	}
	return r.values.Delete(ctx, r.place.MustKey(name))
}

// gap stores a chunk that the source does not store. It compares bytes, because there is
// no time to compare with.
func (r *refreshment) gap(ctx context.Context, name string, value []byte) error {
	if !r.conv.inShare(r.m, name) {
		return nil
	}
	key := r.place.MustKey(name)
	if !r.conv.resumption.foreign && !r.m.fresh {
		is, _, err := r.conv.pair.Target.Store.Get(ctx, key, store.Request{Limit: min(int64(len(value))+1, math.MaxInt32)}, nil)
		switch {
		case err == nil && bytes.Equal(is, value):
			r.conv.keep()
			return nil
		case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, store.ErrTooLarge):
			return err
		}
	}
	if r.conv.pair.DryRun {
		return nil
	}
	return r.values.Put(ctx, key, value)
}

// targets are the arrays that a conversion makes, by their directories below the node.
type targets map[string]*target

// target is one of them.
type target struct {
	copying.Layout
	copied bool // chunks beyond the extent may stay, if the source has them
}

func (s *survey) targets() targets {
	all := targets{}
	for _, m := range s.members {
		if m.Kind == "array" {
			all[strings.TrimPrefix(m.Path+"/", "/")] = &target{layoutOfNode(m.result), m.reason == nil}
		}
	}
	return all
}

func layoutOfNode(n metadata.Node) copying.Layout {
	p, err := paragraphOf(n)
	if err != nil {
		return copying.Layout{}
	}
	return p.layout()
}

// describe reports whether a key below the node may be that of a chunk.
func (t targets) describe(name string) bool {
	for end := 0; ; {
		if at := t[name[:end]]; at != nil {
			return at.describes(name[end:])
		}
		i := strings.IndexByte(name[end:], '/')
		if i < 0 {
			return false
		}
		end += i + 1
	}
}

func (t *target) describes(rest string) bool {
	if !t.Known() {
		return false
	}
	index, ok := t.Keys.ParseKey(rest, t.Grid.Rank(), nil)
	return ok && (t.copied || t.Chunks.Contains(index))
}
