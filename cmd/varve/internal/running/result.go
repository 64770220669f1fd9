// SPDX-License-Identifier: Apache-2.0

package running

import (
	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/checking"
	"varve.dev/zarr/cmd/varve/internal/copying"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/virtualizing"
	"varve.dev/zarr/internal/job"
)

// printResult prints what a plan has made that is no rechunk.
func printResult(cmd *cobra.Command, plan *job.Plan, r *job.Result) error {
	switch {
	case r.Manifest != nil:
		return virtualizing.PrintManifest(cmd, place.WithoutOptions(*plan.Target), r.Manifest)
	case r.Check != nil:
		return checking.PrintChecked(cmd, plan, r.Check)
	case r.Copy != nil:
		return copying.PrintCopied(cmd, plan, *r.Copy)
	}
	return copying.PrintConverted(cmd, plan, *r.Conversion)
}
