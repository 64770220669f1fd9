// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/virtual/scan"
)

// Suffix ends the name of the folder of a manifest.
const Suffix = ".vz"

// mostDocument bounds that document in bytes.
const mostDocument = 64 << 20

// version is the version of the stored form.
const version = 1

// documentMark is the member by which a document is known as ours.
const documentMark = "varve_manifest"

// document is the stored form of a manifest; docs/virtual.md describes it.
type document struct {
	Version int            `json:"varve_manifest"`
	Concat  string         `json:"concat,omitempty"`
	Stack   string         `json:"stack,omitempty"`
	Padded  bool           `json:"padded,omitempty"`
	Copied  bool           `json:"copy_padded,omitempty"`
	Nodes   []nodeDocument `json:"nodes"`
	Sources []piece        `json:"sources"`
	// Superseded are the values that changes of the manifest have replaced, in the order
	// of these changes. A vacuum deletes them.
	Superseded []superseded `json:"superseded,omitempty"`
}

// superseded are the values of the folder that a change has replaced.
type superseded struct {
	Keys []string `json:"keys"`
	// Before is the key of a value that was stored after the change, by the next one: its
	// time is that of the change or later. Without it, the document is that of the
	// change, and has its time.
	Before string `json:"before,omitempty"`
}

type nodeDocument struct {
	Path string `json:"path"`
	// Document is the text of the node's document: it may have a bare NaN, which JSON
	// does not have.
	Document string  `json:"document"`
	Axis     int     `json:"axis,omitempty"`
	Values   bool    `json:"values,omitempty"` // see [Array.values]
	Blocks   []piece `json:"references,omitempty"`
	Points   []point `json:"points,omitempty"` // see [Array.points]
}

// Open reads the document of a stored manifest, by one request. References and sources
// are read when they are needed. path is the folder of the manifest.
func Open(ctx context.Context, s store.Store, path store.Path) (*Manifest, error) {
	key, err := path.Key(own.ManifestDocument)
	if err != nil {
		return nil, err
	}
	data, info, err := s.Get(ctx, key, store.Request{Limit: mostDocument}, nil)
	if err != nil {
		return nil, err
	}
	m, err := parse(data)
	if err != nil {
		return nil, damaged(key, err)
	}
	m.folder.store, m.folder.path, m.folder.info = s, path, info
	return m, nil
}

// parse parses the document of a manifest.
func parse(data []byte) (*Manifest, error) {
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, scan.Corruptf("%v", err)
	}
	// manifest.json is a common name, so the member tells our documents from others.
	if d.Version == 0 {
		return nil, scan.Unsupportedf("the document has no member varve_manifest: another program has written it")
	}
	if d.Version != version {
		return nil, scan.Unsupportedf("a manifest of version %d; this program knows version %d", d.Version, version)
	}
	m := &Manifest{Join: Join{Concat: d.Concat, Stack: d.Stack, Padded: d.Padded, CopyPadded: d.Copied}, sourceBlocks: d.Sources}
	m.folder = &folder{kept: map[use]*decoded{}, superseded: d.Superseded, blocks: map[string]bool{}, values: map[string][]piece{}}
	m.folder.note(d.Sources)
	if m.sourceBlocks == nil {
		m.sourceBlocks = []piece{}
	}
	if err := consecutive(d.Sources, mostSources); err != nil {
		return nil, fmt.Errorf("sources: %w", err)
	}
	for _, n := range d.Nodes {
		if err := m.addNode(n); err != nil {
			return nil, fmt.Errorf("node %q: %w", n.Path, err)
		}
	}
	m.sort()
	return m, nil
}

func (m *Manifest) addNode(n nodeDocument) error {
	if err := checkPath(n.Path); err != nil {
		return err
	}
	node, err := metadata.Parse([]byte(n.Document), metadata.Limits{})
	if err != nil {
		return err
	}
	switch doc := node.(type) {
	case *metadata.Group:
		m.Groups = append(m.Groups, Group{n.Path, doc})
		return nil
	case *metadata.Array:
		// Opening the array asks whether experiments are permitted.
		g, err := grid.Parse(doc.Shape, doc.ChunkGrid.Name, doc.ChunkGrid.Configuration, &grid.ParseOptions{EncodedShapes: true})
		if err != nil {
			return err
		}
		if n.Axis < 0 || n.Axis > max(0, g.Rank()-1) {
			return scan.Corruptf("axis %d of %d", n.Axis, g.Rank())
		}
		m.folder.note(n.Blocks)
		// An update replaces the values of coordinates as a whole, so remember which
		// they are.
		if n.Values {
			m.folder.values[n.Path] = n.Blocks
		}
		if n.Blocks == nil {
			n.Blocks = []piece{}
		}
		a := &Array{Path: n.Path, Document: doc, Grid: g, Axis: n.Axis, values: n.Values, blocks: n.Blocks, points: n.Points}
		m.Arrays = append(m.Arrays, a)
		if err := a.checkPoints(); err != nil {
			return err
		}
		if err := consecutive(n.Blocks, mostReferences); err != nil {
			return err
		}
		// A document of a few bytes may claim any number of chunks. Blocks that cover
		// exactly the chunks have bytes for them.
		if chunks, ok := g.NumChunks(); !ok || chunks > mostChunks || chunks != firstNumber(n.Blocks) {
			return scan.Corruptf("%s of an array with %v chunks", quantity.Count(firstNumber(n.Blocks), "references"), g.Chunks())
		}
		return nil
	}
	return scan.Corruptf("neither a group nor an array")
}

// mostBlock bounds a stored block in bytes.
const mostBlock = 16 << 20

// consecutive returns an error unless blocks follow each other from 0 on.
func consecutive(blocks []piece, most int64) error {
	next := int64(0)
	for _, p := range blocks {
		if p.First != next || p.Count <= 0 || p.Count > most || p.Offset < 0 || p.Length <= 0 || p.Length > mostBlock {
			return scan.Corruptf("a block of %d from %d on, after %d", p.Count, p.First, next)
		}
		next += p.Count
	}
	return nil
}

// face is the chunks of an array with one index along the axis that grows, which are to
// be copied without their padding.
type face struct {
	first            int64 // the number of the first chunk
	encoded, logical int64 // elements of the chunks along the axis, with padding and without
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

// Padded returns how many chunks [Collector.CopyPadded] has to copy, and their encoded
// bytes with the padding.
func (m *Manifest) Padded() (chunks, bytes int64) {
	for _, a := range m.Arrays {
		for number := range a.padded() {
			chunks++
			bytes += int64(len(a.inline[number])) + int64(a.refs.at(int(number-a.stored())).length)
		}
	}
	return chunks, bytes
}

// padded yields the numbers of the stored chunks of the faces, and their places in
// the order of all chunks of the faces.
func (a *Array) padded() func(yield func(number, place int64) bool) {
	return func(yield func(number, place int64) bool) {
		place, plane := int64(0), a.plane()
		for _, f := range a.faces {
			for number := f.first; number < f.first+plane; number, place = number+1, place+1 {
				_, inline := a.inline[number]
				if !inline && a.refs.at(int(number-a.stored())).source == 0 {
					continue // the copy has the fill value there, too
				}
				if !yield(number, place) {
					return
				}
			}
		}
	}
}

// cuttable returns an error if the codecs of an array cannot encode chunks with so many
// elements along the axis that grows.
func (n *joined) cuttable(ctx context.Context, logical int64) error {
	// Files mostly end at the same places: each length is tried once.
	err, known := n.cuts[logical]
	if known {
		return err
	}
	if err = n.tryCut(ctx, logical); err != nil {
		err = fmt.Errorf("copy the file with other chunks: %w", err)
	}
	if n.cuts == nil {
		n.cuts = map[int64]error{}
	}
	n.cuts[logical] = err
	return err
}

// tryCut encodes a chunk with so many elements: some codecs only decode, and shards do
// not have any length.
func (n *joined) tryCut(ctx context.Context, logical int64) error {
	alone := *n.Array
	alone.faces = []face{{0, logical, logical}}
	a, err := alone.facesAlone(ctx, func(f face) int64 { return f.logical }, memstore.New(), true)
	// Text has no fixed size that could be tried; a codec that cannot encode it fails
	// when it is copied.
	if err != nil || a.Type().Variable() || slices.Contains(a.Grid().Chunks(), 0) {
		return err
	}
	first := make([]int64, a.Rank())
	data, err := a.ReadChunk(ctx, first)
	if err != nil {
		return err
	}
	return a.WriteChunk(ctx, first, data)
}

// gridOfFaces returns the grid of an array that has only the faces, one after the other.
func (a *Array) gridOfFaces(length func(face) int64) (*grid.Grid, error) {
	edges, extent := make([]grid.Run, len(a.faces)), int64(0)
	for i, f := range a.faces {
		edges[i] = grid.Run{Length: length(f), Count: 1}
		var ok bool
		if extent, ok = checked.Add(extent, length(f)); !ok {
			return nil, fmt.Errorf("%w: too many elements", ErrLimit)
		}
	}
	axis, err := grid.NewAxis(extent, grid.Runs(edges...))
	if err != nil {
		return nil, err
	}
	return withAxis(a.Grid, a.Axis, axis)
}

// facesAlone makes a real array that has only the faces, in a store. No chunk of it is
// stored yet, and fill says that those with only the fill value will be.
func (a *Array) facesAlone(ctx context.Context, length func(face) int64, s store.Store, fill bool) (*zarr.Array, error) {
	g, err := a.gridOfFaces(length)
	if err != nil {
		return nil, err
	}
	alone := &Array{Path: a.Path, Document: withGrid(a.Document, g)}
	return alone.writable(ctx, s, fill)
}

// facesPadded opens a virtual array that has only the faces, with the padding.
func (m *Manifest) facesPadded(ctx context.Context, a *Array, from sources) (*zarr.Array, error) {
	g, err := a.gridOfFaces(func(f face) int64 { return f.encoded })
	if err != nil {
		return nil, err
	}
	alone, err := newArray(a.Path, withGrid(a.Document, g).WithKeyEncoding(metadata.DefaultSlash), g, a.Axis)
	if err != nil {
		return nil, err
	}
	for number, place := range a.padded() {
		if data, ok := a.inline[number]; ok {
			alone.setInline(place, data)
			continue
		}
		alone.refs.set(int(place), a.refs.at(int(number-a.stored())))
	}
	shown := &Manifest{Arrays: []*Array{alone}, folder: m.folder, sourceBlocks: m.sourceBlocks, Sources: m.Sources}
	return zarr.At(newStore(shown, from), a.Path).OpenArray(ctx, nil)
}

// notes are remarks about files. Each kind of them has one format.
type notes struct {
	list  []note
	count map[string]int // of each kind
	more  int            // that are not in the list
}

type note struct{ kind, text string }

// mostNotes bounds the notes that are kept.
const mostNotes = 10000

// note adds a remark.
func (j *Joined) note(format string, args ...any) {
	n := &j.notes
	if n.count == nil {
		n.count = map[string]int{}
	}
	n.count[format]++
	if len(n.list) == mostNotes {
		n.more++
		return
	}
	n.list = append(n.list, note{format, fmt.Sprintf(format, args...)})
}

// Notes are remarks about the files, such as times that are out of order: the first
// 10,000, and how many more there are.
func (j *Joined) Notes() (texts []string) {
	for _, n := range j.notes.list {
		texts = append(texts, n.text)
	}
	if j.notes.more > 0 {
		texts = append(texts, fmt.Sprintf("there are %s", quantity.Count(j.notes.more, "more notes")))
	}
	return texts
}

// Summary returns [Joined.Notes] for people: of the notes of each kind, which say the
// same of other files and arrays, so many, and how many more there are.
func (j *Joined) Summary(most int) (texts []string) {
	shown := map[string]int{}
	for _, n := range j.notes.list {
		if shown[n.kind]++; shown[n.kind] > most {
			continue
		}
		texts = append(texts, n.text)
		if more := j.notes.count[n.kind] - most; shown[n.kind] == most && more > 0 {
			texts = append(texts, fmt.Sprintf("… and %d more like this", more))
		}
	}
	return texts
}

// listing yields the keys in a folder. A flat one yields each folder once.
type listing struct {
	dir  string
	deep bool
	// versions says that chunks have their versions. A plain listing is quicker.
	versions bool
	seen     map[string]bool
	yield    func(store.Entry, error) bool
}

// add yields a key if it is in the folder.
func (l *listing) add(key string, info store.Info) bool {
	rel := key
	if l.dir != "" {
		var ok bool
		if rel, ok = strings.CutPrefix(key, l.dir+"/"); !ok {
			return true
		}
	}
	folder, _, nested := strings.Cut(rel, "/")
	switch {
	case l.deep || !nested:
		return l.yield(store.Entry{Name: rel, Size: info.Size, Version: info.Version}, nil)
	case l.seen[folder]:
		return true
	}
	l.seen[folder] = true
	return l.yield(store.Entry{Name: folder, Dir: true}, nil)
}

// wantsChunks reports whether the listing may have chunks of the array at a path. A flat
// listing above the array has none.
func (l *listing) wantsChunks(path string) bool {
	inside := l.dir == path || strings.HasPrefix(l.dir, path+"/") || path == ""
	above := l.dir == "" || strings.HasPrefix(path, l.dir+"/")
	return inside || above && l.deep
}

// document yields the document of a node.
func (l *listing) document(path string) bool {
	return l.add(strings.TrimPrefix(path+"/"+nodename.V3Node, "/"), store.Info{Size: -1})
}

// checkPath returns an error if a manifest cannot have a node at a path. A reader refuses
// a whole manifest with such a node, so a writer leaves the node out.
func checkPath(path string) error {
	if path == "" { // the root
		return nil
	}
	if !utf8.ValidString(path) {
		return scan.Unsupportedf("the path %q is not valid UTF-8, and a manifest is JSON", path)
	}
	for name := range strings.SplitSeq(path, "/") {
		if err := nodename.CheckListed(name); err != nil {
			return scan.Unsupportedf("%v", err)
		}
	}
	return nil
}

// checkPaths returns an error if a manifest has a node that it cannot have.
func (m *Manifest) checkPaths() error {
	for _, g := range m.Groups {
		if err := checkPath(g.Path); err != nil {
			return fmt.Errorf("group %q: %w", g.Path, err)
		}
	}
	for _, a := range m.Arrays {
		if err := checkPath(a.Path); err != nil {
			return fmt.Errorf("array %q: %w", a.Path, err)
		}
	}
	return nil
}

// checkLocation returns an error if a location of chunks below a path would not lead a
// reader back to them, because it has characters that programs read in different ways.
func (w *walk) checkLocation(path string) error {
	node := place{scheme: w.scheme, host: "host", path: "/node"}
	if w.scheme == "file" {
		node.host = ""
	}
	at, err := node.join(path)
	if err != nil {
		return scan.Unsupportedf("the path %q has characters that locations of chunks cannot have: copy it under another name (varve copy)", path)
	}
	if again, err := placeOf(at.String()); err != nil || again.path != at.path {
		return scan.Unsupportedf("in a location of its chunks, %q would be read as something else: copy it under another name (varve copy)", path)
	}
	return nil
}
