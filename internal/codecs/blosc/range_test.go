// SPDX-License-Identifier: Apache-2.0

package blosc

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/codec"
)

// TestRanges decodes parts of golden frames, which have to be those of the whole.
func TestRanges(t *testing.T) {
	list := goldens(t)
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.SampledFrom(list).Draw(t, "frame")
		want := content(g.element, g.elements)
		off := rapid.IntRange(0, len(want)).Draw(t, "offset")
		n := rapid.IntRange(0, len(want)-off).Draw(t, "bytes")
		guarded := bytes.Repeat([]byte{0xa5}, n+64)
		if err := (coder{}).DecodeRange(guarded[32:32+n], g.frame, int64(off), int64(len(want))); err != nil {
			t.Fatalf("%s, %d bytes from %d on: %v", g.name, n, off, err)
		}
		if !bytes.Equal(guarded[32:32+n], want[off:off+n]) {
			t.Fatalf("%s, %d bytes from %d on: other bytes", g.name, n, off)
		}
		if guard := bytes.Repeat([]byte{0xa5}, 32); !bytes.Equal(guarded[:32], guard) || !bytes.Equal(guarded[32+n:], guard) {
			t.Fatalf("%s, %d bytes from %d on: writes beyond them", g.name, n, off)
		}
	})
}

// TestRangeTouchesItsBlocks damages all blocks but one, of which a range is read.
func TestRangeTouchesItsBlocks(t *testing.T) {
	src := content(4, 40_000)
	c := newCodec(t, codec.BloscOptions{Compressor: "zstd", Level: 1, Shuffle: "shuffle", Element: 4, Block: 16 << 10})
	frame, err := c.Encode(nil, src)
	if err != nil {
		t.Fatal(err)
	}
	const block = 3
	h, err := parse(frame, int64(len(src)))
	if err != nil || h.blocks() < 5 {
		t.Fatalf("%d blocks, %v", h.blocks(), err)
	}
	for i := range h.blocks() {
		if i != block {
			putNumber(frame[headerSize+4*i:], 0)
		}
	}
	r, out := c.(codec.RangeDecoder), make([]byte, 100)
	off := int64(block*h.block + 5)
	if err := r.DecodeRange(out, frame, off, int64(len(src))); err != nil || !bytes.Equal(out, src[off:off+100]) {
		t.Errorf("other bytes, or %v", err)
	}
	if err := r.DecodeRange(out, frame, off-50, int64(len(src))); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("a range that reaches into a damaged block: error is %v, want ErrCorrupt", err)
	}
	if err := r.DecodeRange(out, frame, off, int64(len(src)+4)); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("a content of another size: error is %v, want ErrCorrupt", err)
	}
}
