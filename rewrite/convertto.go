package rewrite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/codec/bytescodec"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// ConvertTo copies the node at src, with everything below it, to dst as nodes of format 2
// or 3. Chunks are copied as they are stored where the other format can describe them,
// under the keys that are usual there. Others are encoded anew: in format 2 in chunks of
// one length an axis, those of shards in place of the shards, with zstd where it does not
// have the codecs. A data type that it does not have wraps [zarr.ErrUnsupported]. The
// source stays as it is. Missing values and chunks are treated as by [Convert].
//
// Values are written before documents, and the document of the node itself last, as
// [Copy] does; errors are those of Copy.
func ConvertTo(ctx context.Context, src, dst *zarr.Location, to int, opt *Options) (Conversion, error) {
	c := &conversion{format: to}
	err := checkFormat(to)
	if err == nil {
		c.copier, err = newCopier(ctx, src, dst, opt)
	}
	if err == nil {
		err = c.run(ctx)
	}
	r := c.survey.result()
	if c.copier != nil {
		r.Values, r.Bytes, r.Lost = c.report.Values, c.report.Bytes, c.report.Lost
	}
	if err != nil {
		return r, wrap("convert", src.Path(), err)
	}
	return r, nil
}

// conversion is one conversion to another place.
type conversion struct {
	*copier
	survey survey
	format int
	mu     sync.Mutex // of the report
}

func (c *conversion) run(ctx context.Context) error {
	c.survey = survey{store: c.from, limits: c.Limits, told: c.told}
	if err := c.survey.walk(ctx, c.at, ""); err != nil {
		return err
	}
	if len(c.survey.members) == 0 {
		return fmt.Errorf("no Zarr node here: %w", fs.ErrNotExist)
	}
	if err := c.checkNodes(c.survey.directories()); err != nil {
		return err
	}
	for _, m := range c.survey.members {
		m.named(c.format, c.goal)
		err := settled(ctx, c.from, m.path)
		if err == nil {
			err = c.translate(ctx, m)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", "/"+m.path.String(), err)
		}
	}
	if err := c.survey.consolidate(c.format); err != nil {
		return err
	}
	c.old = c.format == 2 // the groups above the destination have to be of that format, and are made so
	if err := c.checkPlace(ctx); err != nil {
		return err
	}
	// After that, since a caller may ask a person about what it finds.
	if err := c.survey.gauge(ctx, &c.Options); err != nil || c.DryRun {
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
	if err := c.publish(ctx); err != nil {
		return err
	}
	if err := c.dst.UpdateConsolidated(ctx, c.writing()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: the consolidated metadata of the groups above is not up to date: %w", zarr.ErrIncomplete, err)
	}
	return nil
}

// translate makes the new document of a node: one that goes with the chunks as they are,
// or else one for chunks that are encoded anew.
func (c *conversion) translate(ctx context.Context, m *member) error {
	if err := m.translate(c.format, c.usualKeys); err != nil {
		m.why = err
	}
	if m.Kind == "group" {
		return nil
	}
	if m.why == nil {
		m.why = m.opens(ctx, &c.Options.Options)
	}
	if m.why == nil && m.From == 3 {
		open := func() (*zarr.Array, error) { return c.src.Root().At(m.path.String()).OpenArray(ctx, c.reading()) }
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

// usualKeys returns an array with the chunk keys that are usual in the new format. A
// separator that was chosen stays.
func (c *conversion) usualKeys(a *metadata.Array) *metadata.Array {
	if c.format == 3 {
		return a.WithKeyEncoding(metadata.DefaultSlash)
	}
	old, err := metadata.ParseKeyEncoding(a.ChunkKeyEncoding)
	if err != nil {
		return a
	}
	if old.Separator() == '/' {
		return a.WithKeyEncoding(metadata.V2Slash)
	}
	return a.WithKeyEncoding(metadata.V2Dot)
}

// recode makes the document of an array whose chunks are encoded anew: with the codecs
// that it has if the format has them.
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
	chains := [][]metadata.Extension{oneOrder(spec.Codecs), inner, nil}
	if c.format == 2 && (shape != nil || spec.Grid.Name() != "regular") {
		spec.Grid, spec.Chunks = nil, shape // nil chooses
	}
	for _, chain := range chains {
		if spec.Codecs = chain; chain == nil {
			spec.Codecs = usualChain(spec.Type)
		}
		h := zarr.At(new(nowhere), "")
		a, createErr := h.At("").CreateArray(ctx, spec, &zarr.CreateOptions{Options: c.Options.Options, Format: c.format})
		if createErr == nil {
			m.will = a.Metadata()
			return nil
		}
		err = createErr
	}
	if e := (*zarr.Error)(nil); errors.As(err, &e) {
		err = e.Err // where it was tried is of no interest
	}
	return err
}

// oneOrder returns a chain that stores all fields in little-endian order where the given
// one has an order for each.
func oneOrder(chain []metadata.Extension) []metadata.Extension {
	chain = slices.Clone(chain)
	for i, c := range chain {
		if c.Name == metadata.BytesByField {
			chain[i] = bytescodec.Extension(bytescodec.Little)
		}
	}
	return chain
}

// values copies the chunks of an array, or encodes them anew.
func (c *conversion) values(ctx context.Context, m *member) error {
	if m.Kind == "group" {
		return nil
	}
	if m.why != nil {
		return c.encode(ctx, m)
	}
	from, to := m.is.(*metadata.Array), m.will.(*metadata.Array)
	old, err := metadata.ParseKeyEncoding(from.ChunkKeyEncoding)
	if err != nil {
		return err
	}
	now, err := metadata.ParseKeyEncoding(to.ChunkKeyEncoding)
	if err != nil {
		return err
	}
	b, err := store.NewBatch(ctx, c.copier.to, c.Durability)
	if err != nil {
		return err
	}
	defer b.Discard()
	v := values{c: c.copier, batch: b}
	place, err := c.goal.Join(m.Path)
	if err != nil {
		return err
	}
	g, each := parallel.New(ctx)
	g.SetLimit(c.workers())
	var index []int64
	var listed error
	for name, err := range c.chunks(ctx, m) {
		if err != nil {
			listed = err
			break
		}
		var isChunk bool
		if index, isChunk = old.ParseKey(name, len(from.Shape), index); !isChunk {
			continue
		}
		key, source := place.Key(string(now.AppendKey(nil, index))), m.path.Key(name)
		g.Go(func() error { return c.counted(v.between(each, key, source)) })
		if each.Err() != nil {
			break
		}
	}
	if err := g.Wait(listed); err != nil {
		return err
	}
	if m.gaps != nil {
		put := func(ctx context.Context, name string, value []byte) error { return b.Put(ctx, place.Key(name), value) }
		if err := m.gaps.fill(ctx, c.workers(), c.from, m.path, put); err != nil {
			return err
		}
	}
	return b.Commit(ctx)
}

// chunks yields the names of what is stored in an array, or may be where the store cannot
// be listed.
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

// told returns the names of the members that a group tells of.
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

// reading returns the options to open nodes of the source with.
func (c *conversion) reading() *zarr.Options {
	o := c.Options.Options
	o.Write = false
	return &o
}

// counted counts a value.
func (c *conversion) counted(n int64, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it went since it was listed
	}
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.report.Values++
		c.report.Bytes += n
	}
	return err
}

// encode writes the elements of an array under its new document, which is not there yet.
func (c *conversion) encode(ctx context.Context, m *member) error {
	o := *c.reading()
	from, err := c.src.Root().At(m.path.String()).OpenArray(ctx, &o)
	if err != nil {
		return err
	}
	place, err := c.goal.Join(m.Path)
	if err != nil {
		return err
	}
	list, err := m.documents()
	if err != nil {
		return err
	}
	v := &veil{Store: c.copier.to, documents: map[store.Key][]byte{}}
	for _, t := range list {
		v.documents[place.Key(t.name)] = t.bytes
	}
	o.Write, o.SingleWriter = true, true
	to, err := zarr.At(v, place.String()).OpenArray(ctx, &o)
	if err != nil {
		return err
	}
	return pour(ctx, to, from)
}

// recodedBytes is how much of an array that is encoded anew is in memory at a time.
const recodedBytes = 64 << 20

// pour writes the elements of one array into another of the same shape and type.
func pour(ctx context.Context, to, from *zarr.Array) error {
	if from.Type().Variable() {
		slabs, err := to.Slabs(nil, recodedBytes/16) // elements are longer than what refers to them
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

// elementsIn returns how many bytes the selected elements have.
func elementsIn(a *zarr.Array, sel selection.Selection) (int, error) {
	r, err := a.Select(sel)
	if err != nil {
		return 0, err
	}
	return int(r.Len()) * a.Type().Size(), nil // no more than recodedBytes, or one element
}

// publish writes the documents, once those of the source are known to be as they were
// read.
func (c *conversion) publish(ctx context.Context) error {
	for _, m := range c.survey.members {
		if err := c.survey.unchanged(ctx, m); err != nil {
			return err
		}
	}
	for i, m := range slices.Backward(c.survey.members) {
		list, err := m.documents()
		if err != nil {
			return err
		}
		place, err := c.goal.Join(m.Path)
		if err != nil {
			return err
		}
		for k, t := range list {
			if err := c.putDocument(ctx, place.Key(t.name), t.bytes, i == 0 && k == len(list)-1); err != nil {
				return err
			}
		}
	}
	return store.Delete(ctx, c.copier.to, c.goal.Key(noteName))
}
