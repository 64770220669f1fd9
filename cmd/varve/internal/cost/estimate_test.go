// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"bytes"
	"testing"

	"varve.dev/zarr/rechunk"
)

// TestUnknownFreeSpace prints what a plan takes if the store does not tell what is free.
func TestUnknownFreeSpace(t *testing.T) {
	var b bytes.Buffer
	if err := PrintSpace(&b, rechunk.Space{Likely: 2048, Free: -1}); err != nil || b.String() != "  about 2.0 KiB to store\n" {
		t.Errorf("%q (%v)", &b, err)
	}
}
