// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

// TestRefused checks that a refusal is the error that it was, with the same text.
func TestRefused(t *testing.T) {
	denied := fmt.Errorf("zarr.json: %w", fs.ErrPermission)
	err := driver.Refused(denied)
	if !errors.Is(err, store.ErrRefused) || !errors.Is(err, denied) || err.Error() != denied.Error() {
		t.Errorf("%v became %v", denied, err)
	}
	if errors.Is(err, store.ErrConflict) || errors.Is(denied, store.ErrRefused) {
		t.Errorf("%v is another error, too", err)
	}
}
