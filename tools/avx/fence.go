// SPDX-License-Identifier: Apache-2.0

package avx

import (
	. "github.com/mmcloughlin/avo/build"
)

// Fence generates the function to call after stores that bypass the cache.
func Fence() {
	TEXT("fence", NOSPLIT, "func()")
	Doc("fence orders earlier stores that bypass the cache before all later stores.")
	SFENCE()
	RET()
}
