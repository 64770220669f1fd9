// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/metadata"
)

// AsUnsupported converts errors of lower layers for unsupported features to
// [zarr.ErrUnsupported]. It returns other errors unchanged.
func AsUnsupported(err error) error {
	if errors.Is(err, dtype.ErrUnsupported) || errors.Is(err, metadata.ErrUnsupported) {
		return Unsupported("%w", err)
	}
	return err
}
