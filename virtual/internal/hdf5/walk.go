// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual/scan"
)

// walk visits all objects of a file. The first pass follows hard links, and visits each
// object under the first of its names, in the order of H5Ovisit. The second one adds the
// objects under their other names: those of further hard links, and of soft links.
type walk struct {
	*reader
	set     *scan.Dataset
	root    int64
	nodes   map[int64]*node // by address
	found   []*found
	further []further
	again   int64 // bytes that the second pass has added, about
	paths   int64 // bytes that the paths of members may still take, without their names
}

// node is an object that was visited.
type node struct {
	group      int64 // that it was visited from
	name       string
	links      []link // of a group
	found      scan.Group
	attributes int64 // bytes of their values
	// An object is a group unless it has one of these.
	array  *found
	reason error // why it is neither
}

// found is an array of the file.
type found struct {
	address int64
	array   *scan.Array
	scale   scale
	space   dataspace
	noFill  bool // elements that were not written have no value
}

// further is a link that the second pass follows.
type further struct {
	path  string
	group int64
	link  link
}

const (
	// mostGroups bounds groups within groups.
	mostGroups = 256
	// visitCost bounds the objects of a file.
	visitCost = 16
	// mostAgain bounds the bytes of memory that links add, about: a few of them may name
	// large objects many times.
	mostAgain = 64 << 20
	// A link takes linkBytes, with the node that it adds or the reason why it adds none,
	// and a chunk chunkBytes.
	linkBytes  = 512
	chunkBytes = 20
)

// visit visits the object at an address, and all below it.
func (w *walk) visit(path string, address int64, depth int) error {
	n := w.nodes[address]
	if depth > mostGroups {
		n.reason = scan.Unsupportedf("groups nested more than %d deep", mostGroups)
	} else if err := w.object(n, path, address); err != nil {
		// Damage fails the whole file, and so does a root that cannot be read. Any other
		// object is left out alone.
		if !errors.Is(err, scan.ErrUnsupported) || path == "" {
			return fmt.Errorf("%q: %w", path, err)
		}
		n.reason = err
	}
	if n.reason != nil {
		w.omit(path, n.reason)
		return nil
	}
	for i, l := range n.links {
		if err := w.spend(int64(visitCost + len(l.name))); err != nil {
			return err
		}
		if int64(len(path)) > w.paths {
			w.set.Omit(path, "%d of its %s: the names of groups in groups are too long", len(n.links)-i, quantity.Count(len(n.links), "members"))
			return nil
		}
		w.paths -= int64(len(path))
		below := join(path, l.name)
		// No path has such a name. Whoever uses the data set decides about others.
		if err := nodename.CheckPath(l.name); err != nil {
			w.set.Arrays = append(w.set.Arrays, &scan.Array{Path: below, Refused: scan.Unsupportedf("%v", err)})
			continue
		}
		// Soft links may lead to objects that come later. They wait for the second pass.
		if l.kind != linkHard || w.nodes[l.address] != nil {
			w.further = append(w.further, further{below, address, l})
			continue
		}
		w.nodes[l.address] = &node{group: address, name: l.name}
		if err := w.visit(below, l.address, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// join returns the path of a member of a group.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}

// object adds a group or an array, and sets what the node is.
func (w *walk) object(n *node, path string, address int64) error {
	o, err := w.reader.object(address)
	if err != nil {
		return err
	}
	// Either is enough: an array that lacks the other one is damaged, and is no group.
	if o.find(kindLayout) != nil || o.find(kindDataspace) != nil {
		return w.addArray(n, path, o)
	}
	if !o.isGroup() {
		return scan.Unsupportedf("a named datatype; arrays of this type have it themselves")
	}
	list, err := w.attributesOf(n, o)
	if err != nil {
		return err
	}
	// netCDF marks its files with this attribute of the root, and h5netcdf does, too.
	if path == "" && slices.ContainsFunc(list, func(a attribute) bool { return a.name == attrProperties }) {
		w.set.Format = "NetCDF-4"
	}
	n.found.Path = path
	if n.found.Attributes, err = w.visible(path, list, &scale{}); err != nil {
		return err
	}
	w.set.Groups = append(w.set.Groups, n.found)
	n.links, err = w.links(o)
	return err
}

// attributesOf returns the attributes of an object, and notes their bytes.
func (w *walk) attributesOf(n *node, o *object) ([]attribute, error) {
	list, err := w.attributes(o)
	for i := range list {
		n.attributes += int64(len(list[i].data))
	}
	return list, err
}

// addFurther adds the object that a link leads to, or notes why it does not. within says
// that the link is below a group that was added again.
func (w *walk) addFurther(f further, within bool) {
	if !w.mayAdd(linkBytes + int64(len(f.path))) {
		w.omit(f.path, errManyLinks)
		return
	}
	address, err := w.resolve(f.group, f.link)
	if err != nil {
		w.omit(f.path, err)
		return
	}
	n := w.nodes[address]
	switch {
	case n == nil:
		w.set.Omit(f.path, "a link to an object that is left out itself")
	case n.reason != nil:
		w.omit(f.path, n.reason)
	case !w.mayAdd(n.bytes()):
		w.omit(f.path, errManyLinks)
	case n.array != nil:
		again := *n.array
		array := *n.array.array
		again.array, array.Path = &array, f.path
		w.found = append(w.found, &again)
	case w.contains(address, f.group):
		w.set.Omit(f.path, "a link to a group that it is in, %q", "/"+n.found.Path)
	case within && !n.isFirst(f):
		// Groups that lead to each other have more paths than anybody reads.
		w.set.Omit(f.path, "a link to the group %q, in one that a link has led to", "/"+n.found.Path)
	default:
		w.addGroupAgain(f.path, address, n)
	}
}

// isFirst reports whether a link is the one by which the first pass has come.
func (n *node) isFirst(f further) bool {
	return f.link.kind == linkHard && n.group == f.group && n.name == f.link.name
}

// addGroupAgain adds a group and all below it under another name.
func (w *walk) addGroupAgain(path string, address int64, n *node) {
	w.set.Groups = append(w.set.Groups, scan.Group{Path: path, Attributes: n.found.Attributes})
	for _, l := range n.links {
		if w.again > mostAgain {
			w.omit(path, errManyLinks)
			return
		}
		if nodename.CheckPath(l.name) == nil { // else it was left out under the first name
			w.addFurther(further{join(path, l.name), address, l}, true)
		}
	}
}

// errManyLinks means that links add too much.
var errManyLinks = scan.Unsupportedf("a link; what the links of this file add would take more than %d MiB", mostAgain>>20)

// mayAdd takes bytes from those that links may add.
func (w *walk) mayAdd(bytes int64) bool {
	if w.again <= mostAgain {
		w.again += bytes
	}
	return w.again <= mostAgain
}

// bytes returns about what an object takes that is added again, without its path.
func (n *node) bytes() int64 {
	bytes := n.attributes
	if n.array != nil && n.array.array.Refused == nil {
		chunks, ok := checked.Product(n.array.array.Count()...)
		if !ok || chunks > mostAgain/chunkBytes {
			return mostAgain + 1
		}
		for _, c := range n.array.array.Chunks {
			bytes += int64(len(c.Data))
		}
		bytes += chunks * chunkBytes
	}
	return bytes
}

// contains reports whether a group is another one, or that one is below it.
func (w *walk) contains(group, other int64) bool {
	for ; other != group; other = w.nodes[other].group {
		if other == w.root {
			return false
		}
	}
	return true
}

// omit notes what is left out.
func (w *walk) omit(path string, reason error) {
	w.set.Omitted = append(w.set.Omitted, scan.Omission{Path: path, Reason: reason})
}

// visible returns the attributes that netCDF shows of the object at a path. Those whose
// values JSON cannot express, such as references, are left out.
func (w *walk) visible(path string, list []attribute, s *scale) (shown scan.Attributes, err error) {
	for i := range list {
		a := &list[i]
		if s.hidden(a.name) {
			continue
		}
		v, err := w.value(a)
		switch {
		case errors.Is(err, scan.ErrUnsupported):
			w.omit(path+":"+a.name, fmt.Errorf("an attribute: %w", err))
		case err != nil:
			return nil, fmt.Errorf("attribute %q: %w", a.name, err)
		default:
			shown = append(shown, scan.Attribute{Name: a.name, Value: v})
		}
	}
	return shown, nil
}

// Scan returns the arrays of a file, and where their chunks are.
func Scan(f *scan.File) (*scan.Dataset, error) {
	return scanWith(newReader(f))
}

func scanWith(r *reader) (*scan.Dataset, error) {
	// A few long names of groups make long paths of everything below them.
	w := &walk{reader: r, set: &scan.Dataset{Format: "HDF5"}, nodes: map[int64]*node{}, paths: r.left + mostAgain}
	s, err := w.open()
	if err != nil {
		return nil, fmt.Errorf("superblock: %w", err)
	}
	if s.extension != undefined {
		if err := w.readExtension(s.extension); err != nil {
			return nil, fmt.Errorf("superblock: %w", err)
		}
	}
	w.root = s.root
	w.nodes[s.root] = &node{group: s.root}
	if err := w.visit("", s.root, 0); err != nil {
		return nil, err
	}
	for _, f := range w.further {
		w.addFurther(f, false)
	}
	w.finish()
	return w.set, nil
}

// finish sets the dimensions, and leaves out the arrays that are only names of them.
func (w *walk) finish() {
	w.dimensions()
	taken := map[string]bool{}
	// A dimension without values leaves its name to others.
	for _, f := range w.found {
		taken[f.array.Path] = !f.scale.noVariable
	}
	for _, f := range w.found {
		if !f.scale.noVariable {
			rename(f.array, taken)
			w.set.Arrays = append(w.set.Arrays, f.array)
		}
	}
}

// sharedHeap is a heap of messages that several headers share.
type sharedHeap struct {
	kinds uint16 // bit k is set if it has messages of kind k
	heap  int64
}

// readExtension reads the header with more about the file.
func (r *reader) readExtension(address int64) error {
	o, err := r.object(address)
	if err != nil {
		return err
	}
	if o.find(kindDriver) != nil {
		return scan.Unsupportedf("a file of several parts")
	}
	m := o.find(kindSharedTable)
	if m == nil {
		return nil
	}
	c := r.over(m.data)
	if _, err := c.version(0); err != nil {
		return within(err, "shared message table", address)
	}
	table, n := c.address(), int(c.byte())
	if err := c.err(); err != nil {
		return err
	}
	return within(r.readSharedTable(table, n), "shared message table", table)
}

// readSharedTable reads the table of shared messages (specification, IV.A.2.p).
func (r *reader) readSharedTable(address int64, indexes int) error {
	entry := 1 + 1 + 2 + 4 + 2 + 2 + 2 + 2*r.sizes.address
	c, err := r.signed(address, int64(4+indexes*entry+checksum), "SMTB")
	if err != nil {
		return err
	}
	for range indexes {
		c.skip(2) // version, type
		kinds := c.uint16()
		c.skip(4 + 2 + 2 + 2) // sizes and counts
		// The index finds equal messages, for writers. References lead into the heap.
		c.address()
		r.shared = append(r.shared, sharedHeap{kinds, c.address()})
	}
	return c.err()
}

// body returns the bytes of a message, also if they are elsewhere.
func (r *reader) body(m *message) ([]byte, error) {
	if m.flags&flagShared == 0 {
		return m.data, nil
	}
	return r.sharedBody(r.over(m.data), m.kind)
}

// sharedBody follows a reference to a message that is shared (specification, IV.A.2,
// "shared message").
func (r *reader) sharedBody(c *cursor, kind uint16) ([]byte, error) {
	version, err := c.version(1, 2, 3)
	if err != nil {
		return nil, err
	}
	where := c.byte()
	const inHeap = 1
	if version == 3 && where == inHeap {
		id := c.take(8)
		if err := c.err(); err != nil {
			return nil, err
		}
		return r.fromSharedHeap(id, kind)
	}
	if version == 1 {
		c.skip(6)
		// Before its address is the place of a name, though the specification has none.
		if c.rest() >= r.sizes.length+r.sizes.address {
			c.skip(r.sizes.length)
		}
	}
	address := c.address()
	if err := c.err(); err != nil {
		return nil, err
	}
	o, err := r.object(address)
	if err != nil {
		return nil, err
	}
	m := o.find(kind)
	if m == nil || m.flags&flagShared != 0 {
		return nil, scan.Corruptf("object header at %d: no shared message of the kind %d", address, kind)
	}
	return m.data, nil
}

// fromSharedHeap returns a message from the heap of its kind.
func (r *reader) fromSharedHeap(id []byte, kind uint16) ([]byte, error) {
	for _, s := range r.shared {
		if kind < 16 && s.kinds&(1<<kind) != 0 {
			h, err := r.fractalHeap(s.heap)
			if err != nil {
				return nil, err
			}
			return h.object(id)
		}
	}
	return nil, scan.Corruptf("a shared message of the kind %d, for which there is no heap", kind)
}

// mostInline bounds the text of an array, and the references to it, in bytes.
const mostInline = 1 << 20

// inline copies the text of an array into its chunks. The file has only references in
// them, which no codec follows.
func (w *walk) inline(a *scan.Array, d *described) error {
	// The references are inside encoded chunks, and a scan decodes none.
	if len(d.filters) > 0 {
		return scan.Unsupportedf("its elements are text of variable length, and its chunks are encoded")
	}
	if d.typ.size != w.sequenceBytes() {
		return scan.Corruptf("references of %s to the global heap", quantity.Count(d.typ.size, "bytes"))
	}
	n, ok := checked.Product(append([]int64{d.typ.size, int64(len(a.Chunks))}, a.Chunk...)...)
	if !ok || n > mostInline {
		return scan.Unsupportedf("its elements are text of variable length, and more than %s of references", quantity.Count(mostInline, "bytes"))
	}
	left := int64(mostInline)
	for i := range a.Chunks {
		c := &a.Chunks[i]
		references := c.Data
		if references == nil {
			if err := w.spend(c.Length); err != nil {
				return err
			}
			var err error
			if references, err = w.file.Bytes(c.Offset, c.Length); err != nil {
				return err
			}
		}
		data, err := w.texts(d.typ, references, &left)
		if err != nil {
			return err
		}
		*c = scan.Chunk{Number: c.Number, Data: data}
	}
	a.Codecs = []metadata.Extension{{Name: "vlen-utf8"}}
	if d.fill.value == nil {
		return nil
	}
	fill, err := w.sequence(w.over(d.fill.value), 1)
	a.Fill = []byte(d.typ.trim(fill))
	return err
}

// texts returns texts as the codec "vlen-utf8" stores them: their number, and the length
// and the bytes of each.
func (w *walk) texts(d *datatype, references []byte, left *int64) ([]byte, error) {
	data := binary.LittleEndian.AppendUint32(nil, uint32(int64(len(references))/d.size))
	for b := range slices.Chunk(references, int(d.size)) {
		raw, err := w.sequence(w.over(b), 1)
		if err != nil {
			return nil, err
		}
		text := d.trim(raw)
		if *left -= int64(len(text)); *left < 0 {
			return nil, scan.Unsupportedf("its elements are text of variable length, and more than %s of it", quantity.Count(mostInline, "bytes"))
		}
		if !utf8.ValidString(text) {
			return nil, scan.Unsupportedf("its elements are text that is not UTF-8")
		}
		data = binary.LittleEndian.AppendUint32(data, uint32(len(text)))
		data = append(data, text...)
	}
	return data, nil
}
