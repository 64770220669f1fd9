// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"sync"
	"testing"
)

// TestLargeBuffers checks that Get reuses large buffers of the class or the next larger
// one, and never one that is in use.
func TestLargeBuffers(t *testing.T) {
	b := Get(large)
	b.B = append(b.B, 1)
	b.Put()
	again := Get(large)
	if again != b || len(again.B) != 0 || cap(again.B) < large {
		t.Errorf("%p of %d bytes, want %p of none", again, len(again.B), b)
	}
	if other := Get(large); other == again {
		t.Error("two have one buffer")
	}
	again.Put()
	if more := Get(4 * large); more == again || cap(more.B) < 4*large {
		t.Errorf("%d bytes for %d", cap(more.B), 4*large)
	}
	var all sync.WaitGroup
	for i := range byte(8) {
		all.Go(func() {
			for range 100 {
				b := Get(large)
				p := b.Bytes(large)
				p[0], p[large-1] = i, i
				if p[0] != i || p[large-1] != i {
					t.Error("somebody else has the buffer")
				}
				b.Put()
			}
		})
	}
	all.Wait()
}
