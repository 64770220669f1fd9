// SPDX-License-Identifier: Apache-2.0

package rechunking

import (
	"cmp"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/cost"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/rechunk"
)

// checkFollow checks the use of --follow.
func (r *rechunking) checkFollow(args []string) error {
	switch {
	case !r.follow:
		return nil
	case len(args) < 2:
		return failure.BadUsage("--follow needs DST, the array that is kept in step")
	case r.PlanTo != "":
		return failure.BadUsage("--follow and --plan exclude each other: repeat the command in place of varve run")
	}
	return nil
}

// keepUp makes the array that follows, or brings it up to date.
func (r *Change) keepUp(cmd *cobra.Command, location string, a *zarr.Array, want rechunk.Rechunking, opt *rechunk.Options) (*Rechunked, error) {
	if r.Dry {
		plan, err := rechunk.NewFollowPlan(cmd.Context(), a, want, opt)
		if err != nil {
			return nil, err
		}
		d := r.planned(cmd.Name(), location, plan)
		cost.WarnOfSpace(cmd, d.Path, plan.Space)
		return d, nil
	}
	defer cost.LimitHeap(cmp.Or(opt.Memory, defaultFollowing))()
	lines := NewStageLines(cmd)
	defer lines.End()
	opt.Progress = lines.Reach
	report, err := rechunk.Follow(cmd.Context(), a, want, opt)
	if err != nil {
		return nil, err
	}
	to, err := opt.Into.OpenArray(cmd.Context(), nil)
	if err != nil {
		return nil, err
	}
	plan := &rechunk.Plan{Request: want, Grid: to.Grid(), Changes: report.Changed, Strategy: report.Strategy, Guarantee: "atomic", Space: rechunk.Space{Free: -1}}
	d := r.planned(cmd.Name(), location, plan)
	d.ReplaceCounts(report)
	return d, nil
}

// defaultFollowing is the default of --memory.
const defaultFollowing = 512 << 20
