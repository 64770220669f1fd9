// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"bytes"
	"errors"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/racing"
)

// bz2Frames returns the short frames of bzip2 that numcodecs wrote.
func bz2Frames(t *testing.T) []frame {
	var list []frame
	for _, f := range frames(t) {
		if f.ID == "bz2" && len(f.frame) < 3000 {
			list = append(list, f)
		}
	}
	return list
}

// TestBZ2Cut decodes beginnings of all lengths, and what is followed by something.
func TestBZ2Cut(t *testing.T) {
	racing.Skip(t)
	c := made(t, BZ2(1))
	for _, f := range bz2Frames(t) {
		most := int64(len(f.plain)) + 10
		for n := range f.frame {
			if string(f.Configuration) != "{}" {
				break // every file takes memory for its blocks, and these have larger ones
			}
			if _, err := c.Decode(nil, f.frame[:n], most); !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("%s %s, the first %d of %d bytes: %v", f.Configuration, f.Plain, n, len(f.frame), err)
			}
		}
		for _, end := range []string{"\x00", "B", "BZ", "BZh", "BZh9", "\x00\x00\x00\x00"} {
			if _, err := c.Decode(nil, append(bytes.Clone(f.frame), end...), most); !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("%s %s and %q: %v", f.Configuration, f.Plain, end, err)
			}
		}
	}
}

// TestBZ2Files decodes files that follow each other, of several levels.
func TestBZ2Files(t *testing.T) {
	var src, plain []byte
	list := bz2Frames(t)
	for _, f := range list {
		src, plain = append(src, f.frame...), append(plain, f.plain...)
	}
	c := made(t, BZ2(1))
	out, err := c.Decode(nil, src, int64(len(plain)))
	if err != nil || !bytes.Equal(out, plain) || len(list) < 10 {
		t.Errorf("%d of %d bytes of %d files, %v", len(out), len(plain), len(list), err)
	}
	if _, err := c.Decode(nil, src, int64(len(plain)-1)); !errors.Is(err, codec.ErrTooLong) {
		t.Errorf("with room for a byte less: %v", err)
	}
}

// TestBZ2Checksums alters the checksum of the first block, and that of the file.
func TestBZ2Checksums(t *testing.T) {
	const sumOfBlock = 10
	c := made(t, BZ2(1))
	for _, f := range bz2Frames(t) {
		altered := bytes.Clone(f.frame)
		altered[sumOfBlock] ^= 1
		if _, err := c.Decode(nil, altered, int64(len(f.plain))); !errors.Is(err, codec.ErrChecksum) {
			t.Errorf("%s %s: %v", f.Configuration, f.Plain, err)
		}
	}
	if _, err := c.Decode(nil, []byte("BZh1\x17\x72\x45\x38\x50\x90\x00\x00\x00\x01"), 10); !errors.Is(err, codec.ErrChecksum) {
		t.Errorf("of a file: %v", err)
	}
}
