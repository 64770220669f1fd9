// SPDX-License-Identifier: Apache-2.0

package numcodecs_test

import (
	"strings"
	"testing"

	"varve.dev/zarr/codec"
	_ "varve.dev/zarr/internal/codecs/bytescodec"
	"varve.dev/zarr/internal/codecs/numcodecs"
	"varve.dev/zarr/metadata"
)

// TestReordered moves checksums behind a shuffle that they break, and nothing else.
func TestReordered(t *testing.T) {
	le, sum, zlib := codec.Bytes("little"), numcodecs.Fletcher32(), numcodecs.Zlib(4)
	sized := func(configuration string) metadata.Extension {
		return metadata.Extension{Name: "numcodecs.shuffle", Configuration: []byte(configuration)}
	}
	for name, c := range map[string]struct {
		chain []metadata.Extension
		size  int
		want  string // names of the chain; "" if it stays
	}{
		"8 bytes":               {[]metadata.Extension{le, sum, numcodecs.Shuffle(8), zlib}, 8, "bytes shuffle zlib fletcher32"},
		"4 bytes":               {[]metadata.Extension{le, sum, numcodecs.Shuffle(4), zlib}, 4, ""},
		"2 bytes":               {[]metadata.Extension{le, sum, numcodecs.Shuffle(2), zlib}, 2, ""},
		"1 byte":                {[]metadata.Extension{le, sum, numcodecs.Shuffle(1), zlib}, 1, ""},
		"size of the type":      {[]metadata.Extension{le, sum, sized(`{"elementsize": 0}`), zlib}, 8, "bytes shuffle zlib fletcher32"},
		"no size":               {[]metadata.Extension{le, sum, sized(`{}`)}, 16, "bytes shuffle fletcher32"},
		"another size":          {[]metadata.Extension{le, sum, numcodecs.Shuffle(3)}, 8, "bytes shuffle fletcher32"},
		"two checksums":         {[]metadata.Extension{le, sum, numcodecs.CRC32(""), numcodecs.Shuffle(8), zlib}, 8, ""},
		"two, and 16 bytes":     {[]metadata.Extension{le, sum, numcodecs.CRC32(""), numcodecs.Shuffle(16), zlib}, 16, "bytes shuffle zlib fletcher32 crc32"},
		"behind shuffle":        {[]metadata.Extension{le, numcodecs.Shuffle(8), zlib, sum}, 8, ""},
		"between":               {[]metadata.Extension{le, numcodecs.Shuffle(8), sum, zlib}, 8, ""},
		"no checksum":           {[]metadata.Extension{le, numcodecs.Shuffle(8), zlib}, 8, ""},
		"nobody knows":          {[]metadata.Extension{le, sum, {Name: "unknown"}, numcodecs.Shuffle(8)}, 8, ""},
		"nothing but raw bytes": {[]metadata.Extension{le}, 8, ""},
	} {
		got, is := numcodecs.Reordered(c.chain, c.size)
		var names []string
		for _, e := range got {
			names = append(names, strings.TrimPrefix(e.Name, "numcodecs."))
		}
		if is != (c.want != "") || is && strings.Join(names, " ") != c.want || len(got) != len(c.chain) {
			t.Errorf("%s: %v, %t", name, names, is)
		}
	}
}
