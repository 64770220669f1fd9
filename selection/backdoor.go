// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/backdoor"
	"varve.dev/zarr/internal/strided"
)

func init() {
	backdoor.Set("selection.NewPlan", func(r *Resolved, g *grid.Grid) strided.Plan { return newPlan(r, g) })
	backdoor.Set("selection.Group", group)
	backdoor.Set("selection.OfPart", ofPart)
	backdoor.Set("selection.Place", (*Resolved).place)
	backdoor.Set("selection.Through", (*Resolved).through)
	backdoor.Set("selection.Layer", (*Resolved).layer)
	backdoor.Set("selection.Scatter", (*Resolved).scatter)
}
