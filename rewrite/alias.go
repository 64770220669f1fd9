// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"context"
	"slices"
	"strings"

	"varve.dev/zarr/store"
)

// noteAliases marks the members that are at or below a symbolic link to another member.
// They are converted once, by their name without links, and stay in consolidated metadata
// by both names.
func (s *survey) noteAliases(ctx context.Context) error {
	if _, links := store.As[store.TreeChecker](s.store); !links || len(s.members) == 0 {
		return nil
	}
	var linked, plain []*member
	at := "\x00" // the latest link; members below it follow in the order
	for _, m := range s.members {
		below := strings.HasPrefix(m.Path, at+"/")
		if !below && m.Path != "" && store.CheckTree(s.store, m.path) != nil {
			at, below = m.Path, true
		}
		if below {
			linked = append(linked, m)
		} else {
			plain = append(plain, m)
		}
	}
	if len(linked) == 0 {
		return nil
	}
	seen := map[store.Version]bool{}
	// If several links lead to one node that is not converted by its own name, the first
	// link counts as the node.
	for i, m := range slices.Concat(plain, linked) {
		info, err := store.Stat(ctx, s.store, m.path.MustKey(m.sources[len(m.sources)-1].name))
		if err != nil {
			return err
		}
		m.alias = i >= len(plain) && !info.Version.IsZero() && seen[info.Version]
		seen[info.Version] = true
	}
	return nil
}

// own returns the members without aliases.
func (s *survey) own() []*member {
	return slices.DeleteFunc(slices.Clone(s.members), func(m *member) bool { return m.alias })
}
