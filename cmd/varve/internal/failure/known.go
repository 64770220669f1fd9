// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/metadata"
)

// Known gives what the layers below call not supported the name that the library has for
// it.
func Known(err error) error {
	if errors.Is(err, dtype.ErrUnsupported) || errors.Is(err, metadata.ErrUnsupported) {
		return Unsupported("%w", err)
	}
	return err
}
