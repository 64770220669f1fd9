// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/metadata"
)

// AsUnsupported turns an error for unsupported things of a lower package into
// [zarr.ErrUnsupported].
func AsUnsupported(err error) error {
	if errors.Is(err, dtype.ErrUnsupported) || errors.Is(err, metadata.ErrUnsupported) {
		return Unsupported("%w", err)
	}
	return err
}
