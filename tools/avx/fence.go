// SPDX-License-Identifier: Apache-2.0

package avx

import (
	. "github.com/mmcloughlin/avo/build"
)

// Fence makes a function that stands behind writing past the cache.
func Fence() {
	TEXT("fence", NOSPLIT, "func()")
	Doc("fence returns when what was written past the cache is seen by everyone who sees what is written afterwards.")
	SFENCE()
	RET()
}
