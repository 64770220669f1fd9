// SPDX-License-Identifier: Apache-2.0

package blosc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/racing"
)

// content is what the golden frames hold: squares in runs of 64, of which only the lowest
// 8 bytes are not zero.
func content(element, elements int) []byte {
	var out []byte
	for i := range elements {
		wide := binary.LittleEndian.AppendUint64(nil, uint64((i/64)*(i/64)+i%2))
		wide = append(wide, make([]byte, max(element-8, 0))...)
		out = append(out, wide[:element]...)
	}
	return out
}

// golden is a frame that c-blosc wrote, and what with.
type golden struct {
	name                                     string
	frame                                    []byte
	element, elements, shuffle, level, block int
	compressor                               string
}

func goldens(t testing.TB) []golden {
	t.Helper()
	paths, err := filepath.Glob("testdata/frames/*.blosc")
	if err != nil || len(paths) != 180 {
		t.Fatalf("%d frames, %v", len(paths), err)
	}
	var list []golden
	for _, path := range paths {
		g := golden{name: filepath.Base(path)}
		name := []byte(g.name)
		for i, c := range name {
			if c == '-' || c == '.' {
				name[i] = ' '
			}
		}
		if _, err := fmt.Sscan(string(name), &g.element, &g.elements, &g.compressor, &g.shuffle, &g.level, &g.block); err != nil {
			t.Fatal(path, err)
		}
		if g.frame, err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
		list = append(list, g)
	}
	return list
}

// TestGolden reads frames that c-blosc wrote: 1.21.7 through numcodecs, and 1.21.3 those
// of Snappy.
func TestGolden(t *testing.T) {
	for _, g := range goldens(t) {
		want := content(g.element, g.elements)
		got, err := coder{}.Decode(nil, g.frame, int64(len(want)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: other content (%d bytes of %d), %v", g.name, len(got), len(want), err)
		}
	}
}

// TestGeometry checks that blocks are cut and split as c-blosc does.
func TestGeometry(t *testing.T) {
	racing.Skip(t)
	for _, g := range goldens(t) {
		c := newCodec(t, codec.BloscOptions{Compressor: g.compressor, Level: g.level, Shuffle: []string{"noshuffle", "shuffle", "bitshuffle"}[g.shuffle], Element: g.element, Block: g.block})
		frame, err := c.Encode(nil, content(g.element, g.elements))
		if err != nil {
			t.Fatal(err)
		}
		if g.compressor == "snappy" { // that of c-blosc gives up where room is short for the worst, and copies
			frame[2], g.frame[2] = frame[2]&^flagCopy, g.frame[2]&^flagCopy
		}
		if !bytes.Equal(frame[:12], g.frame[:12]) {
			t.Errorf("%s: header is %x, c-blosc writes %x", g.name, frame[:12], g.frame[:12])
		}
	}
}

// TestBeforeSplitFlag reads frames without the flag that blocks are whole, which c-blosc
// has since 1.7: where blocks are too small or elements too long to be split, readers
// know that without it.
func TestBeforeSplitFlag(t *testing.T) {
	tried := 0
	for _, g := range goldens(t) {
		block := int(number(g.frame[8:]))
		if g.frame[2]&flagWhole == 0 || g.frame[2]&flagCopy != 0 || splits(int(g.frame[3]), block) {
			continue
		}
		g.frame[2] &^= flagWhole
		want := content(g.element, g.elements)
		got, err := coder{}.Decode(nil, g.frame, int64(len(want)))
		if tried++; err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: other content, %v", g.name, err)
		}
	}
	if tried < 20 {
		t.Errorf("%d frames", tried)
	}
}
