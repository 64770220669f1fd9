// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"runtime"
	"sync"
	"weak"
)

// shared is the limiters of this process. An entry goes with the last store that uses it.
var shared = struct {
	sync.Mutex
	limiters map[host]weak.Pointer[Limiter]
}{limiters: map[host]weak.Pointer[Limiter]{}}

// host is the key of a shared limiter.
type host struct {
	name   string
	limits Limits
}

// LimiterOf returns the limiter of a host, such as "example.org:443". All callers with
// the same limits share it for as long as one of them keeps it.
func LimiterOf(name string, limits Limits) *Limiter {
	h := host{name, limits}
	shared.Lock()
	defer shared.Unlock()
	if l := shared.limiters[h].Value(); l != nil {
		return l
	}
	l := NewLimiter(limits)
	shared.limiters[h] = weak.Make(l)
	runtime.AddCleanup(l, forget, h)
	return l
}

// forget removes the entry of a limiter that nobody uses, unless it has a successor.
func forget(h host) {
	shared.Lock()
	defer shared.Unlock()
	if shared.limiters[h].Value() == nil {
		delete(shared.limiters, h)
	}
}
