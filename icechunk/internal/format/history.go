// SPDX-License-Identifier: Apache-2.0

package format

import "slices"

// Reachable reports for each snapshot whether a branch or a tag leads to it.
func (r *Repository) Reachable() []bool {
	reached := make([]bool, len(r.Snapshots))
	for _, refs := range [][]Reference{r.Branches, r.Tags} {
		for _, ref := range refs {
			for i := ref.Snapshot; i >= 0 && !reached[i]; i = r.Snapshots[i].Parent {
				reached[i] = true
			}
		}
	}
	return reached
}

// Retain removes the snapshots that are not kept; no branch or tag may lead to one. A
// kept snapshot whose parent is removed gets the nearest ancestor for which isEnd reports
// true, which has to be kept, or else the initial snapshot. The transaction logs between
// become pruned ones. Retain returns how many snapshots have another parent.
func (r *Repository) Retain(kept []bool, isEnd func(i int) bool) (edited int) {
	initial := -1
	if i, ok := r.FindSnapshot(InitialSnapshot); ok && kept[i] {
		initial = i
	}
	number := make([]int, len(r.Snapshots)+1) // the index of each snapshot afterwards
	var list []SnapshotInfo
	for i, s := range r.Snapshots {
		number[i] = len(list)
		if !kept[i] {
			continue
		}
		if s.Parent >= 0 && !kept[s.Parent] {
			s.Parent, s.Pruned = r.pruned(s, isEnd)
			if s.Parent < 0 && initial != i {
				s.Parent = initial
			}
			edited++
		}
		list = append(list, s)
	}
	for i := range list {
		if list[i].Parent >= 0 {
			list[i].Parent = number[list[i].Parent]
		}
	}
	for _, refs := range [][]Reference{r.Branches, r.Tags} {
		for i := range refs {
			refs[i].Snapshot = number[refs[i].Snapshot]
		}
	}
	r.Snapshots = list
	return edited
}

// pruned returns the nearest ancestor of a snapshot for which isEnd reports true, or -1,
// and the transaction logs of what it follows, oldest first.
func (r *Repository) pruned(s SnapshotInfo, isEnd func(i int) bool) (parent int, logs []ObjectID) {
	var between []int
	for parent = s.Parent; parent >= 0 && !isEnd(parent); parent = r.Snapshots[parent].Parent {
		between = append(between, parent)
	}
	for _, i := range slices.Backward(between) {
		logs = append(append(logs, r.Snapshots[i].Pruned...), r.Snapshots[i].ID)
	}
	return parent, append(logs, s.Pruned...)
}
