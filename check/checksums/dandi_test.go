// SPDX-License-Identifier: Apache-2.0

package checksums

import (
	"crypto/md5"
	"testing"
)

// TestDANDI has digests that zarr_checksum 0.4.7 computed.
func TestDANDI(t *testing.T) {
	if got, want := newFolder().digest().text(), "481a2f77ab786a0f45aafd5db0971caa-0--0"; got != want {
		t.Errorf("an empty tree has %s, want %s", got, want)
	}
	f := newFolder()
	for name, data := range map[string]string{"zarr.json": "{}", "a/c/0": "abc", "a/zarr.json": "x", "b": "", `q"ä😀`: "odd"} {
		f.add(name, int64(len(data)), md5.Sum([]byte(data)))
	}
	if got, want := f.digest().text(), "5818733e743e5d5be964adaacc965132-5--9"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
