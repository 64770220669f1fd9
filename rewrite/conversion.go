// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// ConvertTo copies the node at src and everything below it to dst, as nodes of format 2
// or 3. If the other format can describe the stored chunks of an array, it copies them
// without decoding, to the usual keys of that format. It decodes and encodes all others
// again.
//
// In format 2, such arrays get chunks of one shape. Inner chunks of shards become chunks,
// and zstd replaces codecs that format 2 does not have. If the format does not have the
// data type, the error wraps [zarr.ErrUnsupported]. The source does not change. Missing
// values and chunks are treated as by [Convert]. What belongs to no node, such as files
// of other programs, is copied as it is.
//
// ConvertTo writes values before documents, and the document of the node itself last. The
// other errors are those of [Copy].
//
// # Parts
//
// With [Options.Share], several processes convert the values, each its part. They write
// no documents, and leave a note that a copy has begun. ConvertTo with [Options.Resume]
// then publishes, with the same arguments otherwise. It goes on: what is missing is made,
// what the new documents do not describe is deleted, and then the documents are written.
// It also goes on with what an interrupted call with Resume has left. Both stores must be
// able to list.
//
// A value is up to date if it was written more than [SyncSlack] after all values in src
// that it is made from. One that is copied must have the same size, too. There is no such
// check for one that is encoded again; it is made again if src stores only some of the
// chunks that it is made from. What [Sync] says about times and wrong clocks holds here.
//
// The source may change meanwhile. Beside the note is what the values mean: the documents
// of each array. If an array gets chunks of another meaning, a part is refused with an
// error that wraps [zarr.ErrSourceChanged], and the call that publishes makes the array
// anew. A new grid is such a change, and so is a new length that gives an array of format
// 2 other chunks. If a document changes while the call that publishes runs, the error is
// the same; call it again.
//
// A call that finds the node published, with the documents that it would write, does
// nothing: a conversion does not follow its source. If they differ, the error wraps
// [fs.ErrExist].
func ConvertTo(ctx context.Context, src, dst *zarr.Location, to int, opt *Options) (Conversion, error) {
	c := &conversion{format: to}
	err := checkFormat(to)
	if err == nil {
		err = opt.resumable()
	}
	if err == nil {
		c.copier, err = newCopier(ctx, src, dst, opt)
	}
	if err == nil {
		err = c.run(ctx)
	}
	r := c.survey.result()
	r.Kept, r.Files = c.current, c.files
	r.Left, r.LeftNames = c.left, c.leftNames
	if c.copier != nil {
		r.Values, r.Bytes = c.report.Values, c.report.Bytes
	}
	if err != nil {
		return r, wrap("convert", src.Path(), err)
	}
	return r, nil
}

// conversion is one run of ConvertTo.
type conversion struct {
	*copier
	survey    survey
	format    int
	derived   map[string]Derived // for [Derive]; nil for a conversion
	mu        sync.Mutex         // of the report, and of what follows
	current   int64              // values that are up to date
	files     int64              // values that belong to no node
	left      int64              // of them, not copied
	leftNames []string           // the first of these
	unlike    bool               // nothing that the destination has counts
}

func (c *conversion) run(ctx context.Context) error {
	if err := c.plan(ctx); err != nil {
		return err
	}
	if c.goesOn() {
		return c.resume(ctx)
	}
	if err := c.checkPlace(ctx); err != nil {
		return err
	}
	// Check the place first: the caller may ask the user about the chunks that gauge
	// reports.
	err := c.survey.gauge(ctx, &c.Options)
	if c.DryRun {
		return errors.Join(err, c.countCopies(ctx), c.copyOthers(ctx))
	}
	if err != nil {
		return err
	}
	if err := c.prepare(ctx); err != nil {
		return err
	}
	for _, m := range c.survey.members {
		if err := c.values(ctx, m); err != nil {
			return err
		}
	}
	return c.complete(ctx)
}

// plan reads the documents of the source, and makes those of the destination.
func (c *conversion) plan(ctx context.Context) error {
	c.survey = survey{store: c.from, limits: c.Limits, told: c.told}
	if c.derived != nil {
		c.survey.op = "copy"
	}
	if err := c.survey.walk(ctx, c.at, ""); err != nil {
		return err
	}
	if len(c.survey.members) == 0 {
		return fault.NotFound("no Zarr node here")
	}
	if err := c.checkNodes(c.survey.directories()); err != nil {
		return err
	}
	become := c.translate
	if c.derived != nil {
		become, c.format = c.derive, c.survey.members[0].From
	}
	for _, m := range c.survey.members {
		m.named(c.format, c.goal)
		err := c.checkName(strings.TrimPrefix(m.Path+"/"+metadata.V3Node, "/"))
		if err == nil {
			err = settled(ctx, c.from, m.path)
		}
		if err == nil {
			err = become(ctx, m)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", "/"+m.path.String(), err)
		}
	}
	// checkPlace and prepare look at the format of the groups above the destination.
	c.old = c.format == 2
	return c.survey.consolidate(c.format)
}

// complete copies what belongs to no node, publishes the node, and updates what describes
// it.
func (c *conversion) complete(ctx context.Context) error {
	if err := c.copyOthers(ctx); err != nil {
		return err
	}
	if err := c.publish(ctx); err != nil {
		return err
	}
	return updateAbove(ctx, c.dst, c.Options.Options)
}

// translate makes the new document of a node. It describes the stored chunks if the
// format can, and otherwise chunks that are encoded again.
func (c *conversion) translate(ctx context.Context, m *member) error {
	filled, err := c.survey.masksFill(ctx, m)
	if err != nil {
		return err
	}
	if err := m.translate(c.format, filled, c.usualKeys); err != nil {
		m.why = err
	}
	if m.Unknown = m.unknown(c.format); m.Kind == "group" {
		return nil
	}
	if m.why == nil {
		// Both formats have the codec, but Varve may open it in one of them only.
		m.why = m.opens(ctx, &c.Options.Options)
	}
	if m.why == nil && m.From == 3 {
		open := func() (*zarr.Array, error) { return c.src.Root().At(m.path.String()).OpenArray(ctx, c.reading()) }
		// A trim has set chunks aside. Readers of format 2 do not look for them.
		if err := notAside(ctx, c.from, m.path, open); err != nil {
			return err
		}
	}
	if m.why == nil {
		return nil
	}
	m.Anew = m.why.Error()
	return c.recode(ctx, m)
}

// usualKeys gives an array the usual chunk keys of the new format. It keeps the
// separator.
func (c *conversion) usualKeys(a *metadata.Array) *metadata.Array {
	if c.format == 3 {
		return a.WithKeyEncoding(metadata.DefaultSlash)
	}
	old, err := metadata.ParseKeyEncoding(a.ChunkKeyEncoding)
	if err != nil {
		return a
	}
	if old.Separator() == '/' {
		// Format 2 has no other encodings than v2, with either separator.
		return a.WithKeyEncoding(metadata.V2Slash)
	}
	return a.WithKeyEncoding(metadata.V2Dot)
}

// recode makes the document of an array whose chunks are encoded again. It tries the
// codecs that the array has, then those of its inner chunks, then the default.
func (c *conversion) recode(ctx context.Context, m *member) error {
	doc, ok := m.is.(*metadata.Array)
	if !ok {
		return m.why
	}
	if m.mask != nil {
		doc = m.mask.array
	}
	spec, err := zarr.SpecOf(doc)
	if err != nil {
		return err
	}
	if m.mask != nil && m.mask.null {
		spec.FillValue = zarr.FillJSON("null")
	}
	spec.Format = c.format
	if spec.KeyEncoding = metadata.DefaultSlash; c.format == 2 {
		spec.KeyEncoding = metadata.V2Slash
	}
	shape, inner := withinShards(doc)
	chains := [][]metadata.Extension{oneOrder(spec.Codecs), metadata.WithChecksums(inner, false), nil}
	if c.format == 2 && (shape != nil || spec.Grid.Name() != "regular") {
		// Format 2 cannot describe several lengths. Inner chunks are the natural
		// replacement for shards.
		spec.Grid, spec.Chunks = nil, shape // nil lets CreateArray choose
	}
	// Creating an array in a store that discards writes shows whether the format
	// accepts the chain.
	for _, chain := range chains {
		spec.Codecs = chain // nil is the default
		h := zarr.At(new(discard), "")
		a, createErr := h.At("").CreateArray(ctx, spec, &zarr.CreateOptions{Options: c.Options.Options, Format: c.format})
		if createErr == nil {
			m.will = a.Metadata()
			return nil
		}
		err = createErr
	}
	if e := (*zarr.Error)(nil); errors.As(err, &e) {
		err = e.Err // drop the path of the trial array
	}
	return err
}

// oneOrder replaces a codec with one byte order for each field by one that is
// little-endian throughout.
func oneOrder(chain []metadata.Extension) []metadata.Extension {
	chain = slices.Clone(chain)
	for i, c := range chain {
		if c.Name == metadata.BytesByField {
			chain[i] = codec.Bytes(codec.Little)
		}
	}
	return chain
}

// values copies the chunks of an array, or encodes them again.
func (c *conversion) values(ctx context.Context, m *member) error {
	if m.Kind == "group" {
		return nil
	}
	if m.derived != nil || m.why != nil {
		return c.encode(ctx, m)
	}
	place, err := c.goal.Join(m.Path)
	if err != nil {
		return err
	}
	v := c.newValues()
	err = c.eachValue(ctx, m, func(ctx context.Context, name, was string) (int64, error) {
		return v.between(ctx, place.MustKey(name), m.path.MustKey(was))
	})
	if err == nil && m.gaps != nil {
		put := func(ctx context.Context, name string, value []byte) error {
			return v.do(ctx, func(b store.Batch) error { return b.Put(ctx, place.MustKey(name), value) })
		}
		err = m.gaps.fill(ctx, c.workers(), c.from, m.path, put)
	}
	return v.end(ctx, err)
}

// eachValue calls do concurrently for every value of an array that is copied, with its
// new name and its name in the source, and counts them.
func (c *conversion) eachValue(ctx context.Context, m *member, do func(ctx context.Context, name, was string) (int64, error)) error {
	rename, err := c.renaming(m)
	if err != nil {
		return err
	}
	g, each := parallel.New(ctx)
	g.SetLimit(c.workers())
	var listed error
	for was, err := range c.chunks(ctx, m) {
		if err != nil {
			listed = err
			break
		}
		name, ok := rename(was)
		if !ok {
			continue
		}
		g.Go(func() error { return c.counted(do(each, name, was)) })
		// After a failed copy, begin no further ones.
		if each.Err() != nil {
			break
		}
	}
	return g.Wait(listed)
}

// renaming returns the function that gives a value of an array its new name. It returns
// false for documents, and for objects that are not copied.
func (c *conversion) renaming(m *member) (func(name string) (string, bool), error) {
	if c.derived != nil {
		return func(name string) (string, bool) { return name, isData(name) }, nil
	}
	from, to := m.is.(*metadata.Array), m.will.(*metadata.Array)
	old, err := metadata.ParseKeyEncoding(from.ChunkKeyEncoding)
	if err != nil {
		return nil, err
	}
	now, err := metadata.ParseKeyEncoding(to.ChunkKeyEncoding)
	if err != nil {
		return nil, err
	}
	var index []int64
	return func(name string) (string, bool) {
		var isChunk bool
		if index, isChunk = old.ParseKey(name, len(from.Shape), index); !isChunk {
			return "", false
		}
		return string(now.AppendKey(nil, index)), true
	}, nil
}

// chunks yields the names of the values that are stored below an array. If the store
// cannot list, it yields the names of all chunks.
func (c *conversion) chunks(ctx context.Context, m *member) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for e, err := range store.List(ctx, c.from, m.path, true) {
			if errors.Is(err, store.ErrUnsupported) {
				c.possible(ctx, m, yield)
				return
			}
			if !yield(e.Name, err) || err != nil {
				return
			}
		}
	}
}

// possible yields the names of all chunks of an array.
func (c *conversion) possible(ctx context.Context, m *member, yield func(string, error) bool) {
	a, err := c.src.Root().At(m.path.String()).OpenArray(ctx, c.reading())
	if err != nil {
		yield("", err)
		return
	}
	for chunk := range a.Chunks() {
		key, err := store.ParseKey(chunk.Key)
		if !yield(m.path.Rel(key), err) || err != nil {
			return
		}
	}
}

// told returns the names of the members that a group lists.
func (c *conversion) told(ctx context.Context, p store.Path) ([]string, error) {
	g, err := c.src.Root().At(p.String()).OpenGroup(ctx, c.reading())
	if err != nil {
		return nil, err
	}
	var names []string
	for m, err := range g.Members(ctx, false) {
		if err != nil {
			return nil, err
		}
		names = append(names, m.Name())
	}
	return names, nil
}

// reading returns the options to open nodes of the source.
func (c *conversion) reading() *zarr.Options {
	o := c.Options.Options
	o.Write = false
	return &o
}

// counted counts a copied value.
func (c *conversion) counted(n int64, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a concurrent writer deleted it after the listing
	}
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.report.Values++
		c.report.Bytes += n
	}
	return err
}

// encode writes the elements of an array under its new document.
func (c *conversion) encode(ctx context.Context, m *member) error {
	to, err := c.open(ctx, m)
	if err != nil {
		return err
	}
	if m.derived != nil {
		return m.derived.Write(ctx, to)
	}
	from, err := c.src.Root().At(m.path.String()).OpenArray(ctx, c.reading())
	if err != nil {
		return err
	}
	return copyElements(ctx, to, from)
}

// recodedBytes bounds the elements that are in memory while an array is encoded again, in
// bytes.
const recodedBytes = 64 << 20

// copyElements copies the elements of one array to another of the same shape and type.
func copyElements(ctx context.Context, to, from *zarr.Array) error {
	if from.Type().Variable() {
		slabs, err := to.Slabs(nil, recodedBytes/16) // elements are longer than their references
		if err != nil {
			return err
		}
		for slab := range slabs {
			b, err := zarr.Read[[]byte](ctx, from, slab)
			if err == nil {
				err = zarr.Write(ctx, to, slab, b.Data)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	slabs, err := to.Slabs(nil, recodedBytes)
	if err != nil {
		return err
	}
	var data []byte
	for slab := range slabs {
		n, err := elementsIn(to, slab)
		if err != nil {
			return err
		}
		data = slices.Grow(data[:0], n)[:n]
		if err := from.ReadBytes(ctx, slab, data); err != nil {
			return err
		}
		if err := to.WriteBytes(ctx, slab, data); err != nil {
			return err
		}
	}
	return nil
}

// elementsIn returns the size of the selected elements in bytes.
func elementsIn(a *zarr.Array, sel selection.Selection) (int, error) {
	r, err := a.Select(sel)
	if err != nil {
		return 0, err
	}
	return int(r.Len()) * a.Type().Size(), nil // at most recodedBytes, or one element
}

// publish writes the documents after checking that those of the source have not changed.
func (c *conversion) publish(ctx context.Context) error {
	if err := c.checkNote(ctx); err != nil {
		return err
	}
	for _, m := range c.survey.members {
		// A concurrent writer that changed a document may have changed chunks
		// after they were copied.
		if err := c.unchanged(ctx, m); err != nil {
			return err
		}
	}
	// Inner nodes first. The last document, that of the node itself, makes the copy
	// visible.
	for i, m := range slices.Backward(c.survey.members) {
		list, err := m.documents()
		if err != nil {
			return err
		}
		place, err := c.goal.Join(m.Path)
		if err != nil {
			return err
		}
		if i == 0 && c.derivation.Clean != nil {
			if err := c.derivation.Clean(ctx); err != nil {
				return err
			}
		}
		for k, t := range list {
			if err := c.putDocument(ctx, place.MustKey(t.name), t.bytes, i == 0 && k == len(list)-1); err != nil {
				return err
			}
		}
	}
	return c.deleteNotes(ctx)
}
