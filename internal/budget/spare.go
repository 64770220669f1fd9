// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"slices"
	"sync"
	"weak"
)

// large is the size in bytes from which on buffers are kept in one list. A sync.Pool
// keeps buffers for each processor, so each processor would allocate the largest ones.
const large = 16 << 20

// spares has the large buffers that are not in use. A garbage collection frees them.
var spares struct {
	mu  sync.Mutex
	all []weak.Pointer[Buffer]
}

// takeLarge returns a spare buffer of the class or the next larger one, or nil.
func takeLarge(class int) (found *Buffer) {
	spares.mu.Lock()
	defer spares.mu.Unlock()
	spares.all = slices.DeleteFunc(spares.all, func(p weak.Pointer[Buffer]) bool {
		b := p.Value()
		if b == nil {
			return true
		}
		if found != nil || b.class < class || b.class > class+1 {
			return false
		}
		found = b
		return true
	})
	if found != nil {
		found.B = found.B[:0]
	}
	return found
}

// putLarge adds a buffer to the spare ones.
func putLarge(b *Buffer) {
	spares.mu.Lock()
	defer spares.mu.Unlock()
	spares.all = append(spares.all, weak.Make(b))
}
