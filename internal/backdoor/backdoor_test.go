// SPDX-License-Identifier: Apache-2.0

package backdoor

import "testing"

// TestUse hands over a function, and refuses names and types that do not fit.
func TestUse(t *testing.T) {
	Set("one", func() int { return 1 })
	if n := Use[func() int]("one")(); n != 1 {
		t.Error(n)
	}
	for name, f := range map[string]func(){
		"twice":      func() { Set("one", nil) },
		"wrong type": func() { Use[func() string]("one") },
		"missing":    func() { Use[func() int]("two") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
