// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/metadata"
)

// frame is a row of the manifest of testdata/frames.zip, which interop/frames.py wrote
// with numcodecs.
type frame struct {
	ID            string
	Configuration json.RawMessage
	Plain, Frame  string

	plain, frame []byte // what the names stand for
}

// frames returns what numcodecs wrote.
func frames(t testing.TB) []frame {
	t.Helper()
	z, err := zip.OpenReader("testdata/frames.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	read := func(name string) []byte {
		f, err := z.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		data, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var list []frame
	if err := json.Unmarshal(read("manifest.json"), &list); err != nil {
		t.Fatal(err)
	}
	for i := range list {
		list[i].plain, list[i].frame = read(list[i].Plain), read(list[i].Frame)
	}
	return list
}

// addFrames adds the short frames of a codec to what a fuzz target begins with.
func addFrames(f *testing.F, name string) {
	for _, g := range frames(f) {
		if prefix+g.ID == name && len(g.frame) < 1<<12 {
			f.Add(g.frame, uint16(len(g.plain)))
		}
	}
}

// TestGolden reads frames that numcodecs wrote, exactly and not with a byte less, and
// writes the same bytes where there is no choice.
func TestGolden(t *testing.T) {
	racing.Skip(t)
	all := frames(t)
	for _, g := range all {
		c := made(t, metadata.Extension{Name: prefix + g.ID, Configuration: g.Configuration})
		n := len(g.plain)
		if most := c.MaxEncoded(int64(n)); most < int64(len(g.frame)) {
			t.Errorf("%s %s: %d bytes take %d, MaxEncoded says %d", g.ID, g.Configuration, n, len(g.frame), most)
		}
		out, err := c.Decode(make([]byte, 0, n), g.frame, int64(n))
		if err != nil || !bytes.Equal(out, g.plain) {
			t.Errorf("%s %s, %s: decoded %d of %d bytes, %v", g.ID, g.Configuration, g.Plain, len(out), n, err)
		}
		if n > 0 {
			if _, err := c.Decode(make([]byte, 0, n), g.frame, int64(n-1)); !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("%s %s, %s: with room for a byte less: %v", g.ID, g.Configuration, g.Plain, err)
			}
		}
		if again, err := c.Encode(nil, g.plain); sameBytes(g.ID) && (err != nil || !bytes.Equal(again, g.frame)) {
			t.Errorf("%s %s, %s: encoding gives %d other bytes than the %d of numcodecs, %v", g.ID, g.Configuration, g.Plain, len(again), len(g.frame), err)
		}
	}
	if len(all) < 250 {
		t.Errorf("%d frames", len(all))
	}
}

// sameBytes tells codecs that leave an encoder no choice, and LZ4, whose bytes are those
// of the C library.
func sameBytes(id string) bool {
	return strings.Contains("shuffle adler32 crc32 crc32c fletcher32 jenkins_lookup3 lz4 base64", id)
}
