// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// memory is a file in memory.
type memory struct{ bytes.Buffer }

// WriteAt implements [io.WriterAt].
func (m *memory) WriteAt(p []byte, at int64) (int, error) { return copy(m.Bytes()[at:], p), nil }

// newFile returns a file and its writer.
func newFile(t *testing.T) (*memory, *Writer) {
	t.Helper()
	m := &memory{}
	w, err := NewWriter(m)
	if err != nil {
		t.Fatal(err)
	}
	return m, w
}

// TestForAppends checks what netCDF-C wants of a file before it appends: creation orders,
// scales that the library recognises, and bounds of searches in the index of chunks. The
// reader of package virtual does not look at these.
func TestForAppends(t *testing.T) {
	m, w := newFile(t)
	at, err := w.Append(make([]byte, 8))
	if err != nil {
		t.Fatal(err)
	}
	d := &Dataset{Type: Integer(2, true), Shape: []int64{5, 3}, Chunk: []int64{2, 2}, Unlimited: []bool{true, false}, ScaleName: "x"}
	for i := range int64(6) {
		d.AddChunk(i, at, 8)
	}
	root := &Group{}
	root.AddDataset("x", d)
	root.AddGroup("g", &Group{Attributes: []Attribute{String("a", "b")}})
	if err := w.Close(root); err != nil {
		t.Fatal(err)
	}
	file := m.Bytes()
	headers := bytes.Count(file, []byte("OHDR"))
	if headers != 3 {
		t.Errorf("%d headers, want 3", headers)
	}
	const order = 1<<2 | 1<<3
	for rest := file; headers > 0; headers-- {
		rest = rest[bytes.Index(rest, []byte("OHDR"))+4:]
		if rest[1]&order != order {
			t.Errorf("a header has the flags %x: the creation order of attributes is not tracked and indexed", rest[1])
		}
		if links := rest[6:]; links[0] == kindLinkInfo && links[7] != ordered {
			t.Errorf("link info has the flags %x", links[7])
		}
	}
	if !bytes.Contains(file, append(class(1, texts, 0, 16).message, "\x02\x00\x00\x00DIMENSION_SCALE\x00"...)) {
		t.Error("CLASS is not text of 16 bytes with a zero at the end")
	}
	// The key after the last of six chunks, which begins at 4, 2.
	tree := file[bytes.Index(file, []byte("TREE")):]
	const keyBytes = 8 + 3*8
	last := tree[nodeHead+6*(keyBytes+8):][:keyBytes]
	var bound []uint64
	for b := last[8:]; len(b) > 0; b = b[8:] {
		bound = append(bound, binary.LittleEndian.Uint64(b))
	}
	if fmt.Sprint(bound) != "[6 4 2]" {
		t.Errorf("the bound of the tree is %v, want one chunk and one element further, [6 4 2]", bound)
	}
	if end := binary.LittleEndian.Uint64(file[28:]); end != uint64(len(file)) {
		t.Errorf("the file ends at %d by its superblock, and at %d", end, len(file))
	}
}

// TestTooLong checks that what has no place in a header is an error.
func TestTooLong(t *testing.T) {
	many := make([]Attribute, MaxMembers+1)
	for i := range many {
		many[i] = String(fmt.Sprint(i), "")
	}
	for want, root := range map[string]*Group{
		`attribute "a" takes`:        {Attributes: []Attribute{Values("a", Integer(1, true), []int64{70_000}, make([]byte, 70_000))}},
		"a name of 70000 bytes":      {Attributes: []Attribute{String(strings.Repeat("n", 70_000), "")}},
		"at most 65535 attributes":   {Attributes: many},
		"a header message of 70023":  {links: []link{{strings.Repeat("n", 70_000), &Group{}}}},
		"chunks of the shape [1]":    {links: []link{{"d", &Dataset{Type: Float(4), Shape: []int64{1, 1}, Chunk: []int64{1}}}}},
		"chunks of the shape [0]":    {links: []link{{"d", &Dataset{Type: Float(4), Shape: []int64{1}, Chunk: []int64{0}}}}},
		"a group has at most 65535 ": {links: make([]link, MaxMembers+1)},
	} {
		for i := range root.links {
			if root.links[i].to == nil {
				root.links[i] = link{fmt.Sprint(i), root}
			}
		}
		_, w := newFile(t)
		if err := w.Close(root); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// full is a file without room.
type full struct{ memory }

// Write implements [io.Writer].
func (*full) Write([]byte) (int, error) { return 0, errors.ErrUnsupported }

// TestFull checks that errors of the file are returned.
func TestFull(t *testing.T) {
	if _, err := NewWriter(&full{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}
