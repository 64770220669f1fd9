// SPDX-License-Identifier: Apache-2.0

package dtype

import "varve.dev/zarr/internal/backdoor"

func init() {
	backdoor.Set("dtype.Small", Type.small)
	backdoor.Set("dtype.Normalize", Type.normalize)
	backdoor.Set("dtype.Check", Type.check)
	backdoor.Set("dtype.AppendWord", Type.appendWord)
	backdoor.Set("dtype.SetText", Type.setText)
}
