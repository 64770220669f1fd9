// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/metadata"
)

// Known converts the errors for unsupported features of lower layers to that of the
// library.
func Known(err error) error {
	if errors.Is(err, dtype.ErrUnsupported) || errors.Is(err, metadata.ErrUnsupported) {
		return Unsupported("%w", err)
	}
	return err
}
