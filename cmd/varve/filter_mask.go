// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/source"
)

// readMask reads the booleans of filter --mask: a .npy file with one axis, or raw bytes.
func readMask(cmd *cobra.Command, name string) ([]bool, error) {
	if strings.HasSuffix(name, ".npy") {
		m, err := source.ReadMask(cmd.Context(), name)
		if err == nil && len(m.Shape) != 1 {
			err = failure.BadArgument("mask %s: it has the shape %v; one boolean is needed for every row", name, m.Shape)
		}
		return m.Data, err
	}
	data, err := localfile.ReadAll(cmd, name)
	if err != nil {
		return nil, err
	}
	mask := make([]bool, len(data))
	for i, b := range data {
		if b > 1 {
			return nil, failure.BadArgument("mask %s: byte %d is %d, neither 0 nor 1", name, i, b)
		}
		mask[i] = b == 1
	}
	return mask, nil
}
