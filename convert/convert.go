// SPDX-License-Identifier: Apache-2.0

// Package convert makes nodes with other documents from nodes.
//
// [Convert] changes the format of nodes in place, and [ConvertTo] copies nodes to another
// place in another format. Both keep chunks as they are stored if the other format can
// describe them. [Derive] copies nodes and makes some of their arrays anew.
//
// What a copy leaves after a crash, and its steps, are those of package transfer: values
// first, documents last, and a note until all is done.
package convert

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
)

// Options configure [Convert] and [ConvertTo]. A nil *Options means the zero Options.
type Options struct {
	// Options open nodes, with limits, codecs and durability. Write is not needed.
	zarr.Options
	// Overwrite first removes a node at the destination. That is not atomic: a crash
	// before the copy is complete leaves no node there. If a symbolic link in its store
	// leads to the destination, the error wraps [zarr.ErrInvalidArgument].
	Overwrite bool
	// DryRun changes nothing and counts what would be copied.
	DryRun bool
	// FillAll permits a conversion to format 2 to store any number of chunks that the
	// source does not store. Without it, more than 10,000 of them, or more than 1 GiB,
	// are an error that wraps [ErrManyMissing], and nothing is changed.
	FillAll bool
	// Resume lets [ConvertTo] use the values that another call with Resume, or parts,
	// have stored. Without it, the values of an unfinished conversion are deleted
	// first. Overwrite cannot be combined with it, nor with Share.
	Resume bool
	// Share, unless nil, makes [ConvertTo] store the values of one part, and publish
	// nothing; ConvertTo says how.
	Share *transfer.Share
	// Progress is called by [Convert] when the changes begin and after each step: a
	// stored missing chunk, or documents that are written, checked or removed. It may
	// be called concurrently.
	Progress func(done, total int64)
}

// Convert changes the node at a place, and all nodes below it, to format 2 or 3. It
// rewrites the documents and keeps the chunks as they are, under their keys. Byte order,
// axis order, filters and compressor of format 2 become codecs of format 3, and the
// attribute _ARRAY_DIMENSIONS becomes dimension names. Consolidated metadata is
// converted, too. Nodes that have the format already keep their documents, and lose those
// of the other format beside them. A symbolic link to one of the nodes stays, and leads
// to the converted node.
//
// If the other format cannot describe the chunks of an array, the error wraps
// [zarr.ErrUnsupported], and nothing is changed; [ConvertTo] encodes such chunks again.
// If a group above the node keeps the other format, the error wraps
// [zarr.ErrInvalidArgument].
//
// Missing values keep their meaning for xarray. From 2 to 3, the fill value becomes the
// attribute _FillValue. From 3 to 2, the attribute becomes the fill value; without an
// attribute, the fill value becomes null. The elements of missing chunks would then
// change. So these chunks are stored before any document is written. If there are too
// many of them, the error wraps [ErrManyMissing].
//
// # Protocol
//
//  1. Store the missing chunks. In format 3 they read as before.
//  2. Write all new documents, inner nodes first.
//  3. Check that no old document has changed.
//  4. Remove the old documents.
//
// A crash after step 2 begins leaves documents of both formats. Readers prefer format 3,
// and another call finishes the conversion. Nodes must not be changed meanwhile. If a
// document was changed, the new ones are removed again, and the error wraps
// [zarr.ErrConflict].
func Convert(ctx context.Context, at *zarr.Location, format int, opt *Options) (Conversion, error) {
	c := &inPlace{to: format, hierarchy: at.Root()}
	if opt != nil {
		c.opt = *opt
	}
	if c.opt.Resume || c.opt.Share != nil {
		err := fmt.Errorf("%w: only ConvertTo works in parts or continues", zarr.ErrInvalidArgument)
		return c.survey.result(), copying.Wrap("convert", at.Path(), err)
	}
	c.survey.store, c.survey.limits = at.Store(), c.opt.Limits
	if !c.opt.DryRun && c.opt.Rehearsal == nil {
		store.DirectoriesOf(c.survey.store).Sweep(ctx)
	}
	err := c.run(ctx, at.Path())
	if err != nil {
		return c.survey.result(), copying.Wrap("convert", at.Path(), err)
	}
	return c.survey.result(), nil
}

// inPlace is one run of Convert.
type inPlace struct {
	opt       Options
	survey    survey
	hierarchy *zarr.Location
	to        int
	written   []store.Key // keys that did not exist before
	done      atomic.Int64
	steps     int64
}

func (c *inPlace) run(ctx context.Context, path string) error {
	p, err := store.ParsePath(path)
	if err == nil {
		err = checkFormat(c.to)
	}
	if err == nil {
		err = c.survey.walk(ctx, p, "")
	}
	if err == nil {
		err = c.survey.noteAliases(ctx)
	}
	if err != nil {
		return err
	}
	if len(c.survey.members) == 0 {
		// The error of Open describes the place.
		_, err := c.hierarchy.At(path).Open(ctx, nil)
		return err
	}
	if err := c.checkAbove(ctx, p); err != nil {
		return err
	}
	if err := c.translate(ctx); err != nil {
		return err
	}
	if err := c.survey.consolidate(c.to); err != nil {
		return err
	}
	// The last check before the first change.
	if err := c.survey.gauge(ctx, &c.opt); err != nil || c.opt.DryRun {
		return err
	}
	if err := c.apply(ctx); err != nil {
		return err
	}
	return copying.UpdateAbove(ctx, c.hierarchy.At(path), c.opt.Options)
}

// begin reports the number of steps.
func (c *inPlace) begin() {
	c.steps = 3 * int64(len(c.survey.own()))
	for _, m := range c.survey.own() {
		c.steps += m.Filled
	}
	c.advance(0)
}

// advance reports n more steps.
func (c *inPlace) advance(n int64) {
	if done := c.done.Add(n); c.opt.Progress != nil {
		c.opt.Progress(done, c.steps)
	}
}

// apply runs the protocol of [Convert].
func (c *inPlace) apply(ctx context.Context) error {
	c.begin()
	for _, m := range c.survey.own() {
		if m.gaps == nil {
			continue
		}
		// Step 1. Each lock is held for one step of one node only.
		if err := c.locked(ctx, m, c.fill); err != nil {
			return err
		}
	}
	// Step 2. A crash or failure from here on leaves documents of both formats.
	for _, m := range slices.Backward(c.survey.own()) {
		if err := c.locked(ctx, m, c.write); err != nil {
			return errors.Join(err, c.takeBack(ctx))
		}
		c.advance(1)
	}
	for _, m := range c.survey.own() {
		// Step 3. A writer that changed an old document after its new one was
		// written would lose that change in step 4.
		if err := c.locked(ctx, m, c.survey.unchanged); err != nil {
			return errors.Join(err, c.takeBack(ctx))
		}
		c.advance(1)
	}
	for _, m := range c.survey.own() {
		if err := c.locked(ctx, m, c.remove); err != nil {
			// Step 4 cannot be rolled back: some old documents are deleted.
			return fmt.Errorf("%w: the new documents are stored, but some old ones were not removed: %w", zarr.ErrIncomplete, err)
		}
		c.advance(1)
	}
	return nil
}

// checkAbove refuses a node below a group of the other format, because readers of that
// format would no longer see it.
func (c *inPlace) checkAbove(ctx context.Context, p store.Path) error {
	if p.IsRoot() {
		return nil
	}
	above, err := c.survey.member(ctx, p.Parent(), "")
	if err == nil && above != nil && above.From != c.to {
		err = fmt.Errorf("%w: it is in a group of format %d, whose readers would no longer see it: convert the group, or convert to another place", zarr.ErrInvalidArgument, above.From)
	}
	return err
}

// translate makes the new documents of all nodes.
func (c *inPlace) translate(ctx context.Context) error {
	c.survey.noteImaging()
	for _, m := range c.survey.members {
		m.named(c.to, m.path)
		filled, err := c.survey.masksFill(ctx, m)
		if err != nil {
			return err
		}
		err = m.translate(c.to, filled, func(a *metadata.Array) *metadata.Array { return a })
		if err == nil {
			err = m.opens(ctx, &c.opt.Options)
		}
		if err == nil {
			if err := c.checkSettled(ctx, m); err != nil {
				return err // ConvertTo would fail, too
			}
		}
		if text := m.unknown(c.to); err == nil && text != "" {
			return fmt.Errorf("%q cannot be converted in place, where nothing would keep them (give a DST to leave them out): %w: %s", "/"+m.path.String(), zarr.ErrUnsupported, text)
		}
		if err != nil {
			return fmt.Errorf("%q cannot be converted in place (give a DST to encode its chunks again there): %w", "/"+m.path.String(), err)
		}
	}
	return nil
}

// checkSettled refuses a node with an unfinished change.
func (c *inPlace) checkSettled(ctx context.Context, m *member) error {
	if err := copying.CheckSettled(ctx, c.survey.store, m.path); err != nil {
		return err
	}
	if m.Kind == "group" || m.From == 2 || c.to == 3 {
		return nil
	}
	o := c.opt.Options
	o.Write = false
	err := copying.CheckTrimmed(ctx, c.hierarchy, m.path, &o)
	if err != nil {
		err = fmt.Errorf("%q: %w", "/"+m.path.String(), err)
	}
	return err
}

// locked runs a step while it holds the lock of the node, if the store has locks.
func (c *inPlace) locked(ctx context.Context, m *member, step func(context.Context, *member) error) (err error) {
	unlock, err := store.Lock(store.WithLocking(ctx, c.opt.Locking), c.survey.store, m.path)
	if errors.Is(err, store.ErrUnsupported) {
		return step(ctx, m)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return step(ctx, m)
}

// fill stores the missing chunks, unless a concurrent writer has stored them.
func (c *inPlace) fill(ctx context.Context, m *member) error {
	if err := c.survey.unchanged(ctx, m); err != nil {
		return err
	}
	b, err := store.NewBatch(ctx, c.survey.store, c.opt.Durability)
	if err != nil {
		return err
	}
	defer b.Discard()
	put := func(ctx context.Context, name string, value []byte) error {
		c.advance(1)
		return putMissing(ctx, b, m.path.MustKey(name), value)
	}
	if err := m.gaps.fill(ctx, copying.Workers(&c.opt.Options), c.survey.store, m.path, put); err != nil {
		return err
	}
	return b.Commit(ctx)
}

// write writes the new documents of a node.
func (c *inPlace) write(ctx context.Context, m *member) error {
	if err := c.survey.unchanged(ctx, m); err != nil {
		return err
	}
	list, err := m.documents()
	if err != nil {
		return err
	}
	if m.From == c.to {
		// The node has the format already. Only consolidated metadata may change,
		// because members below it changed.
		list = slices.DeleteFunc(list, func(t text) bool { return !m.consolidated || t.name != consolidatedIn(c.to) })
	}
	for _, t := range list {
		isNew := m.From != c.to && !slices.Contains(m.others, t.name)
		if err := c.put(ctx, m.path.MustKey(t.name), t.bytes, isNew); err != nil {
			return err
		}
		m.noteWritten(c.to, t)
	}
	if m.From == c.to {
		return nil
	}
	// Delete what an interrupted conversion left. Readers ignore it beside format 3.
	for _, name := range m.others {
		if slices.ContainsFunc(list, func(t text) bool { return t.name == name }) {
			continue
		}
		if _, err := store.Write(ctx, c.survey.store, store.Delete(m.path.MustKey(name)), store.Sync); err != nil {
			return err
		}
	}
	return nil
}

// put writes a document. A new one is written only if its key is free.
func (c *inPlace) put(ctx context.Context, key store.Key, document []byte, isNew bool) error {
	if isNew {
		_, err := store.Write(ctx, c.survey.store, store.PutIf(key, document, store.IfAbsent()), c.opt.Durability)
		if errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("%w: a concurrent writer created %s; convert again", zarr.ErrConflict, key)
		}
		// Remember it even after an error, because the write may have happened.
		c.written = append(c.written, key)
		if !errors.Is(err, store.ErrUnsupported) {
			return err
		}
	}
	_, err := store.Write(ctx, c.survey.store, store.Put(key, document), c.opt.Durability)
	return err
}

// consolidatedIn returns the name of the document with the consolidated metadata.
func consolidatedIn(format int) string {
	if format == 2 {
		return nodename.V2Consolidated
	}
	return nodename.V3Node
}

// noteWritten updates the expected digest of a document that was rewritten in a node
// which has the format already.
func (m *member) noteWritten(to int, t text) {
	for i, s := range m.sources {
		if m.From == to && s.name == t.name {
			m.sources[i].digest = sha256.Sum256(t.bytes)
		}
	}
}

// remove removes the documents of the other format.
func (c *inPlace) remove(ctx context.Context, m *member) error {
	names := []string{nodename.V2Consolidated, nodename.V2Array, nodename.V2Group, nodename.V2Attributes}
	if c.to == 2 {
		names = []string{nodename.V3Node}
	}
	if err := c.survey.unchanged(ctx, m); err != nil {
		return err
	}
	for _, name := range names {
		if _, err := store.Write(ctx, c.survey.store, store.Delete(m.path.MustKey(name)), store.Sync); err != nil {
			return err
		}
	}
	return nil
}

// takeBack removes the new documents.
func (c *inPlace) takeBack(ctx context.Context) error {
	// A cancelled call must not leave documents of both formats.
	ctx = context.WithoutCancel(ctx)
	var failed error
	// Parents were written last, so remove them first.
	for _, key := range slices.Backward(c.written) {
		_, err := store.Write(ctx, c.survey.store, store.Delete(key), store.Sync)
		failed = errors.Join(failed, err)
	}
	return failed
}
