// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Create stores a manifest in a folder of a store. If there is one already, the error is
// [store.ErrConflict]; if copies of chunks were deleted meanwhile, it is [ErrCopiesGone].
func (m *Manifest) Create(ctx context.Context, s store.Store, path store.Path) error {
	if m.folder != nil {
		return errors.New("the manifest is stored already: its references lead into its folder")
	}
	return newPublication(m).publish(ctx, s, path, store.IfAbsent())
}

// Update stores a manifest that [Open] has opened and [Extend] has changed, in place of
// itself. If another program has changed it meanwhile, the error is [store.ErrConflict];
// if copies of chunks were deleted, it is [ErrCopiesGone].
// Values that are no longer needed stay until [Vacuum] deletes them: readers that have
// opened it before continue.
func (m *Manifest) Update(ctx context.Context) error {
	f := m.folder
	return newPublication(m).publish(ctx, f.store, f.path, store.IfVersion(f.info.Version))
}

// publish stores new blocks first, and then the document, in one step, if the condition
// holds. Blocks that are stored already stay where they are.
func (p *publication) publish(ctx context.Context, s store.Store, path store.Path, cond store.Condition) error {
	if err := p.manifest.checkCopied(); err != nil {
		return err
	}
	text, err := p.document(ctx)
	if err == nil {
		err = checkDocument(text)
	}
	if err != nil {
		return err
	}
	// Everything that the document names must be durable before the document is: a reader
	// may open the manifest at once.
	for _, v := range []value{p.data, p.coordinates, p.blocks} {
		if len(v.bytes) == 0 {
			continue
		}
		key, err := path.Key(v.key)
		if err == nil {
			_, err = store.Write(ctx, s, store.Put(key, v.bytes), store.Sync)
		}
		if err != nil {
			return err
		}
	}
	// A vacuum may have deleted copies of chunks that no document has named yet. Look
	// as late as possible, right before the document names them.
	if err := checkCopies(ctx, p.manifest.copies, s, path); err != nil {
		return err
	}
	if err := warn(ctx, s, path); err != nil {
		return err
	}
	key, err := path.Key(own.ManifestDocument)
	if err != nil {
		return err
	}
	_, err = store.Write(ctx, s, store.PutIf(key, text, cond), store.Sync)
	// Without conditional writes a new manifest is still possible, but not a change of
	// one: that could undo the change of another program.
	if errors.Is(err, store.ErrUnsupported) && cond.Absent() {
		return putNew(ctx, s, key, text)
	}
	return err
}

// warning is a document of Zarr that every program refuses which does not know what is in
// it. Without one, zarr.open of Python takes the folder for a place without a node,
// and makes an empty group there.
const warning = `{
  "zarr_format": 3,
  "node_type": "group",
  "attributes": {},
  "only Varve reads this manifest (varve materialize copies it into a node that all can read)": {"must_understand": true}
}
`

// warn stores the warning beside the document of a manifest. Below a node it does not:
// other programs would refuse the whole hierarchy.
func warn(ctx context.Context, s store.Store, path store.Path) error {
	// A document of any format in the folder above makes that folder a node.
	for _, name := range []string{nodename.V3Node, nodename.V2Group, nodename.V2Array} {
		key, err := path.Parent().Key(name)
		if err != nil {
			return err
		}
		if found, err := store.Exists(ctx, s, key); found || err != nil {
			return err
		}
	}
	key, err := path.Key(nodename.V3Node)
	if err == nil {
		err = putNew(ctx, s, key, []byte(warning))
	}
	if errors.Is(err, store.ErrConflict) {
		return nil // it is there, or what another program has made of the folder
	}
	return err
}

// isWarning reports whether a value is the warning.
func isWarning(ctx context.Context, s store.Store, key store.Key) bool {
	text, _, err := s.Get(ctx, key, store.Request{Limit: 2 * int64(len(warning))}, nil)
	return err == nil && string(text) == warning
}

// putNew stores a value that is not there yet, in a store without conditional writes.
// Two programs at the same time may both succeed.
func putNew(ctx context.Context, s store.Store, key store.Key, value []byte) error {
	found, err := store.Exists(ctx, s, key)
	if found {
		err = store.ErrConflict
	}
	if err == nil {
		_, err = store.Write(ctx, s, store.Put(key, value), store.Sync)
	}
	return err
}

// value is a value of the folder.
type value struct {
	key   string
	bytes []byte
}

// publication makes the values of a manifest. It does not change the manifest, so that it
// can be repeated.
type publication struct {
	manifest     *Manifest
	blocks, data value
	coordinates  value                 // like data: these are replaced as a whole
	tails        map[*Array]references // of arrays with chunks in data or coordinates
	added        []Source              // data and coordinates, as sources
}

// newPublication returns a publication with names for its values. They are random, so a
// crash leaves values that no document names, and two publications at once never
// overwrite values of each other. Vacuum deletes the rest.
func newPublication(m *Manifest) *publication {
	id := newID()
	return &publication{manifest: m, blocks: value{key: "blocks/" + id}, data: value{key: "data/" + id}, coordinates: value{key: "data/" + newID()}}
}

// document returns the document, and fills the values.
func (p *publication) document(ctx context.Context) ([]byte, error) {
	m := p.manifest
	if err := m.checkPaths(); err != nil {
		return nil, err
	}
	p.collectData()
	if err := checkSources(slices.Concat(m.Sources, p.added), firstNumber(m.sourceBlocks)); err != nil {
		return nil, err
	}
	d := document{Version: version, Concat: m.Join.Concat, Stack: m.Join.Stack, Padded: m.Join.Padded, Copied: m.Join.CopyPadded, Nodes: []nodeDocument{}}
	var err error
	if d.Sources, err = p.sources(ctx); err != nil {
		return nil, err
	}
	for _, g := range m.Groups {
		text, err := g.Document.Marshal(metadata.Limits{})
		if err != nil {
			return nil, err
		}
		d.Nodes = append(d.Nodes, nodeDocument{Path: g.Path, Document: string(text)})
	}
	for _, a := range m.Arrays {
		text, err := a.Document.Marshal(metadata.Limits{})
		if err != nil {
			return nil, err
		}
		blocks, err := p.references(ctx, a)
		if err != nil {
			return nil, err
		}
		d.Nodes = append(d.Nodes, nodeDocument{a.Path, string(text), a.Axis, a.values, blocks, a.points})
	}
	if d.Superseded, err = p.superseded(ctx, &d); err != nil {
		return nil, err
	}
	return json.Marshal(d)
}

// collectData puts chunks without a source into the values for data, which become sources
// of the manifest.
func (p *publication) collectData() {
	p.tails = map[*Array]references{}
	// Coordinates get a value of their own, because each change replaces them as a whole.
	// Other data stays where it is.
	p.collect(&p.data, func(a *Array) bool { return !a.values })
	p.collect(&p.coordinates, func(a *Array) bool { return a.values })
}

// collect puts the chunks of some arrays into a value.
func (p *publication) collect(to *value, of func(a *Array) bool) {
	// References count sources from 1, after those that the manifest has.
	own := uint32(p.manifest.count()) + uint32(len(p.added)) + 1
	for _, a := range p.manifest.Arrays {
		if len(a.inline) == 0 || !of(a) {
			continue
		}
		tail := references{}
		// A copy, because the manifest must not change: a publication may be repeated.
		tail.concat(a.refs)
		for _, n := range slices.Sorted(maps.Keys(a.inline)) {
			chunk := a.inline[n]
			tail.set(int(n-a.stored()), reference{own, uint64(len(to.bytes)), uint64(len(chunk))})
			to.bytes = append(to.bytes, chunk...)
		}
		p.tails[a] = tail
	}
	if len(to.bytes) > 0 {
		p.added = append(p.added, Source{Location: to.key, Size: int64(len(to.bytes))})
	}
}

// put appends an encoded block.
func (p *publication) put(first, count int64, encode func(dst []byte) []byte) piece {
	off := int64(len(p.blocks.bytes))
	p.blocks.bytes = encode(p.blocks.bytes)
	return piece{first, count, p.blocks.key, off, int64(len(p.blocks.bytes)) - off}
}

// references stores the references of an array that are not stored yet, together with
// those of the last block if that is not full.
func (p *publication) references(ctx context.Context, a *Array) ([]piece, error) {
	blocks, tail := slices.Clone(a.blocks), a.refs
	if own, ok := p.tails[a]; ok {
		tail = own
	}
	// Many small appends would leave many small blocks. So a block that is less than half
	// full is written again with the new references, under a new name.
	if n := len(blocks); n > 0 && tail.len() > 0 && blocks[n-1].Count < mostReferences/2 {
		last, err := p.manifest.folder.references(ctx, blocks[n-1])
		if err != nil {
			return nil, err
		}
		all := references{}
		all.concat(last)
		all.concat(tail)
		blocks, tail = blocks[:n-1], all
	}
	first := firstNumber(blocks)
	for at := 0; at < tail.len(); at += mostReferences {
		some := tail.slice(at, min(at+mostReferences, tail.len()))
		blocks = append(blocks, p.put(first+int64(at), int64(some.len()), func(dst []byte) []byte { return appendBlock(dst, some) }))
	}
	return blocks, nil
}

// sources does the same for sources.
func (p *publication) sources(ctx context.Context) ([]piece, error) {
	m := p.manifest
	blocks, tail := slices.Clone(m.sourceBlocks), slices.Concat(m.Sources, p.added)
	if n := len(blocks); n > 0 && len(tail) > 0 && blocks[n-1].Count < mostSources/2 {
		last, err := m.folder.sources(ctx, blocks[n-1])
		if err != nil {
			return nil, err
		}
		blocks, tail = blocks[:n-1], slices.Concat(last, tail)
	}
	first := firstNumber(blocks)
	for len(tail) > 0 {
		some := tail[:sourcesOfBlock(tail)]
		blocks = append(blocks, p.put(first, int64(len(some)), func(dst []byte) []byte { return appendSources(dst, some) }))
		first, tail = first+int64(len(some)), tail[len(some):]
	}
	return blocks, nil
}

// errUncopied means that a manifest cannot be stored yet.
var errUncopied = errors.New("chunks with padding are to be copied first (" + remedy.CollectorCopyPadded + ")")

// checkCopied returns an error if chunks are still to be copied.
func (m *Manifest) checkCopied() error {
	for _, a := range m.Arrays {
		if len(a.faces) > 0 {
			return fmt.Errorf("%q: %w", a.Path, errUncopied)
		}
	}
	return nil
}

// mostSuperseded is the number of entries in a document from which a change asks whether
// their values are still there.
const mostSuperseded = 64

// superseded returns the values that this change and those before it have replaced. A
// vacuum deletes these values, but changes no document: it would be in the way of a
// program that adds files meanwhile.
func (p *publication) superseded(ctx context.Context, d *document) ([]superseded, error) {
	f := p.manifest.folder
	if f == nil {
		return nil, nil
	}
	list := slices.Clone(f.superseded)
	if len(list) > mostSuperseded {
		var err error
		if list, err = f.present(ctx, list); err != nil {
			return nil, err
		}
	}
	if len(p.blocks.bytes) == 0 {
		return list, nil // nothing has changed
	}
	for i := range list {
		if list[i].Before == "" {
			list[i].Before = p.blocks.key
		}
	}
	keys, err := p.replaced(ctx, d)
	if len(keys) > 0 {
		list = append(list, superseded{Keys: keys})
	}
	return list, err
}

// replaced returns the values that the document before needs and this one does not.
func (p *publication) replaced(ctx context.Context, d *document) (keys []string, err error) {
	f := p.manifest.folder
	now := folder{blocks: map[string]bool{}}
	now.note(d.Sources)
	for _, n := range d.Nodes {
		now.note(n.Blocks)
	}
	for key := range f.blocks {
		if !now.blocks[key] {
			keys = append(keys, key)
		}
	}
	was := p.manifest.before()
	if was != p.manifest { // all is new
		for _, a := range was.Arrays {
			more, err := was.dataOf(ctx, a.blocks)
			if err != nil {
				return nil, err
			}
			keys = append(keys, more...)
		}
	}
	for path, blocks := range f.values {
		a := p.manifest.Array(path)
		if a == nil || len(a.blocks) > 0 {
			continue // its values stay
		}
		more, err := was.dataOf(ctx, blocks)
		if err != nil {
			return nil, err
		}
		keys = append(keys, more...)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// dataOf returns the values of the folder that references lead to.
func (m *Manifest) dataOf(ctx context.Context, blocks []piece) (keys []string, err error) {
	last := uint32(0)
	for _, b := range blocks {
		r, err := m.folder.references(ctx, b)
		if err != nil {
			return nil, err
		}
		for _, number := range r.source {
			if number == 0 || number == last {
				continue
			}
			last = number
			s, err := m.source(ctx, number)
			if err != nil {
				return nil, err
			}
			if key, ok := m.folder.own(s.Location); ok {
				keys = append(keys, key)
			}
		}
	}
	return keys, nil
}

// present returns the entries with values that are still there.
func (f *folder) present(ctx context.Context, list []superseded) ([]superseded, error) {
	there, err := ownValues(ctx, f.store, f.path, store.Flat)
	if errors.Is(err, store.ErrUnsupported) {
		return list, nil // such a folder cannot be vacuumed either
	}
	if err != nil {
		return nil, err
	}
	var left []superseded
	for _, s := range list {
		keys := slices.DeleteFunc(slices.Clone(s.Keys), func(key string) bool { _, ok := there[key]; return !ok })
		if len(keys) > 0 {
			left = append(left, superseded{keys, s.Before})
		}
	}
	return left, nil
}

// ErrCopiesGone means that copies of chunks ([Collector.CopyPadded]) were deleted before
// the manifest was stored. Nothing was changed. Collect the files and copy them again.
var ErrCopiesGone = errors.New("copies of chunks are gone")

// checkCopies returns [ErrCopiesGone] if copies of chunks, which may have taken days, are
// gone: to a vacuum they are values that no document names.
func checkCopies(ctx context.Context, copies []Source, s store.Store, path store.Path) error {
	for _, c := range copies {
		key, err := path.Key(c.Location)
		if err != nil {
			return err
		}
		info, err := store.Stat(ctx, s, key)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size != c.Size {
			return fmt.Errorf("%w: %s was deleted before a manifest has named it, such as by a vacuum; repeat the whole, with new copies", ErrCopiesGone, key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
