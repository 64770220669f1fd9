// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/scanned"
	"varve.dev/zarr/virtual/scan"
)

// scanDamaged scans any bytes. What it finds must be within them.
func scanDamaged(t testing.TB, b []byte, trusting bool) {
	f := openBytes(t, b)
	r := newReader(f)
	r.trusting = trusting
	set, err := scanWith(r)
	if err != nil {
		if !errors.Is(err, scan.ErrCorrupt) && !errors.Is(err, scan.ErrUnsupported) {
			t.Fatalf("neither damaged nor unsupported: %v", err)
		}
		return
	}
	if !Matches(f) {
		t.Fatal("Scan reads what Is denies")
	}
	for _, g := range set.Groups {
		if _, err := g.Attributes.JSON(); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range set.Arrays {
		checkArray(t, a, int64(len(b)))
	}
}

// checkArray checks what the contract promises of an array.
func checkArray(t testing.TB, a *scan.Array, size int64) {
	if a.Refused != nil {
		if !errors.Is(a.Refused, scan.ErrUnsupported) {
			t.Fatalf("refused: %v", a.Refused)
		}
		return
	}
	if _, err := a.Attributes.JSON(); err != nil {
		t.Fatal(err)
	}
	all := int64(1)
	for i, n := range a.Count() {
		if a.Shape[i] < 0 {
			t.Fatalf("shape %v", a.Shape)
		}
		all *= n
	}
	if a.Fill != nil && !a.Type.Variable() && len(a.Fill) != a.Type.Size() || len(a.Codecs) == 0 {
		t.Fatalf("fill value %v, codecs %v", a.Fill, a.Codecs)
	}
	seen := map[int64]bool{}
	for _, c := range a.Chunks {
		outside := c.Offset < 0 || c.Length < 0 || c.Offset > size || c.Length > size-c.Offset
		if outside || c.Number < 0 || c.Number >= all || seen[c.Number] {
			t.Fatalf("chunk %+v of %d, in %d bytes", c, all, size)
		}
		seen[c.Number] = true
	}
}

// FuzzScan scans changed files, and does so also as if their checksums were right.
func FuzzScan(f *testing.F) {
	const most = 24 << 10
	for _, name := range small(f) {
		b, err := os.ReadFile("../../testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) <= most {
			f.Add(b, true)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, trusting bool) { scanDamaged(t, b, trusting) })
}

// small returns files that have different structures.
func small(testing.TB) []string {
	return []string{
		"h5_attributes_earliest.h5", "h5_elsewhere.h5", "h5_filter_mask.h5", "h5_filter_mask_v108.h5", "h5_filter_mask_v200.h5",
		"h5_holes.h5", "h5_index_v108.h5", "h5_index_v114.h5", "h5_paged_space.h5", "h5_types.h5", "h5_unsupported.h5",
		"nc4_strings.nc", "holes_01.nc", "members_01.nc",
		"objects/h5_names_earliest.h5", "objects/h5_names_latest.h5", "objects/h5_arrays.h5",
	}
}

// TestDamaged changes some bytes of every file, with and without checksums.
func TestDamaged(t *testing.T) {
	racing.Skip(t)
	random := rand.New(rand.NewPCG(1, 2))
	objects := []string{"objects/h5_names_earliest.h5", "objects/h5_names_latest.h5", "objects/h5_arrays.h5", "objects/nc4_short.nc"}
	for _, name := range append(scanned.Files(t, "hdf5"), objects...) {
		b, err := os.ReadFile("../../testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			changed := slices.Clone(b)
			for range 1 + random.IntN(4) {
				at := random.IntN(len(b))
				switch random.IntN(3) {
				case 0:
					changed[at] ^= 1 << random.IntN(8)
				case 1:
					changed[at] = byte(random.IntN(256))
				case 2:
					copy(changed[at:], "\xff\xff\xff\xff\xff\xff\xff\x7f"[random.IntN(8):])
				}
			}
			scanDamaged(t, changed, i%4 != 0)
		}
		scanDamaged(t, b[:random.IntN(len(b))], true)
	}
}
