// SPDX-License-Identifier: Apache-2.0

package parallel

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// Crash lets panics end the program, as tests need that look for them.
var Crash atomic.Bool

// Recover, which is deferred, sets err to an error for a panic. A panic in a goroutine
// would end the program, and the caller of a library cannot prevent it: a codec of its
// own that fails for one chunk must not end a server.
//
// The error wraps nothing, because the value of a panic says nothing about a store.
func Recover(err *error) {
	if Crash.Load() {
		return
	}
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v: a codec or the program has a fault: report it with this stack\n%s", p, debug.Stack())
	}
}
