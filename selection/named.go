// SPDX-License-Identifier: Apache-2.0

package selection

import "fmt"

// Named selects along axes that are given by name. All other axes are selected whole. The
// items are those of [Orthogonal].
type Named map[string]Item

func (n Named) resolve(t *Target) (*Resolved, error) {
	items := map[int]Item{}
	for name, item := range n {
		if err := (Parser{Names: t.Names}).bind(items, entry{name: name, item: item}); err != nil {
			return nil, err
		}
	}
	o := make(Orthogonal, len(t.Shape))
	for i, item := range items {
		if i >= len(o) {
			return nil, fmt.Errorf("%w: %d names for %d axes", ErrInvalid, len(t.Names), len(o))
		}
		o[i] = item
	}
	return o.resolve(t)
}
