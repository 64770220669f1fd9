// SPDX-License-Identifier: Apache-2.0

package arrow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"
	"varve.dev/zarr/columnar"
)

// oneColumn is the schema of a column of numbers.
var oneColumn = &columnar.Schema{Fields: []columnar.Field{{Name: "x", Type: columnar.Type{Kind: columnar.Int64}}}}

// numbers is a batch of n numbers from 0 on.
func numbers(n int) *columnar.Batch {
	c := columnar.Column{Rows: n}
	for i := range n {
		c.Data = binary.LittleEndian.AppendUint64(c.Data, uint64(i))
	}
	return &columnar.Batch{Rows: n, Columns: []columnar.Column{c}}
}

// fails returns an error unless reading a file or a stream fails as damaged.
func fails(raw []byte, want string) error {
	r, err := NewStreamReader(bytes.NewReader(raw), 0)
	if bytes.HasPrefix(raw, []byte(magic)) {
		r, err = NewFileReader(bytes.NewReader(raw), int64(len(raw)), 0)
	}
	if err == nil {
		_, err = r.Next()
	}
	if !errors.Is(err, columnar.ErrCorrupt) && !errors.Is(err, columnar.ErrUnsupported) || !strings.Contains(err.Error(), want) {
		return errors.Join(errors.New("it did not fail with "+want), err)
	}
	return nil
}

// streamOf returns a stream of a schema, with the header that build builds.
func streamOf(build func(b builder) flatbuffers.UOffsetT) []byte {
	var out bytes.Buffer
	w, b := &Writer{w: &out}, builder{flatbuffers.NewBuilder(0)}
	w.message(b, headerSchema, build(b), 0)
	return out.Bytes()
}

// TestBigEndian has a schema of big-endian numbers.
func TestBigEndian(t *testing.T) {
	raw := streamOf(func(b builder) flatbuffers.UOffsetT {
		fields := b.list(nil)
		b.StartObject(4)
		b.PrependInt16Slot(0, 1, 0)
		b.PrependUOffsetTSlot(1, fields, 0)
		return b.EndObject()
	})
	if err := fails(raw, "big endian"); err != nil {
		t.Error(err)
	}
}

// TestSharedLists has a schema whose fields are one and the same. With structs in structs
// a short one would have a content without end.
func TestSharedLists(t *testing.T) {
	raw := streamOf(func(b builder) flatbuffers.UOffsetT {
		field := b.field(&oneColumn.Fields[0])
		same := make([]flatbuffers.UOffsetT, 50_000)
		for i := range same {
			same[i] = field
		}
		fields := b.list(same)
		b.StartObject(4)
		b.PrependUOffsetTSlot(1, fields, 0)
		return b.EndObject()
	})
	if err := fails(raw, "out of itself"); err != nil {
		t.Error(err)
	}
}

// TestOverlap has two columns that share a buffer.
func TestOverlap(t *testing.T) {
	var out bytes.Buffer
	s := &columnar.Schema{Fields: []columnar.Field{oneColumn.Fields[0], {Name: "y", Type: columnar.Type{Kind: columnar.Int64}}}}
	w, err := NewStreamWriter(&out, s, Uncompressed)
	if err != nil {
		t.Fatal(err)
	}
	b := numbers(16)
	b.Columns = append(b.Columns, b.Columns[0])
	if err := errors.Join(w.Write(b), w.Close()); err != nil {
		t.Fatal(err)
	}
	raw := out.Bytes()
	place := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 128), 128)
	at := bytes.LastIndex(raw, place)
	if at < 0 {
		t.Fatal("the place of the second buffer is not found")
	}
	// The first one has all bytes of the body.
	copy(raw[at:], binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 0), 256))
	if err := fails(raw, "leads out of the body"); err != nil {
		t.Error(err)
	}
}

// TestManyBlocks has a footer that names one batch many times.
func TestManyBlocks(t *testing.T) {
	var out bytes.Buffer
	w, err := NewFileWriter(&out, oneColumn, Uncompressed)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(numbers(100)); err != nil {
		t.Fatal(err)
	}
	w.blocks = append(w.blocks, w.blocks[0])
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := fails(out.Bytes(), "footer leads out"); err != nil {
		t.Error(err)
	}
}

// TestFrames reads frames of LZ4 whose blocks refer to each other, as pyarrow writes
// them, and frames of other lengths than they should have.
func TestFrames(t *testing.T) {
	raw, err := os.ReadFile("testdata/linked.arrow")
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewFileReader(bytes.NewReader(raw), int64(len(raw)), 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Rows {
		if n := binary.LittleEndian.Uint64(b.Columns[0].Data[8*i:]); n != uint64(i*i%1009) || b.Rows != 30_000 {
			t.Fatalf("row %d of %d is %d", i, b.Rows, n)
		}
	}
	var out bytes.Buffer
	w, err := NewStreamWriter(&out, oneColumn, LZ4)
	if err == nil {
		err = errors.Join(w.Write(numbers(100)), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(out.Bytes(), frameHead) - 8
	for _, n := range []uint64{808, 792, 1 << 40} {
		changed := bytes.Clone(out.Bytes())
		binary.LittleEndian.PutUint64(changed[at:], n)
		if err := fails(changed, "batch 0"); err != nil {
			t.Errorf("%d: %v", n, err)
		}
	}
	for _, frame := range [][]byte{nil, frameHead, append(bytes.Clone(frameHead), 1, 0, 0, 0), append(bytes.Clone(frameHead), 9, 0, 0, 0x80, 1)} {
		if _, err := readFrame(frame, make([]byte, 4)); err == nil {
			t.Errorf("%x is a frame", frame)
		}
	}
	long := bytes.Repeat([]byte("0123456789"), 1<<20) // of several blocks
	frame, err := appendFrame(nil, long)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readFrame(frame, make([]byte, len(long))); err != nil || !bytes.Equal(got, long) {
		t.Error(err)
	}
}
