// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual/scan"
)

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
	m.folder = &folder{kept: cache[use, any]{most: mostDecoded, each: 1}, superseded: d.Superseded, blocks: map[string]bool{}, values: map[string][]piece{}}
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

// checkDocument returns an error if a document is too long.
func checkDocument(text []byte) error {
	if len(text) > mostDocument {
		return fmt.Errorf("%w: its document has %s, and at most %d are possible; leave out arrays, or make several manifests", ErrLimit, quantity.Count(len(text), "bytes"), mostDocument)
	}
	return nil
}
