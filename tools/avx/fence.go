// SPDX-License-Identifier: Apache-2.0

package avx

import (
	. "github.com/mmcloughlin/avo/build"
)

// Fence generates a fence to call after non-temporal stores.
func Fence() {
	TEXT("fence", NOSPLIT, "func()")
	Doc("fence orders earlier non-temporal stores before all later stores.")
	SFENCE()
	RET()
}
