// SPDX-License-Identifier: Apache-2.0

package format

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// chain returns a repository of snapshots that follow each other, the first one being the
// initial snapshot, with a branch at the last one.
func chain(n int) *Repository {
	r := &Repository{Snapshots: []SnapshotInfo{{ID: InitialSnapshot, Parent: -1}}, Branches: []Reference{{"main", 0}}}
	last := InitialSnapshot
	for i := range n {
		// IDs do not follow the order of commits.
		s := SnapshotInfo{ID: ObjectID{byte(91 * (i + 1)), 1}, Message: fmt.Sprint(i)}
		at := r.Insert(s, last)
		last, r.Branches[0].Snapshot = s.ID, at
	}
	return r
}

// messages returns those of a snapshot and its ancestors.
func messages(r *Repository, i int) string {
	var list []string
	for ; i >= 0; i = r.Snapshots[i].Parent {
		list = append(list, r.Snapshots[i].Message)
	}
	return strings.Join(list, " ")
}

// TestRetain removes snapshots between others. Those after them follow the nearest one
// that is left, and name all transaction logs between, the oldest first.
func TestRetain(t *testing.T) {
	r := chain(7)
	r.Tags = []Reference{{"v", r.Branches[0].Snapshot}}
	index := func(message string) int {
		return slices.IndexFunc(r.Snapshots, func(s SnapshotInfo) bool { return s.Message == message })
	}
	id := func(message string) ObjectID { return r.Snapshots[index(message)].ID }
	old := []ObjectID{{200}, {201}, {202}}
	r.Snapshots[index("3")].Pruned = old[:1]
	r.Snapshots[index("4")].Pruned = old[1:2]
	r.Snapshots[index("5")].Pruned = old[2:]
	want := []ObjectID{id("2"), old[0], id("3"), old[1], id("4"), old[2]}
	kept := make([]bool, len(r.Snapshots))
	for i, s := range r.Snapshots {
		kept[i] = !slices.Contains([]string{"2", "3", "4"}, s.Message)
	}
	if n := r.Retain(kept, func(i int) bool { return kept[i] }); n != 1 {
		t.Errorf("%d were edited, want 1", n)
	}
	for _, refs := range [][]Reference{r.Branches, r.Tags} {
		if got := messages(r, refs[0].Snapshot); got != "6 5 1 0 " {
			t.Errorf("the history is %q", got)
		}
	}
	if got := r.Snapshots[index("5")].Pruned; !slices.Equal(got, want) {
		t.Errorf("the pruned logs are %v, want %v", got, want)
	}
	if got := r.Snapshots[index("6")].Pruned; got != nil {
		t.Errorf("the pruned logs of another snapshot are %v", got)
	}
	b := newBuffer(nil)
	if r.check(b); b.err != nil {
		t.Error(b.err)
	}
	// Without an end, the first one is the parent.
	kept = make([]bool, len(r.Snapshots))
	kept[r.Branches[0].Snapshot] = true
	initial, _ := r.FindSnapshot(InitialSnapshot)
	kept[initial] = true
	r.Retain(kept, func(int) bool { return false })
	if got := messages(r, r.Branches[0].Snapshot); got != "6 " {
		t.Errorf("the history is %q", got)
	}
	if got := r.Snapshots[r.Branches[0].Snapshot].Pruned; len(got) != 10 {
		t.Errorf("the pruned logs are %v", got)
	}
}

// TestTable compares a table with a map, with random IDs and with those of one part.
func TestTable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, first := range []int{256, 1} {
		table, want := Table[uint64]{Combine: Larger[uint64]}, map[ObjectID]uint64{}
		for i := range 20000 {
			id := ObjectID{byte(random.IntN(first)), byte(random.IntN(64)), byte(random.IntN(8))}
			n := uint64(random.IntN(1000))
			table.Add(id, n)
			want[id] = max(want[id], n)
			if probe := (ObjectID{byte(random.IntN(first)), byte(random.IntN(64))}); i%7 == 0 {
				got, ok := table.Of(probe)
				if is, known := want[probe]; ok != known || got != is {
					t.Fatalf("%v has %d, %v, want %d", probe, got, ok, is)
				}
			}
		}
		id := ObjectID{0, 1, 1}
		table.Add(id, 1)
		table.Set(id, 5000)
		want[id] = 5000
		got, last := map[ObjectID]uint64{}, ObjectID{}
		for id, n := range table.All() {
			if len(got) > 0 && compareIDs(last, id) >= 0 {
				t.Fatal("the IDs are not in order")
			}
			got[id], last = n, id
		}
		if !maps.Equal(got, want) {
			t.Errorf("%d IDs, want %d", len(got), len(want))
		}
	}
}

// TestTableMemory measures what an ID takes in a set.
func TestTableMemory(t *testing.T) {
	const n = 1_000_000
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	random := rand.New(rand.NewPCG(1, 2))
	before := heap()
	table := new(Table[struct{}])
	for range n {
		var id ObjectID
		for i := range id {
			id[i] = byte(random.Uint32())
		}
		table.Add(id, struct{}{})
	}
	bytes := float64(heap()-before) / n
	if _, ok := table.Of(ObjectID{}); ok {
		t.Error("it has an ID that nobody added")
	}
	if t.Logf("%.1f bytes for an ID", bytes); bytes > 20 {
		t.Errorf("%.1f bytes for an ID, want 20 at most", bytes)
	}
}
