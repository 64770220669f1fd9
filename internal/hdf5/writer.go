// SPDX-License-Identifier: Apache-2.0

// Package hdf5 writes HDF5 files: the part of the format that netCDF-C itself writes, so
// that the library, and all that are built on it, read such a file and append to it.
// Package virtual has a reader. Section numbers are those of the "HDF5 File Format
// Specification", version 3.
//
// A file has a superblock of version 2 and object headers of version 2. Groups and
// attributes have a creation order that is tracked and indexed: without it netCDF-C
// opens a file for reading only. Links and attributes are in the headers. Chunks have a
// B-tree of version 1 (layout version 3), as in the files of netCDF-C. An unlimited axis
// can grow in it, and every release of the HDF5 library reads it.
//
// Data comes first: [Writer.Append] adds chunks as they are made. [Writer.Close] adds
// the metadata and, at last, writes the superblock at the beginning. So a file that is
// not complete has no superblock. Memory has about 24 bytes for each chunk.
package hdf5

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sort"
)

// Output is a new file. It is written from the beginning, and then once at offset 0.
type Output interface {
	io.Writer
	io.WriterAt
}

// Writer writes a file.
type Writer struct {
	w   Output
	end int64 // bytes that were written
}

const (
	signature       = "\x89HDF\r\n\x1a\n"
	superblockBytes = 48
	// Addresses and lengths have 8 bytes.
	wordBytes = 8
	// undefined is the address of what a file lacks.
	undefined = math.MaxUint64
)

// NewWriter returns a writer of a file, which must be empty.
func NewWriter(w Output) (*Writer, error) {
	f := &Writer{w: w}
	// The superblock is written last.
	_, err := f.Append(make([]byte, superblockBytes))
	return f, err
}

// Append adds bytes to the file, and returns their address.
func (w *Writer) Append(data []byte) (at int64, err error) {
	at = w.end
	n, err := w.w.Write(data)
	w.end += int64(n)
	return at, err
}

// End returns the address of the next bytes.
func (w *Writer) End() int64 { return w.end }

// Close writes the metadata of all objects below a group, which becomes the root.
func (w *Writer) Close(root *Group) error {
	objects := collect(nil, root, map[object]bool{})
	for _, o := range objects {
		if d, ok := o.(*Dataset); ok {
			if err := w.index(d); err != nil {
				return err
			}
		}
	}
	// The headers have addresses of each other and of the heap after them. None changes
	// a length, so a first pass measures and a second one writes.
	next, err := w.place(objects, w.end)
	if err != nil {
		return err
	}
	heap := &Heap{at: next}
	var all []byte
	for _, o := range objects {
		b, err := header(o, heap)
		if err != nil {
			return err
		}
		all = append(all, b...)
	}
	if _, err := w.Append(append(all, heap.Bytes()...)); err != nil {
		return err
	}
	return w.superblock(root)
}

// place gives each object the address of its header, and returns the address after them.
func (w *Writer) place(objects []object, at int64) (int64, error) {
	sizes := &Heap{}
	for _, o := range objects {
		b, err := header(o, sizes)
		if err != nil {
			return 0, err
		}
		*o.place() = at
		at += int64(len(b))
	}
	return at, nil
}

// superblock writes the superblock (II.A).
func (w *Writer) superblock(root *Group) error {
	const version, relative = 2, 0
	b := append([]byte(signature), version, wordBytes, wordBytes, 0)
	b = words(b, relative, undefined, uint64(w.end), uint64(root.address))
	_, err := w.w.WriteAt(sum(b), 0)
	return err
}

// collect appends an object and all below it, each once, parents first.
func collect(list []object, o object, seen map[object]bool) []object {
	if seen[o] {
		return list
	}
	seen[o] = true
	list = append(list, o)
	if g, ok := o.(*Group); ok {
		for _, l := range g.links {
			list = collect(list, l.to, seen)
		}
	}
	return list
}

// words appends numbers of 8 bytes.
func words(b []byte, list ...uint64) []byte {
	for _, v := range list {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// sum appends the checksum of all bytes.
func sum(b []byte) []byte { return binary.LittleEndian.AppendUint32(b, Checksum(b)) }

// A chunk that was added to a dataset.
type chunk struct {
	number int64 // of the chunk in C order
	at     int64
	bytes  uint32
}

// Node sizes of B-trees: the default of the library, which a superblock does not state.
const (
	chunkRank    = 32
	nodeEntries  = 2 * chunkRank
	chunkTree    = 1 // the type of a node
	nodeHead     = 4 + 1 + 1 + 2 + 2*wordBytes
	keyHeadBytes = 4 + 4 // the bytes of a chunk, and which filters it skips
)

// index writes the B-tree of the chunks of a dataset (III.A.1).
func (w *Writer) index(d *Dataset) error {
	if d.Chunk == nil || len(d.chunks) == 0 {
		return nil
	}
	sort.Slice(d.chunks, func(i, j int) bool { return d.chunks[i].number < d.chunks[j].number })
	for i := range d.chunks[1:] {
		if d.chunks[i].number == d.chunks[i+1].number {
			return fmt.Errorf("hdf5: chunk %d was added twice", d.chunks[i].number)
		}
	}
	// The children of the first level are the chunks, later those of nodes.
	t := tree{d: d, keyBytes: keyHeadBytes + wordBytes*(len(d.Chunk)+1)}
	t.nodeBytes = nodeHead + nodeEntries*wordBytes + (nodeEntries+1)*t.keyBytes
	children := func(i int) uint64 { return uint64(d.chunks[i].at) }
	n, per := len(d.chunks), 1
	for level := byte(0); ; level++ {
		first := w.end
		nodes := (n + nodeEntries - 1) / nodeEntries
		for node := range nodes {
			if _, err := w.Append(t.node(level, node, n, per, first, children)); err != nil {
				return err
			}
		}
		if nodes == 1 {
			d.at = first
			return nil
		}
		n, per = nodes, per*nodeEntries
		children = func(i int) uint64 { return uint64(first) + uint64(i*t.nodeBytes) }
	}
}

// tree is a B-tree that is written from its leaves up. Nodes of a level lie side by side.
type tree struct {
	d                   *Dataset
	keyBytes, nodeBytes int
}

// node returns a node of a level, of which the entries are n. Each entry is over per
// chunks.
func (t *tree) node(level byte, node, n, per int, first int64, child func(int) uint64) []byte {
	begin := node * nodeEntries
	end := min(n, begin+nodeEntries)
	b := append(make([]byte, 0, t.nodeBytes), "TREE"...)
	b = append(b, chunkTree, level)
	b = binary.LittleEndian.AppendUint16(b, uint16(end-begin))
	sibling := func(i int, there bool) uint64 {
		if !there {
			return undefined
		}
		return uint64(first) + uint64(i*t.nodeBytes)
	}
	b = words(b, sibling(node-1, node > 0), sibling(node+1, end < n))
	for i := begin; i < end; i++ {
		b = words(t.key(b, i*per), child(i))
	}
	return t.key(b, end*per)[:t.nodeBytes]
}

// key appends the key of a chunk. The one after the last chunk is a bound for searches:
// as the library makes it, one chunk further along each axis, and one element.
func (t *tree) key(b []byte, i int) []byte {
	past := i >= len(t.d.chunks)
	k := t.d.chunks[min(i, len(t.d.chunks)-1)]
	b = binary.LittleEndian.AppendUint32(b, k.bytes)
	b = binary.LittleEndian.AppendUint32(b, 0) // it skips no filter
	at := make([]uint64, len(t.d.Chunk)+1)
	for axis := len(t.d.Chunk) - 1; axis >= 0; axis-- {
		count := max(1, (t.d.Shape[axis]+t.d.Chunk[axis]-1)/t.d.Chunk[axis])
		at[axis] = uint64(k.number % count * t.d.Chunk[axis])
		k.number /= count
		if past {
			at[axis] += uint64(t.d.Chunk[axis])
		}
	}
	if past {
		at[len(t.d.Chunk)] = uint64(t.d.Type.Size)
	}
	return words(b, at...)
}
