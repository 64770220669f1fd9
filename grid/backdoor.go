// SPDX-License-Identifier: Apache-2.0

package grid

import "varve.dev/zarr/internal/backdoor"

func init() {
	backdoor.Set("grid.FittingLengths", Axis.fittingLengths)
	backdoor.Set("grid.AppendListed", (*Grid).appendListed)
	backdoor.Set("grid.IsAppendOne", Growth.isAppendOne)
	backdoor.Set("grid.KeepsRegular", Growth.keepsRegular)
	backdoor.Set("grid.RoundedUp", Growth.roundedUp)
	backdoor.Set("grid.First", Box.first)
	backdoor.Set("grid.Next", Box.next)
}
