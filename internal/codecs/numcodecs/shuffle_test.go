// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"testing"

	"varve.dev/zarr/codec"
)

// TestShuffleRest decodes bytes that are not a multiple of an element, as HDF5 stores
// them if a checksum comes first. The rest stays as it is.
func TestShuffleRest(t *testing.T) {
	for _, c := range []struct{ size, src, want string }{
		{"4", "aeimbfjncgkodhlp!?", "abcdefghijklmnop!?"},
		{"4", "abc", "abc"},
		{"1000000000000", "abcdef", "abcdef"},
		{"2", "", ""},
	} {
		made, err := codec.Default.New(extension("shuffle", `{"elementsize":%s}`, c.size))
		if err != nil {
			t.Fatal(err)
		}
		got, err := made.(codec.BytesBytes).Decode(nil, []byte(c.src), 1<<10)
		if err != nil || string(got) != c.want {
			t.Errorf("%s bytes an element: %q becomes %q, want %q: %v", c.size, c.src, got, c.want, err)
		}
	}
}
