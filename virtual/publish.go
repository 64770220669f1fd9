// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Create stores a manifest in a folder of a store. If there is one already, the error is
// [store.ErrConflict]; if copies of chunks were deleted meanwhile, it is [ErrCopiesGone].
func (m *Manifest) Create(ctx context.Context, s store.Store, path store.Path) error {
	if m.folder != nil {
		return errors.New("the manifest is stored already: its references lead into its folder")
	}
	return m.publish(ctx, s, path, store.IfAbsent())
}

// Update stores a manifest that [Open] has opened and [Extend] has changed, in place of
// itself. If another program has changed it meanwhile, the error is [store.ErrConflict];
// if copies of chunks were deleted, it is [ErrCopiesGone].
// Values that are no longer needed stay until [Vacuum] deletes them: readers that have
// opened it before continue.
func (m *Manifest) Update(ctx context.Context) error {
	f := m.folder
	return m.publish(ctx, f.store, f.path, store.IfVersion(f.info.Version))
}

// publish stores new blocks first, and then the document, in one step, if the condition
// holds. Blocks that are stored already stay where they are.
func (m *Manifest) publish(ctx context.Context, s store.Store, path store.Path, cond store.Condition) error {
	if err := m.checkCopied(); err != nil {
		return err
	}
	// Names are random, so a crash leaves values that no document names, and two
	// publications at once never overwrite values of each other. Vacuum deletes the rest.
	id := newID()
	p := publication{manifest: m, blocks: value{key: "blocks/" + id}, data: value{key: "data/" + id}, coordinates: value{key: "data/" + newID()}}
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
	if err := m.checkCopies(ctx, s, path); err != nil {
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

// newID returns a name that no other value has.
func newID() string {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// isID reports whether a name is of the form of newID: other values are not ours.
func isID(name string) bool {
	id, err := hex.DecodeString(name)
	return err == nil && len(id) == 8
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

// firstNumber returns the number after those of blocks.
func firstNumber(blocks []piece) int64 {
	if len(blocks) == 0 {
		return 0
	}
	last := blocks[len(blocks)-1]
	return last.First + last.Count
}
