// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// A rebase compares what a session has changed with the transaction logs of the commits
// that the branch got meanwhile:
//
//  1. It reads the object repo, and walks from the tip of the branch back to the base of
//     the session. If it does not meet the base, the history was rewritten.
//  2. It reads the log of each of these commits, the oldest first, those of expired
//     commits included. A log that is missing is an error: it could hide a conflict.
//  3. It compares new and deleted nodes with the snapshot at the tip.
//  4. Without a conflict, the tip becomes the base. Chunks of the session are stored
//     already and stay.

// Rebase moves a session to the tip of its branch, so that it can be committed there. If
// the session and the commits since it began conflict, the error is a [*ConflictError]
// that lists all conflicts the policy does not resolve, and the session stays as it is.
//
// What the session has read before may have changed, unless [Policy.Reads] is set.
func (s *Session) Rebase(ctx context.Context, p Policy) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return ErrEnded
	}
	is, err := s.repository.state(ctx)
	if err != nil {
		return err
	}
	if is.Repository == nil {
		return errV1
	}
	at, ok := format.Find(is.Branches, s.branch)
	if !ok {
		return s.branchGone()
	}
	tip := is.Branches[at].Snapshot
	if is.Snapshots[tip].ID == s.base.ID() {
		return nil
	}
	r := &rebase{Session: s, policy: p, tip: is.commit(tip), born: map[format.NodeID]Commit{}, gone: map[format.NodeID]Commit{}}
	list, ok := is.since(s.base.ID(), tip)
	if !ok {
		return r.conflict([]Conflict{{Kind: ConflictHistory, Commit: r.tip}})
	}
	r.gather()
	for _, one := range list {
		l, err := s.repository.transactions(ctx, one.log)
		if err != nil {
			return fmt.Errorf("the session cannot be rebased onto %v: %w", one.ID, err)
		}
		if l.Later { // it may tell of a conflict
			return r.repository.fail(transactionName(one.log), errLater)
		}
		r.replay(one.Commit, l)
	}
	if r.onto, err = s.repository.open(ctx, r.tip.ID); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(s.nodes)) {
		r.compareNode(path)
	}
	if left := slices.DeleteFunc(r.found, p.resolves); len(left) > 0 {
		return r.conflict(left)
	}
	r.apply()
	return nil
}

// branchGone returns the error for a branch that does not exist any longer.
func (s *Session) branchGone() error {
	return fmt.Errorf("%w: the branch %q was deleted since the session began", store.ErrConflict, s.branch)
}

// logged is a commit with one of the logs that are replayed for it: its own, or that of
// an expired commit before it.
type logged struct {
	Commit
	log ID
}

// since returns the logs between a base, which is not among them, and a snapshot, the
// oldest first. It reports whether the base is in the history.
func (s *state) since(base ID, tip int) (list []logged, ok bool) {
	for i := tip; i >= 0; i = s.Snapshots[i].Parent {
		is := &s.Snapshots[i]
		if is.ID == base {
			slices.Reverse(list)
			return list, true
		}
		list = append(list, logged{s.commit(i), is.ID})
		for _, id := range slices.Backward(is.Pruned) {
			if id == base { // it has expired, and what was before it does not matter
				slices.Reverse(list)
				return list, true
			}
			list = append(list, logged{s.commit(i), id})
		}
	}
	return nil, false
}

// transactions reads the log of a snapshot.
func (r *Repository) transactions(ctx context.Context, id ID) (*format.TransactionLog, error) {
	name := transactionName(id)
	body, err := r.read(ctx, name, format.KindTransactionLog)
	if err != nil {
		return nil, err
	}
	l, err := format.ParseTransactionLog(body)
	if err == nil && l.ID != id {
		err = fmt.Errorf("%w: it is the log of %v", format.ErrDamaged, l.ID)
	}
	if err != nil {
		return nil, r.fail(name, err)
	}
	return l, nil
}

// rebase is a rebase of a session whose lock the caller holds.
type rebase struct {
	*Session
	policy Policy
	tip    Commit
	onto   *Snapshot // the tip

	// What the session changes of its base, with paths.
	documents, deleted, written map[format.NodeID]string

	born, gone map[format.NodeID]Commit // nodes that others have made and deleted
	found      []Conflict
	shared     []sharedChunk
}

// sharedChunk is a chunk that the session and another commit change.
type sharedChunk struct {
	node format.NodeID
	name string
}

func (r *rebase) conflict(list []Conflict) error {
	return &ConflictError{Branch: r.branch, Base: r.base.ID(), Tip: r.tip, Conflicts: list}
}

// add adds a conflict, which a commit may have in more than one of its lists.
func (r *rebase) add(kind ConflictKind, path string, by Commit, chunks ...[]uint32) {
	c := Conflict{Kind: kind, Path: strings.TrimPrefix(path, "/"), Chunks: chunks, Commit: by}
	if !slices.ContainsFunc(r.found, func(o Conflict) bool {
		return o.Kind == c.Kind && o.Path == c.Path && o.Commit.ID == by.ID && chunks == nil
	}) {
		r.found = append(r.found, c)
	}
}

// gather finds what the session changes of its base.
func (r *rebase) gather() {
	r.documents, r.deleted, r.written = map[format.NodeID]string{}, map[format.NodeID]string{}, map[format.NodeID]string{}
	for i := range r.base.content.Nodes {
		was := &r.base.content.Nodes[i]
		n := r.nodes[was.Path]
		switch {
		case n != nil && (n.document == nil || n.id != was.ID):
			r.deleted[was.ID] = was.Path
			continue
		case n != nil && !bytes.Equal(n.document, was.Document):
			r.documents[was.ID] = was.Path
		}
		if r.chunks[was.ID].len() > 0 {
			r.written[was.ID] = was.Path
		}
	}
}

// replay compares the session with the log of one commit.
func (r *rebase) replay(by Commit, l *format.TransactionLog) {
	for _, m := range l.Moves {
		r.add(ConflictMove, m.From, by)
	}
	for _, id := range l.UpdatedArrays {
		r.updated(id, by, ConflictDeleteOfUpdatedArray)
	}
	for _, id := range l.UpdatedGroups {
		r.updated(id, by, ConflictDeleteOfUpdatedGroup)
	}
	for _, id := range l.DeletedArrays {
		r.removed(id, by, ConflictMetadataOfDeletedArray)
	}
	for _, id := range l.DeletedGroups {
		r.removed(id, by, ConflictMetadataOfDeletedGroup)
	}
	for _, id := range slices.Concat(l.NewArrays, l.NewGroups) {
		r.born[id] = by
	}
	for _, c := range l.Chunks {
		r.rewritten(by, c)
	}
	if r.reads.lists(len(l.NewArrays)+len(l.NewGroups)+len(l.DeletedArrays)+len(l.DeletedGroups) > 0) {
		r.add(ConflictRead, "the list of nodes", by)
	}
}

// updated compares with a node that has another document.
func (r *rebase) updated(id format.NodeID, by Commit, ofDeleted ConflictKind) {
	if path, ok := r.documents[id]; ok {
		r.add(ConflictMetadata, path, by)
	}
	if path, ok := r.written[id]; ok {
		r.add(ConflictChunkOfUpdatedArray, path, by)
	}
	if path, ok := r.deleted[id]; ok {
		r.add(ofDeleted, path, by)
	}
	if path, ok := r.reads.document(id); ok {
		r.add(ConflictRead, path, by)
	}
}

// removed compares with a node that was deleted.
func (r *rebase) removed(id format.NodeID, by Commit, ofDeleted ConflictKind) {
	r.gone[id] = by
	if path, ok := r.documents[id]; ok {
		r.add(ofDeleted, path, by)
	}
	if path, ok := r.written[id]; ok {
		r.add(ConflictChunkOfDeletedArray, path, by)
	}
	if path, ok := r.reads.document(id); ok {
		r.add(ConflictRead, path, by)
	}
}

// rewritten compares with chunks that were added, replaced or deleted.
func (r *rebase) rewritten(by Commit, is format.ChunkChanges) {
	if path, ok := r.deleted[is.Node]; ok {
		r.add(ConflictDeleteOfUpdatedArray, path, by)
		return
	}
	path, ok := r.reads.chunk(is.Node, is.Indices)
	if ok {
		r.add(ConflictRead, path, by)
	}
	if path, ok = r.documents[is.Node]; !ok {
		if path, ok = r.written[is.Node]; !ok {
			return
		}
	}
	i, _ := r.base.content.FindNode(path)
	was := r.base.shapeOf(&r.base.content.Nodes[i])
	now := was
	if n := r.nodes[path]; n != nil {
		now = n.shape
	}
	if was == nil || now == nil || !was.keeps(now, is.Indices) {
		r.add(ConflictGrid, path, by, is.Indices...)
		return
	}
	var both [][]uint32
	for _, index := range is.Indices {
		name := nameOf(now.keys, index)
		if _, ours := r.chunks[is.Node].find(name); ours {
			both = append(both, index)
			r.shared = append(r.shared, sharedChunk{is.Node, name})
		}
	}
	if both != nil {
		r.add(ConflictChunk, path, by, both...)
	}
}

// keeps reports whether chunks have the same elements and the same encoding in another
// document of an array.
func (s *shape) keeps(now *shape, chunks [][]uint32) bool {
	a, b := s.array, now.array
	if s == now {
		return true
	}
	if s.keys != now.keys || len(a.Shape) != len(b.Shape) || !a.DataType.Equal(b.DataType) || !slices.EqualFunc(a.Codecs, b.Codecs, metadata.Extension.Equal) {
		return false
	}
	g, err := grid.Parse(a.Shape, a.ChunkGrid.Name, a.ChunkGrid.Configuration, nil)
	h, failed := grid.Parse(b.Shape, b.ChunkGrid.Name, b.ChunkGrid.Configuration, nil)
	if err != nil || failed != nil {
		return false
	}
	box := make(grid.Box, len(a.Shape))
	for _, index := range chunks {
		if len(index) != len(box) {
			return false
		}
		for i, n := range index {
			box[i].Stop = max(box[i].Stop, int64(n)+1)
		}
	}
	return g.SameCells(h, box)
}

// compareNode compares what the session has at a path with what is at the tip.
func (r *rebase) compareNode(at string) {
	n := r.nodes[at]
	var was, is *format.Node
	if i, ok := r.base.content.FindNode(at); ok {
		was = &r.base.content.Nodes[i]
	}
	if i, ok := r.onto.content.FindNode(at); ok {
		is = &r.onto.content.Nodes[i]
	}
	switch {
	case was == nil && n.document == nil, was != nil && n.id == was.ID && n.document != nil:
		return // nothing, or the logs tell
	case is == nil || was != nil && is.ID == was.ID:
	case n.document != nil:
		r.add(ConflictNewNode, at, r.by(r.born, is.ID))
	case is.IsArray:
		r.add(ConflictDeleteOfUpdatedArray, at, r.by(r.born, is.ID))
	default:
		r.add(ConflictDeleteOfUpdatedGroup, at, r.by(r.born, is.ID))
	}
	if n.document != nil {
		r.compareParents(at)
	}
	if n.document != nil && n.shape == nil {
		return
	}
	kind := ConflictDeletedGroup
	if n.document != nil {
		kind = ConflictInvalidGroup
	}
	for _, below := range (&listing{nodes: r.onto.content.Nodes}).below(strings.TrimPrefix(at, "/")) {
		if by, isNew := r.born[below.ID]; isNew {
			r.add(kind, at, by)
		}
	}
}

// compareParents looks whether the groups above a new node are groups still.
func (r *rebase) compareParents(at string) {
	for at != "/" {
		at = path.Dir(at)
		if r.nodes[at] != nil {
			continue // the session has made it, or deleted it with what was below
		}
		i, there := r.onto.content.FindNode(at)
		if there && r.onto.content.Nodes[i].IsArray {
			r.add(ConflictInvalidGroup, at, r.by(r.born, r.onto.content.Nodes[i].ID))
		}
		if i, was := r.base.content.FindNode(at); was && !there {
			r.add(ConflictDeletedGroup, at, r.by(r.gone, r.base.content.Nodes[i].ID))
		}
	}
}

// by returns the commit that has made or deleted a node.
func (r *rebase) by(list map[format.NodeID]Commit, id format.NodeID) Commit {
	if c, ok := list[id]; ok {
		return c
	}
	return r.tip
}

// apply makes the tip the base.
func (r *rebase) apply() {
	if r.policy.Chunks == Theirs {
		for _, c := range r.shared {
			r.chunks[c.node].forget(c.name)
		}
	}
	for at, n := range r.nodes {
		i, ok := r.base.content.FindNode(at)
		// A document that the session has written again, without a change, must not undo
		// a change of others. Nor must a node that it has made and deleted again delete
		// another one.
		if ok && n.id == r.base.content.Nodes[i].ID && bytes.Equal(n.document, r.base.content.Nodes[i].Document) || !ok && n.document == nil {
			delete(r.nodes, at)
		}
	}
	r.base = r.onto
	r.began.add(beginning{sources: []ID{r.onto.ID()}})
}

// CommitRebased is Commit, and if others have committed meanwhile it rebases the session
// by a policy and commits again. If they conflict, the error is a [*ConflictError], and
// the session stays as it is.
func (s *Session) CommitRebased(ctx context.Context, message string, p Policy) (ID, error) {
	for try := 0; ; try++ {
		id, err := s.Commit(ctx, message)
		var behind *ConflictError
		if !errors.As(err, &behind) || try == tries {
			return id, err
		}
		if err := pause(ctx, try); err != nil {
			return ID{}, err
		}
		if err := s.Rebase(ctx, p); err != nil {
			return ID{}, err
		}
	}
}

// ConflictKind is what a session and a commit beside it have changed. The values up to
// ConflictMove are the names that the reference uses.
type ConflictKind string

// The kinds of conflicts.
const (
	// ConflictNewNode: both make a node at the same path.
	ConflictNewNode ConflictKind = "NewNodeConflictsWithExistingNode"
	// ConflictInvalidGroup: a node of the one is below an array of the other.
	ConflictInvalidGroup ConflictKind = "NewNodeInInvalidGroup"
	// ConflictMetadata: both change the document of a node.
	ConflictMetadata ConflictKind = "ZarrMetadataDoubleUpdate"
	// ConflictMetadataOfDeletedArray and ConflictMetadataOfDeletedGroup: the session
	// changes the document of a node that the commit deletes.
	ConflictMetadataOfDeletedArray ConflictKind = "ZarrMetadataUpdateOfDeletedArray"
	ConflictMetadataOfDeletedGroup ConflictKind = "ZarrMetadataUpdateOfDeletedGroup"
	// ConflictChunk: both change the same chunks.
	ConflictChunk ConflictKind = "ChunkDoubleUpdate"
	// ConflictChunkOfDeletedArray: the session changes chunks of an array that the
	// commit deletes.
	ConflictChunkOfDeletedArray ConflictKind = "ChunksUpdatedInDeletedArray"
	// ConflictChunkOfUpdatedArray: the session changes chunks of an array whose document
	// the commit changes.
	ConflictChunkOfUpdatedArray ConflictKind = "ChunksUpdatedInUpdatedArray"
	// ConflictDeleteOfUpdatedArray and ConflictDeleteOfUpdatedGroup: the session
	// deletes a node that the commit changes.
	ConflictDeleteOfUpdatedArray ConflictKind = "DeleteOfUpdatedArray"
	ConflictDeleteOfUpdatedGroup ConflictKind = "DeleteOfUpdatedGroup"
	// ConflictMove: the commit moves nodes.
	ConflictMove ConflictKind = "MoveOperationCannotBeRebased"

	// ConflictGrid: the commit changes chunks of an array which the session has divided
	// or encoded differently. The reference would take them for chunks of the new grid.
	ConflictGrid ConflictKind = "ChunksUpdatedInChangedGrid"
	// ConflictDeletedGroup: a new node of one is below a group that the other deletes.
	ConflictDeletedGroup ConflictKind = "NewNodeInDeletedGroup"
	// ConflictRead: the commit changes what the session has read; see [Policy].
	ConflictRead ConflictKind = "ReadOfUpdatedNode"
	// ConflictHistory: the snapshot that the session began at is no longer in the history
	// of the branch, because the branch was reset or the commit amended.
	ConflictHistory ConflictKind = "BaseNotInHistory"
)

// conflictTexts say what a conflict is. The verb is the path of the node.
var conflictTexts = map[ConflictKind]string{
	ConflictNewNode:                "it makes a node at %s, as the session does",
	ConflictInvalidGroup:           "%s is an array, and the other one makes a node below it",
	ConflictMetadata:               "it changes the document of %s, as the session does",
	ConflictMetadataOfDeletedArray: "it deletes the array %s, whose document the session changes",
	ConflictMetadataOfDeletedGroup: "it deletes the group %s, whose document the session changes",
	ConflictChunk:                  "it changes chunks of %s that the session changes, too",
	ConflictChunkOfDeletedArray:    "it deletes the array %s, whose chunks the session changes",
	ConflictChunkOfUpdatedArray:    "it changes the document of %s, whose chunks the session changes",
	ConflictDeleteOfUpdatedArray:   "it changes the array %s, which the session deletes",
	ConflictDeleteOfUpdatedGroup:   "it changes the group %s, which the session deletes",
	ConflictMove:                   "it moves %s, and nothing is rebased onto a move",
	ConflictGrid:                   "it changes chunks of %s, whose grid or encoding the session changes",
	ConflictDeletedGroup:           "a new node is below %s, which the other one deletes",
	ConflictRead:                   "it changes %s, which the session has read",
	ConflictHistory:                "its history has no longer the snapshot that the session began at",
}

// Conflict is what a session and one commit have both changed.
type Conflict struct {
	Kind   ConflictKind
	Path   string     // of the node, without a slash at its beginning
	Chunks [][]uint32 // indices, of ConflictChunk and ConflictGrid
	Commit Commit     // that the session conflicts with
}

// ConflictError means that a branch has commits which the session does not have. It wraps
// [store.ErrConflict].
type ConflictError struct {
	Branch string
	Base   ID     // the snapshot that the session began at
	Tip    Commit // the last commit of the branch
	// Conflicts are what a rebase could not resolve, oldest commit first. Without a
	// rebase the list is empty: [Session.Rebase] tells.
	Conflicts []Conflict
}

// Unwrap returns [store.ErrConflict].
func (e *ConflictError) Unwrap() error { return store.ErrConflict }

// mostConflicts bounds the conflicts, and the chunks of each, that an error names.
const mostConflicts = 4

// Error names the commits, their times, and what they have changed.
func (e *ConflictError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: the session began at %v, ", store.ErrConflict, e.Base)
	if len(e.Conflicts) == 0 {
		fmt.Fprintf(&b, "and the branch %q is at %s", e.Branch, nameOfCommit(e.Tip))
		return b.String()
	}
	fmt.Fprintf(&b, "and the branch %q has conflicting commits since", e.Branch)
	for i, c := range e.Conflicts {
		if i == mostConflicts {
			fmt.Fprintf(&b, "; and more (conflicts: %d)", len(e.Conflicts))
			break
		}
		separator := "; "
		if i == 0 {
			separator = ": "
		}
		if i == 0 || e.Conflicts[i-1].Commit.ID != c.Commit.ID {
			separator += nameOfCommit(c.Commit) + ": "
		}
		b.WriteString(separator + c.text())
	}
	return b.String()
}

// nameOfCommit returns the ID, time and message of a commit.
func nameOfCommit(c Commit) string {
	return fmt.Sprintf("%v of %s %q", c.ID, c.Time.Format(time.RFC3339), c.Message)
}

// text says what the conflict is.
func (c Conflict) text() string {
	path := c.Path
	if path == "" {
		path = "the root"
	}
	text := conflictTexts[c.Kind]
	if strings.Contains(text, "%s") {
		text = fmt.Sprintf(text, path)
	}
	for i, index := range c.Chunks {
		if i == mostConflicts {
			text += fmt.Sprintf(" and more (chunks: %d)", len(c.Chunks))
			break
		}
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		text += separator + chunkName(index)
	}
	return text
}

// Side says which of two changes of a chunk stays.
type Side int

// The values of Side.
const (
	Neither Side = iota // it is a conflict
	Ours                // the change of the session
	Theirs              // the change that was committed before
)

// Policy says which conflicts a rebase resolves. The zero value resolves none, as the
// ConflictDetector of the reference; {Chunks: Ours, Delete: true} is the default of its
// BasicConflictSolver.
type Policy struct {
	// Chunks says what becomes of chunks that both have changed.
	Chunks Side
	// Delete permits that the session deletes nodes which others have changed.
	Delete bool
	// Reads makes it a conflict, too, if a commit has changed what the session has read.
	// Without such a conflict the result is as if the session had begun after it. What
	// others have created at a path where the session found nothing does not count.
	Reads bool
}

// resolves reports whether a conflict is none by the policy.
func (p Policy) resolves(c Conflict) bool {
	switch c.Kind {
	case ConflictChunk:
		return p.Chunks != Neither
	case ConflictDeleteOfUpdatedArray, ConflictDeleteOfUpdatedGroup:
		return p.Delete
	case ConflictRead:
		return !p.Reads
	}
	return false
}
