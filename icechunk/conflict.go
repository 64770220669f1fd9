// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"fmt"
	"strings"
	"time"

	"varve.dev/zarr/store"
)

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
