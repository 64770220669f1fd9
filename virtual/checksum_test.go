// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual"
)

// TestJoinedChecksums joins files with and without the checksum of zstd, as older
// versions wrote them. The joined array reads all, and promises checksums only if all
// chunks have them.
func TestJoinedChecksums(t *testing.T) {
	for _, sums := range [][]bool{{true, true}, {false, false}, {true, false}, {false, true}, {true, true, false}} {
		dir, chunks, files := t.TempDir(), int64(0), []string{}
		var want []float32
		for i, sum := range sums {
			files = append(files, fmt.Sprint(i, ".zarr"))
			file := filepath.Join(dir, files[i])
			if _, err := zarr.CreateGroup(t.Context(), file, nil, nil); err != nil {
				t.Fatal(err)
			}
			spec := zarr.Spec{Codecs: []metadata.Extension{codec.Bytes("little"), codec.ZstdChecksum(0, sum)}}
			want = append(want, paddedNode(t, file+"/v", []string{"time"}, []int64{20}, []int64{10}, spec, func(k int) float32 { return float32(100*i + k) })...)
		}
		if err := copyInto(t, dir, virtual.Join{Concat: "time"}, &chunks, files...); err != nil {
			t.Fatal(sums, err)
		}
		a, err := zarr.OpenArray(t.Context(), filepath.Join(dir, "made.vz", "v"), nil)
		if err != nil {
			t.Fatal(sums, err)
		}
		got, err := zarr.Read[float32](t.Context(), a, nil)
		if err != nil || !slices.Equal(got.Data, want) || a.Core().State().Engine.Chain.HasChecksum() == slices.Contains(sums, false) {
			t.Errorf("%t: %v, %v, HasChecksum is %t", sums, got.Data, err, a.Core().State().Engine.Chain.HasChecksum())
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}
