// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"strings"
	"testing"

	"varve.dev/zarr/transfer"
)

// TestSyncedAgain prints the report of a sync that has copied fresh values once more.
func TestSyncedAgain(t *testing.T) {
	var b strings.Builder
	s := newSynced("src.zarr", "dst.zarr", new(transfer.SyncOptions), transfer.SyncReport{Replaced: 3, Again: 2})
	if err := s.print(&b); err != nil || !strings.Contains(b.String(), " 1 changed value ") || !strings.Contains(b.String(), "  again     2 values, written less than a minute") {
		t.Errorf("%v: %s", err, b.String())
	}
}
