package rewrite

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"varve.dev/zarr"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Conversion tells what was converted, or would be.
type Conversion struct {
	Nodes  []Converted // parents first
	Values int64       // stored values that were copied or encoded anew
	Bytes  int64       // of values that were copied
	// Lost counts the symbolic links below the source that lead out of its store or to
	// nothing. [ConvertTo] leaves them out; [Convert] leaves them alone, and counts none.
	Lost int
}

// Convert makes format 2 or 3 of the node at a place and of all nodes below it, where
// they are: the documents are written anew, and chunks stay as they are under their keys.
// Byte order, axis order, filters and compressor of format 2 are codecs in format 3, and
// the attribute _ARRAY_DIMENSIONS names of dimensions. Consolidated metadata is made anew
// where there is some. Nodes that have the format already stay, and documents of the
// other one beside them go. A symbolic link to a node among them stays, and leads to what
// was converted.
//
// An array that the other format cannot describe with its chunks as they are wraps
// [zarr.ErrUnsupported], and nothing is changed: [ConvertTo] encodes it anew. So does a
// node below a group that keeps the other format wrap [zarr.ErrInvalidArgument].
//
// Missing values stay what they are to xarray: from 2 to 3 the fill value becomes the
// attribute _FillValue; from 3 to 2 the attribute becomes the fill value, or that becomes
// null where there is none. Chunks that are missing would read as something else then.
// They are stored before any document is written, or it wraps [ErrManyMissing].
//
// All new documents are written before the first of the old ones is removed. In between,
// and after a death there, both stand, and the one of format 3 is read; another call
// finishes it. Nobody may change the nodes meanwhile: where a document was changed, the
// new ones are taken back, and the error wraps [zarr.ErrConflict].
func Convert(ctx context.Context, at *zarr.Location, to int, opt *Options) (Conversion, error) {
	c := &inPlace{to: to, hierarchy: at.Root()}
	if opt != nil {
		c.Options = *opt
	}
	c.store, c.limits = at.Store(), c.Limits
	err := c.run(ctx, at.Path())
	if err != nil {
		return c.result(), wrap("convert", at.Path(), err)
	}
	return c.result(), nil
}

// inPlace is one conversion where the nodes are.
type inPlace struct {
	Options
	survey
	hierarchy *zarr.Location
	to        int
	written   []store.Key // that were not there before
	done      atomic.Int64
	steps     int64
}

// begin tells how many steps there are.
func (c *inPlace) begin() {
	c.steps = 3 * int64(len(c.own()))
	for _, m := range c.own() {
		c.steps += m.Filled
	}
	c.did(0)
}

// did tells that steps are done.
func (c *inPlace) did(n int64) {
	if done := c.done.Add(n); c.Progress != nil {
		c.Progress(done, c.steps)
	}
}

func (s *survey) result() (r Conversion) {
	for _, m := range s.own() {
		r.Nodes = append(r.Nodes, m.Converted)
	}
	return r
}

func (c *inPlace) run(ctx context.Context, path string) error {
	p, err := store.ParsePath(path)
	if err == nil {
		err = checkFormat(c.to)
	}
	if err == nil {
		err = c.walk(ctx, p, "")
	}
	if err == nil {
		err = c.noteAliases(ctx)
	}
	if err != nil {
		return err
	}
	if len(c.members) == 0 {
		_, err := c.hierarchy.At(path).Open(ctx, nil) // it says what is there instead
		return err
	}
	if err := c.checkAbove(ctx, p); err != nil {
		return err
	}
	if err := c.translate(ctx); err != nil {
		return err
	}
	if err := c.consolidate(c.to); err != nil {
		return err
	}
	if err := c.gauge(ctx, &c.Options); err != nil || c.DryRun {
		return err
	}
	return c.apply(ctx)
}

// apply changes the nodes as it was worked out.
func (c *inPlace) apply(ctx context.Context) error {
	c.begin()
	for _, m := range c.own() {
		if m.gaps == nil {
			continue
		}
		// Before any document: in format 3 these chunks read as the missing ones did, so
		// a crash here changes nothing.
		if err := c.locked(ctx, m, c.fill); err != nil {
			return err
		}
	}
	for _, m := range slices.Backward(c.own()) {
		if err := c.locked(ctx, m, c.write); err != nil {
			return errors.Join(err, c.takeBack(ctx))
		}
		c.did(1)
	}
	for _, m := range c.own() {
		if err := c.locked(ctx, m, c.unchanged); err != nil {
			return errors.Join(err, c.takeBack(ctx))
		}
		c.did(1)
	}
	for _, m := range c.own() {
		if err := c.locked(ctx, m, c.remove); err != nil {
			return fmt.Errorf("%w: the new documents are there, not all of the old ones are gone: %w", zarr.ErrIncomplete, err)
		}
		c.did(1)
	}
	return nil
}

func checkFormat(to int) error {
	if to != 2 && to != 3 {
		return fmt.Errorf("%w: format %d; there are 2 and 3", zarr.ErrInvalidArgument, to)
	}
	return nil
}

// checkAbove refuses a node below a group of the other format, whose readers would not
// see it any more.
func (c *inPlace) checkAbove(ctx context.Context, p store.Path) error {
	if p.IsRoot() {
		return nil
	}
	above, err := c.member(ctx, p.Parent(), "")
	if err == nil && above != nil && above.From != c.to {
		err = fmt.Errorf("%w: it is in a group of format %d, whose readers would not see it any more: convert the group, or to another place", zarr.ErrInvalidArgument, above.From)
	}
	return err
}

// translate makes the new documents of all nodes.
func (c *inPlace) translate(ctx context.Context) error {
	for _, m := range c.members {
		m.named(c.to, m.path)
		err := m.translate(c.to, func(a *metadata.Array) *metadata.Array { return a })
		if err == nil {
			err = m.opens(ctx, &c.Options.Options)
		}
		if err == nil {
			if err := c.settled(ctx, m); err != nil {
				return err // another place would not help
			}
		}
		if errors.Is(err, metadata.ErrUnsupported) && !errors.Is(err, zarr.ErrUnsupported) {
			err = fmt.Errorf("%w: %w", zarr.ErrUnsupported, err)
		}
		if err != nil {
			return fmt.Errorf("%q cannot be converted where it is (give a DST, and it is encoded anew there): %w", "/"+m.path.String(), err)
		}
	}
	return nil
}

// settled refuses a node in the middle of a change.
func (c *inPlace) settled(ctx context.Context, m *member) error {
	if err := settled(ctx, c.store, m.path); err != nil {
		return err
	}
	if m.Kind == "group" || m.From == 2 || c.to == 3 {
		return nil
	}
	err := notAside(ctx, c.store, m.path, func() (*zarr.Array, error) {
		o := c.Options.Options
		o.Write = false
		return c.hierarchy.At(m.path.String()).OpenArray(ctx, &o)
	})
	if err != nil {
		err = fmt.Errorf("%q: %w", "/"+m.path.String(), err)
	}
	return err
}

// locked runs a step with a node while no other program of this kind changes it, in
// stores that have locks.
func (c *inPlace) locked(ctx context.Context, m *member, step func(context.Context, *member) error) (err error) {
	unlock, err := store.Lock(store.WithLocking(ctx, c.Locking), c.store, m.path)
	if errors.Is(err, store.ErrUnsupported) {
		return step(ctx, m)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return step(ctx, m)
}

// fill stores the chunks that are missing, each only where none is by now: somebody else
// may just have written it.
func (c *inPlace) fill(ctx context.Context, m *member) error {
	if err := c.unchanged(ctx, m); err != nil {
		return err
	}
	b, err := store.NewBatch(ctx, c.store, c.Durability)
	if err != nil {
		return err
	}
	defer b.Discard()
	put := func(ctx context.Context, name string, value []byte) error {
		c.did(1)
		return putMissing(ctx, b, m.path.Key(name), value)
	}
	if err := m.gaps.fill(ctx, workers(&c.Options), c.store, m.path, put); err != nil {
		return err
	}
	return b.Commit(ctx)
}

// write writes the new documents of a node.
func (c *inPlace) write(ctx context.Context, m *member) error {
	if err := c.unchanged(ctx, m); err != nil {
		return err
	}
	list, err := m.documents()
	if err != nil {
		return err
	}
	if m.From == c.to {
		list = slices.DeleteFunc(list, func(t text) bool { return !m.consolidated || t.name != consolidatedIn(c.to) })
	}
	for _, t := range list {
		isNew := m.From != c.to && !slices.Contains(m.others, t.name)
		if err := c.put(ctx, m.path.Key(t.name), t.bytes, isNew); err != nil {
			return err
		}
		m.noteWritten(c.to, t)
	}
	if m.From == c.to {
		return nil
	}
	for _, name := range m.others { // they say what the node was some other time
		if slices.ContainsFunc(list, func(t text) bool { return t.name == name }) {
			continue
		}
		if err := store.Delete(ctx, c.store, m.path.Key(name)); err != nil {
			return err
		}
	}
	return nil
}

// put writes a document; one that is new only where there is none still.
func (c *inPlace) put(ctx context.Context, key store.Key, document []byte, isNew bool) error {
	if isNew {
		_, err := store.PutIf(ctx, c.store, key, document, store.IfAbsent(), c.Durability)
		if errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("%w: somebody else just made %s; convert again", zarr.ErrConflict, key)
		}
		c.written = append(c.written, key) // perhaps, where it failed
		if !errors.Is(err, store.ErrUnsupported) {
			return err
		}
	}
	_, err := store.Put(ctx, c.store, key, document, c.Durability)
	return err
}

// consolidatedIn returns the name of the document that has consolidated metadata.
func consolidatedIn(format int) string {
	if format == 2 {
		return metadata.V2Consolidated
	}
	return metadata.V3Node
}

// noteWritten makes a document that was written anew, of a node that has the format
// already, one that is expected to be there.
func (m *member) noteWritten(to int, t text) {
	for i, s := range m.sources {
		if m.From == to && s.name == t.name {
			m.sources[i].digest = sha256.Sum256(t.bytes)
		}
	}
}

// unchanged refuses a node whose documents are not those any more that were read.
func (s *survey) unchanged(ctx context.Context, m *member) error {
	for _, was := range m.sources {
		raw, err := s.get(ctx, m.path, was.name)
		if err != nil {
			return err
		}
		if sha256.Sum256(raw) != was.digest {
			return fmt.Errorf("%w: %s was changed while it was converted; convert it again", zarr.ErrSourceChanged, m.path.Key(was.name))
		}
	}
	return nil
}

// remove removes the documents of the other format.
func (c *inPlace) remove(ctx context.Context, m *member) error {
	names := []string{metadata.V2Consolidated, metadata.V2Array, metadata.V2Group, metadata.V2Attributes}
	if c.to == 2 {
		names = []string{metadata.V3Node}
	}
	if err := c.unchanged(ctx, m); err != nil {
		return err
	}
	for _, name := range names {
		if err := store.Delete(ctx, c.store, m.path.Key(name)); err != nil {
			return err
		}
	}
	return nil
}

// takeBack removes the new documents that stand where none was.
func (c *inPlace) takeBack(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var failed error
	for _, key := range slices.Backward(c.written) {
		failed = errors.Join(failed, store.Delete(ctx, c.store, key))
	}
	return failed
}
