// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/store"
)

// Change begins a session at the tip of a branch, calls change with it, and commits. If
// others have committed meanwhile, it rebases the session. If that is not possible, it
// begins anew: change is called again with a session at the new tip. So two appends, or
// an append and a compaction, both succeed, which no rebase can do.
//
// change finds its positions in the session that it gets: the end of the array, its grid,
// the conditions that must hold. Everything that it does is then as if it had begun after
// the other commits. It must have no effect outside the session that cannot be repeated.
// Chunks with the same bytes as in a session before are not stored again, unless garbage
// was collected meanwhile: see [ErrCollected].
//
// A change by fixed positions, such as a write to elements that others may have moved or
// overwritten, should compare what is there with what it has seen first.
func (r *Repository) Change(ctx context.Context, branch, message string, change func(context.Context, *Session) error) (ID, error) {
	stored := new(memory)
	var conflict error
	for try := range tries {
		if err := pause(ctx, try); err != nil {
			return ID{}, errors.Join(conflict, err)
		}
		s, err := r.Session(ctx, branch)
		if err != nil {
			return ID{}, err
		}
		s.remember(stored)
		if err := change(ctx, s); err != nil {
			if conflict != nil {
				err = fmt.Errorf("%w (repeated at %v because of a conflict)", err, s.Base())
			}
			return ID{}, err
		}
		id, err := s.CommitRebased(ctx, message, Policy{Reads: true})
		var one *ConflictError
		switch {
		case errors.Is(err, ErrCollected):
			stored = new(memory) // its chunks may be gone
		case !errors.As(err, &one):
			return id, err
		}
		conflict = err
	}
	return ID{}, fmt.Errorf("every attempt met another commit (attempts: %d): %w", tries, conflict)
}

// memory has the chunks that sessions of one repository have stored, so that the bytes of
// one that was given up are not stored again. It is safe for concurrent use.
type memory struct {
	mu     sync.Mutex
	began  *beginning // of the first session
	chunks map[[sha256.Size]byte]ID
}

// remember makes a session store chunks that m does not have, and begin when the first
// session with m began: a garbage collection since then may have taken their chunks.
func (s *Session) remember(m *memory) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.stored = m; m.began == nil {
		m.began = &beginning{at: s.began.at, update: s.began.update}
	}
	s.began.add(*m.began)
}

// mostRemembered bounds the chunks that are remembered: about 100 bytes each.
const mostRemembered = 1 << 20

// get returns the object of a chunk with these bytes.
func (m *memory) get(sum [sha256.Size]byte) (id ID, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id, ok = m.chunks[sum]
	return id, ok
}

func (m *memory) put(sum [sha256.Size]byte, id ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.chunks == nil {
		m.chunks = map[[sha256.Size]byte]ID{}
	}
	if len(m.chunks) < mostRemembered {
		m.chunks[sum] = id
	}
}

// clear forgets all chunks: some of them may not be durable.
func (m *memory) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.chunks)
}

// reads are what a session has read: a rebase compares them with what others have
// changed. They are safe for concurrent use.
type reads struct {
	mu        sync.Mutex
	documents map[format.NodeID]string
	chunks    map[format.NodeID]*readChunks
	listed    bool // lists of nodes
	all       bool // everything
}

// readChunks are the chunks of an array that were read.
type readChunks struct {
	path  string
	names map[string]bool // by their usual names; nil is all
}

// mostNames bounds the chunks of an array that are named. With more, all count as read.
const mostNames = 1 << 16

// note notes that a value was read.
func (r *reads) note(at place) {
	if at.node == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.documents == nil {
		r.documents, r.chunks = map[format.NodeID]string{}, map[format.NodeID]*readChunks{}
	}
	if !at.chunk {
		if at.rest == documentName {
			r.documents[at.node.id] = at.path
		}
		return
	}
	c := r.chunks[at.node.id]
	if c == nil {
		c = &readChunks{at.path, map[string]bool{}}
		r.chunks[at.node.id] = c
	}
	index, ok := indexOf(at.node.keys, at.rest, at.node.rank())
	if !ok || len(c.names) >= mostNames {
		c.names = nil
	}
	if c.names != nil {
		c.names[chunkName(index)] = true
	}
}

// noteList notes that a list was read, at a path where a node is or none.
func (r *reads) noteList(path string, n *staged, how store.Listing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case n != nil && n.shape != nil:
		if r.chunks == nil {
			r.documents, r.chunks = map[format.NodeID]string{}, map[format.NodeID]*readChunks{}
		}
		r.chunks[n.id] = &readChunks{path: path}
	case how&store.Deep != 0:
		r.all = true
	default:
		r.listed = true
	}
}

// document returns the path of a node whose document was read.
func (r *reads) document(id format.NodeID) (path string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	path, ok = r.documents[id]
	if !ok && r.all {
		return "a node", true
	}
	return path, ok
}

// chunk returns the path of an array if one of these chunks was read.
func (r *reads) chunk(id format.NodeID, indices [][]uint32) (path string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.chunks[id]
	if c == nil || r.all {
		return "an array", r.all
	}
	for _, index := range indices {
		if c.names == nil || c.names[chunkName(index)] {
			return c.path, true
		}
	}
	return "", false
}

// lists reports whether nodes were listed and the list has changed.
func (r *reads) lists(changed bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return changed && (r.listed || r.all)
}
