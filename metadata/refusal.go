// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"iter"
	"slices"
)

// Refused yields the entries of the document that are not part of the tree, each once:
// the verbatim path and an [*Error] whose pointer names the entry. These are illegal
// paths, paths that occur twice, and paths below an array. Never use such a path in a
// key: it may lead out of the group.
func (c *Consolidated) Refused() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, f := range c.refused {
			if !yield(f.path, c.entryError(f.path, f.err)) {
				return
			}
		}
	}
}

// refusedBelow returns the refused entries below path. Their paths are relative to it.
func (c *Consolidated) refusedBelow(path string) []flaw {
	var list []flaw
	for _, f := range c.refused {
		if below(f.path, path) {
			f.path = f.path[len(path)+1:]
			list = append(list, f)
		}
	}
	return list
}

// forgive removes refused entries whose paths are gone.
func (c *Consolidated) forgive(isGone func(path string) bool) {
	c.refused = slices.DeleteFunc(slices.Clone(c.refused), func(f flaw) bool { return isGone(f.path) })
}
