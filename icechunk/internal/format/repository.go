// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Repository is the object repo: all branches, tags and snapshots.
type Repository struct {
	Version     int
	Tags        []Reference // by name
	Branches    []Reference // by name
	DeletedTags []string    // whose names are never used again, sorted
	Snapshots   []SnapshotInfo
	Status      Status
	Metadata    []Item
	Updates     []Update // the latest first
	// Before is the name of the object, below overwritten/, that has the updates before
	// these. It is "" if there are none.
	Before string
	Config []byte // a FlexBuffer, nil if nothing is configured
	// Enabled and Disabled are the numbers of features that are not at their default.
	Enabled, Disabled []uint16
	Extra             []byte // of later versions of the specification
	// Later means that the object has fields that this package does not know. It is
	// encoded without them.
	Later bool
}

// Reference is a branch or a tag.
type Reference struct {
	Name     string
	Snapshot int // in Snapshots
}

// SnapshotInfo is what the repository says of a snapshot.
type SnapshotInfo struct {
	ID       ObjectID
	Parent   int // in Snapshots, -1 for the first one
	Time     time.Time
	Message  string
	Metadata []Item
	// Pruned are transaction logs of snapshots before this one that have expired, oldest
	// first.
	Pruned []ObjectID
}

// Item is a name with a value, a FlexBuffer in version 2 and MessagePack in version 1.
type Item struct {
	Name  string
	Value []byte
}

// Availability says what may be done with a repository.
type Availability uint8

// The values of Availability.
const (
	Online Availability = iota
	ReadOnly
	Offline
)

// String returns the name of the availability.
func (a Availability) String() string {
	names := []string{"online", "read-only", "offline"}
	if int(a) < len(names) {
		return names[a]
	}
	return fmt.Sprintf("availability %d", uint8(a))
}

// Status is the availability of a repository, and since when and why.
type Status struct {
	Availability Availability
	Since        time.Time
	Reason       string
}

// UpdateKind is what an update of the repository was.
type UpdateKind uint8

// The kinds of updates.
const (
	RepositoryInitialized UpdateKind = iota + 1
	RepositoryMigrated
	ConfigChanged
	MetadataChanged
	TagCreated
	TagDeleted
	BranchCreated
	BranchDeleted
	BranchReset
	Committed
	Amended
	DetachedSnapshot
	GarbageCollected
	Expired
	FeatureChanged
	StatusChanged
)

// Update is an entry of the log of operations.
type Update struct {
	Kind     UpdateKind
	Name     string   // of the branch or tag, "" if it is about none
	Previous ObjectID // of a tag or branch that was deleted or reset, and of an amended commit
	New      ObjectID // of a commit
	Time     time.Time
	Backup   string // the object before the update, below overwritten/; "" for the latest

	From, To uint8  // versions, of a migration
	Status   Status // of a change of it
	Feature  Feature
}

// Feature is a change of a feature.
type Feature struct {
	Number uint16
	On     bool
	IsSet  bool // not at its default
}

// leastInfo is the least number of bytes that a snapshot has in the object repo.
const leastInfo = 32

// mostUpdates is how many updates an object repo has at most: the reference has a number
// of 16 bits.
const mostUpdates = 1 << 16

// ParseRepository parses the body of the object repo.
func ParseRepository(body []byte) (*Repository, error) {
	b, t, err := root(body)
	if err != nil {
		return nil, err
	}
	t.known(13)
	r := &Repository{Version: int(t.number(0, 1, 0)), Before: t.text(8), Config: t.bytes(9)}
	if r.Version > version {
		return nil, fmt.Errorf("%w: %d", ErrVersion, r.Version)
	}
	for slot, what := range []string{1: "tags", 2: "branches", 3: "deleted tags", 4: "snapshots", 5: "status", 7: "updates"} {
		if what != "" {
			t.need(t.contains(slot), what)
		}
	}
	r.Tags, r.Branches = parseReferences(t.vector(1, 4)), parseReferences(t.vector(2, 4))
	deleted := t.vector(3, 4)
	for i := 0; i < deleted.len && b.err == nil; i++ {
		r.DeletedTags = append(r.DeletedTags, deleted.text(i))
	}
	infos := t.vector(4, 4)
	r.Snapshots = make([]SnapshotInfo, 0, min(infos.len, len(body)/leastInfo))
	for i, info := range infos.tables() {
		r.Snapshots = append(r.Snapshots, parseInfo(info.known(6)))
		if i > 0 && compareIDs(r.Snapshots[i-1].ID, r.Snapshots[i].ID) >= 0 {
			b.fail("its snapshots are not sorted")
		}
	}
	status, _ := t.below(5)
	status.known(3)
	r.Status = parseStatus(status)
	r.Metadata = parseItems(t.vector(6, 4))
	updates := t.vector(7, 4)
	if updates.len > mostUpdates {
		b.fail("it has too many updates (number: %d)", updates.len)
	}
	for _, u := range updates.tables() {
		r.Updates = append(r.Updates, parseUpdate(u.known(4)))
	}
	r.Enabled, r.Disabled, r.Extra = parseNumbers(t.vector(10, 2)), parseNumbers(t.vector(11, 2)), t.bytes(12)
	if b.err == nil {
		r.check(b)
	}
	r.Later = b.later
	return r, b.err
}

func parseNumbers(v vector) (list []uint16) {
	for i := range v.len {
		list = append(list, uint16(number(v.element(i))))
	}
	return list
}

func parseReferences(v vector) (list []Reference) {
	for _, t := range v.tables() {
		t.known(2)
		t.need(t.contains(0), "name of a reference")
		list = append(list, Reference{t.text(0), int(t.number(1, 4, 0))})
	}
	return list
}

// timeOf returns the time of a field in microseconds.
func timeOf(t table, slot int) time.Time { return time.UnixMicro(int64(t.number(slot, 8, 0))).UTC() }

func parseInfo(t table) SnapshotInfo {
	s := SnapshotInfo{ID: t.objectID(0, "ID of a snapshot"), Parent: int(int32(t.number(1, 4, 0))), Time: timeOf(t, 2), Message: t.text(3), Metadata: parseItems(t.vector(4, 4))}
	s.Pruned = parseIDs(t.vector(5, len(ObjectID{})))
	return s
}

func parseIDs(v vector) (list []ObjectID) {
	for i := range v.len {
		list = append(list, ObjectID(v.element(i)))
	}
	return list
}

func parseItems(v vector) (list []Item) {
	for _, t := range v.tables() {
		t.known(2)
		list = append(list, Item{t.text(0), t.bytes(1)})
	}
	return list
}

func parseStatus(t table) Status {
	return Status{Availability(t.number(0, 1, 0)), timeOf(t, 1), t.text(2)}
}

// fields are how many slots the table of an update has, by its kind.
var fields = [...]int{
	RepositoryInitialized: 0, RepositoryMigrated: 2, ConfigChanged: 0, MetadataChanged: 0, TagCreated: 1, TagDeleted: 2, BranchCreated: 1, BranchDeleted: 2,
	BranchReset: 2, Committed: 2, Amended: 3, DetachedSnapshot: 1, GarbageCollected: 0, Expired: 0, FeatureChanged: 3, StatusChanged: 1,
}

// named are the kinds of updates of which slot 0 is a name.
var named = map[UpdateKind]bool{TagCreated: true, TagDeleted: true, BranchCreated: true, BranchDeleted: true, BranchReset: true, Committed: true, Amended: true}

func parseUpdate(t table) Update {
	u := Update{Kind: UpdateKind(t.number(0, 1, 0)), Time: timeOf(t, 2), Backup: t.text(3)}
	is, _ := t.below(1)
	if int(u.Kind) < len(fields) {
		is.known(fields[u.Kind])
	}
	if named[u.Kind] {
		u.Name = is.text(0)
	}
	id := func(slot int) (id ObjectID) {
		copy(id[:], is.structure(slot, len(id)))
		return id
	}
	switch u.Kind {
	case TagDeleted, BranchDeleted, BranchReset:
		u.Previous = id(1)
	case Committed:
		u.New = id(1)
	case Amended:
		u.Previous, u.New = id(1), id(2)
	case DetachedSnapshot:
		u.New = id(0)
	case RepositoryMigrated:
		u.From, u.To = uint8(is.number(0, 1, 0)), uint8(is.number(1, 1, 0))
	case FeatureChanged:
		u.Feature = Feature{uint16(is.number(0, 2, 0)), is.number(1, 1, 0) != 0, is.number(2, 1, 0) != 0}
	case StatusChanged:
		status, _ := is.below(0)
		u.Status = parseStatus(status)
	}
	return u
}

// check looks whether lists are sorted and indices lead into them.
func (r *Repository) check(b *buffer) {
	for _, refs := range [][]Reference{r.Tags, r.Branches} {
		for i, ref := range refs {
			if ref.Snapshot < 0 || ref.Snapshot >= len(r.Snapshots) {
				b.fail("%q has no snapshot", ref.Name)
			}
			if i > 0 && refs[i-1].Name >= ref.Name {
				b.fail("the names of its references are not sorted")
			}
		}
	}
	if !slices.IsSorted(r.DeletedTags) {
		b.fail("the names of deleted tags are not sorted")
	}
	for _, s := range r.Snapshots {
		if s.Parent < -1 || s.Parent >= len(r.Snapshots) {
			b.fail("the snapshot %v has no parent", s.ID)
		}
	}
	r.checkHistory(b)
}

// checkHistory looks for a snapshot that is its own ancestor.
func (r *Repository) checkHistory(b *buffer) {
	// Each walk ends at a snapshot of an earlier one.
	walk := make([]int, len(r.Snapshots))
	for i := range r.Snapshots {
		for k := i; k >= 0 && b.err == nil; k = r.Snapshots[k].Parent {
			if walk[k] == i+1 {
				b.fail("the snapshot %v is its own ancestor", r.Snapshots[k].ID)
			}
			if walk[k] != 0 {
				break
			}
			walk[k] = i + 1
		}
	}
}

func compareIDs(a, b ObjectID) int { return bytes.Compare(a[:], b[:]) }

// Find returns the index of the reference with a name in a sorted list.
func Find(list []Reference, name string) (i int, ok bool) {
	return slices.BinarySearchFunc(list, name, func(r Reference, name string) int { return strings.Compare(r.Name, name) })
}

// FindSnapshot returns the index of a snapshot.
func (r *Repository) FindSnapshot(id ObjectID) (i int, ok bool) {
	return slices.BinarySearchFunc(r.Snapshots, id, func(s SnapshotInfo, id ObjectID) int { return compareIDs(s.ID, id) })
}

// Insert adds a snapshot whose parent is in the list, and returns its index. All indices
// that follow it move.
func (r *Repository) Insert(s SnapshotInfo, parent ObjectID) int {
	at, _ := r.FindSnapshot(s.ID)
	for _, refs := range [][]Reference{r.Tags, r.Branches} {
		for i := range refs {
			if refs[i].Snapshot >= at {
				refs[i].Snapshot++
			}
		}
	}
	for i := range r.Snapshots {
		if r.Snapshots[i].Parent >= at {
			r.Snapshots[i].Parent++
		}
	}
	r.Snapshots = slices.Insert(r.Snapshots, at, s)
	r.Snapshots[at].Parent, _ = r.FindSnapshot(parent)
	return at
}

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
