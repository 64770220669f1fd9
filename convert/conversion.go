// SPDX-License-Identifier: Apache-2.0

package convert

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
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
)

// Conversion is the result of a conversion, done or planned.
type Conversion struct {
	Nodes  []Converted // parents first
	Values int64       // stored values that were copied or encoded again
	Bytes  int64       // of copied values
	// Kept counts the values that [ConvertTo], in a part or with Resume, has found up to
	// date.
	Kept int64
	// Files counts those of the values that belong to no node, such as tables of other
	// programs. [ConvertTo] copies them as they are. [Convert] keeps them and counts
	// none.
	Files int64
	// Left counts values that belong to no node and that [ConvertTo] leaves out, because
	// in the other format or key encoding they would be a document or a chunk of one.
	// LeftNames are the first few of their names, below the node.
	Left      int64
	LeftNames []string
}

// String says in one line how many nodes and values are converted.
func (c Conversion) String() string {
	return quantity.List(quantity.Of(int64(len(c.Nodes)), "node"), quantity.Of(c.Values, "value"), quantity.SomeBytes(c.Bytes, "copied"),
		quantity.Some(c.Kept, "value", "kept"), quantity.Some(c.Left, "value", "left out"))
}

// Converted describes a node that was or would be converted.
type Converted struct {
	Path string // relative to the converted node, "" for itself
	Kind string // "array" or "group"
	From int    // its format before; the new format if it was converted already
	// Anew is the reason to encode the chunks of an array again, or "" if they are kept.
	Anew string
	// Reserved reports that the name begins with "__", which format 3 reserves. The
	// node keeps its name, because zarr-python reads and writes such names.
	Reserved bool
	// Missing describes the effect on missing values, or is "" if nothing changes.
	Missing string
	// Lost reports that missing values become ordinary values, because xarray has no
	// way to mark them in format 3. This happens to byte strings.
	Lost bool
	// Refused reports that xarray cannot open a group of format 3 with the array,
	// because its attribute _FillValue is not a value of its type. Missing gives the
	// details.
	Refused bool
	// Growth is a message if the growth policy of the array is dropped, because format
	// 2 has only regular chunks. It is "" otherwise.
	Growth string
	// Imaging says what becomes of the metadata of OME-Zarr of a group. Those of version
	// 0.4 in format 2 and of 0.5 in format 3 become each other; others stay. Labels
	// and series go with the image around them. It is "" if there are none.
	Imaging string
	// Unknown is a message if the document has members that this library does not know:
	// the other format has none such, so the new document lacks them. It is "" otherwise.
	Unknown string
	// Checksum reports that zstd keeps its checksum in format 2, where TensorStore and
	// numcodecs before 0.13 refuse it. It is in the stored bytes, and no reason to encode
	// them again.
	Checksum bool
	// Filled counts the missing chunks that must be stored, because their elements
	// would change in format 2. FilledBytes are their bytes. Inner chunks missing from
	// a stored shard are not counted.
	Filled, FilledBytes int64
}

func (s *survey) result() (r Conversion) {
	for _, m := range s.own() {
		m.Checksum = m.From == 3 && hasSumV2(m.result)
		r.Nodes = append(r.Nodes, m.Converted)
	}
	return r
}

// hasSumV2 reports whether a node is an array of format 2 with the checksum of zstd.
func hasSumV2(n metadata.Node) bool {
	a, ok := n.(*metadata.Array)
	return ok && a.Format() == 2 && slices.ContainsFunc(a.Codecs, func(e metadata.Extension) bool {
		sum, _, _ := metadata.Attribute(e.Configuration, "checksum")
		return e.Name == "zstd" && string(sum) == "true"
	})
}

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
// other errors are those of [transfer.Copy].
//
// # Parts
//
// With [Options.Share], several processes convert the values, each its part. They write
// no documents, and leave a note that a copy has begun. ConvertTo with [Options.Resume]
// then publishes, with the same arguments otherwise. It makes the missing values, deletes
// the values that the new documents do not describe, and writes the documents. It also
// uses the values of an interrupted call with Resume. Both stores must be able to list.
//
// A value is up to date if it was written more than a minute after all
// values in src that it is made from. One that is copied must have the same size, too.
// There is no such check for one that is encoded again; it is made again if src stores
// only some of the chunks that it is made from. The remarks of [transfer.Sync] on times
// and wrong clocks apply.
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
func ConvertTo(ctx context.Context, src, dst *zarr.Location, format int, opt *Options) (Conversion, error) {
	if opt == nil {
		opt = new(Options)
	}
	c := &conversion{opt: opt}
	err := checkFormat(format)
	if err == nil {
		err = opt.check()
	}
	if err == nil {
		o := copying.Options{Options: opt.Options, Overwrite: opt.Overwrite, DryRun: opt.DryRun}
		c.pair, err = copying.New(ctx, src, dst, o)
	}
	if err == nil {
		if c.pair.Format = format; c.opt.isShared() {
			c.pair.Note = fmt.Appendf(nil, "{\"convert\": %q, \"format\": %d}\n", c.pair.Source, format)
		}
		err = c.run(ctx)
	}
	r := c.survey.result()
	r.Kept, r.Files = c.count.kept, c.count.files
	if c.strays != nil {
		r.Left, r.LeftNames = c.strays.left, c.strays.leftNames
	}
	r.Values, r.Bytes = c.count.report.Values, c.count.report.Bytes
	if err != nil {
		return r, copying.Wrap("convert", src.Path(), err)
	}
	return r, nil
}

// checkFormat refuses a format that does not exist.
func checkFormat(format int) error {
	if format != 2 && format != 3 {
		return fmt.Errorf("%w: format %d; there are 2 and 3", zarr.ErrInvalidArgument, format)
	}
	return nil
}

// check refuses options that exclude each other.
func (o *Options) check() error {
	if (o.Resume || o.Share != nil) && o.Overwrite {
		return fmt.Errorf("%w: a conversion in parts, or one that continues, cannot overwrite; delete the node at the destination first", zarr.ErrInvalidArgument)
	}
	if o.Share == nil {
		return nil
	}
	return copying.CheckShare(o.Share.Task, o.Share.Of)
}

// conversion is one run of [ConvertTo] or [Derive].
type conversion struct {
	pair       *copying.Copy
	opt        *Options
	survey     survey
	derivation *Derivation // of [Derive]; nil for a conversion
	count      tally
	strays     *strays     // once the survey has found the nodes
	resumption *resumption // likewise
}

// tally counts what is found and done.
type tally struct {
	mu     sync.Mutex // guards the fields while values are copied
	report transfer.Report
	kept   int64 // values that are up to date
	files  int64 // values that belong to no node
}

func (c *conversion) run(ctx context.Context) error {
	if err := c.plan(ctx); err != nil {
		return err
	}
	if c.opt.isShared() {
		return c.resume(ctx)
	}
	if err := c.pair.CheckPlace(ctx); err != nil {
		return err
	}
	// Check the place first: the caller may ask the user about the chunks that gauge
	// reports.
	err := c.survey.gauge(ctx, c.opt)
	// A dry run counts the rest, too, whatever gauge has found.
	if c.pair.DryRun {
		return errors.Join(err, c.countCopies(ctx), c.strays.copyOthers(ctx))
	}
	if err != nil {
		return err
	}
	if err := c.pair.Prepare(ctx); err != nil {
		return err
	}
	for _, m := range c.survey.members {
		if err := c.values(ctx, m); err != nil {
			return err
		}
	}
	return c.complete(ctx)
}

// resume runs a conversion in parts, or the one that continues and publishes.
func (c *conversion) resume(ctx context.Context) error {
	is, ours, err := c.resumption.resumable(ctx)
	if err != nil {
		return err
	}
	if is == copying.Published {
		return c.resumption.finish(ctx)
	}
	c.resumption.foreign = is == copying.Begun && !ours
	if err := c.survey.gauge(ctx, c.opt); err != nil {
		return err
	}
	// Parts and the call that publishes run the same loop. Each value that is up to date
	// is skipped, so the order of the processes does not matter.
	err = c.resumption.begin(ctx, ours)
	for _, m := range c.survey.members {
		if err == nil {
			err = c.refresh(ctx, m)
		}
	}
	switch {
	case err != nil || c.opt.Share != nil:
	case c.pair.DryRun:
		err = c.strays.copyOthers(ctx)
	default:
		err = c.complete(ctx)
	}
	if errors.Is(err, copying.ErrPublished) || errors.Is(err, fs.ErrExist) {
		// Another process has published meanwhile. If it did the same, all is well.
		return c.resumption.finish(ctx)
	}
	return err
}

// plan reads the documents of the source, and makes those of the destination.
func (c *conversion) plan(ctx context.Context) error {
	c.survey = survey{store: c.pair.Source.Store, limits: c.pair.Limits, listMembers: c.listMembers}
	if c.derivation != nil {
		c.survey.op = "copy"
	}
	if err := c.survey.walk(ctx, c.pair.Source.Path, ""); err != nil {
		return err
	}
	if len(c.survey.members) == 0 {
		return fault.NotFound("no Zarr node here")
	}
	if err := c.pair.CheckNodes(c.survey.directories()); err != nil {
		return err
	}
	c.survey.noteImaging()
	become := c.translate
	if c.derivation != nil {
		become, c.pair.Format = c.derive, c.survey.members[0].From
	}
	for _, m := range c.survey.members {
		m.named(c.pair.Format, c.pair.Target.Path)
		err := c.pair.CheckName(strings.TrimPrefix(m.Path+"/"+nodename.V3Node, "/"))
		if err == nil {
			err = copying.CheckSettled(ctx, c.pair.Source.Store, m.path)
		}
		if err == nil {
			err = become(ctx, m)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", "/"+m.path.String(), err)
		}
	}
	c.strays, c.resumption = newStrays(c), &resumption{pair: c.pair, opt: c.opt, survey: &c.survey}
	return c.survey.consolidate(c.pair.Format)
}

// complete copies what belongs to no node, publishes the node, and updates what describes
// it.
func (c *conversion) complete(ctx context.Context) error {
	if err := c.strays.copyOthers(ctx); err != nil {
		return err
	}
	if err := c.publish(ctx); err != nil {
		return err
	}
	return copying.UpdateAbove(ctx, c.pair.Target.Location, c.pair.Options.Options)
}

// translate makes the new document of a node. It describes the stored chunks if the
// format can, and otherwise chunks that are encoded again.
func (c *conversion) translate(ctx context.Context, m *member) error {
	filled, err := c.survey.masksFill(ctx, m)
	if err != nil {
		return err
	}
	if err := m.translate(c.pair.Format, filled, c.usualKeys); err != nil {
		m.reason = err
	}
	if m.Unknown = m.unknown(c.pair.Format); m.Kind == "group" {
		return nil
	}
	if m.reason == nil {
		// Both formats have the codec, but Varve may open it in one of them only.
		m.reason = m.opens(ctx, &c.pair.Options.Options)
	}
	if m.reason == nil && m.isMisordered() {
		m.reason = errOrder
	}
	if m.reason == nil && m.From == 3 {
		// A trim has set chunks aside. Readers of format 2 do not look for them.
		if err := copying.CheckTrimmed(ctx, c.pair.Source.Location.Root(), m.path, c.pair.Reading()); err != nil {
			return err
		}
	}
	if m.reason == nil {
		return nil
	}
	m.Anew = m.reason.Error()
	return c.recode(ctx, m)
}

// usualKeys gives an array the usual chunk keys of the new format. It keeps the
// separator.
func (c *conversion) usualKeys(a *metadata.Array) *metadata.Array {
	if c.pair.Format == 3 {
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

// values copies the chunks of an array, or encodes them again.
func (c *conversion) values(ctx context.Context, m *member) error {
	if m.Kind == "group" {
		return nil
	}
	if m.derived != nil || m.reason != nil {
		return c.encode(ctx, m)
	}
	place, err := c.pair.Target.Path.Join(m.Path)
	if err != nil {
		return err
	}
	v := c.pair.NewValues()
	err = c.eachValue(ctx, m, func(ctx context.Context, name, was string) (int64, error) {
		return v.Copy(ctx, place.MustKey(name), m.path.MustKey(was))
	})
	if err == nil && m.gaps != nil {
		put := func(ctx context.Context, name string, value []byte) error {
			return v.Put(ctx, place.MustKey(name), value)
		}
		err = m.gaps.fill(ctx, copying.Workers(&c.pair.Options.Options), c.pair.Source.Store, m.path, put)
	}
	return v.End(ctx, err)
}

// eachValue calls do concurrently for every value of an array that is copied, with its
// new name and its name in the source, and counts them.
func (c *conversion) eachValue(ctx context.Context, m *member, do func(ctx context.Context, name, was string) (int64, error)) error {
	rename, err := c.renaming(m)
	if err != nil {
		return err
	}
	g, each := parallel.New(ctx)
	g.SetLimit(copying.Workers(&c.pair.Options.Options))
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
		g.Go(func() error { return c.count.value(do(each, name, was)) })
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
	if c.derivation != nil {
		return func(name string) (string, bool) { return name, copying.IsData(name) }, nil
	}
	from, to := m.node.(*metadata.Array), m.result.(*metadata.Array)
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
		for e, err := range store.List(ctx, c.pair.Source.Store, m.path, store.Deep) {
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
	a, err := c.pair.Source.Location.Root().At(m.path.String()).OpenArray(ctx, c.pair.Reading())
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

// listMembers returns the names of the members that a group lists.
func (c *conversion) listMembers(ctx context.Context, p store.Path) ([]string, error) {
	g, err := c.pair.Source.Location.Root().At(p.String()).OpenGroup(ctx, c.pair.Reading())
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

// value counts a copied value of n bytes.
func (t *tally) value(n int64, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a concurrent writer deleted it after the listing
	}
	if err == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.report.Values++
		t.report.Bytes += n
	}
	return err
}

// publish writes the documents after checking that those of the source have not changed.
func (c *conversion) publish(ctx context.Context) error {
	if err := c.derivation.checkNote(ctx, c); err != nil {
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
		place, err := c.pair.Target.Path.Join(m.Path)
		if err != nil {
			return err
		}
		if i == 0 && c.derivation != nil && c.derivation.Clean != nil {
			if err := c.derivation.Clean(ctx); err != nil {
				return err
			}
		}
		for k, t := range list {
			if err := c.pair.PutDocument(ctx, place.MustKey(t.name), t.bytes, i == 0 && k == len(list)-1); err != nil {
				return err
			}
		}
	}
	return c.resumption.deleteNotes(ctx)
}

// overlay is a store with documents that are not stored yet. An array can be written
// through it before other programs see its documents.
type overlay struct {
	store.Store
	documents map[store.Key][]byte
	blind     bool // nothing else is found
}

func (o *overlay) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if document, ok := o.documents[key]; ok {
		return append(dst, document...), store.Info{Size: int64(len(document))}, nil
	}
	if o.blind {
		return dst, store.Info{}, fmt.Errorf("%s: %w", key, fs.ErrNotExist)
	}
	return o.Store.Get(ctx, key, q, dst)
}

// Can implements [store.Writer].
func (o *overlay) Can(op store.Op) bool {
	return (op == store.OpPut || op == store.OpDelete) && store.Can(o.Store, op)
}

// Write implements [store.Writer].
func (o *overlay) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if !o.Can(c.Op) {
		return store.Written{}, store.ErrUnsupported
	}
	return store.Write(ctx, o.Store, c, d)
}

// Batch implements [store.Batcher].
func (o *overlay) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	return store.NewBatch(ctx, o.Store, d)
}

// open opens a member for writing, before any document is stored. The documents are only
// in an overlay, so that other programs do not see the array yet. If blind is set, chunks
// are not read: each is written as if there were none.
func (c *conversion) open(ctx context.Context, m *member, blind bool) (*zarr.Array, error) {
	place, err := c.pair.Target.Path.Join(m.Path)
	if err != nil {
		return nil, err
	}
	list, err := m.documents()
	if err != nil {
		return nil, err
	}
	v := &overlay{Store: c.pair.Target.Store, blind: blind, documents: map[store.Key][]byte{}}
	for _, t := range list {
		v.documents[place.MustKey(t.name)] = t.bytes
	}
	// No other program knows of this array yet, and the overlay supports neither
	// locks nor conditional writes.
	o := *c.pair.Reading()
	o.Write, o.SingleWriter = true, true
	return zarr.At(v, place.String()).OpenArray(ctx, &o)
}
