// SPDX-License-Identifier: Apache-2.0

package format

import (
	"slices"
	"strings"
	"time"
)

// Snapshot is the state of a repository at one commit.
type Snapshot struct {
	ID       ObjectID
	Parent   ObjectID // zero in version 2, where the repository has it, and for the first one
	Nodes    []Node   // by path
	Time     time.Time
	Message  string
	Metadata []Item
	Files    []ManifestFile // by ID
	Extra    []byte         // of later versions of the specification
	// Later means that the object has fields that this package does not know. It is
	// encoded without them.
	Later bool
}

// Node is a group or an array.
type Node struct {
	ID   NodeID
	Path string // begins with a slash
	// Document is zarr.json, as it was stored.
	Document []byte
	IsArray  bool
	Shape    []Dimension // of an array
	// Manifests have the references to the chunks of an array.
	Manifests []ManifestRef
	// Names are those of the dimensions, nil where a dimension has none. The list is nil
	// if the snapshot does not tell.
	Names []*string
	Extra []byte
}

// Dimension is the length of an axis, in elements and in chunks.
type Dimension struct {
	Length uint64
	Chunks uint64
}

// ManifestRef says which chunks a manifest has references to.
type ManifestRef struct {
	ID      ObjectID
	Extents []Extent // one for each axis
}

// Extent is a range of chunk indices.
type Extent struct{ From, To uint32 }

// Contains reports whether a chunk is in the extents of the manifest.
func (m ManifestRef) Contains(index []uint32) bool {
	if len(index) != len(m.Extents) {
		return false
	}
	for i, e := range m.Extents {
		if index[i] < e.From || index[i] >= e.To {
			return false
		}
	}
	return true
}

// ManifestFile is what a snapshot says of a manifest.
type ManifestFile struct {
	ID         ObjectID
	Size       uint64 // in bytes, as stored
	References uint32
	Extra      []byte
}

// leastNode is the least number of bytes that a node has in a snapshot.
const leastNode = 32

// ParseSnapshot parses the body of a snapshot.
func ParseSnapshot(body []byte) (*Snapshot, error) {
	b, t, err := root(body)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{ID: t.objectID(0, "ID"), Time: timeOf(t, 3), Message: t.text(4), Metadata: parseItems(t.vector(5, 4)), Extra: t.bytes(8)}
	t.known(9)
	copy(s.Parent[:], t.structure(1, len(s.Parent)))
	t.need(t.contains(2), "nodes")
	nodes := t.vector(2, 4)
	s.Nodes = make([]Node, 0, min(nodes.len, len(body)/leastNode))
	for i, node := range nodes.tables() {
		s.Nodes = append(s.Nodes, parseNode(node.known(6)))
		if i > 0 && s.Nodes[i-1].Path >= s.Nodes[i].Path {
			b.fail("its nodes are not sorted")
		}
	}
	s.Files = parseFiles(t)
	if b.err == nil {
		s.check(b)
	}
	s.Later = b.later
	return s, b.err
}

// fileLength is the length of a structure ManifestFileInfo of version 1.
const fileLength = 32

func parseFiles(t table) (list []ManifestFile) {
	if !t.contains(7) {
		for v, i := t.vector(6, fileLength), 0; i < v.len; i++ {
			raw := v.element(i)
			list = append(list, ManifestFile{ID: ObjectID(raw[:12]), Size: number(raw[16:24]), References: uint32(number(raw[24:28]))})
		}
		return list
	}
	for _, f := range t.vector(7, 4).tables() {
		f.known(4)
		list = append(list, ManifestFile{f.objectID(0, "ID of a manifest"), f.number(1, 8, 0), uint32(f.number(2, 4, 0)), f.bytes(3)})
	}
	return list
}

// number returns a number of some bytes.
func number(raw []byte) (n uint64) {
	for i, c := range raw {
		n |= uint64(c) << (8 * i)
	}
	return n
}

// The types of nodes.
const (
	arrayNode = 1
	groupNode = 2
)

func parseNode(t table) Node {
	n := Node{Path: t.text(1), Document: t.bytes(2), Extra: t.bytes(5)}
	id := t.structure(0, len(n.ID))
	if t.need(id != nil, "ID of a node"); id != nil {
		n.ID = NodeID(id)
	}
	t.need(t.contains(2), "document of a node")
	is, ok := t.below(4)
	switch kind := t.number(3, 1, 0); {
	case kind == groupNode:
		is.known(0)
	case kind == arrayNode && ok:
		is.known(4)
		n.IsArray = true
		n.Shape = parseShape(is)
		n.Manifests = parseManifestRefs(is.vector(2, 4), len(n.Shape))
		for _, name := range is.vector(1, 4).tables() {
			n.Names = append(n.Names, parseName(name.known(1)))
		}
	default:
		t.need(false, "type of the node "+n.Path)
	}
	return n
}

func parseName(t table) *string {
	if !t.contains(0) {
		return nil
	}
	name := t.text(0)
	return &name
}

func parseShape(t table) (list []Dimension) {
	if t.contains(3) {
		for _, d := range t.vector(3, 4).tables() {
			d.known(2)
			list = append(list, Dimension{d.number(0, 8, 0), d.number(1, 4, 0)})
		}
		return list
	}
	for v, i := t.vector(0, 16), 0; i < v.len; i++ {
		raw := v.element(i)
		d := Dimension{Length: number(raw[:8])}
		if chunk := number(raw[8:]); chunk > 0 {
			d.Chunks = d.Length/chunk + min(1, d.Length%chunk)
		}
		list = append(list, d)
	}
	return list
}

func parseManifestRefs(v vector, rank int) (list []ManifestRef) {
	for _, t := range v.tables() {
		t.known(2)
		m := ManifestRef{ID: t.objectID(0, "ID of a manifest")}
		extents := t.vector(1, 8)
		for k := range extents.len {
			raw := extents.element(k)
			m.Extents = append(m.Extents, Extent{uint32(number(raw[:4])), uint32(number(raw[4:]))})
		}
		if len(m.Extents) != rank {
			t.b.fail("the rank of the extents of a manifest is %d, and that of the array %d", len(m.Extents), rank)
		}
		list = append(list, m)
	}
	return list
}

// check looks whether lists are sorted.
func (s *Snapshot) check(b *buffer) {
	for _, n := range s.Nodes {
		if n.Path != "/" && (!strings.HasPrefix(n.Path, "/") || strings.HasSuffix(n.Path, "/")) {
			b.fail("the node %q has no path", n.Path)
		}
	}
	for i, f := range s.Files {
		if i > 0 && compareIDs(s.Files[i-1].ID, f.ID) >= 0 {
			b.fail("its manifests are not sorted")
		}
	}
}

// FindNode returns the index of the node at a path, or where it would be.
func (s *Snapshot) FindNode(path string) (i int, ok bool) {
	return slices.BinarySearchFunc(s.Nodes, path, func(n Node, path string) int { return strings.Compare(n.Path, path) })
}

// FindFile returns what the snapshot says of a manifest.
func (s *Snapshot) FindFile(id ObjectID) (f ManifestFile, ok bool) {
	i, ok := slices.BinarySearchFunc(s.Files, id, func(f ManifestFile, id ObjectID) int { return compareIDs(f.ID, id) })
	if ok {
		f = s.Files[i]
	}
	return f, ok
}
