package budget

import (
	"slices"
	"sync"
	"weak"
)

// large is the size from which on buffers are kept in a list for all processors. A pool
// has one for each processor, which others cannot take: several would be made of what
// takes most of the memory.
const large = 16 << 20

// spares are the large buffers that nobody uses. The next collection of garbage takes
// them.
var spares struct {
	mu  sync.Mutex
	all []weak.Pointer[Buffer]
}

// takeLarge returns a spare buffer of a class or the next, nil where there is none.
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

// putLarge makes a buffer a spare one.
func putLarge(b *Buffer) {
	spares.mu.Lock()
	defer spares.mu.Unlock()
	spares.all = append(spares.all, weak.Make(b))
}
